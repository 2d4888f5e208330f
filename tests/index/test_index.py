"""Random access: TFRecordFile, its index, and the reader at offsets."""

import io
import multiprocessing
import os
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import reference
from tests.support.errors import raised
from tfrecord_lite import (
    ExampleParser,
    FixedLenFeature,
    TFRecordDataset,
    TFRecordFile,
    TFRecordReader,
    TFRecordWriter,
)
from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
)
from tfrecord_lite.index.file import MAX_OPEN, tf_record_random_reader
from tfrecord_lite.index.index import RecordIndex
from tfrecord_lite.messages import Example
from tfrecord_lite.records.framing import frame

# From Python 3.12 on a fork warns if there are threads, and NumPy has some of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def write(path: Path, records: Iterable[bytes]) -> Path:
    path.write_bytes(bytes(frame(list(records))))
    return path


def example(number: int) -> bytes:
    message = Example()
    message.features.feature["n"].int64_list.value.append(number)
    return message.SerializeToString()


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    numbers = iter(range(12))
    return [
        write(tmp_path / f"{i}.tfrecord", [example(next(numbers)) for _ in range(count)])
        for i, count in enumerate((5, 0, 7))
    ]


@given(st.lists(st.lists(st.binary(max_size=400), max_size=6), min_size=1, max_size=3), st.data())
def test_a_file_is_a_sequence_like_the_list_of_its_records(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[bytes]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("files")
    paths = [write(folder / str(i), records) for i, records in enumerate(files)]
    records = [record for each in files for record in each]
    end = len(records) + 2
    numbers = st.integers(-end, end)
    key = data.draw(
        st.slices(len(records)) | st.builds(slice, numbers, numbers, st.sampled_from([-2, 1, 3]))
    )
    with TFRecordFile(paths) as file:
        assert len(file) == len(records)
        assert list(file) == records
        assert file[key] == records[key]
        assert [file[i] for i in range(-len(records), len(records))] == records * 2
        if records:
            valid = st.integers(-len(records), len(records) - 1)
            some = data.draw(st.lists(valid, max_size=20))
            assert file.__getitems__(some) == [records[i] for i in some]


@pytest.mark.parametrize("index", [12, -13, np.int64(99)])
def test_a_number_that_is_not_there_is_an_index_error(shards: list[Path], index: int) -> None:
    file = TFRecordFile(shards)
    for ask in (lambda: file[index], lambda: file.__getitems__([0, index])):
        raised(IndexError, ask, match=f"there is no record {index}; there are 12")
    raised(IndexError, file.place, int(index))


def test_what_is_no_number_is_a_type_error(shards: list[Path]) -> None:
    file = TFRecordFile(shards)
    for ask in (
        lambda: file["a"],  # type: ignore[call-overload]
        lambda: file[1.5],  # type: ignore[call-overload]
        lambda: file.place(1.5),  # type: ignore[arg-type]
        lambda: file.__getitems__([1.5]),  # type: ignore[list-item]
        lambda: file.block(np.array([[1]])),
    ):
        raised(TypeError, ask, match=r"must be (an integer|a vector of integers)")


def test_columns_of_any_records(shards: list[Path]) -> None:
    file = TFRecordFile(shards)
    features = {"n": FixedLenFeature([], "int64")}

    def numbers(indices: Any, features: Any) -> Any:
        column: Any = file.parse(indices, features)["n"]
        return column.tolist()

    assert numbers([11, 0, -6, 0], features) == [11, 0, 6, 0]
    assert numbers(np.arange(12), ExampleParser(features)) == list(range(12))
    assert numbers([1], {"n": FixedLenFeature([1], "int64")}) == [[1]]


def test_an_error_about_a_message_names_its_place(shards: list[Path]) -> None:
    file = TFRecordFile(shards)
    name, index, offset = file.place(8)
    with pytest.raises(InvalidArgumentError) as caught:
        file.parse([8, 9], {"absent": FixedLenFeature([], "int64")})
    assert (name, index) == (str(shards[2]), 3)
    error = caught.value
    assert (error.source, error.index, error.offset) == (name, index, offset)
    assert (error.reason, error.key) == (Reason.MISSING, "absent")
    assert offset == sum(len(example(i)) + 16 for i in (5, 6, 7))


def test_damaged_data_is_reported_of_its_record_and_of_no_other(shards: list[Path]) -> None:
    file = TFRecordFile(shards, index=None)
    _, _, offset = file.place(2)
    times = shards[0].stat()
    flip(shards[0], offset + 13)
    os.utime(shards[0], ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file.__getitems__([0, 1, 3, 11]) == [example(i) for i in (0, 1, 3, 11)]
    for ask in (lambda: file[2], lambda: file.block([0, 11, 2, 1])):
        error = raised(DataLossError, ask)
        assert (error.reason, error.source) == (Reason.DATA_CRC, str(shards[0]))
        assert (error.index, error.offset) == (2, offset)
    assert TFRecordFile(shards, verify=False)[2] != example(2)


def test_a_damaged_length_ends_the_scan(shards: list[Path]) -> None:
    flip(shards[2], 2)
    error = raised(DataLossError, TFRecordFile, shards)
    assert (error.reason, error.offset, error.source) == (Reason.LENGTH_CRC, 0, str(shards[2]))


def test_a_file_that_changed_is_noticed(shards: list[Path]) -> None:
    file = TFRecordFile(shards)
    copy = pickle.loads(pickle.dumps(file))
    with TFRecordWriter(shards[0], mode="a") as writer:
        writer.write(b"more")
    assert copy[11] == example(11)
    with pytest.raises(FailedPreconditionError) as caught:
        copy[0]
    assert (caught.value.reason, caught.value.source) == (Reason.STALE_INDEX, str(shards[0]))
    assert len(TFRecordFile(shards)) == 13


def test_a_file_written_over_while_it_is_open_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b"one", b"two"])
    file = TFRecordFile(path)
    assert file[1] == b"two"
    with path.open("r+b") as same:  # the same inode, so the open file sees it
        same.write(bytes(frame([b"of another size"]))[:38])
    with pytest.raises(FailedPreconditionError) as caught:
        file[0]
    assert caught.value.reason is Reason.STALE_INDEX


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "BZ2"])
def test_a_compressed_file_is_refused_with_advice(tmp_path: Path, compression: str) -> None:
    with TFRecordWriter(tmp_path / "a", compression) as writer:
        writer.write(b"one" * 10)
    error = raised(FailedPreconditionError, TFRecordFile, tmp_path / "a", match="TFRecordReader")
    assert error.reason is Reason.UNSUPPORTED


