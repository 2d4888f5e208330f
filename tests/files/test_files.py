"""Where records may come from: everything that names a file, or is one."""

import codecs
import functools
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import reference
from tests.support.errors import raised
from tests.support.file_objects import Bare, Pipe
from tfrecord_lite import (
    ShardedTFRecordWriter,
    TFRecordDataset,
    TFRecordReader,
    TFRecordWriter,
    verify,
)
from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason
from tfrecord_lite.files.names import expand, shard_names
from tfrecord_lite.reader import tf_record_iterator

ITEMS = [b"one", b"", b"three"]
STREAM = reference.encode(ITEMS)

as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "three.tfrecord"
    path.write_bytes(STREAM)
    return path


def write_each(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(reference.encode([name.encode()]))
    return [str(folder / name) for name in names]


class TestPaths:
    @pytest.mark.parametrize("kind", [str, os.fsencode, Path])
    def test_a_path_may_be_str_bytes_or_path(self, path: Path, kind: Callable[[Path], Any]) -> None:
        assert list(TFRecordReader(kind(path))) == ITEMS
        assert list(tf_record_iterator(kind(path))) == ITEMS

    def test_a_name_need_not_be_text(self, tmp_path: Path) -> None:
        name = os.fsencode(tmp_path) + b"/\xff.tfrecord"
        try:
            Path(os.fsdecode(name)).write_bytes(STREAM)
        except OSError:
            pytest.skip("this file system wants names to be text")
        assert list(TFRecordReader(name)) == ITEMS

    def test_sources_are_what_is_read(self, path: Path) -> None:
        file = io.BytesIO(STREAM)
        reader = TFRecordReader([path, file])
        assert reader.sources == [str(path), file]
        assert path.name in repr(reader)

    def test_a_list_is_read_in_its_order(self, tmp_path: Path) -> None:
        b, a = write_each(tmp_path, "b", "a")
        assert list(TFRecordReader([b, Path(a), b])) == [b"b", b"a", b"b"]
        assert list(TFRecordReader(iter([b, a]))) == [b"b", b"a"]

    def test_r9_a_missing_file_is_found_missing(self, tmp_path: Path) -> None:
        missing = tmp_path / "missing"
        assert raised(FileNotFoundError, list, TFRecordReader(missing)).filename == str(missing)
        raised(FileNotFoundError, tf_record_iterator, str(missing))

    def test_r9_a_directory_is_a_directory(self, tmp_path: Path) -> None:
        write_each(tmp_path, "a")
        for read in (tf_record_iterator, lambda path: list(TFRecordDataset(path))):
            with pytest.raises(IsADirectoryError, match=r"name its files, as '.*/\*'") as caught:
                read(str(tmp_path))
            assert caught.value.filename == str(tmp_path)

    @as_root
    def test_a_forbidden_file_is_a_permission_error(self, path: Path) -> None:
        path.chmod(0)
        assert raised(PermissionError, list, TFRecordReader(path)).filename == str(path)

    @pytest.mark.parametrize("wrong", [None, 7, 1.5, [None], [7], object()])
    def test_what_names_no_file_is_a_type_error(self, wrong: Any) -> None:
        raised(TypeError, TFRecordReader, wrong)

    @pytest.mark.parametrize("wrong", [None, 7, [], io.BytesIO()])
    def test_an_iterator_wants_one_path(self, wrong: Any) -> None:
        raised(TypeError, tf_record_iterator, wrong)


class TestPatterns:
    def test_matches_come_sorted(self, tmp_path: Path) -> None:
        write_each(tmp_path, "b-10", "b-2", "b-1", "a", "b-x.txt")
        assert list(TFRecordReader(f"{tmp_path}/b-*[0-9]")) == [b"b-1", b"b-10", b"b-2"]
        assert list(TFRecordReader(tmp_path / "b-?")) == [b"b-1", b"b-2"]
        assert list(TFRecordReader(os.fsencode(tmp_path) + b"/[ab]")) == [b"a"]

    def test_each_pattern_of_a_list_is_sorted_by_itself(self, tmp_path: Path) -> None:
        write_each(tmp_path, "a1", "a2", "b1", "b2")
        found = list(TFRecordReader([f"{tmp_path}/b*", f"{tmp_path}/a*"]))
        assert found == [b"b1", b"b2", b"a1", b"a2"]

    def test_sidecars_and_indexes_are_not_data(self, tmp_path: Path) -> None:
        paths = write_each(tmp_path, "a-0", "a-1")
        others = write_each(tmp_path, "a-0.schema.json", "a-1.idx", "a-2.idx")
        assert list(TFRecordReader(tmp_path / "a-*")) == [b"a-0", b"a-1"]
        assert TFRecordReader(sorted(paths + others)).sources == [*paths, others[-1]]
        assert verify(f"{tmp_path}/a-*") == verify(paths)
        assert len(list(TFRecordDataset(f"{tmp_path}/a-*"))) == 2
        for name in others:  # named, so read
            assert TFRecordReader(name).sources == [name]
        with pytest.raises(FileNotFoundError, match="but sidecars and indexes"):
            TFRecordReader(tmp_path / "a-*.idx")

    def test_urls_leave_out_what_is_not_data_too(self) -> None:
        memory = pytest.importorskip("fsspec").filesystem("memory")
        names = ["a", "a.idx", "a.schema.json", ".a.0123abcd.tmp"]
        for name in names:
            memory.pipe(f"/companions/{name}", STREAM)
        assert expand("memory://companions/*") == ["memory://companions/a"]
        assert expand(["memory://companions/a", "memory://companions/a.idx"]) == [
            "memory://companions/a"
        ]

    @pytest.mark.parametrize("pattern", ["*.tfrecord", "b?", "[0-9]"])
    def test_a_pattern_that_matches_nothing_is_an_error(self, tmp_path: Path, pattern: str) -> None:
        write_each(tmp_path, "a")
        raised(FileNotFoundError, TFRecordReader, tmp_path / pattern, match=re.escape(pattern))

    def test_no_file_at_all_is_an_error(self) -> None:
        raised(FileNotFoundError, TFRecordReader, [])

    @pytest.mark.parametrize(
        "name", ["backup@20240131", "a*", "a?b", "a[b]", "a@2", "a@2.tfrecord", "*@3", "[!a"]
    )
    def test_a_file_may_have_the_name_of_a_pattern(self, tmp_path: Path, name: str) -> None:
        write_each(tmp_path, name, "a", "aab", "ab", "a-00000-of-00002", "a-00001-of-00002")
        assert list(TFRecordReader(tmp_path / name)) == [name.encode()]

    def test_shards_come_in_their_order(self, tmp_path: Path) -> None:
        names = [f"train-{i:05d}-of-00003" for i in range(3)]
        write_each(tmp_path, *reversed(names), "train-00000-of-00002")
        assert list(TFRecordReader(tmp_path / "train@3")) == [name.encode() for name in names]

    def test_shards_that_are_all_missing_are_one_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="nor any of its 4 shards") as caught:
            expand(tmp_path / "x@4.tfrecord")
        assert "x-00000-of-00004.tfrecord" in str(caught.value)

    def test_a_missing_shard_is_found_missing(self, tmp_path: Path) -> None:
        write_each(tmp_path, "train-00000-of-00002.tfrecord")
        reader = TFRecordReader(tmp_path / "train@2.tfrecord")
        records = iter(reader)
        assert next(records) == b"train-00000-of-00002.tfrecord"
        error = raised(FileNotFoundError, next, records)
        assert error.filename == str(tmp_path / "train-00001-of-00002.tfrecord")

    @pytest.mark.parametrize(("pattern", "num_shards", "names"), [
        ("a@2", None, ["a-00000-of-00002", "a-00001-of-00002"]),
        ("a@b@1.gz", None, ["a@b-00000-of-00001.gz"]), ("a@1/b@1", None, ["a@1/b-00000-of-00001"]),
        ("a@00003", None, [f"a-{i:05d}-of-00003" for i in range(3)]), ("a{shard}", 2, ["a0", "a1"]),
        ("{shard:02d}/{num_shards}", 2, ["00/2", "01/2"]), ("a", None, None), ("a@b", None, None),
        ("a@2/b", None, None), ("a@0", None, []),
    ])  # fmt: skip
    def test_shards(self, pattern: str, num_shards: int | None, names: list[str] | None) -> None:
        found = shard_names(pattern, num_shards)
        assert found == names

    def test_as_many_shards_as_five_digits_can_number(self, tmp_path: Path) -> None:
        found = shard_names("a@99999")
        assert found is not None
        assert (len(found), found[-1]) == (99_999, "a-99998-of-99999")
        for pattern in ("a@100000", "a@20240131", "a@20240131.tfrecord", f"a@{10**30}"):
            error = raised(InvalidArgumentError, TFRecordReader, tmp_path / pattern, match="99,999")
            assert error.reason is Reason.BAD_ARGUMENT
            raised(InvalidArgumentError, ShardedTFRecordWriter, tmp_path / pattern)


