"""Distributions against NumPy, which has all the numbers."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.support.errors import raised
from tfrecord_lite.apps.statistics import Distribution
from tfrecord_lite.apps.statistics.statistics import MAX_VALUES
from tfrecord_lite.errors import InvalidArgumentError

FLOATS = arrays(np.float32, st.integers(0, 60), elements=st.floats(width=32))
INTEGERS = arrays(
    np.int64,
    st.integers(0, 60),
    elements=st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1)),
)
NUMBERS = st.one_of(FLOATS, INTEGERS)


@given(NUMBERS, st.integers(1, 40))
def test_few_numbers_are_described_exactly(numbers: np.ndarray, bins: int) -> None:
    found = Distribution.of(numbers)
    known = numbers[~np.isnan(numbers)]
    finite = known[np.isfinite(known)]

    assert (found.count, found.num_finite) == (numbers.size, finite.size)
    assert found.num_nan == numbers.size - known.size
    assert found.num_inf == np.isinf(numbers).sum()
    assert found.num_zeros == (numbers == 0).sum()
    assert (found.min, found.max) == ((known.min(), known.max()) if known.size else (None, None))
    assert np.array_equal(np.repeat(found.values, found.counts), np.sort(finite))
    assert found.is_exact
    assert found.is_integer == (numbers.size > 0 and numbers.dtype == np.int64)
    counts, edges = found.histogram(bins)
    assert counts.sum() == finite.size
    assert counts.size <= bins
    if finite.size:
        scale = 1e-9 * abs(finite.astype(np.float64)).max()
        assert found.mean == pytest.approx(finite.mean(dtype=np.float64), rel=1e-9, abs=scale)
        assert found.std == pytest.approx(finite.std(dtype=np.float64), rel=1e-6, abs=10 * scale)
        for q in (0, 0.25, 0.5, 1):
            quantile = found.quantile(q)
            assert quantile == np.sort(finite)[int(q * (finite.size - 1))]
            assert isinstance(quantile, int if numbers.dtype == np.int64 else float)
        assert np.isfinite(edges).all()
        if scale < 1e6:  # further away, edges of integers are rounded
            assert np.array_equal(counts, np.histogram(finite, edges)[0])
    else:
        assert found.mean is found.std is found.quantile(0.5) is None
        assert not edges.size
    json.dumps(found.describe(), allow_nan=False)
    assert pickle.loads(pickle.dumps(found)) == found


@given(NUMBERS, st.data())
def test_parts_add_up_in_any_order(numbers: np.ndarray, data: st.DataObject) -> None:
    whole = Distribution.of(numbers)
    cuts = sorted(data.draw(st.lists(st.integers(0, numbers.size), max_size=4)))
    parts = data.draw(st.permutations(np.split(numbers, cuts)))
    added = Distribution()
    for part in parts:
        added += Distribution.of(part)
    assert added.num_finite == whole.num_finite
    assert added.std == (None if whole.std is None else pytest.approx(whole.std, rel=1e-6))
    assert added == whole or not numbers.size


@pytest.mark.parametrize("kind", ["normal", "times", "tail", "sorted", "zeros", "float32"])
def test_many_numbers_are_described_within_a_percent(kind: str) -> None:
    rng, n = np.random.default_rng(1), 300_000
    numbers = {
        "normal": rng.normal(size=n),
        "times": 1_600_000_000_000 + rng.integers(0, 86_400_000, n),
        "tail": np.exp(rng.normal(size=n) * 3),
        "sorted": np.sort(rng.random(n)),
        "zeros": np.where(rng.random(n) < 0.7, 0, rng.lognormal(0, 9, n)),
        "float32": rng.normal(size=n).astype(np.float32),
    }[kind]
    parts = [Distribution.of(part) for part in np.array_split(numbers, 37)]
    found = sum(parts[1:], parts[0])

    assert not found.is_exact
    assert found.values.size == found.counts.size <= MAX_VALUES
    assert (np.diff(found.values) > 0).all()
    assert found.counts.sum() == n
    assert (found.quantile(0), found.quantile(1)) == (found.min, found.max)
    assert (found.min, found.max) == (numbers.min(), numbers.max())
    assert found.mean == pytest.approx(numbers.mean(dtype=np.float64))
    assert found.std == pytest.approx(numbers.std(dtype=np.float64))
    ordered = np.sort(numbers)
    for q in (0.01, 0.25, 0.5, 0.9, 0.99):
        value = numbers.dtype.type(found.quantile(q))
        assert value in ordered
        low, high = (np.searchsorted(ordered, value, side) / n for side in ("left", "right"))
        assert low - 0.01 < q < high + 0.01
    counts, edges = found.histogram(30)
    assert abs(counts - np.histogram(numbers, edges)[0]).max() < 0.01 * n


def test_values_are_drawn_anew_so_that_errors_do_not_add_up() -> None:
    found = Distribution.of(np.arange(1e6))
    for i in range(2000):  # each is less than one of the values stands for
        found += Distribution.of(np.arange(200.0) + 1e7 + i)
    median = found.quantile(0.5)
    assert median == pytest.approx(700_000, rel=0.02)


def test_integers_of_a_small_range_have_bins_of_as_many() -> None:
    for n, bins, width in (4, 20, 1), (20, 20, 1), (21, 20, 2), (80, 20, 4):
        counts, edges = Distribution.of(np.arange(n) + 3).histogram(bins)
        assert set(np.diff(edges)) == {width}
        assert edges[0] == 2.5
        assert set(counts[:-1].tolist()) <= {width}
    counts, edges = Distribution.of(np.full(9, 5)).histogram()
    assert (counts.tolist(), edges.tolist()) == ([9], [4.5, 5.5])


def test_numbers_near_the_end_of_float64_overflow_in_silence() -> None:
    found = Distribution.of(np.array([1e308, 1e308, -1e308]))
    counts, edges = found.histogram(4)
    assert counts.tolist() == [1, 0, 0, 2]
    assert np.isfinite(edges).all()
    (found + found).describe()


@pytest.mark.parametrize(
    "numbers",
    [
        -2123342786782761789
        - np.array([0, 132, 232, 267, 291]),  # times in nanoseconds are like that
        2**62 + np.arange(0, 3000, 7),
        np.array([-5.67846481e-174, np.nextafter(-5.67846481e-174, 0)]),
        np.array([5e-324, 1e-323]),
    ],
)
@pytest.mark.parametrize("bins", [7, 16, 20])
def test_numbers_nearer_than_edges_can_be_are_all_counted(numbers: np.ndarray, bins: int) -> None:
    counts, edges = Distribution.of(numbers).histogram(bins)
    assert counts.sum() == numbers.size
    assert (np.diff(edges) >= 0).all()


def test_of_two_zeros_the_positive_one_is_kept() -> None:
    assert str(Distribution.of(np.array([-0.0, 0.0, -0.0])).quantile(0.5)) == "0.0"


def test_bad_arguments_are_rejected() -> None:
    found = Distribution.of(np.arange(3))
    raised(InvalidArgumentError, found.quantile, 2, match="q is 2")
    raised(InvalidArgumentError, found.histogram, 0, match="bins")
    raised(TypeError, Distribution.of, np.array([1, None]), match="object")
