"""Random access to URLs: which requests are made, and what their answers may be."""

import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.errors import raised
from tests.support.http_files import FileServer, serving
from tfrecord_lite import TFRecordFile
from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
)
from tfrecord_lite.files import remote
from tfrecord_lite.index.file import tf_record_random_reader
from tfrecord_lite.index.handles import MAX_GAP_BYTES, MAX_REQUEST_BYTES
from tfrecord_lite.records.framing import frame

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

# From Python 3.12 on a fork warns if there are threads, and NumPy has some of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

RANDOM = random.Random(7)
SMALL = [RANDOM.randbytes(RANDOM.randrange(100)) for _ in range(500)]
LARGE = [RANDOM.randbytes(RANDOM.choice([10, 30_000, 200_000])) for _ in range(60)]


def index_of(records: list[bytes]) -> bytes:
    lines, offset = [], 0
    for record in records:
        lines.append(b"%d %d\n" % (offset, len(record) + 16))
        offset += len(record) + 16
    return b"".join(lines)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as server:
        for name, records in ("/small", SMALL), ("/large", LARGE):
            server.files[name] = bytes(frame(records))
            server.files[f"{name}.idx"] = index_of(records)
        yield server


@pytest.fixture
def memory() -> Iterator[Any]:
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe("/folder/small", bytes(frame(SMALL)))
    yield filesystem
    filesystem.store.clear()


def test_the_file_itself_is_not_read_where_an_index_is_beside_it(server: FileServer) -> None:
    file = TFRecordFile(f"{server.url}/small")
    assert len(file) == len(SMALL)
    assert [path for path, _, _ in server.ranges] == ["/small", "/small.idx"]
    assert server.ranges[0] == ("/small", 0, 12)  # the first header, to check the index
    server.forget()
    assert file[17] == SMALL[17]
    assert server.ranges == [("/small", int(file.indexes[0].offsets[17]), len(SMALL[17]) + 16)]
    assert server.heads == 0


def test_neighbours_are_fetched_by_one_request(server: FileServer) -> None:
    file = TFRecordFile(f"{server.url}/small")
    server.forget()
    wanted = [5, 499, 3, 3, 250, -1]
    assert file.__getitems__(wanted) == [SMALL[i] for i in wanted]
    first, stop = int(file.indexes[0].offsets[3]), int(file.indexes[0].end)
    assert server.ranges == [("/small", first, stop - first)]
    server.forget()
    assert list(file) == SMALL
    assert len(server.ranges) == 1


def test_what_is_far_apart_is_not_fetched_and_requests_have_a_bound(server: FileServer) -> None:
    many = [bytes([i]) * 3_000_000 for i in range(6)]
    server.files["/many"], server.files["/many.idx"] = bytes(frame(many)), index_of(many)
    file = TFRecordFile(f"{server.url}/many")
    server.forget()
    assert file.__getitems__([0, 4]) == [many[0], many[4]]
    assert sorted(server.ranges) == [("/many", 3_000_016 * i, 3_000_016) for i in (0, 4)]
    server.forget()
    assert file.__getitems__(range(6)) == many
    assert len(server.ranges) == 2
    assert max(size for _, _, size in server.ranges) <= MAX_REQUEST_BYTES + 3_000_016
    assert sum(size for _, _, size in server.ranges) == len(server.files["/many"])
    assert MAX_GAP_BYTES < 3_000_000


def test_records_of_several_files_come_in_the_order_asked_for(server: FileServer) -> None:
    file = TFRecordFile([f"{server.url}/large", f"{server.url}/small"])
    everything = LARGE + SMALL
    server.forget()
    for _ in range(5):
        wanted = RANDOM.choices(range(-len(everything), len(everything)), k=40)
        assert file.__getitems__(wanted) == [everything[i] for i in wanted]
        assert list(file.block(np.array(wanted))) == [everything[i] for i in wanted]
    assert file[58:63] == everything[58:63]
    assert list(file) == everything
    assert server.heads == 0


def test_without_an_index_the_file_is_read_once(server: FileServer) -> None:
    del server.files["/small.idx"]
    file = TFRecordFile(f"{server.url}/small")
    assert sum(size for _, _, size in server.ranges) <= len(server.files["/small"]) + 2 * 12
    assert list(file) == SMALL
    server.files["/small.idx"] = b"0 99\n"  # does not fit, and was not asked for
    assert list(TFRecordFile(f"{server.url}/small")) == SMALL
    with pytest.raises(FailedPreconditionError) as caught:
        TFRecordFile(f"{server.url}/small", index=f"{server.url}/small.idx")
    assert caught.value.reason is Reason.STALE_INDEX


