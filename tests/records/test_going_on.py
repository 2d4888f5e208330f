"""What users of readers get who ask to go on past damage: records, a report, a warning."""

import gzip
import io
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.errors import raised
from tests.support.file_objects import Pipe
from tests.support.read_outcome import outcome_of
from tests.support.reference import encode_header, encode_record
from tests.support.untyped import load
from tfrecord_lite import TFRecordReader, encode_example, infer_schema, save
from tfrecord_lite.block import HEADER_BYTES
from tfrecord_lite.errors import (
    DamagedSpan,
    DataLossError,
    DataLossWarning,
    InvalidArgumentError,
    Reason,
)
from tfrecord_lite.messages import Example
from tfrecord_lite.records import crc32c
from tfrecord_lite.records.framing import frame

SIZE = 50
"""Of a frame in these tests."""
RECORDS = [b"%034d" % i for i in range(100)]


def damaged(folder: Path, name: str, *hit: int) -> Path:
    stream = frame(RECORDS)
    for i in hit:
        stream[SIZE * i + 20] ^= 1
    path = folder / name
    path.write_bytes(stream)
    return path


def without(*hit: int) -> list[bytes]:
    return [record for i, record in enumerate(RECORDS) if i not in hit]


def chain_blocks(reader: TFRecordReader) -> Iterator[bytes]:
    return itertools.chain.from_iterable(reader.blocks())


