"""merge_files, split_files and filter_records: order, shards, checksums, sidecars, mishaps."""

import io
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.rearrange.strategies import ENDINGS, one_way, read_all, record_lists, write_all
from tests.support.errors import raised
from tests.support.untyped import load
from tfrecord_lite import (
    Block,
    FixedLenFeature,
    Schema,
    TFRecordReader,
    TFRecordWriter,
    load_schema,
    save,
    verify,
)
from tfrecord_lite.apps.rearrange import (
    filter_records,
    merge_files,
    sample_records,
    shuffle_records,
    split_files,
    split_records,
    unique_records,
)
from tfrecord_lite.arrays import BoolArray
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason
from tfrecord_lite.records.framing import frame

FUNCTIONS: dict[str, Any] = {
    "merge": merge_files,
    "split": split_files,
    "filter": lambda paths, target, **options: filter_records(
        paths, target, lambda block: block.lengths >= 0, **options
    ),
    "shuffle": lambda paths, target, **options: shuffle_records(paths, target, seed=1, **options),
    "sample": lambda paths, target, **options: sample_records(paths, target, 99, **options),
    "parts": lambda paths, target, **options: split_records(paths, [target], [1], **options)[0],
    "unique": unique_records,
}
each_function = pytest.mark.parametrize("rearrange", FUNCTIONS.values(), ids=FUNCTIONS)

FILES = st.lists(st.tuples(record_lists(), st.sampled_from(ENDINGS)), min_size=1, max_size=4)


class TestMerge:
    @given(FILES, st.sampled_from(ENDINGS))
    def test_records_in_order(self, files: list[tuple[list[bytes], str]], ending: str) -> None:
        expected = [record for records, _ in files for record in records]
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / f"all.tfrecord{ending}"
            merged = merge_files(write_all(Path(folder), files), target)
            assert read_all(target) == expected
            assert merged.paths == (str(target),)
            assert (merged.num_records, merged.nbytes) == (len(expected), sum(map(len, expected)))
            assert merged.num_read == len(expected)
            assert ending or target.read_bytes() == frame(expected)

    def test_patterns_shards_and_file_objects(self, tmp_path: Path) -> None:
        write_all(tmp_path, [([b"a"], ""), ([b"b"], ".gz")])
        target = io.BytesIO()
        merged = merge_files([tmp_path / "source-*", io.BytesIO(frame([b"c"]))], target)
        assert list(TFRecordReader(io.BytesIO(target.getvalue()))) == [b"a", b"b", b"c"]
        assert merged.paths == ("<BytesIO>",)


