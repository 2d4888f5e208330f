"""compare: two data sets, their schemas, statistics and records.

::

    a ── Statistics ─┬─ drift ──> Finding, ...         what is different beyond thresholds
    b ── Statistics ─┘
    a, b ── differences ──> RecordDifferences           if they have equally many records
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfrecord_lite.apps.markup import tables
from tfrecord_lite.apps.statistics.collect import Collector
from tfrecord_lite.apps.statistics.differences import RecordDifferences, compare_records
from tfrecord_lite.apps.statistics.drift import Finding, Thresholds, findings
from tfrecord_lite.apps.statistics.statistics import Statistics
from tfrecord_lite.errors import FailedPreconditionError, Reason, plural, printable
from tfrecord_lite.files.names import expand, is_file_object, is_url, name_of, position_of
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.reader import TFRecordReader, reader_with
from tfrecord_lite.schema.text import aligned, shown_name
from tfrecord_lite.storage.infer import blocks_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Unpack

    from tfrecord_lite.options import ReadOptions
    from tfrecord_lite.progress import Progress
    from tfrecord_lite.storage.infer import Source


ALL = "(all)"
"""Where features have a name: what is about all records."""
WIDTH = 100
_LEAST_WIDTH, _MAX_NAME = 16, 30
_LEAST_LINE = 40
_MAX_ROWS = 10


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """What is different between two data sets; true if nothing is.

    ``str`` returns tables of what differs, with both sides next to each other.

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

    Examples
    --------
    >>> from tfrecord_lite.apps.statistics import compare
    >>> before = encode_examples({"age": [36, 41, 37]})
    >>> after = encode_examples({"age": [36, 44, 37]})
    >>> comparison = compare(before, after, thresholds={"distance": 1, "range": 1})
    >>> bool(comparison), [str(finding) for finding in comparison.findings]
    (False, ['records: 1 of 3 records differ: age in 1'])
    >>> [each["age"].numbers.max for each in comparison.statistics]
    [41, 44]
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
        """Return all but the statistics as JSON values.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import compare
        >>> before = encode_examples({"age": [36, 41, 37]})
        >>> after = encode_examples({"age": [36, 41, 38]})
        >>> compare(before, after).describe()["records"]["by_feature"]
        {'age': 1}
        """
        pairs = zip(self.names, self.statistics, strict=True)
        return {
            "same": self.is_same,
            "data": [{"name": name, "records": one.num_records} for name, one in pairs],
            "findings": [finding.describe() for finding in self.findings],
            "records": None if self.records is None else self.records.describe(),
        }

    def lines(self, width: int = WIDTH) -> list[str]:
        """Return the lines of ``str``, for a terminal of a width.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import compare
        >>> before = encode_examples({"age": [36, 41, 37]})
        >>> after = encode_examples({"age": [36, 41, 38]})
        >>> compare(before, after).lines()[-1]
        '2       age      37     38'
        """
        return list(lines_of(self, width))

    def __str__(self) -> str:
        """Return what was compared, and tables of what differs, with both sides next to each other."""
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the same tables for notebooks."""
        header, *rows = finding_rows(self)
        parts = [tables.table(header, rows, n_rows=len(rows), noun="difference")] if rows else []
        if self.records is not None and self.records.num_different:
            header, *rows = record_rows(self.records)
            parts.append(tables.table(header, rows, caption=str(self.records)))
        return tables.panel(title_of(self), *parts)


def compare(
    a: Source | Statistics | Any,
    b: Source | Statistics | Any,
    *,
    records: bool = True,
    thresholds: Mapping[str, float] | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
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
    progress : bool or callable, optional
        As for :func:`load`; the unit is records, of each data set when it is read. Both are read a second time, in
        turns, if records are compared.
    **options
        How files are read, see :class:`ReadOptions`.

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
        Unless `records` is False: ``NOT_SEEKABLE`` for an iterator or a pipe, also one that has a path,
        and for data that are not the same when they are read a second time.
    DataLossError, OSError
        As :func:`compute_statistics`.

    Notes
    -----
    Found are: features that only one has, other kinds, values that do not fit the specification that is
    inferred from `a`; and what exceeds a threshold:

    - ``presence``, 0.05: of the shares of records with the feature;
    - ``distance``, 0.05: of numbers and of lengths, the Jensen-Shannon divergence from 0 to 1 (bits),
      over ten bins or a few different integers; of byte strings, the largest difference of the two
      shares of a value, or of a format (JPEG, text, ...);
    - ``range``, 0.01: the share of numbers that are outside of the range of `a`;
    - ``new_values``, 0.001: the share of values that `a` never has, if that has few different ones, often each.

    NaN or infinite numbers are found if `a` has none. Two small samples of the same data differ by more
    than two large ones: give higher thresholds for these. Byte strings of more than
    64 bytes are compared by their lengths and formats only; records one by one are compared by all they hold.
    Files are read twice if their records are compared. Memory does not depend on their size.

    Examples
    --------
    >>> from tfrecord_lite.apps.statistics import compare
    >>> before = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> after = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 44, 37]})
    >>> comparison = compare(before, after, thresholds={"distance": 1, "range": 1})
    >>> bool(comparison), comparison.records.num_different
    (False, 1)
    >>> print(comparison)
    the first (3 records) and the second (3 records): 1 difference
    <BLANKLINE>
    1 of 3 records differ: age in 1
    record  feature  first  second
    ------  -------  -----  ------
    1       age      41     44
    """
    limits = Thresholds.of(thresholds)
    settings = ReadSettings(**options)
    data = tuple(_checked(one, settings, is_read_twice=records) for one in (a, b))
    have_records = records and not any(isinstance(one, Statistics) for one in data)
    ours, theirs = (_statistics_of(one, settings, progress) for one in data)
    found = list(findings(ours, theirs, limits))
    differences = None
    if have_records and ours.num_records == theirs.num_records:
        blocks = (blocks_of(one, settings, progress=progress) for one in data)
        is_sequence = ours.is_sequence or theirs.is_sequence
        differences = compare_records(*blocks, is_sequence=is_sequence)
        if differences is None or differences.num_records != ours.num_records:
            detail = "the records are not the same when they are read a second time; records=False"
            detail += " reads them once"
            raise FailedPreconditionError(Reason.NOT_SEEKABLE, source=_name(b, 1), detail=detail)
    if differences is not None and differences.num_different:
        found.append(Finding("records", None, str(differences), sides=differences.sides()))
    return Comparison((_name(a, 0), _name(b, 1)), (ours, theirs), tuple(found), differences)


