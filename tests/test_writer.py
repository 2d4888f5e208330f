"""TFRecordWriter and ShardedTFRecordWriter: what is in the files, and when."""

import bz2
import contextlib
import errno
import gc
import gzip
import io
import os
import random
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import reference
from tests.support.errors import raised
from tests.support.read_outcome import outcome_of
from tests.support.subprocesses import run_fresh
from tfrecord_lite import (
    Block,
    ShardedTFRecordWriter,
    TFRecordReader,
    TFRecordWriter,
    encode_example,
    load,
    save,
    testing,
)
from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
)
from tfrecord_lite.files.compression import MEM_LEVEL, TFRecordCompressionType, TFRecordOptions
from tfrecord_lite.reader import tf_record_iterator
from tfrecord_lite.records.framing import frame
from tfrecord_lite.records.stream import RecordStream

ITEMS = [b"one", b"", b"three", bytes(1000)]
FRAMES = reference.encode(ITEMS)
RANDOM = random.Random(5)
# More than a writer collects before it writes.
LARGE_ITEMS = [RANDOM.randbytes(RANDOM.randrange(2000)) for _ in range(2000)]

every_compression = pytest.mark.parametrize("compression", ["", "ZLIB", "GZIP", "ZSTD", "BZ2"])
appendable = pytest.mark.parametrize("compression", ["", "ZSTD", "GZIP", "BZ2"])


@pytest.fixture(autouse=True)
def _needs_zstd(request: pytest.FixtureRequest) -> None:
    parameters = getattr(request.node, "callspec", None)
    if parameters is not None and parameters.params.get("compression") == "ZSTD":
        pytest.importorskip("backports.zstd")


def write(path: Any, items: list[bytes], options: Any = None, **keywords: Any) -> None:
    with TFRecordWriter(path, options, **keywords) as writer:
        for item in items:
            writer.write(item)


def forget(open_writer: Callable[[], Any]) -> None:
    open_writer().write(b"one")
    gc.collect(1)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestOptions:
    @pytest.mark.parametrize(("name", "given"), [
        *(("", given) for given in (None, "", 0, TFRecordCompressionType.NONE)),
        *(("ZLIB", given) for given in (1, "ZLIB", TFRecordCompressionType.ZLIB)),
        *((given, given) for given in ("GZIP", "ZSTD", "BZ2")), ("GZIP", 2),
        *(("GZIP", given) for given in ("gzip", "gz", "Gz")),
        *(("ZSTD", given) for given in ("zst", "Zstd")),
        *(("", given) for given in ("none", "NONE", "uncompressed")), ("", TFRecordOptions()),
        ("GZIP", TFRecordOptions("GZIP")),
        ("ZLIB", TFRecordOptions(TFRecordOptions(TFRecordOptions(1)))),
    ])  # fmt: skip
    def test_o2_what_stands_for_a_compression(self, given: Any, name: str) -> None:
        assert TFRecordOptions.get_compression_type_string(given) == name
        assert TFRecordOptions(given).compression_type is given

    @pytest.mark.parametrize("given", ["infer", "SNAPPY", 3, 5, -1, b"GZIP", "LZ4", [1]])
    def test_o2_anything_else_is_rejected(self, given: Any, tmp_path: Path) -> None:
        kept = tmp_path / "kept"
        kept.write_bytes(FRAMES)
        for ask in (
            TFRecordOptions,
            TFRecordOptions.get_compression_type_string,
            lambda given: TFRecordWriter(kept, given),
            lambda given: tf_record_iterator(str(kept), given),
        ):
            assert raised(InvalidArgumentError, ask, given).reason is Reason.BAD_ARGUMENT
        assert names_in(tmp_path) == ["kept"]
        assert kept.read_bytes() == FRAMES

    def test_o9_readers_ignore_all_but_the_compression(self, tmp_path: Path) -> None:
        write(tmp_path / "a", ITEMS, "GZIP")
        options = TFRecordOptions("GZIP", compression_level=99, window_bits=-3, mem_level=77)
        assert list(TFRecordReader(tmp_path / "a", options)) == ITEMS
        assert list(tf_record_iterator(str(tmp_path / "a"), options)) == ITEMS


