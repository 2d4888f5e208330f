"""The scalars of one event run or several as curves, with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.markup.plots import Curve, Panel, figure_of, smoothed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfrecord_lite.apps.events.series import Events, Series
    from tfrecord_lite.arrays import AnyArray

_LAST_TIME = 2e11  # the year 8307; matplotlib has no dates after 9999
_LABELS = {"step": "step", "relative": "hours", "wall_time": "time (UTC)"}


def plot_events(
    runs: Events | Mapping[str, Events],
    tags: str | Iterable[str] | None = None,
    *,
    smoothing: float = 0.0,
    x: Literal["step", "relative", "wall_time"] = "step",
    ax: Any = None,
) -> Any:
    """Plot the scalars of event runs, a curve per tag and run.

    Parameters
    ----------
    runs : Events, or mapping of str to Events
        One run, or several by name, as :func:`read_events` returns them.
    tags : str or iterable of str, optional
        All tags with scalars by default. A run without a tag has no curve there.
    smoothing : float, optional
        Weight of the moving average, from 0 (none) to less than 1; the values themselves are
        drawn faintly behind it.
    x : {"step", "relative", "wall_time"}, optional
        The horizontal axis: steps, hours since the run's first value of the tag, or the time.
    ax : matplotlib Axes, optional
        Draws all curves into these axes; by default, each tag has axes of its own, in a new figure
        of at most 30.

    Returns
    -------
    matplotlib.figure.Figure
        Of `ax` if it is given. A new one does not belong to pyplot; notebooks show it, and
        ``figure.savefig`` writes it.

    Raises
    ------
    InvalidArgumentError
        ``MISSING`` if no run has scalars of a tag, or none has any; ``BAD_ARGUMENT`` for another
        `smoothing` or `x`; otherwise as :meth:`Events.scalars`.
    ImportError
        If matplotlib is not installed (extra ``plot``).

    Examples
    --------
    >>> from tfrecord_lite.messages import Event, Summary
    >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
    ...     for step, loss in enumerate([1.0, 0.5, 0.25]):
    ...         summary = Summary(value=[Summary.Value(tag="loss", simple_value=loss)])
    ...         writer.write(Event(step=step, summary=summary).SerializeToString())
    >>> run = read_events("events.out.tfevents.1.example")
    >>> figure = plot_events({"first": run, "second": run}, "loss", smoothing=0.5)
    >>> figure.savefig("loss.png")
    """
    if not 0 <= smoothing < 1:
        raise argument_error(f"smoothing is {smoothing}, expected 0 or more, and less than 1")
    if x not in _LABELS:
        raise argument_error(f"x is {x!r}, expected one of {', '.join(_LABELS)}")
    named = runs if isinstance(runs, Mapping) else {"": runs}
    panels = []
    for tag in _tags_of(named, tags):
        curves: list[Curve] = []
        for name, events in named.items():
            if tag in events.tags["scalars"]:
                label = name if name and ax is None else f"{name} {tag}".strip()
                curves += _curves_of(events.scalars(tag), label, smoothing, x)
        panels.append(Panel(tag, curves, x_label=_LABELS[x]))
    return figure_of(panels, ax)


def _tags_of(runs: Mapping[str, Events], tags: str | Iterable[str] | None) -> list[str]:
    """Return the tags to plot; raise if there are no scalars of one."""
    known = dict.fromkeys(tag for events in runs.values() for tag in events.tags["scalars"])
    if tags is None and not known:
        raise InvalidArgumentError(Reason.MISSING, detail="there are no scalars in these events")
    wanted = list(known) if tags is None else [tags] if isinstance(tags, str) else list(tags)
    for tag in wanted:
        if tag not in known:
            detail = f"no scalars of tag {tag!r} in these events; see Events.tags"
            raise InvalidArgumentError(Reason.MISSING, detail=detail)
    return wanted


def _positions(series: Series, x: str) -> AnyArray:
    """Return where values are on the horizontal axis."""
    if x == "step":
        return series.step
    seconds: AnyArray = np.clip(np.nan_to_num(series.wall_time), 0, _LAST_TIME)
    if x == "relative":
        hours: AnyArray = (seconds - seconds[0]) / 3600
        return hours
    return (seconds * 1e3).astype("datetime64[ms]")


def _curves_of(series: Series, label: str, smoothing: float, x: str) -> list[Curve]:
    """Return the curve of one tag of one run; of a smoothed one, the values first."""
    at, value = _positions(series, x), np.asarray(series.value, np.float64)
    if not smoothing:
        return [Curve(label, at, value)]
    values = Curve(label, at, value, is_background=True)
    return [values, Curve(label, at, smoothed(value, smoothing))]
