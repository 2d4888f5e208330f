"""Statistics in notebooks: a chart per feature."""

import numpy as np
import pytest

from tests.apps.test_notebook import page_of, png
from tfrecord_lite import encode_example
from tfrecord_lite.apps.statistics import compute_statistics
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
