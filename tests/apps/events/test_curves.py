"""Curves of scalars: a panel per tag, a line per run."""

from __future__ import annotations

import io
import pickle
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.markup.test_tables import HOSTILE
from tests.support.effort import at_most
from tests.support.event_messages import event
from tfrecord_lite import InvalidArgumentError, plot_events, read_events
from tfrecord_lite.markup.plots import smoothed
from tfrecord_lite.messages import Summary
from tfrecord_lite.records.framing import frame

if TYPE_CHECKING:
    from tfrecord_lite.apps.events import Events

pytestmark = pytest.mark.needs("plot")


def run(values: dict[str, list[float]]) -> Events:
    """Return events with a scalar per step, a minute apart."""
    records = [
        event(step, Summary.Value(tag=tag, simple_value=value), wall_time=60.0 * step)
        for tag, numbers in values.items()
        for step, value in enumerate(numbers, 10)
    ]
    return read_events(io.BytesIO(frame(records)))


TRAIN = run({"loss": [4, 2, 1], "accuracy": [0.5, 0.75, 1], "$x_1$": [1]})
EVAL = run({"loss": [8, 6]})


def lines(ax: Any) -> list[tuple[list[float], list[float]]]:
    return [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in ax.get_lines()]


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_each_tag_has_axes_of_its_own() -> None:
    figure = TRAIN.plot()

    assert [ax.get_title() for ax in figure.axes] == ["loss", "accuracy", r"\$x_1\$"]
    assert lines(figure.axes[0]) == [([10, 11, 12], [4, 2, 1])]
    assert figure.axes[0].get_xlabel() == "step"
    assert [len(lines(ax)) for ax in figure.axes] == [1, 1, 1]


def test_runs_are_compared_where_they_have_the_tag() -> None:
    figure = plot_events({"train": TRAIN, "_eval": EVAL}, ["loss", "accuracy"])
    loss, accuracy = figure.axes[:2]

    assert lines(loss) == [([10, 11, 12], [4, 2, 1]), ([10, 11], [8, 6])]
    assert legend(loss) == ["train", " _eval"]
    assert len(lines(accuracy)) == 1
    assert accuracy.get_legend() is None


def test_pyplot_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)

    assert TRAIN.plot("loss")._repr_png_().startswith(b"\x89PNG")


def test_axes_that_are_given_take_all_curves() -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    figure = plot_events({"a": TRAIN, "b": EVAL}, ["loss", "accuracy"], ax=ax)

    assert figure is ax.figure
    assert legend(ax) == ["a loss", "b loss", "a accuracy"]


def test_the_horizontal_axis_may_be_time() -> None:
    hours = lines(TRAIN.plot("loss", x="relative").axes[0])[0][0]
    times = TRAIN.plot("loss", x="wall_time").axes[0].get_lines()[0].get_xdata()

    assert hours == pytest.approx([0, 1 / 60, 2 / 60])
    assert times[0] == np.datetime64("1970-01-01T00:10")


def test_smoothed_curves_have_the_values_behind_them() -> None:
    ax = TRAIN.plot("loss", smoothing=0.5).axes[0]
    (_, values), (_, means) = lines(ax)
    faint, strong = ax.get_lines()

    assert values == [4, 2, 1]
    assert means == pytest.approx([4, 8 / 3, 12 / 7])
    assert faint.get_color() == strong.get_color()
    assert faint.get_alpha() < 1


def test_a_moving_average_ignores_what_is_not_finite() -> None:
    got = smoothed(np.array([np.nan, 1, np.inf, 3]), 0.5)

    np.testing.assert_allclose(got, [np.nan, 1, np.inf, 7 / 3])


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=20), st.floats(0, 0.99))
def test_a_moving_average_is_between_the_extremes_and_weights_recent_values_most(
    values: list[float], weight: float
) -> None:
    numbers = np.array(values)
    got = smoothed(numbers, weight)
    powers = weight ** np.arange(len(values))[::-1]

    np.testing.assert_allclose(
        got[-1], (powers * numbers).sum() / powers.sum(), rtol=1e-6, atol=1e20
    )


def test_more_tags_than_fit_are_counted() -> None:
    figure = run({f"tag {i}": [1, 2] for i in range(40)}).plot()

    assert len(figure.axes) == 30
    assert figure.get_suptitle() == "30 of 40"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tags": "lost"}, "no scalars of tag 'lost'"),
        ({"smoothing": 1}, "smoothing is 1"),
        ({"smoothing": float("nan")}, "smoothing is nan"),
        ({"x": "epoch"}, "x is 'epoch', expected one of step, relative, wall_time"),
    ],
)
def test_wrong_arguments_are_clear_errors(arguments: Any, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        TRAIN.plot(**arguments)
    with pytest.raises(InvalidArgumentError, match="no scalars in these events"):
        run({}).plot()


def test_without_matplotlib_the_error_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from tfrecord_lite.markup import plots

    plots._figure_class.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'tfrecord-numpy\[plot\]'"):
        TRAIN.plot()


def test_a_figure_can_be_pickled() -> None:
    assert len(pickle.loads(pickle.dumps(TRAIN.plot())).axes) == 3


@at_most(10)
@given(
    HOSTILE.map(lambda tag: tag.encode("utf-8", "replace").decode() or "-"),
    st.lists(st.floats(width=32), min_size=1, max_size=5),
    st.sampled_from(["step", "relative", "wall_time"]),
    st.floats(),
)
def test_anything_that_events_hold_can_be_drawn(
    tag: str, values: list[float], x: Any, wall_time: float
) -> None:
    records = [
        event(2**62 * (i % 2), Summary.Value(tag=tag, simple_value=value), wall_time=wall_time)
        for i, value in enumerate(values)
    ]
    events = read_events(io.BytesIO(frame(records)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)

        assert plot_events({tag: events}, smoothing=0.5, x=x)._repr_png_()
