"""Compressed streams: what comes out of intact, cut and damaged ones, and with which reason."""

import bz2
import gzip
import io
import random
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import reference
from tests.support.errors import raised
from tests.support.file_objects import Pipe
from tests.support.read_outcome import Outcome, outcome_of
from tfrecord_lite import TFRecordReader, TFRecordWriter, recover, verify
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason
from tfrecord_lite.files.compression import CODECS, TFRecordOptions, codec_named, detect
from tfrecord_lite.options import OnError, ReadSettings
from tfrecord_lite.records.framing import frame
from tfrecord_lite.records.stream import RecordStream

NAMES = ["GZIP", "ZLIB", pytest.param("ZSTD", marks=pytest.mark.needs("zstd")), "BZ2"]

ITEMS = [b"one", b"", b"three" * 50, bytes(300), b"last"]
STREAM = reference.encode(ITEMS)
RANDOM = random.Random(7)
LARGE_ITEMS = [RANDOM.randbytes(RANDOM.randrange(60_000)) for _ in range(40)]
LARGE_STREAM = bytes(frame(LARGE_ITEMS))


def zstd_module() -> Any:
    if sys.version_info >= (3, 14):
        return pytest.importorskip("compression.zstd")
    return pytest.importorskip("backports.zstd")


def compress(name: str, data: bytes) -> bytes:
    """Compress with the library that defines the format, not with the package."""
    if name == "GZIP":
        return gzip.compress(data, mtime=0)
    if name == "ZLIB":
        return zlib.compress(data)
    if name == "BZ2":
        return bz2.compress(data)
    return bytes(zstd_module().compress(data))


def inflatable(name: str, data: bytes) -> bytes:
    """Return all that the library that defines the format gets out of the start of a stream."""
    if name == "GZIP":
        return zlib.decompressobj(31).decompress(data)
    if name == "ZLIB":
        return zlib.decompressobj().decompress(data)
    if name == "BZ2":
        return bz2.BZ2Decompressor().decompress(data)
    return bytes(zstd_module().ZstdDecompressor().decompress(data))


def read(source: Any, compression: str | None) -> Outcome:
    """Read record by record, until the end or the error, which has to be there to stay."""
    return outcome_of(iter(TFRecordReader(source, compression)))


def read_blocks(source: Any, compression: str | None) -> Outcome:
    blocks = TFRecordReader(source, compression).blocks()
    return outcome_of(record for block in blocks for record in block)


# GZIP and ZLIB are read by one of two libraries; by default each of the four is tried once.
WAYS = {
    "GZIP by isal": [pytest.mark.needs("fast")], "GZIP by zlib": [pytest.mark.slow],
    "ZLIB by isal": [pytest.mark.needs("fast"), pytest.mark.slow], "ZLIB by zlib": [],
    "ZSTD": [pytest.mark.needs("zstd")], "BZ2": [],
}  # fmt: skip


