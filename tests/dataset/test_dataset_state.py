"""A run that is resumed gives exactly the rest, wherever it was stopped."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.http_files import serving
from tests.support.small_files import (
    FEATURES,
    example,
    numbers,
    plain,
    rest_after,
    write_files,
    write_records,
)
from tfrecord_lite.dataset import shuffle, sources
from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason
from tfrecord_lite.index import parts
from tfrecord_lite.records.stream import RecordStream

# From Python 3.12 on a fork warns if there are threads, and NumPy has some of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def double(element: Any) -> Any:
    return element, element


STEPS: dict[str, Callable[[tl.Dataset, int], tl.Dataset]] = {
    "shuffle": lambda d, n: d.shuffle(n, seed=n), "take": lambda d, n: d.take(3 * n),
    "skip": lambda d, n: d.skip(n), "shard": lambda d, n: d.shard(n, n // 2),
    "repeat": lambda d, n: d.repeat((n + 1) % 3 + 1), "enumerate": lambda d, n: d.enumerate(n),
    "map": lambda d, n: d.map(lambda *element: (*element, n)),
    "threads": lambda d, n: d.map(lambda *element: (*element, n), num_parallel_calls=n),
    "filter": lambda d, n: d.filter(lambda *element: len(repr(plain(element))) % 3 != n % 3),
    "cache": lambda d, _: d.cache(), "prefetch": lambda d, n: d.prefetch(n),
}  # fmt: skip
SOURCES: dict[str, Callable[[list[str], int], tl.Dataset]] = {
    "in order": lambda names, _: tl.TFRecordDataset(names),
    "interleaved": lambda names, n: tl.TFRecordDataset(names).interleave(n, 1 + n % 2),
    "long turns": lambda names, n: tl.TFRecordDataset(names).interleave(n, 1024),
    "files": lambda names, n: tl.TFRecordDataset(names).shuffle_files(n),
    "some files": lambda names, n: tl.TFRecordDataset(names).interleave(n).shuffle_files(1),
    "all": lambda names, n: tl.TFRecordDataset(names).shuffle_all(n),
}
ENDS: dict[str, Callable[[tl.Dataset, int], tl.Dataset]] = {
    "records": lambda d, _: d,
    "batches": lambda d, n: d.batch(n),
    "columns": lambda d, n: d.batch(n, drop_remainder=n % 2 == 0).parse_example(FEATURES),
    "prefetched columns": lambda d, n: (
        d.batch(n).parse_example(FEATURES, label_key="n").prefetch(2)
    ),
}
RECORD_STEPS = ("shuffle", "take", "skip", "shard", "repeat", "cache", "prefetch")
small = st.integers(1, 5)


@st.composite
def pipelines(draw: st.DrawFn) -> Callable[[list[str]], tl.Dataset]:
    """Return what makes a data set of files: some source, some stages, some end."""
    source, n_source = draw(st.sampled_from(list(SOURCES))), draw(small)
    first = draw(st.lists(st.tuples(st.sampled_from(RECORD_STEPS), small), max_size=3))
    end, n_end = draw(st.sampled_from(list(ENDS))), draw(small)
    last = draw(st.lists(st.tuples(st.sampled_from(list(STEPS)), small), max_size=2))

    def make(names: list[str]) -> tl.Dataset:
        dataset = SOURCES[source](names, n_source)
        for name, n in first:
            dataset = STEPS[name](dataset, n)
        dataset = ENDS[end](dataset, n_end)
        for name, n in last:
            dataset = STEPS[name](dataset, n)
        return dataset

    make.__qualname__ = f"{source} {n_source} {first} {end} {n_end} {last}"
    return make


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read a few records at a time, now more and now less, so that states are made often."""
    sizes = itertools.cycle((1, 3, 2, 4, 1, 1, 5))

    class Stream(RecordStream):
        def next_block(self, n_records: int | None = None) -> tl.Block | None:
            size = next(sizes)
            return super().next_block(min(n_records or size, size))

    monkeypatch.setattr(parts, "RecordStream", Stream)
    monkeypatch.setattr(sources, "_MOST_RECORDS", 3)
    monkeypatch.setattr(shuffle, "_MOST_STEPS", 4)
    monkeypatch.setattr(shuffle, "_FEW", 2)
    monkeypatch.setattr(tl.reader, "_PARSED_RECORDS", 8)


