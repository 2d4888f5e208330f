"""DataFrames of pandas from record files and back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.integrations.scanned_files import exact, files, on_disk, record
from tfrecord_lite import FixedLenFeature, save, scan

pytestmark = pytest.mark.needs("dataframes")

pd: Any = pytest.importorskip("pandas")

INT64S = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**63 - 1, 2**53 + 1])


def plain(value: Any) -> Any:
    """Return what pandas has for lists, texts, times and nulls in Python's own types."""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if value is pd.NA or value is pd.NaT else value


@given(files())
def test_any_file_has_the_values_that_arrow_has(drawn: tuple[Any, list[bytes]]) -> None:
    schema, records = drawn
    with on_disk(records) as path:
        table = scan(path, schema=schema).to_arrow()
        frame = scan(path, schema=schema).to_pandas()
        assert list(frame.columns) == table.column_names
        assert len(frame) == table.num_rows
        for name, column in zip(table.column_names, table.columns, strict=True):
            wanted = column.to_pylist()
            found = [plain(value) for value in frame[name].tolist()]
            if str(column.type) == "float":  # in which a null is a NaN
                found = [None if wanted[i] is None else value for i, value in enumerate(found)]
            assert exact(found) == exact(wanted)


@given(st.lists(st.none() | INT64S, max_size=9).filter(lambda values: None in values))
def test_integers_with_nulls_stay_exact_without_a_sidecar(values: list[int | None]) -> None:
    records = [record(k=[0], **({} if v is None else {"n": [v]})) for v in values]
    with on_disk(records) as path:
        features: Any = {"k": FixedLenFeature([], "int64")}
        if any(value is not None for value in values):
            features = scan(path, sample=None).schema
            frame = scan(path, schema=features).to_pandas()
            assert str(frame["n"].dtype) == "Int64"
            assert [None if v is pd.NA else int(v) for v in frame["n"]] == values
        assert str(scan(path, ["k"], schema=features).to_pandas()["k"].dtype) == "int64"


@pytest.mark.parametrize("options", [{}, {"num_workers": 1}, {"columns": ["x"]}])
def test_progress_counts_records(tmp_path: Path, options: dict[str, Any]) -> None:
    seen: list[tuple[int, int | None]] = []
    paths = [tmp_path / "frame", tmp_path / "rows"]
    save(paths[0], pd.DataFrame({"x": range(3000)}), progress=lambda *now: seen.append(now))
    assert seen[-1] == (3000, 3000)
    save(paths[1], [{"x": i} for i in range(3000)])
    for path in paths:
        seen.clear()
        frame = scan(path, **options).to_pandas(progress=lambda *now: seen.append(now))
        assert len(frame) == 3000
        assert seen[-1] == (3000, 3000)
