"""Statistics in notebooks and plots: a chart per feature."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.markup.test_tables import HOSTILE
from tests.support.effort import at_most
from tests.support.shown_html import parsed
from tests.test_shown_html import OURS, png
from tfrecord_lite import (
    InvalidArgumentError,
    compute_statistics,
    encode_example,
    encode_sequence_examples,
)
from tfrecord_lite.block import Block

NAMES = {
    "age": list(range(100)),
    "city": [b"Bern"] * 60 + [b"Rome"] * 40,
    "id": [b"%d" % i for i in range(100)],
    "image": [png()] * 100,
    "score": [float("nan")] * 10 + [0.5] * 90,
}
ROWS = [dict(zip(NAMES, values, strict=True)) for values in zip(*NAMES.values(), strict=True)]
TABLE = compute_statistics(Block.from_records([encode_example(row) for row in ROWS]))
SEQUENCES = compute_statistics(
    encode_sequence_examples({"id": [3, 4]}, {"tokens": [[[5, 6], [7]], [[8]]]})
)


def page_of(statistics: Any) -> Any:
    page = parsed(statistics._repr_html_())

    assert set(page.tags) <= {*OURS, "rect", "title"}
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    return page


def test_a_table_has_the_figures_of_the_text_and_a_chart_or_values() -> None:
    page = page_of(TABLE)
    rows = [page.cells[i : i + 10] for i in range(0, len(page.cells), 10)]
    words = {word for row in rows for cell in row[:9] for word in cell.split()}

    assert words <= set(str(TABLE).split())
    assert [row[0] for row in rows] == ["name", "age", "city", "id", "image", "score"]
    assert rows[2][9] == "Bern (60), Rome (40)"
    assert rows[3][9].endswith(", … 100 values")
    assert rows[5][9] == "0.5 (90)"  # not a bar as wide as the chart
    assert page.tags.count("svg") == 1
    assert page.tags.count("rect") == 16
    assert 1 <= len(page.sources) <= 3
    assert "B: lengths of byte strings" in page.text
    assert "B: lengths" not in page_of(SEQUENCES).text


def test_sequences_have_a_table_of_each_part() -> None:
    page = page_of(SEQUENCES)

    assert page.tags.count("table") == 2
    assert "context" in page.text
    assert "feature lists" in page.text


def test_the_page_of_very_many_features_is_bounded() -> None:
    many = encode_example(
        {f"{i}" + "long" * 1000: np.random.default_rng(i).normal(size=99) for i in range(300)}
    )

    assert len(compute_statistics([many])._repr_html_()) < 200_000
    assert "... and 260 more features" in page_of(compute_statistics([many])).text


@pytest.mark.needs("plot")
def test_numbers_are_histograms_and_strings_bars() -> None:
    figure = TABLE.plot(bins=10)
    age, city, name, image, score = figure.axes[:5]
    stairs = age.patches[0].get_data()

    assert [ax.get_title() for ax in figure.axes[:5]] == list(NAMES)
    assert stairs.values.tolist() == [10] * 10
    assert stairs.edges[[0, -1]].tolist() == [0, 99]
    assert [bar.get_width() for bar in city.patches] == [60, 40]
    assert [text.get_text() for text in city.get_yticklabels()] == ["Bern", "Rome"]
    assert bars_of(name) == [(0.6, 1.4, 10), (1.6, 2.4, 90)]  # with gaps
    assert name.get_xlabel() == "bytes per value"
    assert image.get_ylabel() == "bytes per value"
    assert score.get_ylabel() == "without 10 NaN"


def bars_of(ax: Any) -> list[tuple[float, float, float]]:
    """Return the left and right end and the height of each bar."""
    boxes = [bar.get_bbox() for bar in ax.patches]
    return [(round(box.x0, 2), round(box.x1, 2), box.y1) for box in boxes]


@pytest.mark.needs("plot")
@pytest.mark.parametrize(("value", "label"), [(0.25, "0.25"), (16, "16"), (-(2**60), None)])
def test_one_number_is_not_drawn_as_a_spread(value: float, label: str | None) -> None:
    one = compute_statistics([encode_example({"x": [value] * 3})])
    (ax,) = one.plot("x").axes

    assert [text.get_text() for text in ax.get_yticklabels()] == [label or f"{value:,}"]
    assert [bar.get_width() for bar in ax.patches] == [3]
    assert ax.patches[0].get_height() < abs(np.diff(ax.get_ylim()))[0] / 3
    assert one.plot("x", of="lengths").axes[0].get_yticklabels()[0].get_text() == "3"


@pytest.mark.needs("plot")
def test_ticks_of_integers_and_counts_are_integers() -> None:
    few = compute_statistics([encode_example({"x": [0, 1, 2], "y": [0.5, 1.5]})])
    x, y = few.plot().axes[:2]

    for axis in (x.xaxis, x.yaxis, y.yaxis):
        assert all(tick == int(tick) for tick in axis.get_ticklocs())
    assert bars_of(x) == [(-0.4, 0.4, 1), (0.6, 1.4, 1), (1.6, 2.4, 1)]


@pytest.mark.needs("plot")
def test_lengths_and_steps_are_histograms_too() -> None:
    lengths = SEQUENCES.plot("tokens", of="lengths").axes[0]
    steps = SEQUENCES.plot(["tokens"], of="steps").axes[0]

    assert bars_of(lengths) == [(0.6, 1.4, 2), (1.6, 2.4, 1)]
    assert lengths.get_xlabel() == "values per step"
    assert bars_of(steps) == [(0.6, 1.4, 1), (1.6, 2.4, 1)]
    assert SEQUENCES.plot("id", of="lengths").axes[0].get_ylabel() == "values per record"


@pytest.mark.needs("plot")
def test_axes_take_one_feature() -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()

    assert TABLE.plot("age", ax=ax) is ax.figure
    assert ax.get_title() == "age"
    with pytest.raises(InvalidArgumentError, match="ax is for one feature, not for 5"):
        TABLE.plot(ax=ax)


@pytest.mark.needs("plot")
def test_wrong_arguments_are_clear_errors() -> None:
    with pytest.raises(KeyError, match="no feature 'agee'; the nearest: 'age'"):
        TABLE.plot("agee")
    with pytest.raises(InvalidArgumentError, match="only a feature list has steps"):
        SEQUENCES.plot(of="steps")
    with pytest.raises(InvalidArgumentError, match="of is 'sizes'"):
        TABLE.plot(of="sizes")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="bins"):
        TABLE.plot(bins=0)


VALUES = st.one_of(
    st.lists(st.floats(width=32), max_size=5),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
    st.lists(
        st.one_of(st.binary(max_size=20), HOSTILE.map(lambda s: s.encode("utf-8", "replace"))),
        max_size=5,
    ),
)


@pytest.mark.needs("plot")
@at_most(10)
@given(
    HOSTILE.map(lambda name: name.encode("utf-8", "replace").decode()),
    st.lists(VALUES, min_size=1, max_size=3),
)
def test_anything_that_records_hold_can_be_shown(name: str, values: list[list[Any]]) -> None:
    records = [encode_example({name: value} if value else {}) for value in values]
    statistics = compute_statistics(records)
    page_of(statistics)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert statistics.plot()._repr_png_()
        assert statistics.plot(of="lengths")._repr_png_()
