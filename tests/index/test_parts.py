"""Files cut into parts: every record is in exactly one, whatever its data is, damaged or not."""

import gzip
import os
import pickle
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.http_files import serving
from tfrecord_lite import TFRecordFile, TFRecordReader
from tfrecord_lite.errors import (
    DataLossError,
    DataLossWarning,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
)
from tfrecord_lite.index import parts as parts_module
from tfrecord_lite.index.handles import open_handle
from tfrecord_lite.index.parts import (
    FilePart,
    PartReader,
    _hop,
    deal,
    file_marks,
    file_parts,
    join_reports,
)
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.framing import frame

# Data that holds whole frames with right CRCs, which a search would take for records.
frames_of = st.lists(st.binary(max_size=40), min_size=1, max_size=3).map(
    lambda records: bytes(frame(records))
)
files_of_records = st.lists(st.binary(max_size=60) | frames_of, max_size=40)


def written(path: Path, records: list[bytes]) -> Path:
    path.write_bytes(bytes(frame(records)))
    return path


def read(parts: list[FilePart], options: ReadSettings | None = None) -> list[bytes]:
    return list(each_of(parts, options or ReadSettings()))


def each_of(parts: list[FilePart], options: ReadSettings) -> Iterator[bytes]:
    for part in parts:
        for block in PartReader(part, options).blocks():
            yield from block


@given(
    records=files_of_records,
    max_bytes=st.integers(1, 400) | st.none(),
    num_parts=st.integers(1, 50) | st.none(),
    with_index=st.booleans(),
)
def test_every_record_is_in_one_part(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[bytes],
    max_bytes: int | None,
    num_parts: int | None,
    with_index: bool,
) -> None:
    path = written(tmp_path_factory.mktemp("r") / "a", records)
    if with_index:
        TFRecordFile(path).save_index()
    parts = file_parts(path, max_bytes=max_bytes, num_parts=num_parts)
    assert read(pickle.loads(pickle.dumps(parts))) == records
    known = [part for part in parts if part.n_records is not None]
    if records and (with_index or max_bytes):
        assert known or len(parts) == 1
    firsts = np.cumsum([0] + [part.n_records or 0 for part in parts])[:-1]
    if known:
        assert [part.first for part in parts] == firsts.tolist()
        assert sum(part.n_records or 0 for part in parts) == len(records)
    assert sum(part.nbytes for part in parts) == path.stat().st_size


@given(
    files=st.lists(files_of_records, min_size=1, max_size=4),
    n_readers=st.integers(1, 5),
    mark_bytes=st.integers(1, 300),
    with_index=st.booleans(),
)
def test_runs_are_dealt_evenly_and_each_record_once(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[list[bytes]],
    n_readers: int,
    mark_bytes: int,
    with_index: bool,
) -> None:
    folder = tmp_path_factory.mktemp("r")
    names = [str(written(folder / str(number), records)) for number, records in enumerate(files)]
    if with_index:
        TFRecordFile(names).save_index()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts_module, "_MARK_BYTES", mark_bytes)
        marks = [file_marks(name, ReadSettings(), is_first=with_index) for name in names]
        assert None not in marks
        dealt = [deal(list(filter(None, marks)), (n_readers, i)) for i in range(n_readers)]

    found = []
    for groups in dealt:
        for group in groups:
            assert len({part.source for part in group}) == 1
            for part in group:
                records = files[names.index(part.source)]
                assert read([part]) == records[part.first : part.first + (part.n_records or 0)]
                found += [(part.source, part.first + i) for i in range(part.n_records or 0)]
    assert sorted(found) == [
        (n, i) for n, f in zip(names, files, strict=True) for i in range(len(f))
    ]
    sizes = [sum(part.n_records or 0 for group in groups for part in group) for groups in dealt]
    assert max(sizes) - min(sizes) <= 1


