"""Mixtures of data sets: proportions, order, exactly once, workers, and resumption."""

import itertools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.small_files import FEATURES, numbers, plain, rest_after, write, write_files
from tfrecord_lite import Dataset, TFRecordDataset, TFRecordWriter, encode_example, read_batches
from tfrecord_lite.errors import DataLossError, InvalidArgumentError

# From Python 3.12 on a fork warns if there are threads, and NumPy has some of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def twice(element: Any) -> Any:
    return element


JOINS: dict[str, Callable[[list[Dataset], str], Dataset]] = {
    "mix": lambda sets, stop: Dataset.mix(sets, range(1, len(sets) + 1), 3, stop),  # type: ignore[arg-type]
    "concatenate": lambda sets, _: sets[0].concatenate(*sets[1:]),
    "zip": lambda sets, _: Dataset.zip(*sets),
}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(
    join="concatenate",
    counts=[5, 1, 4],
    stop="all",
    are_objects=False,
    shuffled=True,
    epoch=0,
    n_given=3,
)
@given(
    join=st.sampled_from(list(JOINS)),
    counts=st.lists(st.integers(0, 25), min_size=1, max_size=4),
    stop=st.sampled_from(["first", "all"]),
    are_objects=st.booleans(),
    shuffled=st.booleans(),
    epoch=st.integers(0, 1),
    n_given=st.integers(0, 50),
)
def test_joined_data_sets_give_each_element_once_in_order_and_resume(
    tmp_path_factory: pytest.TempPathFactory,
    join: str,
    counts: list[int],
    stop: Literal["first", "all"],
    epoch: int,
    n_given: int,
    *,
    are_objects: bool,
    shuffled: bool,
) -> None:
    names = write_files(tmp_path_factory.mktemp("m"), counts)
    splits = [sum(counts[:i]) for i in range(len(counts) + 1)]
    parts = [list(range(a, b)) for a, b in itertools.pairwise(splits)]

    def make() -> Dataset:
        sets: list[Dataset] = [TFRecordDataset(name) for name in names]
        sets = [each.map(twice) for each in sets] if are_objects else sets
        joined = JOINS[join](sets, stop)
        return joined.shuffle(5, 1).batch(2) if shuffled and join != "zip" else joined

    elements = list(make().set_epoch(epoch))
    whole = numbers(elements)

    if not shuffled or join == "zip":
        if join == "concatenate":
            assert whole == list(range(sum(counts)))
        elif join == "zip":
            assert [numbers(each) for each in elements] == [
                list(each) for each in zip(*parts, strict=False)
            ]
        else:
            for part in parts:
                mine = [number for number in whole if number in part]
                assert mine == part[: len(mine)]
                assert stop == "first" or mine == part
            is_one_over = any(set(part) <= set(whole) for part in parts)
            assert is_one_over
    n_given = min(n_given, len(elements))
    rest = rest_after(make, n_given, epoch)
    assert rest == list(map(plain, elements[n_given:]))


@pytest.mark.parametrize("n_bytes", [10, 5_000])
def test_errors_of_shuffled_joined_data_sets_name_the_file(tmp_path: Path, n_bytes: int) -> None:
    bad = b"\xff" * n_bytes  # no Example
    for n_bad, count in [(0, 5), (1, 1), (2, 4)]:
        names = []
        for number, n_records in enumerate([5, 1, 4]):
            record = encode_example({"n": number, "s": b"s" * n_bytes})
            records = [record] * n_records
            if number == n_bad:
                records[-1] = bad
            names.append(write(tmp_path / f"{number}", records))
        sets = [TFRecordDataset(name) for name in names]
        joined = sets[0].concatenate(*sets[1:]).shuffle(3, n_bad).batch(2).parse_example(FEATURES)
        error = raised(InvalidArgumentError, list, joined)
        assert (error.source, error.index) == (names[n_bad], count - 1)


def test_proportions_are_those_of_the_weights(tmp_path: Path) -> None:
    names = write_files(tmp_path, [10, 10, 10])
    sets = [TFRecordDataset(name).repeat() for name in names]
    mixed = Dataset.mix(sets, [6, 3, 1], seed=5).take(10_000)
    counts = Counter(number // 10 for number in numbers(mixed))
    for i, share in enumerate((0.6, 0.3, 0.1)):  # within five standard deviations
        deviation = (share * (1 - share) * 10_000) ** 0.5
        assert abs(counts[i] - share * 10_000) < 5 * deviation
    assert numbers(mixed) != numbers(mixed.set_epoch(0))


@pytest.mark.parametrize("n_workers", [2, 3])
def test_workers_and_ranks_share_a_mixture(tmp_path: Path, n_workers: int) -> None:
    names = write_files(tmp_path, [20, 11])

    def rank(number: int) -> Dataset:
        sets = [read_batches(n, FEATURES, 2, shuffle=5, seed=1, shard=(2, number)) for n in names]
        return Dataset.mix(sets, seed=1, stop="all").in_processes(n_workers)

    found = [number for i in range(2) for number in numbers(rank(i))]
    assert sorted(found) == list(range(31))


def test_an_error_comes_in_its_place_of_a_mixture(tmp_path: Path) -> None:
    names = write_files(tmp_path, [30, 30])
    path = Path(names[1])
    path.write_bytes(path.read_bytes()[:-3])
    sets = [TFRecordDataset(name) for name in names]
    found: list[int] = []
    run = iter(Dataset.mix(sets, seed=2, stop="all"))
    raised(DataLossError, found.extend, (number for record in run for number in numbers([record])))
    assert [n for n in found if n >= 30] == list(range(30, 59))
    assert [n for n in found if n < 30] == list(range(sum(n < 30 for n in found)))


def test_a_state_of_a_mixture(tmp_path: Path) -> None:
    names = write_files(tmp_path, [9, 9])

    def make(weights: list[float], seed: int | None = None, size: int = 4) -> Dataset:
        sets = [TFRecordDataset(name).shuffle(size) for name in names]
        return Dataset.mix(sets, weights, seed, "all")

    whole = make([1, 2])
    first, second = list(whole), list(whole)
    run = iter(whole.set_epoch(0))
    next(run)
    state = json.loads(json.dumps(run.state_dict()))
    other = make([1, 2])
    again = iter(other)
    again.load_state_dict(state)
    assert (list(again), list(other)) == (first[1:], second)
    for dataset, text in (
        (make([2, 1]), r"weights of mix: \[2.0, 1.0\] now, \[1.0, 2.0\] in the state"),
        (make([1, 2], size=3), "buffer_size of shuffle: 3 now, 4 in the state"),
    ):
        raised(InvalidArgumentError, iter(dataset).load_state_dict, state, match=text)
    with TFRecordWriter(names[0], mode="a") as writer:
        writer.write(b"x")
    raised(ValueError, iter(make([1, 2])).load_state_dict, state, match="when the state was taken")


def test_wrong_mixtures_are_rejected(tmp_path: Path) -> None:
    files = TFRecordDataset(write_files(tmp_path, [3]))
    wrong: list[Any] = [
        ([],), ([files], [1, 2]), ([files], [0]), ([files], [-1]), ([files], None, 1, "x"),
    ]  # fmt: skip
    for arguments in wrong:
        raised(InvalidArgumentError, Dataset.mix, *arguments)
    raised(InvalidArgumentError, Dataset.mix([files, files]).shard, 2, 0, match="seed")
    assert Dataset.mix([files, files], stop="all").concatenate(files).count() == 9
