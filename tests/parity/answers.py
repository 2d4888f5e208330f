"""Call TensorFlow and this library with the same arguments, and compare the answers."""

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfrecord_lite import TFRecordReader, TFRecordWriter
from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
)
from tfrecord_lite.files.compression import TFRecordOptions
from tfrecord_lite.reader import tf_record_iterator

SAME_ERRORS: dict[str, type[Exception]] = {
    "DataLossError": DataLossError,
    "InvalidArgumentError": InvalidArgumentError,
    "UnicodeDecodeError": InvalidArgumentError,  # rule W9
    "FailedPreconditionError": FailedPreconditionError,
    "NotFoundError": FileNotFoundError,
}
"""TensorFlow's errors by name, and ours for them; Python's own are the same on both sides."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call: a value or an error; for a reader, records and then maybe an error."""

    value: Any
    error: Exception | None = None

    @property
    def reason(self) -> Reason:
        assert isinstance(self.error, DataLossError), self
        return self.error.reason

    @property
    def offset(self) -> int | None:
        """The offset in an error: a field of ours, a number in TensorFlow's text."""
        if isinstance(self.error, DataLossError):
            return self.error.offset
        found = re.search(r"record at (\d+)", str(self.error))
        return int(found[1]) if found else None

    def __str__(self) -> str:
        value = self.value
        if isinstance(value, list):
            value = f"{len(value)} records"
        return f"{value!r:.60}, {type(self.error).__name__}: {self.error}"


def ask(function: Callable[..., Any], *arguments: Any, **named: Any) -> Answer:
    """Call a function and return its value, or its error."""
    try:
        return Answer(function(*arguments, **named))
    except Exception as error:  # noqa: BLE001 - whichever it is, it is the answer
        return Answer(None, error)


def read_all(start: Callable[[], Iterable[Any]]) -> Answer:
    """Collect records until the end or an error, also one at the start."""
    records: list[bytes] = []
    try:
        records.extend(map(bytes, start()))
    except Exception as error:  # noqa: BLE001 - whichever it is, it is the answer
        return Answer(records, error)
    return Answer(records)


def expected_error(theirs: Exception) -> type[Exception]:
    if "Is a directory" in str(theirs):
        return IsADirectoryError
    return SAME_ERRORS.get(type(theirs).__name__, type(theirs))


def assert_same_error(theirs: Answer, ours: Answer) -> None:
    """Check that both ended well, or with the same error."""
    if theirs.error is None:
        assert ours.error is None, f"TensorFlow: {theirs}; ours: {ours}"
    else:
        wanted = expected_error(theirs.error)
        assert isinstance(ours.error, wanted), f"TensorFlow: {theirs}; ours: {ours}"


def assert_same(theirs: Answer, ours: Answer) -> None:
    """Check that both gave the same value or records, and the same error or none."""
    assert_same_error(theirs, ours)
    assert ours.value == theirs.value, f"TensorFlow: {theirs}; ours: {ours}"


def read_ours(path: str, compression: Any = "") -> Answer:
    """Read with each of our readers, which must agree with each other."""
    answer = read_all(lambda: tf_record_iterator(path, compression))

    def reader() -> TFRecordReader:
        return TFRecordReader(path, compression)

    def blocks() -> Iterator[bytes]:
        return itertools.chain.from_iterable(reader().blocks())

    def blocks_of_3() -> Iterator[bytes]:
        return itertools.chain.from_iterable(reader().blocks(3))

    for start in (reader, blocks, blocks_of_3):
        other = read_all(start)
        assert other.value == answer.value, f"iterator: {answer}; {start.__name__}: {other}"
        assert type(other.error) is type(answer.error)
        assert str(other.error) == str(answer.error)
    return answer


class Both:
    """TensorFlow and this library, and a folder for the files they read and write."""

    def __init__(self, tf: Any, folder: Path) -> None:
        self.tf = tf
        self.folder = folder

    def path(self, data: bytes | None = None, name: str = "file") -> str:
        """Return the path of a file with this content; of a missing file without."""
        path = self.folder / name
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(data)
        return str(path)

    @functools.cached_property
    def iterator(self) -> Any:
        """TensorFlow's tf_record_iterator, without the advice it logs at every call."""
        iterator = self.tf.compat.v1.io.tf_record_iterator
        return getattr(iterator, "__wrapped__", iterator)

    def read_theirs(self, path: str, compression: Any = "") -> Answer:
        return read_all(lambda: self.iterator(path, compression))

    def read_dataset(self, path: str | list[str], compression: str = "") -> Answer:
        return read_all(lambda: self.tf.data.TFRecordDataset(path, compression).as_numpy_iterator())

    def read(self, data: bytes, compression: str = "") -> tuple[Answer, Answer]:
        """Read a file of this content with both."""
        path = self.path(data)
        return self.read_theirs(path, compression), read_ours(path, compression)

    def read_same(self, data: bytes, compression: str = "") -> Answer:
        theirs, ours = self.read(data, compression)
        assert_same(theirs, ours)
        assert_same(self.read_dataset(self.path(data), compression), ours)
        return ours

    def write(
        self,
        records: Sequence[Any],
        options: str | dict[str, Any] = "",
        flush_after: Collection[int] = (),
    ) -> tuple[bytes, bytes]:
        """Write with both, flushing after some of the records; return the two files."""
        files = []
        for options_class, writer_class in (
            (self.tf.io.TFRecordOptions, self.tf.io.TFRecordWriter),
            (TFRecordOptions, TFRecordWriter),
        ):
            path = self.path(name="written")
            chosen = options if isinstance(options, str) else options_class(**options)
            with writer_class(path, chosen) as writer:
                for number, record in enumerate(records):
                    writer.write(record)
                    if number in flush_after:
                        writer.flush()
            with open(path, "rb") as file:  # noqa: PTH123 - a name, as users give it
                files.append(file.read())
        return files[0], files[1]

    def write_same(
        self,
        records: Sequence[Any],
        options: str | dict[str, Any] = "",
        flush_after: Collection[int] = (),
    ) -> bytes:
        theirs, ours = self.write(records, options, flush_after)
        assert ours == theirs, f"TensorFlow wrote {len(theirs)} bytes, we {len(ours)}"
        return ours

    @contextlib.contextmanager
    def readers(self, path: str, compression: str = "") -> Iterator[tuple[Any, Any]]:
        theirs, ours = self.iterator(path, compression), tf_record_iterator(path, compression)
        try:
            yield theirs, ours
        finally:
            theirs.close()
            ours.close()