def test_runs_keep_the_mix_of_files(tmp_path: Path) -> None:
    """Each reader has a part of each file, and reads no more than its part."""
    names = [str(written(tmp_path / str(i), [bytes(500)] * 4000)) for i in range(3)]
    TFRecordFile(names).save_index()
    marks = [file_marks(name, ReadSettings(), is_first=True) for name in names]
    for number in range(4):
        groups = deal([file for file in marks if file], (4, number))
        assert [group[0].source for group in groups] == names
        sizes = [sum(part.n_records or 0 for part in group) for group in groups]
        assert sum(sizes) == 3000
        assert max(sizes) < 1300
        assert sum(part.nbytes for group in groups for part in group) == 3000 * 516


def test_borders_that_are_not_known_before_a_file_is_read(tmp_path: Path) -> None:
    small, large = (
        written(tmp_path / "a", [b"x"] * 99),
        written(tmp_path / "b", [bytes(20_000)] * 99),
    )
    packed = tmp_path / "c"
    packed.write_bytes(gzip.compress(small.read_bytes()))
    cut = written(tmp_path / "d", [bytes(20_000)] * 9)
    os.truncate(cut, 100_000)

    def is_known(path: Path, *, is_first: bool) -> bool:
        return file_marks(str(path), ReadSettings(), is_first=is_first) is not None

    assert [is_known(path, is_first=True) for path in (small, large, packed, cut)] == [
        False,
        True,
        False,
        False,
    ]
    assert [is_known(path, is_first=False) for path in (small, large, packed, cut)] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("n", [0, 1, 7, 19, 20, 21])
def test_what_follows_some_records_of_a_part(tmp_path: Path, n: int) -> None:
    records = [b"%d" % i for i in range(30)]
    (whole,) = file_parts(written(tmp_path / "a", records), max_bytes=None)
    part, _ = whole.after(10, ReadSettings())
    rest, n_left = part.after(n, ReadSettings())
    assert read([rest]) == records[10:][n:]
    assert n_left == max(n - 20, 0)
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a").read_bytes()))
    assert FilePart(str(packed)).after(n, ReadSettings()) == (FilePart(str(packed)), n)
    assert FilePart(str(packed)).after(n, ReadSettings(compression="GZIP"))[1] == n


def test_a_cut_in_a_file_that_was_shortened_is_an_error(tmp_path: Path) -> None:
    marks = file_marks(str(written(tmp_path / "a", [b"x"] * 9)), ReadSettings(), is_first=False)
    assert marks is not None
    os.truncate(marks.source, 5 * 17)
    assert marks.part(2, 5).n_records == 3
    with pytest.raises(FailedPreconditionError, match="the file has changed"):
        marks.part(2, 6)


def test_parts_have_about_the_size_that_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "a", [b"x" * 84] * 1000)
    parts = file_parts(path, max_bytes=10_000)
    assert [part.n_records for part in parts] == [100] * 10
    assert [part.nbytes for part in parts] == [10_000] * 10
    assert len(file_parts(path, num_parts=7)) == 7
    assert len(file_parts([path, path], num_parts=8)) == 8
    assert len(file_parts(path)) == 1
    assert len(file_parts(written(tmp_path / "b", [b"x" * 1000] * 3), max_bytes=10)) == 3


@pytest.mark.parametrize("size", [0, 1, 4084, 5000, 70_000, 300_000])
def test_the_hop_finds_every_border(tmp_path: Path, size: int) -> None:
    choose = random.Random(size)
    records = [choose.randbytes(choose.randrange(size + 1)) for _ in range(300)]
    path = written(tmp_path / "a", records)
    borders = _hop(open_handle(str(path)))
    assert np.diff(borders).tolist() == [len(record) + 16 for record in records]
    os.truncate(path, borders[-1] - 1)
    assert _hop(open_handle(str(path))).tolist() == borders[:-1].tolist()


