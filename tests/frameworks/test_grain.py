"""``TFRecordFile`` as a data source of Grain, without an adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grain
import pytest
from absl import flags

from tests.support.small_files import FEATURES, number_of, numbers, write_files
from tfrecord_lite import ExampleParser, TFRecordFile

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> TFRecordFile:
    return TFRecordFile(write_files(tmp_path, [5, 9, 2, 25]))


def test_it_is_a_random_access_data_source(file: TFRecordFile) -> None:
    assert isinstance(file, grain.sources.RandomAccessDataSource)


def test_a_map_dataset_shuffles_and_batches_it(file: TFRecordFile) -> None:
    dataset: Any = grain.MapDataset.source(file).seed(3).shuffle()
    parsed = dataset.batch(4, batch_fn=ExampleParser({"n": FEATURES["n"]}))

    found = [n for i in range(len(parsed)) for n in parsed[i]["n"].tolist()]

    assert sorted(found) == list(range(41))
    assert found != sorted(found)


@pytest.mark.parametrize("n_workers", [0, 2])
def test_a_loader_of_grain_reads_it(file: TFRecordFile, n_workers: int) -> None:
    sampler = grain.samplers.IndexSampler(len(file), shuffle=True, seed=1, num_epochs=1)
    flags.FLAGS.mark_as_parsed()  # as absl's main program does; without it no worker starts
    loader = grain.DataLoader(data_source=file, sampler=sampler, worker_count=n_workers)

    found = list(loader)

    assert sorted(map(number_of, found)) == list(range(41))
    assert numbers(found) != list(range(41))


def test_an_iterator_of_grain_goes_on(file: TFRecordFile) -> None:
    def make() -> Any:
        return iter(grain.MapDataset.source(file).seed(3).shuffle().to_iter_dataset())

    run = make()
    for _ in range(17):
        next(run)
    again = make()
    again.set_state(run.get_state())

    assert list(again) == list(run)
