"""What is fetched of a store ahead of its reader: all of it, once, and nothing after the reader has gone."""

import contextlib
import gzip
import importlib
import io
import json
import multiprocessing
import threading
import time
import warnings
import zlib
from collections import deque
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.support.errors import raised
from tests.support.http_files import FileServer, serving
from tfrecord_lite import (
    FixedLenFeature,
    Schema,
    TFRecordDataset,
    TFRecordReader,
    TFRecordWriter,
    load,
)
from tfrecord_lite.errors import DataLossError
from tfrecord_lite.files import remote
from tfrecord_lite.files.ahead import MAX_REQUESTS, PIECE_BYTES, ReadAhead
from tfrecord_lite.files.names import name_of
from tfrecord_lite.records.framing import frame

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

RECORDS = [bytes([i % 251]) * 1000 for i in range(200)]
FRAME = 1016
SIZE = len(RECORDS) * FRAME
SMALL_PIECES: dict[str, Any] = {"read_ahead": 80_000, "storage_options": {"block_size": 10_000}}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSES", (0.0,) * 4)


@pytest.fixture(scope="module")
def a_server() -> Iterator[FileServer]:
    with serving() as server:
        yield server


@pytest.fixture
def server(a_server: FileServer) -> FileServer:
    a_server.reset()
    a_server.files = {"/a": bytes(frame(RECORDS))}
    return a_server


def idle(server: FileServer) -> int:
    """Wait until nobody asks any more; return how many requests there were."""
    deadline = time.monotonic() + 5
    while server.n_at_once and time.monotonic() < deadline:
        time.sleep(0.01)
    return server.n_requests


sizes = st.lists(st.lists(st.integers(0, 2000), max_size=20), min_size=1, max_size=5)


@given(
    sizes,
    st.integers(1500, 20_000),
    st.one_of(st.none(), st.sampled_from([0, 5000, 50_000])),
    st.integers(1, 3),
    st.booleans(),
)
def test_everything_comes_back_and_each_byte_once(
    a_server: FileServer,
    sizes: list[list[int]],
    block_size: int,
    read_ahead: int | None,
    n_at_once: int,
    is_gzip: bool,
) -> None:
    a_server.reset()
    files = [[bytes([i % 251]) * n for i, n in enumerate(one)] for one in sizes]
    contents = [bytes(frame(records)) for records in files]
    contents = list(map(gzip.compress, contents)) if is_gzip else contents
    a_server.files = {f"/{i}": content for i, content in enumerate(contents)}
    urls = [f"{a_server.url}{name}" for name in a_server.files]
    options: dict[str, Any] = {
        "read_ahead": read_ahead,
        "storage_options": {"block_size": block_size},
    }
    assert list(TFRecordReader(urls, **options)) == [one for records in files for one in records]
    if read_ahead != 0:
        n_states = 3 * len(urls)  # each of a byte
        assert a_server.n_sent <= sum(map(len, contents)) + n_states
        assert a_server.most_at_once <= MAX_REQUESTS + 2 * len(urls)
    dataset = TFRecordDataset(urls, **options).interleave(n_at_once)
    assert sorted(dataset) == sorted(one for records in files for one in records)


def test_a_first_look_fetches_little_and_the_next_sizes_are_asked_for(server: FileServer) -> None:
    large = bytes(frame([b"x" * 100_000] * 300))
    server.files = {f"/{i}": large for i in range(8)}
    urls = [f"{server.url}/{i}" for i in range(8)]
    records = iter(TFRecordReader(urls[:4]))
    next(records)
    deadline = time.monotonic() + 20
    while ("/1", 0, 1) not in server.ranges and time.monotonic() < deadline:
        time.sleep(0.01)
    idle(server)
    assert server.n_sent <= 2 * PIECE_BYTES + 4
    assert ("/1", 0, 1) in server.ranges
    del records
    assert len(list(TFRecordReader(urls[4:]))) == 1200
    n_sent = sum(n_bytes for name, _, n_bytes in server.ranges if name >= "/4")
    assert n_sent <= 1.001 * 4 * len(large)


def test_what_is_held_has_a_bound_over_all_files(server: FileServer) -> None:
    server.files = {f"/{i}": bytes(frame(RECORDS)) for i in range(8)}
    urls = [f"{server.url}{name}" for name in server.files]
    n_read = 0
    for _ in TFRecordReader(urls, **SMALL_PIECES):
        n_read += FRAME
        assert server.n_sent <= n_read + 80_000 + 1024 * 1024  # and what the decoder has read
    server.forget()
    with ReadAhead(urls, {"block_size": 10_000}, 80_000, 4) as ahead:
        files = [ahead.open(url) for url in urls[:4]]
        for file in files * 8:
            assert file is not None
            file.read(10_000)
            idle(server)
        assert server.n_sent - 8 * 4 * 10_000 <= 80_000 + 8


