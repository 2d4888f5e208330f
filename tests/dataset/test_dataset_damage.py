"""Data sets over damaged files: every intact record once, and nothing lost in silence."""

import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import reference
from tests.support.errors import raised
from tests.support.small_files import plain, rest_after
from tfrecord_lite import Dataset, TFRecordDataset, TFRecordReader
from tfrecord_lite.errors import (
    DamagedSpan,
    DamageReport,
    DataLossError,
    DataLossWarning,
    InvalidArgumentError,
)

N_FILES, N_RECORDS = 3, 40
DAMAGED = {0: [3, 4, 39], 1: [], 2: [0, 17]}
"""Numbers of damaged records of each file; those of file 2 in their heads."""


def skip(span: object) -> None:
    """Pass over; a function that can be sent to processes."""


def second(_: object, item: Any) -> Any:
    return item


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    found = []
    for file, numbers in DAMAGED.items():
        frames = [reference.encode_record(record(file, i)) for i in range(N_RECORDS)]
        for i in numbers:
            broken = bytearray(frames[i])
            broken[8 if file == 2 else 14] ^= 1
            frames[i] = bytes(broken)
        path = tmp_path / f"{file}.tfrecord"
        path.write_bytes(b"".join(frames))
        found.append(str(path))
    return found


def record(file: int, i: int) -> bytes:
    return b"record %d of %d" % (i, file)


SOUND = [record(f, i) for f in DAMAGED for i in range(N_RECORDS) if i not in DAMAGED[f]]
N_PLACES = sum(map(len, DAMAGED.values()))


@pytest.mark.parametrize("cycle", [1, 2, 3])
@pytest.mark.parametrize("n_parts", [1, 2, 5])
def test_all_parts_have_each_sound_record(paths: list[str], cycle: int, n_parts: int) -> None:
    dataset = TFRecordDataset(paths, on_error=skip).interleave(cycle)
    whole = list(dataset)
    parts = [list(dataset.shard(n_parts, i)) for i in range(n_parts)]
    assert sorted(whole) == sorted(SOUND)
    assert whole == SOUND or cycle > 1
    assert [item for i in range(len(whole)) for item in parts[i % n_parts][i // n_parts :][:1]] == (
        whole
    )


@pytest.mark.parametrize("cycle", [1, 3])
def test_the_end_warns_once_and_the_report_has_every_place(paths: list[str], cycle: int) -> None:
    dataset = TFRecordDataset(paths, on_error="skip").interleave(cycle).batch(7)
    assert dataset.report is None
    with pytest.warns(DataLossWarning, match="5 damaged places") as caught:
        records = [item for batch in dataset for item in batch]
    warned = [w for w in caught if w.category is DataLossWarning]
    assert len(warned) == 1
    assert sorted(records) == sorted(SOUND)
    assert dataset.report is not None
    assert [f.num_damaged for f in dataset.report.files] == [len(i) for i in DAMAGED.values()]


def test_a_resumed_iterator_has_a_new_report(paths: list[str]) -> None:
    dataset = TFRecordDataset(paths, on_error=skip)
    run = iter(dataset)
    state = run.state_dict()
    assert run.report == dataset.report == DamageReport(())
    list(run)
    whole = run.report
    assert whole is not None
    assert whole.num_damaged == N_PLACES
    run.load_state_dict(state)
    assert run.report == dataset.report == DamageReport(())
    list(run)
    assert run.report == dataset.report == whole


def test_the_report_is_that_of_a_reader(paths: list[str]) -> None:
    spans: list[DamagedSpan] = []
    dataset = TFRecordDataset(paths, on_error=spans.append)
    reader = TFRecordReader(paths, on_error=skip)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(dataset) == list(reader)
    assert dataset.report == reader.report
    assert [(span.source, span.index) for span in spans] == [
        (span.source, span.index + i)  # type: ignore[operator]
        for span in reader.report.spans  # type: ignore[union-attr]
        for i in range(span.num_records)
    ]


def test_damage_beyond_the_limit_is_raised_after_what_is_before_it(paths: list[str]) -> None:
    dataset = TFRecordDataset(paths, on_error=skip, max_errors=3)
    found: list[bytes] = []
    limit = "; 3 damaged places before it were skipped, the limit of max_errors"
    error = raised(DataLossError, found.extend, dataset, match=limit)
    assert found == SOUND[: 2 * N_RECORDS - 3]
    assert error.source == paths[2]


@pytest.mark.parametrize("cycle", [1, 2])
def test_a_run_goes_on_from_anywhere(paths: list[str], cycle: int) -> None:
    def make() -> Dataset:
        files = TFRecordDataset(paths, on_error=skip).interleave(cycle)
        return files.shuffle(5, seed=1).batch(9)

    whole = list(map(plain, make()))
    for n in range(len(whole) + 1):
        assert rest_after(make, n) == whole[n:]


def test_random_order_of_all_records_needs_intact_files(paths: list[str]) -> None:
    with pytest.raises(InvalidArgumentError, match="recover the files"):
        TFRecordDataset(paths, on_error="skip").shuffle_all(1)


IN_PROCESSES: dict[str, Callable[[TFRecordDataset], Dataset]] = {
    "files": lambda d: d, "rounds": lambda d: d.repeat(2).take(2 * len(SOUND)),
    "rounds of parts": lambda d: d.repeat(2), "interleaved": lambda d: d.interleave(3),
    "shuffled": lambda d: d.shuffle_files(1).shuffle(4, 1),
    "batches": lambda d: d.batch(9).prefetch(1),
    "counted": lambda d: d.skip(0).enumerate().map(second),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("stage", IN_PROCESSES)
@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_processes_give_sound_data_and_warn(paths: list[str], stage: str, n_workers: int) -> None:
    dataset = IN_PROCESSES[stage](TFRecordDataset(paths, on_error="skip"))
    n_rounds = 2 if "rounds" in stage else 1
    dataset = dataset.in_processes(n_workers, "fork")
    with warnings.catch_warnings():  # the warnings are in the processes
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataLossWarning)
        elements = list(dataset)
    records = [item for batch in elements for item in batch] if stage == "batches" else elements
    assert sorted(records) == sorted(SOUND * n_rounds)
    assert dataset.report is None
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataLossWarning)  # also in processes that are forked now
        raised(DataLossWarning, list, dataset, match="damaged place")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_function_is_called_where_the_damage_is_met(paths: list[str], tmp_path: Path) -> None:
    def note(span: DamagedSpan) -> None:
        (tmp_path / f"{os.getpid()} {span.index} {Path(span.source).name}").touch()

    dataset = TFRecordDataset(paths, on_error=note).in_processes(3, "fork")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sorted(dataset) == sorted(SOUND)
    names = [found.name.split() for found in tmp_path.glob("* *")]
    assert len(names) == N_PLACES
    assert str(os.getpid()) not in {process for process, *_ in names}
    assert dataset.report is None


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_each_process_counts_the_damage_by_itself(paths: list[str]) -> None:
    enough = TFRecordDataset(paths, on_error=skip, max_errors=3)  # in each file
    assert sorted(enough.in_processes(3, "fork")) == sorted(SOUND)
    limit = "2 damaged places before it were skipped, the limit of max_errors"
    few = TFRecordDataset(paths, on_error=skip, max_errors=2)
    error = raised(DataLossError, list, few.in_processes(3, "fork"), match=limit)
    assert (error.source, error.index) == (paths[0], DAMAGED[0][2])