@pytest.mark.usefixtures("small_chunks")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pipelines(),
    st.lists(st.integers(0, 7), min_size=1, max_size=4),
    st.integers(0, 2),
    st.sampled_from([1, 4096]),
)
def test_a_run_resumed_at_any_step_gives_the_rest(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[list[str]], tl.Dataset],
    counts: list[int],
    epoch: int,
    large: int,
) -> None:
    monkeypatch.setattr(shuffle, "_LARGE_RECORD_BYTES", large)
    names = write_files(tmp_path_factory.mktemp("a"), counts)
    whole = list(map(plain, make(names).set_epoch(epoch)))
    for n_given in range(len(whole) + 1):
        assert rest_after(lambda: make(names), n_given, epoch) == whole[n_given:], n_given


@pytest.mark.parametrize("n_given", [2999, 0, 1, 3000, 7001, 19_000])
def test_large_files_and_buffers_are_resumed(tmp_path: Path, n_given: int) -> None:
    """Chunks end elsewhere in the second run, so cuts are not where they were."""
    items = [b"%d" % i * 50 for i in range(10_000)]
    for i in range(2):
        write_records(tmp_path / str(i), items[i::2])

    def make() -> tl.Dataset:
        files = tl.TFRecordDataset([tmp_path / "0", tmp_path / "1"])
        return files.interleave(2, 3).shuffle(700, 3).repeat(2)

    whole = list(make())
    assert sorted(whole) == sorted(items * 2)
    assert rest_after(make, n_given) == whole[n_given:]


def test_a_state_is_small(tmp_path: Path) -> None:
    names = write_files(tmp_path, [400] * 8)
    run = iter(tl.TFRecordDataset(names).interleave(8).shuffle(1_000, 1).repeat().batch(4))
    for _ in range(500):
        next(run)
    assert len(json.dumps(run.state_dict())) < 2_000


def test_a_state_of_another_pipeline_is_rejected(tmp_path: Path) -> None:
    files = tl.TFRecordDataset(write_files(tmp_path, [4, 4]))
    shuffled, batches = files.shuffle(2, 1), files.batch(2)
    int_n, wide_n = tl.FixedLenFeature([], "int64"), tl.FixedLenFeature([1], "int64")
    texts = {"n": int_n, "s": tl.FixedLenFeature([], "string")}
    lists = {"n": tl.VarLenFeature("int64")}
    parsed = batches.parse_example(texts)
    pairs: list[tuple[tl.Dataset, tl.Dataset, str]] = [
        (shuffled, files, "stages: TFRecordDataset now, TFRecordDataset.shuffle in the state"),
        (shuffled, batches, r"TFRecordDataset\.batch now, TFRecordDataset\.shuffle in the state"),
        (shuffled, files.shuffle(3, 1), "buffer_size of shuffle: 3 now, 2 in the state"),
        (shuffled, files.shuffle(2, 2), "seed of shuffle: 2 now, 1 in the state"),
        (shuffled, files.shuffle(2), "seed of shuffle: None now, 1 in the state"),
        (files.shuffle(2), shuffled, "seed of shuffle: 1 now, None in the state"),
        (shuffled, files.shard(2, 0).shuffle(2, 1), "num_shards of TFRecordDataset: 2 now, 1 in"),
        (files.shard(2, 0), files.shard(2, 1), "index of TFRecordDataset: 1 now, 0 in the state"),
        (files.shuffle_all(1), files.shuffle_all(2), "seed of shuffle_all: 2 now, 1 in the state"),
        (batches, files.batch(3), "batch_size of batch: 3 now, 2 in the state"),
        (batches.in_processes(2), batches.in_processes(3), "num_workers: 3 now, 2 in the state"),
        (batches.in_processes(2), batches, "num_workers: 0 now, 2 in the state"),
        (parsed, batches.parse_example({"n": int_n}), "features of parse_example"),
        (parsed, batches.parse_example({**texts, "n": wide_n}), "features of parse_example"),
        (parsed, batches.parse_example(texts, label_key="n"), "label_key of .*: 'n' now, None in"),
        (parsed, batches.parse_example(texts, strings="BytesColumn"), "features of parse_example"),
        (batches.parse_sequence_example(texts), batches.parse_sequence_example({}, lists), "feat"),
    ]
    for dataset, other, text in pairs:
        state = json.loads(json.dumps(iter(dataset).state_dict()))
        iter(dataset).load_state_dict(state)
        error = raised(InvalidArgumentError, iter(other).load_state_dict, state, match=text)
        assert error.reason is Reason.BAD_ARGUMENT
    in_turn = batches.parse_example(dict(reversed(texts.items())))
    iter(in_turn).load_state_dict(iter(parsed).state_dict())


