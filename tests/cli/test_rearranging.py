"""``tfrecord merge``, ``split``, ``shuffle`` and ``sample``, and what they share with ``filter``."""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run
from tests.cli.samples import damage, write
from tests.cli.test_main import tfrecord
from tfrecord_lite import TFRecordReader, save
from tfrecord_lite.records.framing import frame

VERBS = {
    "merge": [], "split": ["--num-shards=2"], "shuffle": ["--seed=1"], "unique": ["--by=x"],
    "sample": ["-n=9", "--seed=1"], "filter": ["--where=1 = 1"],
}  # fmt: skip
each_verb = pytest.mark.parametrize(
    "verb", [pytest.param(v, marks=pytest.mark.needs("sql")) if v == "filter" else v for v in VERBS]
)


class TestMerge:
    @pytest.mark.slow
    def test_to_standard_output(self, tmp_path: Path) -> None:
        paths = [write(tmp_path / "a", [b"1"]), write(tmp_path / "b", [b"2"])]
        done = tfrecord("merge", *paths, "-")
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == b"".join(path.read_bytes() for path in paths)

    def test_no_terminal(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write(tmp_path / "a", [b"1"])
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        done = run("merge", path, "-")
        text = "tfrecord: standard output: it is a terminal; redirect it, or name a file"
        assert done == (2, [], [text])


class TestAll:
    def test_an_empty_part(self, run: Run, tmp_path: Path) -> None:
        save(tmp_path / "a", {"site": ["x"] * 3})
        parts = [tmp_path / "train", tmp_path / "test"]
        done = run("split", "--fractions=0.5,0.5", "--by=site", tmp_path / "a", *parts)
        assert len(done.err) == 1
        assert done.err[0].endswith("is empty: too few groups of 'site'")

    def test_forgotten_target(self, run: Run, tmp_path: Path) -> None:
        shards = [write(tmp_path / f"a-{i}-of-3.tfrecord", [b"1"]) for i in range(3)]
        for words in (
            ["merge"],
            ["sample", "-n1"],
            ["merge", "--overwrite"],
            ["convert", "--to=csv"],
        ):
            done = run(*words, *shards)
            assert (done.status, done.out) == (2, [])
            assert "the last argument is what is written; was it forgotten?" in done.err[0]
            assert "--overwrite" not in done.err[0]
        assert len({shard.read_bytes() for shard in shards}) == 1
        assert run("merge", *shards, tmp_path / "a-3-of-4.tfrecord").status == 0  # of another set

    @pytest.mark.parametrize("verb", [*VERBS, "recover"])
    @pytest.mark.parametrize("ending", [".csv", ".pq", ".ipc.gz", ".json", ".json.gz"])
    def test_ending_of_a_table(self, run: Run, tmp_path: Path, verb: str, ending: str) -> None:
        path, target = write(tmp_path / "a", [b"1"]), tmp_path / f"x{ending}"
        done = run(verb, *VERBS.get(verb, []), path, target)
        where = " --where CONDITION" if verb == "filter" else ""
        shown = ending.removesuffix(".gz")
        detail = f"not what {shown} says; use tfrecord convert{where} SRC DST"
        assert done == (2, [], [f"tfrecord: {target}: TFRecords would be written, {detail}"])
        done = run("convert", "--to=csv", path, tmp_path / "x.tfr")
        assert done.err == [f"tfrecord: {tmp_path}/x.tfr: its ending is not one of --to csv"]

    @each_verb
    def test_damage(self, run: Run, tmp_path: Path, verb: str) -> None:
        save(tmp_path / "a", {"x": [1, 2]})
        (tmp_path / "a.schema.json").unlink()
        path = damage(tmp_path / "a", (tmp_path / "a").stat().st_size // 2 + 15)
        done = run(verb, *VERBS[verb], path, tmp_path / "x")
        assert (done.status, done.out) == (1, [])
        assert done.err[0].startswith(f"tfrecord: {path}: record 1, byte ")
        assert list(tmp_path.iterdir()) == [path]
        done = run(verb, *VERBS[verb], "--skip-damage", path, tmp_path / "x")
        assert done.status == 1
        assert len(done.out) == len(done.err) == 1
        assert "skipped 1 damaged place" in done.err[0]
        assert len(list(TFRecordReader(tmp_path / "x*"))) == 1

    @each_verb
    def test_standard_input(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str
    ) -> None:
        save(tmp_path / "a", {"x": [1, 2]})
        data = (tmp_path / "a").read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        more = ["--schema", tmp_path / "a.schema.json"] if verb == "filter" else []
        done = run(verb, *VERBS[verb], *more, "-", tmp_path / "x")
        if verb == "sample":
            assert (done.status, len(done.err)) == (2, 1)
            assert "the records are read twice" in done.err[0]
            return
        assert (done.status, done.err) == (0, [])
        assert len(list(TFRecordReader(tmp_path / "x*"))) == 2


def test_what_a_sidecar_says_is_one_line(run: Run, tmp_path: Path) -> None:
    save(tmp_path / "a", {"x": np.arange(5000) / 10}, lossless=True)
    save(tmp_path / "b", {"x": ["text"]})
    disagreeing = run("merge", tmp_path / "a", tmp_path / "b", tmp_path / "x")
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:-30])
    cut = run("merge", "--skip-damage", tmp_path / "a", tmp_path / "y")
    (tmp_path / "b").write_bytes(frame([b""]))  # by another program
    other = run("merge", tmp_path / "b", tmp_path / "z")
    assert (disagreeing.status, cut.status, other.status) == (0, 1, 2)
    assert len(disagreeing.err) == len(other.err) == 1
    assert "the new files get no sidecar" in disagreeing.err[0]
    assert "is used all the same" in cut.err[0]
    assert "skipped 1 damaged place" in cut.err[1]
    assert "was written for other data" in other.err[0]


def test_split_into_parts(run: Run, tmp_path: Path) -> None:
    save(tmp_path / "a", {"x": np.arange(100) % 30})
    parts = ["--fractions=0.5,0.5", "--by=x"]
    done = run("split", *parts, tmp_path / "a", tmp_path / "p@2", tmp_path / "q.gz")
    assert (done.status, done.err, len(done.out)) == (0, [], 2)
    assert len(list(TFRecordReader([tmp_path / "p@2", tmp_path / "q.gz"]))) == 100
    assert "of 100 records" in done.out[1]
    for arguments, text in {
        (*parts, "a", "b"): "expected FILEs, then 2 DSTs",
        (*parts, "a", "b", "-"): "standard output is one file",
        ("--by=x", "a", "b"): "--by and --seed go with --fractions",
        ("--fractions=0.5,x", "a", "b", "c"): "'x' is not a number",
    }.items():
        assert text in run("split", *arguments).err[0]
    done = run("unique", "--by=x", tmp_path / "a", tmp_path / "u")
    assert done.out[0].endswith("; left out 70 duplicates")


SHUFFLED = [b"%06d" % i * 40 for i in range(10_000)]


def test_shuffle_a_seed_is_drawn_and_told(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", SHUFFLED)
    (line,) = run("shuffle", path, tmp_path / "1").out
    told = re.search(r"; (--seed \d+) draws the same$", line)
    assert told is not None
    run("shuffle", *told[1].split(), path, tmp_path / "2")
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