AFTER_AN_ERROR: dict[str, Callable[[TFRecordDataset], Dataset]] = {
    "all": lambda d: d, "part": lambda d: d.shard(2, 0), "other part": lambda d: d.shard(2, 1),
    "interleaved part": lambda d: d.interleave(2, 3).shard(2, 1),
    "random": lambda d: d.shuffle_all(1), "batches": lambda d: d.shard(3, 1).batch(7).prefetch(1),
    "processes": lambda d: d.in_processes(2),
    "more processes than files": lambda d: d.in_processes(3),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("stage", AFTER_AN_ERROR)
@pytest.mark.parametrize("verify", [True, False])
def test_a_run_resumed_at_an_error_has_it_again(tmp_path: Path, stage: str, verify: bool) -> None:
    broken = {40: 14, 41: 14} if verify else {40: 8, 41: 8}  # in data, or in heads
    paths = []
    for file in range(2):
        frames = [reference.encode_record(record(file, i)) for i in range(100)]
        for i, byte in broken.items() if file == 0 else ():
            frames[i] = frames[i][:byte] + b"\xff" + frames[i][byte + 1 :]
        (tmp_path / str(file)).write_bytes(b"".join(frames))
        paths.append(str(tmp_path / str(file)))

    def make() -> Dataset:
        return AFTER_AN_ERROR[stage](TFRecordDataset(paths, verify=verify))

    run = iter(make())
    found: list[Any] = []
    error = raised(DataLossError, found.extend, run)
    assert found or stage == "random"
    again = iter(make())
    again.load_state_dict(pickle.loads(pickle.dumps(run.state_dict())))

    met = raised(DataLossError, next, again)
    assert (met.source, met.index) == (error.source, error.index)
