"""Charts as SVG: histograms, bars, sparklines and lines.

::

    counts, edges        histogram   a column per bin
    labels, counts       bars        a list with a bar per label
    values               sparkline   a line without axes
    names, x, y          lines       curves with axes and a legend

Each is one element with a title that a screen reader reads. Nothing has a colour of its own but
``currentColor`` and the custom properties ``--chart-0`` to ``--chart-5``, nothing a ``style``
attribute, so charts work under a strict content security policy. The size of the text is
bounded: a line has no more points than the chart has pixels.
"""

from __future__ import annotations

import itertools
import math
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    import numpy.typing as npt

    AnyArray: TypeAlias = npt.NDArray[Any]

N_COLOURS = 6
"""How many colours the series of a chart have before they repeat, with other dashes."""

_DASHES = ("", "7 4", "2 3", "10 3 2 3")

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 8, 22  # pixels around the area of `lines`


def short_number(value: float) -> str:
    """Return a number in at most about eight characters.

    >>> [short_number(x) for x in (0, 12345, -0.000012345, 0.1, 1234567, float("nan"))]
    ['0', '12,345', '-1.23e-05', '0.1', '1.23e+06', 'nan']
    """
    size = abs(value)
    if size < 1_000_000 and (isinstance(value, int) or value.is_integer()):
        return f"{int(value):,}"
    return f"{value:,.0f}" if 1000 <= size < 1_000_000 else f"{value:.3g}"


def short_numbers(values: Iterable[float]) -> list[str]:
    """Return numbers as `short_number` does, with more digits if they are close to each other.

    >>> short_numbers([1_700_000_000, 1_700_000_500]), short_numbers([1.0, 1.00025, 1.0005])
    (['1,700,000,000', '1,700,000,500'], ['1', '1.00025', '1.0005'])
    """
    numbers = list(values)
    known = [value for value in numbers if math.isfinite(value)] or [0.0]
    width, largest = max(known) - min(known), max(map(abs, known))
    if not 0 < width < math.inf or largest / width < 10:
        return list(map(short_number, numbers))
    n_digits = min(math.floor(math.log10(largest / width)) + 3, 17)
    if not 1e-4 < largest < 1e15:
        return [f"{value:.{n_digits}g}" for value in numbers]
    n_decimals = max(n_digits - 1 - math.floor(math.log10(largest)), 0)
    texts = (f"{value:,.{n_decimals}f}" for value in numbers)
    return [text.rstrip("0").rstrip(".") if "." in text else text for text in texts]


def histogram(
    counts: Sequence[int] | AnyArray,
    edges: Sequence[float] | AnyArray,
    title: str,
    *,
    width: int = 240,
    height: int = 56,
    is_integer: bool = False,
) -> str:
    """Draw a column per bin; `edges` has one number more than `counts`.

    With `is_integer`, edges are integers, and a bin is without the second of its two.

    >>> histogram([1, 3], [0, 1, 2], "two bins").count("<rect")
    2
    """
    n_bins = len(counts)
    most = max(map(int, counts), default=0) or 1
    step = width / max(n_bins, 1)
    names = _bin_names(edges, is_integer=is_integer)
    columns = []
    for i, count in enumerate(map(int, counts)):
        if not count:
            continue
        tall = max(count / most * (height - 1), 1.5)
        columns.append(
            f'<rect x="{i * step:.4g}" y="{height - tall:.4g}" width="{max(step - 1, 0.5):.4g}" '
            f'height="{tall:.4g}"><title>{names[i]}: {count:,}</title></rect>'
        )
    return _svg("histogram", title, width, height, "".join(columns), is_stretched=True)


def _bin_names(edges: Sequence[float] | AnyArray, *, is_integer: bool) -> list[str]:
    if is_integer:
        whole = list(map(int, edges))
        return [f"{a}" if b == a + 1 else f"{a} to {b - 1}" for a, b in itertools.pairwise(whole)]
    return [f"{a} to {b}" for a, b in itertools.pairwise(short_numbers(map(float, edges)))]


