"""`storage_options` reach the file system of a URL, whichever way in or out is taken."""

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import tfrecord_lite as tl
from tests.support.errors import raised
from tfrecord_lite.apps.events import find_runs, read_events
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.messages import Event, Summary
from tfrecord_lite.records.framing import frame

fsspec = pytest.importorskip("fsspec")
memory = pytest.importorskip("fsspec.implementations.memory")

SECRET = {"token": "secret"}
ROOT = "guarded://data"
FEATURES = {"n": tl.FixedLenFeature([], "int64")}
COLUMNS = {"n": np.arange(5)}
EVENT = Event(step=7, summary=Summary(value=[Summary.Value(tag="loss", simple_value=0.5)]))
FILES = {
    "a.tfrecord": bytes(frame(list(tl.encode_examples(COLUMNS)))),
    "a.schema.json": tl.Schema(FEATURES).to_json().encode(),
    "one/x.tfevents.1": bytes(frame([EVENT.SerializeToString()])),
    "one/notes.txt": b"",
}


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
    fsspec.register_implementation("guarded", GuardedFileSystem, clobber=True)
    GuardedFileSystem.store.clear()
    GuardedFileSystem.pseudo_dirs[:] = [""]
    filesystem = fsspec.filesystem("guarded", **SECRET)
    for name, content in FILES.items():
        filesystem.pipe(f"/data/{name}", content)
    yield filesystem
    GuardedFileSystem.store.clear()


def write_and_read(root: str, *, atomic: bool = False, **keywords: Any) -> None:
    with tl.TFRecordWriter(f"{root}/new", atomic=atomic, **keywords) as writer:
        writer.write(b"one")
    assert list(tl.TFRecordReader(f"{root}/new", **keywords)) == [b"one"]


def write_shards(root: str, **keywords: Any) -> None:
    with tl.ShardedTFRecordWriter(f"{root}/new@2", **keywords) as writer:
        writer.write(b"one")
        writer.write(b"two")
    assert list(tl.TFRecordReader(f"{root}/new@2", **keywords)) == [b"one", b"two"]


def save_and_load(root: str, **keywords: Any) -> None:
    tl.save(f"{root}/new", COLUMNS, **keywords)
    assert tl.load(f"{root}/new", **keywords)["n"].tolist() == [0, 1, 2, 3, 4]
    assert list(tl.load_schema(f"{root}/new.schema.json", **keywords)) == ["n"]


def save_sidecar_elsewhere(root: str, **keywords: Any) -> None:
    tl.save(f"{root}/new", COLUMNS, f"{root}/elsewhere.json", **keywords)
    found = tl.load(f"{root}/new", schema=f"{root}/elsewhere.json", **keywords)
    assert found["n"].tolist() == [0, 1, 2, 3, 4]


def recover_there(root: str, **keywords: Any) -> None:
    report = tl.recover(f"{root}/a.tfrecord", f"{root}/new", output_compression="GZIP", **keywords)
    assert report.records == 5
    assert tl.recover(f"{root}/new", f"{root}/new.again", overwrite=True, **keywords).records == 5


def iterate(dataset: Any) -> None:
    again = pickle.loads(pickle.dumps(dataset))
    assert len(list(again)) == len(list(dataset)) > 0


def raise_failure(report: Any) -> None:
    (file,) = report.files
    if file.failure is not None:
        raise file.failure
    assert file.is_sound


WAYS: dict[str, Callable[..., Any]] = {
    "writer": write_and_read,
    "atomic writer": lambda root, **keywords: write_and_read(root, atomic=True, **keywords),
    "shards": write_shards,
    "save": save_and_load,
    "load": lambda root, **keywords: tl.load(f"{root}/a.tfrecord", **keywords),
    "load_schema": lambda root, **keywords: tl.load_schema(f"{root}/a.schema.json", **keywords),
    "sidecar elsewhere": save_sidecar_elsewhere,
    "recover": recover_there,
    "reader": lambda root, **keywords: iterate(tl.TFRecordReader(f"{root}/*.tfrecord", **keywords)),
    "data set": lambda root, **keywords: iterate(
        tl.TFRecordDataset(f"{root}/a.tfrecord", **keywords)
    ),
    "batches": lambda root, **keywords: iterate(
        tl.read_batches(f"{root}/a.tfrecord", FEATURES, 2, **keywords)
    ),
    "verify": lambda root, **keywords: raise_failure(tl.verify(f"{root}/a.tfrecord", **keywords)),
    "summarize": lambda root, **keywords: tl.summarize(f"{root}/a.tfrecord", **keywords),
    "infer_schema": lambda root, **keywords: tl.infer_schema([f"{root}/a.tfrecord"], **keywords),
    "events of a file": lambda root, **keywords: read_events(
        f"{root}/one/x.tfevents.1", **keywords
    ),
    "events of a folder": lambda root, **keywords: read_events(f"{root}/one", **keywords),
    "runs": find_runs,
}
each_way = pytest.mark.parametrize("way", WAYS)


@each_way
def test_options_reach_the_file_system(way: str) -> None:
    WAYS[way](ROOT, storage_options=SECRET)


@each_way
@pytest.mark.parametrize("keywords", [{}, {"storage_options": None}, {"storage_options": {}}])
def test_without_them_nothing_is_reached(way: str, keywords: dict[str, Any]) -> None:
    raised(PermissionError, WAYS[way], ROOT, **keywords, match="token")


@each_way
def test_a_local_file_takes_no_options(tmp_path: Path, way: str) -> None:
    (tmp_path / "one").mkdir()
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidArgumentError, match="storage_options") as caught:
        WAYS[way](str(tmp_path), storage_options=SECRET)
    assert caught.value.reason is Reason.BAD_ARGUMENT
    raised(TypeError, WAYS[way], str(tmp_path), storage_options="secret", match="storage_options")
    assert {p.name for p in tmp_path.iterdir()} == {"one", "a.tfrecord", "a.schema.json"}


def test_events_of_a_remote_run_are_read() -> None:
    events = read_events("guarded://data/one", storage_options=SECRET)
    assert events.scalars("loss").step.tolist() == [7]
    assert find_runs(ROOT, storage_options=SECRET) == {"one": "guarded:///data/one"}
    raised(FileNotFoundError, find_runs, "guarded://nothing", storage_options=SECRET)
    raised(NotADirectoryError, find_runs, "guarded://data/one/notes.txt", storage_options=SECRET)
    with pytest.raises(FileNotFoundError, match="there are runs in 'one'"):
        read_events(ROOT, storage_options=SECRET)


def test_an_atomic_writer_leaves_what_was_there(store: Any) -> None:
    store.pipe("/data/old", b"old")
    writer = tl.TFRecordWriter(f"{ROOT}/old", atomic=True, storage_options=SECRET)
    writer.write(b"new")
    assert store.cat("/data/old") == b"old"
    writer.close()
    assert store.cat("/data/old") == frame([b"new"])


def test_one_url_among_paths_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "local"
    path.write_bytes(frame([b"local"]))
    found = list(tl.TFRecordReader([path, f"{ROOT}/a.tfrecord"], storage_options=SECRET))
    assert found[0] == b"local"
    assert len(found) == 6
    assert tl.recover(f"{ROOT}/a.tfrecord", tmp_path / "new", storage_options=SECRET).records == 5
