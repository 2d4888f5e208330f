"""A power cut loses nothing that had reached the disk, whatever became of the rest."""

import os
import random
import stat
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from tests.files.mishap_runs import share
from tests.support.read_outcome import outcome_of
from tfrecord_lite import TFRecordReader, TFRecordWriter, recover, verify
from tfrecord_lite.errors import DataLossError, DataLossWarning, InvalidArgumentError, Reason

Mode: TypeAlias = Literal["w", "a"]

JOINABLE = ["", "GZIP", "ZSTD", "BZ2"]
KINDS: list[tuple[str, Mode]] = [
    *((compression, mode) for compression in JOINABLE for mode in ("w", "a")),
    ("ZLIB", "w"),
]
every_kind = pytest.mark.parametrize(("compression", "mode"), KINDS)

N_CUTS = 10
"""Of each file."""
N_MAGIC = 4
"""First bytes needed at most to know a compression."""


@dataclass
class Written:
    """A file, and what of it was flushed when."""

    content: bytes
    records: list[bytes]
    flushed: list[tuple[int, int]]  # how long the file was, how many records it had then

    def n_safe(self, n_bytes: int) -> int:
        return max(n for size, n in self.flushed if size <= n_bytes)

    def cuts(self, choose: random.Random) -> list[int]:
        end = len(self.content)
        edges = {size + shift for size, _ in self.flushed for shift in (-1, 0, 1)}
        edges |= {*range(20), *range(end - 20, end)}
        edges = {edge for edge in edges if 0 <= edge < end}
        some = choose.sample(sorted(edges), min(len(edges), N_CUTS // 2))
        return some + [choose.randrange(end) for _ in range(N_CUTS - len(some))]


def n_files(n_kinds: int) -> int:
    return -(-share(n_kinds) // N_CUTS)


def write(path: Path, compression: str, mode: Mode, choose: random.Random) -> Written:
    """Write a file, or begin it and add to it; return what there is before or after the end."""
    records: list[bytes] = []
    flushed = [(0, 0)]

    def add(writer: TFRecordWriter) -> None:
        size = choose.choice([0, 1, 20, 20, 300, 300, 5000])
        records.append(choose.choice([choose.randbytes(size), b"%d," % len(records) * (size // 3)]))
        writer.write(records[-1])

    def note() -> None:
        flushed.append((path.stat().st_size, len(records)))

    if mode == "a":
        with TFRecordWriter(path, compression) as writer:
            for _ in range(choose.randrange(10)):
                add(writer)
        note()
    with TFRecordWriter(path, compression, mode=mode) as writer:
        for _ in range(choose.randrange(1, 60)):
            add(writer)
            if choose.random() < 0.2:
                writer.flush()
                note()
        content = path.read_bytes()
    if not content or choose.random() < 0.5:
        note()
        content = path.read_bytes()
    return Written(content, records, flushed)


def check(path: Path, compression: str, written: Written, n_safe: int) -> list[bytes]:
    """Check that all ways to read a file find the same, and all that is safe; return it."""
    before, loss = outcome_of(TFRecordReader(path, compression))
    assert len(before) >= n_safe
    assert before == written.records[: len(before)]

    reader = TFRecordReader(path, compression, on_error="skip")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataLossWarning)
        found = list(reader)
    assert found[: len(before)] == before
    again = found[len(before) :]
    if again:
        # Nonsense may inflate to a copy of what came before it, and so to a record once more.
        assert compression
        assert loss is not None
        assert set(again) <= set(written.records)
    report = verify(path, compression=compression)
    assert (report.records, report.is_sound) == (len(found), loss is None)
    saved = path.with_name("saved")
    saved.unlink(missing_ok=True)
    assert recover(path, saved, compression=compression).records == len(found)
    if found:  # of a damaged file without an intact record none is made
        assert list(TFRecordReader(saved, compression)) == found
    return found


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nothing brought to the disk: it is not the disk that is tested."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def choose(compression: str, mode: Mode) -> random.Random:
    if compression == "ZSTD":
        pytest.importorskip("backports.zstd")
    return random.Random(f"{compression} {mode}")


@every_kind
def test_what_was_flushed_before_the_cut_is_read_and_can_be_added_to(
    tmp_path: Path, compression: str, mode: Mode, choose: random.Random
) -> None:
    n_torn = 0
    for run in range(n_files(len(KINDS))):
        path = tmp_path / f"{run}"
        written = write(path, compression, mode, choose)
        for cut in written.cuts(choose):
            path.write_bytes(written.content[:cut])
            found = check(path, compression, written, written.n_safe(cut))
            loss = outcome_of(TFRecordReader(path, compression)).loss
            assert loss is None or loss.reason in (Reason.TRUNCATED, Reason.COMPRESSED_TRUNCATED)
            n_torn += loss is not None

            if compression == "ZLIB" and cut:
                with pytest.raises(InvalidArgumentError) as caught:
                    TFRecordWriter(path, compression, mode="a", torn="cut")
                assert caught.value.reason is Reason.UNSUPPORTED
                continue
            with TFRecordWriter(path, compression, mode="a", torn="cut") as writer:
                writer.write(b"added")
            assert list(TFRecordReader(path, compression)) == [*found, b"added"]
        path.unlink()

    assert n_torn > 0


@every_kind
@pytest.mark.parametrize("rest", ["zeros", "anything"])
def test_blocks_that_were_not_written_are_damage_after_what_was_flushed(
    tmp_path: Path, compression: str, mode: Mode, choose: random.Random, rest: str
) -> None:
    for run in range(n_files(len(KINDS) * 2)):
        path = tmp_path / f"{run}"
        written = write(path, compression, mode, choose)
        for cut in written.cuts(choose):
            n_lost = len(written.content) - cut
            tail = bytes(n_lost) if rest == "zeros" else choose.randbytes(n_lost)
            if tail == written.content[cut:]:
                continue
            path.write_bytes(written.content[:cut] + tail)
            if compression and cut < N_MAGIC:  # no file of that compression, so far as is known
                loss = outcome_of(TFRecordReader(path, compression)).loss
                assert loss is not None
                assert loss.reason is not Reason.TRUNCATED
                continue
            found = check(path, compression, written, written.n_safe(cut))

            before = path.read_bytes()
            if compression != "ZLIB":
                # What is there may be more than a torn record, so nothing is thrown away.
                with pytest.raises((DataLossError, InvalidArgumentError)):
                    TFRecordWriter(path, compression, mode="a")
                with TFRecordWriter(tmp_path / "saved", compression, mode="a") as writer:
                    writer.write(b"added")
                assert list(TFRecordReader(tmp_path / "saved", compression)) == [*found, b"added"]
            assert path.read_bytes() == before
        path.unlink()


def test_an_atomic_file_is_on_the_disk_before_it_has_its_name_and_its_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    replace = os.replace

    def synced(file: int) -> None:
        done.append(stat.filemode(os.fstat(file).st_mode)[0])

    def named(old: str, new: str) -> None:
        done.append("named")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", named)
    with TFRecordWriter(tmp_path / "a", atomic=True) as writer:
        writer.write(b"one")
        assert done == []
    assert done == ["-", "named", "d"]
