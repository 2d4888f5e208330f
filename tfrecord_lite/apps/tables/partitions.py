"""The parts of a table that tasks read, in other processes or on other machines.

::

    TFRecordTable ──partitions──> TablePartition, ...  ──pickle──>  PartitionReader: record batches, a report

All have the table's Arrow schema, which was settled where the table was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Self

from tfrecord_lite.apps.tables.batches import LEAST, RecordBatches, fitting_size
from tfrecord_lite.block import Block
from tfrecord_lite.errors import DamageReport, require_int
from tfrecord_lite.index.ranges import RangeReader, RecordRange
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.schema import Schema, SequenceSchema

__all__ = ["PartitionReader", "TablePartition"]


@dataclass(frozen=True, eq=False, repr=False)
class TablePartition:
    """Rows of a table that follow each other in one file; made by :meth:`TFRecordTable.partitions`.

    It can be pickled, and is read wherever the file can be: each :meth:`read` opens it anew.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> parts = scan("people.tfrecord").partitions(num_partitions=2)
    >>> [part.num_rows for part in parts]
    [2, 1]
    >>> [batch.to_pydict() for batch in parts[1].read()]
    [{'name': ['Grace'], 'age': [37]}]
    """

    range: RecordRange
    """Where in the file the records are."""
    _batches: RecordBatches
    _options: ReadSettings
    _size: int | None

    @property
    def source(self) -> str:
        """The path or URL of the file."""
        return self.range.source

    @property
    def nbytes(self) -> int:
        """Bytes of the file that are read; 0 if that is not known."""
        return self.range.nbytes

    @property
    def num_rows(self) -> int | None:
        """The number of rows if it is known and exact: without damage skipped; else None."""
        return self.range.n_records if self._options.on_error == "raise" else None

    @property
    def schema(self) -> Schema | SequenceSchema:
        """The schema with which the records are parsed."""
        return self._batches.features

    @property
    def arrow_schema(self) -> Any:
        """The ``pyarrow.Schema`` of all batches."""
        return self._batches.schema

    def select(self, names: Sequence[str]) -> TablePartition:
        """Return the partition with some columns, as :meth:`TFRecordTable.select`.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> (part,) = scan("people.tfrecord").partitions(num_partitions=1)
        >>> next(part.select(["age"]).read()).to_pydict()
        {'age': [36, 41, 37]}
        """
        return replace(self, _batches=self._batches.select(names))

    def read(self, size: int | None = None) -> PartitionReader:
        """Read the rows as ``pyarrow.RecordBatch`` objects.

        Parameters
        ----------
        size : int, optional
            Rows per batch; by default the table's `batch_size`, or about 4 MB of records.

        Returns
        -------
        PartitionReader
            An iterator, which opens the file when it is first asked for a batch, and raises as
            :meth:`TFRecordTable.to_batches`; ``FailedPreconditionError`` (``STALE_INDEX``) if the file
            has changed since the table was divided.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> (part,) = scan("people.tfrecord").partitions(num_partitions=1)
        >>> [len(batch) for batch in part.read(2)]
        [2, 1]
        """
        size = self._size if size is None else require_int("size", size, 1)
        return PartitionReader(RangeReader(self.range, self._options), self._batches, size)

    def __repr__(self) -> str:
        """Name the file and the part of it."""
        whole = self.range.start == 0 and self.range.stop is None
        part = "" if whole else f", bytes {self.range.start} to {self.range.stop or 'the end'}"
        return f"<TablePartition of {self.source}{part}>"


def fitting_blocks(records: RangeReader, size: int | None) -> Iterator[Block]:
    """Yield the records of a range in blocks of `size`, or of about 4 MB, and close the file."""
    with closing(records):
        wanted = size
        while (block := records.next_block(wanted)) is not None:
            # What the first read brings tells how many records fit.
            most = size or fitting_size(block, LEAST)
            step = wanted or most
            for first in range(0, len(block), step):
                yield block[first : first + step]
            wanted = most


class PartitionReader:
    """Iterator of the record batches of a partition.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> (part,) = scan("people.tfrecord").partitions(num_partitions=1)
    >>> for batch in part.read(2):
    ...     print(batch.to_pydict())
    {'name': ['Ada', 'Alan'], 'age': [36, 41]}
    {'name': ['Grace'], 'age': [37]}
    """

    def __init__(self, records: RangeReader, batches: RecordBatches, size: int | None) -> None:
        self._records = records
        self._made = self._of_blocks(batches, size)

    def _of_blocks(self, batches: RecordBatches, size: int | None) -> Iterator[Any]:
        for block in fitting_blocks(self._records, size):
            yield batches.of(block)

    @property
    def report(self) -> DamageReport | None:
        """What was read and skipped so far; None if damage is raised."""
        return self._records.report

    def __iter__(self) -> Self:
        """Return the iterator itself."""
        return self

    def __next__(self) -> Any:
        """Return the next record batch, which owns its memory."""
        return next(self._made)

    def close(self) -> None:
        """Close the file; nothing follows.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> (part,) = scan("people.tfrecord").partitions(num_partitions=1)
        >>> batches = part.read(2)
        >>> first = next(batches)
        >>> batches.close()
        >>> list(batches)
        []
        """
        self._made.close()  # type: ignore[attr-defined]
