"""Files of other formats are recognised, and damaged TFRecord files are not taken for them."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.samples import flower
from tests.support import reference
from tests.support.errors import raised
from tests.support.foreign_files import FOREIGN, Foreign, arrow_files
from tfrecord_lite import TFRecordReader, TFRecordWriter, recover, verify
from tfrecord_lite.errors import DataLossError, DataLossWarning, Reason
from tfrecord_lite.records.framing import frame
from tfrecord_lite.texts import plural

each_kind = pytest.mark.parametrize("kind", FOREIGN)


def said(read: Callable[[], object], path: Path) -> str:
    error = raised(DataLossError, read)
    assert (error.reason, error.offset, error.index) == (Reason.NOT_A_TFRECORD, None, None)
    assert error.source == str(path)
    assert str(error) == f"{path}: {error.detail}"
    assert error.detail is not None
    start, separator, name = error.detail.partition("; it looks like ")
    assert (start, bool(separator)) == ("not a TFRecord file", True)
    return name


def check(foreign: Foreign, path: Path) -> None:
    path.write_bytes(foreign.data)
    name = said(lambda: list(TFRecordReader(path)), path)
    assert name.startswith(foreign.name)
    assert said(lambda: list(TFRecordReader(path).blocks(3)), path) == name
    assert said(lambda: recover(path, path.with_suffix(".new")), path) == name
    assert not path.with_suffix(".new").exists()
    reader = TFRecordReader(path, on_error="skip")
    with pytest.warns(DataLossWarning, match="not a TFRecord file; it looks like"):
        assert list(reader) == []
    assert reader.report == verify(path)
    (file,) = verify(path).files
    assert (file.records, file.num_damaged, file.is_sound) == (0, 1, False)
    (span,) = file.spans
    assert (span.reason, span.offset, span.index) == (Reason.NOT_A_TFRECORD, 0, 0)
    assert span.length == file.lost_bytes >= len(foreign.data) or span.length == len(
        gzip.decompress(foreign.data)
    )
    assert str(span) == f"{path}: {span.detail}; {plural(span.length, 'byte')} skipped"


class TestRecognised:
    @each_kind
    def test_other_formats(self, tmp_path: Path, kind: str) -> None:
        check(FOREIGN[kind], tmp_path / "a")

    def test_records_that_were_compressed_twice_as_gzip_are_named(self, tmp_path: Path) -> None:
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(gzip.compress(bytes(frame([b"record"])))))
        name = said(lambda: list(TFRecordReader(path)), path)
        assert name == "records compressed twice, with GZIP, then with GZIP; inflate the file once"

    def test_an_ending_is_a_hint(self, tmp_path: Path) -> None:
        path = tmp_path / "a.tfrecord.BR"
        path.write_bytes(bytes(range(100)))
        with pytest.raises(
            DataLossError, match=r"if it is compressed as \.BR says, unpack it first"
        ):
            list(TFRecordReader(path))

    @pytest.mark.parametrize("kind", ["Parquet", "Feather", "stream"])
    def test_formats_of_arrow(self, tmp_path: Path, kind: str) -> None:
        check(arrow_files()[kind], tmp_path / "a")

    def test_a_compression_that_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        path.write_bytes(FOREIGN["JSON lines"].data)
        error = raised(DataLossError, list, TFRecordReader(path, "GZIP"))
        assert error.reason is Reason.COMPRESSION
        assert error.detail == (
            "not a GZIP stream, nor a TFRecord file; it looks like JSON lines (tfrecord convert --from jsonl reads it)"
        )


SMALL = {
    "JSON": Foreign(b'{"a": 1}\n', "JSON"), "empty JSON": Foreign(b"{}", "JSON"),
    "empty array": Foreign(b"[]\n", "JSON"),
    "CSV": Foreign(b"a,b\n1,2\n", "CSV (tfrecord convert --from csv reads it)"),
    "YAML": Foreign(b"a: 1\n", "plain text"), "HTML": Foreign(b"<html>", "an HTML page"),
    "like ZLIB": Foreign(b"x^2 + 1\n", "plain text"),
}  # fmt: skip
each_small = pytest.mark.parametrize("kind", SMALL)


class TestShorterThanAHeader:
    @each_small
    def test_plain(self, tmp_path: Path, kind: str) -> None:
        check(SMALL[kind], tmp_path / "a")

    @each_small
    @pytest.mark.parametrize("torn", ["raise", "cut"])
    @pytest.mark.parametrize("compression", ["", "GZIP"])
    def test_nothing_is_appended_or_cut(
        self, tmp_path: Path, kind: str, torn: Literal["raise", "cut"], compression: str
    ) -> None:
        data = SMALL[kind].data
        data = gzip.compress(data) if compression else data
        path = tmp_path / "a"
        path.write_bytes(data)
        name = said(lambda: TFRecordWriter(path, compression, mode="a", torn=torn), path)
        assert name.startswith(SMALL[kind].name)
        assert "torn=" not in name
        assert path.read_bytes() == data


class TestNotMistaken:
    TEXTS = (b'{"id": 1, "name": "a"}\n' * 9, b"features { feature {", b"a,b\n1,2\n", b"")
    FILES: ClassVar = {
        "texts": reference.encode(list(TEXTS)),
        "Examples": reference.encode([flower(i) for i in range(3)]),
        "files": reference.encode([foreign.data for foreign in FOREIGN.values()]),
    }

    @given(st.sampled_from(list(FILES)), st.sets(st.integers(0, 95), min_size=1, max_size=8))
    def test_flipped_bits_of_the_first_header(self, kind: str, bits: set[int]) -> None:
        data = bytearray(self.FILES[kind])
        for bit in bits:
            data[bit // 8] ^= 1 << bit % 8
        self.check(bytes(data))

    @given(st.binary(min_size=12, max_size=12))
    def test_any_bytes_in_place_of_the_first_header(self, header: bytes) -> None:
        (file,) = verify(io.BytesIO(header + self.FILES["Examples"][12:]), compression="").files
        assert all(span.reason is not Reason.NOT_A_TFRECORD for span in file.spans)

    @pytest.mark.parametrize("kind", FILES)
    def test_bytes_missing_at_the_start(self, kind: str) -> None:
        for n_bytes in (1, 4, 8, 11, 12):
            self.check(self.FILES[kind][n_bytes:])

    def check(self, data: bytes) -> None:
        error = raised(DataLossError, list, TFRecordReader(io.BytesIO(data)))
        assert error.reason is not Reason.NOT_A_TFRECORD

    @pytest.mark.parametrize("name", ["JSON array", "Git LFS pointer", "tar"])
    def test_records_after_other_bytes_are_found(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / "a"
        path.write_bytes(FOREIGN[name].data + self.FILES["Examples"])
        report = recover(path, tmp_path / "new")
        assert len(list(TFRecordReader(tmp_path / "new"))) == 3
        (span,) = report.spans
        assert span.reason is Reason.LENGTH_CRC
        assert span.detail is not None
        assert span.detail.startswith("length CRC mismatch: ")

    @pytest.mark.parametrize(
        "data", [b"{", b"abcd", bytes.fromhex("3031000000"), b"x\0\0\0\0\0\0\0abc"]
    )
    def test_less_than_a_header_is_a_cut_file(self, data: bytes) -> None:
        error = raised(DataLossError, list, TFRecordReader(io.BytesIO(data)), match="of 12 bytes")
        assert error.reason is Reason.TRUNCATED

    def test_garbage_is_still_asked_about(self) -> None:
        with pytest.raises(DataLossError, match="is this a TFRecord file") as caught:
            list(TFRecordReader(io.BytesIO(bytes(range(200)))))
        assert caught.value.reason is Reason.LENGTH_CRC
