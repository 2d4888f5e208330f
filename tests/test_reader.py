"""TFRecordReader and tf_record_iterator: many files, many iterations, many processes."""

import io
import os
import pickle
import random
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import reference
from tests.support.errors import raised
from tests.support.read_outcome import outcome_of
from tests.support.small_files import write_records
from tests.support.streams import any_stream
from tfrecord_lite import Block, TFRecordReader, TFRecordWriter, encode_examples, testing
from tfrecord_lite.arrays import keep_freed_pages
from tfrecord_lite.block import Place
from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
)
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.reader import tf_record_iterator
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.records.framing import frame
from tfrecord_lite.records.stream import RecordStream

RANDOM = random.Random(11)
# Small ones, some as large as are read past the buffer, some larger than the buffer.
SIZES = [0, 10, 40_000, 5, 32_768, 32_767, 1_048_576, 1, 3_000_000, 100_000, 50_000, 40_000]
SIZES += [7] + [300] * 5000
ITEMS = [RANDOM.randbytes(size) for size in SIZES]
STREAM = bytes(frame(ITEMS))
STARTS = [len(frame(ITEMS[:i])) for i in range(13)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("reader") / "items.tfrecord"
    path.write_bytes(STREAM)
    return str(path)


def written(path: Path, items: list[bytes]) -> str:
    path.write_bytes(bytes(frame(items)))
    return str(path)


def by_iteration(path: Any, **options: Any) -> Iterator[bytes]:
    return iter(TFRecordReader(path, **options))


def by_blocks(path: Any, **options: Any) -> Iterator[bytes]:
    return (item for block in TFRecordReader(path, **options).blocks() for item in block)


def by_blocks_of_three(path: Any, **options: Any) -> Iterator[bytes]:
    return (item for block in TFRecordReader(path, **options).blocks(3) for item in block)


def by_iterator(path: Any) -> Iterator[bytes]:
    with closing(tf_record_iterator(path)) as iterator:
        yield from iterator


every_way = pytest.mark.parametrize(
    "read", [by_iteration, by_blocks, by_blocks_of_three, by_iterator]
)
Read: TypeAlias = "Callable[..., Iterator[bytes]]"


class TestRecords:
    @every_way
    def test_all_come_out_whatever_their_sizes(self, read: Read, path: str) -> None:
        assert list(read(path)) == ITEMS

    @pytest.mark.parametrize("read", [by_iteration, by_blocks, by_blocks_of_three])
    @given(stream=any_stream())
    def test_any_bytes_decode_or_raise_as_the_reference(self, read: Read, stream: bytes) -> None:
        expected = reference.decode(stream)
        found = outcome_of(read(io.BytesIO(stream), compression=""), len(stream))
        assert found == expected
        found = outcome_of(read(io.BytesIO(stream), compression="", verify=False), len(stream))
        assert found == reference.decode(stream, verify=False)

    @pytest.mark.parametrize("read", [by_iteration, by_blocks])
    def test_a_limit_on_records_can_be_given(self, read: Read, path: str) -> None:
        out, loss = outcome_of(read(path, max_record_bytes=2_999_999))
        assert out == ITEMS[:8]
        assert loss == (Reason.RECORD_TOO_LARGE, STARTS[8], 8)
        assert list(read(path, max_record_bytes=3_000_000)) == ITEMS

    @pytest.mark.parametrize("compression", ["", "GZIP"])
    def test_nothing_yields_a_view_that_changes(self, tmp_path: Path, compression: str) -> None:
        # Many times what a buffer holds, and every record another.
        column = np.tile(np.arange(300), (6000, 1))
        column[:, 0] = np.arange(6000)
        items = list(encode_examples({"key": column}))
        path = tmp_path / "numbered"
        write_records(path, items, compression)

        reader = TFRecordReader(path, compression)
        records = list(reader)
        blocks = list(reader.blocks())
        views = [view for block in blocks for view in block.views()]
        few = list(reader.blocks(7))
        arrays = [row["key"] for row in reader.examples()]
        stream = RecordStream(path, ReadSettings(compression))
        mixed: list[bytes | memoryview] = []
        while (block := stream.next_block(5)) is not None:
            mixed += block.to_list()
            mixed += stream.next_records() or []
        stream.close()

        assert records == mixed == items
        assert [record for block in blocks for record in block] == items
        assert [bytes(view) for view in views] == items
        assert [record for block in few for record in block] == items
        assert [int(array[0]) for array in arrays] == list(range(6000))
        assert all(array[1:].tolist() == list(range(1, 300)) for array in arrays)

    @pytest.mark.parametrize(
        "read", [by_iteration, by_blocks, pytest.param(by_blocks_of_three, marks=pytest.mark.slow)]
    )
    @pytest.mark.parametrize("size", [1000, 50_000])
    def test_memory_does_not_grow_with_files(self, read: Read, size: int, tmp_path: Path) -> None:
        path = tmp_path / "long"
        with path.open("wb") as file:
            for _ in range(20):
                file.write(frame([bytes(size)] * (1_000_000 // size)))
        tracemalloc.start()
        try:
            n_records = sum(1 for _ in read(path))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert n_records == 20_000_000 // size
        assert peak < 8 * 2**20


class TestLargeRecords:
    """Records of 32 KiB and more are read past the buffer; what they do must not differ."""

    @pytest.mark.slow
    @every_way
    @pytest.mark.parametrize("index", [10, 2, 8, 4, 6, 9, 11])
    def test_flips_and_cuts_name_their_record(self, read: Read, tmp_path: Path, index: int) -> None:
        path, start, size = tmp_path / "damaged", STARTS[index], SIZES[index]
        for at in (5, 9, 12, size // 2, size + 11, size + 15):
            stream = bytearray(STREAM)
            stream[start + at] ^= 4
            path.write_bytes(stream)
            reason = Reason.LENGTH_CRC if at < 12 else Reason.DATA_CRC
            assert outcome_of(read(path)) == (ITEMS[:index], (reason, start, index))
        for n_bytes in (1, 11, 12, 13, size, size + 12, size + 15):
            path.write_bytes(STREAM[: start + n_bytes])
            assert outcome_of(read(path)) == (ITEMS[:index], (Reason.TRUNCATED, start, index))

    def test_a_file_cut_while_it_is_read(self, tmp_path: Path) -> None:
        # The size of the file was looked at before: half of the third record was there then.
        items = [b"before", bytes(40_000), bytes(2_000_000), bytes(3_000_000)]
        starts = [len(frame(items[:i])) for i in range(4)]
        for keep in (starts[2] + 12, starts[2] + 1_500_000, starts[3] - 1, starts[3] + 12):
            path = tmp_path / f"cut at {keep}"
            records = iter(TFRecordReader(written(path, items)))
            out = [next(records), next(records)]
            os.truncate(path, keep)
            rest, loss = outcome_of(records)
            index = 2 if keep < starts[3] else 3
            assert out + rest == items[:index]
            assert loss == (Reason.TRUNCATED, starts[index], index)

    @pytest.mark.parametrize("n_reads", range(9))
    def test_records_before_a_read_error_come_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_reads: int
    ) -> None:
        items = [RANDOM.randbytes(size) for size in (1_100_000, 40_000, 50_000, 1_200_000, 60_000)]
        records = iter(TFRecordReader(written(tmp_path / "a", items), ""))
        pread, left = os.pread, iter(range(n_reads))

        def failing(*args: Any) -> bytes:
            if next(left, None) is None:
                raise OSError(5, "read error")
            return pread(*args)

        monkeypatch.setattr("os.pread", failing)
        out: list[bytes] = []
        raised(OSError, out.extend, records, match="read error")
        assert out == items[: n_reads // 2]

    def test_the_last_of_several_is_damaged_or_too_large(self, tmp_path: Path) -> None:
        items = [bytes(1_100_000), bytes(40_000), bytes(1_200_000), bytes(50_000)]
        path = written(tmp_path / "a", items)
        too_large = (Reason.RECORD_TOO_LARGE, len(frame(items[:2])), 2)
        assert outcome_of(by_iteration(path, max_record_bytes=1_100_000)) == (items[:2], too_large)
        with (tmp_path / "a").open("ab") as file:  # no buffer has room for that
            file.write(reference.encode_header(2**60))
        cut = (Reason.TRUNCATED, len(frame(items)), 4)
        assert outcome_of(by_iteration(path, max_record_bytes=2**64 - 1)) == (items, cut)

    def test_without_verifying_damaged_data_comes_out(self, tmp_path: Path) -> None:
        stream = bytearray(STREAM)
        stream[STARTS[2] + 12] ^= 1
        (tmp_path / "damaged").write_bytes(stream)
        out = list(TFRecordReader(tmp_path / "damaged", verify=False))
        assert out[2][0] == ITEMS[2][0] ^ 1
        assert out[2][1:] == ITEMS[2][1:]
        assert out[:2] + out[3:] == ITEMS[:2] + ITEMS[3:]

    @pytest.mark.parametrize("index", [2, 6, 8])
    @pytest.mark.parametrize("at", [0, 12, -1])
    def test_a_stream_continues_after_damage(self, tmp_path: Path, index: int, at: int) -> None:
        data = bytearray(STREAM)
        data[STARTS[index] + at % (SIZES[index] + 16)] ^= 1
        (tmp_path / "damaged").write_bytes(data)
        for method in ("next_records", "next_block"):
            stream = RecordStream(tmp_path / "damaged", ReadSettings(""))
            opened = DamageLog("skip", None).skipping(stream)
            out: list[bytes] = []
            while (some := getattr(opened, method)()) is not None:
                out += some
            stream.close()
            assert opened.report().lost_bytes == SIZES[index] + 16
            assert out == ITEMS[:index] + ITEMS[index + 1 :]

    @pytest.mark.parametrize("read", [by_iteration, by_blocks, by_blocks_of_three])
    def test_a_length_that_is_not_there_takes_no_memory(self, read: Read, tmp_path: Path) -> None:
        keep_freed_pages()  # an array once, which is never touched
        path = tmp_path / "promise"
        for length in (2**31 - 1, 2**31, 2**40, 2**62, 2**63, 2**64 - 1):
            path.write_bytes(
                reference.encode([b"one"]) + reference.encode_header(length) + bytes(99)
            )
            tracemalloc.start()
            try:
                out, loss = outcome_of(read(path, max_record_bytes=2**64 - 1))
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert (out, loss) == ([b"one"], (Reason.TRUNCATED, 19, 1))
            assert peak < 4 * 2**20


class TestIterations:
    def test_iterations_do_not_disturb_each_other(self, path: str) -> None:
        reader = TFRecordReader(path)
        first, second, blocks = iter(reader), iter(reader), reader.blocks(7)
        mixed = [(next(first), next(second), list(next(blocks))) for _ in range(20)]
        assert [item for item, _, _ in mixed] == [item for _, item, _ in mixed] == ITEMS[:20]
        assert list(chain(*(block for _, _, block in mixed))) == ITEMS[:140]
        assert list(first) == list(second) == ITEMS[20:]

    def test_the_file_is_read_as_it_is_at_the_iteration(self, tmp_path: Path) -> None:
        path = tmp_path / "later"
        reader = TFRecordReader(path)
        raised(FileNotFoundError, list, reader)
        for items in ([b"one"], [b"two", b"three"]):
            written(path, items)
            assert list(reader) == items


class TestBlocks:
    def test_records_of_a_block_know_their_file_and_place(self, tmp_path: Path) -> None:
        a = written(tmp_path / "a", [b"1", b"22"])
        b = written(tmp_path / "b", [b"333", b"4444"])
        expected = [Place(a, 0, 0), Place(a, 1, 17), Place(b, 0, 0), Place(b, 1, 19)]
        for n_records in (None, 1, 2, 3, 4, 5):
            blocks = TFRecordReader([a, b]).blocks(n_records)
            assert [block.place(i) for block in blocks for i in range(len(block))] == expected

    @pytest.mark.parametrize("wrong", ["2", 2.5, 2.0, b"2", [2], True, 0, -1])
    def test_a_number_of_records_is_a_whole_number(self, wrong: Any) -> None:
        # At once, not at the first block.
        with pytest.raises((TypeError, InvalidArgumentError), match="num_records"):
            TFRecordReader(io.BytesIO()).blocks(wrong)

    @given(st.lists(testing.records(), min_size=1, max_size=3), st.integers(1, 10))
    def test_blocks_hold_all_records(self, lists: list[list[bytes]], n_records: int) -> None:
        sources = [io.BytesIO(reference.encode(items)) for items in lists]
        items = list(chain(*lists))
        blocks = list(TFRecordReader(sources, "").blocks(n_records))
        assert [list(block) for block in blocks] == [
            items[i : i + n_records] for i in range(0, len(items), n_records)
        ]


class TestErrors:
    @pytest.mark.parametrize("n_records", [None, 1, 2, 3, 4, 100])
    def test_records_are_counted_in_each_file(self, tmp_path: Path, n_records: int | None) -> None:
        first = written(tmp_path / "first", [b"1", b"2"])
        second = tmp_path / "second"
        second.write_bytes(reference.encode([b"3", b"4"])[:-1])
        third = written(tmp_path / "third", [b"5"])
        for records in (
            iter(TFRecordReader([first, second, third])),
            (item for block in TFRecordReader([first, second, third]).blocks(n_records)
             for item in block),
        ):  # fmt: skip
            assert [next(records) for _ in range(3)] == [b"1", b"2", b"3"]
            error = raised(DataLossError, next, records)
            assert (error.reason, error.offset, error.index) == (Reason.TRUNCATED, 17, 1)
            assert error.source == str(second)


class TestClosing:
    def test_a_closed_reader_begins_no_iteration(self, path: str) -> None:
        with TFRecordReader(path) as reader:
            assert next(iter(reader)) == ITEMS[0]
        reader.close()
        for records in (iter(reader), reader.blocks()):
            error = raised(FailedPreconditionError, next, records)
            assert (error.reason, error.source) == (Reason.CLOSED, path)

    @pytest.mark.parametrize("start", [iter, TFRecordReader.blocks])
    def test_an_iteration_ends_with_the_error_when_its_reader_is_closed(
        self, path: str, start: Callable[[TFRecordReader], Iterator[bytes | Block]]
    ) -> None:
        reader = TFRecordReader(path)
        records = start(reader)
        next(records)
        reader.close()
        assert raised(FailedPreconditionError, list, records).reason is Reason.CLOSED

    def test_a_file_object_of_the_user_stays_open(self) -> None:
        file = io.BytesIO(STREAM)
        with TFRecordReader(file) as reader:
            next(iter(reader))
        assert not file.closed


class TestProcesses:
    def test_a_pickled_reader_reads_the_same(self, path: str) -> None:
        reader = TFRecordReader([path], "", verify=False, max_record_bytes=3_000_000)
        records = iter(reader)
        next(records)
        again = pickle.loads(pickle.dumps(reader))
        assert list(again) == ITEMS
        assert again.sources == reader.sources
        assert repr(again) == repr(reader)
        records.close()  # type: ignore[attr-defined]

    def test_a_reader_of_a_file_object_cannot_be_pickled(self, path: str) -> None:
        with open(path, "rb") as file:  # noqa: PTH123
            sources: Any
            for sources in (file, [path, file]):
                raised(TypeError, pickle.dumps, TFRecordReader(sources), match="give a path")


class TestIterator:
    def test_r1_it_ends(self, path: str) -> None:
        iterator = tf_record_iterator(path)
        assert list(iterator) == ITEMS
        for _ in range(2):
            raised(StopIteration, next, iterator)

    @pytest.mark.parametrize("compression", ["", "GZIP", "BZ2"])
    def test_r8_it_continues_when_files_grow(self, tmp_path: Path, compression: str) -> None:
        path = tmp_path / "growing"
        iterator, out = None, []
        for i in range(4):
            mode = "a" if i else "w"
            with TFRecordWriter(path, compression, mode=mode) as writer:  # type: ignore[arg-type]
                writer.write(b"%d" % i)
            iterator = iterator or tf_record_iterator(str(path), compression)
            out += list(iterator)
        assert out == [b"0", b"1", b"2", b"3"]

    def test_r8_it_returns_a_cut_record_once_it_is_complete(self, tmp_path: Path) -> None:
        stream = reference.encode([b"one", b"two"])
        path = tmp_path / "growing"
        path.write_bytes(b"")
        iterator = tf_record_iterator(str(path))
        out = []
        for i in range(len(stream)):
            at_edge = i in (0, 19)
            raised(StopIteration if at_edge else DataLossError, next, iterator)
            with path.open("ab") as file:
                file.write(stream[i : i + 1])
            if i + 1 in (19, 38):
                out.append(next(iterator))
        assert out == [b"one", b"two"]

    @pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "BZ2", ""])
    def test_r8_compression_is_told_by_what_comes(self, tmp_path: Path, compression: str) -> None:
        path = tmp_path / "growing"
        with TFRecordWriter(path, compression) as writer:
            writer.write(b"a record")
        content = path.read_bytes()
        for n_bytes in range(14):
            path.write_bytes(content[:n_bytes])
            with closing(RecordStream(path)) as stream:
                for _ in range(2):
                    block, loss = None, None
                    try:
                        block = stream.next_block()
                    except DataLossError as error:
                        loss = error
                    assert (block, loss is None) == (None, n_bytes == 0), n_bytes
                path.write_bytes(content)
                block = stream.next_block()
                assert list(block or []) == [b"a record"], n_bytes
                assert stream.compression == compression

    def test_r8_a_flushed_zlib_file_can_be_followed(self, tmp_path: Path) -> None:
        path = tmp_path / "growing"
        with TFRecordWriter(path, "ZLIB") as writer:
            iterator, out = None, []
            for i in range(5):
                writer.write(b"%d" % i)
                writer.flush()
                iterator = iterator or tf_record_iterator(str(path), "ZLIB")
                part, loss = outcome_of(iterator)
                assert loss is not None
                assert loss.reason is Reason.COMPRESSED_TRUNCATED
                out += part
        assert iterator is not None
        out += list(iterator)
        assert out == [b"0", b"1", b"2", b"3", b"4"]

    @pytest.mark.parametrize("at", [0, 12])
    def test_r7_an_error_is_repeated(self, tmp_path: Path, at: int) -> None:
        stream = bytearray(reference.encode([b"one", b"two", b"three"]))
        stream[19 + at] ^= 1
        path = tmp_path / "damaged"
        path.write_bytes(stream)
        iterator = tf_record_iterator(str(path))
        assert next(iterator) == b"one"
        for _ in range(3):
            error = raised(DataLossError, next, iterator)
            assert (error.offset, error.index) == (19, 1)

    def test_r8_after_close_it_ends_at_once(self, path: str) -> None:
        iterator = tf_record_iterator(path)
        next(iterator)
        iterator.close()
        iterator.close()
        raised(StopIteration, next, iterator)

    def test_c1_nothing_is_found_out(self, tmp_path: Path) -> None:
        path = tmp_path / "compressed"
        with TFRecordWriter(path, "GZIP") as writer:
            writer.write(b"one")
        error = raised(DataLossError, next, tf_record_iterator(str(path)))
        assert (error.reason, error.offset) == (Reason.LENGTH_CRC, 0)
        assert list(tf_record_iterator(str(path), "GZIP")) == [b"one"]
        assert list(tf_record_iterator(str(path), 2)) == [b"one"]

    def test_it_does_not_expand_patterns(self, tmp_path: Path) -> None:
        written(tmp_path / "a", [b"a"])
        raised(FileNotFoundError, tf_record_iterator, str(tmp_path / "*"))


def test_settings_are_keys_of_caches_and_do_not_show_what_opens_a_store() -> None:
    settings, same = (ReadSettings(storage_options={"key": "secret"}) for _ in range(2))
    assert {settings: 1}[same] == 1
    assert settings != ReadSettings(storage_options={"key": "another"})
    assert "secret" not in repr(settings)
