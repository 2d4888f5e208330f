"""Random order: the rule, a scalar reference of it, and what it gives for certain seeds."""

import tracemalloc
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.http_files import serving
from tests.support.small_files import FEATURES, example, numbers, write, write_files
from tfrecord_lite import TFRecordDataset, TFRecordFile, read_batches
from tfrecord_lite.dataset import random_order as order
from tfrecord_lite.dataset import shuffle
from tfrecord_lite.dataset.plan import chain
from tfrecord_lite.errors import InvalidArgumentError, Reason


def words(key: tuple[int, ...], n_words: int) -> list[int]:
    entropy = [part for number in key for part in (number % 2**32, number // 2**32)]
    seed = np.random.SeedSequence([len(entropy), *entropy])
    return [int(word) for word in np.random.PCG64(seed).random_raw(n_words)]


def shuffled(items: list[int], key: tuple[int, ...], n_slots: int) -> list[int]:
    buffer, rest, out = items[:n_slots], items[n_slots:], []
    for item, word in zip(rest, words((*key, 0), len(rest)), strict=True):
        slot = int((word >> 11) / 2**53 * n_slots)
        out.append(buffer[slot])
        buffer[slot] = item
    keys = words((*key, 1), len(buffer))
    return out + [buffer[slot] for slot in sorted(range(len(buffer)), key=keys.__getitem__)]


seeds = st.integers(0, 2**64 - 1)


@given(st.integers(0, 60), st.integers(1, 20), seeds, st.integers(0, 3), st.booleans())
def test_a_shuffle_is_that_of_the_rule(
    tmp_path_factory: pytest.TempPathFactory,
    n: int,
    n_slots: int,
    seed: int,
    epoch: int,
    large: bool,
) -> None:
    names = write_files(tmp_path_factory.mktemp("a"), [n // 3, n - n // 3])
    dataset = TFRecordDataset(names).shuffle(n_slots, seed)
    objects = TFRecordDataset(names).map(bytes).shuffle(n_slots, seed)
    expected = shuffled(list(range(n)), (seed, 1, epoch), n_slots)
    with pytest.MonkeyPatch.context() as patch:
        if large:
            patch.setattr(shuffle, "_LARGE_RECORD_BYTES", 1)
        assert numbers(dataset.set_epoch(epoch)) == expected
    assert numbers(objects.set_epoch(epoch)) == expected


def test_the_order_for_a_seed_stays_what_it_is(tmp_path: Path) -> None:
    """Whoever changes one of these breaks every run that is to be repeated."""
    names = write_files(tmp_path, [5, 7])
    buffer = TFRecordDataset(names).shuffle(4, seed=42)
    whole = TFRecordDataset(names).shuffle_all(seed=42)
    assert numbers(buffer) == PINNED["buffer, epoch 0"]
    assert numbers(buffer) == PINNED["buffer, epoch 1"]
    assert numbers(whole) == PINNED["all, epoch 0"]
    assert numbers(whole) == PINNED["all, epoch 1"]
    assert numbers(buffer.set_epoch(0).repeat(2)) == PINNED["repeated"]


PINNED = {
    "buffer, epoch 0": [0, 1, 2, 5, 4, 3, 9, 8, 6, 10, 11, 7],
    "buffer, epoch 1": [2, 0, 4, 1, 7, 8, 9, 10, 3, 6, 11, 5],
    "all, epoch 0": [5, 3, 1, 2, 10, 11, 7, 8, 4, 9, 0, 6],
    "all, epoch 1": [6, 8, 2, 9, 10, 0, 4, 3, 5, 11, 1, 7],
    "repeated": [1, 0, 5, 4, 3, 7, 8, 9, 10, 2, 11, 6, 1, 0, 3, 4, 7, 2, 8, 5, 11, 10, 9, 6],
}  # fmt: skip


def test_every_order_is_as_likely_as_any_other() -> None:
    counts = Counter(tuple(order.permutation((seed,), 3).tolist()) for seed in range(6_000))
    # Six orders, about 1,000 each, with a standard deviation of 29.
    assert len(counts) == 6
    assert max(abs(count - 1_000) for count in counts.values()) < 150


def test_seeds_epochs_and_stages_have_orders_of_their_own(tmp_path: Path) -> None:
    names = write_files(tmp_path, [40])

    def runs(seed: int) -> list[tuple[int, ...]]:
        dataset = TFRecordDataset(names).shuffle(40, seed)
        twice = dataset.shuffle(40, seed)
        return [tuple(numbers(each)) for each in (dataset, dataset, twice)]

    found = runs(1) + runs(2) + runs(2**32 + 1) + runs(-1)
    assert len(set(found)) == len(found)
    assert runs(1) == found[:3]


def test_without_reshuffling_all_epochs_are_alike(tmp_path: Path) -> None:
    names = write_files(tmp_path, [9, 11])
    for dataset in (
        TFRecordDataset(names).shuffle(8, 1, reshuffle_each_iteration=False),
        TFRecordDataset(names).shuffle_all(1, reshuffle_each_iteration=False),
    ):
        first = numbers(dataset)
        assert numbers(dataset) == first
        assert numbers(dataset.repeat(2)) == first * 2
        assert sorted(first) == list(range(20)) != first


def test_no_seed_draws_one_for_the_data_set(tmp_path: Path) -> None:
    names = write_files(tmp_path, [40])
    one, other = (TFRecordDataset(names).shuffle(40) for _ in range(2))
    assert numbers(one.set_epoch(0)) == numbers(one.set_epoch(0))
    assert numbers(one.set_epoch(0)) != numbers(other.set_epoch(0))


def test_records_of_all_sizes_survive_the_buffer(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    sizes = [*random.integers(0, 400, 3_000).tolist(), *random.integers(0, 9_000, 500).tolist()]
    sizes += [200_000, 0, 3_000_000, 1]
    records = [random.bytes(size) for size in sizes]
    name = write(tmp_path / "a", records)
    for n_slots in (1, 7, 500, 5_000):
        found = list(TFRecordDataset(name).shuffle(n_slots, 1))
        assert sorted(found) == sorted(records)
        assert (found == records) is (n_slots == 1)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "most_mb"), [
    (lambda d: d, 25), (lambda d: d.interleave(4), 100),
    (lambda d: d.interleave(2, 3, deterministic=False), 100), (lambda d: d.shuffle(20, 1), 80),
    (lambda d: d.shuffle_all(1), 15), (lambda d: d.batch(4).prefetch(2), 60),
    (lambda d: d.shard(8, 3).take(20).cache(), 60),
])  # fmt: skip
def test_memory_holds_no_more(tmp_path: Path, make: Callable[[Any], Any], most_mb: int) -> None:
    """Chunks are limited in records and in bytes; files have 160 MB."""
    names = [write(tmp_path / str(i), [bytes(1_000_000)] * 40) for i in range(4)]
    dataset = make(TFRecordDataset(names))
    for epoch in range(2):
        run = iter(dataset)
        next(run)  # loads what it needs
        tracemalloc.start()
        try:
            assert sum(1 for _ in run) > 18
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < most_mb * 1_000_000, epoch


def test_a_shard_may_come_before_the_order_of_the_files(tmp_path: Path) -> None:
    """It is the rank's part of the order of all, as after it."""
    files = TFRecordDataset(write_files(tmp_path, [5, 0, 11, 4]))
    orders: list[Callable[[TFRecordDataset], TFRecordDataset]] = [
        lambda d: d.shuffle_all(3), lambda d: d.shuffle_files(3), lambda d: d.interleave(2, 3),
        lambda d: d.interleave(3).shuffle_files(1),
    ]  # fmt: skip
    for ordered, n_ranks in product(orders, (1, 2, 3)):
        for rank in range(n_ranks):
            first = ordered(files.shard(n_ranks, rank))
            last = ordered(files).shard(n_ranks, rank)
            assert [list(first), list(first)] == [list(last), list(last)]
            assert len(list(first.shard(2, 0))) == -(-len(list(last)) // 2)


def test_ranks_need_a_seed_wherever_the_order_is_decided(tmp_path: Path) -> None:
    shard = TFRecordDataset(write_files(tmp_path, [5, 6])).shard(2, 0)
    for method in (shard.shuffle_all, shard.shuffle_files):
        assert raised(InvalidArgumentError, method, match="seed").reason is Reason.BAD_ARGUMENT
    assert len(list(shard.shard(1, 0).shuffle(3))) == 6


@pytest.mark.parametrize(("shuffle", "n_files"), [(True, 8), (400, 8), (True, 40)])
def test_shards_of_one_class_are_mixed(tmp_path: Path, shuffle: bool | int, n_files: int) -> None:
    """In every batch, in any rank; each epoch begins with other records."""
    size, n_batch = 4_000 // n_files, 50
    names = [
        write(tmp_path / f"{i:02}", map(example, range(i * size, i * size + size)))
        for i in range(n_files)
    ]

    def largest(batch: Any) -> float:
        classes = batch["n"] // (4_000 // 8)
        return float(np.bincount(classes).max() / classes.size)

    for shard in (None, (4, 0), (4, 3)):
        batches = read_batches(names, FEATURES, n_batch, shuffle=shuffle, seed=1, shard=shard)
        epochs = [list(batches) for _ in range(2)]
        assert len(set(numbers(epochs[0]))) == 4_000 // (shard[0] if shard else 1)
        assert numbers(epochs[0][:1]) != numbers(epochs[1][:1])
        assert np.mean(list(map(largest, epochs[0]))) < 0.4
        assert largest(epochs[0][0]) < 0.5


def test_files_stay_in_order_if_ranks_cannot_agree_on_another(tmp_path: Path) -> None:
    names = write_files(tmp_path, [3, 4, 5])
    ranks = [read_batches(names, FEATURES, 4, shuffle=True, shard=(2, i)) for i in (0, 1)]
    assert sorted(numbers(ranks[0]) + numbers(ranks[1])) == list(range(12))
    assert [getattr(chain(rank._plan)[0], "seed", 0) for rank in ranks] == [None, None]


def test_a_shuffle_of_all_of_a_store_makes_few_requests(tmp_path: Path) -> None:
    """Each asks for many neighbours, as long as the window holds a good part of the records."""
    name = write(tmp_path / "a", [b"%04d" % i + bytes(1_000) for i in range(2_000)])
    TFRecordFile(name).save_index()
    with serving() as server:
        for end in ("", ".idx"):
            server.files["/a" + end] = Path(name + end).read_bytes()
        dataset = TFRecordDataset(f"{server.url}/a").shuffle_all(1)
        found = [int(record[:4]) for record in dataset]
        assert sorted(found) == list(range(2_000)) != found
        assert len(server.ranges) < 10
        assert sum(n_bytes for _, _, n_bytes in server.ranges) < 2 * 2_000 * 1_020