class TestFileObjects:
    @pytest.mark.parametrize(
        "make", [io.BytesIO, Pipe, Bare, lambda data: io.BufferedReader(Pipe(data, 3))]
    )
    def test_records_are_read_from_any_read_method(self, make: Callable[[bytes], Any]) -> None:
        assert list(TFRecordReader(make(STREAM))) == ITEMS
        assert list(TFRecordReader(make(STREAM), "")) == ITEMS

    def test_an_open_file_is_read_from_where_it_stands_and_stays_open(self, path: Path) -> None:
        with path.open("rb") as file:
            file.seek(len(b"one") + 16)
            reader = TFRecordReader(file)
            assert list(reader) == ITEMS[1:]
            reader.close()
            assert not file.closed

    def test_every_iteration_begins_where_the_file_object_stood(self) -> None:
        file = io.BytesIO(b"junk" + STREAM)
        file.seek(4)
        reader = TFRecordReader(file)
        assert list(reader) == list(reader) == ITEMS
        assert [list(block) for block in reader.blocks(2)] == [ITEMS[:2], ITEMS[2:]]
        assert next(iter(reader)) == b"one"
        assert list(reader) == ITEMS

    @pytest.mark.parametrize("make", [Pipe, Bare])
    def test_what_cannot_seek_can_be_read_once(self, make: Callable[[bytes], Any]) -> None:
        reader = TFRecordReader(make(STREAM))
        assert list(reader) == ITEMS
        assert raised(FailedPreconditionError, list, reader).reason is Reason.NOT_SEEKABLE

    @pytest.mark.parametrize("kind", ["file", "object", "codecs"])
    def test_a_file_in_text_mode_is_named_with_the_mode_to_use(self, path: Path, kind: str) -> None:
        # Its bytes are no text: what Python says about that must not come first.
        path.write_bytes(reference.encode([b"\xff" * 50]))
        opened: dict[str, Callable[[], Any]] = {
            "file": lambda: path.open("r+", encoding="utf-8"),
            "object": lambda: io.StringIO("text"),
            "codecs": functools.partial(codecs.open, str(path), "r+", "utf-8"),
        }
        with opened[kind]() as file:
            for mode, use in (
                ("rb", lambda file: list(TFRecordReader(file))),
                ("rb", lambda file: list(TFRecordReader(file, "GZIP"))),
                ("wb", TFRecordWriter),
            ):
                raised(TypeError, use, file, match=f'text mode; open it in binary mode, "{mode}"')


