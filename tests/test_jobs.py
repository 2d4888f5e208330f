"""The guide to tables, run: its Python and its commands, in one folder and in their order."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.support.corpus import ROOT
from tests.support.pages import run_page
from tfrecord_lite import save, scan

pytestmark = pytest.mark.needs("tables")

PAGE = ROOT / "docs" / "how-to" / "tables.md"


def test_the_guide_runs_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "96")
    run_page(PAGE, commands=True)


SAVED = {
    "one int64": np.array([1, 2]), "one float": np.array([1, 2], np.float32),
    "one byte string": [b"\xff", b"b"], "one text": ["a", "b"],
    "values of any number": [[1], [2, 3]],
    "values of a fixed shape": np.zeros((2, 2, 2), np.float32),
    "float64, uint8, bool, ...": np.array([1, 2], np.uint8),
    "times, with a zone or without": np.array(["2024-01-01"] * 2, "M8[us]"),
    "dates": np.array(["2024-01-01"] * 2, "M8[D]"), "durations": np.array([1, 2], "m8[s]"),
}  # fmt: skip
"""Values for rows of the tables of types."""


@pytest.mark.parametrize("row", SAVED)
def test_the_types_of_the_guide_are_those_of_the_libraries(tmp_path: Path, row: str) -> None:
    import duckdb
    import polars as pl

    save(tmp_path / "x", {"x": SAVED[row]})
    table = scan(tmp_path / "x")
    with duckdb.connect() as connection:
        connection.register("t", table)
        in_duckdb = connection.execute("select typeof(x) from t").fetchall()[0][0]
    (cells,) = re.findall(
        rf"^\| {re.escape(row)} \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    arrow, pandas, polars, duck = cells.split(" | ")
    assert re.split(r"[\[<]", str(table.arrow_schema.field("x").type))[0] in arrow
    found = str(table.to_pandas()["x"].dtype)
    assert re.split(r"[\[,]", found)[0] in (arrow if pandas == "the same" else pandas)
    found = str(pl.DataFrame(table).schema["x"].base_type())
    assert found in polars or polars == "the same"
    assert in_duckdb in duck
