"""Curves and distributions drawn by matplotlib, one panel each: the only module that uses it.

matplotlib is imported when a plot is made, and pyplot never: a figure belongs to whoever asked for it,
and is closed when it is forgotten. Notebooks show it without ``%matplotlib``.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    Array = npt.NDArray[Any]

MAX_PANELS = 30
"""Most panels of a figure."""
_COLUMNS = 3
_WIDTH, _HEIGHT = 4.0, 2.6  # of a panel, in inches
_MAX_TITLE = 48
_LEAST_BARS = 3  # there is room for as many, so that a single one does not fill the panel


@dataclass(frozen=True)
class Curve:
    """A line through points in their order."""

    label: str
    x: Array
    y: Array
    is_background: bool = False
    """Whether it is drawn faintly, behind the next curve and in its colour."""


@dataclass(frozen=True)
class Panel:
    """What one set of axes shows: curves; columns from edge to edge; or horizontal bars with labels."""

    title: str
    curves: Sequence[Curve] = ()
    counts: Sequence[int] | Array = ()
    edges: Sequence[float] | Array = ()
    """One more than `counts`."""
    labels: Sequence[str] = ()
    """As many as `counts`, instead of `edges`."""
    is_integer: bool = False
    """Whether only integers are between the edges."""
    x_label: str = ""
    y_label: str = field(default="")


def figure_of(panels: Sequence[Panel], ax: Any = None) -> Any:
    """Draw panels into a new Figure, or all of them into the given Axes; return the Figure.

    Raises ImportError if matplotlib is not installed.
    """
    made = _figure_class()
    if ax is not None:
        for panel in panels:
            _draw(panel, ax, is_alone=len(panels) == 1)
        return ax.figure
    shown = panels[:MAX_PANELS]
    n_columns = max(min(_COLUMNS, len(shown)), 1)
    n_rows = max(-(-len(shown) // n_columns), 1)
    size = (_WIDTH * n_columns if n_columns > 1 else 1.5 * _WIDTH, _HEIGHT * n_rows + 0.4)
    figure = made(figsize=size, layout="constrained")
    places = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for panel, place in zip(shown, places, strict=False):
        _draw(panel, place)
    for place in places[len(shown) :]:
        place.set_axis_off()
    if len(panels) > len(shown):
        figure.suptitle(f"{len(shown)} of {len(panels):,}", fontsize="medium")
    return figure


def smoothed(values: Array, weight: float) -> Array:
    """Return the exponential moving average, as TensorBoard draws it: without the pull to zero.

    Shape (n,); NaN and infinities stay as they are, and are not part of the average.
    """
    averages, last, share = np.array(values, np.float64), 0.0, 1.0
    for i in np.flatnonzero(np.isfinite(averages)).tolist():
        last = last * weight + (1 - weight) * averages[i]
        share *= weight
        averages[i] = last / (1 - share)
    return averages


@cache
def _figure_class() -> Callable[..., Any]:
    """Return matplotlib's Figure, with the method by which notebooks show it."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        detail = "plots need Matplotlib: pip install 'tfrecord-numpy[plot]'"
        raise ImportError(detail) from None

    def as_png(figure: Any) -> bytes:
        out = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # characters that the font does not have
            figure.savefig(out, format="png")
        return out.getvalue()

    def reduced(figure: Any, protocol: int) -> Any:
        return (object.__new__, (Figure,), *Figure.__reduce_ex__(figure, protocol)[2:])

    return type("Figure", (Figure,), {"_repr_png_": as_png, "__reduce_ex__": reduced})


def _draw(panel: Panel, ax: Any, *, is_alone: bool = True) -> None:
    """Draw one panel into axes."""
    colour = None
    for curve in panel.curves:
        style = (
            {"alpha": 0.3, "linewidth": 1}
            if curve.is_background
            else {"label": _plain(curve.label)}
        )
        marker = "." if curve.y.size == 1 else None
        (line,) = ax.plot(curve.x, curve.y, color=colour, marker=marker, **style)
        colour = line.get_color() if curve.is_background else None
    if len(panel.labels):
        _draw_bars(panel, ax)
    elif len(panel.counts):
        _draw_columns(panel, ax)
    if is_alone:
        ax.set_title(_plain(panel.title), fontsize="medium")
    ax.set_xlabel(_plain(panel.x_label))
    ax.set_ylabel(_plain(panel.y_label))
    if sum(not curve.is_background for curve in panel.curves) > 1 or not is_alone:
        ax.legend(fontsize="small")


def _draw_bars(panel: Panel, ax: Any) -> None:
    n_bars = len(panel.labels)
    ax.barh(range(n_bars), panel.counts)
    ax.set_yticks(range(n_bars), [_plain(label) for label in panel.labels], fontsize="small")
    beside = 0.5 + max(_LEAST_BARS - n_bars, 0) / 2
    ax.set_ylim(n_bars - 1 + beside, -beside)
    _only_integers(ax.xaxis)


def _draw_columns(panel: Panel, ax: Any) -> None:
    edges = np.asarray(panel.edges, np.float64)
    if panel.is_integer and (np.diff(edges) == 1).all():  # one integer each: with gaps
        ax.bar(edges[:-1] + 0.5, panel.counts)
    else:
        ax.stairs(panel.counts, edges, fill=True)
    if panel.is_integer:
        _only_integers(ax.xaxis)
    _only_integers(ax.yaxis)


def _only_integers(axis: Any) -> None:
    """Place ticks at integers only, unless the user's axes have others."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - optional

    if isinstance(axis.get_major_locator(), MaxNLocator):
        axis.get_major_locator().set_params(integer=True)


def _plain(text: str) -> str:
    """Return a text that matplotlib takes neither for mathematics nor, by a first "_", for a secret."""
    cut = text if len(text) <= _MAX_TITLE else f"{text[: _MAX_TITLE - 1]}…"
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
