"""Statistics of records against dictionaries of Python values."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite import Block, encode_example, encode_sequence_example, save, summarize
from tfrecord_lite.apps.statistics import Distribution, Statistics, compute_statistics
from tfrecord_lite.apps.statistics.statistics import Collector
from tfrecord_lite.errors import DataLossError, InvalidArgumentError

if TYPE_CHECKING:
    from pathlib import Path

VALUES = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
    st.lists(st.floats(width=32), max_size=5),
    st.lists(st.binary(max_size=5), max_size=5),
)
ROWS = st.lists(st.dictionaries(st.sampled_from("abcd"), VALUES), min_size=1, max_size=20)


def example(row: dict[str, Any]) -> bytes:
    made = {}
    for name, values in row.items():
        kind = type(values[0]) if values else int
        dtype = {int: np.int64, float: np.float32, bytes: object}[kind]
        made[name] = np.array(values, dtype)
    return encode_example(made)


@given(ROWS, st.integers(0, 20))
def test_every_value_is_counted(rows: list[dict[str, Any]], cut: int) -> None:
    records = [example(row) for row in rows]
    found = compute_statistics(records)
    assert found.num_records == len(rows)
    assert found.summary == summarize(records)
    for name in found:
        one = found[name]
        lists = [row[name] for row in rows if name in row]
        assert one.num_records == len(lists)
        assert one.lengths == Distribution.of(np.array([*map(len, lists)]))
        numbers = [n for values in lists for n in values if not isinstance(n, bytes)]
        strings = [n for values in lists for n in values if isinstance(n, bytes)]
        assert one.num_values == len(numbers) + len(strings)
        if numbers:
            assert one.numbers is not None
            assert one.numbers.count == len(numbers)
        assert (one.strings is None) == (not strings)
        if one.strings is not None:
            assert one.strings.lengths.count == len(strings)
    parts = [compute_statistics(part) for part in (records[:cut], records[cut:]) if part]
    added = sum(parts)
    assert isinstance(added, Statistics)
    assert added.summary.describe() == found.summary.describe()  # but for the places
    assert [one.lengths for one in added.features.values()] == [
        one.lengths for one in found.features.values()
    ]
    assert [one.numbers for one in added.features.values()] == [
        one.numbers for one in found.features.values()
    ]


@given(ROWS)
def test_descriptions_are_json_and_statistics_can_be_pickled(rows: list[dict[str, Any]]) -> None:
    found = compute_statistics([example(row) for row in rows])
    json.dumps(found.describe(), allow_nan=False)
    again = pickle.loads(pickle.dumps(found))
    assert again.describe() == found.describe()
    assert str(again) == str(found)


def test_sequences_have_steps() -> None:
    records = [
        encode_sequence_example(
            {
                "context": {"id": np.array([i])},
                "feature_lists": {"x": [np.arange(2.0, dtype="f4")] * i},
            }
        )
        for i in range(4)
    ]
    found = compute_statistics(records)
    assert found.is_sequence
    assert found["id"].numbers == Distribution.of(np.arange(4))
    x = found.feature_lists["x"]
    assert x.steps == Distribution.of(np.arange(4))
    assert x.lengths == Distribution.repeated(2, 6)
    assert x.numbers == Distribution.of(np.tile(np.arange(2.0, dtype="f4"), 6))
    assert "feature lists" in str(found)
    assert found.summary == summarize(records)


def test_files_are_read_block_by_block(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    numbers = np.arange(300_000)
    save(path, {"n": numbers})
    seen: list[tuple[int, int | None]] = []
    found = compute_statistics(path, progress=lambda done, total: seen.append((done, total)))
    assert found["n"].numbers == Distribution.of(numbers)
    assert seen[-1] == (300_000, 300_000)
    assert compute_statistics(path, num_records=1000)["n"].numbers == Distribution.of(
        numbers[:1000]
    )


def test_damage_is_an_error_unless_it_is_to_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    save(str(path), {"n": np.arange(100)})
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataLossError):
        compute_statistics(str(path))
    with pytest.warns(UserWarning, match="damage"):
        assert compute_statistics(str(path), on_error="skip").num_records == 99


def test_malformed_records_are_errors_or_left_out() -> None:
    good = [example({"a": [1]})] * 10
    records = [*good[:3], b"\x0a\xff", *good[3:], b"\x0a\x03\x0a\x05a"]
    with pytest.raises(InvalidArgumentError, match="record 3"):
        compute_statistics(records)
    collector = Collector(skip_malformed=True)
    collector.add(Block.from_records(records))
    found = collector.statistics()
    assert found.num_records == 10
    assert found["a"].numbers == Distribution.repeated(1, 10)
    assert [error.index for error in collector.malformed] == [3, 11]


def test_unknown_names_list_the_nearest() -> None:
    found = compute_statistics([example({"label": [1]})])
    with pytest.raises(KeyError, match="label"):
        found["lable"]
    assert "label" in found
    assert len(found) == 1


@pytest.mark.parametrize("cuts", [[], [1], [2], [1, 3]])
def test_sequence_examples_without_lists_are_contexts(cuts: list[int]) -> None:
    def record(i: int, n_steps: int) -> bytes:
        lists = {"x": [np.array([i])] * n_steps} if n_steps else {}
        return encode_sequence_example({"context": {"id": np.array([i])}, "feature_lists": lists})

    records = [b"", *(record(i, i % 3) for i in range(6))]
    collector = Collector()
    for first, last in pairwise([0, *cuts, len(records)]):
        collector.add(Block.from_records(records[first:last]))
    found = collector.statistics()
    assert found.is_sequence
    assert found.num_records == 7
    assert found["id"].numbers == Distribution.of(np.arange(6))
    assert found["x"].num_records == 4
    assert found["x"].steps == Distribution.of(np.array([1, 2, 1, 2]))
