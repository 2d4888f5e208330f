"""Data sets in torch's ``DataLoader`` and torchdata's ``StatefulDataLoader``."""

import itertools
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

from tests.support.errors import raised
from tests.support.small_files import FEATURES, example, number_of, write, write_files
from tfrecord_lite import Dataset, ExampleParser, TFRecordDataset, TFRecordFile
from tfrecord_lite.errors import DataLossError

pytestmark = [
    # From Python 3.12 on a fork warns if there are threads, and torch has some of its own.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning"),
]

COLUMNS = {"n": FEATURES["n"]}
N_RECORDS = 41

SHUFFLES: dict[str, Callable[[Any, int, int], Dataset]] = {
    "before the shard": lambda d, n, i: d.shuffle(7, seed=3).shard(n, i),
    "no seed": lambda d, n, i: d.interleave(2).shard(n, i).shuffle(7),
    "all": lambda d, n, i: d.shuffle_all(seed=3).shard(n, i),
}


def loader_of(dataset: Any, n_workers: int, **settings: Any) -> Any:
    return DataLoader(dataset, batch_size=None, num_workers=n_workers, **settings)


def columns(dataset: Dataset, size: int = 4) -> Dataset:
    return dataset.batch(size).parse_example(COLUMNS)


@pytest.mark.parametrize(("n_workers", "n_ranks"), [(0, 2), (3, 1), (3, 2)])
@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_each_record_comes_once_per_epoch(
    tmp_path: Path, n_workers: int, n_ranks: int, shuffle: str
) -> None:
    names = write_files(tmp_path, [5, 9, 2, 25])
    ranks = []
    for rank in range(n_ranks):
        dataset = SHUFFLES[shuffle](TFRecordDataset(names), n_ranks, rank)
        workers = n_workers + rank if n_workers else 0  # no two ranks need be alike
        ranks.append(loader_of(columns(dataset), workers))
    for epoch in range(2):
        found: Counter[int] = Counter()
        for rank, loader in enumerate(ranks):
            torch.manual_seed(100 * epoch + rank)
            for batch in loader:
                assert isinstance(batch["n"], torch.Tensor)
                found.update(batch["n"].tolist())
        assert found == Counter(range(N_RECORDS)), epoch


def test_set_epoch_is_an_order_whatever_torchs_seed(tmp_path: Path) -> None:
    dataset = columns(TFRecordDataset(write_files(tmp_path, [20, 21])).shuffle_all(seed=1))
    found: dict[int, list[list[int]]] = {0: [], 1: []}
    for seed, epoch in itertools.product((3, 4), (0, 1)):
        torch.manual_seed(seed)
        loader = loader_of(dataset.set_epoch(epoch), 2)
        for _ in range(2):  # new workers begin with the same epoch
            found[epoch].append([n for batch in loader for n in batch["n"].tolist()])
    assert found[0] == found[0][:1] * 4 != found[1] == found[1][:1] * 4


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_count_epochs_and_new_ones_hear_of_set_epoch(tmp_path: Path, method: str) -> None:
    dataset = columns(TFRecordDataset(write_files(tmp_path, [20, 21])).shuffle(11, seed=1))
    settings = {"persistent_workers": True, "multiprocessing_context": method}
    loader = loader_of(dataset.set_epoch(0), 2, **settings)

    def epoch(loader: Any) -> list[int]:
        return [n for batch in loader for n in batch["n"].tolist()]

    found = [epoch(loader), epoch(loader), epoch(loader)]
    assert [sorted(each) for each in found] == [list(range(N_RECORDS))] * 3
    assert len(set(map(tuple, found))) == 3
    for number in (2, 0, 1):
        assert epoch(loader_of(dataset.set_epoch(number), 2)) == found[number]
        assert epoch(loader_of(dataset.set_epoch(number), 2, **settings)) == found[number]


@pytest.mark.filterwarnings("error:Length of IterableDataset")
def test_a_loader_has_no_length_rather_than_a_wrong_one(tmp_path: Path) -> None:
    records = TFRecordDataset(write_files(tmp_path, [100])).shuffle_all(1)
    batches = loader_of(columns(records, 32), 3)
    raised(TypeError, len, batches, match="workers")
    assert len(list(batches)) == 6
    single = loader_of(records.map(len), 3)
    assert len(single) == len(list(single)) == 100


