"""Files of one data set: their types depend on the schema, never on what a file holds."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.untyped import load
from tfrecord_lite import InvalidArgumentError, RaggedTensor, Reason, save

if TYPE_CHECKING:
    from pathlib import Path

# Shards of one data set, each saved on its own: what they hold differs.
SHARDS: dict[str, list[dict[str, Any]]] = {
    "values": [{"n": 1, "tags": ["a"], "h": 1.5}, {"n": 2, "tags": ["b", "c"], "h": 2.0}],
    "missing": [{"n": 3, "tags": None, "h": None}],
    "empty": [{"n": 4, "tags": [], "h": None}],
    "lacking": [{"n": 5}],
    "nothing": [],
}


@pytest.mark.parametrize("n_shards", [2, 3, 5])
def test_shards_saved_by_themselves_load_as_one_in_any_order(tmp_path: Path, n_shards: int) -> None:
    for name, rows in SHARDS.items():
        save(tmp_path / name, rows)

    for names in itertools.permutations(SHARDS, n_shards):
        if "values" not in names:
            continue
        found = load([tmp_path / name for name in names])
        rows = [row for name in names for row in SHARDS[name]]
        assert found["n"].tolist() == [row["n"] for row in rows]
        assert isinstance(found["tags"], RaggedTensor)
        assert found["tags"].to_list() == [row.get("tags") or [] for row in rows]
        assert found["h"].dtype == np.float64
        assert found["h"].tolist() == [row.get("h") for row in rows]


def test_nested_shards_may_lack_features_too(tmp_path: Path) -> None:
    save(tmp_path / "0", [{"box": {"x": 1}, "pair": (1, 2)}])
    save(tmp_path / "1", [{"box": {"x": 2, "y": 0.5}, "pair": (3, 4)}])

    found = load([tmp_path / "0", tmp_path / "1"])

    assert found["box"]["x"].tolist() == [1, 2]
    assert found["box"]["y"].tolist() == [None, 0.5]
    assert [column.tolist() for column in found["pair"]] == [[1, 3], [2, 4]]


def test_a_file_without_records_goes_with_any_others(tmp_path: Path) -> None:
    save(tmp_path / "0", {"x": [], "y": np.zeros((0, 3), np.uint8)})
    save(tmp_path / "1", {"x": [[1, 2], [3]]})

    for paths in ([tmp_path / "0", tmp_path / "1"], [tmp_path / "1", tmp_path / "0"]):
        found = load(paths)
        assert list(found) == ["x"]
        assert found["x"].to_list() == [[1, 2], [3]]


def test_shards_without_a_sidecar_are_inferred_together(tmp_path: Path) -> None:
    for name in ("missing", "values", "lacking"):
        save(tmp_path / name, SHARDS[name], tmp_path / "schema")

    found = load([tmp_path / name for name in ("missing", "values", "lacking")])

    assert found["tags"].to_list() == [[], [b"a"], [b"b", b"c"], []]
    assert np.ma.getmaskarray(found["h"]).tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("one", "other", "key", "text"),
    [
        ({"x": [1]}, {"y": [1]}, None, "none of the features"),
        ({"x": [1], "y": {"z": [1]}}, {"x": [1], "y": ([1],)}, None, "nested differently"),
        ({"x": [1]}, {"x": [0.5]}, "x", "schema="),
        ({"x": [1]}, {"x": [[]]}, "x", "an empty list"),
    ],
)
def test_shards_that_are_stored_in_other_ways_are_rejected(
    tmp_path: Path, one: Any, other: Any, key: str | None, text: str
) -> None:
    save(tmp_path / "0", one)
    save(tmp_path / "1", other)

    with pytest.raises(InvalidArgumentError, match=text) as caught:
        load([tmp_path / "0", tmp_path / "1"])

    error = caught.value
    assert (error.reason, error.key) == (Reason.BAD_ARGUMENT, key)
    assert error.source == str(tmp_path / "1")
