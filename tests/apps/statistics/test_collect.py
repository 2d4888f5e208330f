"""Statistics of records against dictionaries of Python values."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tfrecord_lite import Block, encode_example, encode_sequence_example, save, summarize
from tfrecord_lite.apps.statistics import Distribution, Statistics, compute_statistics
from tfrecord_lite.apps.statistics.statistics import Collector
from tfrecord_lite.errors import DataLossError, InvalidArgumentError

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


def of(*numbers: int) -> Distribution:
    return Distribution.of(np.array(numbers))


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
        assert one.lengths == of(*map(len, lists))
        numbers = [n for values in lists for n in values if not isinstance(n, bytes)]
        strings = [n for values in lists for n in values if isinstance(n, bytes)]
        assert one.num_values == len(numbers) + len(strings)
        assert (one.numbers is None) == (not numbers)
        assert one.numbers is None or one.numbers.count == len(numbers)
        assert (one.strings is None) == (not strings)
        assert one.strings is None or one.strings.lengths == of(*map(len, strings))
    added = sum(compute_statistics(part) for part in (records[:cut], records[cut:]) if part)
    assert isinstance(added, Statistics)
    assert added.summary.describe() == found.summary.describe()  # but for the places
    for one, other in zip(added.features.values(), found.features.values(), strict=True):
        assert (one.lengths, one.numbers) == (other.lengths, other.numbers)
    json.dumps(found.describe(), allow_nan=False)
    again = pickle.loads(pickle.dumps(found))
    assert again.describe() == found.describe()
    assert str(again) == str(found)


@pytest.mark.parametrize("cut", [1, 2, 4])
def test_sequences_have_steps_and_those_without_lists_are_contexts(cut: int) -> None:
    steps = np.arange(2.0, dtype="f4")
    records = [b""] + [
        encode_sequence_example(
            {"context": {"id": i}, "feature_lists": {"x": [steps] * (i % 3)} if i % 3 else {}}
        )
        for i in range(6)
    ]
    collector = Collector()
    for part in records[:cut], records[cut:]:
        collector.add(Block.from_records(part))
    found = collector.statistics()
    assert found.is_sequence
    assert found.num_records == 7
    assert found["id"].numbers == of(*range(6))
    x = found.feature_lists["x"]
    assert (x.num_records, x.steps, x.lengths) == (4, of(1, 2, 1, 2), of(*[2] * 6))
    assert x.numbers == Distribution.of(np.tile(steps, 6))
    assert "feature lists" in str(found)
    assert str(found.summary) == str(summarize(records))


def test_files_are_read_block_by_block(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    numbers = np.arange(300_000)
    save(path, {"n": numbers})
    seen: list[tuple[int, int | None]] = []
    found = compute_statistics(path, progress=lambda done, total: seen.append((done, total)))
    n = found["n"].numbers
    assert n is not None
    assert (n.count, n.min, n.max) == (300_000, 0, 299_999)
    assert n.mean == pytest.approx(149_999.5)
    assert seen[-1] == (300_000, 300_000)
    assert compute_statistics(path, num_records=1000)["n"].numbers == of(*range(1000))


def test_numbers_have_the_dtype_that_was_saved(tmp_path: Path) -> None:
    columns = {
        "pixels": np.arange(200, dtype=np.uint8).reshape(5, 40),
        "flags": np.eye(5, 40, dtype=np.bool),
        "large": np.array([2**64 - 1, 0, 1, 2, 3], np.uint64),
        "double": np.linspace(0, 1, 5),
    }
    save(tmp_path / "a", columns, lossless=True)
    for data in (tmp_path / "a", [str(tmp_path / "a")]):
        found = compute_statistics(data)
        for name, column in columns.items():
            numbers = found[name].numbers
            assert numbers is not None
            assert (numbers.count, numbers.min, numbers.max) == (
                column.size,
                column.min(),
                column.max(),
            )
            assert found[name].lengths == of(*[column[0].size] * 5)
            assert found[name].type_name == found[name].original == str(column.dtype)


def test_damage_is_an_error_unless_it_is_to_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    save(str(path), {"n": np.arange(100)})
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    raised(DataLossError, compute_statistics, str(path))
    with pytest.warns(UserWarning, match="damage"):
        assert compute_statistics(str(path), on_error="skip").num_records == 99


def test_malformed_records_are_errors_or_left_out() -> None:
    good = [example({"a": [1]})] * 10
    records = [*good[:3], b"\x0a\xff", *good[3:], b"\x0a\x03\x0a\x05a"]
    raised(InvalidArgumentError, compute_statistics, records, match="record 3")
    collector = Collector(skip_malformed=True)
    collector.add(Block.from_records(records))
    found = collector.statistics()
    assert found.num_records == 10
    assert found["a"].numbers == of(*[1] * 10)
    assert [error.index for error in collector.malformed] == [3, 11]


def test_unknown_names_list_the_nearest() -> None:
    found = compute_statistics([example({"label": [1]})])
    with pytest.raises(KeyError, match="label"):
        found["lable"]
    assert ("label" in found, "lable" in found, len(found)) == (True, False, 1)
