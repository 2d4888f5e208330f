"""S3, Azure and GCS by their emulators, moto, azurite and gcp-storage-emulator: what is read, listed, and missing."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from tfrecord_lite import (
    ShardedTFRecordWriter,
    TFRecordDataset,
    TFRecordFile,
    TFRecordReader,
    TFRecordWriter,
    load,
    read_batches,
    save,
    verify,
)
from tfrecord_lite.records.framing import frame

pytestmark = pytest.mark.filterwarnings("default")

AZURITE = Path(".azurite/node_modules/.bin/azurite-blob")
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The one that every emulator of Azure's has."""
RECORDS = [bytes([i % 251]) * 3000 for i in range(1500)]
CONTENT = bytes(frame(RECORDS))


@dataclass
class Store:
    """A bucket, to read with `options`, and another client of it, as that of another process."""

    root: str
    options: dict[str, Any]
    other: Any

    def put(self, name: str, content: bytes) -> str:
        self.other.pipe_file(f"{self.root}/{name}", content)
        return f"{self.root}/{name}"


@pytest.fixture(scope="module")
def s3() -> Iterator[Store]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {"key": "a", "secret": "b", "endpoint_url": f"http://{host}:{port}"}
    yield made("s3", options)
    server.stop()


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    if not AZURITE.exists():
        pytest.skip("npm install --prefix .azurite azurite")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("azurite")
    command = f"{AZURITE} --silent --skipApiVersionCheck --location {folder} --blobPort {port}"
    with subprocess.Popen(command.split()) as process:
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        url = f"http://127.0.0.1:{port}/devstoreaccount1"
        text = f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={KEY};BlobEndpoint={url};"
        yield made("abfs", {"connection_string": text})
        process.terminate()


@pytest.fixture(scope="module")
def gcs() -> Iterator[Store]:
    from gcp_storage_emulator.server import create_server

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = create_server("127.0.0.1", port, in_memory=True)
    server.start()
    yield made("gs", {"endpoint_url": f"http://127.0.0.1:{port}", "token": "anon", "project": "p"})
    server.stop()


def made(scheme: str, options: dict[str, Any]) -> Store:
    other = fsspec.filesystem(scheme, skip_instance_cache=True, use_listings_cache=False, **options)
    other.mkdir("bucket")
    return Store(f"{scheme}://bucket", options, other)


@pytest.fixture(params=["s3", "azure", "gcs"])
def store(request: pytest.FixtureRequest) -> Store:
    store: Store = request.getfixturevalue(request.param)
    return store


@pytest.mark.parametrize("read_ahead", [None, 0, 300_000])
def test_what_is_stored_comes_back(store: Store, read_ahead: int | None) -> None:
    urls = [store.put(f"back/{i}", CONTENT) for i in range(2)]
    options: dict[str, Any] = {"storage_options": store.options, "read_ahead": read_ahead}
    assert list(TFRecordReader(f"{store.root}/back/*", **options)) == RECORDS * 2
    shuffled = TFRecordDataset(urls, **options).interleave(2).shuffle(100, seed=1)
    assert sorted(shuffled) == sorted(RECORDS * 2)
    with TFRecordFile(urls, storage_options=store.options) as file:
        assert file.__getitems__([7, 1501, -1]) == [RECORDS[7], RECORDS[1], RECORDS[-1]]
        file.save_index()
    assert len(TFRecordFile(urls, storage_options=store.options)) == 3000


def test_what_is_saved_comes_back(store: Store) -> None:
    options: dict[str, Any] = {"storage_options": store.options}
    columns = {"n": np.arange(100), "x": np.random.default_rng(1).random(100)}
    with ShardedTFRecordWriter(f"{store.root}/saved/s@3", **options) as writer:
        writer.write_examples({"n": np.arange(100)})
    save(f"{store.root}/saved/a", columns, lossless=True, **options)
    assert np.array_equal(load(f"{store.root}/saved/a", **options)["x"], columns["x"])
    batches = read_batches(
        f"{store.root}/saved/s@3", {"n": int}, 10, shuffle=True, seed=1, **options
    )
    assert sorted(int(n) for batch in batches for n in batch["n"]) == list(range(100))


def test_what_another_process_has_written_is_seen(store: Store) -> None:
    def count(name: str) -> int:
        paths = f"{store.root}/seen/{name}"
        return verify(paths, storage_options=store.options).records

    store.put("seen/a", bytes(frame(RECORDS[:3])))
    assert count("*") == 3
    store.put("seen/b", bytes(frame(RECORDS[:4])))
    assert (count("*"), count("b")) == (7, 4)
    store.put("seen/a", bytes(frame(RECORDS[:9])))
    assert (count("*"), count("a")) == (13, 9)


def test_a_file_that_changes_meanwhile_is_an_error(store: Store) -> None:
    url = store.put("changing", CONTENT)
    options: dict[str, Any] = {"storage_options": store.options, "read_ahead": 500_000}
    records = iter(TFRecordReader(url, **options))
    assert next(records) == RECORDS[0]
    store.put("changing", bytes(frame(RECORDS[::-1])))
    with pytest.raises(OSError, match="has changed while it was read"):
        list(records)


MISSING: dict[str, Callable[[str, dict[str, Any]], Any]] = {
    "reader": lambda url, options: list(TFRecordReader(url, storage_options=options)),
    "by number": lambda url, options: TFRecordFile(url, storage_options=options),
    "load": lambda url, options: load(url, storage_options=options),
}


@pytest.mark.parametrize("way", MISSING)
@pytest.mark.parametrize("name", ["bucket/none", "no-bucket/none"])
def test_what_is_missing_is_file_not_found(store: Store, way: str, name: str) -> None:
    url = f"{store.root.partition('://')[0]}://{name}"
    with pytest.raises(FileNotFoundError) as caught:
        MISSING[way](url, store.options)
    assert str(caught.value.filename) == url


@pytest.mark.parametrize("n_bytes", [1, 8_000_000])
@pytest.mark.parametrize("atomic", [False, True])
def test_no_bucket_is_made_for_a_file(store: Store, n_bytes: int, atomic: bool) -> None:
    url = f"{store.root.partition('://')[0]}://no-bucket/none"
    for _ in range(2):
        with (
            pytest.raises(FileNotFoundError) as caught,
            TFRecordWriter(url, atomic=atomic, storage_options=store.options) as writer,
        ):
            writer.write(bytes(n_bytes))
        assert str(caught.value.filename) == url
    with pytest.raises(FileNotFoundError):
        save(url, {"x": np.zeros(n_bytes // 4)}, storage_options=store.options)


def test_an_object_that_is_removed_after_its_folder_was_listed_is_missing(store: Store) -> None:
    urls = [store.put(f"removed/{name}", CONTENT) for name in "ab"]
    reader = TFRecordReader(f"{store.root}/removed/*", storage_options=store.options)
    store.other.rm(urls[1])
    with pytest.raises(FileNotFoundError) as caught:
        list(reader)
    assert str(caught.value.filename).endswith("removed/b")
