"""Tar shards of webdataset: what is written, what comes back, and archives that are hostile."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import tarfile
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.corpus import CorpusFile, corpus_files
from tfrecord_lite import (
    TFRecordReader,
    TFRecordWriter,
    decode_example,
    encode_example,
    load,
)
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason, TFRecordError
from tfrecord_lite.options import ReadSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.needs("arrow")

JPEG = b"\xff\xd8\xff\xe0 a picture"
PNG = b"\x89PNG\r\n\x1a\n a picture"


def converted(source: Path | str, target: Path, **settings: Any) -> Path:
    from tfrecord_lite.apps.tables.conversion import Request, convert

    summary = convert(Request((str(source),), str(target), **settings), progress=False)
    for _, error in summary.failures:
        raise error
    return target


def write_records(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with TFRecordWriter(path) as writer:
        for row in rows:
            writer.write(encode_example(row))
    return path


def messages(path: Path) -> list[Any]:
    rows = [listed(record) for record in TFRecordReader(path)]
    return [{name: value for name, value in row.items() if name != "__key__"} for row in rows]


def listed(record: bytes) -> dict[str, list[Any]]:
    return {name: np.asarray(value).tolist() for name, value in decode_example(record).items()}


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {
            info.name: archive.extractfile(info).read()  # type: ignore[union-attr]
            for info in archive
        }


def tar_of(path: Path, files: Sequence[tuple[str, bytes]], kind: int = tarfile.GNU_FORMAT) -> Path:
    with tarfile.open(path, "w", format=kind) as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def source_of(path: Path, **options: Any) -> Any:
    from tfrecord_lite.apps.tables.byte_files import Reading
    from tfrecord_lite.apps.tables.webdataset_format import WebDatasetSource

    return WebDatasetSource(str(path), Reading(options=ReadSettings(**options)))


def rows_of(path: Path, **options: Any) -> list[dict[str, Any]]:
    source = source_of(path, **options)
    try:
        return [row for batch in source.batches() for row in batch.to_pylist()]
    finally:
        source.close()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


ROWS = [
    {
        "image": JPEG if i % 2 else PNG,
        "label": i,
        "weight": 0.5 * i,
        "box": [1.0, 2.0, 3.0, float(i)],
        "numbers": list(range(i % 4 + 1)),
        "tags": [b"a", b"\xff"] if i % 2 else [b"c", b"d", b"e"],
        "raw": bytes([i, 255]),
        "dots.and/slash%": b"x",
    }
    for i in range(20)
]


def test_a_sample_has_a_member_per_feature_with_an_extension_of_its_type(tmp_path: Path) -> None:
    source = write_records(tmp_path / "a.tfrecord", ROWS)
    found = members(converted(source, tmp_path / "a.tar", text=["dots.and/slash%"]))
    assert {name for name in found if name.startswith("000000003.")} == {
        "000000003.image.jpg",
        "000000003.label.cls",
        "000000003.weight.npy",
        "000000003.box.npy",
        "000000003.numbers.npy",
        "000000003.tags.json",
        "000000003.raw.bin",
        "000000003.dots.and%2Fslash%25.txt",
    }
    assert found["000000003.label.cls"] == b"3"
    assert found["000000003.tags.json"] == b'["a", {"base64": "/w=="}]'
    assert "000000004.image.png" in found
    box = np.load(io.BytesIO(found["000000003.box.npy"]))
    assert box.dtype == np.float32
    assert box.tolist() == [1, 2, 3, 3]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("ending", [".tar", ".tar.gz"])
def test_records_come_back_as_they_were(tmp_path: Path, ending: str, text: bool) -> None:
    source = write_records(tmp_path / "a.tfrecord", ROWS)
    shard = converted(source, tmp_path / f"a{ending}", text=text)
    back = converted(shard, tmp_path / "b.tfrecord")
    assert messages(back) == messages(source)
    keys: Any = load(back)["__key__"]
    assert keys[7] == "000000007"


@pytest.mark.parametrize("sample", corpus_files("example"))
def test_every_corpus_file_comes_back(sample: CorpusFile, tmp_path: Path) -> None:
    shard = tmp_path / "a.tar"
    try:
        converted(sample.path, shard, limit=300)
    except InvalidArgumentError as error:
        if error.reason not in (Reason.UNREPRESENTABLE, Reason.WRONG_KIND, Reason.BAD_ARGUMENT):
            raise
        pytest.skip(f"not a table, or a record without values: {error}")
    back = converted(shard, tmp_path / "b.tfrecord")
    records = itertools.islice(TFRecordReader(sample.path), 300)
    expected = [listed(record) for record in records]

    def present(row: Any) -> dict[str, Any]:
        return {name: value for name, value in row.items() if np.size(value)}

    found = messages(back)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert str(present(dict(sorted(one.items())))) == str(present(dict(sorted(other.items()))))


def test_shards_have_keys_of_their_own_and_every_row_once(tmp_path: Path) -> None:
    source = write_records(tmp_path / "a.tfrecord", ROWS)
    converted(source, tmp_path / "s.tar", num_shards=3, num_jobs=2)
    shards = sorted(tmp_path.glob("s-*.tar"))
    keys = [row["__key__"] for shard in shards for row in rows_of(shard)]
    assert len(set(keys)) == len(keys) == 20
    assert keys[0] == "00000_000000000"
    back = converted(str(tmp_path / "s-*.tar"), tmp_path / "b.tfrecord", num_shards=2)
    found = [m for path in sorted(tmp_path.glob("b-*.tfrecord")) for m in messages(path)]
    assert back is not None
    assert found == messages(source)


def test_keys_of_a_column(tmp_path: Path) -> None:
    keys = ["a.jpg", "dir/b", "/c", "../d", "ä", "x" * 150, "50%", "e/", "//f"]
    source = write_records(tmp_path / "a.tfrecord", [{"id": k.encode(), "n": 1} for k in keys])
    shard = converted(source, tmp_path / "a.tar", key="id")
    names = [name for name in members(shard) if name.endswith(".n.cls")]
    assert names[:4] == ["a%2Ejpg.n.cls", "dir/b.n.cls", "%2Fc.n.cls", "%2E%2E/d.n.cls"]
    assert [row["__key__"] for row in rows_of(shard)] == keys
    again = converted(shard, tmp_path / "b.tar")
    assert members(again) == members(shard)


@pytest.mark.parametrize(
    ("rows", "key", "word"),
    [
        ([{"id": 1, "n": 1}, {"id": 1, "n": 2}], "id", "follow each other"),
        ([{"id": b"", "n": 1}], "id", "cannot be a key"),
        ([{"id": b"\xff", "n": 1}], "id", "cannot be a key"),
        ([{"id": b"__x__/y", "n": 1}], "id", "webdataset skips"),
        ([{"id": 1, "n": 1}], "idd", "'id'"),
        ([{"a": 1, "A": 1}], None, "lower case"),
        ([{"a": 1}, {}], None, "without members"),
    ],
)
def test_samples_that_webdataset_would_not_read_are_errors(
    tmp_path: Path, rows: list[dict[str, Any]], key: str | None, word: str
) -> None:
    source = write_records(tmp_path / "a.tfrecord", rows)
    with pytest.raises(InvalidArgumentError, match=word):
        converted(source, tmp_path / "a.tar", key=key)
    assert [path.name for path in tmp_path.iterdir()] == ["a.tfrecord"]


def test_names_that_are_extensions_stay_as_they_are(tmp_path: Path) -> None:
    metadata = json.dumps({"width": 3})
    row = {"jpg": JPEG, "txt": b"a text", "json": metadata.encode(), "cls": 3, "npy": [1.0, 2.0]}
    source = write_records(tmp_path / "a.tfrecord", [row])
    shard = converted(source, tmp_path / "a.tar", text=True)
    assert sorted(members(shard)) == [f"000000000.{name}" for name in sorted(row)]
    assert messages(converted(shard, tmp_path / "b.tfrecord")) == messages(source)


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archives_of_other_writers(tmp_path: Path, kind: int) -> None:
    long = f"folder/{'k' * 90}"
    files = [
        (".hidden.txt", b"skipped"),
        ("__meta__/x.txt", b"skipped"),
        (f"{long}.mask.png", PNG),
        (f"{long}.mask.json", b'{"n": 1}'),
        (f"{long}.LABEL.CLS", b"7"),
        ("./b.mask.png", b""),
        ("./b.mask.json", b"[1]"),
        ("./b.LABEL.CLS", b" 8\n"),
        ("./b.notes.unknown", b"n"),
    ]
    found = rows_of(tar_of(tmp_path / "a.tar", files, kind))
    assert found == [
        {
            "__key__": long,
            "mask.png": PNG,
            "mask.json": '{"n": 1}',
            "LABEL": 7,
            "notes.unknown": None,
        },
        {"__key__": "./b", "mask.png": b"", "mask.json": "[1]", "LABEL": 8, "notes.unknown": b"n"},
    ]


def test_shapes_and_dtypes_of_arrays(tmp_path: Path) -> None:
    grid = np.arange(6, dtype=">i2").reshape(2, 3)
    files = [
        ("a.grid.npy", npy(grid)),
        ("a.f.npy", npy(np.asfortranarray(np.eye(3, dtype=np.float32)))),
        ("a.one.npy", npy(np.float64(0.1))),
        ("a.many.npy", npy(np.zeros(0, np.uint8))),
        ("b.grid.npy", npy(-grid)),
        ("b.many.npy", npy(np.array([1, 2], np.uint8))),
    ]
    first, second = rows_of(tar_of(tmp_path / "a.tar", files))
    assert first["grid"] == grid.tolist()
    assert second["grid"] == (-grid).tolist()
    assert first["f"] == np.eye(3).tolist()
    assert (first["one"], first["many"], second["f"], second["one"]) == (0.1, [], None, None)


BAD_VALUES = [
    ("label.cls", b"1", b"x", "not int64"),
    ("text.txt", b"1", b"\xff", "not large_string"),
    ("x.npy", npy(np.zeros(2)), b"\x93NUMPY", "not a file of NumPy"),
    ("x.npy", npy(np.zeros(2)), npy(np.zeros((2, 2))), "shape"),
    ("x.npy", npy(np.zeros(2)), npy(np.zeros(2))[:-1], "bytes"),
    ("x.npy", npy(np.zeros(2)), npy(np.zeros(2)).replace(b"(2,)", b"(9,)"), "bytes"),
    ("x.json", b"[1]", b"[", "not JSON"),
    ("x.json", b"[1]", b"[" * 100_000, "not JSON"),
]


@pytest.mark.parametrize(("suffix", "good", "bad", "word"), BAD_VALUES)
def test_values_that_do_not_fit_are_located(
    tmp_path: Path, suffix: str, good: bytes, bad: bytes, word: str
) -> None:
    files = [(f"{i:06d}.{suffix}", good) for i in range(20_000)] + [(f"z.{suffix}", bad)]
    path = tar_of(tmp_path / "a.tar", files)
    with pytest.raises(InvalidArgumentError, match=word) as raised:
        rows_of(path)
    error = raised.value
    assert (error.source, error.index, error.key) == (str(path), 20_000, suffix.partition(".")[0])
    with tarfile.open(path) as archive:
        assert error.offset == archive.getmembers()[-1].offset


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    objects = io.BytesIO()
    np.save(objects, np.array([{}], dtype=object), allow_pickle=True)
    path = tar_of(tmp_path / "a.tar", [("a.x.npy", objects.getvalue())])
    with pytest.raises(InvalidArgumentError, match="expected numbers"):
        rows_of(path)
    path = tar_of(tmp_path / "b.tar", [("a.x.pyd", b"\x80\x04junk")])
    assert rows_of(path)[0]["x"] == b"\x80\x04junk"


def test_members_of_a_sample_follow_each_other(tmp_path: Path) -> None:
    files = [("a.x.cls", b"1"), ("b.x.cls", b"2"), ("a.y.cls", b"3")]
    with pytest.raises(InvalidArgumentError, match="two places") as raised:
        rows_of(tar_of(tmp_path / "a.tar", files))
    assert raised.value.index == 2
    twice = tar_of(tmp_path / "b.tar", [("a.x.cls", b"1"), ("a.x.cls", b"2")])
    with pytest.raises(InvalidArgumentError, match="twice"):
        rows_of(twice)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (tarfile.SYMTYPE, "symbolic link"),
        (tarfile.LNKTYPE, "hard link"),
        (tarfile.CHRTYPE, "device"),
        (tarfile.FIFOTYPE, "pipe"),
    ],
)
def test_links_and_devices_are_errors(tmp_path: Path, kind: bytes, word: str) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("a.x.txt")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(InvalidArgumentError, match=word) as raised:
        rows_of(path)
    assert raised.value.offset == 0


def header(name: bytes, size: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A tar header with these fields as they are, and the right checksum."""
    fields = {0: name, 124: size, 148: b" " * 8, 156: kind, 257: b"ustar\x0000"}
    block = bytearray(512)
    for place, field in fields.items():
        block[place : place + len(field)] = field
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def said(text: bytes) -> bytes:
    """One setting of pax: its own length first."""
    length = len(text) + 2
    length += len(str(length + 1))
    return b"%d %s\n" % (length, text)


