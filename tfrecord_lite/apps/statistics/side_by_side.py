"""A comparison as text: what differs, with both sides next to each other.

::

    a.tfrecord (60 records) and b.tfrecord (60 records): 2 differences

    feature  what     first                second               distance
    -------  -------  -------------------  -------------------  -------------
    petals   numbers  mean 20.9, std 11.6  mean 50.9, std 5.79  0.951 > 0.379

    2 of 60 records differ: label in 2
    record  feature  first  second
    ------  -------  -----  ------
    7       label    1      2
    9       label    0      2

Texts are made printable and are cut to a width; if that is small, distances are left out.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tfrecord_lite.errors import plural, printable
from tfrecord_lite.schema.text import aligned, shown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfrecord_lite.apps.statistics.comparison import Comparison
    from tfrecord_lite.apps.statistics.differences import RecordDifferences
    from tfrecord_lite.apps.statistics.drift import Finding

ALL = "(all)"
"""Where features have a name: what is about all records."""
WIDTH = 100
_LEAST_WIDTH, _MAX_NAME = 16, 30
_LEAST_LINE = 40
_MAX_ROWS = 10


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
    return (_name(finding.feature), finding.what, first, second, distance)


def _name(feature: str | None) -> str:
    """Return the name of a feature, never that of all."""
    if feature is None:
        return ALL
    return repr(feature) if feature == ALL else shown_name(feature)


def record_rows(differences: RecordDifferences) -> list[tuple[str, ...]]:
    """Return the head and the cells of the first records that differ."""
    rows = (
        ("" if i else f"{one.number:,}", _name(feature), *sides)
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