class TestContent:
    @given(testing.records())
    def test_f1_raw_files_equal_the_reference(self, items: list[bytes]) -> None:
        file = io.BytesIO()
        write(file, items)
        assert file.getvalue() == reference.encode(items)

    @pytest.mark.parametrize("items", [[], ITEMS, LARGE_ITEMS], ids=["none", "few", "many"])
    @pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB", "BZ2", "ZSTD"])
    def test_frames_are_compressed(self, tmp_path: Path, compression: str, items: Any) -> None:
        library: Any = {"GZIP": gzip, "ZLIB": zlib, "BZ2": bz2}.get(compression)
        if compression == "ZSTD":
            library = pytest.importorskip("backports.zstd")
        with TFRecordWriter(tmp_path / "a", compression) as writer:
            for i, item in enumerate(items):
                writer.write(item)
                if i % 300 == 0:
                    writer.flush()
        content = (tmp_path / "a").read_bytes()
        assert (library.decompress(content) if library else content) == frame(items)
        assert list(TFRecordReader(tmp_path / "a")) == items

    def test_o7_zlib_files_are_zlibs_with_tensorflows_settings(self, tmp_path: Path) -> None:
        write(tmp_path / "a", LARGE_ITEMS, "ZLIB")
        inner = zlib.compressobj(6, zlib.DEFLATED, 15, MEM_LEVEL)
        expected = inner.compress(frame(LARGE_ITEMS)) + inner.flush()
        assert (tmp_path / "a").read_bytes() == expected
        write(tmp_path / "b", [], "GZIP")
        assert (tmp_path / "b").read_bytes()[
            :10
        ].hex() == "1f8b0800000000000003"  # no time, no name
        assert (tmp_path / "b").stat().st_size == 20

    def test_o8_options_reach_zlib(self, tmp_path: Path) -> None:
        items = LARGE_ITEMS[:100]
        frames = bytes(frame(items))

        def expected(*arguments: Any) -> bytes:
            inner = zlib.compressobj(*arguments)
            return inner.compress(frames) + inner.flush()

        inner = TFRecordOptions(1, compression_level=1)
        for options, content in [
            (TFRecordOptions(1, compression_level=9), expected(9, 8, 15, MEM_LEVEL)),
            (TFRecordOptions(1, compression_level=1), expected(1, 8, 15, MEM_LEVEL)),
            (TFRecordOptions(1, window_bits=31), expected(-1, 8, 31, MEM_LEVEL)),
            (TFRecordOptions(1, window_bits=-12), expected(-1, 8, -12, MEM_LEVEL)),
            (TFRecordOptions(1, mem_level=1), expected(-1, 8, 15, 1)),
            (TFRecordOptions(1, compression_strategy=2), expected(-1, 8, 15, MEM_LEVEL, 2)),
            (TFRecordOptions(1, None, 1, 1), expected(-1, 8, 15, MEM_LEVEL)),
            # Of options in options the outer ones count, for everything but the type.
            (TFRecordOptions(inner, compression_level=9), expected(9, 8, 15, MEM_LEVEL)),
            (TFRecordOptions(inner), expected(6, 8, 15, MEM_LEVEL)),
        ]:
            write(tmp_path / "a", items, options)
            assert (tmp_path / "a").read_bytes() == content, vars(options)

    @pytest.mark.parametrize(("given", "stored"), [
        (b"a", b"a"), ("\u00e4\0", b"\xc3\xa4\0"), ("", b""), (bytearray(b"b"), b"b"),
        (np.bytes_(b"c"), b"c"), (np.str_("d"), b"d"),
    ])  # fmt: skip
    def test_o4_what_a_record_may_be(self, given: Any, stored: bytes) -> None:
        file = io.BytesIO()
        with TFRecordWriter(file) as writer:
            writer.write(given)
        assert file.getvalue() == reference.encode([stored])

    @pytest.mark.parametrize("given", [None, 1, 1.5, memoryview(b"a"), np.zeros(3), [b"a"]])
    def test_o4_anything_else_is_a_type_error_and_nothing_is_written(self, given: Any) -> None:
        file = io.BytesIO()
        with TFRecordWriter(file) as writer:
            writer.write(b"one")
            raised(TypeError, writer.write, given, match=type(given).__name__)
            writer.write(b"two")
        assert file.getvalue() == reference.encode([b"one", b"two"])

    def test_a_record_changed_after_it_was_written_is_written_as_it_was(self) -> None:
        file, item = io.BytesIO(), bytearray(b"before")
        with TFRecordWriter(file) as writer:
            writer.write(item)
            item[:] = b"behind"
        assert file.getvalue() == reference.encode([b"before"])


