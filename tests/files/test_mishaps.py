"""What happens to who reads or writes when the world changes: each has one outcome."""

import errno
import gzip
import io
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.support.file_objects import LostConnection
from tests.support.read_outcome import outcome_of
from tests.support.reference import encode_record
from tfrecord_lite import TFRecordReader, verify
from tfrecord_lite.errors import Reason
from tfrecord_lite.files import remote
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.records.decoder import CHUNK_BYTES
from tfrecord_lite.records.framing import frame

SIZE = 1016
RECORDS = [b"%01000d" % i for i in range(5000)]
"""Several times what is read at a time."""
STREAM = bytes(frame(RECORDS))
assert len(STREAM) > 4 * CHUNK_BYTES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a"
    path.write_bytes(STREAM)
    return path


class TestChangingFiles:
    @pytest.mark.parametrize("on_error", ["raise", "skip"])
    def test_what_is_added_before_the_end_is_read(self, path: Path, on_error: Any) -> None:
        records = iter(TFRecordReader(path, on_error=on_error))
        first = next(records)
        with path.open("ab") as file:
            file.write(frame([b"added"]))
        assert [first, *records] == [*RECORDS, b"added"]

    @pytest.mark.parametrize("n_left", [0, 1, SIZE, SIZE + 5, 20 * SIZE])
    def test_a_file_cut_before_where_it_is_read_is_truncated(self, path: Path, n_left: int) -> None:
        # Also if it is cut between two records: it has fewer than it had.
        for read in (self.by_record, self.by_block):
            path.write_bytes(STREAM)
            records = read(path)
            first = [next(records)]
            with path.open("r+b") as file:
                file.truncate(n_left)
            rest, loss = outcome_of(records)
            found = [*first, *rest]
            assert found == RECORDS[: len(found)]
            assert loss is not None
            assert loss.reason is Reason.TRUNCATED
            assert loss.offset == len(found) * SIZE

    @staticmethod
    def by_record(path: Path, **options: Any) -> Iterator[bytes]:
        return iter(TFRecordReader(path, **options))

    @staticmethod
    def by_block(path: Path, **options: Any) -> Iterator[bytes]:
        return (record for block in TFRecordReader(path, **options).blocks() for record in block)

    def test_who_skips_is_told_and_ends(self, path: Path) -> None:
        for read in (self.by_record, self.by_block):
            path.write_bytes(STREAM)
            told: list[Any] = []
            records = read(path, on_error=told.append)
            first = next(records)
            path.write_bytes(b"")
            found = [first, *records]
            assert found == RECORDS[: len(found)]
            assert [span.reason for span in told] == [Reason.TRUNCATED]

    def test_a_file_that_is_replaced_is_read_to_its_end(self, path: Path) -> None:
        reader = TFRecordReader(path)
        records = iter(reader)
        first = next(records)
        other = path.with_name("b")
        other.write_bytes(encode_record(b"new"))
        other.replace(path)
        assert [first, *records] == RECORDS
        assert list(reader) == [b"new"]

    def test_a_file_that_is_written_over_fails_its_checksums(self, path: Path) -> None:
        records = iter(TFRecordReader(path))
        first = next(records)
        with path.open("r+b") as file:
            file.write(b"\x55" * len(STREAM))
        found, loss = outcome_of(records)
        assert [first, *found] == RECORDS[: len(found) + 1]
        assert loss is not None


class Failing(io.BytesIO):
    def __init__(self, data: bytes, after: int, error: Exception) -> None:
        super().__init__(data)
        self.after, self.error = after, error

    def read(self, n_bytes: int | None = -1) -> bytes:
        if self.tell() >= self.after > 0:
            self.after = 0
            raise self.error
        return super().read(n_bytes)


class TestReadErrors:
    @pytest.mark.parametrize("compress", [bytes, lambda data: gzip.compress(data, 0)])
    @pytest.mark.parametrize("on_error", ["raise", "skip"])
    @pytest.mark.parametrize("error", [OSError(5, "read error"), RuntimeError("anything")])
    def test_it_comes_after_all_before_it_and_a_new_iteration_reads_all(
        self, compress: Callable[[bytes], bytes], on_error: Any, error: Exception
    ) -> None:
        for by_block in (False, True):
            file = Failing(compress(STREAM), 2_000_000, error)
            reader = TFRecordReader(file, on_error=on_error)
            records = chain.from_iterable(reader.blocks(1500)) if by_block else iter(reader)
            found: list[bytes] = []
            with pytest.raises(type(error)) as caught:
                found.extend(records)
            assert caught.value is error
            assert found == RECORDS[: len(found)]
            assert len(found) > 1000
            assert list(reader) == RECORDS

    def test_verify_reports_it_as_a_failure(self) -> None:
        error = OSError(5, "read error")
        (file,) = verify(Failing(STREAM, 2_000_000, error)).files
        assert file.failure is error
        assert not file.is_sound
        assert 1000 < file.records < 5000

    def test_in_the_middle_of_a_search(self) -> None:
        # The error is raised, and never taken for the end of the file.
        data = b"junk" * 700_000 + STREAM
        reader = TFRecordReader(Failing(data, 1_500_000, OSError(5, "x")), "", on_error=str)
        with pytest.raises(OSError, match="x"):
            list(reader)
        assert list(reader) == RECORDS


class ClientError(Exception):
    """An error of a remote client, not an OSError."""


CLIENT_ERRORS: list[tuple[Exception, type[OSError], int]] = [
    (ClientError("payload"), OSError, errno.EIO),
    (OSError("in words"), OSError, errno.EIO),
    (OSError(errno.ENOTCONN, "no connection"), OSError, errno.ENOTCONN),
    (ConnectionResetError(errno.ECONNRESET, "reset"), ConnectionResetError, errno.ECONNRESET),
    (TimeoutError(), TimeoutError, errno.ETIMEDOUT),
    (FileNotFoundError("gone"), FileNotFoundError, errno.ENOENT),
]


@pytest.mark.parametrize(("raised", "kind", "number"), CLIENT_ERRORS)
@pytest.mark.parametrize("n_good", [0, 1_500_000])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_what_a_remote_client_raises_while_reading_is_an_oserror_with_the_url(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    raised: Exception,
    kind: type[OSError],
    number: int,
    n_good: int,
    compress: Any,
) -> None:
    memory = pytest.importorskip("fsspec.implementations.memory").MemoryFileSystem
    url, stored = "memory://cut", compress(STREAM)
    n_good = min(n_good, len(stored) // 2)
    memory().pipe_file("/cut", stored)
    monkeypatch.setattr(remote, "PAUSES", ())
    monkeypatch.setattr(memory, "_open", lambda *_, **__: LostConnection(stored, n_good, raised))
    (tmp_path / "a").write_bytes(STREAM)
    (tmp_path / "b").write_bytes(STREAM[:-3])
    with pytest.raises(OSError) as caught:  # noqa: PT011 - which one is asked below
        list(TFRecordReader(url))
    report = verify([tmp_path / "a", url, tmp_path / "b"])
    with pytest.raises(OSError) as sought:  # noqa: PT011
        open_seekable(url).seek(0, io.SEEK_END)
    for error in caught.value, sought.value, report.files[1].failure:
        assert type(error) is kind
        assert (error.errno, error.filename) == (number, url)
        assert str(raised.args[-1] if raised.args else "") in str(error)
    assert [file.num_damaged for file in report.files] == [0, 0, 1]
