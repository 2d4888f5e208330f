"""compare: two data sets, their schemas, statistics and records.

::

    a ── Statistics ─┬─ drift ──> Finding, ...         what is different beyond thresholds
    b ── Statistics ─┘
    a, b ── differences ──> RecordDifferences           if they have equally many records
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from tfrecord_lite.errors import FailedPreconditionError, Reason, plural, printable
from tfrecord_lite.files.names import is_file_object, name_of
from tfrecord_lite.markup import tables
from tfrecord_lite.reader import TFRecordReader, reader_with
from tfrecord_lite.records.framing import MAX_RECORD_BYTES
from tfrecord_lite.records.options import ReadOptions
from tfrecord_lite.statistics.collect import Collector
from tfrecord_lite.statistics.differences import RecordDifferences, compare_records
from tfrecord_lite.statistics.drift import Finding, Thresholds, findings
from tfrecord_lite.statistics.statistics import Statistics
from tfrecord_lite.storage.infer import blocks_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import StorageOptions
    from tfrecord_lite.records.damage import OnError
    from tfrecord_lite.records.progress import Progress
    from tfrecord_lite.storage.infer import Source


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """What is different between two data sets; true if nothing is.

    ``str`` returns a line per finding.

    Attributes
    ----------
    names : tuple of two str
        What the two are called: paths, or "the first" and "the second".
    statistics : tuple of two Statistics
        Of each.
    findings : tuple of Finding
        What is different beyond the thresholds: of all records, then by feature.
    records : RecordDifferences or None
        How the records differ one by one; None if they were not compared.

    Notes
    -----
    Immutable; can be pickled.
    """

    names: tuple[str, str]
    statistics: tuple[Statistics, Statistics]
    findings: tuple[Finding, ...]
    records: RecordDifferences | None = None

    @property
    def is_same(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __bool__(self) -> bool:
        """Return `is_same`."""
        return self.is_same

    def describe(self) -> dict[str, Any]:
        """Return all but the statistics as JSON values."""
        pairs = zip(self.names, self.statistics, strict=True)
        return {
            "same": self.is_same,
            "data": [{"name": name, "records": one.n_records} for name, one in pairs],
            "findings": [finding.describe() for finding in self.findings],
            "records": None if self.records is None else self.records.describe(),
        }

    def __str__(self) -> str:
        """Return what was compared, and a line per finding."""
        lines = [self._title(), *map(str, self.findings), *self._first(5)]
        return "\n".join(map(printable, lines))

    __repr__ = __str__

    def _title(self) -> str:
        counts = [plural(one.n_records, "record") for one in self.statistics]
        named = [f"{name} ({count})" for name, count in zip(self.names, counts, strict=True)]
        found = plural(len(self.findings), "difference") if self.findings else "no difference"
        compared = "" if self.records else "; records not compared one by one"
        return f"{' and '.join(named)}: {found}{compared}"

    def _first(self, n: int) -> list[str]:
        """Return a line for each of the first records that differ."""
        first = () if self.records is None else self.records.first
        return [f"  {one}" for one in islice(first, n)]

    def _repr_html_(self) -> str:
        """Return the findings as a table."""
        rows = [
            (
                found.feature or "",
                found.what,
                found.detail,
                _cell(found.distance),
                _cell(found.threshold),
            )
            for found in self.findings
        ]
        header = ("feature", "what", "detail", "distance", "threshold")
        parts = [tables.table(header, rows, n_rows=len(rows), noun="difference")] if rows else []
        parts += [tables.note(line.strip()) for line in self._first(5)]
        return tables.panel(self._title(), *parts)


def _cell(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}"


def compare(
    a: Source | Statistics | Any,
    b: Source | Statistics | Any,
    *,
    records: bool = True,
    thresholds: Mapping[str, float] | None = None,
    compression: CompressionType = "infer",
    on_error: OnError = "raise",
    max_errors: int | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
    max_inflated_bytes: int | None = None,
    max_inflated_ratio: float | None = None,
    storage_options: StorageOptions = None,
    progress: Progress = None,
) -> Comparison:
    """Compare two data sets: their schemas, how their values are distributed, and their records.

    Parameters
    ----------
    a, b : path, TFRecordReader, Block, list of bytes, or Statistics
        As for :func:`compute_statistics`; `a` says what to expect, and `b` is judged.
    records : bool, optional
        If both have equally many records, compare these one by one too, in order: those that hold different
        values are a finding. False for data of which only the distributions should be alike. Statistics have no records.
    thresholds : mapping of str to float, optional
        How different the data may be; those that are not given are as below.
    compression, on_error, max_errors, max_record_bytes, max_inflated_bytes, max_inflated_ratio, storage_options
        How to read files, as for :class:`TFRecordReader`.
    progress : bool or callable, optional
        As for :func:`load`; the unit is records, first of `a`, then of `b`.

    Returns
    -------
    Comparison
        True if nothing was found.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an unknown threshold, or one below 0; otherwise as :func:`compute_statistics`.
    TypeError
        If a threshold is not a number.
    FailedPreconditionError
        ``NOT_SEEKABLE`` for a pipe, unless `records` is False.
    DataLossError, OSError
        As :func:`compute_statistics`.

    Notes
    -----
    Found are: features that only one has, other kinds, values that do not fit the specification that is
    inferred from `a`; and what exceeds a threshold, or what random samples of the same data would differ by in 1 of
    1,000 cases:

    - ``jensen_shannon_divergence``, 0.05: of numbers and of lengths, from 0 to 1 (bits);
    - ``infinity_norm``, 0.05: of byte strings, the largest difference of a string's two shares;
    - ``presence``, 0.05: of the shares of records with the feature;
    - ``new_values``, 0: the share of values that `a` never has, if that has few different ones, often each;
    - ``range``, 0.25: how far other numbers are outside of the range of `a`, as a part of it;
    - ``min_fraction_threshold``, 0, and ``max_fraction_threshold``, no limit: how many times as many records
      `b` has as `a`.

    NaN or infinite numbers are found if `a` has none. Files are read twice if their records are compared.
    Memory does not depend on their size.

    Examples
    --------
    >>> from tfrecord_lite import encode_examples
    >>> before = encode_examples({"age": [7, 31, 19, 19], "name": [b"a", b"b", b"b", b"c"]})
    >>> after = encode_examples({"age": [7, 31, 19, 20], "name": [b"a", b"b", b"b", b"c"]})
    >>> comparison = compare(before, after)
    >>> bool(comparison), comparison.records.n_different
    (False, 1)
    >>> print(comparison)
    the first (4 records) and the second (4 records): 1 difference
    records: 1 of 4 records differ: age in 1
      record 3: age
    """
    limits = Thresholds.of(thresholds)
    options = ReadOptions(
        compression,
        on_error=on_error,
        max_errors=max_errors,
        max_record_bytes=max_record_bytes,
        max_inflated_bytes=max_inflated_bytes,
        max_inflated_ratio=max_inflated_ratio,
        storage_options=storage_options,
    )
    data = (a, b)
    if records:
        data = _rereadable(a, options), _rereadable(b, options)
    have_records = records and not any(isinstance(one, Statistics) for one in data)
    ours, theirs = (_statistics_of(one, options, progress) for one in data)
    found = list(findings(ours, theirs, limits))
    differences = None
    if have_records and ours.n_records == theirs.n_records:
        blocks = (blocks_of(one, options, progress=progress) for one in data)
        differences = compare_records(*blocks, is_sequence=ours.is_sequence)
    if differences is not None and differences.n_different:
        found.append(Finding("records", None, str(differences)))
    return Comparison((_name(a, 0), _name(b, 1)), (ours, theirs), tuple(found), differences)


def _rereadable(data: Any, options: ReadOptions) -> Any:
    """Return data that can be read twice, maybe a reader; raise ``NOT_SEEKABLE`` for an iterator."""
    if is_file_object(data):
        return reader_with(data, options)
    if isinstance(data, list | tuple) and any(map(is_file_object, data)):
        return reader_with(data, options)
    if isinstance(data, Iterator):
        detail = "an iterator can be read only once; give a list or a path, or records=False"
        raise FailedPreconditionError(Reason.NOT_SEEKABLE, detail=detail)
    return data


def _statistics_of(data: Any, options: ReadOptions, progress: Progress) -> Statistics:
    if isinstance(data, Statistics):
        return data
    collector = Collector()
    with closing(blocks_of(data, options, progress=progress)) as blocks:
        for block in blocks:
            collector.add(block)
    return collector.statistics()


def _name(data: Any, number: int) -> str:
    """Return what to call a data set."""
    data = data.sources if isinstance(data, TFRecordReader) else data
    if isinstance(data, list) and len(data) == 1:
        (data,) = data
    if isinstance(data, (str, os.PathLike)):
        return name_of(data)
    if isinstance(data, list) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return f"{name_of(data[0])} and {plural(len(data) - 1, 'more file')}"
    return ("the first", "the second")[number]
