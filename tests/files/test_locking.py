"""No two writers add to one file: the second is rejected, whatever process it is in."""

import errno
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.support.errors import raised
from tests.support.reference import encode_record
from tfrecord_lite import TFRecordReader, TFRecordWriter
from tfrecord_lite.errors import FailedPreconditionError, Reason
from tfrecord_lite.files import output

fcntl = pytest.importorskip("fcntl")
context = multiprocessing.get_context("spawn")


def append(path: Path, record: bytes = b"added", **options: Any) -> None:
    with TFRecordWriter(path, mode="a", **options) as writer:
        writer.write(record)


def assert_rejected(path: Path, **options: Any) -> None:
    before = path.read_bytes()
    error = raised(FailedPreconditionError, append, path, **options)
    assert (error.reason, error.source) == (Reason.IN_USE, str(path))
    assert path.read_bytes() == before


def keep_open(path: Path, mode: Any, pipe: Connection) -> None:
    """Write a record and keep the file open until told; a child process."""
    with TFRecordWriter(path, mode=mode) as writer:
        writer.write(b"theirs")
        writer.flush()
        pipe.send("open")
        pipe.recv()


@contextmanager
def held_elsewhere(path: Path, mode: str) -> Iterator[tuple[int, Connection]]:
    """Have another process keep a file open; give its number, and what ends it."""
    pipe, other = context.Pipe()
    child = context.Process(target=keep_open, args=(path, mode, other), daemon=True)
    child.start()
    assert pipe.recv() == "open"
    assert child.pid is not None
    yield child.pid, pipe
    child.join()


@pytest.mark.parametrize("mode", ["a", "w"])
def test_the_second_writer_is_rejected_until_the_first_is_closed(tmp_path: Path, mode: Any) -> None:
    path = tmp_path / "a"
    path.write_bytes(encode_record(b"old"))
    first = TFRecordWriter(path, mode=mode)
    first.write(b"first")
    first.flush()
    assert_rejected(path)
    assert_rejected(path, torn="cut")
    assert len(list(TFRecordReader(path))) in (1, 2)  # who reads is not held up
    first.close()
    append(path)
    assert list(TFRecordReader(path))[-2:] == [b"first", b"added"]


@pytest.mark.parametrize(("mode", "is_killed"), [("a", False), ("w", False), ("a", True)])
def test_a_lock_is_of_another_process_and_dies_with_it(
    tmp_path: Path, mode: str, is_killed: bool
) -> None:
    path = tmp_path / "a"
    with held_elsewhere(path, mode) as (pid, pipe):
        assert_rejected(path)
        if is_killed:
            os.kill(pid, signal.SIGKILL)
        else:
            pipe.send("close")
    append(path)
    assert list(TFRecordReader(path)) == [b"theirs", b"added"]


def test_a_torn_file_that_is_written_anew_stays_locked(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with TFRecordWriter(path, "GZIP") as writer:
        writer.write(b"whole")
    path.write_bytes(path.read_bytes()[:-3])
    with TFRecordWriter(path, "GZIP", mode="a", torn="cut") as writer:
        assert_rejected(path, options="GZIP")
        writer.write(b"more")
    assert list(TFRecordReader(path)) == [b"whole", b"more"]


def test_a_file_replaced_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(encode_record(b"old"))
    other.write_bytes(encode_record(b"new"))
    flock = fcntl.flock

    def replace_first(file: int, how: int) -> None:
        if other.exists():
            other.replace(path)
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", replace_first)
    assert raised(FailedPreconditionError, append, path).reason is Reason.IN_USE
    append(path)
    assert list(TFRecordReader(path)) == [b"new", b"added"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, None])
def test_without_locks_files_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int | None
) -> None:
    def reject(*_: object) -> None:
        raise OSError(number, "no locks here")

    if number is None:
        monkeypatch.setattr(output, "fcntl", None)
    else:
        monkeypatch.setattr(fcntl, "flock", reject)
    append(tmp_path / "a", b"one")
    append(tmp_path / "a", b"two")
    with TFRecordWriter(tmp_path / "b") as writer:
        writer.write(b"three")
    assert list(TFRecordReader([tmp_path / "a", tmp_path / "b"])) == [b"one", b"two", b"three"]