def test_files_in_turns_are_fetched_equally_from_the_start(server: FileServer) -> None:
    server.files = {f"/{i}": bytes(frame(RECORDS)) for i in range(6)}
    urls = [f"{server.url}{name}" for name in server.files]
    with ReadAhead(urls, {"block_size": 10_000}, 80_000, 4) as ahead:
        files = [ahead.open(url) for url in urls[:4]]
        assert files[0] is not None
        files[0].read(10)
        deadline = time.monotonic() + 20
        while len(server.ranges) < 6 + 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        idle(server)
    assert [(first, n > 1) for _, first, n in server.ranges].count((0, True)) == 4
    assert len(server.ranges) <= 6 + 8


@pytest.mark.parametrize("options", [{}, {"cache_type": "all"}])
def test_a_sidecar_costs_the_head_of_its_file(server: FileServer, options: dict[str, Any]) -> None:
    content = io.BytesIO()
    with TFRecordWriter(content) as writer:
        writer.write_examples({"x": [[1.0] * 1000] * 1000})
    data = content.getvalue()
    fingerprint = {"bytes": len(data), "crc32_of_head": zlib.crc32(data[: 64 * 1024])}
    schema = json.loads(Schema({"x": FixedLenFeature([1000], "float32")}).to_json())
    sidecar = json.dumps({**schema, "data": fingerprint}).encode()
    server.files = {"/a": data, "/a.schema.json": sidecar}
    assert len(load(f"{server.url}/a", storage_options=options)["x"]) == 1000
    n_sent = sum(n for name, _, n in server.ranges if name == "/a")
    assert n_sent <= 1.02 * len(data)


def leave_by_close(reader: TFRecordReader) -> None:
    records = iter(reader)
    next(records)
    reader.close()


def leave_by_break(reader: TFRecordReader) -> None:
    for _ in reader:
        break


def leave_by_error(reader: TFRecordReader) -> None:
    with contextlib.suppress(KeyError):
        for _ in reader:
            raise KeyError


def leave_stages(reader: TFRecordReader) -> None:
    dataset = (
        TFRecordDataset(map(name_of, reader.sources), **SMALL_PIECES)
        .interleave(2)
        .shuffle(5, seed=1)
    )
    for _ in dataset:
        break


@pytest.mark.parametrize("leave", [leave_by_close, leave_by_break, leave_by_error, leave_stages])
def test_nothing_is_asked_for_after_the_reader_has_gone(server: FileServer, leave: Any) -> None:
    server.files = {f"/{i}": bytes(frame(RECORDS)) for i in range(4)}
    server.latency = 0.02
    leave(TFRecordReader([f"{server.url}/{i}" for i in range(4)], **SMALL_PIECES))
    time.sleep(0.1)  # what was sent before may still arrive
    n_requests = idle(server)
    time.sleep(0.1)
    assert server.n_requests == n_requests
    assert server.n_sent < 4 * SIZE


