"""Data sets: each stage against what Python's own lists do, and errors in their places."""

import copy
import gc
import gzip
import itertools
import pickle
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.small_files import (
    FEATURES,
    example,
    number_of,
    numbers,
    plain,
    write,
    write_files,
    write_records,
)
from tfrecord_lite import (
    Dataset,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RaggedTensor,
    SequenceSchema,
    TFRecordDataset,
    TFRecordFile,
    TFRecordWriter,
    VarLenFeature,
    count_records,
    encode_sequence_example,
    read_batches,
)
from tfrecord_lite.dataset import dataset as of_datasets
from tfrecord_lite.dataset.plan import chain
from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
)
from tfrecord_lite.messages import Example

# From Python 3.12 on a fork warns if there are threads, and NumPy has some of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    return write_files(tmp_path, [5, 0, 7])


def turns(files: list[list[int]], cycle_length: int, block_length: int) -> list[int]:
    waiting = [list(file) for file in files]
    slots: list[list[int] | None] = [None] * cycle_length
    out: list[int] = []
    turn = 0
    while waiting or any(slot is not None for slot in slots):
        if slots[turn] is None and waiting:
            slots[turn] = waiting.pop(0)
        slot = slots[turn]
        if slot is not None:
            out += slot[:block_length]
            slots[turn] = slot[block_length:] if len(slot) >= block_length else None
        turn = (turn + 1) % cycle_length
    return out


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 5), st.integers(1, 4))
def test_files_take_turns(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], cycle: int, block: int
) -> None:
    names = write_files(tmp_path_factory.mktemp("a"), counts)
    ends = np.cumsum(counts).tolist()
    files = [list(range(end - n, end)) for end, n in zip(ends, counts, strict=True)]
    dataset = TFRecordDataset(names).interleave(cycle, block)
    assert numbers(dataset) == turns(files, cycle, block)
    if block == 1:
        assert numbers(TFRecordDataset(names, num_parallel_reads=cycle)) == numbers(dataset)


def test_files_in_random_order_are_whole(tmp_path: Path) -> None:
    names = write_files(tmp_path, [3, 4, 2, 5, 1])
    files = [range(3), range(3, 7), range(7, 9), range(9, 14), range(14, 15)]
    dataset = TFRecordDataset(names).shuffle_files(seed=1)
    orders = [numbers(dataset) for _ in range(8)]
    assert numbers(dataset.set_epoch(0)) == orders[0]
    assert len({tuple(order) for order in orders}) > 4
    for order in orders:
        runs = sorted(files, key=lambda run: order.index(run[0]))
        assert order == [n for run in runs for n in run]
    fixed = TFRecordDataset(names).shuffle_files(seed=1, reshuffle_each_iteration=False)
    assert numbers(fixed) == numbers(fixed)


def test_many_rounds_at_once_are_the_same_turns(tmp_path: Path) -> None:
    counts = [3_000, 20, 4_500, 1, 0, 2_999]
    files, first = [], 0
    for i, count in enumerate(counts):
        files.append(list(range(first, first + count)))
        write(tmp_path / str(i), [b"%d" % n for n in files[-1]])
        first += count
    for cycle, block in ((2, 1), (4, 7), (6, 5_000)):
        dataset = TFRecordDataset([tmp_path / str(i) for i in range(6)]).interleave(cycle, block)
        assert list(map(int, dataset)) == turns(files, cycle, block)


