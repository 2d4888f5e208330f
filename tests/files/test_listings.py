"""What others write to a store is seen by the next call, though its client keeps listings."""

import io
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

import tfrecord_lite as tl
from tests.support.errors import raised
from tfrecord_lite.errors import FailedPreconditionError

fsspec = pytest.importorskip("fsspec")
spec = pytest.importorskip("fsspec.spec")

URL = "kept://bucket/folder"


class NoSuchBucket(Exception):  # noqa: N818 - botocore's name
    """As botocore's, which is no OSError."""


class Store(spec.AbstractFileSystem):  # type: ignore[misc, name-defined]
    """Keeps each listing for the life of the process, as s3fs does, and reads what was listed."""

    protocol = "kept"
    store: ClassVar[dict[str, bytes]] = {}
    n_listed: ClassVar[list[str]] = []

    def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        path = self._strip_protocol(path)
        if path.startswith("none"):
            raise NoSuchBucket("An error occurred (NoSuchBucket)")
        if path not in self.dircache:
            self.n_listed.append(path)
            names = [name for name in self.store if name.rpartition("/")[0] == path]
            self.dircache[path] = [self._entry(name) for name in names]
        found = self.dircache[path]
        return found if detail else [each["name"] for each in found]

    def _entry(self, name: str) -> dict[str, Any]:
        content = self.store[name]
        return {"name": name, "size": len(content), "type": "file", "ETag": str(hash(content))}

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        for entry in self.ls(path.rpartition("/")[0]):
            if entry["name"] == path:
                return dict(entry)
        raise FileNotFoundError(path)

    def invalidate_cache(self, path: str | None = None) -> None:
        self.dircache.clear() if path is None else self.dircache.pop(path, None)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        self.store[self._strip_protocol(path2)] = self.store[self._strip_protocol(path1)]

    def _rm(self, path: str) -> None:
        del self.store[self._strip_protocol(path)]

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        path = self._strip_protocol(path)
        if mode == "wb":
            return _Written(self.store, path)
        entry = self.info(path)
        if entry["ETag"] != str(hash(self.store.get(path, b""))):
            raise OSError(16, f"The remote file {path} no longer exists")
        file: Any = io.BytesIO(self.store[path])
        file.size = entry["size"]
        return file

    def cat_ranges(self, paths: Any, starts: Any, ends: Any, **_: Any) -> list[bytes]:
        names = map(self._strip_protocol, paths)
        return [self.store[n][i:j] for n, i, j in zip(names, starts, ends, strict=True)]


class _Written(io.BytesIO):
    def __init__(self, store: dict[str, bytes], path: str) -> None:
        super().__init__()
        self._store, self._path = store, path

    def close(self) -> None:
        if not self.closed:
            self._store[self._path] = self.getvalue()
        super().close()


@pytest.fixture(autouse=True)
def store() -> Iterator[dict[str, bytes]]:
    fsspec.register_implementation("kept", Store, clobber=True)
    Store.store.clear()
    Store.clear_instance_cache()
    yield Store.store
    Store.store.clear()


def put(name: str, n_records: int) -> None:
    content = io.BytesIO()
    with tl.TFRecordWriter(content) as writer:
        writer.write_examples([{"n": i} for i in range(n_records)])
    Store.store[f"bucket/folder/{name}"] = content.getvalue()


WAYS: dict[str, Callable[[str], int]] = {
    "reader": lambda url: sum(1 for _ in tl.TFRecordReader(url)),
    "data set": lambda url: sum(1 for _ in tl.TFRecordDataset(url)),
    "by number": lambda url: len(tl.TFRecordFile(url)),
    "load": lambda url: len(tl.load(url)["n"]),
    "verify": lambda url: tl.verify(url).records,
}


@pytest.mark.parametrize("way", WAYS)
def test_new_and_replaced_files_are_seen(way: str) -> None:
    count = WAYS[way]
    put("a.tfrecord", 3)
    assert count(f"{URL}/*.tfrecord") == 3
    put("b.tfrecord", 4)
    Store.n_listed.clear()
    assert count(f"{URL}/*.tfrecord") == 7
    assert count(f"{URL}/b.tfrecord") == 4
    put("a.tfrecord", 9)
    assert count(f"{URL}/a.tfrecord") == 9
    assert count(f"{URL}/*.tfrecord") == 13
    del Store.store["bucket/folder/a.tfrecord"]
    assert count(f"{URL}/*.tfrecord") == 4


def test_a_folder_is_listed_once_a_call_unless_its_user_keeps_listings() -> None:
    put("a.tfrecord", 3)
    put("b.tfrecord", 3)
    Store.n_listed.clear()
    reader = tl.TFRecordReader(f"{URL}/*.tfrecord")
    assert Store.n_listed.count("bucket/folder") == 1
    put("a.tfrecord", 5)  # each iteration opens the files that are there
    assert sum(1 for _ in reader) == 8
    keeping = {"use_listings_cache": True}
    assert len(tl.TFRecordReader(f"{URL}/*.tfrecord", storage_options=keeping).sources) == 2
    put("c.tfrecord", 3)
    assert len(tl.TFRecordReader(f"{URL}/*.tfrecord", storage_options=keeping).sources) == 2


def test_sidecars_and_what_this_process_wrote_are_seen() -> None:
    raised(FileNotFoundError, tl.load_schema, f"{URL}/a.tfrecord.schema.json")
    tl.save(f"{URL}/a.tfrecord", {"n": [1.5, 2.5]}, lossless=True)
    assert tl.load(f"{URL}/a.tfrecord")["n"].tolist() == [1.5, 2.5]
    assert list(tl.load_schema(f"{URL}/a.tfrecord.schema.json")) == ["n"]
    tl.save(f"{URL}/a.tfrecord", {"m": [1]})
    assert list(tl.infer_schema(f"{URL}/a.tfrecord")) == ["m"]
    assert list(tl.load_schema(f"{URL}/a.tfrecord.schema.json")) == ["m"]


def test_a_file_by_number_knows_that_it_is_stale() -> None:
    put("a.tfrecord", 3)
    file = tl.TFRecordFile(f"{URL}/a.tfrecord")
    assert not file.is_stale
    put("a.tfrecord", 20)
    assert file.is_stale
    Store.store["bucket/folder/a.tfrecord"] = b"x" * 1000
    with pytest.raises((ValueError, FailedPreconditionError), match="has changed since") as caught:
        file.block([0, 1])
    assert f"{URL}/a.tfrecord" in str(caught.value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["none/x.tfrecord", "none/*.tfrecord"])
def test_a_missing_bucket_is_file_not_found(way: str, name: str) -> None:
    if way == "verify" and "*" not in name:
        failure = tl.verify(f"kept://{name}").files[0].failure
        assert isinstance(failure, FileNotFoundError)
        return
    assert raised(FileNotFoundError, WAYS[way], f"kept://{name}").filename == f"kept://{name}"
