import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite.apps.markup.charts import bars, histogram, short_number, sparkline

HOSTILE = "<script>alert('\"&')</script>"
EDGES = [0.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308, math.nan, math.inf]
NUMBERS = st.lists(
    st.floats() | st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1), max_size=40
)


def parse(markup: str) -> ET.Element:
    return ET.fromstring(f"<div>{markup}</div>")  # noqa: S314 - ours


@given(NUMBERS)
def test_any_numbers_become_well_formed_lines_within_their_box(values: list[float]) -> None:
    (path,) = parse(sparkline(values, HOSTILE)).iter("path")
    d = path.attrib["d"]
    assert "nan" not in d
    assert "inf" not in d
    assert bool(d) == any(map(math.isfinite, values))
    assert all(len(short_number(value)) <= 32 for value in values[:5])


def test_a_long_line_keeps_its_extremes_and_gaps_are_gaps() -> None:
    values = np.ones(100_000)
    values[[31_234, 77_777]], values[50_000] = [5, -5], math.nan
    (path,) = parse(sparkline(values, "t", height=24)).iter("path")
    levels = [float(point.split()[1]) for point in re.findall(r"[ML]([^MLh]+)", path.attrib["d"])]
    (short,) = parse(sparkline([1, math.nan, 2, 3], "t")).iter("path")
    assert (min(levels), max(levels)) == (2, 22)
    assert len(levels) <= 240
    assert short.attrib["d"].count("M") == 2


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=30))
def test_a_histogram_has_a_column_per_bin_as_tall_as_its_share(counts: list[int]) -> None:
    svg = parse(histogram(counts, range(len(counts) + 1), HOSTILE))[0]
    columns = svg.findall("rect")
    assert len(columns) == sum(count > 0 for count in counts)
    for column, count in zip(columns, filter(None, counts), strict=True):
        tall = max(55 * count / max(counts), 1.5)
        assert float(column.attrib["height"]) == pytest.approx(tall, rel=1e-3)
    assert svg.attrib["aria-label"] == HOSTILE
    assert svg.attrib["role"] == "img"


@pytest.mark.parametrize(("edges", "is_integer", "names"), [
    ([0, 1, 2], False, ["0 to 1", "1 to 2"]),
    ([1.7e9, 1.7e9 + 1000, 1.7e9 + 2000], False,
     ["1,700,000,000 to 1,700,001,000", "1,700,001,000 to 1,700,002,000"]),
    ([1000.25, 2000.25, 999_999.25], False, ["1,000.25 to 2,000.25", "2,000.25 to 999,999"]),
    ([6.5, 7.5, 8.5], True, ["7", "8"]),
    ([6.5, 9.5, 12.5], True, ["7 to 9", "10 to 12"]),
])  # fmt: skip
def test_names_of_bins_all_differ(edges: list[float], is_integer: bool, names: list[str]) -> None:
    columns = parse(histogram([1, 2], edges, "t", is_integer=is_integer)).iter("rect")
    assert [c.findtext("title") for c in columns] == [f"{names[0]}: 1", f"{names[1]}: 2"]


def test_bars_are_a_list_with_escaped_labels() -> None:
    found = parse(bars([(HOSTILE, 3), ("b", 1)], "top", 6)).findall("ol/li")
    assert [item.findtext("span") for item in found] == [HOSTILE, "b"]
    assert [item[1][1].attrib["width"] for item in found] == ["50%", "16.67%"]
