"""``tfrecord convert``: arguments, standard input and output, what it says and its status."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Done, Run
from tests.cli.samples import damage
from tfrecord_lite import TFRecordReader, TFRecordWriter

pytestmark = pytest.mark.needs("arrow")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        writer.write_examples({"n": np.arange(10), "name": [f"name {i}" for i in range(10)]})
    return path


def piped(
    run: Run, monkeypatch: pytest.MonkeyPatch, data: bytes, *arguments: object
) -> tuple[Done, bytes]:
    out = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, write_through=True))
        done = run("convert", *arguments)
        return done, out.getvalue()


class TestWhatItSays:
    def test_of_several(self, run: Run, tmp_path: Path, source: Path) -> None:
        arguments = ("convert", source, f"{tmp_path}/out/", "--to", "jsonl", "--num-shards", 2)
        obstacle = tmp_path / "out" / "part-00001-of-00002.jsonl"
        obstacle.mkdir(parents=True)
        assert "1 complete file stayed; --resume continues" in run(*arguments).err[-1]
        obstacle.rmdir()
        line = run(*arguments).err[0]
        assert "--overwrite replaces it, --resume keeps what an interrupted" in line
        line = run(*arguments, "--resume").out[0]
        assert "wrote 5 rows, 135 B, in 1 file; kept 1 complete file" in line
        assert "wrote 10 rows, 270 B, in 2 files" in run(*arguments, "--overwrite").out[0]

    def test_of_damage(self, run: Run, tmp_path: Path, source: Path) -> None:
        damage(source, source.stat().st_size - 10)
        done = run("convert", source, tmp_path / "b.csv")
        assert (done.status, done.out, len(done.err)) == (1, [], 1)
        assert f"{source}: record 9" in done.err[0]
        assert not (tmp_path / "b.csv").exists()
        done = run("convert", "--skip-damage", source, tmp_path / "b.csv")
        assert (done.status, len(done.out)) == (1, 1)
        assert "skipped 1 damaged place" in done.err[0]
        assert len((tmp_path / "b.csv").read_text().splitlines()) == 10


class TestStandardStreams:
    @pytest.mark.parametrize("kind", ["parquet", "arrow", "tfrecord", "csv"])
    def test_all(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        data = b'{"n": 1, "s": "a,b"}\n{"n": 2, "s": "b"}\n'
        _, made = piped(run, monkeypatch, data, "-", "-", "--from", "jsonl", "--to", kind)
        settings = ["--features", "n:int64,s:text"] if kind == "tfrecord" else []
        done, out = piped(
            run, monkeypatch, made, "-", "-", "--from", kind, "--to", "jsonl", *settings
        )
        assert (done.status, done.err, out) == (0, [], data)


class TestSettings:
    def test_text(self, run: Run, tmp_path: Path, source: Path) -> None:
        import pyarrow.parquet as pq

        for text, expected in (
            (None, "large_binary"), ("all", "large_string"), ("name", "large_string"),
        ):  # fmt: skip
            arguments = [] if text is None else ["--text", text]
            run("convert", "--overwrite", source, tmp_path / "b.parquet", *arguments)
            assert str(pq.read_schema(tmp_path / "b.parquet").field("name").type) == expected

    @pytest.mark.needs("sql")
    def test_where_columns_and_limit(self, run: Run, tmp_path: Path, source: Path) -> None:
        settings = ["--where", "n > 3 AND name <> 'name 5'", "--columns", "name", "--limit", 3]
        run("convert", source, tmp_path / "b.csv", *settings)
        assert (tmp_path / "b.csv").read_text().split() == [
            "name",
            *["name", "4", "name", "6", "name", "7"],
        ]
        done = run("convert", source, tmp_path / "c.csv", "--where", "m > 3")
        assert (done.status, "there is no column 'm'" in done.err[0]) == (2, True)

    @pytest.mark.parametrize("ending", ["csv", "pq"])
    def test_float64(self, run: Run, tmp_path: Path, ending: str) -> None:
        (tmp_path / "a.csv").write_text("x,y,z\n0.1,0.5,nan\n123456789.123,,inf\n")
        run("convert", tmp_path / "a.csv", tmp_path / "a.pq")
        arguments = ("convert", tmp_path / f"a.{ending}", tmp_path / "b.tfrecord")
        done = run(*arguments)
        line = "tfrecord: float64 was rounded to float32 in 'x'; --lossless keeps every bit"
        assert (done.status, done.err) == (0, [line])
        assert json.loads(run(*arguments, "--overwrite", "--json").out[0])["rounded"] == ["x"]
        done = run(*arguments, "--overwrite", "--lossless")
        assert (done.status, done.err) == (0, [])
        run("convert", tmp_path / "b.tfrecord", tmp_path / "c.csv")
        assert (tmp_path / "c.csv").read_text() == (tmp_path / "a.csv").read_text()


def test_no_pyarrow(
    run: Run, tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "duckdb"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run("convert", source, tmp_path / "b.tfrecord.gz").status == 0
    assert list(TFRecordReader(tmp_path / "b.tfrecord.gz")) == list(TFRecordReader(source))
    done = run("convert", source, tmp_path / "b.pq")
    assert done.status == 2
    assert "need pyarrow: pip install pyarrow" in done.err[0]
