"""Exactly once: over workers, ranks, files, epochs and shuffles; with torch itself: ``frameworks``."""

import abc
import gzip
import json
import pickle
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.small_files import FEATURES, example, number_of, numbers, plain, write_files
from tfrecord_lite import (
    Block,
    Dataset,
    TFRecordDataset,
    TFRecordFile,
    TFRecordReader,
    TFRecordWriter,
    read_batches,
)
from tfrecord_lite.dataset.plan import PlanNode, Run, is_rank_bound, worker_part
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason
from tfrecord_lite.index import parts as file_parts
from tfrecord_lite.records.stream import RecordStream

# From Python 3.12 on a fork warns if there are threads, and NumPy has some of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

N_RECORDS = 41


class FakeTorch(types.ModuleType):
    class IterableDataset(abc.ABC):  # noqa: B024 - only registered with
        pass

    def __init__(self) -> None:
        super().__init__("torch.utils.data")
        self.worker: Any = None

    def get_worker_info(self) -> Any:
        return self.worker


@pytest.fixture
def torch_data(monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    fake = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch.utils.data", fake)
    return fake


def in_workers(
    fake: FakeTorch, dataset: Dataset, n_workers: int, base_seed: int = 99
) -> list[list[int]]:
    """Go through an epoch in `n_workers` workers, each with a copy."""
    if not n_workers:
        return [numbers(dataset)]
    found = []
    for i in range(n_workers):
        fake.worker = types.SimpleNamespace(id=i, num_workers=n_workers, seed=base_seed + i)
        found.append(numbers(pickle.loads(pickle.dumps(dataset))))
        fake.worker = None
    return found


SHUFFLES: dict[str, Callable[[Any, int, int], Dataset]] = {
    "none": lambda d, n, i: d.shard(n, i),
    "no seed": lambda d, n, i: d.shard(n, i).shuffle(7),
    "before the shard": lambda d, n, i: d.shuffle(7, seed=3).shard(n, i),
    "twice": lambda d, n, i: d.shuffle(5, seed=3).shard(n, i).shuffle(6, seed=3),
    "all": lambda d, n, i: d.shuffle_all(seed=3).shard(n, i),
    "files": lambda d, n, i: d.shuffle_files(seed=5).shard(n, i).shuffle(4),
    "some files": lambda d, n, i: d.interleave(2).shuffle_files(5).shuffle(3, 1).shard(n, i),
    "of batches": lambda d, n, i: d.shard(n, i).batch(3).shuffle(4, seed=2).parse_example(FEATURES),
    "cached": lambda d, n, i: d.shard(n, i).cache().shuffle(4, seed=2),
}


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("counts", [[N_RECORDS], [10, 0, 31], [5, 9, 2, 1, 14, 3, 7]])
def test_each_record_comes_once_per_epoch(
    tmp_path: Path, torch_data: FakeTorch, shuffle: str, counts: list[int]
) -> None:
    names = write_files(tmp_path, counts)
    for n_workers, n_ranks in product((0, 1, 3), (1, 3)):
        # No ranks need have the same number of workers, or the same torch seed.
        ranks = [SHUFFLES[shuffle](TFRecordDataset(names), n_ranks, i) for i in range(n_ranks)]
        for epoch in range(3):
            found: Counter[int] = Counter()
            for rank, dataset in enumerate(ranks):
                workers = n_workers + (rank if n_workers else 0)
                seed = 1_000 * epoch + 7 * rank
                # As torch does: a copy for each epoch, of a data set that was never run.
                for part in in_workers(torch_data, dataset, workers, seed):
                    found.update(part)
            assert found == Counter(range(N_RECORDS)), (n_workers, n_ranks, epoch)


def test_stages_that_count_see_all_elements(tmp_path: Path, torch_data: FakeTorch) -> None:
    dataset = TFRecordDataset(write_files(tmp_path, [9, 12, 20]))
    for made, expected in (
        (dataset.take(10), range(10)),
        (dataset.skip(30), range(30, 41)),
        (dataset.skip(3).shard(4, 1).take(5), range(4, 24, 4)),
        (dataset.batch(2).skip(1).take(3).parse_example(FEATURES), range(2, 8)),
        (dataset.shuffle(20, 1).take(41), range(41)),
        (dataset.repeat(2).take(50), [*range(41), *range(9)]),
    ):
        for n_workers in range(1, 5):
            parts = in_workers(torch_data, made, n_workers)
            assert sorted(n for part in parts for n in part) == sorted(expected)


def test_copies_of_a_data_set_shuffle_by_torchs_seed(tmp_path: Path, torch_data: FakeTorch) -> None:
    dataset = TFRecordDataset(write_files(tmp_path, [20, 21])).shuffle(30, seed=1)
    assert isinstance(dataset, torch_data.IterableDataset)
    epochs = [in_workers(torch_data, dataset, 2, base_seed) for base_seed in (5, 6, 5)]
    assert epochs[0] == epochs[2] != epochs[1]
    dataset.set_epoch(4)
    fixed = [in_workers(torch_data, dataset, 2, base_seed) for base_seed in (5, 6)]
    assert fixed[0] == fixed[1]


@pytest.mark.parametrize("counts", [[41], [20, 21], [5, 0, 9, 2, 1, 14, 3, 7]])
def test_ranks_without_a_shuffle_read_each_record_once_and_in_order(
    tmp_path: Path, torch_data: FakeTorch, counts: list[int]
) -> None:
    files = TFRecordDataset(write_files(tmp_path, counts))
    for n_ranks, n_workers in product((1, 2, 3), (0, 1, 2, 5)):
        for number in range(n_ranks):
            rank = files.shard(n_ranks, number)
            expected = list(range(number, N_RECORDS, n_ranks))
            assert numbers(rank) == numbers(rank.in_processes(0)) == expected
            parts = in_workers(torch_data, rank, n_workers)
            assert [sorted(part) for part in parts] == parts
            assert sorted(n for part in parts for n in part) == expected
    assert not is_rank_bound(files.shard(2, 0)._plan)


def test_a_shuffle_after_a_shard_is_the_ranks_own(tmp_path: Path, torch_data: FakeTorch) -> None:
    """Only an order that ranks share must not follow torch's seed, which differs between them."""
    files = TFRecordDataset(write_files(tmp_path, [20, 21]))

    def epochs(dataset: Dataset) -> list[list[list[int]]]:
        return [in_workers(torch_data, dataset, 2, base_seed) for base_seed in (5, 6)]

    own = epochs(files.shard(2, 0).shuffle(30, seed=1))
    assert own[0] != own[1]
    for shared in (
        files.shuffle(30, seed=1).shard(2, 0),
        files.shard(2, 0).shuffle_files(seed=1),
        files.shard(2, 0).shuffle_all(seed=1),
    ):
        first, second = epochs(shared)
        assert first == second


def test_a_length_is_that_in_any_number_of_workers(
    tmp_path: Path, torch_data: FakeTorch, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = TFRecordDataset(write_files(tmp_path, [20, 21])).shuffle_all(1)
    batches = records.batch(8)
    for dataset in (
        records, records.repeat(2), batches.take(4), batches.shard(2, 1), records.take(9),
    ):  # fmt: skip
        for n_workers in range(1, 4):
            n_found = 0
            for i in range(n_workers):
                torch_data.worker = types.SimpleNamespace(id=i, num_workers=n_workers, seed=i)
                n_found += sum(1 for _ in dataset)
            assert n_found == len(dataset)
    for dataset in (batches, batches.repeat(2), records.take(9).batch(2).prefetch(1)):
        raised(TypeError, len, dataset, match="workers")
    monkeypatch.delitem(sys.modules, "torch.utils.data")
    assert len(batches) == 6


@pytest.mark.parametrize("n_workers", [3, 1, 2, 5])
def test_our_own_processes_share_an_epoch(tmp_path: Path, n_workers: int) -> None:
    for counts in ([N_RECORDS], [5, 9, 2, 1, 14, 3, 7]):
        folder = tmp_path / str(len(counts))
        folder.mkdir()
        files = TFRecordDataset(write_files(folder, counts))
        dataset = files.shuffle(9, 1).batch(4).parse_example(FEATURES).in_processes(n_workers)
        epochs = [list(map(plain, dataset)) for _ in range(2)]
        assert [sorted(numbers(epoch)) for epoch in epochs] == [list(range(N_RECORDS))] * 2
        assert epochs[0] != epochs[1]
        assert list(map(plain, dataset.set_epoch(0))) == epochs[0]


def test_a_cache_that_would_keep_nothing_is_rejected(tmp_path: Path) -> None:
    records = TFRecordDataset(write_files(tmp_path, [4, 5]))
    for idle in (records.cache(), records.repeat(2).cache().shuffle(3, 1)):
        error = raised(InvalidArgumentError, idle.in_processes, 2, match="cache after in_processes")
        assert error.reason is Reason.UNSUPPORTED
        assert idle.in_processes(0) is idle
    log = tmp_path / "log"

    def note(record: bytes) -> bytes:
        with log.open("a") as file:
            file.write("x")
        return record

    after = records.map(note).in_processes(2, "fork").cache()
    for _ in range(2):
        assert sorted(numbers(after)) == list(range(9))
    between = records.map(note).cache().repeat(2).in_processes(2, "fork")
    assert sorted(numbers(between)) == sorted([*range(9), *range(9)])
    assert log.read_text() == "x" * 18  # 9 for each of the two


def test_a_persistent_worker_counts_its_own_epochs(tmp_path: Path, torch_data: FakeTorch) -> None:
    dataset = TFRecordDataset(write_files(tmp_path, [20, 21])).shuffle(30, seed=1)
    epochs = [numbers(dataset.set_epoch(i)) for i in range(6)]
    worker = pickle.loads(pickle.dumps(dataset.set_epoch(3)))
    dataset.set_epoch(0)  # of which it does not learn
    torch_data.worker = types.SimpleNamespace(id=0, num_workers=1, seed=9)
    assert [numbers(worker) for _ in range(3)] == epochs[3:]


class SmallBlocks(RecordStream):
    """Gives at most three records at a time, and counts them."""

    n_read: ClassVar[int] = 0

    def next_block(self, n_records: int | None = None) -> Block | None:
        block = super().next_block(min(n_records or 3, 3))
        SmallBlocks.n_read += 0 if block is None else len(block)
        return block


@pytest.mark.slow
@pytest.mark.parametrize("is_gzip", [False, True])
@pytest.mark.parametrize("cycle_length", [1, 2, 4])
@pytest.mark.parametrize(("counts", "n_workers"), [([41], 2), ([5, 0, 9, 2, 25], 3), ([1, 1], 3)])
def test_workers_of_a_repeated_run_read_ranges_from_the_second_round_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    counts: list[int],
    n_workers: int,
    cycle_length: int,
    *,
    is_gzip: bool,
) -> None:
    """Parts have the sizes of every n-th record, and a run that is resumed anywhere gives the rest."""
    monkeypatch.setattr(file_parts, "RecordStream", SmallBlocks)
    names = write_files(tmp_path, counts)
    for path in map(Path, names if is_gzip else ()):
        path.write_bytes(gzip.compress(path.read_bytes()))
    whole = TFRecordDataset(names).interleave(cycle_length, 2).repeat(4)._plan
    rounds: list[list[int]] = [[] for _ in range(4)]
    for worker in range(n_workers):
        part = worker_part(whole, n_workers, worker)
        SmallBlocks.n_read, size = 0, len(range(worker, sum(counts), n_workers))
        pairs = list(part.chunks(Run(), None))

        found = [number_of(record) for chunk, _ in pairs for record in chunk.to_list()]
        assert len(found) == 4 * size
        for number in range(4):
            rounds[number] += found[number * size : (number + 1) * size]
        if size and not is_gzip:
            assert SmallBlocks.n_read <= sum(counts) + 3 * (size + 4)
            assert found[size:] == found[size : 2 * size] * 3
        taken = 0
        for chunk, state in pairs:
            taken += len(chunk)
            again = pickle.loads(pickle.dumps(part)).chunks(Run(), state)
            assert [number_of(r) for rest, _ in again for r in rest.to_list()] == found[taken:]
    assert [sorted(of_round) for of_round in rounds] == [list(range(sum(counts)))] * 4


def test_a_file_that_has_grown_is_read_anew(tmp_path: Path) -> None:
    names = write_files(tmp_path, [4, 5])
    part = worker_part(TFRecordDataset(names).repeat(3)._plan, 2, 1)
    found: list[int] = []
    for chunk, _ in part.chunks(Run(), None):
        if len(found) == 4:  # all of the first round
            with TFRecordWriter(names[1], mode="a") as writer:
                writer.write(example(9))
        found += [number_of(record) for record in chunk.to_list()]
    assert found[:4] == [1, 3, 5, 7]
    assert found[4:] == [5, 6, 7, 8, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("cycle_length", [1, 2])
def test_a_file_that_is_replaced_by_one_of_its_size_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cycle_length: int
) -> None:
    monkeypatch.setattr(file_parts, "RecordStream", SmallBlocks)
    path = tmp_path / "a"
    for repeats in ([1] * 20 + [3] * 20, [3] * 20 + [1] * 20):
        with TFRecordWriter(tmp_path / f"{repeats[0]}") as writer:
            for number, times in enumerate(repeats):
                writer.write(bytes([number]) * times)
    (tmp_path / "1").rename(path)
    whole = TFRecordDataset([str(path)]).interleave(cycle_length, 2).repeat(3)
    part = worker_part(whole._plan, 2, 1)
    found: list[int] = []
    for chunk, _ in part.chunks(Run(), None):
        if len(found) == 20:  # all of the first round
            (tmp_path / "3").rename(path)
        found += [record[0] for record in chunk.to_list()]
    assert found == [*range(1, 40, 2), *range(20, 40), *range(20, 40)]


def test_damage_in_a_range_has_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And in the part that it is in only."""
    monkeypatch.setattr(file_parts, "RecordStream", SmallBlocks)
    (name,) = write_files(tmp_path, [26])
    offset = sum(len(record) + 16 for record in list(TFRecordReader(name))[:22])
    parts = [worker_part(TFRecordDataset(name).repeat(2)._plan, 2, i) for i in range(2)]
    chunks = [list(part.chunks(Run(), None)) for part in parts]  # the files' marks are kept
    with Path(name).open("r+b") as file:
        file.seek(offset + 14)
        file.write(b"x")

    def second_rounds() -> Iterator[int]:
        for part, before in zip(parts, chunks, strict=True):
            begin = [state for _, state in before if state and not state["epoch"]][-1]
            for chunk, _ in part.chunks(Run(), begin):
                yield from numbers(chunk.to_list())

    found: list[int] = []
    error = raised(DataLossError, found.extend, second_rounds())

    assert found == [*range(22)]  # the second part begins within a block of three
    assert (error.index, error.offset) == (22, offset)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    counts=st.lists(st.integers(0, 30), min_size=1, max_size=5),
    n_ranks=st.integers(1, 3),
    n_workers=st.integers(1, 3),
    epoch=st.integers(0, 2),
    shuffle=st.sampled_from([False, 7, "all"]),
    even=st.sampled_from([False, True, "drop"]),
    repeats=st.booleans(),
    with_index=st.booleans(),
    are_mixed=st.booleans(),
    read_ahead=st.sampled_from(["local", None, 0, 50]),
    n_stop=st.integers(0, 30),
)
def test_ranks_and_workers_read_each_record_once(
    tmp_path_factory: pytest.TempPathFactory,
    counts: list[int],
    n_ranks: int,
    n_workers: int,
    epoch: int,
    shuffle: bool | int | Literal["all"],
    n_stop: int,
    *,
    even: bool | Literal["drop"],
    repeats: bool,
    with_index: bool,
    are_mixed: bool,
    read_ahead: Any,
) -> None:
    """In runs or not, and as many each; a fresh process resumes anywhere, and knows of no earlier epoch.

    Made even, no record is left out, or none comes twice. The files may be in a store, or those of two data sets.
    """
    folder = tmp_path_factory.mktemp("r")
    names = write_files(folder, counts)
    if with_index:
        TFRecordFile(names).save_index()
    is_local = read_ahead == "local"
    options: dict[str, Any] = {} if is_local else {"read_ahead": read_ahead}
    if not is_local:
        fsspec = pytest.importorskip("fsspec")
        fsspec.filesystem("memory").put(f"{folder}/*", f"/{folder.name}/")
        names = [f"memory://{folder.name}/{Path(name).name}" for name in names]
    groups = [names[:1], names[1:]] if are_mixed and len(names) > 1 else [names]

    def part(rank: int, worker: int) -> PlanNode:
        shard = n_ranks, rank
        keywords = {"shuffle": shuffle, "seed": 1, "shard": shard, "even": even, **options}
        batches = [read_batches(g, FEATURES, 1, num_epochs=1 + repeats, **keywords) for g in groups]
        mixed = Dataset.mix(batches, seed=2, stop="all") if len(batches) > 1 else batches[0]
        return worker_part(mixed._plan, n_workers, worker)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_parts, "_MARK_BYTES", 60)
        patch.setattr(file_parts, "RecordStream", SmallBlocks)
        readers = [(rank, worker) for rank in range(n_ranks) for worker in range(n_workers)]
        found, sizes = Counter[int](), []
        for reader in readers:
            pairs = list(part(*reader).chunks(Run((epoch,)), None))
            mine = [numbers(chunk.to_list()) for chunk, _ in pairs]
            found.update(n for chunk in mine for n in chunk)
            sizes.append(sum(map(len, mine)))
            if (with_index and is_local) or shuffle == "all":
                assert part(*reader).size() == sizes[-1]
            if pairs:
                place = n_stop % len(pairs)
                rest = part(*reader).chunks(Run((epoch,)), json.loads(json.dumps(pairs[place][1])))
                resumed = [n for chunk, _ in rest for n in numbers(chunk.to_list())]
                assert resumed == [n for chunk in mine[place + 1 :] for n in chunk]
    totals = [sum(counts[:1]), sum(counts[1:])] if len(groups) > 1 else [sum(counts)]
    n_readers, most = len(readers), (1 + repeats) * len(groups)
    if even and n_ranks > 1:
        size = sum(n // n_readers if even == "drop" else -(-n // n_readers) for n in totals)
        assert sizes == [size * (1 + repeats)] * n_readers
        times = (0, 1) if even == "drop" else (1, n_readers)
        assert all(times[0] <= found[n] / (1 + repeats) <= times[1] for n in range(sum(counts)))
        return
    assert found == Counter(dict.fromkeys(range(sum(counts)), 1 + repeats))
    if n_ranks > 1 or shuffle or repeats or len(counts) < n_workers:  # not whole files
        assert max(sizes) - min(sizes) <= most
        of_ranks = [sum(sizes[i : i + n_workers]) for i in range(0, n_readers, n_workers)]
        assert max(of_ranks) - min(of_ranks) <= most


def test_runs_are_read_by_one_rank_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an index from the first epoch on, without one from the second."""
    monkeypatch.setattr(file_parts, "_MARK_BYTES", 100)
    monkeypatch.setattr(file_parts, "RecordStream", SmallBlocks)
    names = write_files(tmp_path, [100, 101])

    def n_read(epoch: int) -> int:
        SmallBlocks.n_read = 0
        ranks = [read_batches(names, FEATURES, 4, shard=(4, r)).set_epoch(epoch) for r in range(4)]
        assert sorted(n for rank in ranks for n in numbers(rank)) == list(range(201))
        return SmallBlocks.n_read

    assert (n_read(0), n_read(1)) == (4 * 201, 201)
    TFRecordFile(names).save_index()
    assert n_read(0) == 201


def test_the_rule_of_an_epoch_does_not_depend_on_what_was_read_before(tmp_path: Path) -> None:
    names = write_files(tmp_path, [30, 20])
    ranks = [read_batches(names, FEATURES, 4, shard=(2, rank)) for rank in range(2)]
    first = [numbers(rank) for rank in ranks]
    second = numbers(ranks[0])
    assert [numbers(rank.set_epoch(0)) for rank in ranks] == first
    fresh = [read_batches(names, FEATURES, 4, shard=(2, rank)).set_epoch(1) for rank in range(2)]
    assert numbers(fresh[0]) == second
    assert sorted(second + numbers(fresh[1])) == list(range(50))
