"""Charts as SVG: histograms, bars and sparklines.

::

    counts, edges        histogram   a column per bin
    labels, counts       bars        a list with a bar per label
    values               sparkline   a line without axes

Each is one element with a title that a screen reader reads. The only colour is ``currentColor``, and nothing
has a ``style`` attribute, so charts work under a strict content security policy. Their text is bounded.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from tfrecord_lite.arrays import AnyArray


def short_number(value: float) -> str:
    """Return a number in at most six digits, a whole one in all that it has.

    >>> [short_number(x) for x in (0, 12345.0, -0.000012345, 1.00025, 1.5e20, float("nan"))]
    ['0', '12,345', '-1.2345e-05', '1.00025', '1.5e+20', 'nan']
    """
    return f"{int(value):,}" if abs(value) < 1e15 and value == int(value) else f"{value:,.6g}"


def histogram(
    counts: Sequence[int] | AnyArray,
    edges: Sequence[float] | AnyArray,
    title: str,
    *,
    width: int = 240,
    height: int = 56,
    is_integer: bool = False,
    text_of: Callable[[float], str] = short_number,
) -> str:
    """Draw a column per bin; `edges` has one number more than `counts`, and `text_of` writes them.

    With `is_integer`, edges are halfway between integers.

    >>> histogram([1, 3], [0, 1, 2], "two bins").count("<rect")
    2
    """
    n_bins = len(counts)
    most = max(map(int, counts), default=0) or 1
    step = width / max(n_bins, 1)
    ends = [(text_of(float(a)), text_of(float(b))) for a, b in itertools.pairwise(edges)]
    if is_integer:
        ends = [(str(math.ceil(a)), str(math.floor(b))) for a, b in itertools.pairwise(edges)]
    names = [a if is_integer and a == b else f"{a} to {b}" for a, b in ends]
    columns = []
    for i, count in enumerate(map(int, counts)):
        if not count:
            continue
        tall = max(count / most * (height - 1), 1.5)
        columns.append(
            f'<rect x="{i * step:.4g}" y="{height - tall:.4g}" width="{max(step - 1, 0.5):.4g}" '
            f'height="{tall:.4g}"><title>{names[i]}: {count:,}</title></rect>'
        )
    ratio = ' preserveAspectRatio="none"'  # stretched
    return _svg("histogram", title, width, height, "".join(columns), ratio)


def bars(items: Iterable[tuple[str, int]], title: str, total: int) -> str:
    """Draw a list with a label, a bar and a count per item; `total` is what is the whole width.

    >>> bars([("<b>", 2)], "top values", 3).count("&lt;b&gt;")
    2
    """
    rows = [
        f'<li><span class="label" title="{escape(label)}">{escape(label)}</span>'
        '<svg class="chart bar" aria-hidden="true" height="8" fill="currentColor">'
        '<rect class="track" width="100%" height="8" rx="4"/>'
        f'<rect width="{100 * count / total:.4g}%" height="8" rx="4"/></svg>'
        f'<span class="count">{count:,}</span></li>'
        for label, count in items
    ]
    return f'<ol class="bars" aria-label="{escape(title)}">{"".join(rows)}</ol>'


def sparkline(values: npt.ArrayLike, title: str, *, width: int = 120, height: int = 24) -> str:
    """Draw values as a line over their numbers, with gaps at NaN and infinity.

    >>> sparkline([1, 2, 4], "growth").startswith("<svg")
    True
    """
    y = np.asarray(values, np.float64).ravel()
    x = np.arange(y.size)
    if y.size > 2 * width:  # the smallest and the largest of each of `width` runs
        starts = np.linspace(0, y.size, width, endpoint=False).astype(np.int64)
        known = np.where(np.isfinite(y), y, np.nan)
        ends = np.fmin.reduceat(known, starts), np.fmax.reduceat(known, starts)
        x, y = np.repeat(starts, 2), np.stack(ends, axis=1).ravel()
    is_point = np.isfinite(y)
    known = y[is_point] if is_point.any() else np.zeros(1)
    low, high = known.min() / 2, known.max() / 2  # halved, so that no difference overflows
    with np.errstate(all="ignore"):
        share = (y / 2 - low) / (high - low) if high - low > 1e-300 else np.full(y.shape, 0.5)
        levels = height - 2 - share * (height - 4)
    places = 1 + x * ((width - 2) / max(x.max(initial=0), 1))
    commands, is_down = [], False
    for is_here, at, level in zip(is_point.tolist(), places.tolist(), levels.tolist(), strict=True):
        if is_here:
            commands.append(f"{'L' if is_down else 'M'}{at:.1f} {level:.1f}")
            if not is_down:
                commands.append("h0.01")  # a lone point is a dot
        is_down = is_here
    return _svg("sparkline", title, width, height, f'<path class="line" d="{"".join(commands)}"/>')


def _svg(kind: str, title: str, width: int, height: int, content: str, ratio: str = "") -> str:
    return (
        f'<svg class="chart {kind}" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"{ratio} '
        f'fill="currentColor">{content}</svg>'
    )