class TestPlaces:
    def test_o3_the_file_is_emptied_at_once(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        path.write_bytes(b"old")
        with TFRecordWriter(path):
            assert path.read_bytes() == b""

    @pytest.mark.parametrize("keywords", [{}, {"mode": "a"}, {"atomic": True}])
    def test_o3_no_place_for_a_file_is_found_at_once(self, tmp_path: Path, keywords: Any) -> None:
        for place, error in (
            (tmp_path / "missing" / "a", FileNotFoundError),
            (tmp_path, IsADirectoryError),
        ):
            assert raised(error, TFRecordWriter, place, **keywords).filename == str(place)

    def test_a_file_object_is_written_from_where_it_stands_and_stays_open(self) -> None:
        file = io.BytesIO()
        file.write(b"head")
        write(file, ITEMS)
        file.write(b"foot")
        assert file.getvalue() == b"head" + FRAMES + b"foot"


class TestClosing:
    def test_o5_after_close_nothing_goes(self, tmp_path: Path) -> None:
        writer = TFRecordWriter(tmp_path / "a")
        writer.write(b"one")
        writer.close()
        writer.close()
        lates: list[Callable[[], None]] = [lambda: writer.write(b"two"), writer.flush]
        for late in lates:
            error = raised(FailedPreconditionError, late)
            assert (error.reason, error.source) == (Reason.CLOSED, str(tmp_path / "a"))
        assert (tmp_path / "a").read_bytes() == reference.encode([b"one"])

    @every_compression
    def test_o6_a_flush_makes_everything_readable(self, tmp_path: Path, compression: str) -> None:
        path, expected = tmp_path / "a", []
        with TFRecordWriter(path, compression) as writer:
            for item in LARGE_ITEMS[:30]:
                expected.append(item)
                writer.write(item)
                writer.flush()
                found, loss = outcome_of(TFRecordReader(path, compression))
                assert found == expected
                if compression in ("", "BZ2"):
                    assert loss is None
                else:
                    assert loss is not None
                    assert loss.reason is Reason.COMPRESSED_TRUNCATED
        assert list(TFRecordReader(path)) == expected

    @pytest.mark.parametrize("mode", [zlib.Z_FULL_FLUSH, zlib.Z_FINISH, 99])
    def test_o8_the_mode_of_a_flush_does_not_matter(self, tmp_path: Path, mode: int) -> None:
        with TFRecordWriter(tmp_path / "a", TFRecordOptions("ZLIB", mode)) as writer:
            for item in ITEMS:
                writer.write(item)
                writer.flush()
                writer.flush()
        assert zlib.decompress((tmp_path / "a").read_bytes()) == FRAMES

    @pytest.mark.parametrize("atomic", [True, False])
    def test_a_forgotten_writer_warns(self, tmp_path: Path, atomic: bool) -> None:
        with pytest.warns(ResourceWarning, match="forgotten"):
            forget(partial(TFRecordWriter, tmp_path / "forgotten", atomic=atomic))
        # One that writes in place has closed its file; one that would replace it has not.
        assert names_in(tmp_path) == ([] if atomic else ["forgotten"])
        if not atomic:
            assert list(TFRecordReader(tmp_path / "forgotten")) == [b"one"]


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


class TestAtomic:
    @pytest.mark.parametrize("is_broken_off", [False, True])
    def test_the_file_appears_when_it_is_complete_and_never_by_an_error(
        self, tmp_path: Path, is_broken_off: bool
    ) -> None:
        path = tmp_path / "a"
        path.write_bytes(FRAMES)
        with contextlib.suppress(KeyError), TFRecordWriter(path, atomic=True) as writer:
            for item in LARGE_ITEMS:
                writer.write(item)
            writer.flush()
            assert path.read_bytes() == FRAMES
            assert len(names_in(tmp_path)) == 2
            assert list(TFRecordReader(tmp_path / "*")) == ITEMS  # what is beside is in no pattern
            if is_broken_off:
                raise KeyError
        assert list(TFRecordReader(path)) == (ITEMS if is_broken_off else LARGE_ITEMS)
        assert names_in(tmp_path) == ["a"]

    def test_permissions_are_those_of_a_file_written_in_place(self, tmp_path: Path) -> None:
        write(tmp_path / "plain", ITEMS)
        write(tmp_path / "atomic", ITEMS, atomic=True)
        private = tmp_path / "private"
        private.write_bytes(b"")
        private.chmod(0o600)
        write(private, ITEMS, atomic=True)

        def mode(name: str) -> int:
            return stat.S_IMODE((tmp_path / name).stat().st_mode)

        assert mode("atomic") == mode("plain")
        assert mode("private") == 0o600

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "a").write_bytes(b"old")
        (tmp_path / "link").symlink_to(tmp_path / "folder" / "a")
        write(tmp_path / "link", ITEMS, atomic=True)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "a").read_bytes() == FRAMES

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_pipes_and_file_objects_are_not_replaced(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        places: list[Any] = [tmp_path / "fifo", io.BytesIO()]
        for place in places:
            error = raised(InvalidArgumentError, TFRecordWriter, place, atomic=True)
            assert error.reason is Reason.UNSUPPORTED
        assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)

    def test_content_that_does_not_reach_the_disk_never_gets_its_place(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # A system that failed to store what it had may say that all is well when asked again.
        writer = TFRecordWriter(tmp_path / "a", atomic=True)
        writer.write(b"one")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", partial(full_disk, tmp_path))
            raised(OSError, writer.close, match="No space")
        for end in (writer.close, partial(writer.__exit__, *[None] * 3)):
            assert raised(OSError, end, match="No space").filename == str(tmp_path / "a")
        assert names_in(tmp_path) == []


class TestAppending:
    @appendable
    @pytest.mark.parametrize("torn", ["raise", "cut"])
    def test_records_are_added(self, tmp_path: Path, compression: str, torn: Any) -> None:
        path = tmp_path / "a"
        for i in range(0, len(LARGE_ITEMS), 500):
            write(path, LARGE_ITEMS[i : i + 500], compression, mode="a", torn=torn)
            write(path, [], compression, mode="a", torn=torn)
        assert list(TFRecordReader(path, compression)) == LARGE_ITEMS

    @appendable
    def test_a_torn_file_is_rejected_or_cut(self, tmp_path: Path, compression: str) -> None:
        write(tmp_path / "whole", ITEMS[:3], compression)
        content = (tmp_path / "whole").read_bytes()
        path = tmp_path / "torn"
        for cut in range(1, len(content)):
            path.write_bytes(content[:cut])
            before, loss = outcome_of(TFRecordReader(path, compression))
            if loss is not None:
                error = raised(DataLossError, TFRecordWriter, path, compression, mode="a")
                assert error.reason is loss.reason
                assert path.read_bytes() == content[:cut]
            write(path, [b"added"], compression, mode="a", torn="cut")
            assert list(TFRecordReader(path, compression)) == [*before, b"added"]
            assert names_in(tmp_path) == ["torn", "whole"]

    @appendable
    def test_a_damaged_file_is_rejected_untouched(self, tmp_path: Path, compression: str) -> None:
        path = tmp_path / "damaged"
        write(path, LARGE_ITEMS, compression)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
        for torn in ("raise", "cut"):
            raised(DataLossError, TFRecordWriter, path, compression, mode="a", torn=torn)
            assert path.read_bytes() == content

    def test_only_local_files_in_place_can_be_added_to_none_of_zlib(self, tmp_path: Path) -> None:
        fsspec = pytest.importorskip("fsspec")
        write("memory://a", ITEMS)
        write(tmp_path / "a", ITEMS)
        write(tmp_path / "zlib", ITEMS, "ZLIB")
        places: list[tuple[Any, dict[str, Any]]] = [
            ("memory://a", {}), ("memory://missing", {}), (io.BytesIO(), {}),
            (tmp_path / "a", {"atomic": True}), (tmp_path / "missing", {"atomic": True}),
            (tmp_path / "zlib", {"options": "ZLIB"}),
        ]  # fmt: skip
        for place, keywords in places:
            error = raised(InvalidArgumentError, TFRecordWriter, place, mode="a", **keywords)
            assert error.reason is Reason.UNSUPPORTED
        for path in ("memory://a", tmp_path / "a", tmp_path / "zlib"):
            assert list(TFRecordReader(path)) == ITEMS
        fsspec.filesystem("memory").store.clear()


class TestShards:
    @pytest.mark.parametrize(("pattern", "num_shards", "names"), [
        ("a@3", None, ["a-00000-of-00003", "a-00001-of-00003", "a-00002-of-00003"]),
        ("a@1.gz", None, ["a-00000-of-00001.gz"]), ("a-{shard}", 2, ["a-0", "a-1"]),
        ("{shard:03d}of{num_shards}", 2, ["000of2", "001of2"]),
    ])  # fmt: skip
    def test_round(self, tmp_path: Path, pattern: str, num_shards: int | None, names: Any) -> None:
        items = [b"%d" % i for i in range(10)]
        with ShardedTFRecordWriter(tmp_path / pattern, num_shards) as writer:
            for item in items:
                writer.write(item)
        assert names_in(tmp_path) == names
        assert writer.paths == [str(tmp_path / name) for name in names]
        for i, name in enumerate(names):
            assert list(TFRecordReader(tmp_path / name)) == items[i :: len(names)]

    @pytest.mark.skipif(sys.platform == "win32", reason="no locks")
    def test_a_set_has_one_writer(self, tmp_path: Path) -> None:
        script = (
            "import sys; from tfrecord_lite import ShardedTFRecordWriter\n"
            "try:\n    ShardedTFRecordWriter(sys.argv[1])\n"
            "except Exception as error:\n    print(error.reason.name)\n"
        )
        with ShardedTFRecordWriter(tmp_path / "a@2") as writer:
            writer.write(b"one")
            with pytest.raises(FailedPreconditionError) as caught:
                ShardedTFRecordWriter(tmp_path / "a-{shard:05d}-of-{num_shards:05d}", 2)
            found = run_fresh(script, tmp_path / "a@2")
        with ShardedTFRecordWriter(tmp_path / "a@2") as again:
            again.write(b"two")
        assert caught.value.reason is Reason.IN_USE
        assert found.strip() == "IN_USE"
        assert names_in(tmp_path) == ["a-00000-of-00002", "a-00001-of-00002"]

    @given(st.lists(st.integers(0, 100), max_size=8), st.integers(1, 300))
    def test_shards_are_filled_one_by_one(self, sizes: list[int], bytes_per_shard: int) -> None:
        items = [bytes([i]) * size for i, size in enumerate(sizes)]
        expected: list[list[bytes]] = [[]]
        for item in items:
            if len(frame(expected[-1])) >= bytes_per_shard:
                expected.append([])
            expected[-1].append(item)
        with tempfile.TemporaryDirectory() as folder:
            pattern = Path(folder) / "a-{shard:02d}-of-{num_shards:02d}"
            with ShardedTFRecordWriter(pattern, bytes_per_shard=bytes_per_shard) as writer:
                for item in items:
                    writer.write(item)
            n = len(expected)
            assert names_in(Path(folder)) == [f"a-{i:02d}-of-{n:02d}" for i in range(n)]
            assert [list(TFRecordReader(path)) for path in writer.paths] == expected

    @pytest.mark.parametrize("keywords", [{"num_shards": 3}, {"bytes_per_shard": 50}])
    def test_nothing_appears_before_all_is_complete_or_after_an_error(
        self, tmp_path: Path, keywords: dict[str, Any]
    ) -> None:
        with ShardedTFRecordWriter(tmp_path / "a{shard}", **keywords) as writer:
            for item in ITEMS * 10:
                writer.write(item)
            raised(FileNotFoundError, TFRecordReader, tmp_path / "*")
            assert writer.paths == []
        assert sorted(TFRecordReader(writer.paths)) == sorted(ITEMS * 10)
        (tmp_path / "b0").write_bytes(b"old")
        before = names_in(tmp_path)
        writer = ShardedTFRecordWriter(tmp_path / "b{shard}", **keywords)
        with contextlib.suppress(KeyError), writer:
            for item in ITEMS * 10:
                writer.write(item)
            raise KeyError
        assert names_in(tmp_path) == before
        assert (tmp_path / "b0").read_bytes() == b"old"
        assert raised(FailedPreconditionError, writer.write, b"late").reason is Reason.CLOSED

    def test_a_shard_that_cannot_be_placed_takes_the_others_back(self, tmp_path: Path) -> None:
        writer = ShardedTFRecordWriter(tmp_path / "a{shard}", 4)
        for item in ITEMS:
            writer.write(item)
        (tmp_path / "a1").write_bytes(b"old")
        (tmp_path / "a3" / "in the way").mkdir(parents=True)
        raised(OSError, writer.close, match="directory")
        # What was replaced stays replaced: nothing is left of what was there.
        visible = [name for name in names_in(tmp_path) if not name.startswith(".")]
        assert visible == ["a1", "a3"]
        assert list(TFRecordReader(tmp_path / "a1")) == [ITEMS[1]]
        assert writer.paths == []
        raised(FailedPreconditionError, writer.write, b"late")
        raised(OSError, writer.__exit__, None, None, None, match="directory")
        assert names_in(tmp_path) == ["a1", "a3"]

    def test_nothing_is_left_when_a_shard_cannot_be_opened(self, tmp_path: Path) -> None:
        (tmp_path / "a1").mkdir()
        raised(IsADirectoryError, ShardedTFRecordWriter, tmp_path / "a{shard}", 3)
        assert names_in(tmp_path) == ["a1"]

    def test_a_forgotten_writer_warns_and_leaves_nothing(self, tmp_path: Path) -> None:
        with pytest.warns(ResourceWarning, match="were not closed"):
            forget(partial(ShardedTFRecordWriter, tmp_path / "a@2"))
        assert names_in(tmp_path) == []

    @pytest.mark.parametrize(("pattern", "keywords"), [
        ("a", {"mode": "x"}), ("a", {"mode": "wb"}), ("a", {"mode": "w", "torn": "keep"}),
        *(("a", given) for given in ({}, {"num_shards": 2}, {"bytes_per_shard": 2})),
        *(("a@2", given) for given in ({"num_shards": 2}, {"bytes_per_shard": 2})),
        *(("a@", {}), ("a@0", {}), ("a{shard}", {}), ("a{shard}", {"num_shards": 0})),
        ("a{shard}", {"bytes_per_shard": 0}),
        ("a{shard}", {"num_shards": 2, "bytes_per_shard": 2}),
        *(
            (f"a{{shard{rest}", {"num_shards": 2})
            for rest in ("", "s}", "}{other}", "}{}", ":s}", ".other}", "[other]}")
        ),
        ("a{shard:.0e}", {"num_shards": 20}),
    ])  # fmt: skip
    def test_wrong_arguments(self, tmp_path: Path, pattern: str, keywords: Any) -> None:
        kind: Any = TFRecordWriter if "mode" in keywords else ShardedTFRecordWriter
        error = raised(InvalidArgumentError, kind, tmp_path / pattern, **keywords)
        assert error.reason is Reason.BAD_ARGUMENT
        assert names_in(tmp_path) == []


class TestTheSidecarBesideTheFile:
    @given(
        st.lists(st.integers(-9, 9), min_size=1, max_size=8),
        st.lists(st.integers(-9, 9), max_size=8),
    )
    def test_appended_rows_are_read_by_sidecars(self, first: list[int], more: list[int]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.tfrecord.gz")
            save(path, {"x": np.array(first, np.int16), "s": [str(i) for i in first]})
            with TFRecordWriter(path, mode="a") as writer:
                for i in more:
                    writer.write_example({"x": i, "s": str(i)})
            data = load(path)
            assert data["x"].tolist() == first + more
            assert data["x"].dtype == np.int16
            assert data["s"].tolist() == [*map(str, first + more)]

    @pytest.mark.filterwarnings("ignore:feature 'x' holds")
    @pytest.mark.parametrize("row", [{"x": "text"}, {"x": 1, "other": 2}, {"x": 70_000}])
    def test_other_rows_are_taken_back(self, row: dict[str, Any], tmp_path: Path) -> None:
        path = tmp_path / "a.tfrecord"
        save(path, {"x": np.arange(3, dtype=np.int16)})
        before = path.read_bytes()
        writer = TFRecordWriter(path, mode="a")
        writer.write_example({"x": 1})
        writer.write_example(row)
        assert raised(InvalidArgumentError, writer.close, match="nothing was appended").index == 4
        assert path.read_bytes() == before
        assert load(path)["x"].tolist() == [0, 1, 2]

    def test_it_goes_where_the_file_is_written_anew(self, tmp_path: Path) -> None:
        save(tmp_path / "a", {"x": [1, 2]})
        write(tmp_path / "a", [encode_example({"y": 7})])
        assert names_in(tmp_path) == ["a"]
        assert load(tmp_path / "a")["y"].tolist() == [7]

    @pytest.mark.parametrize("ending", ["", ".gz"])
    def test_only_what_was_appended_is_read_again(
        self, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / f"a.tfrecord{ending}"
        save(path, {"x": np.arange(5000)})
        with TFRecordWriter(path, mode="a") as writer:
            writer.write_example({"x": 7})
            sizes: list[int] = []
            read = RecordStream.next_block

            def counted(stream: RecordStream) -> Block | None:
                block = read(stream)
                sizes.append(len(block or ()))
                return block

            monkeypatch.setattr(RecordStream, "next_block", counted)
            writer.close()
        assert sum(sizes) == 1
        monkeypatch.undo()
        assert len(load(path)["x"]) == 5001


class TestWhatFailsLeavesNothing:
    @pytest.mark.needs("remote")
    @pytest.mark.parametrize("scheme", ["memory", "buffered"])
    @pytest.mark.parametrize("options", [{}, {"atomic": True}, {"compression": "GZIP"}])
    def test_in_a_store(self, scheme: str, options: dict[str, Any]) -> None:
        import fsspec
        from fsspec.implementations.memory import MemoryFileSystem
        from fsspec.spec import AbstractBufferedFile

        stored: dict[str, bytes] = {}

        class Upload(AbstractBufferedFile):  # type: ignore[misc]
            def _upload_chunk(self, final: bool = False) -> bool:
                if final:  # an object appears when it is complete, as in S3
                    stored[self.path] = self.buffer.getvalue()
                return final

        class Buffered(MemoryFileSystem):  # type: ignore[misc]
            protocol = "buffered"
            cachable = False

            def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
                return Upload(self, path, mode)

        fsspec.register_implementation("buffered", Buffered, clobber=True)
        for is_large in (False, True):
            with (
                contextlib.suppress(ZeroDivisionError),
                TFRecordWriter(f"{scheme}://failing/a", **options) as writer,
            ):
                writer.write(b"a" * (8_000_000 * is_large + 1))
                raise ZeroDivisionError
        gc.collect()

        assert stored == {}
        assert fsspec.filesystem("memory").find("/failing") == []

    @pytest.mark.skipif(os.name == "nt", reason="processes are not killed so")
    def test_the_next_write_removes_what_a_killed_one_has_left(self, tmp_path: Path) -> None:
        live = TFRecordWriter(tmp_path / "live", atomic=True)
        run_fresh(
            "import os, sys\n"
            "from tfrecord_lite import TFRecordWriter\n"
            "if not (child := os.fork()):\n"
            "    writer = TFRecordWriter(sys.argv[1], atomic=True)\n"
            "    writer.write(b'a')\n"
            "    os.kill(os.getpid(), 9)\n"
            "os.waitpid(child, 0)\n",
            tmp_path / "a",
        )
        assert len(names_in(tmp_path)) == 2
        with TFRecordWriter(tmp_path / "a", atomic=True) as writer:
            writer.write(b"b")
        live.close()
        assert names_in(tmp_path) == ["a", "live"]


class TestRowsOfSeveralKinds:
    MIXED: ClassVar = (
        ({"x": 1}, {"x": 0.5}, "int64", "float32", r"give the rows a schema: {'x': float}"),
        ({"x": [b"a"]}, {"x": [1, 2]}, "string", "int64", "values of one type"),
        ({"x": np.ones(3000)}, {"x": ["a"] * 20}, "float32", "string", "values of one type"),
    )

    @pytest.mark.parametrize(("one", "other", "before", "kind", "cure"), MIXED)
    @pytest.mark.parametrize("how", ["each", "iterable", "list"])
    def test_one_warning_says_what_load_will_say_and_how_to_go_on(
        self, one: Any, other: Any, before: str, kind: str, cure: str, how: str, tmp_path: Path
    ) -> None:
        rows = [*[one] * 20, *[other] * 20, *[one, other] * 20]

        def write_rows() -> None:
            with TFRecordWriter(tmp_path / "a") as writer:
                if how == "each":
                    for row in rows:
                        writer.write_example(row)
                else:
                    writer.write_examples(rows if how == "list" else iter(rows))

        with pytest.warns(
            UserWarning, match=f"'x' holds {kind} in this row, but {before}"
        ) as caught:
            write_rows()
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert cure in str(caught[0].message)
        assert len(list(TFRecordReader(tmp_path / "a").examples())) == len(rows)
        raised(InvalidArgumentError, load, tmp_path / "a", match="a feature has one kind")

    def test_sequences_too_and_none_where_kinds_agree(self, tmp_path: Path) -> None:
        rows: list[Any] = [{"context": {"n": i}, "feature_lists": {"n": [[0.5]]}} for i in range(9)]
        with TFRecordWriter(tmp_path / "a") as writer:
            writer.write_sequence_examples(rows)
            writer.write_examples([{"x": v} for v in ([], None, [1, 0.5], 2.0, np.float32(3))])
            with pytest.warns(UserWarning, match="'feature_lists/n' holds string"):
                writer.write_sequence_example({"feature_lists": {"n": [["a"]]}})