def test_damage_and_cut_answers_are_errors(server: FileServer) -> None:
    url = f"{server.url}/small"
    file = TFRecordFile(url)
    offset = int(file.indexes[0].offsets[7])
    content = bytearray(server.files["/small"])
    content[offset + 12] ^= 1
    server.files["/small"] = bytes(content)
    error = raised(DataLossError, file.__getitems__, [9, 7])
    assert (error.reason, error.source, error.index, error.offset) == (
        Reason.DATA_CRC, url, 7, offset,
    )  # fmt: skip
    server.cut = 5
    for ask in (lambda: file[9], lambda: file.__getitems__([9, 300])):
        assert raised(OSError, ask, match="end at byte").filename == url


@pytest.mark.parametrize("status", [503, 429, 1])
def test_a_busy_server_is_asked_again(
    server: FileServer, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "PAUSES", (0.0, 0.0))
    file = TFRecordFile(f"{server.url}/large")
    refusals = [status, 0, status]
    server.refuse = lambda _: refusals.pop() if refusals else 0
    assert file.__getitems__([1, 30, 59]) == [LARGE[1], LARGE[30], LARGE[59]]
    server.refuse = lambda _: status
    error = raised(OSError, file.__getitems__, [1, 30], match="at byte")
    assert error.filename == f"{server.url}/large"


def test_an_error_says_that_the_file_has_changed(server: FileServer) -> None:
    file = TFRecordFile(f"{server.url}/small")
    server.files["/small"] = bytes(frame(SMALL[::-1]))
    with pytest.raises((DataLossError, FailedPreconditionError), match="has changed since"):
        file.block(range(500))


def test_a_server_without_ranges_is_unsupported(server: FileServer) -> None:
    server.ignores_ranges = True
    with pytest.raises(FailedPreconditionError, match="range requests") as caught:
        TFRecordFile(f"{server.url}/small")
    assert caught.value.reason is Reason.UNSUPPORTED


def test_a_file_that_changed_is_stale_in_a_copy(server: FileServer) -> None:
    file = TFRecordFile(f"{server.url}/small")
    assert not file.is_stale
    copied = pickle.loads(pickle.dumps(file))
    assert copied[3] == SMALL[3]
    server.files["/small"] += bytes(frame([b"more"]))
    assert file.is_stale
    with pytest.raises(FailedPreconditionError) as caught:
        pickle.loads(pickle.dumps(file))[3]
    assert caught.value.reason is Reason.STALE_INDEX


def test_other_file_systems_and_saved_indexes(memory: Any) -> None:
    file = TFRecordFile("memory://folder/*")
    assert file.sources in (["memory:///folder/small"], ["memory://folder/small"])
    assert file.__getitems__([7, -1]) == [SMALL[7], SMALL[-1]]
    (name,) = file.save_index()
    assert memory.cat_file(name) == index_of(SMALL)
    again = TFRecordFile("memory://folder/*", storage_options={"skip_instance_cache": True})
    assert list(again) == SMALL
    assert again.place(3) == file.place(3)


def test_an_index_cannot_be_saved_where_nothing_is_written(server: FileServer) -> None:
    error = raised(InvalidArgumentError, TFRecordFile(f"{server.url}/small").save_index)
    assert error.reason is Reason.UNSUPPORTED


@pytest.mark.usefixtures("memory")
def test_storage_options_are_for_urls(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(frame([b"one"]))
    with pytest.raises(InvalidArgumentError, match="storage_options are for URLs"):
        TFRecordFile(tmp_path / "a", storage_options={"key": "secret"})
    mixed = TFRecordFile([tmp_path / "a", "memory://folder/small"], storage_options={})
    assert mixed.__getitems__([0, 1]) == [b"one", SMALL[0]]


def test_the_reader_at_offsets_reads_urls(server: FileServer) -> None:
    reader = tf_record_random_reader(f"{server.url}/small")
    record, offset = reader.read(0)
    assert record == SMALL[0]
    assert reader.read(offset)[0] == SMALL[1]
    raised(IndexError, reader.read, len(server.files["/small"]))
