"""Statistics as a table: a row per feature, and of byte strings a line below about what they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tfrecord_lite.cli import style
from tfrecord_lite.cli.display import bytes_text
from tfrecord_lite.cli.formatting import aligned
from tfrecord_lite.errors import plural
from tfrecord_lite.schema.text import shown_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.apps.statistics import (
        Distribution,
        FeatureStatistics,
        Statistics,
        StringStatistics,
    )

_BINS = 10
_BLOCKS = "▁▂▃▄▅▆▇█"
_MAX_TOP, _MAX_STRING = 5, 24
_INDENT = "    "
_SMALL, _LARGE = 1e-4, 10**12
"""Numbers outside of these have an exponent."""
_FIGURES = "min", "mean", "std", "median", "max", "zeros", "NaN", "infinite"
_COLUMNS = "name", "kind", "records", "steps", "length", "histogram", *_FIGURES
_LEFT_OUT: tuple[tuple[str, ...], ...] = (
    (),
    ("std",),
    ("std", "histogram"),
    ("std", "histogram", "median"),
    ("std", "histogram", "median", "mean"),
    ("std", "histogram", "median", "mean", "zeros", "NaN", "infinite"),
)
"""The columns that narrower terminals do without."""
_LAYOUTS = *((True, left_out) for left_out in _LEFT_OUT[:4]), *((False, o) for o in _LEFT_OUT)
"""What is tried: whether names are beside the other columns, not above them; the columns left out."""


def lines_of(
    statistics: Statistics, chosen: set[str], width: int, *, has_blocks: bool
) -> Iterator[str]:
    """Yield the lines about these features; `has_blocks` is for histograms of block characters."""
    sections = (
        ("context:" * statistics.is_sequence, statistics.features),
        ("feature lists:", statistics.feature_lists),
    )
    for title, features in sections:
        shown = {name: found for name, found in features.items() if name in chosen}
        if not shown:
            continue
        yield ""
        if title:
            yield style.heading(title)
        cells = [
            _cells(name, found, statistics.num_records, has_blocks=has_blocks)
            for name, found in shown.items()
        ]
        head, rows = _laid_out(cells, width)
        yield style.heading(head)
        for lines, found in zip(rows, shown.values(), strict=True):
            yield from lines
            if found.strings is not None:
                yield from _wrapped(_string_texts(found.strings), width)


def _laid_out(cells: list[dict[str, str]], width: int) -> tuple[str, list[list[str]]]:
    """Return the head and the lines of each feature, with as many columns as the width has room for."""
    used = [name for name in _COLUMNS if any(row.get(name) for row in cells)]
    for is_beside, left_out in _LAYOUTS:
        columns = [name for name in used if name not in left_out]
        lengths = "short length" if left_out else "length"
        rows = [
            [row.get(lengths if name == "length" else name, "") for name in columns]
            for row in cells
        ]
        sides = "".join(">" if name in _FIGURES else "<" for name in columns)
        if is_beside:
            head, *lines = aligned([columns, *rows], sides)
            blocks = [[line] for line in lines]
        else:
            head, *lines = aligned([columns[1:], *(row[1:] for row in rows)], sides[1:])
            head = f"  {head}"
            blocks = [[row["name"], f"  {line}"] for row, line in zip(cells, lines, strict=True)]
        if max(style.width(line) for lines in ([head], *blocks) for line in lines[-1:]) <= width:
            break
    return head, blocks


def _cells(
    name: str, found: FeatureStatistics, n_records: int, *, has_blocks: bool
) -> dict[str, str]:
    """Return what there is to say of one feature, by column."""
    share = 100 * found.num_records / max(n_records, 1)
    cells = {
        "name": style.name(shown_name(name)),
        "kind": "/".join(kind.label for kind in found.kinds) or "none",
        "records": "all"
        if found.num_records == n_records
        else f"{found.num_records:,} ({share:.1f} %)",
        "steps": "" if found.steps is None else _range(found.steps),
        "length": _range(found.lengths, has_mean=True),
        "short length": _range(found.lengths),
    }
    numbers = found.numbers
    if numbers is None:
        return cells
    figures = (numbers.min, numbers.mean, numbers.std, numbers.quantile(0.5), numbers.max)
    counts = (numbers.num_zeros, numbers.num_nan, numbers.num_inf)
    texts = [
        *("" if figure is None else _number(figure) for figure in figures),
        *(_percent(count, numbers.count) if count else "" for count in counts),
    ]
    drawn = _blocks(numbers) if has_blocks and numbers.num_finite else ""
    return {**cells, "histogram": drawn, **dict(zip(_FIGURES, texts, strict=True))}


def _range(numbers: Distribution, *, has_mean: bool = False) -> str:
    """Return the range of some numbers, and maybe their mean if they differ."""
    if numbers.min is None or numbers.max is None:
        return ""
    low, high = _number(numbers.min), _number(numbers.max)
    mean = f", mean {_number(numbers.mean or 0.0)}" if has_mean else ""
    return low if low == high else f"{low} .. {high}{mean}"


def _number(number: float) -> str:
    """Return a number with four digits, and all that it has before the point unless it is huge."""
    size = abs(number)
    if isinstance(number, int) and size < _LARGE:
        return f"{number:,}"
    if not math.isfinite(number) or size >= _LARGE or 0 < size < _SMALL:
        return f"{number:.4g}"
    return f"{number:,.0f}" if size >= 1000 else f"{number:.4g}"


def _percent(count: int, total: int) -> str:
    """Return a share; one that is not all or nothing does not look like it."""
    share = 100 * count / max(total, 1)
    shown = f"{share:.1f} %"
    return {"0.0 %": "< 0.1 %", "100.0 %": "100 %" if count == total else "> 99.9 %"}.get(
        shown, shown
    )


def _blocks(numbers: Distribution) -> str:
    """Draw a histogram in one line; a bin that is not empty is never as low as one that is."""
    counts, _ = numbers.histogram(_BINS)
    most = max(int(counts.max()), 1)
    return "".join(_BLOCKS[-(-count * 7 // most)] for count in counts.tolist())


def _string_texts(strings: StringStatistics) -> list[str]:
    """Return what there is to say of byte strings."""
    low, high = strings.lengths.min, strings.lengths.max
    texts = [plural(int(low or 0), "byte") if low == high else f"{low:,} .. {high:,} bytes"]
    looked_at = sum(strings.contents.values())
    contents = sorted(strings.contents.items(), key=lambda item: (-item[1], item[0]))
    if len(contents) == 1:
        texts += [contents[0][0]] * (contents[0][0] != "bytes")
    else:
        texts += [f"{name} {_percent(count, looked_at)}" for name, count in contents[:4]]
    num_distinct = strings.num_distinct
    if num_distinct is not None:
        texts.append(f"{num_distinct:,} different")
    are_few = num_distinct is not None and num_distinct <= _MAX_TOP
    total = strings.lengths.count
    texts += [
        f"{bytes_text(value, _MAX_STRING)} {_percent(count, total)}"
        for value, count in strings.top(_MAX_TOP)
        if count > 1 or are_few
    ]
    return texts


def _wrapped(texts: list[str], width: int) -> Iterator[str]:
    """Join texts by commas, on as many lines as they need."""
    line = ""
    for text in texts:
        joined = f"{line}, {text}" if line else text
        if line and len(_INDENT + joined) > width:
            yield f"{_INDENT}{line},"
            joined = text
        line = joined
    yield f"{_INDENT}{line}"
