"""Statistics of byte strings against plain counting."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite import BytesColumn
from tfrecord_lite.apps.statistics import Distribution, StringStatistics
from tfrecord_lite.apps.statistics.distribution import (
    MAX_COUNTED_BYTES,
    MAX_DISTINCT,
    MAX_LOOKED_AT,
)
from tfrecord_lite.arrays import ByteRanges

if TYPE_CHECKING:
    from collections.abc import Iterable

STRINGS = st.lists(
    st.one_of(st.binary(max_size=3), st.binary(min_size=60, max_size=70)), max_size=40
)


def ranges_of(values: Iterable[bytes]) -> ByteRanges:
    column = BytesColumn.from_list(values)
    return ByteRanges(column.data, column.offsets[:-1], column.lengths)


def objects_of(values: list[bytes]) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array


@given(STRINGS, st.booleans())
def test_short_strings_are_counted(values: list[bytes], is_object: bool) -> None:
    found = StringStatistics.of(objects_of(values) if is_object else ranges_of(values))
    short = [value for value in values if len(value) <= MAX_COUNTED_BYTES]
    assert found.counts == Counter(short)
    assert found.num_uncounted == len(values) - len(short)
    assert found.is_exact == (len(short) == len(values))
    assert found.num_distinct == (len(set(values)) if found.is_exact else None)
    assert found.lengths == Distribution.of(np.array([*map(len, values)], np.int64))
    if short:
        most = found.top(1)[0]
        assert most[1] == max(Counter(short).values())
    assert set(found.examples) <= set(values)
    assert sum(found.contents.values()) == min(len(values), MAX_LOOKED_AT)


@given(STRINGS, STRINGS)
def test_parts_add_up(first: list[bytes], second: list[bytes]) -> None:
    added = StringStatistics.of(ranges_of(first)) + StringStatistics.of(ranges_of(second))
    whole = StringStatistics.of(ranges_of(first + second))
    assert added.counts == whole.counts
    assert added.lengths == whole.lengths
    assert added.num_uncounted == whole.num_uncounted
    assert pickle.loads(pickle.dumps(added)) == added
    json.dumps(added.describe(), allow_nan=False)


def test_too_many_strings_are_counted_within_a_known_bound() -> None:
    rng = np.random.default_rng(0)
    often = [b"often"] * 3000 + [b"rather often"] * 2000
    values = often + [b"%d" % i for i in range(3 * MAX_DISTINCT)] * 2
    rng.shuffle(values)
    parts = [StringStatistics.of(ranges_of(part)) for part in np.array_split(objects_of(values), 9)]
    found = sum(parts[1:], parts[0])
    assert len(found.counts) <= MAX_DISTINCT
    assert not found.is_exact
    assert found.num_distinct is None
    true = Counter(values)
    assert [value for value, _ in found.top(2)] == [b"often", b"rather often"]
    for value, count in found.counts.items():
        assert count <= true[value] <= count + found.max_missed
    assert (found + found).max_missed >= 2 * found.max_missed


def test_sizes_of_pictures_are_details() -> None:
    gif = b"GIF89a" + (640).to_bytes(2, "little") + (480).to_bytes(2, "little") + bytes(10)
    found = StringStatistics.of(ranges_of([gif] * 3 + [b"text"]))
    assert found.contents == {"GIF": 3, "text": 1}
    assert found.details == {"GIF 640 x 480": 3}
    assert (found + found).details == {"GIF 640 x 480": 6}


def test_strings_are_looked_at_in_proportion() -> None:
    found = StringStatistics.of(ranges_of([b"text %d" % i for i in range(10_000)]))
    for i in range(59):
        found = found.plus(ranges_of([b"\xfe\x00" + bytes([i, j]) for j in range(10)]))
    assert len(found.looked_at) == MAX_LOOKED_AT
    assert found.contents.get("bytes", 0) <= 12  # 5.6 % of all


def test_equal_blocks_are_looked_at_in_other_places() -> None:
    block = ranges_of([b"" if i % 8 == 0 else b"a" for i in range(2_000)])
    found = StringStatistics.of(block)
    for _ in range(9):
        found = found.plus(block)
    assert len({lot for lot, *_ in found.looked_at}) == MAX_LOOKED_AT


@given(STRINGS, STRINGS)
def test_strings_one_by_one_or_at_once_are_the_same(
    first: list[bytes], second: list[bytes]
) -> None:
    one, other = ranges_of(first), ranges_of(second)
    at_once, added = (
        StringStatistics.of(one).plus(other),
        StringStatistics.of(one) + StringStatistics.of(other),
    )
    assert replace(at_once, looked_at=(), examples=()) == replace(added, looked_at=(), examples=())
    if len(at_once.looked_at) < MAX_LOOKED_AT:
        assert at_once.contents == added.contents