@pytest.mark.filterwarnings("ignore:.*asked again")
@pytest.mark.parametrize("place", [0, 10_000, 50_000, 150_000])
@pytest.mark.parametrize("status", [403, 404, 500, 1])
def test_an_error_comes_after_the_records_before_it_with_url_and_offset(
    server: FileServer, place: int, status: int
) -> None:
    server.refuse = lambda first: status if first == place and first else 0
    url, records = f"{server.url}/a", list[bytes]()
    if not place:
        server.refuse = lambda _: status
    reader = TFRecordReader(url, **SMALL_PIECES)
    error = raised(OSError, deque, map(records.append, reader), 0, match=r"at byte|answered")
    assert error.filename == url
    assert records == RECORDS[: place // FRAME]
    assert not place or f"at byte {place:,}" in str(error)


@given(st.dictionaries(st.integers(0, 20), st.sampled_from([429, 500, 503, 1]), max_size=6))
def test_a_busy_server_is_asked_again(a_server: FileServer, refusals: dict[int, int]) -> None:
    a_server.reset()
    a_server.files = {"/a": bytes(frame(RECORDS))}
    waiting = {10_000 * n: status for n, status in refusals.items() if n}
    given_up = dict(waiting)
    a_server.refuse = lambda first: given_up.pop(first or 0, 0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert list(TFRecordReader(f"{a_server.url}/a", **SMALL_PIECES)) == RECORDS
    assert len(said) == bool(waiting)
    assert not waiting or "asked again" in str(said[0].message)


@pytest.mark.parametrize("n_read", [0, 50, 100])
@pytest.mark.parametrize("other", [RECORDS[:120], RECORDS + RECORDS, RECORDS[::-1], None])
def test_a_file_that_changes_meanwhile_is_an_error(server: Any, n_read: int, other: Any) -> None:
    records = iter(TFRecordReader(f"{server.url}/a", **SMALL_PIECES).blocks(1))
    before = [next(records).to_list()[0] for _ in range(n_read + 1)]
    if other is None:
        del server.files["/a"]
    else:
        server.files["/a"] = bytes(frame(other))
    with pytest.raises(OSError, match=r"has changed while it was read|No such file") as caught:
        before += [block.to_list()[0] for block in records]
    assert caught.value.filename == f"{server.url}/a"
    assert before[: n_read + 1] == RECORDS[: n_read + 1]


def rest_of(records: Iterator[bytes], queue: Any) -> None:
    queue.put(list(records))


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="there are no forks here"
)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("n_read", [1, 100])
def test_a_fork_reads_on_by_itself(server: FileServer, n_read: int) -> None:
    server.files["/b"] = bytes(frame(RECORDS))
    urls = [f"{server.url}/a", f"{server.url}/b"]
    # Small files, so that the reader holds little.
    records = iter(TFRecordReader(urls, **SMALL_PIECES))
    first = [next(records) for _ in range(n_read)]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=rest_of, args=(records, queue))
    child.start()
    theirs = queue.get(timeout=30)
    child.join()
    assert first + theirs == RECORDS * 2
    assert first + list(records) == RECORDS * 2


def test_a_file_is_read_from_an_offset_and_to_an_offset(server: FileServer) -> None:
    with ReadAhead((), {"block_size": 10_000}) as ahead:
        file = ahead.open(f"{server.url}/a")
        assert file is not None
        file.skip(50_000)
        file.end_at(75_000)
        content = b"".join(iter(lambda: file.read(7000), b""))
        assert content == server.files["/a"][50_000:75_000]
        assert server.n_sent <= 25_000 + 2
        assert file.remaining() == SIZE - 75_000
        file.rewind()
        file.end_at(None)
        assert file.peek(25_000) == server.files["/a"][:25_000]
        assert file.read(5) == server.files["/a"][:5]


def test_damage_and_empty_files(server: FileServer) -> None:
    content = bytearray(server.files["/a"])
    content[100 * FRAME + 500] ^= 1
    server.files = {"/a": bytes(content), "/none": b""}
    reader = TFRecordReader(f"{server.url}/a", **SMALL_PIECES)
    assert raised(DataLossError, list, reader).index == 100
    assert list(TFRecordReader(f"{server.url}/none")) == []


def test_a_large_file_of_a_server_without_ranges_comes_in_one_stream(server: FileServer) -> None:
    large = [bytes([i]) * 100_000 for i in range(120)]
    server.files["/a"] = bytes(frame(large))
    server.ignores_ranges = True
    assert list(TFRecordReader(f"{server.url}/a")) == large
    assert server.n_requests <= 3
    assert list(TFRecordDataset(f"{server.url}/a").shuffle(1, seed=1)) == large


class Threaded(fsspec.AbstractFileSystem):  # type: ignore[misc, name-defined]
    protocol = "webhdfs"
    cachable = False
    content = bytes(frame(RECORDS))

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": len(self.content), "type": "file"}

    def cat_file(self, path: str, start: Any = None, end: Any = None, **_: Any) -> bytes:
        time.sleep(0.005)
        if path.endswith("broken") and start:
            raise ConnectionResetError
        return self.content[start:end]


def test_threads_fetch_ranges_where_coroutines_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Any = importlib.import_module("fsspec.registry")
    monkeypatch.setitem(registry._registry, "webhdfs", Threaded)
    before = threading.active_count()
    assert list(TFRecordReader("webhdfs://host/a", **SMALL_PIECES)) == RECORDS
    with pytest.raises(ConnectionResetError, match="at byte 10,000"):
        list(TFRecordReader("webhdfs://host/broken", **SMALL_PIECES))
    assert threading.active_count() <= before + 1
