"""SequenceExamples as timelines: a lane per feature list, with the numbers of the steps."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.viewer.images import image
from tests.apps.viewer.shown_records import HOSTILE, check_cell, plain, shown
from tfrecord_lite import encode_sequence_example

if TYPE_CHECKING:
    from tfrecord_lite.apps.viewer.cells import Budget, Cell

pytestmark = pytest.mark.needs("view")


def lanes(lists: dict[str, Any], budget: Budget | None = None) -> dict[str, Cell]:
    """Return the cells of a SequenceExample by name."""
    record = encode_sequence_example({"context": {}, "feature_lists": lists})
    return {cell.name: cell for cell in shown(record, budget).cells}


def step_numbers(cell: Cell) -> list[int]:
    """Return the numbers of the steps that are shown one by one."""
    return [int(number) for number in re.findall(r'<span class="v-step">(\d+)</span>', cell.html)]


def test_numbers_are_curves() -> None:
    cell = lanes({"x": [[math.sin(k)] for k in range(50)]})["x"]

    assert check_cell(cell).tags.count("path") == 1
    assert plain(cell.html).endswith("50 steps, -1 to 1")
    assert 'aria-label="x over 50 steps' in cell.html
    assert "\n49: -0.95" in cell.details
    assert (cell.section, cell.count) == ("feature_lists", "50 x 1")


def test_a_few_numbers_per_step_are_curves_with_a_legend() -> None:
    cell = lanes({"x": [[k, -k, 0] for k in range(5)]})["x"]

    assert check_cell(cell).tags.count("path") == 3
    assert "value 2" in plain(cell.html)


def test_lanes_have_a_common_axis() -> None:
    cells = lanes(
        {"long": [[float(k)] for k in range(101)], "short": [[float(k)] for k in range(51)]}
    )
    ends = {
        name: max(float(x) for x in re.findall(r"L([\d.]+) ", cell.html))
        for name, cell in cells.items()
    }

    start = 52  # where the axis begins
    assert ends["short"] - start == pytest.approx((ends["long"] - start) / 2, abs=0.2)


def test_vectors_are_a_heat_map() -> None:
    cell = lanes({"x": [[float(k * i) for i in range(20)] for k in range(30)]})["x"]

    assert len(check_cell(cell).sources) == 1
    assert plain(cell.html) == "20 values at 30 steps, 0 to 551"


def test_frames_are_a_film_strip() -> None:
    cell = lanes({"x": [[image(100 + k, 80, "JPEG")] for k in range(60)]})["x"]

    assert len(check_cell(cell).sources) == 16
    assert step_numbers(cell)[0] == 0
    assert step_numbers(cell)[-1] == 59
    assert "and 44 more steps" in plain(cell.html)
    assert "59: JPEG 159 x 80" in cell.details


def test_texts_are_chips() -> None:
    cell = lanes({"x": [[word.encode()] for word in ["the", "quick", "<b>brown</b>", "fox"]]})["x"]

    assert step_numbers(cell) == [0, 1, 2, 3]
    assert plain(cell.html) == "0 the 1 quick 2 <b>brown</b> 3 fox"


def test_other_lists() -> None:
    cells = lanes(
        {
            "ragged": [[1, 2], [], [3]],
            "one": [[5.0]],
            "many texts": [[b"a", b"b", b"c", b"d", b"e", b"f"]],
            "none": [],
            "empty": [[], []],
        }
    )
    texts = {name: plain(cell.html) for name, cell in cells.items()}

    assert texts["ragged"] == "0 1, 2 1 empty 2 3"
    assert texts["one"] == "0 5.0"
    assert texts["many texts"] == "0 a b c d and 2 more values"
    assert texts["none"] == "no steps"
    assert texts["empty"] == "0 empty 1 empty"


@pytest.mark.full
def test_long_lists_are_bounded() -> None:
    cells = lanes(
        {
            "numbers": [[k] for k in range(300_000)],
            "texts": [[b"text"]] * 100_000,
            "wide": [list(range(10_000))] * 100,
        }
    )

    for cell in cells.values():
        assert len(cell.html) < 60_000
        assert len(cell.details) < 120_000
    assert "300,000 steps" in plain(cells["numbers"].html)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_values(text: str) -> None:
    lanes({text: [[1.0], [2.0]], f"t{text}": [[text.encode()]] * 3, f"h{text}": [[0.0] * 20] * 20})


@given(
    st.lists(st.lists(st.floats(width=32), max_size=4), max_size=6)
    | st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.floats(width=32), min_size=n, max_size=n), max_size=6)
    )
    | st.lists(st.lists(st.binary(max_size=12), max_size=3), max_size=6)
)
def test_any_steps(steps: list[list[Any]]) -> None:
    lanes({"x": steps})