def _checked(data: Any, options: ReadSettings, *, is_read_twice: bool) -> Any:
    """Return data, maybe as a reader; raise if files do not exist, or cannot be read twice if they have to be."""
    if isinstance(data, Iterator) and is_read_twice and not is_file_object(data):
        detail = "an iterator can be read only once; give a list or a path, or records=False"
        raise FailedPreconditionError(Reason.NOT_SEEKABLE, detail=detail)
    if is_file_object(data) or (isinstance(data, list | tuple) and any(map(is_file_object, data))):
        data = reader_with(data, options)
    for source in _sources_of(data, options):
        if _is_pipe(source) and is_read_twice:
            detail = (
                "a pipe can be read only once; copy it into a file first, or give records=False"
            )
            name = name_of(source)
            raise FailedPreconditionError(Reason.NOT_SEEKABLE, source=name, detail=detail)
    return data


def _sources_of(data: Any, options: ReadSettings) -> list[Any]:
    """Return the files of data, if it is in files."""
    data = data.sources if isinstance(data, TFRecordReader) else data
    is_path = isinstance(data, (str, os.PathLike))
    if isinstance(data, list | tuple):
        is_path = bool(data) and all(
            isinstance(one, (str, os.PathLike)) or is_file_object(one) for one in data
        )
    return expand(data, options.storage_options) if is_path or is_file_object(data) else []


def _is_pipe(source: Any) -> bool:
    """Whether a file can be read only once, by what it is: nothing is opened."""
    if is_file_object(source):
        return position_of(source) is None
    name = name_of(source)
    if is_url(name):
        return False
    mode = Path(name).stat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _statistics_of(data: Any, options: ReadSettings, progress: Progress) -> Statistics:
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
    if is_file_object(data) and isinstance(getattr(data, "name", None), str):
        return name_of(data)
    if isinstance(data, list) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return f"{name_of(data[0])} and {plural(len(data) - 1, 'more file')}"
    return ("the first", "the second")[number]


