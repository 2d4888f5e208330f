"""Grain: ``TFRecordFile`` without an adapter, parsed Examples, and data sets that can be resumed."""

import copy
import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grain
import numpy as np
import pytest
from absl import flags
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.small_files import FEATURES, numbers, plain, write_files
from tfrecord_lite import (
    ExampleParser,
    FixedLenFeature,
    RaggedFeature,
    TFRecordDataset,
    TFRecordFile,
    VarLenFeature,
    save,
)
from tfrecord_lite.errors import DataLossError, InvalidArgumentError
from tfrecord_lite.integrations.grain import ExampleSource, iter_dataset

N_RECORDS = 41
SHUFFLES: dict[str, Callable[[Any], Any]] = {
    "none": lambda d: d,
    "all": lambda d: d.shuffle_all(seed=3),
    "files": lambda d: d.interleave(2).shuffle_files(seed=5).shuffle(4, seed=1).repeat(2),
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "dense": FEATURES,
    "ragged": {"n": FEATURES["n"], "s": RaggedFeature("string")},
    "sparse": {"n": FEATURES["n"], "s": VarLenFeature("string")},
}


@pytest.fixture
def file(tmp_path: Path) -> TFRecordFile:
    return TFRecordFile(write_files(tmp_path, [5, 9, 2, 25]))


def test_a_map_dataset_shuffles_and_batches_it(file: TFRecordFile) -> None:
    assert isinstance(file, grain.sources.RandomAccessDataSource)
    dataset: Any = grain.MapDataset.source(file).seed(3).shuffle()
    parsed = dataset.batch(4, batch_fn=ExampleParser({"n": FEATURES["n"]}))
    found = [n for i in range(len(parsed)) for n in parsed[i]["n"].tolist()]
    assert sorted(found) == list(range(41))
    assert found != sorted(found)


@pytest.mark.parametrize("n_workers", [0, 2])
@pytest.mark.parametrize("is_parsed", [False, True])
def test_a_loader_of_grain_reads_it(file: TFRecordFile, n_workers: int, is_parsed: bool) -> None:
    sampler = grain.samplers.IndexSampler(len(file), shuffle=True, seed=1, num_epochs=1)
    flags.FLAGS.mark_as_parsed()  # as absl's main program does; without it no worker starts
    source: Any = ExampleSource(file, FEATURES) if is_parsed else file
    loader = grain.DataLoader(data_source=source, sampler=sampler, worker_count=n_workers)
    found = numbers(list(loader))
    assert sorted(found) == list(range(N_RECORDS))
    assert found != list(range(N_RECORDS))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_examples_are_parsed_alone_or_together(file: TFRecordFile, layout: str) -> None:
    features = LAYOUTS[layout]
    source = ExampleSource(file, features)
    parser = ExampleParser(features)
    wanted = [40, 0, 7, 7]
    expected = [parser.parse_single(file[i]) for i in wanted]
    assert isinstance(source, grain.sources.RandomAccessDataSource)
    assert len(source) == len(file)
    for found in (
        [source[i] for i in wanted], source.__getitems__(wanted), source._getitems(wanted),
    ):  # fmt: skip
        assert [{k: (type(v), str(v)) for k, v in each.items()} for each in found] == [
            {k: (type(v), str(v)) for k, v in each.items()} for each in expected
        ]
    assert source.parse(wanted)["n"].tolist() == wanted


@given(
    shuffle=st.sampled_from(sorted(SHUFFLES)),
    size=st.integers(1, 9),
    n_taken=st.integers(0, 90),
    n_threads=st.integers(0, 3),
)
def test_what_is_left_is_resumed(shuffle: str, size: int, n_taken: int, n_threads: int) -> None:
    with TemporaryDirectory() as folder:
        names = write_files(Path(folder), [5, 9, 2, 25])

        def make() -> Any:
            made = iter_dataset(SHUFFLES[shuffle](TFRecordDataset(names)).batch(size))
            if n_threads == 1:
                made = grain.experimental.ThreadPrefetchIterDataset(made, prefetch_buffer_size=3)
            elif n_threads:
                made = grain.experimental.multithread_prefetch(made, n_threads, 2)
            return iter(made)

        run = make()
        before = [batch for _, batch in zip(range(n_taken), run, strict=False)]
        state = json.loads(json.dumps(run.get_state()))
        again = make()
        again.set_state(state)
        rest = [plain(batch) for batch in again]

        assert rest == [plain(batch) for batch in run]
        n_epochs = 2 if shuffle == "files" else 1
        found = numbers([*before, *rest])
        assert sorted(found) == sorted(list(range(N_RECORDS)) * n_epochs)