def test_other_files_are_noticed(tmp_path: Path) -> None:
    names = write_files(tmp_path, [4, 9])
    makes: list[Callable[[list[str]], tl.Dataset]] = [
        lambda names: tl.TFRecordDataset(names).batch(1),
        lambda names: tl.TFRecordDataset(names).interleave(2).shuffle(2, 1),
        lambda names: tl.TFRecordDataset(names).shuffle_all(1),
        lambda names: tl.TFRecordDataset(names).batch(2).parse_example(FEATURES).prefetch(1),
    ]
    states = []
    for make in makes:
        run = iter(make(names))
        assert len(numbers([next(run) for _ in range(6)])) >= 6
        states.append(run.state_dict())

    for make, state in zip(makes[:2], states[:2], strict=True):
        raised(InvalidArgumentError, iter(make(names[:1])).load_state_dict, state)
    (moved := tmp_path / "moved").mkdir()
    for make, state in zip(makes, states, strict=True):
        for other in (names[::-1], [names[0], names[0]]):
            with pytest.raises(InvalidArgumentError, match="in the same order"):
                iter(make(other)).load_state_dict(state)
        again = iter(make(write_files(moved, [4, 9])))
        again.load_state_dict(json.loads(json.dumps(state)))
        assert numbers(again) != []
    for counts in ([2, 1], [4, 10], [5, 9]):
        write_files(tmp_path, counts)
        for make, state in zip(makes, states, strict=True):
            with pytest.raises(FailedPreconditionError, match="when the state was taken") as caught:
                iter(make(names)).load_state_dict(state)
            assert caught.value.reason is Reason.STALE_INDEX
    write_files(tmp_path, [2, 1])  # also if sizes are not known
    for make, state in zip(makes, states, strict=True):
        again = iter(make(names))
        again.load_state_dict({**state, "sizes": [None, None]})
        assert raised(FailedPreconditionError, list, again).reason is Reason.STALE_INDEX


@pytest.mark.parametrize("shuffle", [False, True, "all"])
def test_a_state_knows_the_sizes_of_remote_files_unasked(tmp_path: Path, shuffle: Any) -> None:
    names = write_files(tmp_path, [4, 9])
    with serving() as server:
        server.files = {f"/{i}": Path(name).read_bytes() for i, name in enumerate(names)}
        urls = [f"{server.url}/{i}" for i in (0, 1)]

        def make() -> tl.Dataset:
            return tl.read_batches(urls, FEATURES, 2, shuffle=shuffle, seed=1)

        run = iter(make())
        head = list(itertools.islice(run, 6))
        server.forget()
        state = json.loads(json.dumps(run.state_dict()))
        assert server.n_requests == 0
        assert state["sizes"] == [len(server.files[f"/{i}"]) for i in (0, 1)]
        again = iter(make())
        again.load_state_dict(state)
        assert sorted(numbers(head) + numbers(again)) == list(range(13))
        server.files["/0"] += server.files["/1"]
        with pytest.raises(FailedPreconditionError, match="when the state was taken"):
            iter(make()).load_state_dict(state)