def test_an_error_in_a_worker_says_where(tmp_path: Path) -> None:
    name = write(tmp_path / "a", [example(i) for i in range(8)])
    data = bytearray((tmp_path / "a").read_bytes())
    data[len(example(0)) + 16 + 14] ^= 1
    (tmp_path / "a").write_bytes(data)
    error = raised(DataLossError, list, loader_of(TFRecordDataset(name), 1))
    assert f"{name}: record 1, byte {len(example(0)) + 16}: " in str(error)


@pytest.mark.parametrize("n_workers", [0, 2])
def test_leaving_a_loader_early_stops_its_workers(tmp_path: Path, n_workers: int) -> None:
    # Loaders of tests that failed on purpose may still be held by their errors.
    before = set(multiprocessing.active_children())
    dataset = columns(TFRecordDataset(write_files(tmp_path, [5, 9])).repeat()).prefetch(2)
    run = iter(loader_of(dataset, n_workers))
    next(run)
    del run
    deadline = time.monotonic() + 60
    while set(multiprocessing.active_children()) - before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("n_workers", [0, 2])
def test_a_file_needs_no_adapter(tmp_path: Path, n_workers: int) -> None:
    file: Any = TFRecordFile(write_files(tmp_path, [5, 9, 2, 25]))
    assert number_of(file[40]) == 40  # is open now, and is forked
    loader: Any = DataLoader(
        file, batch_size=4, shuffle=True, num_workers=n_workers, collate_fn=ExampleParser(COLUMNS)
    )
    epochs = [[n for batch in loader for n in batch["n"].tolist()] for _ in range(2)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(N_RECORDS))] * 2
    assert epochs[0] != epochs[1]
    assert len(loader) == 11


RESUMED: dict[str, Callable[[list[str]], Dataset]] = {
    "all, prefetched": lambda names: columns(TFRecordDataset(names).shuffle_all(1)).prefetch(2),
    "interleaved, two epochs": lambda names: columns(
        TFRecordDataset(names).interleave(2).shuffle(7, seed=1).repeat(2), 9
    ),
    "cached": lambda names: columns(TFRecordDataset(names).cache().shuffle(5, seed=1)),
}


@pytest.mark.parametrize("n_workers", [0, 2])
@pytest.mark.parametrize("made", RESUMED)
def test_a_stateful_loader_goes_on_at_any_step(tmp_path: Path, n_workers: int, made: str) -> None:
    names = write_files(tmp_path, [5, 9, 2, 25])

    def make() -> Any:
        return StatefulDataLoader(RESUMED[made](names), batch_size=None, num_workers=n_workers)

    torch.manual_seed(3)
    loader = make()
    whole = [batch["n"].tolist() for batch in loader]
    steps = range(len(whole)) if n_workers == 0 else (0, 4, len(whole) - 2)
    for n_given in steps:
        torch.manual_seed(3)
        loader = make()
        run = iter(loader)
        for _ in range(n_given + 1):
            next(run)
        state = loader.state_dict()
        del run
        again = make()
        again.load_state_dict(state)
        assert [batch["n"].tolist() for batch in again] == whole[n_given + 1 :], n_given

    n_epochs = 2 if "two" in made else 1
    assert Counter(n for batch in whole for n in batch) == Counter([*range(N_RECORDS)] * n_epochs)


@pytest.mark.parametrize(("n_workers", "is_cached"), [(0, False), (2, False), (0, True)])
def test_a_stateful_loader_goes_on(tmp_path: Path, n_workers: int, is_cached: bool) -> None:
    names = write_files(tmp_path, [5, 9, 2, 25])

    def make() -> Any:
        dataset: Dataset = TFRecordDataset(names).shuffle(11, seed=1)
        dataset = columns(dataset.cache() if is_cached else dataset)
        return StatefulDataLoader(dataset, batch_size=None, num_workers=n_workers)

    loader = make()
    first = [batch["n"].tolist() for batch in loader]
    run = iter(loader)
    head = [next(run)["n"].tolist() for _ in range(4)]
    state = loader.state_dict()
    rest = [batch["n"].tolist() for batch in run]

    again = make()
    again.load_state_dict(state)

    assert [batch["n"].tolist() for batch in again] == rest
    if n_workers == 0:  # with workers torch's seed tells epochs apart
        for _ in range(2):
            later = [batch["n"].tolist() for batch in again]
            assert later == [batch["n"].tolist() for batch in loader]
    assert (head + rest == first) == is_cached
    assert sorted(n for batch in head + rest for n in batch) == list(range(N_RECORDS))
