"""Statistics as a table: a line per feature, and below it what its byte strings are."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import plural
from tfrecord_lite.schema.text import aligned, shown_name
from tfrecord_lite.sniff import text_of

if TYPE_CHECKING:
    from tfrecord_lite.apps.statistics.distribution import Distribution, StringStatistics
    from tfrecord_lite.apps.statistics.statistics import FeatureStatistics

_BINS = 10
_BLOCKS = "▁▂▃▄▅▆▇█"
_MAX_TOP = 5
_DATE_AND_TIME = len("2024-12-31T23:59:59")
_SMALL, _LARGE = 1e-4, 10**12
"""Numbers outside of these have an exponent."""
_FIGURES = "min", "mean", "std", "median", "max", "zeros", "NaN", "infinite"
COLUMNS = "name", "kind", "records", "steps", "length", "histogram", *_FIGURES
_LEFT_OUT = "std", "histogram", "median", "mean", "zeros", "NaN", "infinite", "steps", "records"
"""The columns that a smaller width does without, one after the other."""


def laid_out(cells: list[dict[str, str]], width: int) -> list[str]:
    """Return the head, a rule and the line of each feature, with as many columns as the width has room for."""
    columns = [name for name in COLUMNS if any(row.get(name) for row in cells)]
    for left_out in ("", *_LEFT_OUT):
        columns = [name for name in columns if name != left_out]
        sides = "".join(">" if name in _FIGURES else "<" for name in columns)
        lines = aligned(
            [columns, *([row.get(name, "") for name in columns] for row in cells)], sides
        )
        if max(map(len, lines)) <= width:
            break
    return lines


def cells_of(
    name: str, found: FeatureStatistics, n_records: int, *, has_blocks: bool = False
) -> dict[str, str]:
    """Return what there is to say of one feature, by column."""
    share = 100 * found.num_records / max(n_records, 1)
    cells = {
        "name": shown_name(name),
        "kind": found.type_name or "none",
        "records": "all"
        if found.num_records == n_records
        else f"{found.num_records:,} ({share:.1f} %)",
        "steps": "" if found.steps is None else _range(found.steps),
        "length": _range(found.lengths),
    }
    numbers = found.numbers
    if numbers is None:
        return cells
    figures = {
        "min": numbers.min,
        "mean": numbers.mean,
        "median": numbers.quantile(0.5),
        "max": numbers.max,
        "std": numbers.std,
    }
    for column, figure in figures.items():
        cells[column] = "" if figure is None else _number(figure)
        if found.type_name.startswith("datetime64[") and figure is not None and column != "std":
            date = np.int64(figure).astype(found.type_name)
            cells[column] = str(date)[:_DATE_AND_TIME]
    counts = ("zeros", numbers.num_zeros), ("NaN", numbers.num_nan), ("infinite", numbers.num_inf)
    cells |= {column: percent(count / numbers.count) for column, count in counts if count}
    if has_blocks and numbers.num_finite:
        cells["histogram"] = _blocks(numbers)
    return cells


def _range(numbers: Distribution) -> str:
    if numbers.min is None or numbers.max is None:
        return ""
    low, high = _number(numbers.min), _number(numbers.max)
    return low if low == high else f"{low} .. {high}"


def _number(number: float) -> str:
    """Return a number with four digits, and all that it has before the point unless it is huge."""
    size = abs(number)
    if isinstance(number, int) and size < _LARGE:
        return f"{number:,}"
    if not math.isfinite(number) or size >= _LARGE or 0 < size < _SMALL:
        return f"{number:.4g}"
    return f"{number:,.0f}" if size >= 1000 else f"{number:.4g}"


def percent(share: float) -> str:
    """Return a share in percent, never rounded to all or nothing.

    >>> percent(1), percent(0.99999), percent(0.5), percent(0.0001)
    ('100 %', '> 99.9 %', '50 %', '< 0.1 %')
    """
    if 0.999 < share < 1:
        return "> 99.9 %"
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{share * 100:.3g} %"


def _blocks(numbers: Distribution) -> str:
    """Draw a histogram in one line; a bin that is not empty is never as low as one that is."""
    counts, _ = numbers.histogram(_BINS)
    most = max(int(counts.max()), 1)
    return "".join(_BLOCKS[-(-count * 7 // most)] for count in counts.tolist())


def string_lines(strings: StringStatistics | None, width: int) -> list[str]:
    """Return the lines about byte strings, indented."""
    if strings is None:
        return []
    text = ", ".join(_string_texts(strings))
    indents: Any = {"initial_indent": "    ", "subsequent_indent": "    "}
    return textwrap.wrap(text, width, break_on_hyphens=False, **indents)


def quoted(value: bytes) -> str:
    """Return a byte string as a text, if it is one."""
    text = text_of(value)
    return repr(value if text is None else text)


def size_text(lengths: Distribution) -> str:
    """Return how long byte strings are."""
    low, high = lengths.min, lengths.max
    return plural(int(low or 0), "byte") if low == high else f"{low:,} .. {high:,} bytes"


def _string_texts(strings: StringStatistics) -> Iterator[str]:
    yield size_text(strings.lengths)
    contents, looked_at = list(strings.contents.items()), sum(strings.contents.values())
    if len(contents) > 1:
        yield from (f"{name} {percent(count / looked_at)}" for name, count in contents[:4])
    elif contents[0][0] != "bytes":
        yield contents[0][0]
    num_distinct = strings.num_distinct
    if num_distinct is not None:
        yield f"{num_distinct:,} different"
    are_few = num_distinct is not None and num_distinct <= _MAX_TOP
    for value, count in strings.top(_MAX_TOP):
        if count > 1 or are_few:
            yield f"{quoted(value)} {percent(count / strings.lengths.count)}"
