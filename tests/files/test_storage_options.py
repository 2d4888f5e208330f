"""`storage_options` reach the file system of a URL, whichever way in or out is taken."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from tfrecord_lite import (
    FixedLenFeature,
    ShardedTFRecordWriter,
    TFRecordDataset,
    TFRecordReader,
    TFRecordWriter,
    encode_examples,
    infer_schema,
    load,
    load_schema,
    read_batches,
    recover,
    save,
    summarize,
    verify,
)
from tfrecord_lite.apps.events import find_runs, follow_events, read_events
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.messages import Event, Summary
from tfrecord_lite.records.framing import frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

fsspec = pytest.importorskip("fsspec")
memory = pytest.importorskip("fsspec.implementations.memory")

SECRET = {"token": "secret"}
ROOT = "guarded://data"
FEATURES = {"n": FixedLenFeature([], "int64")}
COLUMNS = {"n": np.arange(5)}


class GuardedFileSystem(memory.MemoryFileSystem):  # type: ignore[misc, name-defined]
    """Files in memory that nobody reaches without the token."""

    protocol = "guarded"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    def __init__(self, token: str | None = None, **settings: Any) -> None:
        if token != SECRET["token"]:
            raise PermissionError("this store needs a token")
        super().__init__(**settings)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("guarded://").strip("/")


@pytest.fixture(autouse=True)
def store() -> Iterator[Any]:
    """Register the file system, with a file of Examples and a run of events in it."""
    fsspec.register_implementation("guarded", GuardedFileSystem, clobber=True)
    GuardedFileSystem.store.clear()
    GuardedFileSystem.pseudo_dirs[:] = [""]
    filesystem = fsspec.filesystem("guarded", **SECRET)
    loss = Summary.Value(tag="loss", simple_value=0.5)
    event = Event(step=7, summary=Summary(value=[loss])).SerializeToString()
    filesystem.pipe("/data/a.tfrecord", frame(list(encode_examples(COLUMNS))))
    filesystem.pipe("/runs/one/x.tfevents.1", frame([event]))
    filesystem.pipe("/runs/one/notes.txt", b"")
    yield filesystem
    GuardedFileSystem.store.clear()


def write_and_read(url: str, *, atomic: bool = False, **keywords: Any) -> None:
    with TFRecordWriter(url, atomic=atomic, **keywords) as writer:
        writer.write(b"one")
    assert list(TFRecordReader(url, **keywords)) == [b"one"]


def write_shards(url: str, **keywords: Any) -> None:
    with ShardedTFRecordWriter(f"{url}@2", **keywords) as writer:
        writer.write(b"one")
        writer.write(b"two")
    assert list(TFRecordReader(f"{url}@2", **keywords)) == [b"one", b"two"]


def save_and_load(url: str, **keywords: Any) -> None:
    save(url, COLUMNS, **keywords)
    assert load(url, **keywords)["n"].tolist() == [0, 1, 2, 3, 4]
    assert list(load_schema(f"{url}.schema.json", **keywords)) == ["n"]


def save_sidecar_elsewhere(url: str, **keywords: Any) -> None:
    save(url, COLUMNS, f"{ROOT}/elsewhere.json", **keywords)
    found = load(url, schema=f"{ROOT}/elsewhere.json", **keywords)
    assert found["n"].tolist() == [0, 1, 2, 3, 4]


def recover_there(url: str, **keywords: Any) -> None:
    report = recover(f"{ROOT}/a.tfrecord", url, output_compression="GZIP", **keywords)
    assert report.records == 5
    assert recover(url, f"{url}.again", overwrite=True, **keywords).records == 5


def iterate(dataset: Any) -> None:
    again = pickle.loads(pickle.dumps(dataset))
    assert len(list(again)) == len(list(dataset)) > 0


WAYS: dict[str, Callable[..., Any]] = {
    "writer": write_and_read,
    "atomic writer": lambda url, **keywords: write_and_read(url, atomic=True, **keywords),
    "shards": write_shards,
    "save": save_and_load,
    "sidecar elsewhere": save_sidecar_elsewhere,
    "recover": recover_there,
    "reader": lambda _, **keywords: iterate(TFRecordReader(f"{ROOT}/*.tfrecord", **keywords)),
    "data set": lambda _, **keywords: iterate(TFRecordDataset(f"{ROOT}/a.tfrecord", **keywords)),
    "batches": lambda _, **keywords: iterate(
        read_batches(f"{ROOT}/a.tfrecord", FEATURES, 2, **keywords)
    ),
    "verify": lambda _, **keywords: raise_failure(verify(f"{ROOT}/a.tfrecord", **keywords)),
    "summarize": lambda _, **keywords: summarize(f"{ROOT}/a.tfrecord", **keywords),
    "infer_schema": lambda _, **keywords: infer_schema([f"{ROOT}/a.tfrecord"], **keywords),
    "events of a file": lambda _, **keywords: read_events(
        "guarded://runs/one/x.tfevents.1", **keywords
    ),
    "events of a folder": lambda _, **keywords: read_events("guarded://runs/one", **keywords),
    "followed events": lambda _, **keywords: list(
        follow_events("guarded://runs/one", stop=lambda: True, **keywords)
    ),
    "runs": lambda _, **keywords: find_runs("guarded://runs", **keywords),
}
each_way = pytest.mark.parametrize("way", WAYS)


def raise_failure(report: Any) -> None:
    (file,) = report.files
    if file.failure is not None:
        raise file.failure
    assert file.is_sound


@each_way
def test_options_reach_the_file_system(way: str) -> None:
    WAYS[way](f"{ROOT}/new", storage_options=SECRET)


@each_way
@pytest.mark.parametrize("keywords", [{}, {"storage_options": None}, {"storage_options": {}}])
def test_without_them_nothing_is_reached(way: str, keywords: dict[str, Any]) -> None:
    with pytest.raises(PermissionError, match="token"):
        WAYS[way](f"{ROOT}/new", **keywords)


def test_events_of_a_remote_run_are_read() -> None:
    events = read_events("guarded://runs/one", storage_options=SECRET)

    assert events.scalars("loss").step.tolist() == [7]
    assert find_runs("guarded://runs", storage_options=SECRET) == {"one": "guarded:///runs/one"}
    with pytest.raises(FileNotFoundError):
        find_runs("guarded://nothing", storage_options=SECRET)
    with pytest.raises(NotADirectoryError):
        find_runs("guarded://runs/one/notes.txt", storage_options=SECRET)
    with pytest.raises(FileNotFoundError, match="there are runs in 'one'"):
        read_events("guarded://runs", storage_options=SECRET)


def test_an_atomic_writer_leaves_what_was_there(store: Any) -> None:
    store.pipe("/data/old", b"old")
    writer = TFRecordWriter(f"{ROOT}/old", atomic=True, storage_options=SECRET)
    writer.write(b"new")
    assert store.cat("/data/old") == b"old"
    writer.close()
    assert store.cat("/data/old") == frame([b"new"])


LOCAL: dict[str, Callable[..., Any]] = {
    "reader": TFRecordReader,
    "writer": TFRecordWriter,
    "shards": lambda path, **keywords: ShardedTFRecordWriter(f"{path}@2", **keywords),
    "save": lambda path, **keywords: save(path, COLUMNS, **keywords),
    "load": load,
    "load_schema": load_schema,
    "recover": lambda path, **keywords: recover(path, f"{path}.new", **keywords),
    "data set": TFRecordDataset,
    "batches": lambda path, **keywords: read_batches(path, FEATURES, 2, **keywords),
    "verify": verify,
    "summarize": summarize,
    "infer_schema": infer_schema,
    "events": read_events,
    "followed events": follow_events,
    "runs": lambda path, **keywords: find_runs(path.parent, **keywords),
}


@pytest.mark.parametrize("way", LOCAL)
def test_a_local_file_takes_no_options(tmp_path: Path, way: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(frame(list(encode_examples(COLUMNS))))

    with pytest.raises(InvalidArgumentError, match="storage_options") as caught:
        LOCAL[way](path, storage_options=SECRET)
    assert caught.value.reason is Reason.BAD_ARGUMENT
    with pytest.raises(TypeError, match="storage_options"):
        LOCAL[way](path, storage_options="secret")
    assert path.read_bytes() == frame(list(encode_examples(COLUMNS)))


def test_one_url_among_paths_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "local"
    path.write_bytes(frame([b"local"]))

    found = list(TFRecordReader([path, f"{ROOT}/a.tfrecord"], storage_options=SECRET))

    assert found[0] == b"local"
    assert len(found) == 6
    assert recover(f"{ROOT}/a.tfrecord", tmp_path / "new", storage_options=SECRET).records == 5