def compressed(folder: Path, n_files: int) -> list[str]:
    counts = [N_RECORDS // n_files] * (n_files - 1)
    names = write_files(folder, [*counts, N_RECORDS - sum(counts)])
    for name in names:
        Path(name + ".gz").write_bytes(gzip.compress(Path(name).read_bytes()))
    return [name + ".gz" for name in names]


@pytest.mark.parametrize(("n_files", "n_workers"), [(1, 2), (5, 2), (5, 3)])
def test_processes_share_compressed_files(tmp_path: Path, n_files: int, n_workers: int) -> None:
    flags.FLAGS.mark_as_parsed()
    names = compressed(tmp_path, n_files)

    def make() -> Any:
        dataset = TFRecordDataset(names, "GZIP").shuffle(10, seed=1)
        parsed = iter_dataset(dataset.batch(3).parse_example(FEATURES))
        return iter(parsed.mp_prefetch(grain.multiprocessing.MultiprocessingOptions(n_workers)))

    run = make()
    before = [next(run) for _ in range(4)]
    state = json.loads(json.dumps(run.get_state()))
    again = make()
    again.set_state(state)
    rest = list(again)
    assert plain(rest) == plain(list(run))
    assert sorted(numbers(before + rest)) == list(range(N_RECORDS))
    run.close()
    again.close()


@pytest.mark.parametrize("n_parts", [1, 2, 5])
def test_slices_are_parts(file: TFRecordFile, n_parts: int) -> None:
    whole = iter_dataset(TFRecordDataset(file.sources).batch(4))
    found = []
    for number in range(n_parts):
        part = copy.deepcopy(whole)
        part.set_slice(slice(number, None, n_parts))
        found += numbers(list(part))
    assert sorted(found) == list(range(N_RECORDS))
    raised(InvalidArgumentError, whole.set_slice, slice(0, 2), match="slice")
    not_one: Any = file
    raised(TypeError, iter_dataset, not_one, match="TFRecordFile")


def test_each_iteration_is_the_epoch_that_the_data_set_had(file: TFRecordFile) -> None:
    dataset = TFRecordDataset(file.sources).shuffle_all(seed=1)
    first, second = iter_dataset(dataset), iter_dataset(dataset.set_epoch(1))
    other: Any = pickle.loads(pickle.dumps(first))
    assert list(first) == list(first) == list(other)
    assert list(first) != list(second)
    assert numbers(list(dataset)) == numbers(list(second))


def test_a_checkpoint_of_orbax_is_restored(file: TFRecordFile, tmp_path: Path) -> None:
    ocp: Any = pytest.importorskip("orbax.checkpoint")
    dataset = iter_dataset(TFRecordDataset(file.sources).shuffle(9, seed=2).batch(4))
    run, again = iter(dataset), iter(dataset)
    next(run), next(run)
    with ocp.CheckpointManager(tmp_path / "checkpoints") as manager:
        manager.save(2, args=ocp.args.Composite(data=grain.checkpoint.CheckpointSave(run)))
        manager.wait_until_finished()
        asked = ocp.args.Composite(data=grain.checkpoint.CheckpointRestore(again))
        manager.restore(2, args=asked)
    rest = numbers(list(run))
    assert numbers(list(again)) == rest
    assert len(rest) == N_RECORDS - 8
    run.close()
    assert list(run) == []


@pytest.mark.parametrize("state", [{}, {"position": "x"}, {"position": "{}"}, {"position": 3}])
def test_other_states_are_rejected(file: TFRecordFile, state: Any) -> None:
    run = iter(iter_dataset(TFRecordDataset(file.sources)))
    raised(InvalidArgumentError, run.set_state, state, match="not a state")
    batches = iter(iter_dataset(TFRecordDataset(file.sources).batch(2)))
    raised(InvalidArgumentError, run.set_state, batches.get_state(), match="batch")


def test_damage_and_wrong_kinds_are_located_in_the_parent(file: TFRecordFile) -> None:
    flags.FLAGS.mark_as_parsed()
    wrong = {"n": FixedLenFeature([], "float32")}
    two = grain.multiprocessing.MultiprocessingOptions(2)
    name = file.sources[3]
    source: Any = grain.MapDataset.source(ExampleSource(file, wrong))
    with pytest.raises(InvalidArgumentError, match=r"02.*record 1.*'n'"):
        source[15]
    with pytest.raises(InvalidArgumentError, match=r"00: record 0.*'n'"):
        list(source.to_iter_dataset().mp_prefetch(two))
    batches = iter_dataset(TFRecordDataset(file.sources).batch(4).parse_example(wrong))
    raised(InvalidArgumentError, list, batches.mp_prefetch(two), match="'n'")

    data = bytearray(Path(name).read_bytes())
    data[-6] ^= 1
    Path(name).write_bytes(data)
    with pytest.raises(DataLossError, match=r"03: record 24, byte \d+"):
        list(iter_dataset(TFRecordDataset(file.sources)).mp_prefetch(two))
    run = iter(iter_dataset(TFRecordDataset(file.sources, on_error="skip")))
    with pytest.warns(match="damaged"):
        assert len(list(run)) == N_RECORDS - 1
    assert run.report.num_damaged == 1


def test_a_missing_value_is_none_so_that_no_batch_has_what_a_mask_hides(tmp_path: Path) -> None:
    save(tmp_path / "x.tfrecord", {"x": np.ma.masked_equal([1.5, 2, 3, 4], 2)})
    source = ExampleSource(tmp_path / "x.tfrecord")
    assert [row["x"] for row in map(source.__getitem__, range(3))] == [1.5, None, 3]
    assert grain.MapDataset.source(source).batch(2)[0]["x"].tolist() == [1.5, None]
    both: Any = source.parse([0, 1])["x"]
    assert both.tolist() == [1.5, None]