@given(
    records=files_of_records.filter(len),
    choose=st.randoms(use_true_random=False),
    num_parts=st.integers(1, 20),
    n_damages=st.integers(1, 4),
)
def test_damage_is_skipped_as_the_reader_skips_it(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[bytes],
    choose: random.Random,
    num_parts: int,
    n_damages: int,
) -> None:
    data = bytearray(frame(records))
    for _ in range(n_damages):
        data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
    if choose.random() < 0.3:
        del data[choose.randrange(len(data)) :]
    check_skipped(tmp_path_factory.mktemp("r") / "a", bytes(data), num_parts)


def check_skipped(path: Path, data: bytes, num_parts: int) -> None:
    path.write_bytes(data)
    options = ReadSettings(on_error="skip", compression="")
    reader = TFRecordReader(path, on_error="skip", compression="")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataLossWarning)
        expected = list(reader)
    readers = [PartReader(part, options) for part in file_parts(path, options, num_parts=num_parts)]
    found = [record for each in readers for block in each.blocks(3) for record in block]
    assert found == expected
    reports = [each.report for each in readers if each.report is not None]
    assert join_reports(reversed(reports)) == reader.report


@pytest.mark.parametrize("num_parts", [1, 3])
def test_a_file_that_ends_in_its_first_record_is_one_part(tmp_path: Path, num_parts: int) -> None:
    check_skipped(tmp_path / "a", bytes(frame([bytes(200)])[:100]), num_parts)


@given(
    records=files_of_records.filter(len),
    choose=st.randoms(use_true_random=False),
    num_parts=st.integers(1, 20),
)
def test_damage_is_raised_where_the_reader_raises_it(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[bytes],
    choose: random.Random,
    num_parts: int,
) -> None:
    data = bytearray(frame(records))
    data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
    path = tmp_path_factory.mktemp("r") / "a"
    path.write_bytes(data)
    expected: list[bytes] = []
    with pytest.raises(DataLossError) as raised:
        expected.extend(TFRecordReader(path, compression=""))
    options = ReadSettings(compression="")
    found: list[bytes] = []
    with pytest.raises(DataLossError) as met:
        found.extend(each_of(file_parts(path, options, num_parts=num_parts), options))
    assert found == expected
    assert str(met.value) == str(raised.value)


def test_the_report_of_a_part_is_of_the_part_alone(tmp_path: Path) -> None:
    data = bytearray(frame([b"x" * 14] * 100))
    for record in 10, 60, 61:
        data[30 * record + 15] ^= 1
    path = tmp_path / "a"
    path.write_bytes(data)
    options = ReadSettings(on_error="skip")
    readers = [PartReader(part, options) for part in file_parts(path, options, max_bytes=1500)]
    assert [sum(map(len, each.blocks())) for each in readers] == [49, 48]
    first, second = (each.report for each in readers)
    assert first is not None
    assert second is not None
    assert (first.records, second.records) == (49, 48)
    assert [(span.index, span.num_records) for span in second.spans] == [(60, 2)]
    assert PartReader(FilePart(str(path)), ReadSettings()).report is None
    assert PartReader(FilePart(str(path)), options).report is not None  # not opened yet


def test_max_errors_is_of_a_part(tmp_path: Path) -> None:
    data = bytearray(frame([b"x" * 14] * 100))
    for record in 10, 60, 61:
        data[30 * record + 15] ^= 1
    (path := tmp_path / "a").write_bytes(data)
    options = ReadSettings(on_error="skip", max_errors=1)
    first, second = (PartReader(p, options) for p in file_parts(path, options, max_bytes=1500))
    assert sum(map(len, first.blocks())) == 49
    with pytest.raises(DataLossError, match=r"record 61, byte 1830: .*max_errors"):
        list(second.blocks())