class TestURLs:
    @pytest.fixture
    def memory(self) -> Iterator[Any]:
        fsspec = pytest.importorskip("fsspec")
        filesystem = fsspec.filesystem("memory")
        yield filesystem
        filesystem.store.clear()

    def test_a_url_is_read_through_fsspec(self, memory: Any) -> None:
        memory.pipe("/folder/a", STREAM)
        assert list(TFRecordReader("memory://folder/a")) == ITEMS
        assert list(TFRecordReader(["memory://folder/a"], "")) == ITEMS
        assert list(tf_record_iterator("memory://folder/a")) == ITEMS

    def test_patterns_of_urls_come_sorted(self, memory: Any) -> None:
        for name in "b", "a", "c":
            memory.pipe(f"/folder/{name}.tfrecord", reference.encode([name.encode()]))
        assert list(TFRecordReader("memory://folder/*.tfrecord")) == [b"a", b"b", b"c"]
        raised(FileNotFoundError, TFRecordReader, "memory://folder/*.none")

    def test_a_url_may_have_the_name_of_shards(self, memory: Any) -> None:
        memory.pipe("/backup@20240131", STREAM)
        memory.pipe("/a@2", STREAM)
        assert list(TFRecordReader("memory://backup@20240131")) == ITEMS
        assert list(TFRecordReader("memory://a@2")) == ITEMS

    @pytest.mark.usefixtures("memory")
    def test_a_missing_url_is_found_missing(self) -> None:
        raised(FileNotFoundError, lambda: list(TFRecordReader("memory://missing")))

    def test_a_url_without_fsspec_says_how_to_get_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "fsspec", None)
        for url in "memory://a", "memory://*":
            with pytest.raises(ImportError, match=r"pip install fsspec aiohttp"):
                list(TFRecordReader(url))

    @pytest.mark.parametrize("name", ["c:/x", "a:b", "://a", "1x://a"])
    def test_what_only_looks_like_a_url_is_a_path(self, name: str) -> None:
        raised(FileNotFoundError, list, TFRecordReader(name))


MIXED = ["a-00000-of-00002.x", "a-00001-of-00002.x", "a-00000-of-00001.x"]
NOT_MIXED = ["a-00000-of-00002.x", "a-00000-of-00001.y", "b-00000-of-00003.x", "a-2-of-b.x"]


def test_a_pattern_matches_the_shards_of_one_set(tmp_path: Path) -> None:
    write_each(tmp_path, *NOT_MIXED)
    with pytest.warns(UserWarning, match=r"missing: .*-of-0000[23]"):
        assert len(expand(tmp_path / "*")) == len(NOT_MIXED)
    folder = tmp_path / "mixed"
    folder.mkdir()
    write_each(folder, *MIXED)
    with pytest.raises(InvalidArgumentError, match=r"'[^']*a@1.x' and '[^']*a@2.x'") as caught:
        expand(folder / "*")
    assert caught.value.source == f"{folder}/*"
    raised(InvalidArgumentError, expand, [folder / "a-*.x"], match="two sets")
    assert len(expand([folder / "a-*2.x", folder / "a-*1.x"])) == 3
    assert len(expand(folder / "*", may_mix=True)) == 3