def settings(line: bytes) -> bytes:
    """A header of pax that says this, before a member of one byte."""
    data = line.ljust(512, b"\0")
    size = b"%011o\0" % len(line)
    return header(b"pax", size, tarfile.XHDTYPE) + data + header(b"a.x.txt", b"00000000001\0")


@pytest.mark.every
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (header(b"a.x.txt", b"12345678\0"), Reason.MALFORMED),  # 8 is no octal digit
        (header(b"a.x.txt", b"-0000000001\0"), Reason.MALFORMED),
        (header(b"a.\xff.txt", b"00000000001\0"), Reason.MALFORMED),
        (header(b"a.x.txt", b"\x80" + b"\xff" * 11), Reason.RECORD_TOO_LARGE),  # binary, of GNU
        (header(b"pax", b"77777777777\0", tarfile.XHDTYPE), Reason.RECORD_TOO_LARGE),
        (settings(b"path=b.txt\n"), Reason.MALFORMED),  # without its length
        (settings(b"99 path=b.txt\n"), Reason.MALFORMED),
        (settings(b"14 path=b.txt "), Reason.MALFORMED),
        (settings(said(b"a=")), Reason.TRUNCATED),  # sound, but the archive ends
        (settings(b"1" * 9 + b" path=b.txt\n"), Reason.MALFORMED),
        (settings(said(b"size=-1")), Reason.MALFORMED),
        (settings(said(b"size=" + b"9" * 21)), Reason.MALFORMED),
        (settings(said(b"path=\xff")), Reason.MALFORMED),
        (settings(said(b"GNU.sparse.major=1")), Reason.UNSUPPORTED),
    ],
)
def test_headers_that_lie_are_located_errors(tmp_path: Path, data: bytes, reason: Reason) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(data)

    with pytest.raises(TFRecordError) as raised:
        rows_of(path)

    assert raised.value.reason is reason
    assert raised.value.source == str(path)