STAGES = ["take", "skip", "shard", "filter", "repeat", "cache", "prefetch"]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.integers(1, 3), st.data())
def test_stages_do_what_lists_do(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], cycle: int, data: st.DataObject
) -> None:
    dataset: Any = TFRecordDataset(write_files(tmp_path_factory.mktemp("a"), counts))
    dataset = dataset.interleave(cycle)
    rest = iter(range(sum(counts)))
    expected = turns([list(itertools.islice(rest, n)) for n in counts], cycle, 1)
    for name in data.draw(st.lists(st.sampled_from(STAGES), max_size=5)):
        k = data.draw(st.integers(1, 6))
        if name == "filter":
            dataset = dataset.filter(lambda record, k=k: number_of(record) % k != 1)
            expected = [i for i in expected if i % k != 1]
        elif name == "take":
            dataset, expected = dataset.take(3 * k), expected[: 3 * k]
        elif name == "skip":
            dataset, expected = dataset.skip(k), expected[k:]
        elif name == "shard":
            dataset, expected = dataset.shard(k, k // 2), expected[k // 2 :: k]
        elif name == "repeat":
            dataset, expected = dataset.repeat(k % 3), expected * (k % 3)
        else:
            dataset = dataset.cache() if name == "cache" else dataset.prefetch(k)

    k = data.draw(st.integers(1, 7))
    batches = [expected[i : i + k] for i in range(0, len(expected), k)]
    for _ in range(2):
        assert numbers(dataset) == expected
        assert [numbers([batch]) for batch in dataset.batch(k)] == batches
        full = [batch for batch in batches if len(batch) == k]
        assert [numbers([b]) for b in dataset.batch(k, drop_remainder=True)] == full
    mapped = dataset.map(number_of).filter(lambda number: number % 3).enumerate(5)
    assert list(mapped) == list(enumerate([i for i in expected if i % 3], 5))


def test_negative_counts_are_all(names: list[str]) -> None:
    dataset = TFRecordDataset(names)
    assert numbers(dataset.take(-1)) == list(range(12))
    assert numbers(dataset.skip(-1)) == []
    assert numbers(dataset.repeat(-1).take(30)) == [*range(12), *range(12), *range(6)]
    assert numbers(dataset.take(0).repeat()) == []


@pytest.mark.parametrize("make", [
    lambda d: d.batch(0), lambda d: d.shuffle(0), lambda d: d.shuffle(-1), lambda d: d.shard(0, 0),
    lambda d: d.shard(2, 2), lambda d: d.shard(2, -1), lambda d: d.prefetch(-2),
    lambda d: d.interleave(0), lambda d: d.interleave(2, 0), lambda d: d.in_processes(-1),
    lambda d: d.map(len, 0 - 2), lambda d: d.set_epoch(-1), lambda d: d.shuffle(3).shard(2, 0),
    lambda d: d.shuffle_all().shard(2, 0), lambda d: d.shuffle_files().shard(2, 0),
    lambda d: d.shuffle_all().interleave(2),
    lambda d: d.batch(2).parse_example(FEATURES, label_key="absent"),
    lambda d: d.in_processes(2, start_method="bogus"),
])  # fmt: skip
def test_arguments_that_cannot_be(names: list[str], make: Callable[[Any], object]) -> None:
    assert raised(InvalidArgumentError, make, TFRecordDataset(names)).reason is Reason.BAD_ARGUMENT


@pytest.mark.parametrize("make", [
    lambda d: d.map(5), lambda d: d.filter(5), lambda d: d.batch(2.0), lambda d: d.shuffle("3"),
    lambda d: d.shard(True, 0),
])  # fmt: skip
def test_arguments_of_types_that_cannot_be(names: list[str], make: Callable[[Any], object]) -> None:
    raised(TypeError, make, TFRecordDataset(names))
    for wrong in (3, [3]):
        raised(TypeError, TFRecordDataset, wrong)
    size: Any = np.int64(5)
    assert numbers(TFRecordDataset(names).batch(size).take(1)) == [0, 1, 2, 3, 4]


def test_columns_of_batches_and_of_single_records(names: list[str]) -> None:
    dataset = TFRecordDataset(names)
    batches: list[Any] = list(dataset.batch(5).parse_example(FEATURES))
    singles: list[Any] = list(dataset.parse_example(FEATURES))
    pairs: list[Any] = list(
        dataset.batch(8).parse_example(FEATURES, strings="BytesColumn", label_key="n")
    )
    assert [batch["n"].tolist() for batch in batches] == [
        [0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11],
    ]  # fmt: skip
    assert batches[2]["s"].tolist() == [b"1010", b"111111"]
    assert [single["n"].tolist() for single in singles] == list(range(12))
    assert [label.tolist() for _, label in pairs] == [list(range(8)), list(range(8, 12))]
    assert [features["s"].to_list()[-1] for features, _ in pairs] == [b"777", b"111111"]
    assert all(features.keys() == {"s"} for features, _ in pairs)


def test_every_batch_owns_its_memory(names: list[str]) -> None:
    batches: list[Any] = list(TFRecordDataset(names).batch(3).parse_example(FEATURES))
    arrays = [batch["n"] for batch in batches]
    assert not any(np.shares_memory(*pair) for pair in itertools.combinations(arrays, 2))
    batches[1]["n"][:] = -1
    assert numbers(batches) == [0, 1, 2, -1, -1, -1, *range(6, 12)]


def test_sequences_are_parsed(tmp_path: Path) -> None:
    context = {"id": FixedLenFeature([], "int64")}
    lists = {"t": FixedLenSequenceFeature([], "int64")}
    made = [
        encode_sequence_example({"context": {"id": i}, "feature_lists": {"t": list(range(i))}})
        for i in (2, 0, 3)
    ]
    records = TFRecordDataset(write(tmp_path / "a", made))

    batches = list(records.batch(2).parse_sequence_example(context, lists))
    single: Any = list(records.take(1).parse_sequence_example(context, lists))

    assert [plain(batch) for batch in batches] == [
        ({"id": [2, 0]}, {"t": [[0, 1], [0, 0]]}, {"t": [2, 0]}),
        ({"id": [3]}, {"t": [[0, 1, 2]]}, {"t": [3]}),
    ]
    assert plain(single[0]) == ({"id": 2}, {"t": [0, 1]}, {"t": 2})
    with pytest.raises(InvalidArgumentError) as caught:
        list(
            TFRecordDataset(write(tmp_path / "b", [*made, b"bogus"]))
            .batch(2)
            .parse_sequence_example(context, lists)
        )
    assert (caught.value.reason, caught.value.index) == (Reason.MALFORMED, 3)
    assert caught.value.source == str(tmp_path / "b")


def test_columns_that_cannot_be_cut_are_parsed_batch_by_batch(names: list[str]) -> None:
    features = {
        "v": VarLenFeature("int64"),
        "n": RaggedFeature("int64"),
        "s": FixedLenSequenceFeature([], "string", allow_missing=True),
    }
    parsed: Any = TFRecordDataset(names).batch(7).parse_example(features)
    first, second = parsed
    assert first["v"].dense_shape.tolist() == [7, 0]
    assert isinstance(second["n"], RaggedTensor)
    assert second["n"].to_list() == [[7], [8], [9], [10], [11]]
    assert second["s"].shape == (5, 1)


def test_parts_of_tuples_are_arguments(names: list[str]) -> None:
    dataset = TFRecordDataset(names).map(lambda record: (number_of(record), {"twice": 2}))
    assert list(dataset.map(lambda n, rest: n * rest["twice"]))[-1] == 22
    assert list(dataset.filter(lambda n, rest: n == rest["twice"])) == [(2, {"twice": 2})]


def test_objects_are_stacked(names: list[str]) -> None:
    def make(record: bytes) -> Any:
        n = number_of(record)
        return {"n": n, "pair": (np.full((2,), n), [b"x", "y"])}, float(n)

    (one, two) = TFRecordDataset(names).map(make).batch(8)
    assert one[0]["n"].tolist() == list(range(8))
    assert two[0]["pair"][0].tolist() == [[n, n] for n in range(8, 12)]
    assert two[0]["pair"][1][0].tolist() == [b"x"] * 4
    assert two[1].dtype == np.float64


def of_parity(make: Callable[[int], object], record: bytes) -> object:
    return make(number_of(record) % 2)


def test_what_is_not_alike_is_not_stacked(names: list[str]) -> None:
    records = TFRecordDataset(names)
    makes: list[Callable[[int], object]] = [
        np.zeros, lambda n: {"a" * n: 1}, lambda n: {"a": 1} if n else 1, lambda n: [1] * n,
    ]  # fmt: skip
    for make in makes:
        error = raised(InvalidArgumentError, list, records.map(partial(of_parity, make)).batch(3))
        assert error.reason is Reason.WRONG_COUNT
    with pytest.raises(InvalidArgumentError) as caught:
        list(records.parse_example({"n": VarLenFeature("int64")}).batch(2))
    assert caught.value.reason is Reason.UNSUPPORTED


@pytest.mark.slow
def test_nothing_for_ever_ends(names: list[str], tmp_path: Path) -> None:
    files = TFRecordDataset(names)
    for dataset in (
        TFRecordDataset(write_files(tmp_path, [0, 0])), files.take(0), files.skip(12),
        files.filter(lambda _: False).batch(2), files.shard(50, 49),
        files.batch(13, drop_remainder=True),
    ):  # fmt: skip
        for run in (
            dataset.shuffle(3, 1).repeat().batch(2).prefetch(1),
            dataset.cache().repeat(),
            dataset.repeat().enumerate().map(len, num_parallel_calls=2),
            dataset.repeat().in_processes(2),
        ):
            assert list(run) == []


def test_an_error_of_a_function_says_of_which_record(names: list[str]) -> None:
    def work(_: object) -> None:
        raise ZeroDivisionError

    records = TFRecordDataset(names).skip(6)
    for dataset in (
        records.map(work), records.map(work, num_parallel_calls=2), records.filter(work),
        records.batch(3).map(work), records.filter(bool).map(work).in_processes(1, "fork"),
    ):  # fmt: skip
        error = raised(ZeroDivisionError, list, dataset)
        assert f"record 1, byte {len(example(5)) + 16} of {names[2]}" in "".join(error.__notes__)


def test_map_in_threads_keeps_the_order(names: list[str]) -> None:
    threads = set()

    def work(record: bytes) -> int:
        threads.add(threading.get_ident())
        time.sleep(0.001 * (number_of(record) % 3))
        return number_of(record)

    assert list(TFRecordDataset(names).map(work, num_parallel_calls=4)) == list(range(12))
    assert threading.get_ident() not in threads
    assert not [t for t in threading.enumerate() if t.name.startswith("tfrecord")]


def test_compression_is_found_out_or_said(tmp_path: Path) -> None:
    for name in ("GZIP", ""):
        write_records(tmp_path / f"f{name}", (example(i) for i in range(3)), name)
    assert numbers(TFRecordDataset(tmp_path / "f*")) == [0, 1, 2] * 2
    assert numbers(TFRecordDataset(str(tmp_path / "fGZIP"), "GZIP")) == [0, 1, 2]
    raised(DataLossError, list, TFRecordDataset(tmp_path / "fGZIP", ""))
    raised(FailedPreconditionError, list, TFRecordDataset(tmp_path / "fGZIP").shuffle_all())


def test_len_is_known_where_it_can_be(names: list[str]) -> None:
    known: Any = TFRecordDataset(names).shuffle_all(1)
    makes: list[Callable[[Any], Any]] = [
        lambda d: d,
        lambda d: d.shard(5, 3),
        lambda d: d.take(5).skip(2).repeat(3).batch(4).shard(2, 1),
        lambda d: d.batch(5, drop_remainder=True).enumerate().map(lambda *e: e).cache(),
        lambda d: d.shuffle(3, 1).batch(7).parse_example(FEATURES).prefetch(1),
        lambda d: d.repeat(0),
    ]
    for make in makes:
        assert len(make(known)) == len(list(make(known)))
    for make in (lambda d: d.repeat(), lambda d: d.filter(len)):
        raised(TypeError, len, make(known))
    raised(TypeError, len, TFRecordDataset(names))


def test_a_repr_shows_the_calls_that_make_the_data_set() -> None:
    dataset: Any = TFRecordDataset(["a", "b"]).filter(bool)
    assert repr(dataset) == "<Dataset: TFRecordDataset('a', ... (2 files)).filter(bool)>"
    for _ in range(100):
        dataset = dataset.prefetch(12345)
    assert repr(dataset).endswith(".prefetch(12345)>")
    assert len(repr(iter(dataset))) <= 190


def damaged(tmp_path: Path, at: int) -> str:
    records = [example(i) for i in range(8)]
    name = write(tmp_path / "damaged", records)
    data = bytearray((tmp_path / "damaged").read_bytes())
    data[sum(len(r) + 16 for r in records[:at]) + 14] ^= 1
    (tmp_path / "damaged").write_bytes(data)
    return name


def before_error(dataset: Dataset) -> tuple[list[int], Any]:
    """Return the numbers that came before an error, and the error; it must come again."""
    run = iter(dataset)
    found: list[Any] = []
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whichever it is
        found.extend(run)
    raised(type(caught.value), next, run)
    return numbers(found), caught.value


@pytest.mark.parametrize("make", [
    lambda d: d, lambda d: d.interleave(2, 3), lambda d: d.prefetch(2),
    lambda d: d.batch(2).parse_example(FEATURES).prefetch(1),
    lambda d: d.map(bytes, num_parallel_calls=3), lambda d: d.map(bytes).batch(3),
    lambda d: d.shard(1, 0).in_processes(1),
])  # fmt: skip
def test_what_is_before_damage_comes_first(tmp_path: Path, make: Callable[[Any], Dataset]) -> None:
    for at in (0, 3, 7):
        name = damaged(tmp_path, at)
        found, error = before_error(make(TFRecordDataset(name)))
        assert found == list(range(at))
        assert isinstance(error, DataLossError)
        assert (error.reason, error.source, error.index) == (Reason.DATA_CRC, name, at)


def test_unverified_files_are_read_in_full(tmp_path: Path) -> None:
    name = damaged(tmp_path, 3)
    for dataset in (
        TFRecordDataset(name, verify=False),
        TFRecordDataset(name, verify=False).shuffle_all(1),
        TFRecordDataset(name, verify=False).interleave(2),
    ):
        assert len(list(dataset)) == 8


def test_a_message_that_does_not_fit_is_named(tmp_path: Path) -> None:
    name = write(tmp_path / "0", [b"bogus" if i == 6 else example(i) for i in range(20)])
    records = TFRecordDataset(name)
    for dataset in (records, records.shuffle(9, 1)):
        found, error = before_error(dataset.batch(2).parse_example(FEATURES))
        assert (error.reason, error.source, error.index) == (Reason.MALFORMED, name, 6)
        assert error.offset == sum(len(example(i)) + 16 for i in range(6))
        assert len(found) % 2 == 0
        assert dataset is not records or found == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("make", [
    lambda d: d.parse_example(FEATURES), lambda d: d.batch(3).parse_example(FEATURES),
    lambda d: d.interleave(2).shuffle(4, 1).batch(9).parse_example(FEATURES).prefetch(2),
    lambda d: d.shuffle_all(1).repeat(2).batch(2).parse_example(FEATURES).cache(),
    lambda d: d.batch(3).parse_example(FEATURES).in_processes(2).prefetch(1),
    lambda d: d.filter(bool).shuffle(5, 1).batch(4).parse_example(FEATURES),
])  # fmt: skip
def test_an_error_of_parsing_has_its_place(tmp_path: Path, make: Callable[[Any], Dataset]) -> None:
    bad = Example()
    bad.features.feature["n"].int64_list.value.append(1)
    records = [example(i) for i in range(7)]
    write(tmp_path / "0", records)
    name = write(tmp_path / "1", [*records[:5], bad.SerializeToString(), *records[5:]])
    error = raised(InvalidArgumentError, list, make(TFRecordDataset([tmp_path / "0", name])))
    assert (error.reason, error.key, error.source) == (Reason.MISSING, "s", name)
    assert (error.index, error.offset) == (5, sum(len(record) + 16 for record in records[:5]))


def test_a_file_that_is_not_there_is_found_out_on_iteration_rule_r9(names: list[str]) -> None:
    found, error = before_error(TFRecordDataset([names[0], "absent", names[2]]))
    assert (found, type(error)) == ([0, 1, 2, 3, 4], FileNotFoundError)


def test_an_error_of_a_function_comes_in_its_place(names: list[str]) -> None:
    def work(record: bytes) -> int:
        if number_of(record) == 4:
            raise ZeroDivisionError
        return number_of(record)

    for n_threads in (None, 3):
        mapped = TFRecordDataset(names).map(work, n_threads)
        for dataset in (mapped, mapped.prefetch(2), mapped.in_processes(1, "fork")):
            found: list[int] = []
            raised(ZeroDivisionError, found.extend, dataset)
            assert found == [0, 1, 2, 3]


def test_a_cache_reads_once_unless_it_was_left_early(names: list[str]) -> None:
    made: list[int] = []

    def note(record: bytes) -> int:
        made.append(number_of(record))
        if len(made) == 9:
            raise ZeroDivisionError
        return made[-1]

    dataset = TFRecordDataset(names).map(note).cache()
    next(iter(dataset))  # not a whole epoch: nothing is kept
    raised(ZeroDivisionError, list, dataset)
    assert [list(dataset) for _ in range(3)] == [list(range(12))] * 3
    assert made == [0, *range(8), *range(12)]


def test_what_is_done_to_elements_does_not_change_a_cache(names: list[str]) -> None:
    ragged = {"n": VarLenFeature("int64"), "s": FEATURES["s"]}
    dense = {"n": FEATURES["n"]}
    batches = TFRecordDataset(names).batch(5)
    for dataset in (
        batches.parse_example(ragged).cache(),
        batches.parse_example(dense).cache(),
        batches.parse_example(dense).map(lambda batch: [(batch["n"],), batch]).cache(),
        batches.parse_example(dense).map(lambda batch: batch["n"]).cache(),
    ):
        expected = list(map(plain, dataset.set_epoch(0)))
        for _ in range(2):
            for element in dataset:
                spoil(element)
            assert list(map(plain, dataset)) == expected


def spoil(element: Any) -> None:
    if isinstance(element, np.ndarray):
        element[:] = 77
    for part in element.values() if isinstance(element, dict) else ():
        spoil(part)
    for part in element if isinstance(element, (list, tuple)) else ():
        spoil(part)
    if isinstance(element, (dict, list)):
        element.clear()


def test_two_runs_fill_one_cache(names: list[str]) -> None:
    dataset = TFRecordDataset(names).shuffle(5, 1).cache()
    first, second = iter(dataset), iter(dataset)
    pairs = [numbers(pair) for pair in zip(first, second, strict=True)]
    assert sorted(a for a, _ in pairs) == sorted(b for _, b in pairs) == list(range(12))
    assert numbers(dataset) in (list(run) for run in zip(*pairs, strict=True))


def test_a_cache_belongs_to_the_data_set_that_made_it(names: list[str]) -> None:
    made: list[int] = []

    def note(record: bytes) -> int:
        made.append(number_of(record))
        return made[-1]

    records = TFRecordDataset(names).map(note)
    cached, other = records.cache(), records.cache()
    assert sum(map(len, cached.batch(5))) == 12
    assert list(cached.skip(2)) == list(range(2, 12))
    assert len(made) == 12
    list(other)
    assert len(made) == 24
    cache: Any = chain(cached._plan)[-1]
    kept = weakref.ref(cache.key)
    del cache
    del cached
    gc.collect()
    assert kept() is None


def test_read_batches(names: list[str]) -> None:
    assert [numbers([b]) for b in read_batches(names, FEATURES, 5)] == [
        [0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11],
    ]  # fmt: skip
    settings: list[dict[str, Any]] = [{"shuffle": 4}, {"shuffle": "all"}, {"num_workers": 2}]
    for each in settings:
        found = list(read_batches(names, FEATURES, 5, seed=1, num_epochs=2, **each))
        assert sorted(numbers(found)) == sorted([*range(12)] * 2)
    ranks = [read_batches(names, FEATURES, 2, shuffle=3, seed=1, shard=(2, i)) for i in (0, 1)]
    assert sorted(n for rank in ranks for n in numbers(rank)) == list(range(12))
    part = read_batches(names, FEATURES, 2, shard=(2, 1))
    assert numbers(part) == [*range(12)][1::2]
    full: Any = read_batches(names, FEATURES, 5, drop_remainder=True)
    assert [len(batch["n"]) for batch in full] == [5, 5]


def test_read_batches_shuffles_if_told_to(tmp_path: Path) -> None:
    write(tmp_path / "a", map(example, range(50)))

    def read(shuffle: Any) -> list[int]:
        return numbers(read_batches(tmp_path / "a", FEATURES, 7, shuffle=shuffle, seed=3))

    assert read(False) == read(0) == list(range(50))
    assert read(True) == read(10_000) != read(False)
    assert sorted(read(True)) == list(range(50))


def test_an_error_names_the_argument_that_was_given(names: list[str]) -> None:
    wrong: list[Any] = [("shuffle", "yes"), ("shuffle", -1), ("seed", 1.5), ("shard", (1, 2, 3))]
    for name, value in wrong:
        with pytest.raises((InvalidArgumentError, TypeError), match=name):
            read_batches(names, FEATURES, 5, **{"shuffle": "all", name: value})


def test_nothing_is_read_before_iteration(tmp_path: Path) -> None:
    dataset = TFRecordDataset(tmp_path / "a").shuffle_all(1).batch(2).parse_example(FEATURES)
    write(tmp_path / "a", [example(1)])
    assert numbers(dataset) == [1]


def test_batches_may_be_larger_than_what_is_parsed_at_once(tmp_path: Path) -> None:
    name = str(tmp_path / "numbers")
    with TFRecordWriter(name) as writer:
        writer.write_examples({"n": np.arange(12_000)})
    found = [batch["n"] for batch in read_batches(name, {"n": int}, 5_000)]
    assert [len(n) for n in found] == [5_000, 5_000, 2_000]
    assert np.concatenate(found).tolist() == list(range(12_000))


@pytest.mark.parametrize("end", ["", ".gz"])
def test_the_batches_of_an_epoch_are_counted(tmp_path: Path, end: str) -> None:
    names = write_files(tmp_path, [7, 0, 9])
    for name in names if end else ():
        Path(name).write_bytes(gzip.compress(Path(name).read_bytes()))

    def make(**settings: Any) -> Dataset:
        return read_batches(names, FEATURES, 3, **settings)

    for settings in (
        {}, {"shuffle": True, "seed": 1, "shard": (3, 0)}, {"shard": (3, 2)},
        {"drop_remainder": True}, {"num_workers": 2}, {"num_workers": 4, "num_epochs": 2},
        {"shard": (3, 2), "even": True, "num_workers": 2},
        {"shard": (3, 0), "even": "drop", "shuffle": True, "seed": 1},
    ):  # fmt: skip
        dataset = make(**settings)
        raised(TypeError, len, dataset, match="count_records")
        assert dataset.count() == len(dataset) == len(list(dataset)), settings
    raised(TypeError, make(num_epochs=None).count, match="no end")
    raised(TypeError, make().filter(bool).count, match="depends")
    assert count_records(names) == 16
    if not end:
        TFRecordFile(names).save_index()
        assert len(make(drop_remainder=True)) == 5
        assert [make().count(n, read=False) for n in range(4)] == [6, 6, 6, 6]


def test_what_an_epoch_reads_can_be_seen(tmp_path: Path) -> None:
    names = write_files(tmp_path, [8, 4])
    ranks = [read_batches(names, FEATURES, 3, shard=(2, rank)) for rank in (0, 1)]
    whole = [{"worker": 0, "file": name, "first": 0, "records": None, "step": 2} for name in names]
    assert ranks[0].epoch_plan() == ranks[1].epoch_plan() == whole
    later = [
        (part["file"], part["first"], part["records"], part["step"])
        for part in (part for rank in ranks for part in rank.epoch_plan(1))
    ]
    assert later == [(names[0], 0, 6, 1), (names[0], 6, 2, 1), (names[1], 0, 4, 1)]
    assert [part["worker"] for part in ranks[0].in_processes(3).epoch_plan()] == [0, 0, 1, 1, 2, 2]


def test_some_columns_and_text_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with TFRecordWriter(path) as writer:
        writer.write_examples({"n": [1, 2], "word": ["a", "b"], "code": [b"\xff", b"c"]})
    (batch,) = read_batches(path, columns=["word"])
    assert {key: value.tolist() for key, value in batch.items()} == {"word": [b"a", b"b"]}
    for settings in ({"text": True}, {"text": ["word"], "columns": ["word", "n"]}):
        (batch,) = read_batches(path, **settings)
        assert batch["word"].tolist() == ["a", "b"]
    assert read_batches(path, text=["word"], columns=["n"]).count() == 1
    (batch,) = read_batches(path, {"word": str, "code": bytes})
    assert (batch["word"].tolist(), batch["code"].tolist()) == (["a", "b"], [b"\xff", b"c"])
    (batch,) = read_batches(path, {"word": str, "n": int}, columns=["n"])
    assert list(batch) == ["n"]
    raised(InvalidArgumentError, read_batches, path, columns=["wrod"], match="no column 'wrod'")
    raised(TypeError, read_batches, path, ["word"], match="columns= of load, scan and read_batches")


def test_columns_of_sequence_examples_are_chosen_by_part(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with TFRecordWriter(path) as writer:
        writer.write_sequence_examples({"id": [1, 2], "x": [3, 4]}, {"t": [[5, 6], [7]]})
    sequences = SequenceSchema({"id": int, "x": int}, {"t": FixedLenSequenceFeature([], int)})
    for schema in (None, sequences):
        (batch,) = read_batches(path, schema, columns=["context/x", "feature_lists/t"])
        assert list(batch[0]) == ["x"]
        assert list(batch[1]) == ["t"]


def test_names_of_tensorflow_lead_to_ours() -> None:
    records = TFRecordDataset("a").take(1)
    for name in of_datasets._OF_TENSORFLOW:
        for thing in (records, Dataset):
            assert not hasattr(thing, name)
            error = raised(
                AttributeError,
                getattr,
                thing,
                name,
                match=f"^'Dataset' has no attribute '{name}'; ",
            )
            assert error.name == name
    raised(
        AttributeError, getattr, records, "shufle", match="^'Dataset' has no attribute 'shufle'$"
    )
    assert repr(pickle.loads(pickle.dumps(copy.copy(records)))) == repr(records)