def bar(share: float) -> str:
    """Draw a bar of a share from 0 to 1 of the width that it is given; without a title."""
    percent = min(max(share, 0.0), 1.0) * 100
    return (
        '<svg class="chart bar" aria-hidden="true" height="8" fill="currentColor"><rect class="track" width="100%" '
        f'height="8" rx="4"/><rect width="{percent:.4g}%" height="8" rx="4"/></svg>'
    )


def bars(items: Iterable[tuple[str, int]], title: str, *, total: int | None = None) -> str:
    """Draw a list with a label, a bar and a count per item; `total` is what is the whole width.

    >>> bars([("<b>", 2)], "top values").count("&lt;b&gt;")
    2
    """
    pairs = list(items)
    whole = total or max((count for _, count in pairs), default=1) or 1
    rows = [
        f'<li><span class="label" title="{escape(label)}">{escape(label)}</span>'
        f'{bar(count / whole)}<span class="count">{count:,}</span></li>'
        for label, count in pairs
    ]
    return f'<ol class="bars" aria-label="{escape(title)}">{"".join(rows)}</ol>'


def sparkline(
    values: Sequence[float] | AnyArray, title: str, *, width: int = 120, height: int = 24
) -> str:
    """Draw values as a line over their numbers, with gaps at NaN and infinity.

    >>> sparkline([1, 2, 4], "growth").startswith("<svg")
    True
    """
    y = np.asarray(values, np.float64).ravel()
    x = np.arange(y.size, dtype=np.float64)
    path = _path(_thinned(x, y, width), _extent(x), _extent(y), (1, width - 1, height - 2, 2))
    return _svg("sparkline", title, width, height, f'<path class="line" d="{path}"/>')


def lines(
    series: Sequence[tuple[str, Any, Any]], title: str, *, width: int = 480, height: int = 200
) -> str:
    """Draw curves with axes: a name, x and y of shape (n_points,) per series.

    NaN and infinities are gaps. The names stand below as a legend, if there are several.

    >>> print(lines([("a", [0, 1], [2, 3]), ("b", [0, 1], [3, 2])], "loss").count("<path"))
    2
    """
    parts = [(np.asarray(x, np.float64), np.asarray(y, np.float64)) for _, x, y in series]
    xs = np.concatenate([x for x, _ in parts] or [np.zeros(0)])
    ys = np.concatenate([y for _, y in parts] or [np.zeros(0)])
    x_extent, y_extent = _extent(xs), _extent(ys)
    area = (_LEFT, width - _RIGHT, height - _BOTTOM, _TOP)
    drawn = [_axes(x_extent, y_extent, area)]
    for i, ((name, _, _), (x, y)) in enumerate(zip(series, parts, strict=True)):
        path = _path(_thinned(x, y, width), x_extent, y_extent, area)
        drawn.append(f'<path {_pen(i)} d="{path}"><title>{escape(name)}</title></path>')
    svg = _svg("lines", title, width, height, "".join(drawn))
    if len(series) < 2:
        return svg
    names = "".join(
        f'<li><svg class="key" aria-hidden="true" width="24" height="12">'
        f'<line {_pen(i)} x1="1" x2="23" y1="6" y2="6"/></svg>{escape(name)}</li>'
        for i, (name, _, _) in enumerate(series)
    )
    return f'{svg}<ul class="legend">{names}</ul>'