def test_what_has_no_offsets_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    sources: list[Any] = [io.BytesIO(), [tmp_path / "absent", io.BytesIO()]]
    for source in sources:
        assert raised(FailedPreconditionError, TFRecordFile, source).reason is Reason.UNSUPPORTED
    with pytest.raises(FileNotFoundError, match="the folder is empty"):
        TFRecordFile(tmp_path)  # a pipe is no data file of a folder
    raised(FileNotFoundError, TFRecordFile, tmp_path / "absent")


def test_an_index_saved_is_the_index_loaded(shards: list[Path]) -> None:
    file = TFRecordFile(shards)
    names = file.save_index()
    assert names == [f"{path}.idx" for path in shards]
    sizes = [len(example(i)) + 16 for i in range(2)]
    assert (shards[0].parent / "0.tfrecord.idx").read_text("ascii").splitlines()[:2] == [
        f"0 {sizes[0]}",
        f"{sizes[0]} {sizes[1]}",
    ]
    assert Path(names[1]).read_bytes() == b""
    for again in (TFRecordFile(shards), TFRecordFile(shards, index=names)):
        assert list(again) == list(file)
        for one, other in zip(again.indexes, file.indexes, strict=True):
            assert one.offsets.tolist() == other.offsets.tolist()
            assert one.sizes.tolist() == other.sizes.tolist()


def test_an_index_beside_is_used_only_where_it_is_whole_and_fits(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b"one", b"two", b"three"])
    beside = tmp_path / "a.idx"
    whole = "0 19\n19 19\n38 21\n"

    for content in (
        "0 19\n19 19\n",  # not to the end
        "19 19\n38 21\n",  # not from the start
        "0 19\n38 21\n",  # not without a gap
        "0 19\n19 19\n38 22\n",  # beyond the end
        "0 20\n20 18\n38 21\n",  # not the first record's length
        "19 19\n0 19\n38 21\n",  # not in order
        "zero one\n",
        "-1 19\n",
        "",
    ):
        beside.write_text(content)
        assert list(TFRecordFile(path)) == [b"one", b"two", b"three"], content
        raised((FailedPreconditionError, InvalidArgumentError), TFRecordFile, path, index=beside)

    beside.write_text(whole)
    os.utime(beside, (0, 0))
    file = TFRecordFile(path)
    assert len(file) == 3
    error = raised(FailedPreconditionError, TFRecordFile, path, index=beside)
    assert error.reason is Reason.STALE_INDEX


@pytest.mark.parametrize("content", ["0 19\n19 x\n", "0\n", "0 1 2\n", "9" * 30 + " 1\n"])
def test_what_is_no_index_is_malformed(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "a", [b"one"])
    (tmp_path / "index").write_text(content)
    error = raised(InvalidArgumentError, TFRecordFile, path, index=tmp_path / "index")
    assert error.reason is Reason.MALFORMED