@pytest.mark.parametrize("what", ["longer", "shorter", "other"])
def test_a_file_that_has_changed_since_it_was_cut(tmp_path: Path, what: str) -> None:
    path = written(tmp_path / "a", [b"x" * 14] * 100)
    parts = file_parts(path, num_parts=4)
    changed = {"longer": [b"x" * 14] * 200, "shorter": [b"x" * 14] * 80, "other": [b"x" * 44] * 50}
    written(path, changed[what])
    if what == "longer":  # what was there is there
        assert read(parts) == [b"x" * 14] * 100
        return
    with pytest.raises((FailedPreconditionError, DataLossError)) as raised:
        read(parts)
    if isinstance(raised.value, FailedPreconditionError):
        assert raised.value.reason is Reason.STALE_INDEX
        assert "has changed since it was divided among tasks" in str(raised.value)


def test_what_cannot_be_cut_is_whole(tmp_path: Path) -> None:
    zipped = tmp_path / "a.gz"
    zipped.write_bytes(gzip.compress(bytes(frame([b"x" * 100] * 50))))
    (empty := tmp_path / "b").write_bytes(b"")
    (other := tmp_path / "c").write_bytes(b"this is not a file of records" * 10)
    for path in zipped, empty, other:
        (part,) = file_parts(path, max_bytes=10)
        assert part == FilePart(str(path), nbytes=path.stat().st_size)
    assert len(read(file_parts(zipped, max_bytes=10))) == 50
    with pytest.raises(DataLossError, match="looks like"):
        read(file_parts(other))


def test_an_index_tells_the_number_of_records_without_a_hop(tmp_path: Path) -> None:
    path = written(tmp_path / "a", [b"x" * 14] * 100)
    assert [part.n_records for part in file_parts(path)] == [None]
    TFRecordFile(path).save_index()
    assert [part.n_records for part in file_parts(path)] == [100]
    written(path, [b"x" * 14] * 99)  # the index is of another file now
    assert [part.n_records for part in file_parts(path)] == [None]
    assert sum(p.n_records or 0 for p in file_parts(path, num_parts=5)) == 99


def test_a_limit_on_records_is_raised_where_the_record_is(tmp_path: Path) -> None:
    records = [b"x" * 10] * 20 + [b"y" * 50] + [b"x" * 10] * 20
    path = written(tmp_path / "a", records)
    for has_index in (False, True):
        if has_index:
            TFRecordFile(path).save_index()
        enough, options = ReadSettings(max_record_bytes=50), ReadSettings(max_record_bytes=49)
        parts = file_parts(path, enough, num_parts=8)
        assert (read(parts, enough), sum(r.n_records or 0 for r in parts)) == (records, 41)
        with pytest.raises(DataLossError, match="record 20, byte 520") as raised:
            read(file_parts(path, options, num_parts=8), options)
        assert raised.value.reason is Reason.RECORD_TOO_LARGE


def test_bad_arguments(tmp_path: Path) -> None:
    path = written(tmp_path / "a", [b""])
    with pytest.raises(InvalidArgumentError, match="max_bytes"):
        file_parts(path, max_bytes=0)
    with pytest.raises(InvalidArgumentError, match="num_parts"):
        file_parts(path, num_parts=0)
    with pytest.raises(FileNotFoundError):
        file_parts(tmp_path / "none")
    with path.open("rb") as file, pytest.raises(InvalidArgumentError, match="give paths"):
        file_parts(file)


@pytest.mark.needs("remote")
def test_urls_are_cut_by_their_indexes_alone() -> None:
    records = [b"%05d" % i for i in range(500)]
    with serving() as server:
        server.files["/a"] = server.files["/b"] = bytes(frame(records))
        server.files["/b.idx"] = b"".join(b"%d 21\n" % (21 * i) for i in range(500))
        url = server.url
        whole = file_parts(f"{url}/a", max_bytes=1000)
        cut = file_parts(f"{url}/b", max_bytes=1000)
        both = file_parts([f"{url}/a", f"{url}/b"], max_bytes=1000)
        assert whole == [FilePart(f"{url}/a", nbytes=10_500)]
        assert len(cut) == 11
        assert both == whole + cut
        assert read(both) == records * 2