def _pen(i: int) -> str:
    """Return the attributes that tell the line of a series from all others."""
    dash = _DASHES[i // N_COLOURS % len(_DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'class="line series-{i % N_COLOURS}"{dashes}'


# ---------------------------------------------------------------------------------- parts


def _svg(
    kind: str, title: str, width: int, height: int, content: str, *, is_stretched: bool = False
) -> str:
    ratio = ' preserveAspectRatio="none"' if is_stretched else ""
    return (
        f'<svg class="chart {kind}" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"{ratio} '
        f'fill="currentColor">{content}</svg>'
    )


def _extent(values: AnyArray) -> tuple[float, float]:
    """Return the smallest and largest finite value, apart from each other."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if high / 2 - low / 2 < 1e-300:
        room = abs(low) / 2 if abs(low) > 1e-290 else 0.5
        return max(low - room, -1.7e308), min(high + room, 1.7e308)
    return low, high


def _thinned(x: AnyArray, y: AnyArray, n_pixels: int) -> tuple[AnyArray, AnyArray]:
    """Keep the smallest and the largest y of each of `n_pixels` runs of points, in order."""
    n_points = min(x.size, y.size)
    x, y = x[:n_points], y[:n_points]
    if n_points <= 2 * n_pixels:
        return x, y
    starts = np.linspace(0, n_points, n_pixels + 1).astype(np.int64)
    kept: set[int] = {0, n_points - 1}
    known = np.where(np.isfinite(y), y, np.nan)
    for low, high in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        run = known[low:high]
        if np.isnan(run).all():
            kept.add(low)
        else:
            kept |= {low + int(np.nanargmin(run)), low + int(np.nanargmax(run))}
    chosen = np.asarray(sorted(kept))
    return x[chosen], y[chosen]


def _path(
    points: tuple[AnyArray, AnyArray],
    x_extent: tuple[float, float],
    y_extent: tuple[float, float],
    area: tuple[int, int, int, int],
) -> str:
    """Return the commands of a line through points in an area (left, right, bottom, top)."""
    left, right, bottom, top = area
    x = _scaled(points[0], x_extent, left, right)
    y = _scaled(points[1], y_extent, bottom, top)
    commands, is_down = [], False
    for is_point, at, height in zip(
        (np.isfinite(x) & np.isfinite(y)).tolist(), x.tolist(), y.tolist(), strict=True
    ):
        if is_point:
            commands.append(f"{'L' if is_down else 'M'}{at:.1f} {height:.1f}")
            if not is_down:
                commands.append("h0.01")  # a lone point is a dot
        is_down = is_point
    return "".join(commands)


def _scaled(values: AnyArray, extent: tuple[float, float], start: int, stop: int) -> AnyArray:
    """Map values from their extent to pixels; halved, so that no difference overflows."""
    low, high = extent[0] / 2, extent[1] / 2
    with np.errstate(all="ignore"):
        return start + (values / 2 - low) / (high - low) * (stop - start)


def _axes(
    x_extent: tuple[float, float], y_extent: tuple[float, float], area: tuple[int, int, int, int]
) -> str:
    left, right, bottom, top = area
    drawn = []
    ticks = _ticks(*y_extent, 4)
    for value, name in zip(ticks, short_numbers(ticks), strict=True):
        y = float(_scaled(np.asarray(value), y_extent, bottom, top))
        drawn.append(
            f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{left - 6}" y="{y + 3.5:.1f}" text-anchor="end">{name}</text>'
        )
    ticks = _ticks(*x_extent, 5)
    for value, name in zip(ticks, short_numbers(ticks), strict=True):
        x = float(_scaled(np.asarray(value), x_extent, left, right))
        drawn.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{name}</text>')
    return "".join(drawn)


def _ticks(low: float, high: float, n_ticks: int) -> list[float]:
    """Return round numbers from `low` to `high`, about `n_ticks` of them."""
    rough = (high / 2 - low / 2) / n_ticks * 2
    if not 0 < rough < math.inf or rough < abs(high) * 1e-14:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    if not power:  # below the smallest normal number
        return [low, high]
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda size: abs(size - rough))
    first, last = math.ceil(low / step), math.floor(high / step)
    return [i * step for i in range(first, min(last, first + 2 * n_ticks) + 1)]
