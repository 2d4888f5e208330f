"""Conversions: shards, processes, resuming, limits, and that nothing is written half."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.subprocesses import run_fresh
from tfrecord_lite import TFRecordReader, TFRecordWriter, VarLenFeature, save
from tfrecord_lite.apps.tables.conversion import Summary
from tfrecord_lite.cli import convert as verb
from tfrecord_lite.cli import inputs, main
from tfrecord_lite.errors import DataLossError, InvalidArgumentError
from tfrecord_lite.messages import SequenceExample
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.testing import sequence_examples_for

pytestmark = pytest.mark.needs("arrow")


def convert(*sources: Path, target: Path | str, **settings: Any) -> Summary:
    from tfrecord_lite.apps.tables import conversion

    how = ("num_shards", "shard_bytes", "num_jobs", "overwrite", "resume", "progress")
    given: Any = {name: settings.pop(name) for name in how if name in settings}
    made = conversion.Settings(make_condition=verb._condition, **settings)
    summary = conversion.convert(list(map(str, sources)), str(target), made, **given)
    for _, error in summary.failures:
        raise error
    return summary


def ids(*paths: Path) -> list[int]:
    import pyarrow.parquet as pq

    return [row for path in paths for row in pq.ParquetFile(path).read()["id"].to_pylist()]


def records(path: Path, first: int, stop: int) -> Path:
    with TFRecordWriter(path) as writer:
        n = np.arange(first, stop)
        writer.write_examples({"id": n, "pad": [b"x" * 500] * len(n), "half": n / 2})
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return records(tmp_path / "a.tfrecord", 0, 6_000)


def made(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_types_come_back_beside_structs_and_decimals(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "point": [{"x": 1, "y": "a"}],
            "time": pa.array([3_723_000_000], pa.time64("us")),
            "count": pa.array([7]).cast(pa.decimal128(38)),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.warns(UserWarning, match="'point' as 'point/x', 'point/y'"):
        convert(tmp_path / "a.parquet", target=tmp_path / "b.tfrecord")
    convert(tmp_path / "b.tfrecord", target=tmp_path / "c.parquet")
    back = pq.read_table(tmp_path / "c.parquet")
    assert back.select(["time", "count"]).equals(table.select(["time", "count"]))
    assert back.column_names == ["point/x", "point/y", "time", "count"]


class TestOutputs:
    @pytest.mark.parametrize("ending", [
        "tfrecord",
        "csv",
        *(
            pytest.param(ending, marks=pytest.mark.slow)
            for ending in ("tfrecord.gz", "feather", "jsonl")
        ),
    ])  # fmt: skip
    def test_shards_have_consecutive_rows(self, tmp_path: Path, source: Path, ending: str) -> None:
        convert(source, target=tmp_path / f"b.{ending}")
        convert(tmp_path / f"b.{ending}", target=tmp_path / "c.parquet", num_shards=3, num_jobs=2)
        shards = sorted(tmp_path.glob("c-*.parquet"))
        assert [path.name for path in shards] == [f"c-0000{i}-of-00003.parquet" for i in range(3)]
        assert ids(*shards) == list(range(6_000))
        assert {len(ids(shard)) for shard in shards} == {2000}

    def test_a_shard_per_source_is_made_of_it(self, tmp_path: Path) -> None:
        paths = [records(tmp_path / f"{i}.tfrecord", 0, 10 * i + 1) for i in range(2)]
        convert(*paths, target=f"{tmp_path}/out@2.parquet", num_shards=2)
        shards = sorted(tmp_path.glob("out-*"))
        assert [len(ids(shard)) for shard in shards] == [1, 11]

    def test_more_shards_than_rows(self, tmp_path: Path) -> None:
        path = records(tmp_path / "a.tfrecord", 0, 2)
        convert(path, target=tmp_path / "b.parquet", num_shards=4)
        assert [ids(shard) for shard in sorted(tmp_path.glob("b-*"))] == [[], [0], [], [1]]

    def test_as_many_shards_as_sources_have_of_a_size(self, tmp_path: Path, source: Path) -> None:
        convert(source, target=tmp_path / "b.csv", shard_bytes=700_000)
        shards = sorted(tmp_path.glob("b-*.csv"))
        assert len(shards) == -(-source.stat().st_size // 700_000)

    def test_a_directory_has_a_file_per_source(self, tmp_path: Path) -> None:
        folder = tmp_path / "in"
        folder.mkdir()
        for i in range(2):
            records(folder / f"{i}.tfrecord", 0, 5)
        save(
            folder / "2.tfrecord",
            {"id": np.arange(5), "pad": [b""] * 5, "half": np.zeros(5, np.float32)},
        )
        (folder / "2.tfrecord.schema.json").rename(folder / "other.schema.json")
        (folder / "notes.txt").write_text("notes")
        convert(folder, target=f"{tmp_path}/out/", to="parquet", num_jobs=2)
        assert made(tmp_path / "out") == ["0.parquet", "1.parquet", "2.parquet"]
        assert ids(*sorted((tmp_path / "out").glob("*.parquet"))) == [*range(5)] * 3

    def test_two_sources_of_one_name(self, tmp_path: Path) -> None:
        (tmp_path / "x").mkdir()
        paths = [records(tmp_path / name, 0, 1) for name in ("a.tfrecord", "x/a.tfrecord")]
        with pytest.raises(InvalidArgumentError, match="two sources would become this file"):
            convert(*paths, target=f"{tmp_path}/out/", to="csv")

    def test_the_target_is_not_a_source(self, tmp_path: Path, source: Path) -> None:
        with pytest.raises(InvalidArgumentError, match="the target is one of the sources"):
            convert(source, target=source, overwrite=True)
        with pytest.raises(InvalidArgumentError, match="the target is one of the sources"):
            convert(source, target=f"{tmp_path}/", to="tfrecord", overwrite=True)
        assert len(list(TFRecordReader(source))) == 6_000

    def test_what_is_there_is_kept(self, tmp_path: Path, source: Path) -> None:
        (tmp_path / "b.csv").write_text("kept")
        with pytest.raises(FileExistsError, match="--overwrite replaces it"):
            convert(source, target=tmp_path / "b.csv")
        assert (tmp_path / "b.csv").read_text() == "kept"
        convert(source, target=tmp_path / "b.csv", overwrite=True)
        assert (tmp_path / "b.csv").read_text().startswith("half,id,pad\n0.0,0,xxx")


class TestRows:
    @pytest.mark.parametrize("shards", [None, 3])
    @pytest.mark.parametrize("ending", ["tfrecord", "parquet", "csv"])
    @pytest.mark.parametrize("limit", [0, 7000, 15_000])
    def test_a_limit_is_exact(
        self, tmp_path: Path, source: Path, ending: str, limit: int, shards: int | None
    ) -> None:
        other = tmp_path / f"b.{ending}"
        convert(source, target=other)
        convert(other, other, target=tmp_path / "c.parquet", limit=limit, num_shards=shards)
        found = ids(*sorted(tmp_path.glob("c*.parquet")))
        assert found == [*range(6_000), *range(6_000)][:limit]

    def test_a_limit_stops_reading(self, tmp_path: Path, source: Path) -> None:
        data = source.read_bytes()
        (tmp_path / "bad.tfrecord").write_bytes(data + b"damage after all records")
        convert(tmp_path / "bad.tfrecord", target=tmp_path / "b.parquet", limit=20, sample=100)
        assert ids(tmp_path / "b.parquet") == list(range(20))

    def test_records_are_copied_as_they_are(self, tmp_path: Path, source: Path) -> None:
        convert(source, source, target=tmp_path / "b.tfrecord.gz", num_shards=3)
        found = [r for path in sorted(tmp_path.glob("b-*.gz")) for r in TFRecordReader(path)]
        assert found == [*TFRecordReader(source)] * 2

    @pytest.mark.parametrize("to", ["tfrecord", "parquet"])
    def test_each_file_has_its_own_schema(self, tmp_path: Path, source: Path, to: str) -> None:
        from tfrecord_lite import load

        save(tmp_path / "x.tfrecord", {"x": np.array([0.1, 0.2])}, lossless=True)
        save(tmp_path / "n.tfrecord", {"n": np.array([1, 2], np.uint8)})
        paths = [tmp_path / f"{name}.tfrecord" for name in "xna"]
        convert(*paths, target=f"{tmp_path}/out/", to=to, sample=10)
        for path in (tmp_path / "out").glob("*.parquet"):
            convert(path, target=path.with_suffix(".tfrecord"))
        out = tmp_path / "out"
        x: Any = load(out / "x.tfrecord")
        n: Any = load(out / "n.tfrecord")
        assert (x["x"].tolist(), n["n"].dtype, list(n)) == ([0.1, 0.2], np.uint8, ["n"])
        assert (out / "a.tfrecord.schema.json").exists() == (to == "parquet")

    def test_a_sidecar_of_other_data_does_not_stay(self, tmp_path: Path, source: Path) -> None:
        save(tmp_path / "b.tfrecord", {"x": np.zeros(3)})
        convert(source, target=tmp_path / "b.tfrecord", overwrite=True)
        assert not (tmp_path / "b.tfrecord.schema.json").exists()

    def test_columns_in_their_order(self, tmp_path: Path, source: Path) -> None:
        import pyarrow.parquet as pq

        convert(source, target=tmp_path / "b.parquet", columns=("pad", "id"))
        assert pq.read_schema(tmp_path / "b.parquet").names == ["pad", "id"]
        with pytest.raises(InvalidArgumentError, match="no column 'idd'; the nearest: 'id'"):
            convert(source, target=tmp_path / "c.parquet", columns=("idd",))

    @pytest.mark.needs("sql")
    def test_a_condition_takes_rows_of_nested_lists_in_cut_batches(self, tmp_path: Path) -> None:
        """A batch is cut where a shard ends; of such slices Arrow's filter takes other values."""
        import pyarrow.parquet as pq

        values = np.arange(60).reshape(10, 2, 3)
        save(tmp_path / "a.tfrecord", {"i": np.arange(10), "v": values})
        convert(
            tmp_path / "a.tfrecord",
            target=tmp_path / "b.parquet",
            condition="i >= 0 and i != 4",
            num_shards=3,
        )
        tables = [pq.read_table(path) for path in sorted(tmp_path.glob("b-*.parquet"))]
        assert len(tables) == 3
        found = [row for table in tables for row in table["v"].to_pylist()]
        assert found == np.delete(values, 4, axis=0).tolist()

    @pytest.mark.needs("sql")
    @pytest.mark.parametrize(
        "ending", ["tfrecord", "parquet", pytest.param("csv", marks=pytest.mark.slow)]
    )
    @pytest.mark.parametrize(
        ("limit", "n_jobs", "counts"), [(None, 1, [25, 26, 25, 26]), (50, 2, [12, 13, 12, 13])]
    )
    def test_rows_are_divided_after_a_condition(
        self, tmp_path: Path, ending: str, limit: int | None, n_jobs: int, counts: list[int]
    ) -> None:
        save(tmp_path / "a.tfrecord", {"i": np.arange(300), "j": np.arange(300) % 3})
        save(tmp_path / "b.tfrecord", {"i": np.arange(300, 303), "j": np.zeros(3, int)})
        for name in "ab" if ending != "tfrecord" else "":
            convert(tmp_path / f"{name}.tfrecord", target=tmp_path / f"{name}.{ending}")
        convert(
            *(tmp_path / f"{name}.{ending}" for name in "ab"),
            target=tmp_path / "c.jsonl",
            condition="j = 0 and i <> 300",
            columns=("i",),
            num_shards=4,
            limit=limit,
            num_jobs=n_jobs,
        )
        parts = [path.read_text().splitlines() for path in sorted(tmp_path.glob("c-*"))]
        expected = [i for i in range(303) if (i < 300 and i % 3 == 0) or i > 300]
        found = [json.loads(line)["i"] for part in parts for line in part]
        assert found == [i for i in expected if i % 3 == 0 or i > 300][:limit]
        assert [len(part) for part in parts] == counts

    def test_files_of_other_types(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("id,x\n1,2\n")
        (tmp_path / "b.csv").write_text("id,x\n1,2.5\n")
        (tmp_path / "c.csv").write_text("x,id\n2,3\n")
        convert(tmp_path / "a.csv", tmp_path / "c.csv", target=tmp_path / "ok.parquet")
        assert ids(tmp_path / "ok.parquet") == [1, 3]
        with pytest.raises(
            InvalidArgumentError,
            match=r"row 1 after the header: '2\.5' is not of the column's type",
        ):
            convert(tmp_path / "a.csv", tmp_path / "b.csv", target=tmp_path / "bad.parquet")
        assert not (tmp_path / "bad.parquet").exists()

    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_a_first_file_without_rows_decides_no_types(self, tmp_path: Path, ending: str) -> None:
        is_csv = ending == "csv"
        (tmp_path / f"a.{ending}").write_text("id,x\n" if is_csv else "\n")
        (tmp_path / f"b.{ending}").write_text("id,x\n1,2.5\n" if is_csv else '{"id":1,"x":2.5}\n')
        paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
        convert(*paths, target=tmp_path / "c.parquet")
        convert(*paths, target=tmp_path / "d.jsonl", num_shards=2)
        assert ids(tmp_path / "c.parquet") == [1]
        shards = sorted(tmp_path.glob("d-*.jsonl"))
        assert [path.read_text() for path in shards] == ["", '{"id": 1, "x": 2.5}\n']

    def test_progress_counts_rows_of_all_processes(self, tmp_path: Path, source: Path) -> None:
        seen: list[tuple[int, int | None]] = []
        settings: dict[str, Any] = {"num_shards": 2, "num_jobs": 2}
        target = tmp_path / "b.parquet"
        convert(source, target=target, progress=lambda *now: seen.append(now), **settings)
        assert seen[-1] == (6_000, 6_000)


LISTS = {key: VarLenFeature(kind) for key, kind in zip("ifb", (int, "float32", bytes), strict=True)}


def values_of(path: Path) -> list[Any]:
    """Return the values of SequenceExamples, without lists that have no values or steps."""
    found = []
    for row in TFRecordReader(path).sequence_examples():
        context = {key: list(v) for key, v in row["context"].items() if len(v)}
        lists = {k: [list(v) for v in steps] for k, steps in row["feature_lists"].items() if steps}
        found.append((context, lists))
    return found


class TestSequences:
    @given(st.lists(sequence_examples_for(LISTS, LISTS, allow_nan=False), max_size=4))
    def test_come_back_from_parquet(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[SequenceExample]
    ) -> None:
        import pyarrow as pa

        folder = tmp_path_factory.mktemp("sequences")
        full: Any = {"i": [1, 2], "f": [1.5], "b": [b"x"]}  # all have values, and so a type
        # Before 26, pyarrow neither writes nor reads a null among lists of a fixed size in Parquet; with
        # two lengths they are lists of any size.
        lengths = (1,) if int(pa.__version__.partition(".")[0]) >= 26 else (1, 2)
        with TFRecordWriter(folder / "a.tfrecord") as writer:
            for n in lengths:
                longer = {key: values * n for key, values in full.items()}
                steps = {key: [values] for key, values in longer.items()}
                writer.write_sequence_example({"context": longer, "feature_lists": steps})
            for row in rows:
                writer.write(row.SerializeToString())
        convert(folder / "a.tfrecord", target=folder / "b.parquet", sample=None)
        convert(folder / "b.parquet", target=folder / "c.tfrecord")
        assert values_of(folder / "c.tfrecord") == values_of(folder / "a.tfrecord")


class TestDamage:
    @pytest.mark.parametrize("at_end", [True, False])
    @pytest.mark.parametrize("ending", ["tfrecord", "parquet"])
    @pytest.mark.parametrize(("num_jobs", "shards"), [
        (1, {}), (1, {"shard_bytes": 2_000_000}),
        pytest.param(2, {"num_shards": 2}, marks=pytest.mark.slow),
    ])  # fmt: skip
    def test_can_be_skipped(
        self, tmp_path: Path, source: Path, at_end: bool, ending: str, num_jobs: int, shards: Any
    ) -> None:
        data = bytearray(source.read_bytes())
        data[len(data) // 2] ^= not at_end
        source.write_bytes(data[:-30] if at_end else data)
        options = ReadSettings(on_error=inputs.skip_quietly)
        target = tmp_path / f"b.{ending}"
        summary = convert(source, target=target, options=options, num_jobs=num_jobs, **shards)
        assert (summary.rows, summary.damage.num_damaged) == (5_999, 1)

    def test_of_one_shard_leaves_the_others(self, tmp_path: Path, source: Path) -> None:
        from tfrecord_lite.apps.tables import conversion

        data = bytearray(source.read_bytes())
        data[len(data) * 3 // 4] ^= 1
        source.write_bytes(data)
        target = str(tmp_path / "b.parquet")
        summary = conversion.convert(
            [str(source)], target, conversion.Settings(sample=100), num_shards=4
        )
        ((name, error),) = summary.failures
        assert name.endswith(("b-00002-of-00004.parquet", "b-00003-of-00004.parquet"))
        assert isinstance(error, DataLossError)
        assert (error.source, error.index is None) == (str(source), False)
        assert len(made(tmp_path)) in (3, 4)


def interrupted(source: Path, target: Path, **settings: Any) -> list[Path]:
    """Convert to three shards, of which the last fails; return the places of all."""
    shards = [target.with_name(f"{target.stem}-0000{i}-of-00003{target.suffix}") for i in range(3)]
    shards[2].mkdir()
    raised(IsADirectoryError, convert, source, target=target, num_shards=3, **settings)
    shards[2].rmdir()
    return shards


def manifests(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(".*convert")]


class TestResume:
    @pytest.mark.parametrize(("limit", "n_rows"), [(None, 6_000), (4_500, 4_500)])
    def test_keeps_complete(self, tmp_path: Path, source: Path, limit: Any, n_rows: int) -> None:
        target = tmp_path / "b.parquet"
        shards = interrupted(source, target, limit=limit)
        assert manifests(tmp_path) == [".b.parquet.convert"]
        before = [path.stat().st_mtime_ns for path in shards[:2]]
        shards[0].unlink()
        summary = convert(source, target=target, num_shards=3, resume=True, limit=limit)
        assert manifests(tmp_path) == []
        assert ids(*shards) == list(range(n_rows))
        assert shards[0].stat().st_mtime_ns != before[0]
        assert shards[1].stat().st_mtime_ns == before[1]
        assert (len(summary.kept), len(summary.outputs), summary.rows) == (1, 2, n_rows)

    @pytest.mark.parametrize("change", ["source", "sidecar", "columns", "compression", "output"])
    def test_other_settings_are_an_error(self, tmp_path: Path, source: Path, change: str) -> None:
        target = tmp_path / "b.parquet"
        shards = interrupted(source, target)
        if change == "output":
            shards[0].write_bytes(b"PAR1")
        before = {path.name: path.read_bytes() for path in tmp_path.glob("*b*")}
        if change == "source":
            records(source, 5, 6_005)
        if change == "sidecar":
            sidecar = {"id": np.arange(1), "pad": [b""], "half": np.zeros(1, np.float32)}
            schema = save(tmp_path / "other.tfrecord", sidecar)
            source.with_name("a.tfrecord.schema.json").write_text(schema.to_json())
        changes: Any = {"columns": {"columns": ("id",)}, "compression": {"compression": "zstd"}}
        settings: Any = {"num_shards": 3, "resume": True, **changes.get(change, {})}

        with pytest.raises(FileExistsError, match=r"not completed by an interrupted.*--overwrite"):
            convert(source, target=target, **settings)
        assert {path.name: path.read_bytes() for path in tmp_path.glob("*b*")} == before

        summary = convert(source, target=target, overwrite=True, **settings)
        assert len(summary.kept) == (change == "output")  # the other one that is complete
        first = 5 if change == "source" else 0
        assert ids(*shards) == list(range(first, first + 6_000))

    def test_leaves_the_files_of_others(self, tmp_path: Path, source: Path) -> None:
        folder = tmp_path / "out"
        others = [records(tmp_path / f"{i}.tfrecord", 0, 5) for i in range(2)]
        settings: dict[str, Any] = {"target": f"{folder}/", "to": "parquet", "resume": True}
        convert(*others, **settings)
        convert(source, **settings)
        assert made(folder) == ["0.parquet", "1.parquet", "a.parquet"]
        assert ids(folder / "0.parquet") == list(range(5))

    def test_after_all_is_complete(self, tmp_path: Path, source: Path) -> None:
        for shards in (None, 3):
            settings: dict[str, Any] = {"target": tmp_path / "b.parquet", "num_shards": shards}
            assert convert(source, resume=True, **settings).rows == 6_000
            assert manifests(tmp_path) == []
            for resume in (False, True):
                way_on = "nothing is left to resume; --overwrite" if resume else "; --overwrite"
                raised(FileExistsError, convert, source, resume=resume, **settings, match=way_on)
            summary = convert(source, resume=True, overwrite=True, **settings)
            assert (len(summary.outputs), summary.kept) == (shards or 1, [])

    def test_removes_what_was_left_of_unfinished_files(self, tmp_path: Path, source: Path) -> None:
        target = tmp_path / "b.tfrecord"
        shards = interrupted(source, target)
        others = [tmp_path / ".b.tfrecord.1a2b.tmp", tmp_path / f".{shards[0].name}.1a2b.tmp"]
        left = [tmp_path / f".{shards[2].name}{end}.1a2b.tmp" for end in ("", ".schema.json")]
        for path in [*others, *left]:
            path.touch()
        convert(source, target=target, num_shards=3, resume=True)
        assert sorted(tmp_path.glob(".*.tmp")) == sorted(others)


SLOW = """
import os, signal, sys, time
from tfrecord_lite.cli import main
from tfrecord_lite.apps.tables import record_format

whole = record_format.RecordSource.batches
def slow(self, *args):
    for i, batch in enumerate(whole(self, *args)):
        yield batch
        os.write(1, b"batch\\n")
        time.sleep(0.2)

record_format.RecordSource.batches = slow
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in the background
    sys.exit(main(sys.argv[1:]))
"""


class TestInterrupts:
    @pytest.mark.skipif(os.name != "posix", reason="signals")
    @pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, 2), (signal.SIGTERM, 1)])
    def test_leave_it_to_resume(self, tmp_path: Path, source: Path, number: int, jobs: int) -> None:
        program = tmp_path / "slow.py"
        program.write_text(SLOW)
        out = tmp_path / "out"
        arguments = ["convert", str(source), f"{out}/", "--to", "parquet", "--num-shards", "12"]
        process = subprocess.Popen(
            [sys.executable, program, *arguments, "--jobs", str(jobs)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"batch\n"
        for _ in range(200):  # until one is complete, and another is being written
            if list(out.glob("part*")) and list(out.glob(".part*.tmp")):
                break
            time.sleep(0.02)
        assert list(out.glob(".part*.tmp"))

        os.killpg(process.pid, number)

        assert process.wait(30) == {signal.SIGINT: 130, signal.SIGTERM: 143}[signal.Signals(number)]
        process.stdout.close()
        assert process.stderr is not None
        with process.stderr:
            assert process.stderr.read() == b""
        assert list(out.glob(".*.tmp")) == []
        complete = list(out.glob("part*"))
        assert 0 < len(complete) < 12
        stamps = [path.stat() for path in complete]
        assert main([*arguments, "--resume"]) == 0
        assert [path.stat() for path in complete] == stamps
        assert ids(*sorted(out.glob("part*"))) == list(range(6_000))


MEMORY = """
import sys
from tfrecord_lite.apps.tables.conversion import Settings, convert

early = late = 0

def note(done, total):
    global early, late
    with open("/proc/self/status") as file:  # without files that are mapped into memory
        size = next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))
    if done <= 640_000:
        early = max(early, size)
    late = max(late, size)

summary = convert([sys.argv[1]], sys.argv[2], Settings(), progress=note)
assert not summary.failures, summary.failures
print(early, late)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize(("first", "second"), [
    ("a.tfrecord", "b.parquet"), ("b.parquet", "c.tfrecord"), ("a.tfrecord", "b.feather"),
    ("b.feather", "c.csv"), ("c.csv", "d.jsonl"), ("d.jsonl", "e.tfrecord"),
])  # fmt: skip
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, first: str, second: str) -> None:
    """Once pools and allocators are warm: how much these take at first differs from run to run."""
    with TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        for start in range(0, 1_600_000, 20_000):
            n = np.arange(start, start + 20_000)
            writer.write_examples({"id": n, "x": np.ones((20_000, 16), np.float32) * n[:, None]})
    if first != "a.tfrecord":
        run_fresh(MEMORY, tmp_path / "a.tfrecord", tmp_path / first)
    early, late = map(int, run_fresh(MEMORY, tmp_path / first, tmp_path / second).split())
    # In KB. What was read in between takes 65 MB in Arrow, 160 MB as CSV.
    assert late < early + 40_000, (early, late)
