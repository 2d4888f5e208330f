"""A full disk loses nothing that was flushed, and what waits is written when there is room."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.files.mishap_runs import N_RUNS, share
from tests.support.errors import raised
from tests.support.read_outcome import outcome_of
from tests.support.small_files import write_records
from tfrecord_lite import (
    ShardedTFRecordWriter,
    TFRecordFile,
    TFRecordReader,
    TFRecordWriter,
    encode_example,
    recover,
    save,
)
from tfrecord_lite.files import output as outfile
from tfrecord_lite.index.index import save_index

if TYPE_CHECKING:
    from typing_extensions import Buffer

Writer = TFRecordWriter | ShardedTFRecordWriter

KINDS = ["in place", "appended", "atomic", "shards", "shards by size"]
COMPRESSIONS = ["", "GZIP", "ZLIB", "ZSTD", "BZ2"]


class Disk:
    """Files on a disk that has `room` for more bytes; None for no limit."""

    def __init__(self) -> None:
        self.room: int | None = None
        disk = self

        class File(io.FileIO):
            def write(self, data: Buffer) -> int:
                taken = memoryview(data).cast("B")
                before = os.fstat(self.fileno()).st_size
                if disk.room is not None:
                    most = before - self.tell() + disk.room
                    if taken and most <= 0:
                        raise OSError(errno.ENOSPC, "No space left on device")
                    taken = taken[:most]
                n_bytes = super().write(taken)
                disk.take(os.fstat(self.fileno()).st_size - before)
                return n_bytes

            def truncate(self, size: int | None = None) -> int:
                before = os.fstat(self.fileno()).st_size
                after = super().truncate(size)
                disk.take(after - before)
                return after

        self.File = File

    def take(self, n_bytes: int) -> None:
        if self.room is not None:
            self.room -= n_bytes


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(outfile, "io", SimpleNamespace(FileIO=disk.File, RawIOBase=io.RawIOBase))
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return disk


def start(kind: str, path: Path, compression: str) -> Writer:
    match kind:
        case "in place":
            return TFRecordWriter(path, compression)
        case "appended":
            return TFRecordWriter(path, compression, mode="a")
        case "atomic":
            return TFRecordWriter(path, compression, atomic=True)
        case "shards":
            return ShardedTFRecordWriter(f"{path}@3", compression=compression)
        case _:
            pattern = f"{path}-{{shard}}"
            return ShardedTFRecordWriter(pattern, compression=compression, bytes_per_shard=20_000)


def names_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208


def records_in(folder: Path, compression: str) -> list[list[bytes]]:
    return [list(TFRecordReader(folder / name, compression)) for name in names_in(folder)]


class Run:
    def __init__(self, kind: str, compression: str, folder: Path, choose: random.Random) -> None:
        self.is_whole = kind not in {"in place", "appended"}
        self.is_sharded = kind.startswith("shards")
        self.compression = compression
        self.folder = folder
        self.path = folder / "a"
        self.choose = choose
        self.records: list[bytes] = []
        self.n_flushed = 0
        self.n_failed = 0
        if kind == "appended" and compression != "ZLIB":
            with TFRecordWriter(self.path, compression) as before:
                self.write(before)
            self.n_flushed = len(self.records)
        self.writer = start(kind, self.path, compression)

    def write(self, writer: Writer) -> None:
        choose, i = self.choose, len(self.records)
        match choose.randrange(8):
            case 0:
                self.records.append(encode_example({"x": i}))
                writer.write_example({"x": i})
            case 1:
                column = np.arange(i, i + choose.choice([1, 10, 3000]))
                self.records += [encode_example({"x": x}) for x in column]
                writer.write_examples({"x": column})
            case 2:
                row = {"x": choose.randbytes(choose.choice([100, 70_000]))}
                self.records.append(encode_example(row))
                writer.write_example(row)
            case _:
                self.records.append(choose.randbytes(choose.choice([0, 1, 100, 100, 5000])))
                writer.write(self.records[-1])

    def attempt(self, step: Callable[[], object]) -> bool:
        """Take a step that may fail; check what is there then."""
        try:
            step()
        except OSError as error:
            self.n_failed += 1
            assert error.errno == errno.ENOSPC  # noqa: PT017 - others may pass
            assert error.filename is not None  # noqa: PT017
            assert str(error.filename).startswith(str(self.path))  # noqa: PT017
            self.check_flushed()
            return False
        return True

    def check_flushed(self) -> None:
        """Check that what was flushed can be read, and nothing has appeared that is not whole."""
        if self.is_whole:
            assert [name for name in names_in(self.folder) if name[0] != "."] == []
            return
        found = outcome_of(TFRecordReader(self.path, self.compression)).records
        assert len(found) >= self.n_flushed
        assert found == self.records[: len(found)]

    def check_all(self) -> None:
        assert not any(name.startswith(".") for name in names_in(self.folder))
        found = records_in(self.folder, self.compression)
        if not self.is_sharded:
            assert found == [self.records]
            return
        assert sorted(itertools.chain(*found)) == sorted(self.records)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:feature .* holds:UserWarning")  # of several kinds, in one file
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_nothing_flushed_is_lost_and_what_waits_is_written_once(
    tmp_path: Path, disk: Disk, kind: str, compression: str
) -> None:
    if compression == "ZSTD":
        pytest.importorskip("backports.zstd")
    choose = random.Random(f"{kind} {compression}")
    n_failed = 0
    for number in range(share(len(KINDS) * len(COMPRESSIONS))):
        folder = tmp_path / str(number)
        folder.mkdir()
        disk.room = None
        run = Run(kind, compression, folder, choose)
        disk.room = choose.choice([0, 1, 10, 1000, 100_000]) + choose.randrange(20_000)
        # What shards could not take is lost with the error.
        gives_up = choose.random() < 0.25 or run.is_sharded
        for _ in range(choose.randrange(5, 60)):
            if choose.random() < 0.2 and isinstance(run.writer, TFRecordWriter):
                ok = run.attempt(run.writer.flush)
                run.n_flushed = len(run.records) if ok else run.n_flushed
            else:
                ok = run.attempt(lambda run=run: run.write(run.writer))  # type: ignore[misc]
            if not ok and gives_up:
                break
            if not ok and choose.random() < 0.3:
                disk.room += choose.choice([1, 1000, 50_000])
        if gives_up and run.n_failed:
            with contextlib.suppress(OSError):
                run.writer.__exit__(OSError, OSError(), None)
            run.check_flushed()
            assert not run.is_whole or names_in(folder) == []
        else:
            while not run.attempt(run.writer.close):
                disk.room += choose.choice([1, 1000, 50_000])
            run.check_all()
        n_failed += run.n_failed

    assert n_failed > 0 or N_RUNS < 500


@pytest.mark.parametrize("kind", ["shards", "shards by size"])
def test_shards_closed_twice_have_every_record(tmp_path: Path, disk: Disk, kind: str) -> None:
    writer = start(kind, tmp_path / "a", "")
    rows = [{"x": bytes([i]) * 5000} for i in range(20)]
    for row in rows:
        writer.write_example(row)
    disk.room = 1000
    for _ in range(2):
        raised(OSError, writer.close, match="No space")
    disk.room = None
    writer.close()
    found = itertools.chain(*records_in(tmp_path, ""))
    assert sorted(found) == sorted(map(encode_example, rows))


def damaged(path: Path) -> Path:
    if not path.exists():
        write_records(path, (b"%d" % i * 30 for i in range(200)))
        path.write_bytes(path.read_bytes() + b"damage")
    return path


def make_recovered(folder: Path) -> None:
    recover(damaged(folder.with_name("damaged")), folder / "a")


def make_saved(folder: Path) -> None:
    save(folder / "a", {"x": np.arange(300), "y": [b"%d" % i for i in range(300)]})


def make_index(folder: Path) -> None:
    path = folder.with_name("sound")
    if not path.exists():
        write_records(path, (b"%d" % i for i in range(200)))
    with TFRecordFile(path) as file:
        save_index(file.indexes[0], str(folder / "a"))


@pytest.mark.parametrize(("make", "is_new"), [
    (make_recovered, True), (make_saved, True), (make_saved, False), (make_index, True),
    (make_index, False),
])  # fmt: skip
def test_files_that_appear_when_complete_do_not_appear(
    tmp_path: Path, disk: Disk, make: Callable[[Path], None], is_new: bool
) -> None:
    choose = random.Random(make.__name__)
    folder = tmp_path / "folder"
    folder.mkdir()
    make(folder)
    whole = {name: (folder / name).read_bytes() for name in names_in(folder)}
    n_bytes = sum(map(len, whole.values()))

    for _ in range(share(5)):
        before = {} if is_new else dict.fromkeys(whole, b"old")
        for name in whole:
            (folder / name).unlink()
        for name, content in before.items():
            (folder / name).write_bytes(content)
        disk.room = choose.choice([0, 1, n_bytes - 1, choose.randrange(n_bytes)])
        error = raised(OSError, make, folder, match="No space")
        assert error.filename in {str(folder / name) for name in whole}
        assert {name: (folder / name).read_bytes() for name in names_in(folder)} == before

        disk.room = None
        make(folder)
        assert {name: (folder / name).read_bytes() for name in names_in(folder)} == whole
