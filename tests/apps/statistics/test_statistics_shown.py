"""Statistics as text and in notebooks: dates, and a chart per feature."""

from typing import Any

import numpy as np
import pytest

from tests.apps.test_notebook import page_of, png
from tfrecord_lite import encode_example, encode_examples
from tfrecord_lite.apps.statistics import compare, compute_statistics
from tfrecord_lite.block import Block

NAMES = {
    "age": list(range(100)), "city": [b"Bern"] * 60 + [b"Rome"] * 40,
    "id": [b"%d" % i for i in range(100)], "image": [png()] * 100,
    "score": [float("nan")] * 10 + [0.5] * 90,
}  # fmt: skip
ROWS = [dict(zip(NAMES, values, strict=True)) for values in zip(*NAMES.values(), strict=True)]
TABLE = compute_statistics(Block.from_records([encode_example(row) for row in ROWS]))


@pytest.mark.needs("image")
def test_a_table_has_the_figures_of_the_text_and_a_chart_or_values() -> None:
    page = page_of(TABLE)
    n_columns = page.cells.index("distribution") + 1
    rows = [page.cells[i : i + n_columns] for i in range(0, len(page.cells), n_columns)]
    words = {word for row in rows for cell in row[:-1] for word in cell.split()}
    assert words <= set(str(TABLE).split())
    assert [row[0] for row in rows] == ["name", "age", "city", "id", "image", "score"]
    assert rows[2][-1] == "4 bytes: Bern (60), Rome (40)"
    assert rows[3][-1].startswith("1 .. 2 bytes: ")
    assert rows[3][-1].endswith(" … 100 values")
    assert rows[5][-1] == ""  # not a bar as wide as the chart
    assert "NaN" in rows[0]
    assert page.tags.count("svg") == 1
    assert page.tags.count("rect") == 16
    assert 1 <= len(page.sources) <= 3


def test_the_page_of_very_many_features_is_bounded() -> None:
    many = encode_example(
        {f"{i}" + "long" * 1000: np.random.default_rng(i).normal(size=99) for i in range(60)}
    )
    assert "... and 20 more features" in page_of(compute_statistics([many])).text


@pytest.mark.parametrize(
    ("unit", "name"), [("s", "ts"), ("ms", "clicktime"), ("us", "createdAt"), ("ns", "t_ns")]
)
def test_times_are_dates(unit: str, name: str) -> None:
    start: Any = np.datetime64("2023-11-14T22:13:20").astype(f"M8[{unit}]")
    times = (start + np.arange(1440).astype("m8[m]")).astype(np.int64)
    found = compute_statistics(encode_examples({name: times, "id": times, "x": times - times[0]}))
    line, of_id, of_x = (
        next(row for row in str(found).splitlines() if row.startswith(key))
        for key in (name, "id", "x")
    )

    assert line.split()[:3] == [name, "int64", f"({unit})"]
    dates = [word for word in line.split() if "T" in word]
    assert (dates[0], dates[-1]) == ("2023-11-14T22:13:20", "2023-11-15T22:12:20")
    assert of_id.count(f"{times[0]:,}") == of_id.count(f"{times[-1]:,}") == 1
    assert "T" not in of_x
    assert found[name].numbers is not None
    assert found[name].describe()["numbers"]["max"] == times[-1]
    later = encode_examples(
        {name: times + (times[-1] - times[0]) * 9, "id": times, "x": times - times[0]}
    )
    assert all(
        "2023-11-15T" in finding.detail
        for finding in compare(found, compute_statistics(later)).findings
    )
    assert "2023-11-15T22:12:20" in page_of(found).text
    assert "<title>2023-11-14T22:13:20 to " in found._repr_html_()


def test_the_smallest_never_looks_like_the_largest() -> None:
    times = np.datetime64("2023-11-14T22:13:20", "ns").astype(np.int64) + np.arange(9)
    floats = np.float32(1.7e12) + np.arange(9, dtype=np.float32) * np.float32(2**18)
    text = str(
        compute_statistics(encode_examples({"time": times, "float": floats, "one": [5] * 9}))
    )
    for row in text.splitlines()[4:6]:
        figures = row.split()
        assert figures[-1] != figures[-4], row
    assert "2023-11-14T22:13:20.000000008" in text