class TestSplit:
    @given(record_lists(), st.integers(1, 9), st.sampled_from(ENDINGS), st.booleans())
    def test_evenly_also_what_can_be_read_only_once(
        self, records: list[bytes], num_shards: int, ending: str, is_pipe: bool
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (path,) = write_all(Path(folder), [(records, "")])
            target = Path(folder, f"part.tfrecord{ending}")
            parts = split_files(one_way(path) if is_pipe else path, target, num_shards=num_shards)
            counts = [len(read_all(path)) for path in parts.paths]
            assert len(counts) == num_shards
            assert max(counts) - min(counts) <= 1
            assert read_all(*parts.paths) == records
            last = f"part-{num_shards - 1:05d}-of-{num_shards:05d}.tfrecord{ending}"
            assert parts.paths[-1].endswith(last)

    @given(record_lists(), st.integers(1, 20_000), st.booleans())
    def test_by_number_or_bytes(self, records: list[bytes], size: int, by_bytes: bool) -> None:
        options: Any = (
            {"bytes_per_shard": size} if by_bytes else {"records_per_shard": size % 150 + 1}
        )
        with tempfile.TemporaryDirectory() as folder:
            path = write_all(Path(folder), [(records, "")])
            parts = split_files(path, Path(folder, "part"), **options)
            found = [read_all(name) for name in parts.paths]
            assert [record for part in found for record in part] == records
            for i, part in enumerate(found):
                sizes = [len(record) + 16 if by_bytes else 1 for record in part]
                most = next(iter(options.values()))
                assert sum(sizes[:-1]) < most  # full with its last record
                assert sum(sizes) >= most or i == len(found) - 1
            assert all(found) or found == [[]]

    def test_names(self, tmp_path: Path) -> None:
        (path,) = write_all(tmp_path, [([b"a", b"b", b"c"], "")])
        named = tmp_path / "x-{shard}-{num_shards}"
        assert split_files(path, tmp_path / "y@2.gz").paths[0].endswith("y-00000-of-00002.gz")
        assert split_files(path, named, records_per_shard=1).paths[2].endswith("x-2-3")

    @pytest.mark.parametrize(
        ("target", "arguments"),
        [
            ("x", {}),
            ("x", {"num_shards": 2, "records_per_shard": 2}),
            ("x", {"num_shards": 0}),
            ("x@2", {"bytes_per_shard": 2}),
            ("x@2", {"num_shards": 3}),
            ("{shard}", {}),
            (None, {"num_shards": 2}),  # a file object
        ],
    )
    def test_arguments(self, tmp_path: Path, target: str | None, arguments: dict[str, Any]) -> None:
        paths = write_all(tmp_path, [([b"a"], "")])
        with pytest.raises(InvalidArgumentError) as caught:
            split_files(paths, io.BytesIO() if target is None else tmp_path / target, **arguments)
        assert caught.value.reason is Reason.BAD_ARGUMENT
        assert len(list(tmp_path.iterdir())) == 1


class TestFilter:
    @given(record_lists(), st.integers(1, 4), st.sampled_from(ENDINGS))
    def test_records_where_it_is_true(self, records: list[bytes], step: int, ending: str) -> None:
        def keep(block: Block) -> BoolArray:
            mask: BoolArray = block.lengths % step == 0
            return mask

        with tempfile.TemporaryDirectory() as folder:
            paths = write_all(Path(folder), [(records, ending)])
            target = Path(folder, "new")
            kept = filter_records(paths, target, keep)
            expected = [record for record in records if len(record) % step == 0]
            assert read_all(target) == expected
            assert (kept.num_records, kept.num_read) == (len(expected), len(records))

    @pytest.mark.parametrize(("keep", "error"), [
        (lambda _: [1, 0], TypeError), (lambda _: [True], InvalidArgumentError),
        (lambda _: None, TypeError), ("x > 1", TypeError),
    ])  # fmt: skip
    def test_what_is_not_a_mask(self, tmp_path: Path, keep: Any, error: type[Exception]) -> None:
        paths = write_all(tmp_path, [([b"a", b"b"], "")])
        raised(error, filter_records, paths, tmp_path / "new", keep, match="keep ")
        assert len(list(tmp_path.iterdir())) == 1


class TestChecksums:
    @pytest.mark.parametrize(("longest", "few"), [(20, False), (20, True), (5000, True)])
    def test_a_record_keeps_its_checksum(self, tmp_path: Path, longest: int, few: bool) -> None:
        records = [b"%d" % i * longest for i in range(200)]
        paths = write_all(tmp_path, [(records, "")])

        def spoil(block: Block) -> BoolArray:
            if block.place(0).index == 0:
                block.data[block.offsets[60]] ^= 1  # after it was verified, as a bad memory would
            mask = np.ones(len(block), np.bool_)
            mask[61:] = not few
            return mask

        filter_records(paths, tmp_path / "new", spoil)
        report = verify(tmp_path / "new")
        assert [(s.index, s.reason) for s in report.spans] == [(60, Reason.DATA_CRC)]


class TestSidecars:
    def test_those_of_shards_that_were_saved_by_themselves_are_joined(self, tmp_path: Path) -> None:
        save(tmp_path / "0", {"x": [1, 2]})
        save(tmp_path / "1", {"x": [3, 4], "y": [0.5, 1.5]})
        merge_files([tmp_path / "0", tmp_path / "1"], tmp_path / "new")
        assert load(tmp_path / "new")["y"].tolist() == [None, None, 0.5, 1.5]
        assert load(tmp_path / "new")["y"].dtype == np.float64

    def test_those_that_do_not_agree(self, tmp_path: Path) -> None:
        save(tmp_path / "0", {"x": [1.5]})
        paths = [*write_all(tmp_path, [([b""], "")]), str(tmp_path / "0")]
        text = "source-0.tfrecord: this file has no sidecar, but others have$"
        with pytest.warns(UserWarning, match=text) as caught:
            merged = merge_files(paths, tmp_path / "new")
        assert caught[0].filename == __file__
        assert merged.schema is None
        assert not (tmp_path / "new.schema.json").exists()

    def test_that_of_other_data_is_an_error_or_left_out(self, tmp_path: Path) -> None:
        save(tmp_path / "0", {"x": [1.5]})
        with TFRecordWriter(tmp_path / "other") as writer:
            writer.write(b"")
        (tmp_path / "other").replace(tmp_path / "0")
        with pytest.raises(InvalidArgumentError, match="was written for other data"):
            merge_files(tmp_path / "0", tmp_path / "new")
        with pytest.warns(UserWarning, match=r"get no sidecar.*was written for other data"):
            merged = merge_files(TFRecordReader(tmp_path / "0", on_error="skip"), tmp_path / "new")
        assert merged.schema is None
        assert not (tmp_path / "new.schema.json").exists()

    @pytest.mark.filterwarnings("ignore:skipped")
    @pytest.mark.parametrize("is_cut", [True, False])
    def test_that_of_a_damaged_file_is_used(self, tmp_path: Path, is_cut: bool) -> None:
        save(tmp_path / "0", {"x": np.arange(5000) / 10}, lossless=True)
        data = bytearray((tmp_path / "0").read_bytes())
        data[20] ^= not is_cut
        (tmp_path / "0").write_bytes(data[:-30] if is_cut else data)
        reader = TFRecordReader(tmp_path / "0", on_error="skip")
        with pytest.warns(UserWarning, match="0: not the bytes that its sidecar was written for"):
            merge_files(reader, tmp_path / "new")
        with pytest.warns(UserWarning, match="not the bytes") as caught:
            assert len(load(tmp_path / "0", on_error="skip")["x"]) == 4999
        assert caught[0].filename.endswith(("untyped.py", "test_files.py"))
        assert load(tmp_path / "new")["x"].dtype == np.float64
        with pytest.raises(DataLossError) as damage:
            load(tmp_path / "0")
        assert damage.value.index == (4999 if is_cut else 0)

    @pytest.mark.parametrize("shards", [None, 2])
    @pytest.mark.parametrize("is_deleted", [True, False])
    def test_that_of_a_file_that_was_deleted_or_replaced_goes(
        self, tmp_path: Path, shards: int | None, is_deleted: bool
    ) -> None:
        names = ["new"] if shards is None else ["new-00000-of-00002", "new-00001-of-00002"]
        for name in names:
            save(tmp_path / name, {"x": [1.5]})
            if is_deleted:
                (tmp_path / name).unlink()
        with TFRecordWriter(tmp_path / "old") as writer:
            writer.write_examples({"y": [1, 2]})
        merge_files(tmp_path / "old", tmp_path / "new", num_shards=shards, overwrite=not is_deleted)
        assert load([tmp_path / name for name in names])["y"].tolist() == [1, 2]
        assert not list(tmp_path.glob("*.schema.json"))

    def test_one_that_fits_any_data_stays(self, tmp_path: Path) -> None:
        schema = Schema({"x": FixedLenFeature([], "float32", 2.5)})
        (tmp_path / "new.schema.json").write_text(schema.to_json())
        merge_files(write_all(tmp_path, [([b""], "")]), tmp_path / "new")
        assert load(tmp_path / "new")["x"].tolist() == [2.5]

    def test_beside_the_file_of_a_file_object_nothing_is_touched(self, tmp_path: Path) -> None:
        save(tmp_path / "new", {"x": [1.5]})
        with (tmp_path / "new").open("wb") as file:
            merge_files(write_all(tmp_path, [([b""], "")]), file)
        assert (tmp_path / "new.schema.json").exists()

    @pytest.mark.needs("dataframes")
    def test_of_a_data_frame(self, tmp_path: Path) -> None:
        import pandas as pd

        labels = pd.Index(["p", "q", "r"], name="key")
        save(tmp_path / "0", pd.DataFrame({"x": [1, None, 3]}, labels, dtype="Int16"))
        save(tmp_path / "1", pd.DataFrame({"x": [1, None, 3]}, pd.RangeIndex(5, 8), dtype="Int16"))
        for name in ("0", "1"):
            filter_records(tmp_path / name, tmp_path / f"new{name}", every_other)
        kept = load(tmp_path / "new0", as_="pandas")
        assert (kept.index.tolist(), kept["x"].tolist()) == (["p", "r"], [1, 3])
        assert kept["x"].dtype == "Int16"
        assert load(tmp_path / "new1", as_="pandas").index.tolist() == [0, 1]


def every_other(block: Block) -> BoolArray:
    mask: BoolArray = np.arange(len(block)) % 2 == 0
    return mask


class TestAll:
    """What all functions share: where records come from, and the files that they go to."""

    @each_function
    def test_sidecars_go_along(self, tmp_path: Path, rearrange: Any) -> None:
        for i in range(2):
            columns = {"x": np.arange(5) / 10 + i, "n": np.full(5, i, np.int8)}
            save(tmp_path / f"{i}.tfrecord", columns, lossless=True)
        old = load(tmp_path / "?.tfrecord")
        parts = rearrange(tmp_path / "?.tfrecord", tmp_path / "new.gz", num_shards=3)
        new = load(list(parts.paths))
        assert {name: new[name].dtype for name in new} == {"x": np.float64, "n": np.int8}
        assert all(sorted(new[name]) == sorted(old[name]) for name in old)
        assert parts.schema == load_schema(f"{parts.paths[1]}.schema.json")

    @each_function
    @pytest.mark.parametrize("shards", [1, 2])
    def test_what_is_there_is_kept(self, tmp_path: Path, rearrange: Any, shards: int) -> None:
        paths = write_all(tmp_path, [([b"a"], "")])
        old = tmp_path / f"new-{shards - 1:05}-of-{shards:05}"
        old.write_bytes(b"old")
        error = raised(FileExistsError, rearrange, paths, tmp_path / "new", num_shards=shards)
        assert (error.filename, old.read_bytes()) == (str(old), b"old")
        assert len(list(tmp_path.iterdir())) == 2
        rearrange(paths, tmp_path / "new", num_shards=shards, overwrite=True)
        assert old.read_bytes() != b"old"

    @each_function
    @pytest.mark.parametrize("compression", ["GZIP", "BZ2"])
    def test_options_of_the_files(self, tmp_path: Path, rearrange: Any, compression: str) -> None:
        records = [b"%d" % i for i in range(9)]
        (path,) = write_all(tmp_path, [(records, ".zz")])
        options: Any = {"records_per_shard": 4, "compression": compression}
        parts = rearrange(path, tmp_path / "new", **options)
        assert [len(read_all(path)) for path in parts.paths] == [4, 4, 1]
        heads = {Path(path).read_bytes()[:2] for path in parts.paths}
        assert heads == {{"GZIP": b"\x1f\x8b", "BZ2": b"BZ"}[compression]}
        assert sorted(read_all(*parts.paths)) == records

    @each_function
    def test_damage_is_an_error_or_skipped(self, tmp_path: Path, rearrange: Any) -> None:
        records = [b"%d" % i for i in range(9)]
        (path,) = write_all(tmp_path, [(records, "")])
        data = bytearray(Path(path).read_bytes())
        data[17 * 4 + 12] ^= 1
        Path(path).write_bytes(data)
        spans: list[object] = []
        for checks in (True, False):
            with pytest.raises(DataLossError) as caught:
                rearrange(TFRecordReader(path, verify=checks), tmp_path / "x", num_shards=2)
            assert (caught.value.reason, caught.value.index) == (Reason.DATA_CRC, 4)
            assert caught.value.source == path
            assert len(list(tmp_path.iterdir())) == 1
        parts = rearrange(TFRecordReader(path, on_error=spans.append), tmp_path / "x", num_shards=2)
        assert sorted(read_all(*parts.paths)) == records[:4] + records[5:]
        assert [len(read_all(path)) for path in parts.paths] == [4, 4]
        assert len(spans) == 1  # though the file may be read twice

    @pytest.mark.parametrize(
        "rearrange",
        [shuffle_records, lambda source, target, **o: sample_records(source, target, 20, **o)],
    )
    def test_a_seed_is_drawn_and_told(self, tmp_path: Path, rearrange: Any) -> None:
        (path,) = write_all(tmp_path, [([b"%d" % i for i in range(99)], "")])
        first, other = (rearrange(path, tmp_path / name) for name in "12")
        again = rearrange(path, tmp_path / "3", seed=first.seed)
        assert first.seed != other.seed
        assert read_all(*first.paths) == read_all(*again.paths) != read_all(*other.paths)

    @each_function
    @pytest.mark.parametrize("error", [KeyboardInterrupt, FileNotFoundError])
    def test_errors_leave_none(self, tmp_path: Path, rearrange: Any, error: Any) -> None:
        paths = write_all(tmp_path, [([b"a", b"b"], "")])
        if error is FileNotFoundError:
            paths.append(str(tmp_path / "missing"))

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        progress = interrupt if error is KeyboardInterrupt else None
        raised(error, rearrange, paths, tmp_path / "x", num_shards=9, progress=progress)
        assert len(list(tmp_path.iterdir())) == 1

    @each_function
    @pytest.mark.parametrize("name", ["source-0.tfrecord", "link", "file://"])
    def test_sources_are_never_replaced(self, tmp_path: Path, rearrange: Any, name: str) -> None:
        paths = write_all(tmp_path, [([b"a"], "")])
        (tmp_path / "link").symlink_to(paths[0])
        target = f"file://{paths[0]}" if name == "file://" else tmp_path / name
        if rearrange is FUNCTIONS["split"]:
            target, paths = tmp_path / "s@1", list(split_files(paths, tmp_path / "s@1").paths)
        with pytest.raises(InvalidArgumentError, match="would replace one that is read"):
            rearrange(paths, target, overwrite=True)
        assert read_all(*paths) == [b"a"]

    def test_nor_by_a_shard_whose_name_is_known_at_the_end(self, tmp_path: Path) -> None:
        paths = write_all(tmp_path, [([b"a", b"b"], "")])
        parts = split_files(paths, tmp_path / "x", num_shards=2)
        with pytest.raises(InvalidArgumentError, match="would replace one that is read"):
            merge_files(parts.paths, tmp_path / "x", records_per_shard=1, overwrite=True)
        assert read_all(*parts.paths) == [b"a", b"b"]


class TestMishaps:
    def test_what_appeared_meanwhile_is_kept(self, tmp_path: Path) -> None:
        paths = write_all(tmp_path, [([b"a"], "")])

        def put_there(*_: object) -> None:
            (tmp_path / "new-00000-of-00001").write_bytes(b"old")

        with pytest.raises(FileExistsError):
            merge_files(paths, tmp_path / "new", records_per_shard=3, progress=put_there)
        assert (tmp_path / "new-00000-of-00001").read_bytes() == b"old"
        assert len(list(tmp_path.iterdir())) == 2

    @pytest.mark.skipif(sys.platform != "linux", reason="lists open files in /proc")
    def test_more_shards_than_files_may_be_open(self, tmp_path: Path) -> None:
        import resource

        path = write_all(tmp_path, [([b"a"] * 200, "")])
        most, limits = max(map(int, os.listdir("/proc/self/fd"))), resource.RLIMIT_NOFILE  # noqa: PTH208
        before = resource.getrlimit(limits)
        resource.setrlimit(limits, (most + 100, before[1]))
        try:
            filter_records(path, tmp_path / "x", lambda b: b.lengths > 0, num_shards=most + 150)
        finally:
            resource.setrlimit(limits, before)
        assert len(list(tmp_path.iterdir())) == most + 151

    @pytest.mark.needs("remote")
    def test_urls_and_their_options(self, tmp_path: Path) -> None:
        there = "memory://rearranged/x.tfrecord"
        merge_files(
            write_all(tmp_path, [([b"a"], "")]),
            there,
            storage_options={"skip_instance_cache": False},
        )
        assert read_all(there) == [b"a"]
        with pytest.raises(InvalidArgumentError, match="none was given"):
            merge_files(tmp_path / "*", tmp_path / "newer", storage_options={"key": 1})
