from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite.apps.markup.charts import bars, histogram, short_numbers, sparkline

HOSTILE = "<script>alert('\"&')</script>"
EDGES = [0.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308, math.nan, math.inf]
NUMBERS = st.lists(
    st.floats() | st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1), max_size=40
)


def parse(markup: str) -> ET.Element:
    """Parse it as XML, which is stricter than HTML; several elements are allowed."""
    return ET.fromstring(f"<div>{markup}</div>")  # noqa: S314 - ours


@given(NUMBERS)
def test_any_numbers_become_well_formed_charts_within_their_box(values: list[float]) -> None:
    for path in parse(sparkline(values, HOSTILE)).iter("path"):
        d = path.attrib["d"]
        assert "nan" not in d
        assert "inf" not in d
        assert bool(d) == any(map(math.isfinite, values))


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=30))
def test_a_histogram_has_a_column_per_bin_with_records(counts: list[int]) -> None:
    svg = parse(histogram(counts, range(len(counts) + 1), HOSTILE))[0]

    columns = svg.findall("rect")
    assert len(columns) == sum(count > 0 for count in counts)
    heights = [float(c.attrib["height"]) for c in columns]
    assert all(0 < h <= 56 for h in heights)
    assert svg.attrib["aria-label"] == HOSTILE
    assert svg.attrib["role"] == "img"


def test_a_column_is_as_tall_as_its_share() -> None:
    svg = parse(histogram([10, 5, 0], [0, 1, 2, 3], "t"))[0]

    first, second = (float(c.attrib["height"]) for c in svg.findall("rect"))
    assert first == pytest.approx(2 * second)
    assert [c.findtext("title") for c in svg.findall("rect")] == ["0 to 1: 10", "1 to 2: 5"]


def test_bins_are_named_so_that_they_differ() -> None:
    edges = 1_700_000_000 + np.arange(4) * 1000.0
    titles = [c.findtext("title") for c in parse(histogram([1, 1, 1], edges, "t")).iter("rect")]
    whole = parse(histogram([1, 2], [7, 8, 9], "t", is_integer=True)).iter("rect")
    wide = parse(histogram([1], [2**62, 2**62 + 3], "t", is_integer=True)).iter("rect")

    assert titles[0] == "1,700,000,000 to 1,700,001,000: 1"
    assert len(set(titles)) == 3
    assert [c.findtext("title") for c in whole] == ["7: 1", "8: 2"]
    assert [c.findtext("title") for c in wide] == [f"{2**62} to {2**62 + 2}: 1"]


@given(st.lists(st.floats() | st.integers(-(2**63), 2**63 - 1), max_size=5))
def test_any_numbers_are_short(values: list[float]) -> None:
    assert len(short_numbers(values)) == len(values)
    assert all(len(text) <= 32 for text in short_numbers(values))


def test_gaps_are_gaps() -> None:
    (path,) = parse(sparkline([1, math.nan, 2, 3], "t")).iter("path")

    assert path.attrib["d"].count("M") == 2


def test_a_long_line_keeps_its_extremes() -> None:
    values = np.ones(100_000)
    values[[31_234, 77_777]], values[50_000] = [5, -5], math.nan
    (path,) = parse(sparkline(values, "t", height=24)).iter("path")
    levels = [float(point.split()[1]) for point in re.findall(r"[ML]([^MLh]+)", path.attrib["d"])]

    assert (min(levels), max(levels)) == (2, 22)
    assert len(levels) <= 240


def test_bars_are_a_list_with_escaped_labels() -> None:
    found = parse(bars([(HOSTILE, 3), ("b", 1)], "top")).findall("ol/li")

    assert [item.findtext("span") for item in found] == [HOSTILE, "b"]
    assert [item[1][1].attrib["width"] for item in found] == ["100%", "33.33%"]
