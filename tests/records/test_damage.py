"""Every kind of damage, at every part of a record, in every kind of file, to everybody who reads."""

import gzip
import hashlib
import io
import os
import random
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import reference
from tests.support.frame_damage import IN_PLACE, PARTS, extent, is_intact
from tests.support.read_outcome import Outcome, outcome_of
from tests.support.reference import Span, decode_on
from tests.support.streams import any_stream
from tfrecord_lite import TFRecordReader, recover, verify
from tfrecord_lite.errors import DamagedSpan, DamageReport, DataLossWarning, Reason
from tfrecord_lite.records.framing import frame

N_DAMAGES = int(os.environ.get("TFRECORD_DAMAGES", "20"))
N_SEEDS = 20 if N_DAMAGES >= 100 else 3

CODECS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress,
}  # fmt: skip
every_codec = pytest.mark.parametrize("codec", CODECS)

HIT, OTHER = 4, 6
RECORDS = [random.Random(i).randbytes(30 + 7 * i) for i in range(9)]
FRAMES = [reference.encode_record(record) for record in RECORDS]


class Case(NamedTuple):
    """A damaged stream; how many intact records it has, and how many damaged places."""

    name: str
    stream: bytes
    n_sound: int
    n_places: int


def cases() -> Iterator[Case]:
    before, frame, after = FRAMES[:HIT], FRAMES[HIT], FRAMES[HIT + 1 :]

    def joined(*changed: bytes) -> bytes:
        return b"".join([*before, *changed, *after])

    for part in PARTS:
        at = extent(frame, part)
        for kind, damage in IN_PLACE.items():
            # A length that comes twice, or a CRC of data, leaves the whole record beside it.
            is_beside = kind == "duplicate" and part in ("length", "data CRC")
            stream = joined(damage(frame, at, random.Random(kind + part)))
            yield Case(f"{kind} {part}", stream, 9 if is_beside else 8, 1)
        yield Case(f"cut {part}", b"".join(before) + frame[: at.middle], 4, 1)
        yield Case(f"swap {part}", swapped(part), 7, 2)
    # Changes of whole records are not damage.
    yield Case("delete record", joined(), 8, 0)
    yield Case("duplicate record", joined(frame, frame), 10, 0)
    yield Case("swap record", swapped("record"), 9, 0)
    yield Case("cut record", b"".join(before), 4, 0)
    yield Case("zero record", joined(bytes(len(frame))), 8, 1)
    yield Case("insert before a record", joined(b"junk" * 9, frame), 9, 1)
    yield Case("append junk", joined(frame) + b"junk" * 9, 9, 1)
    yield Case("append less than a head", joined(frame) + b"junk", 9, 1)
    yield Case("append zeros", joined(frame) + bytes(64), 9, 1)
    first = extent(frame, "data")[0]
    wrong = [bytes(b ^ (i == first) for i, b in enumerate(f)) for f in FRAMES]
    yield Case("three neighbours and one", b"".join(wrong[:3] + before[3:] + [wrong[HIT]]), 1, 4)


def swapped(part: str) -> bytes:
    frames = list(FRAMES)
    (a, b), (c, d) = (extent(FRAMES[i], part) for i in (HIT, OTHER))
    frames[HIT] = FRAMES[HIT][:a] + FRAMES[OTHER][c:d] + FRAMES[HIT][b:]
    frames[OTHER] = FRAMES[OTHER][:c] + FRAMES[HIT][a:b] + FRAMES[OTHER][d:]
    return b"".join(frames)


CASES = list(cases())