# ------------------------------------------------------------------------------- as text
#
#     a.tfrecord (60 records) and b.tfrecord (60 records): 2 differences
#
#     feature  what     first                second               distance
#     -------  -------  -------------------  -------------------  -------------
#     petals   numbers  mean 20.9, std 11.6  mean 50.9, std 5.79  0.951 > 0.379
#
# Texts are made printable and are cut to a width; if that is small, distances are left out.


def title_of(comparison: Comparison) -> str:
    """Return what was compared, and how much differs, in a line."""
    pairs = zip(comparison.names, comparison.statistics, strict=True)
    named = " and ".join(f"{name} ({plural(one.num_records, 'record')})" for name, one in pairs)
    rest = "" if comparison.records else "; records not compared one by one"
    if comparison.findings:
        return printable(f"{named}: {plural(len(comparison.findings), 'difference')}{rest}")
    n_features = len(comparison.statistics[0])
    each = ", each record" if comparison.records else rest
    compared = f"schema, distributions of {plural(n_features, 'feature')}{each}"
    return printable(f"{named}: no difference; compared: {compared}")


def finding_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return the head and the cells of the findings, but for that about single records."""
    about_features = (one for one in comparison.findings if one.what != "records")
    rows = [_finding_row(finding) for finding in about_features]
    rows.insert(0, ("feature", "what", "first", "second", "distance"))
    has_distances = any(row[-1] for row in rows[1:])
    return rows if has_distances else [row[:-1] for row in rows]


def _finding_row(finding: Finding) -> tuple[str, ...]:
    first, second = finding.sides if any(finding.sides) else ("", finding.detail)
    distance = ""
    if finding.distance is not None:
        distance = f"{finding.distance:.3g}"
        if finding.threshold is not None:
            sign = ">" if finding.distance > finding.threshold else "<"
            distance += f" {sign} {finding.threshold:.3g}"
    return (_feature_name(finding.feature), finding.what, first, second, distance)


def _feature_name(feature: str | None) -> str:
    """Return the name of a feature, never that of all."""
    if feature is None:
        return ALL
    return repr(feature) if feature == ALL else shown_name(feature)


def record_rows(differences: RecordDifferences) -> list[tuple[str, ...]]:
    """Return the head and the cells of the first records that differ."""
    rows = (
        ("" if i else f"{one.number:,}", _feature_name(feature), *sides)
        for one in differences.first
        for i, (feature, sides) in enumerate(zip(one.features, one.values, strict=False))
    )
    return [("record", "feature", "first", "second"), *islice(rows, _MAX_ROWS)]


def lines_of(comparison: Comparison, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines of a comparison, all printable, in a width if that is not too small."""
    yield title_of(comparison)
    rows = finding_rows(comparison)
    if len(rows) > 1:
        yield ""
        yield from _table(rows, width)
    if comparison.records is not None and comparison.records.num_different:
        yield ""
        yield _cut(printable(str(comparison.records)), max(width, _LEAST_LINE))
        yield from _table(record_rows(comparison.records), width)


def _table(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    """Return the lines of a table, its columns `first` and `second` as wide as there is room for."""
    at = rows[0].index("first")
    names = max(min(_MAX_NAME, width // 4), _LEAST_WIDTH)
    cells = [[printable(cell) for cell in row] for row in rows]
    cells = [[_cut(cell, names) for cell in row[:at]] + row[at:] for row in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_too_wide = sum(widths) + 2 * len(widths) - 2 > width
    if is_too_wide and width < WIDTH and len(widths) > at + 2:
        cells, widths = [row[:-1] for row in cells], widths[:-1]
    room = width - sum(widths[:at]) - sum(widths[at + 2 :]) - 2 * (len(widths) - 1)
    room = max(room, 2 * _LEAST_WIDTH)
    first, second = widths[at : at + 2]
    if first + second > room:
        first, second = (
            min(first, max(room // 2, room - second)),
            min(second, max(room - room // 2, room - first)),
        )
    sides = [[_cut(row[at], first), _cut(row[at + 1], second)] for row in cells]
    fitted = [row[:at] + side + row[at + 2 :] for row, side in zip(cells, sides, strict=True)]
    return aligned(fitted)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