def test_a_file_that_was_not_read_yet_may_change(tmp_path: Path) -> None:
    names = write_files(tmp_path, [4, 9])
    run = iter(tl.TFRecordDataset(names))
    next(run)
    state = run.state_dict()
    with tl.TFRecordWriter(names[1], mode="a") as writer:
        writer.write(example(13))
    again = iter(tl.TFRecordDataset(names))
    again.load_state_dict(state)
    assert numbers(again) == list(range(1, 14))


@pytest.mark.parametrize("n_given", [0, 5, 20])
def test_a_state_keeps_the_seeds_that_were_drawn(tmp_path: Path, n_given: int) -> None:
    names = write_files(tmp_path, [7, 13])

    def make() -> tl.Dataset:
        files = tl.TFRecordDataset(names).shuffle_files().interleave(2).shuffle(9)
        return files.map(bytes).shuffle(3, seed=1)

    whole, other = make(), make()
    first, second = list(whole), list(whole)
    run = iter(whole.set_epoch(0))
    for _ in range(n_given):
        next(run)
    state = json.loads(json.dumps(run.state_dict()))
    again = iter(other)
    assert list(again) != first
    again.load_state_dict(state)
    assert list(again) == first[n_given:]
    assert list(other) == second


@pytest.mark.slow
def test_worker_processes_are_resumed(tmp_path: Path) -> None:
    names = write_files(tmp_path, [7, 4, 9])

    def make() -> tl.Dataset:
        dataset = tl.TFRecordDataset(names).shuffle(5, 1).batch(2).parse_example(FEATURES)
        return dataset.in_processes(2)

    whole = list(map(plain, make()))
    assert sorted(numbers(whole)) == list(range(20))
    for n_given in (0, 1, 4, len(whole) - 1, len(whole)):
        assert rest_after(make, n_given, 0) == whole[n_given:]


CACHED: dict[str, Callable[[Any], tl.Dataset]] = {
    "repeat before": lambda d: d.shuffle_all(2).repeat(3).cache(),
    "repeat after": lambda d: d.shuffle_all(2).cache().repeat(2).batch(4).map(double).prefetch(1),
    "two": lambda d: d.shuffle(9, seed=1).cache().shuffle(9, seed=2).cache().shuffle(3, seed=1),
}


@pytest.mark.parametrize("cached", CACHED)
def test_a_cache_gives_the_same_epoch_full_or_empty(tmp_path: Path, cached: str) -> None:
    names = write_files(tmp_path, [30])
    dataset = CACHED[cached](tl.TFRecordDataset(names)).set_epoch(2)
    list(dataset)
    whole = list(map(plain, dataset.set_epoch(5)))
    for n_given in range(len(whole) + 1):
        assert (
            rest_after(lambda: CACHED[cached](tl.TFRecordDataset(names)), n_given, 5)
            == whole[n_given:]
        )


@pytest.mark.parametrize("n_given", [0, 7])
def test_the_epoch_after_one_that_is_resumed_is_the_next(tmp_path: Path, n_given: int) -> None:
    names = write_files(tmp_path, [30])

    def make() -> tl.Dataset:
        return tl.TFRecordDataset(names).shuffle(30, 1)

    epochs = [numbers(make().set_epoch(i)) for i in range(4)]
    run = iter(make().set_epoch(1))
    for _ in range(n_given):
        next(run)
    dataset = make()
    again = iter(dataset)
    again.load_state_dict(run.state_dict())
    assert numbers(again) == epochs[1][n_given:]
    assert numbers(dataset) == epochs[2]
    assert numbers(dataset) == epochs[3]


def test_what_is_not_a_state_is_rejected(tmp_path: Path) -> None:
    run = iter(tl.TFRecordDataset(write_files(tmp_path, [4])))
    state = run.state_dict()
    others: list[Any] = [{**state, "version": 7}, {"version": 2}, {}, [], None]
    others += [{k: v for k, v in state.items() if k != key} for key in state]
    with pytest.raises(InvalidArgumentError, match="earlier version"):
        run.load_state_dict({**state, "version": 1})
    for each in others:
        error = raised(InvalidArgumentError, run.load_state_dict, each, match="state")
        assert error.reason is Reason.BAD_ARGUMENT
    assert len(list(run)) == 4