class TestSkip:
    def test_one_warning_at_the_end_names_the_line_that_reads(self, tmp_path: Path) -> None:
        path = damaged(tmp_path, "a", 3, 50)
        reader = TFRecordReader(path, on_error="skip")
        found: list[bytes] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for record in reader:
                found.append(record)
                assert caught == []
            list(reader.blocks())
            list(reader.blocks(7))
        assert found == without(3, 50)
        assert [warning.category for warning in caught] == [DataLossWarning] * 3
        assert {warning.filename for warning in caught} == {__file__}
        assert str(path) in str(caught[0].message)

    def test_who_has_enough_is_warned_too(self, tmp_path: Path) -> None:
        reader = TFRecordReader(damaged(tmp_path, "a", 0), on_error="skip")
        records = iter(reader)
        assert next(records) == RECORDS[1]
        with pytest.warns(DataLossWarning):
            del records

    def test_every_file_is_gone_on_with(self, tmp_path: Path) -> None:
        paths = [damaged(tmp_path, "a", 1), damaged(tmp_path, "b"), damaged(tmp_path, "c", 99)]
        reader = TFRecordReader(paths, on_error="skip")
        with pytest.warns(DataLossWarning, match=r"2 damaged places .* 2 of 3 files"):
            blocks = list(reader.blocks(64))
        assert [r for block in blocks for r in block] == [*without(1), *RECORDS, *without(99)]
        assert [len(block) for block in blocks[:-1]] == [64] * (len(blocks) - 1)
        report = reader.report
        assert report is not None
        assert [file.records for file in report.files] == [99, 100, 99]
        assert [file.record_bytes for file in report.files] == [99 * 34, 100 * 34, 99 * 34]
        assert [(span.source, span.index, span.offset, span.length) for span in report.spans] == [
            (str(paths[0]), 1, SIZE, SIZE),
            (str(paths[2]), 99, 99 * SIZE, SIZE),
        ]

    def test_places_of_records_behind_damage(self, tmp_path: Path) -> None:
        reader = TFRecordReader(damaged(tmp_path, "a", 5), on_error=str)
        (block,) = reader.blocks(200)
        # Each damaged place counts as a record.
        places = [block.place(i) for i in (4, 5, 98)]
        assert [(place.index, place.offset) for place in places] == [
            (4, 4 * SIZE),
            (6, 6 * SIZE),
            (99, 99 * SIZE),
        ]

    def test_a_pipe(self) -> None:
        stream = frame(RECORDS)
        stream[SIZE * 9 + 3] ^= 1
        for most in (1, 49, 10_000):
            reader = TFRecordReader(Pipe(bytes(stream), most), "", on_error=str)
            assert list(reader) == without(9)

    def test_examples_and_messages(self, tmp_path: Path) -> None:
        stream = frame([encode_example({"n": i}) for i in range(10)])
        stream[len(stream) // 10 * 4 + 15] ^= 1
        (tmp_path / "a").write_bytes(stream)
        reader = TFRecordReader(tmp_path / "a", on_error="skip")
        left = [0, 1, 2, 3, 5, 6, 7, 8, 9]
        with pytest.warns(DataLossWarning) as caught:
            rows = list(reader.examples())
        with pytest.warns(DataLossWarning) as caught_too:
            messages = list(reader.messages(Example))
        assert [int(row["n"][0]) for row in rows] == left
        assert [m.features.feature["n"].int64_list.value[0] for m in messages] == left
        assert {warning.filename for warning in [*caught, *caught_too]} == {__file__}

    def test_a_record_that_is_no_message_is_no_damage(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(frame([b"\xff"]))
        with pytest.raises(InvalidArgumentError):
            list(TFRecordReader(tmp_path / "a", on_error="skip").examples())


class TestCallable:
    def test_it_is_given_each_span_when_that_was_passed_over(self, tmp_path: Path) -> None:
        told: list[DamagedSpan] = []
        reader = TFRecordReader(damaged(tmp_path, "a", 3, 9), on_error=told.append)
        assert list(reader) == without(3, 9)
        assert [(span.offset, span.records_before) for span in told] == [(150, 3), (450, 8)]
        assert [span.records_after for span in told] == [None, None]
        assert reader.report is not None
        assert [span.records_after for span in reader.report.spans] == [95, 90]

    def test_what_it_raises_stops_the_iteration(self, tmp_path: Path) -> None:
        def stop(span: DamagedSpan) -> None:
            raise KeyError(span.index)

        records = iter(TFRecordReader(damaged(tmp_path, "a", 3), on_error=stop))
        assert list(itertools.islice(records, 3)) == RECORDS[:3]
        raised(KeyError, next, records, match="3")


class TestMaxErrors:
    @pytest.mark.parametrize("max_errors", [0, 1, 2])
    def test_the_next_is_raised_behind_all_others(self, tmp_path: Path, max_errors: int) -> None:
        paths = [damaged(tmp_path, "a", 3, 4), damaged(tmp_path, "b", 5)]
        reader = TFRecordReader(paths, on_error="skip", max_errors=max_errors)
        found = outcome_of(reader)
        expected = [RECORDS[:3], RECORDS[:3], [*without(3, 4), *RECORDS[:5]]]
        assert found.records == expected[max_errors]
        assert found.loss is not None
        assert found.loss.reason is Reason.DATA_CRC
        assert found.loss.offset == [150, 200, 250][max_errors]
        assert reader.report is not None
        assert reader.report.num_damaged == max_errors

    def test_as_many_as_allowed_are_passed_over(self, tmp_path: Path) -> None:
        reader = TFRecordReader(damaged(tmp_path, "a", 3, 9), on_error=str, max_errors=2)
        assert list(reader) == list(reader) == without(3, 9)


class TestArguments:
    @pytest.mark.parametrize("on_error", ["ignore", None, 7])
    def test_other_words(self, on_error: Any) -> None:
        error = raised(InvalidArgumentError, TFRecordReader, "a", on_error=on_error)
        assert error.reason is Reason.BAD_ARGUMENT


def test_a_report_keeps_first_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfrecord_lite.errors.MAX_SPANS", 2)
    reader = TFRecordReader(damaged(tmp_path, "a", 1, 3, 5, 7), on_error=str)
    list(reader)
    assert reader.report is not None
    assert [span.offset for span in reader.report.spans] == [50, 150]
    assert (reader.report.num_damaged, reader.report.lost_bytes) == (4, 200)


def test_a_length_that_is_not_there_takes_no_memory_and_hides_no_record() -> None:
    for length in (2**31 - 1, 2**40, 2**63, 2**64 - 1):
        stream = RECORDS[0] + encode_header(length) + frame(RECORDS)
        for limit in (2**31, 2**64 - 1):
            reader = TFRecordReader(io.BytesIO(stream), "", on_error=str, max_record_bytes=limit)
            assert list(reader) == RECORDS


class Checked:
    """Counts the records, and their bytes, whose CRCs are taken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n_records = self.n_bytes = 0
        crcs_of = crc32c.crcs_of

        def count(records: Any, n_records: Any) -> Any:
            records = list(records)
            self.n_records += n_records
            self.n_bytes += sum(map(len, records))
            return crcs_of(records, n_records)

        monkeypatch.setattr(crc32c, "crcs_of", count)


each_reading = pytest.mark.parametrize("read", [TFRecordReader.__iter__, chain_blocks])


@each_reading
@pytest.mark.parametrize("n", [500, pytest.param(8000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("place", [0, 12])
def test_damage_is_linear(monkeypatch: pytest.MonkeyPatch, n: int, place: int, read: Any) -> None:
    pair = bytearray(frame([b"sound", b"damaged"]))
    pair[21 + place] ^= 1
    checked = Checked(monkeypatch)
    assert list(read(TFRecordReader(io.BytesIO(pair * n), on_error=str))) == [b"sound"] * n
    assert checked.n_records <= 20 * n + 100_000 // len(pair)


@each_reading
@pytest.mark.parametrize("n", [1000, pytest.param(16_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_sound", [1, 40])
def test_forged_heads_that_promise_much_are_linear_work(
    monkeypatch: pytest.MonkeyPatch, n: int, n_sound: int, read: Any
) -> None:
    # Each head promises half of what is left, which is there, and whose CRC is another.
    sound = encode_record(b"sound") * n_sound
    n_heads = n // n_sound
    size = HEADER_BYTES + len(sound)
    stream = b"".join(encode_header((n_heads - i) * size // 2) + sound for i in range(n_heads))
    checked = Checked(monkeypatch)
    records = read(TFRecordReader(io.BytesIO(stream), "", on_error=str))
    assert sum(1 for _ in records) == n_heads * n_sound
    assert checked.n_bytes <= 5 * len(stream)


class TestLoad:
    def test_what_was_saved(self, tmp_path: Path) -> None:
        save(tmp_path / "a", {"n": np.arange(100)})
        data = bytearray((tmp_path / "a").read_bytes())
        data[len(data) // 2] ^= 1
        (tmp_path / "a").write_bytes(data)
        # The sidecar is of other data than these are now.
        schema = tmp_path / "a.schema.json"
        raised(DataLossError, load, tmp_path / "a", schema=schema)
        with pytest.warns(DataLossWarning) as caught:
            loaded = load(tmp_path / "a", schema=schema, on_error="skip")["n"]
        assert len(caught) == 1
        assert len(loaded) == 99
        assert set(loaded) < set(range(100))
        raised(DataLossError, load, tmp_path / "a", schema=schema, on_error="skip", max_errors=0)

    def test_a_schema_is_inferred_without_a_warning_of_its_own(self, tmp_path: Path) -> None:
        stream = frame([encode_example({"n": i}) for i in range(10)])
        stream[15] ^= 1
        (tmp_path / "a.gz").write_bytes(gzip.compress(stream))
        with pytest.warns(DataLossWarning) as caught:
            loaded = load(tmp_path / "a.gz", on_error="skip")
        assert len(caught) == 1
        assert loaded["n"].tolist() == list(range(1, 10))
        with pytest.warns(DataLossWarning):
            schema = infer_schema(TFRecordReader(tmp_path / "a.gz", on_error="skip"))
        assert list(schema) == ["n"]