@pytest.fixture(params=CASES, ids=[case.name for case in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def written(folder: Path, codec: str, stream: bytes) -> Path:
    path = folder / "damaged"
    path.write_bytes(CODECS[codec](stream))
    return path


def spans_of(report: DamageReport | None) -> list[Span]:
    """Return the spans; a file that looks like text has its first record's length wrong."""
    assert report is not None
    return [
        Span(Reason.LENGTH_CRC if is_foreign(span) else span.reason, span.offset, span.length)
        for span in report.spans
    ]


def is_foreign(span: DamagedSpan) -> bool:
    return span.reason is Reason.NOT_A_TFRECORD


def skipping(path: Path, codec: str | None) -> tuple[list[bytes], DamageReport]:
    """Read a file in every way that skips, and return what all of them give."""
    reader = TFRecordReader(path, codec, on_error="skip")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        records = list(reader)
    report = reader.report
    assert report is not None
    assert [warning.category for warning in caught] == [DataLossWarning] * (not report.is_sound)
    for n_records in (None, 1, 5):
        told: list[object] = []
        other = TFRecordReader(path, codec, on_error=told.append)
        blocks = list(other.blocks(n_records))
        assert [record for block in blocks for record in block] == records
        assert other.report == report
        assert len(told) == report.num_damaged
        if n_records is not None:
            assert {len(block) for block in blocks[:-1]} <= {n_records}
    return records, report


@every_codec
def test_every_reader_says_what_the_oracle_says(tmp_path: Path, case: Case, codec: str) -> None:
    path, saved = written(tmp_path, codec, case.stream), tmp_path / "saved"
    os.utime(path, ns=(1, 2))
    content = path.read_bytes()
    expected, places = decode_on(case.stream)

    assert outcome_of(TFRecordReader(path, codec)) == reference.decode(case.stream)
    records, report = skipping(path, codec)
    checked = verify(path, compression=codec)
    recovered = recover(path, saved, compression=codec)

    assert (records, spans_of(report)) == (expected, places)
    assert set(records) <= set(RECORDS)
    assert (report.records, report.num_damaged) == (case.n_sound, case.n_places)
    (file,) = checked.files
    assert spans_of(checked) == spans_of(recovered) == places
    assert [span.index for span in recovered.spans] == [span.index for span in file.spans]
    assert file.records == recovered.records == case.n_sound
    assert file.record_bytes == sum(map(len, records))
    assert file.lost_bytes == sum(span.length for span in places)
    assert file.is_sound == (case.n_places == 0)
    for span in file.spans:
        # Nothing is lost before and after a damaged place.
        n_before = len(decode_on(case.stream[: span.offset])[0])
        assert (span.records_before, span.records_after) == (n_before, case.n_sound - n_before)
    assert list(TFRecordReader(saved, codec)) == records
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, 2)


@pytest.mark.parametrize("method", ["skip", "verify"])
@given(stream=any_stream())
def test_any_bytes_are_passed_over_as_the_oracle_does(method: str, stream: bytes) -> None:
    if method == "verify":
        report: DamageReport | None = verify(io.BytesIO(stream), compression="")
    else:
        reader = TFRecordReader(io.BytesIO(stream), "", on_error=str)
        assert list(reader) == decode_on(stream)[0]
        report = reader.report
    assert spans_of(report) == decode_on(stream)[1]


class TestRecordsInsideADamagedOne:
    """After bytes were removed, a record's length may reach over whole records after it."""

    RECORDS = (b"a" * 20, b"b" * 300, b"c" * 20, b"d" * 20, b"e" * 20)
    FRAMES = tuple(reference.encode_record(record) for record in RECORDS)

    @pytest.mark.parametrize("n_inside", [1, 2, 3])
    def test_those_to_its_end_are_found(self, tmp_path: Path, n_inside: int) -> None:
        stream = b"".join(self.FRAMES)
        at = len(self.FRAMES[0]) + 50
        stream = stream[:at] + stream[at + n_inside * len(self.FRAMES[2]) :]
        path = written(tmp_path, "", stream)
        whole = [record for record in self.RECORDS if not record.startswith(b"b")]
        records, report = skipping(path, "")
        assert records == whole
        assert (records, spans_of(report)) == decode_on(stream)
        assert verify(path) == report
        assert recover(path, tmp_path / "saved") == report
        assert list(TFRecordReader(tmp_path / "saved")) == whole

    @pytest.mark.parametrize("after", [b"", b"and more"])
    def test_those_that_it_holds_as_data_are_not(self, after: bytes) -> None:
        inner = reference.encode([b"x", b"y", b"z"])
        stream = bytearray(reference.encode([b"a", b"before" + inner + after, b"c"]))
        stream[stream.index(b"before")] ^= 1
        assert list(TFRecordReader(io.BytesIO(stream), "", on_error=str)) == [b"a", b"c"]

    @given(st.data())
    def test_whole_records_are_found_when_bytes_come_or_go(self, data: st.DataObject) -> None:
        sizes = data.draw(st.lists(st.sampled_from([4, 20, 56, 92]), min_size=2, max_size=6))
        records = [bytes([65 + i]) * size for i, size in enumerate(sizes)]
        frames = [reference.encode_record(record) for record in records]
        hit = data.draw(st.integers(0, len(records) - 1))
        start = data.draw(st.integers(0, len(frames[hit])))
        stop = data.draw(st.integers(start, len(frames[hit])))
        removed = data.draw(st.sampled_from([b"", b"junk" * 4])).join(
            [frames[hit][:start], frames[hit][stop:]]
        )
        stream = b"".join([*frames[:hit], removed, *frames[hit + 1 :]])
        found = list(TFRecordReader(io.BytesIO(stream), "", on_error=str))
        whole = [*records[:hit], *records[hit + 1 :]]
        assert [record for record in found if record in whole] == whole


def in_a_record(data: bytes) -> int:
    return data.index(RECORDS[HIT]) + 5


def before_the_data(data: bytes) -> int:
    return data.index(FRAMES[0]) - 1  # in the length of the stored block


class TestCompressedBytes:
    """Damage in the compressed stream itself; what is inflated is not compressed, level 0."""

    STREAM = b"".join(FRAMES)
    COMPRESSED: ClassVar = {
        "gzip": gzip.compress(STREAM, 0, mtime=0),
        "zlib": zlib.compress(STREAM, 0),
    }

    def check(
        self, folder: Path, data: bytes | bytearray, n_records: int, reasons: list[Reason]
    ) -> None:
        """Check what a reader skips, what verify says, and what is recovered."""
        path = folder / "damaged"
        path.write_bytes(data)
        records, report = skipping(path, None)
        assert len(records) == n_records == report.records
        assert [span.reason for span in report.spans] == reasons
        assert verify(path) == report
        assert recover(path, folder / "saved").files[0].records == n_records
        assert (list(TFRecordReader(folder / "saved")) if records else []) == records
        assert set(records) <= set(RECORDS)
        if reasons:
            assert outcome_of(TFRecordReader(path)) != Outcome(RECORDS, None)

    @pytest.mark.parametrize("kind", COMPRESSED)
    @pytest.mark.parametrize(("change", "at", "n_records", "reasons"), [
        ("flip", lambda _: -1, 9, [Reason.COMPRESSED_CORRUPT]),
        ("cut", lambda _: -1, 9, [Reason.COMPRESSED_TRUNCATED]),
        ("cut", lambda _: -4, 9, [Reason.COMPRESSED_TRUNCATED]),
        ("flip", in_a_record, 8, [Reason.DATA_CRC, Reason.COMPRESSED_CORRUPT]),
        ("cut", in_a_record, HIT, [Reason.COMPRESSED_TRUNCATED]),
        ("flip", before_the_data, 0, [Reason.COMPRESSED_CORRUPT]),
        ("append", None, 9, [Reason.TRAILING_DATA]),
    ])  # fmt: skip
    def test_damage(
        self, tmp_path: Path, kind: str, change: str, at: Any, n_records: int, reasons: list[Reason]
    ) -> None:
        data = bytearray(self.COMPRESSED[kind])
        if change == "flip":
            data[at(data)] ^= 1
        elif change == "cut":
            del data[at(data) :]
        else:
            data += b"junk"
        self.check(tmp_path, data, n_records, reasons)

    def test_the_first_bytes_tell_the_compression_unless_it_is_named(self, tmp_path: Path) -> None:
        data = bytearray(self.COMPRESSED["gzip"])
        data[0] ^= 1
        # By its first bytes it is not compressed, and what is stored in it is found.
        self.check(tmp_path, data, 9, [Reason.LENGTH_CRC, Reason.TRUNCATED])


class Damaged(NamedTuple):
    stream: bytes
    intact: list[bytes]


def damaged_at_random(seed: int, n_records: int, n_damages: int) -> Damaged:
    """Damage some records of a stream, each in one of all ways, and some in pairs."""
    choose = random.Random(seed)
    sizes = (0, 1, 20, 300, 300, 300, 2000, 70_000 if n_records > 10_000 else 7000)
    records = [
        bytes(size) if choose.random() < 0.1 else choose.randbytes(size)
        for size in choose.choices(sizes, weights=(1, 1, 20, 20, 20, 20, 2, 0.1), k=n_records)
    ]
    frames = [bytes(frame([record])) for record in records]
    hit = choose.sample(range(n_records), n_damages)
    pieces, intact = list(frames), [True] * n_records
    for i in hit:
        while pieces[i] == frames[i]:
            at = extent(frames[i], choose.choice((*PARTS, "record")))
            if at.start < at.stop:
                pieces[i] = choose.choice([*IN_PLACE.values()])(frames[i], at, choose)
                if pieces[i] == frames[i] * 2:  # a record that is there twice is not damaged
                    pieces[i] = frames[i]
        intact[i] = is_intact(frames[i], pieces[i])
    return Damaged(
        b"".join(pieces), [r for r, is_sound in zip(records, intact, strict=True) if is_sound]
    )


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_all_but_the_damaged_records_of_a_large_file(tmp_path: Path, seed: int) -> None:
    n_records = 100_000 if N_DAMAGES >= 100 else 2_000
    stream, intact = damaged_at_random(seed, n_records, N_DAMAGES)
    path = tmp_path / "damaged"
    path.write_bytes(stream)
    digest = hashlib.sha256(stream).digest()
    reader = TFRecordReader(path, "", on_error=str)
    records = list(reader)
    report = recover(path, tmp_path / "saved", compression="")
    assert records == intact
    assert list(TFRecordReader(tmp_path / "saved")) == intact
    assert reader.report == report == verify(path, compression="")
    assert hashlib.sha256(path.read_bytes()).digest() == digest
    # Neighbours may be one place; apart from that each damage is one.
    assert N_DAMAGES / 2 < report.num_damaged <= N_DAMAGES