@pytest.fixture(params=[pytest.param(way, marks=marks) for way, marks in WAYS.items()])
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a compression, after making sure of the library that reads it."""
    name, _, library = request.param.partition(" by ")
    if library == "zlib":
        monkeypatch.setitem(sys.modules, "isal", None)
    return str(name)


def by_way(*names: str) -> pytest.MarkDecorator:
    ways = [pytest.param(way, marks=m) for way, m in WAYS.items() if way.partition(" ")[0] in names]
    return pytest.mark.parametrize("name", ways, indirect=True)


class TestSoundStreams:
    @pytest.mark.parametrize("items", [[], ITEMS, LARGE_ITEMS], ids=["none", "few", "many"])
    def test_all_records_come_out(self, name: str, items: list[bytes]) -> None:
        stream = compress(name, bytes(frame(items)))
        assert read(io.BytesIO(stream), name) == (items, None)
        assert read(io.BytesIO(stream), None) == (items, None)
        assert read_blocks(io.BytesIO(stream), name) == (items, None)

    @pytest.mark.parametrize("most", [1, 7, 4096])
    def test_a_pipe_may_give_few_bytes_at_a_time(self, name: str, most: int) -> None:
        stream = compress(name, STREAM)
        assert read(Pipe(stream, most), name) == (ITEMS, None)
        assert read(Pipe(stream, most), None) == (ITEMS, None)

    @by_way("GZIP", "ZSTD", "BZ2")
    @pytest.mark.parametrize("most", [1, 2**20])
    def test_c5_f4_a_stream_may_follow_another(self, name: str, most: int) -> None:
        half = len(STREAM) // 2  # inside a record
        stream = b"".join(
            compress(name, part) for part in (b"", STREAM[:half], b"", STREAM[half:], STREAM, b"")
        )
        assert read(io.BytesIO(stream), name) == (ITEMS * 2, None)
        assert read(Pipe(stream, most), name) == (ITEMS * 2, None)

    @by_way("GZIP")
    def test_c6_gzip_headers_may_have_a_time_a_name_a_comment_and_more(self, name: str) -> None:
        body = compress(name, STREAM)[10:]
        extra, title, comment = b"\x04\x00abcd", b"name\0", b"comment\0"
        for flags in range(32):
            head = b"\x1f\x8b\x08" + bytes([flags]) + b"\x01\x02\x03\x04\x02\x07"
            head += extra * bool(flags & 4) + title * bool(flags & 8) + comment * bool(flags & 16)
            if flags & 2:
                head += (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little")
            assert read(io.BytesIO(head + body), name) == (ITEMS, None)
            assert read(Pipe(head + body, 1), None) == (ITEMS, None)

    @by_way("GZIP", "ZLIB")
    @pytest.mark.parametrize("mode", [zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_BLOCK])
    def test_c7_flushes_at_every_byte_mean_nothing(self, name: str, mode: int) -> None:
        inner = zlib.compressobj(wbits=31 if name == "GZIP" else 15)
        stream = inner.flush(mode)
        for i in range(len(STREAM)):
            stream += inner.compress(STREAM[i : i + 1]) + inner.flush(mode)
        stream += inner.flush(mode) + inner.flush()
        assert read(io.BytesIO(stream), name) == (ITEMS, None)


class TestCutStreams:
    @pytest.mark.slow
    @pytest.mark.parametrize("n_before", [0, 1])
    def test_c3_a_cut_stream_gives_all_then_the_error(self, name: str, n_before: int) -> None:
        if n_before and name == "ZLIB":
            return  # one stream only
        stream = compress(name, STREAM)
        for n_bytes in range(1, len(stream)):
            cut = stream * n_before + stream[:n_bytes]
            inflated = STREAM * n_before + inflatable(name, stream[:n_bytes])
            before, _ = reference.decode(inflated)
            expected = (before, (Reason.COMPRESSED_TRUNCATED, len(frame(before)), len(before)))
            assert read(io.BytesIO(cut), name) == expected
            assert read_blocks(io.BytesIO(cut), name) == expected
            assert read(Pipe(cut, 5), name) == expected
            if len(cut) >= 4:
                assert read(io.BytesIO(cut), None) == expected

    def test_c3_a_long_stream_cut_anywhere(self, name: str) -> None:
        stream = compress(name, LARGE_STREAM)
        last = random.Random(1).sample(range(len(stream) - 8, len(stream)), 3)
        for cut in (64 * 1024, len(stream) // 2, *last):
            inflated = inflatable(name, stream[:cut])
            outcome = read(io.BytesIO(stream[:cut]), name)
            whole = large_items_in(inflated)
            assert outcome.records == whole
            assert outcome.loss == (Reason.COMPRESSED_TRUNCATED, len(frame(whole)), len(whole))


class TestDamagedStreams:
    @by_way("GZIP", "ZLIB", "BZ2")
    @pytest.mark.parametrize("items", [[], ITEMS, LARGE_ITEMS], ids=["none", "few", "many"])
    def test_c4_records_come_before_a_wrong_trailer(self, name: str, items: list[bytes]) -> None:
        stream = bytearray(compress(name, bytes(frame(items))))
        stream[-3] ^= 0x55
        expected = (items, (Reason.COMPRESSED_CORRUPT, len(frame(items)), len(items)))
        assert read(io.BytesIO(stream), name) == expected
        assert read_blocks(io.BytesIO(stream), name) == expected

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_a_flipped_bit_is_found_after_its_start(self, name: str, data: st.DataObject) -> None:
        stream = bytearray(compress(name, STREAM))
        bit = data.draw(st.integers(0, 8 * len(stream) - 1))
        stream[bit // 8] ^= 1 << (bit % 8)
        for source in (io.BytesIO(stream), Pipe(bytes(stream), 50)):
            out, loss = read(source, name)
            assert out == ITEMS[: len(out)]
            # Some bits mean nothing: those of gzip's time, or where two matches are the same.
            assert out == ITEMS if loss is None else loss.index == len(out)

    @pytest.mark.needs("fast")
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    @pytest.mark.parametrize("name", ["GZIP", "ZLIB"])
    def test_isal_is_zlib(self, name: str, monkeypatch: pytest.MonkeyPatch, data: Any) -> None:
        stream = bytearray(compress(name, STREAM + LARGE_STREAM[:3000]))
        start = data.draw(st.integers(0, len(stream)))
        stop = data.draw(st.integers(start, len(stream)))
        stream[start:stop] = data.draw(st.binary(max_size=20))
        with_isal = read(io.BytesIO(stream), name)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "isal", None)
            with_zlib = read(io.BytesIO(stream), name)
        assert with_isal.records == with_zlib.records
        assert (with_isal.loss is None) == (with_zlib.loss is None)

    @by_way("GZIP", "ZLIB")
    @pytest.mark.parametrize("at", [70_000, 300_000, 500_000])
    def test_all_records_before_damage_in_a_long_stream_come_out(self, name: str, at: int) -> None:
        inner = zlib.compressobj(0, wbits=31 if name == "GZIP" else 15)
        stream = bytearray(inner.compress(LARGE_STREAM) + inner.flush())
        # A stored block's length and its complement, which do not match then. The damage is
        # found there, and not by a record's CRC.
        header = next(i for i in range(at, len(stream)) if is_stored_block(stream, i))
        stream[header + 3] ^= 0xFF
        inflated = inflatable(name, bytes(stream[:header]))
        whole = large_items_in(inflated)
        outcome = read(io.BytesIO(stream), name)
        assert outcome.records == whole
        assert outcome.loss == (Reason.COMPRESSED_CORRUPT, len(frame(whole)), len(whole))

    def test_the_error_is_repeated(self, name: str) -> None:
        intact = compress(name, STREAM)
        wrong = bytearray(intact)
        wrong[-2] ^= 0x55
        for stream in (
            intact + b"junk", intact + b"\0" * 70_000, intact[:-1], bytes(wrong), b"junk",
        ):  # fmt: skip
            for source in (io.BytesIO(stream), Pipe(stream, 1)):
                reasons = reasons_of_three_calls(source, name)
                assert len(set(reasons)) == 1, (stream, source)
                assert len(reasons) == 3, (stream, source)


def is_stored_block(stream: bytearray, at: int) -> bool:
    length = int.from_bytes(stream[at + 1 : at + 3], "little")
    complement = int.from_bytes(stream[at + 3 : at + 5], "little")
    return stream[at] == 0 and length == complement ^ 0xFFFF and length > 1000


def large_items_in(inflated: bytes) -> list[bytes]:
    """Return the whole records at the start of LARGE_STREAM; the reference is slow on it."""
    whole, end = [], 0
    for item in LARGE_ITEMS:
        end += len(item) + 16
        if end > len(inflated):
            break
        whole.append(item)
    return whole


def reasons_of_three_calls(source: Any, name: str) -> list[Reason]:
    opened = RecordStream(source, ReadSettings(name))
    reasons: list[Reason] = []
    while len(reasons) < 3:
        try:
            if opened.next_records() is None:
                break
        except DataLossError as error:
            reasons.append(error.reason)
    return reasons


class TestWhatFollows:
    @pytest.mark.parametrize("most", [1, 3, 2**20])
    @pytest.mark.parametrize("junk", [b"\0", b"junk", b"\x1f", b"\x1f\x8c", bytes(100_000)])
    def test_c5_junk_is_an_error_after_all_records(self, name: str, junk: bytes, most: int) -> None:
        stream = compress(name, STREAM) + junk
        is_start = name == "GZIP" and junk == b"\x1f"  # of a further stream, as far as it goes
        reason = Reason.COMPRESSED_TRUNCATED if is_start else Reason.TRAILING_DATA
        expected = (ITEMS, (reason, len(STREAM), len(ITEMS)))
        assert read(io.BytesIO(stream), name) == expected
        assert read(Pipe(stream, most), name) == expected


class TestWrongCompression:
    @pytest.mark.parametrize("found", ["", *NAMES])
    def test_c1_a_stream_of_another_compression_is_rejected(self, name: str, found: str) -> None:
        if name == found:
            return
        stream = compress(found, STREAM) if found else STREAM
        assert read(io.BytesIO(stream), name) == ([], (Reason.COMPRESSION, 0, 0))

    @pytest.mark.parametrize("name", ["", *NAMES])
    def test_c2_an_empty_file_holds_no_records(self, name: str) -> None:
        assert read(io.BytesIO(), name) == ([], None)
        assert read(Pipe(b""), name) == ([], None)

    @pytest.mark.parametrize("name", ["LZ4", "SNAPPY", "XZ"])
    def test_c8_an_unknown_name_is_rejected(self, name: str) -> None:
        for ask in (codec_named, lambda name: TFRecordReader(io.BytesIO(), name)):
            assert raised(InvalidArgumentError, ask, name).reason is Reason.BAD_ARGUMENT


class TestDetection:
    @pytest.mark.parametrize("level", range(10))
    @pytest.mark.parametrize("window_bits", range(9, 16))
    def test_every_zlib_header_is_found(self, level: int, window_bits: int) -> None:
        inner = zlib.compressobj(level, wbits=window_bits)
        assert detect(inner.compress(b"a") + inner.flush()) == "ZLIB"

    @pytest.mark.parametrize("magic", [b"\x1f\x8b", b"\x78\x9c", b"\x78\x01", b"BZ"])
    def test_a_raw_file_whose_first_length_looks_like_a_magic_is_raw(self, magic: bytes) -> None:
        items = [bytes(int.from_bytes(magic, "little"))]
        stream = bytes(frame(items))
        assert stream.startswith(magic)
        assert read(io.BytesIO(stream), None) == (items, None)
        assert read(Pipe(stream, 1), None) == (items, None)


class TestMemory:
    MOST_BYTES = 8 * 2**20

    @staticmethod
    def bomb(name: str, n_bytes: int, head: bytes = b"") -> bytes:
        if name == "ZSTD":
            return compress(name, head + bytes(n_bytes))
        codec = CODECS[name]
        compressor = codec.compressor(TFRecordOptions(compression_level=9))
        out = compressor.compress(head)
        for _ in range(n_bytes // 2**20):
            out += compressor.compress(bytes(2**20))
        return out + compressor.finish()

    @pytest.mark.parametrize("source", [io.BytesIO, Pipe])
    @pytest.mark.parametrize("reason", [Reason.LENGTH_CRC, Reason.RECORD_TOO_LARGE])
    def test_a_bomb_takes_little_memory(self, name: str, reason: Reason, source: Any) -> None:
        n_bytes = 30 * 2**20
        head = reference.encode_header(n_bytes) if reason is Reason.RECORD_TOO_LARGE else b""
        reader = TFRecordReader(
            source(self.bomb(name, n_bytes, head)), name, max_record_bytes=2**20
        )
        tracemalloc.start()
        try:
            outcome = outcome_of(iter(reader))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert outcome == ([], (reason, 0, 0))
        assert peak <= self.MOST_BYTES

    @pytest.mark.parametrize("most", [1, 999, 5_000, 2_000_000])
    def test_a_limit_on_inflated_bytes_is_exact(self, name: str, most: int) -> None:
        items = [bytes(84)] * 30_000  # 100 bytes each with header and footer
        stream = compress(name, bytes(frame(items)))
        enough = TFRecordReader(io.BytesIO(stream), name, max_inflated_bytes=3_000_000)
        reader = TFRecordReader(io.BytesIO(stream), name, max_inflated_bytes=most)
        assert list(enough) == items
        assert outcome_of(reader) == (
            items[: most // 100],
            (Reason.INFLATED_TOO_LARGE, most, most // 100),
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("on_error", ["raise", "skip"])
    def test_a_bomb_is_rejected_by_its_ratio(self, name: str, on_error: OnError) -> None:
        head = bytes(frame([b"one"])) + reference.encode_header(64 * 2**20)
        stream = self.bomb(name, 64 * 2**20, head)
        reader = TFRecordReader(io.BytesIO(stream), name, max_inflated_ratio=20, on_error=on_error)
        records: list[bytes] = []
        error = raised(DataLossError, records.extend, iter(reader), match="max_inflated_ratio")
        assert records == [b"one"]
        assert error.reason is Reason.INFLATED_TOO_LARGE
        assert error.offset is not None
        assert error.offset <= 5 * 2**20

    def test_a_ratio_does_not_count_for_little_content(self, name: str) -> None:
        stream = compress(name, bytes(frame([bytes(2**19)])))
        assert len(list(TFRecordReader(io.BytesIO(stream), name, max_inflated_ratio=1))) == 1


class TestSettings:
    @pytest.mark.parametrize(("name", "bad"), [
        ("ZLIB", TFRecordOptions(compression_level=10)),
        ("GZIP", TFRecordOptions(compression_level=-2)), ("ZLIB", TFRecordOptions(mem_level=0)),
        ("ZLIB", TFRecordOptions(window_bits=0)), ("ZLIB", TFRecordOptions(compression_method=7)),
        ("ZLIB", TFRecordOptions(compression_strategy=99)),
        ("ZLIB", TFRecordOptions(compression_level=2**40)),
        ("BZ2", TFRecordOptions(compression_level=10)),
        ("ZSTD", TFRecordOptions(compression_level=10_000)),
    ])  # fmt: skip
    def test_o8_settings_out_of_range_are_rejected(self, name: str, bad: TFRecordOptions) -> None:
        if name == "ZSTD":
            zstd_module()
        with pytest.raises(InvalidArgumentError, match="rejects TFRecordOptions") as caught:
            CODECS[name].compressor(bad)
        assert caught.value.reason is Reason.BAD_ARGUMENT

    def test_zstd_without_its_package_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "backports", None)
        monkeypatch.setitem(sys.modules, "compression", None)
        for ask in (
            CODECS["ZSTD"].decompressor,
            lambda: CODECS["ZSTD"].compressor(TFRecordOptions()),
            lambda: next(iter(TFRecordReader(io.BytesIO(b"\x28\xb5\x2f\xfd")))),
        ):
            raised(ImportError, ask, match=r"pip install backports.zstd")


def skippable(number: int, size: int) -> bytes:
    """Return a skippable ZSTD frame, of one of the 16 kinds (RFC 8878, 3.1.2)."""
    return bytes([0x50 + number]) + b"\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)


@pytest.mark.slow
@pytest.mark.needs("zstd")
@pytest.mark.parametrize("number", [0, 10, 14, 15])
@pytest.mark.parametrize("size", [0, 9, 100_000])
def test_skippable_frames_of_zstd_are_skipped(tmp_path: Path, number: int, size: int) -> None:
    items = LARGE_ITEMS[:200]
    frames = [compress("ZSTD", reference.encode([item])) for item in items]
    skipped, path = skippable(number, size), tmp_path / "a"
    for name, content in {
        "leading": skipped + b"".join(frames),
        "between": skipped.join(frames),
        "trailing, as of a seek table": b"".join([*frames, skipped]),
        "everywhere": skipped + b"".join(each + skipped * 2 for each in frames),
    }.items():
        path.write_bytes(content)
        for compression in (None, "ZSTD"):
            assert list(TFRecordReader(path, compression)) == items, name
        assert verify(path).is_sound
        report = recover(path, tmp_path / "saved", overwrite=True)
        assert (report.is_sound, report.records) == (True, len(items)), name
        with TFRecordWriter(path, mode="a") as writer:
            writer.write(b"more")
        assert list(TFRecordReader(path)) == [*items, b"more"]


@pytest.mark.needs("zstd")
def test_a_zstd_file_may_have_skippable_frames_only_but_not_half_of_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(skippable(14, 30) * 3)
    assert list(TFRecordReader(path)) == []
    path.write_bytes(skippable(14, 30)[:-1])
    assert raised(DataLossError, list, TFRecordReader(path)).reason is Reason.COMPRESSED_TRUNCATED


def test_records_after_damage_are_found_behind_a_skippable_frame(tmp_path: Path) -> None:
    frames = [compress("ZSTD", reference.encode([item])) for item in LARGE_ITEMS[:3]]
    frames[1] = frames[1][:-20]
    path = tmp_path / "a"
    path.write_bytes(skippable(3, 12) + frames[0] + frames[1] + skippable(3, 12) + frames[2])
    report = recover(path, tmp_path / "saved")
    assert report.spans[0].offset > 0
    assert list(TFRecordReader(tmp_path / "saved")) == [LARGE_ITEMS[0], LARGE_ITEMS[2]]