def test_a_header_of_pax_says_the_size_and_the_name(tmp_path: Path) -> None:
    line = said(b"path=b.y.txt") + said(b"size=3")
    path = tmp_path / "a.tar"
    path.write_bytes(settings(line) + b"abc".ljust(512, b"\0") + bytes(1024))

    assert rows_of(path) == [{"__key__": "b", "y": "abc"}]


def test_a_long_name_of_a_link_is_passed_over(tmp_path: Path) -> None:
    name = header(b"x", b"00000000003\0", b"K") + b"abc".ljust(512, b"\0")
    member = header(b"a.x.txt", b"00000000001\0") + b"1".ljust(512, b"\0")
    path = tmp_path / "a.tar"
    path.write_bytes(name + member + bytes(1024))

    assert rows_of(path) == [{"__key__": "a", "x": "1"}]


def test_names_of_other_places_are_keys_and_nothing_is_extracted(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    files = [("/tmp/absolute.txt", b"1"), ("a/../../up.txt", b"2")]  # noqa: S108
    path = tar_of(tmp_path / "in" / "a.tar", files)
    assert rows_of(path)[0]["__key__"] == "/tmp/absolute"  # noqa: S108
    assert not (tmp_path / "up.txt").exists()


def test_an_archive_that_is_cut_anywhere_is_one_located_error(tmp_path: Path) -> None:
    files = [(f"{i}.x.txt", b"text" * 200) for i in range(4)]
    data = tar_of(tmp_path / "a.tar", files).read_bytes()
    end = 4 * (512 + 1024) + 512
    path = tmp_path / "cut.tar"
    for size in [*range(0, end, 97), 512, 1536, end - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(DataLossError) as raised:
            rows_of(path)
        assert raised.value.reason is Reason.TRUNCATED
        assert raised.value.source == str(path)
        assert raised.value.offset is not None
        assert raised.value.offset <= size


def test_bytes_that_are_changed_are_errors_or_read(tmp_path: Path) -> None:
    files = [(f"{i}.x.txt", b"text" * 20) for i in range(3)]
    data = tar_of(tmp_path / "a.tar", files, tarfile.PAX_FORMAT).read_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / "bad.tar"
    n_errors = 0
    for place in rng.integers(0, 4096, 400).tolist():
        changed = bytearray(data)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            rows_of(path)
        except TFRecordError as error:
            n_errors += error.source == str(path)
    assert n_errors > 100


def test_two_archives_joined_are_an_error(tmp_path: Path) -> None:
    data = tar_of(tmp_path / "a.tar", [("a.x.txt", b"1")]).read_bytes()
    (tmp_path / "b.tar").write_bytes(data + data)
    with pytest.raises(DataLossError, match="joined"):
        rows_of(tmp_path / "b.tar")


def test_memory_is_bounded_for_sizes_that_are_only_claimed(tmp_path: Path) -> None:
    info = tarfile.TarInfo("a.x.txt")
    info.size = 2**33 + 5
    (tmp_path / "a.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + b"text")
    tracemalloc.start()
    with pytest.raises(DataLossError, match="limit"):
        rows_of(tmp_path / "a.tar", max_record_bytes=2**20)
    with pytest.raises(DataLossError, match="cut short"):
        rows_of(tmp_path / "a.tar", max_record_bytes=2**40)
    assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    tracemalloc.stop()


def test_limits_hold_for_whole_samples_and_what_inflates(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "a.tar", [(f"a.{i}.txt", bytes(1000)) for i in range(10)])
    with pytest.raises(TFRecordError, match="more than 5,000 bytes"):
        rows_of(path, max_record_bytes=5000)
    assert len(rows_of(path, max_record_bytes=10_000)) == 1
    big = tar_of(tmp_path / "b.tar", [("a.x.bin", bytes(50_000_000))]).read_bytes()
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(big))
    with pytest.raises(DataLossError):
        rows_of(tmp_path / "b.tar.gz", max_inflated_bytes=1_000_000)


def test_a_member_that_is_new_later_is_an_error_unless_left_out(tmp_path: Path) -> None:
    files = [(f"{i:06d}.x.cls", b"1") for i in range(20_000)] + [("z.y.txt", b"new")]
    path = tar_of(tmp_path / "a.tar", files)
    with pytest.raises(InvalidArgumentError, match="no sample before") as raised:
        converted(path, tmp_path / "a.tfrecord")
    assert raised.value.key == "y"
    converted(path, tmp_path / "a.parquet", columns=("__key__",))
    from tfrecord_lite.cli.convert import parse_features

    features = parse_features("x:int64?,y:text?,__key__:text")
    back = converted(path, tmp_path / "b.tfrecord", features=features)
    assert decode_example(list(TFRecordReader(back))[-1])["y"] == [b"new"]


def test_columns_and_rows_are_chosen(tmp_path: Path) -> None:
    source = write_records(tmp_path / "a.tfrecord", ROWS)
    shard = converted(source, tmp_path / "a.tar")
    chosen = converted(shard, tmp_path / "b.tfrecord", columns=("label",), limit=5)
    assert messages(chosen) == [{"label": [i]} for i in range(5)]
    with pytest.raises(InvalidArgumentError, match="'label'"):
        converted(shard, tmp_path / "c.tfrecord", columns=("labl",))


def test_a_key_that_is_new_late_in_json_lines_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    line = json.dumps({"x": 1, "pad": "p" * 1000}) + "\n"
    path.write_text(line * 6000 + '{"x": 1, "y": 2}\n')
    with pytest.raises(InvalidArgumentError, match="line 6,001: this key is in no line before"):
        converted(path, tmp_path / "a.tfrecord")
    converted(path, tmp_path / "a.tfrecord", columns=("x",))


def test_features_that_webdataset_wrote_again_in_lower_case(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "a.tar", [("0.image%2fencoded.jpg", JPEG)])
    assert rows_of(path) == [{"__key__": "0", "image/encoded": JPEG}]


def test_the_checksum_of_a_header_is_checked(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "a.tar", [("a.x.txt", b"1")])
    path.write_bytes(path.read_bytes().replace(b"a.x.txt", b"b.x.txt"))
    with pytest.raises(DataLossError, match="checksum") as raised:
        rows_of(path)
    assert raised.value.offset == 0
