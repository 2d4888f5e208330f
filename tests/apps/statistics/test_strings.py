"""Statistics of byte strings against plain counting."""

import json
import pickle
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite import BytesColumn
from tfrecord_lite.apps.statistics import Distribution, StringStatistics
from tfrecord_lite.apps.statistics.statistics import (
    MAX_COUNTED_BYTES,
    MAX_DISTINCT,
    MAX_LOOKED_AT,
    ranges_of,
)

STRINGS = st.lists(
    st.one_of(st.binary(max_size=3), st.binary(min_size=60, max_size=70)), max_size=40
)


def of(values: list[bytes]) -> StringStatistics:
    return StringStatistics.of(ranges_of(BytesColumn.from_list(values).to_numpy()))


@given(STRINGS, STRINGS)
def test_short_strings_are_counted(first: list[bytes], second: list[bytes]) -> None:
    values = first + second
    short = [value for value in values if len(value) <= MAX_COUNTED_BYTES]
    objects = np.empty(len(second), object)
    objects[:] = second
    for found in of(values), of(first) + of(second), of(first).plus(objects):
        assert found.counts == Counter(short)
        assert found.is_exact == (len(short) == len(values))
        assert found.num_distinct == (len(set(values)) if found.is_exact else None)
        assert found.lengths == Distribution.of(np.array([*map(len, values)], np.int64))
        assert found.top(1) == sorted(Counter(short).items(), key=lambda one: (-one[1], one[0]))[:1]
        assert set(found.examples) <= set(values)
        assert sum(found.contents.values()) == min(len(values), MAX_LOOKED_AT)
        assert pickle.loads(pickle.dumps(found)) == found
        json.dumps(found.describe(), allow_nan=False)


def test_of_too_many_strings_the_frequent_ones_are_counted() -> None:
    rng = np.random.default_rng(0)
    often = [b"often"] * 3000 + [b"rather often"] * 2000
    values = np.array(often + [b"%d" % i for i in range(3 * MAX_DISTINCT)] * 2, object)
    rng.shuffle(values)
    parts = [StringStatistics.of(part) for part in np.array_split(values, 9)]
    found = sum(parts[1:], parts[0])
    assert len(found.counts) <= MAX_DISTINCT
    assert not found.is_exact
    assert found.num_distinct is None
    assert found.top(2) == [(b"often", 3000), (b"rather often", 2000)]
    true = Counter(values.tolist())
    assert all(count <= true[value] for value, count in found.counts.items())
