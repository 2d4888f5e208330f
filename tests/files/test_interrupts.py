"""An interrupt (Ctrl-C) at any step of the end of a file leaves a clear state.

The promise: nothing is written half, the writer can be closed, what was flushed is in the file,
and of what was pending whole records, each at most once. A file that is to appear when it is
complete appears complete or not at all.

Every step of the work is interrupted, one run after the other, until a run has no more steps.
"""

from __future__ import annotations

import functools
import gc
import io
import itertools
import os
import shutil
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.effort import pairs, pick
from tests.support.interrupts import interrupt_at
from tests.support.untyped import load
from tfrecord_lite import (
    ShardedTFRecordWriter,
    TFRecordReader,
    TFRecordWriter,
    encode_example,
    recover,
    save,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Writer = TFRecordWriter | ShardedTFRecordWriter

# Who is interrupted may not come to closing what he has just opened.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def _warn_in_here() -> Iterator[None]:
    """Collect what was not closed, whose warning another test would get."""
    yield
    gc.collect()


RECORDS = [b"%d" % i * 20 for i in range(7)]
OLD = [b"old"]

KINDS: dict[str, Callable[[Path], Writer]] = {
    "in place": TFRecordWriter,
    "in place, GZIP": lambda path: TFRecordWriter(path, "GZIP"),
    "in place, BZ2": lambda path: TFRecordWriter(path, "BZ2"),
    "appended": lambda path: TFRecordWriter(path, mode="a"),
    "appended, GZIP": lambda path: TFRecordWriter(path, "GZIP", mode="a"),
    "atomic": lambda path: TFRecordWriter(path, atomic=True),
    "atomic, GZIP": lambda path: TFRecordWriter(path, "GZIP", atomic=True),
    "shards": lambda path: ShardedTFRecordWriter(f"{path}@3"),
    "shards by size, GZIP": lambda path: ShardedTFRecordWriter(
        f"{path}-{{shard}}", compression="GZIP", bytes_per_shard=100
    ),
}
WHOLE_KINDS = [kind for kind in KINDS if kind.startswith(("atomic", "shards"))]


def names_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208


def records_in(folder: Path) -> list[bytes]:
    """Return the records of all files there; of shards, in no order."""
    contents = tuple((folder / name).read_bytes() for name in names_in(folder))
    return list(records_of(contents))


@functools.cache
def records_of(contents: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(sorted(itertools.chain(*(TFRecordReader(io.BytesIO(data)) for data in contents))))


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nothing brought to the disk: these tests make thousands of files."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.parametrize(
    ("kind", "n_rows"),
    [
        *pairs(KINDS, [0, 4]),
        pytest.param("atomic", 150, marks=pytest.mark.full),
        pytest.param("atomic, GZIP", 150, marks=pytest.mark.full),
    ],
)
def test_an_interrupted_close_can_be_called_again(tmp_path: Path, kind: str, n_rows: int) -> None:
    rows = [{"x": i, "y": b"%03d" % i * 300} for i in range(n_rows)]
    n_flushed = 0 if kind.startswith("shards") else 4  # shards are not flushed before their end
    flushed = set(RECORDS[:n_flushed])
    expected = sorted(RECORDS + [encode_example(row) for row in rows])
    for step in itertools.count(0, pick(5, 1)):
        folder = tmp_path / str(step)
        folder.mkdir()
        writer = KINDS[kind](folder / "a")
        for record in RECORDS[:n_flushed]:
            writer.write(record)
        if isinstance(writer, TFRecordWriter):
            writer.flush()
        for record in RECORDS[n_flushed:]:
            writer.write(record)
        for row in rows:
            writer.write_example(row)
        with interrupt_at(step) as interrupt:
            writer.close()
        with interrupt_at(step * 7 % 31):  # and once more, elsewhere
            writer.close()
        writer.close()
        writer.close()

        found = records_in(folder)
        assert flushed <= set(found), step
        assert not Counter(found) - Counter(expected), step
        assert not any(name.startswith(".") for name in names_in(folder))
        shutil.rmtree(folder)
        if not interrupt.came:
            break

    assert step > 5
    assert found == expected


@pytest.mark.needs("remote")
def test_an_interrupted_close_of_a_remote_file_can_be_called_again() -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    for step in itertools.count():
        url = f"memory://interrupts/{step}"
        writer = TFRecordWriter(url, atomic=True)
        for record in RECORDS:
            writer.write(record)
        writer.flush()  # what a write took that was interrupted cannot be known
        with interrupt_at(step) as interrupt:
            writer.close()
        writer.close()

        assert list(TFRecordReader(url)) == RECORDS, step
        assert memory.ls("/interrupts", detail=False) == [f"/interrupts/{step}"]
        memory.rm(f"/interrupts/{step}")
        if not interrupt.came:
            break

    assert step > 5


@pytest.mark.full
@pytest.mark.parametrize(("kind", "is_new"), pairs(WHOLE_KINDS, [True, False]))
def test_an_interrupted_block_leaves_all_of_a_file_or_what_was_there(
    tmp_path: Path, kind: str, is_new: bool
) -> None:
    outcomes = set()
    for step in itertools.count(0, pick(3, 1)):
        folder = tmp_path / str(step)
        folder.mkdir()
        if not is_new:
            with TFRecordWriter(folder / "a") as writer:
                writer.write(OLD[0])
        with interrupt_at(step) as interrupt, KINDS[kind](folder / "a") as other:
            for record in RECORDS:
                other.write(record)
        other = None  # type: ignore[assignment]
        if any(name.startswith(".") for name in names_in(folder)):
            gc.collect()  # from Python 3.12 on, what interrupts may be in a circle with the writer

        found = records_in(folder)
        outcomes.add(tuple(found))
        names = names_in(folder)
        shutil.rmtree(folder)
        assert found in ([] if is_new else OLD, *wholes(kind, is_new)), step
        assert not any(name.startswith(".") for name in names), step
        if not interrupt.came:
            break

    assert len(outcomes) == 2


def wholes(kind: str, is_new: bool) -> list[list[bytes]]:
    """Return what may be there when all is written: shards stand beside an older file."""
    is_beside = kind.startswith("shards") and not is_new
    return [sorted(RECORDS + (OLD if is_beside else []))]


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_an_interrupted_recovery_leaves_all_of_the_new_file_or_none(
    tmp_path: Path, compression: str
) -> None:
    path = tmp_path / "damaged"
    with TFRecordWriter(path, compression) as writer:
        for record in RECORDS:
            writer.write(record)
    path.write_bytes(path.read_bytes()[:-1])
    recover(path, tmp_path / "expected")
    expected = list(TFRecordReader(tmp_path / "expected"))

    for step in itertools.count(0, pick(3, 1)):
        folder = tmp_path / str(step)
        folder.mkdir()
        with interrupt_at(step) as interrupt:
            recover(path, folder / "new")

        assert names_in(folder) in ([], ["new"]), step
        if names_in(folder):
            assert list(TFRecordReader(folder / "new")) == expected
        if not interrupt.came:
            break

    assert names_in(folder) == ["new"]


# A writer that was left on its way to being closed finds its file gone.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.full
def test_an_interrupted_save_leaves_both_files_or_none(tmp_path: Path) -> None:
    save(tmp_path / "warm", {"x": np.arange(5)})  # what is loaded once is not looked at
    for step in itertools.count():
        folder = tmp_path / str(step)
        folder.mkdir()
        with interrupt_at(step) as interrupt:
            save(folder / "a", {"x": np.arange(5)})

        assert names_in(folder) in ([], ["a", "a.schema.json"]), step
        if names_in(folder):
            assert load(folder / "a")["x"].tolist() == list(range(5))
        if not interrupt.came:
            break

    assert names_in(folder) == ["a", "a.schema.json"]
