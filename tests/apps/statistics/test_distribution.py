"""Distributions against NumPy, which has all the numbers."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tfrecord_lite.apps.statistics import Distribution
from tfrecord_lite.apps.statistics.distribution import MAX_BUCKETS
from tfrecord_lite.errors import InvalidArgumentError

FLOATS = arrays(np.float32, st.integers(0, 60), elements=st.floats(width=32))
INTEGERS = arrays(
    np.int64,
    st.integers(0, 60),
    elements=st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1)),
)
NUMBERS = st.one_of(FLOATS, INTEGERS)


@given(NUMBERS)
def test_counts_and_range_are_exact(numbers: np.ndarray) -> None:
    found = Distribution.of(numbers)
    known = numbers[~np.isnan(numbers)]
    assert found.count == numbers.size
    assert found.num_nan == numbers.size - known.size
    assert found.num_inf == np.isinf(numbers).sum()
    assert found.num_zeros == (numbers == 0).sum()
    assert found.min == (known.min() if known.size else None)
    assert found.max == (known.max() if known.size else None)
    finite = known[np.isfinite(known)].astype(np.float64)
    assert found.num_finite == finite.size
    if finite.size:
        assert found.mean == pytest.approx(finite.mean(), rel=1e-9, abs=1e-9 * abs(finite).max())
        assert found.std == pytest.approx(finite.std(), rel=1e-6, abs=1e-9 * abs(finite).max())
        quantile = found.quantile(0.3)
        assert isinstance(quantile, int if numbers.dtype == np.int64 else float)
        assert finite.min() <= quantile <= finite.max()
    else:
        assert found.mean is found.std is found.quantile(0.5) is None


@given(NUMBERS, st.data())
def test_parts_add_up_in_any_order(numbers: np.ndarray, data: st.DataObject) -> None:
    whole = Distribution.of(numbers)
    cuts = sorted(data.draw(st.lists(st.integers(0, numbers.size), max_size=4)))
    parts = data.draw(st.permutations(np.split(numbers, cuts)))
    added, grown = Distribution(), Distribution()
    for part in parts:
        added += Distribution.of(part)
        grown = grown.plus(part)
    assert added.num_finite == whole.num_finite
    if numbers.size:
        assert added == grown == whole


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_coarse_parts_add_up_too(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.normal(size=20_000) * 10_000, rng.random(20_000)]).astype(dtype)
    rng.shuffle(numbers)
    whole = Distribution.of(numbers)
    starts, stops, counts = whole.buckets()
    assert len(counts) <= MAX_BUCKETS
    assert (stops[:-1] < starts[1:]).all()
    parts = [Distribution.of(part) for part in np.array_split(numbers, 37)]
    assert sum(parts[1:], parts[0]) == whole
    assert sum(parts[-2::-1], parts[-1]) == whole


@given(NUMBERS)
def test_buckets_hold_every_finite_number(numbers: np.ndarray) -> None:
    finite = np.sort(numbers[np.isfinite(numbers)].astype(np.float64))
    starts, stops, counts = Distribution.of(numbers).buckets()
    assert counts.sum() == finite.size
    assert (starts <= stops).all()
    assert (stops[:-1] <= starts[1:]).all()
    each = np.repeat(np.arange(counts.size), counts)
    assert (starts[each] <= finite).all()
    assert (finite <= stops[each]).all()


@pytest.mark.parametrize("kind", ["normal", "uniform", "times", "tail", "integers"])
def test_quantiles_are_within_a_percent(kind: str) -> None:
    rng = np.random.default_rng(1)
    numbers = {
        "normal": rng.normal(size=50_000),
        "uniform": rng.random(50_000),
        "times": 1_600_000_000 + rng.integers(0, 86_400, 50_000),
        "tail": np.exp(rng.normal(size=50_000) * 3),
        "integers": rng.integers(0, 500, 50_000),
    }[kind]
    found = Distribution.of(numbers)
    for q in (0, 0.01, 0.25, 0.5, 0.9, 1):
        true = float(np.quantile(numbers, q))
        near = np.quantile(numbers, [max(q - 0.001, 0), min(q + 0.001, 1)])
        low, high = near[0] - abs(near[0]) * 0.01, near[1] + abs(near[1]) * 0.01
        value = found.quantile(q)
        assert value is not None
        assert low <= value <= high, (q, value, true)
    if kind == "times":  # which differ in their last digits only
        assert found.quantile(0.5) == pytest.approx(np.median(numbers), abs=200)


def test_times_in_nanoseconds_are_told_apart() -> None:
    times = 1_700_000_000_000_000_000 + np.arange(100)
    parts = [Distribution.of(part) for part in np.array_split(times, 7)]
    found = sum(parts[1:], parts[0])
    assert found.std == pytest.approx(np.arange(100).std())
    quartile = found.quantile(0.25)
    assert quartile is not None
    assert abs(quartile - int(times[25])) <= 256  # as float64 rounds
    assert Distribution.of(np.array([2**60])) != Distribution.of(np.array([2**60 + 100]))


@given(st.lists(st.integers(-120, 120) | st.just(2**30), min_size=1))
def test_a_quantile_between_two_numbers_is_the_smaller_one(numbers: list[int]) -> None:
    for q in (0, 0.25, 0.5, 0.75, 1):
        expected = np.quantile(numbers, q, method="lower")
        assert Distribution.of(np.array(numbers)).quantile(q) == expected


def test_quantiles_of_float32_are_float32() -> None:
    numbers = np.random.default_rng(0).normal(size=10_000).astype(np.float32)
    found = Distribution.of(numbers)

    assert (found.quantile(0), found.quantile(1)) == (numbers.min(), numbers.max())
    quartile = found.quantile(0.25)
    assert quartile == float(np.float32(quartile or 0))


def test_a_quantile_among_zeros_is_zero() -> None:
    rng = np.random.default_rng(0)
    numbers = np.where(rng.random(100_000) < 0.7, 0, rng.lognormal(0, 9, 100_000))

    assert Distribution.of(numbers).quantile(0.5) == 0
    assert (
        Distribution.of(numbers.astype(np.float32)).plus(np.zeros(9, np.float32)).quantile(0.5) == 0
    )


def test_numbers_near_the_end_of_float64_overflow_in_silence() -> None:
    found = Distribution.of(np.array([1e308, 1e308, -1e308]))
    assert found.mean == pytest.approx(1e308 / 3)
    counts, edges = found.histogram(4)
    assert counts.tolist() == [1, 0, 0, 2]
    assert np.isfinite(edges).all()


@given(NUMBERS, st.integers(1, 40))
def test_histograms_count_every_finite_number_once(numbers: np.ndarray, bins: int) -> None:
    found = Distribution.of(numbers)
    counts, edges = found.histogram(bins)
    assert counts.sum() == found.num_finite
    assert (counts >= 0).all()
    assert edges.size == (counts.size + 1 if counts.size else 0)
    assert counts.size <= bins
    assert np.isfinite(edges).all()
    assert (np.diff(edges) > 0).all()


def test_histograms_are_numpys_of_many_values_nearly() -> None:
    numbers = np.random.default_rng(3).normal(size=100_000)
    counts, edges = Distribution.of(numbers).histogram(30)
    assert abs(counts - np.histogram(numbers, edges)[0]).max() < 100
    whole = np.random.default_rng(2).integers(0, 1000, 10_000)
    counts, edges = Distribution.of(whole).histogram(20)
    assert np.array_equal(counts, np.histogram(whole, edges)[0])
    counts, edges = Distribution.of(np.array([3, 5, 5, 6])).histogram()
    assert counts.tolist() == [1, 0, 2, 1]
    assert edges.tolist() == [2.5, 3.5, 4.5, 5.5, 6.5]


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 5))
def test_a_repeated_number_is_counted_as_often(number: int, times: int) -> None:
    assert Distribution.repeated(number, times) == Distribution.of(np.full(times, number))


@given(NUMBERS)
def test_the_description_is_json(numbers: np.ndarray) -> None:
    found = Distribution.of(numbers)
    described = json.loads(json.dumps(found.describe(), allow_nan=False))
    assert described["count"] == numbers.size
    assert pickle.loads(pickle.dumps(found)) == found


def test_bad_arguments_are_rejected() -> None:
    found = Distribution.of(np.arange(3))
    with pytest.raises(InvalidArgumentError, match="q is 2"):
        found.quantile(2)
    with pytest.raises(InvalidArgumentError, match="bins"):
        found.histogram(0)
    with pytest.raises(TypeError, match="object"):
        Distribution.of(np.array([1, None]))