def test_indexes_are_one_a_file(shards: list[Path]) -> None:
    error = raised(InvalidArgumentError, TFRecordFile, shards, index="one")
    assert error.reason is Reason.BAD_ARGUMENT


@pytest.mark.parametrize(
    ("offsets", "sizes"), [([0], []), ([-1], [16]), ([0], [15]), ([2**62], [16]), ([0], [2**62])]
)
def test_an_index_that_cannot_be_is_refused(offsets: list[int], sizes: list[int]) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        RecordIndex(np.array(offsets, np.int64), np.array(sizes, np.int64))
    assert caught.value.reason is Reason.BAD_ARGUMENT


def _read_back(file: TFRecordFile, indices: list[int], results: object) -> None:
    results.put(file.__getitems__(indices))  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_share_a_file(shards: list[Path], method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    file = TFRecordFile(shards)
    assert file[0] == example(0)  # is open now
    results = context.Queue()
    processes = [
        context.Process(target=_read_back, args=(file, [11, i, 0], results)) for i in range(2)
    ]
    for process in processes:
        process.start()
    found = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sorted(found) == sorted([example(11), example(i), example(0)] for i in range(2))
    assert file[5] == example(5)


def test_more_files_than_are_kept_open(tmp_path: Path) -> None:
    n_files = MAX_OPEN + 8
    paths = [write(tmp_path / f"{i:03}", [b"%d" % i]) for i in range(n_files)]
    file = TFRecordFile(paths)
    assert list(file) == [b"%d" % i for i in range(n_files)]
    assert file._local.cache_info().currsize == MAX_OPEN
    file.close()
    assert file._local.cache_info().currsize == 0


def test_after_close_nothing_is_read(shards: list[Path]) -> None:
    with TFRecordFile(shards) as file:
        pass
    for ask in (lambda: file[0], lambda: file.block([1]), lambda: list(file)):
        assert raised(FailedPreconditionError, ask).reason is Reason.CLOSED


def test_the_reader_at_offsets_walks_through_a_file_rule_r10(shards: list[Path]) -> None:
    reader = tf_record_random_reader(shards[0])
    records, offset = [], 0
    while offset < shards[0].stat().st_size:
        record, offset = reader.read(offset)
        records.append(record)
    assert records == list(TFRecordReader(shards[0]))
    for end in (offset, offset + 5, -1):
        raised(IndexError, reader.read, end, match=f"offset {end}")
    assert pickle.loads(pickle.dumps(reader)).read(0) == reader.read(0)
    reader.close()
    reader.close()
    assert raised(FailedPreconditionError, reader.read, 0).reason is Reason.CLOSED


@pytest.mark.parametrize(("content", "offset", "reason"), [
    (frame([b"one"]), 1, Reason.LENGTH_CRC), (frame([b"one"])[:-1], 0, Reason.TRUNCATED),
    (frame([b"one"])[:5], 0, Reason.TRUNCATED), (frame([b"one"])[:-1] + b"!", 0, Reason.DATA_CRC),
    (bytes.fromhex("00000000010000005a2cd2a3"), 0, Reason.LENGTH_CRC),
])  # fmt: skip
def test_errors_at_offsets(tmp_path: Path, content: bytes, offset: int, reason: Reason) -> None:
    (tmp_path / "a").write_bytes(content)
    error = raised(DataLossError, tf_record_random_reader(tmp_path / "a").read, offset)
    assert (error.reason, error.offset) == (reason, offset)


def test_a_length_that_lies_takes_no_memory(tmp_path: Path) -> None:
    from tfrecord_lite.records.crc32c import masked_crc32c

    for n_bytes, reason in ((2**30, Reason.TRUNCATED), (2**40, Reason.RECORD_TOO_LARGE)):
        head = n_bytes.to_bytes(8, "little")
        (tmp_path / "a").write_bytes(head + masked_crc32c(head).to_bytes(4, "little"))
        error = raised(DataLossError, tf_record_random_reader(tmp_path / "a").read, 0)
        assert error.reason is reason


def test_a_file_that_has_grown_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "n.tfrecord"
    path.write_bytes(reference.encode([b"1"]))
    file = TFRecordFile(path)
    shuffled = TFRecordDataset(path).shuffle_all(1)
    assert not file.is_stale
    assert list(shuffled) == [b"1"]
    path.write_bytes(reference.encode([b"1", b"2"]))
    assert file.is_stale
    assert sorted(shuffled) == [b"1", b"2"]
