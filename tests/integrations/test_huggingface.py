"""Data sets of Hugging Face's from tables of files, and back."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from tfrecord_lite import TFRecordReader, TFRecordWriter, save, scan
from tfrecord_lite.convert.arrow import imported

pytestmark = [pytest.mark.needs("tables"), pytest.mark.filterwarnings("ignore")]

ROWS: list[dict[str, Any]] = [
    {"label": i % 2, "big": 2**63 - 1 - i, "text": f"ü{i}", "scores": [0.5] * i, "grid": [[i, 1]]}
    for i in range(5)
]


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


def dataset() -> Any:
    hf = importlib.import_module("datasets")
    features = hf.Features(
        {
            "label": hf.ClassLabel(names=["a", "b"]),
            "big": hf.Value("int64"),
            "text": hf.Value("string"),
            "scores": hf.List(hf.Value("float32")),
            "grid": hf.Array2D((1, 2), "int64"),
            "image": hf.Image(decode=True),
        }
    )
    images = [{"bytes": b"not decoded %d" % i, "path": None} for i in range(5)]
    rows = [{**row, "image": image} for row, image in zip(ROWS, images, strict=True)]
    return hf.Dataset.from_list(rows, features=features)


@pytest.mark.parametrize(("change", "order"), [
    (lambda data: data, [0, 1, 2, 3, 4]), (lambda data: data.select([3, 0, 3]), [3, 0, 3]),
    (lambda data: data.sort("big"), [4, 3, 2, 1, 0]),
    (lambda data: data.with_format("numpy"), [0, 1, 2, 3, 4]),
    (lambda data: data.to_iterable_dataset().skip(1).take(2), [1, 2]),
    (lambda data: data.select([]), []),
])  # fmt: skip
def test_a_data_set_is_saved_in_its_order(tmp_path: Path, change: Any, order: list[int]) -> None:
    given = change(dataset())
    save(tmp_path / "x", given)
    found = scan(tmp_path / "x").to_arrow().to_pylist()
    names = ROWS[0].keys()
    assert [{name: row[name] for name in names} for row in found] == [ROWS[i] for i in order]
    assert [row["image/bytes"] for row in found] == [b"not decoded %d" % i for i in order]
    with TFRecordWriter(tmp_path / "y") as writer:
        writer.write_examples(given)
    assert len(list(TFRecordReader(tmp_path / "y"))) == len(order)


def test_a_table_is_a_data_set(tmp_path: Path) -> None:
    hf = importlib.import_module("datasets")
    save(tmp_path / "x", dataset().select([4, 1]).remove_columns(["image", "grid"]))
    found = hf.Dataset(imported().table(scan(tmp_path / "x")))
    names = ["label", "big", "text", "scores"]
    assert found.to_list() == [{name: ROWS[i][name] for name in names} for i in (4, 1)]
    assert str(found.features["scores"].feature.dtype) == "float32"
