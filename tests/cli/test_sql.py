"""``tfrecord sql``."""

import io
import json
import sys
from pathlib import Path
from typing import IO, cast

import numpy as np
import pytest

from tests.cli.conftest import Run
from tests.cli.samples import damage, flower, odd, write
from tfrecord_lite import RaggedFeature, Schema, encode_sequence_example, load, save, scan
from tfrecord_lite.convert.arrow import imported

pytestmark = pytest.mark.needs("sql")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "x-00000-of-00002", map(flower, range(6)))
    write(tmp_path / "x-00001-of-00002", map(flower, range(6, 9)))
    return tmp_path


@pytest.mark.parametrize(("options", "types"), [
    ([], ["VARCHAR", "VARCHAR[][]"]), (["--text", "feature_lists/words"], ["BLOB", "VARCHAR[][]"]),
    (["--no-text"], ["BLOB", "BLOB[][]"]),
])  # fmt: skip
def test_columns_of_sequences(run: Run, folder: Path, options: list[str], types: list[str]) -> None:
    words = [[["a", "b"], []], [["c"]]]
    records = [
        encode_sequence_example({"context": {"name": "é"}, "feature_lists": {"words": steps}})
        for steps in words
    ]
    write(folder / "s", records)
    columns = """typeof("context/name") t, typeof("feature_lists/words") u, len("feature_lists/words") n"""
    done = run("sql", "--csv", *options, f"select {columns} from 's'")
    assert done == (0, ["t,u,n", *(f"{','.join(types)},{n}" for n in (2, 1))], [])
    unknown = run("sql", "select name from 's'")
    dotted = run("sql", "select context.name from 's'")
    assert dotted.err[0].endswith('; write "context/name" in double quotes if this is the column')
    assert unknown.err == [
        "tfrecord: sql: there is no column 'name'; the nearest: 'context/name', in double quotes"
    ]
    assert load("s", text=True)["feature_lists"]["words"].to_list() == words


@pytest.mark.parametrize("name", ["out.parquet", "out.tfrecord"])
def test_rows_are_written_to_a_file(run: Run, name: str) -> None:
    done = run("sql", "select label, name from 'x@2' where label = 1", "-o", name)
    assert done == (0, [f"{name}: 3 rows"], [])
    is_parquet = name.endswith("parquet")
    found = imported("pyarrow.parquet").read_table(name) if is_parquet else scan(name, text=True)
    assert imported("pyarrow").table(found).to_pylist() == [{"label": 1, "name": "rose"}] * 3


def test_sums_are_numbers(run: Run) -> None:
    save("sums.tfrecord", {"n": np.arange(5)})
    query = "select sum(n) s, [sum(n)] l, 1.5 d from 'sums.tfrecord'"
    assert run("sql", query, "--json").out == ['{"s": 10, "l": [10], "d": 1.5}']
    assert run("sql", query).out[-1].split() == ["10", "[10]", "1.5"]
    assert run("sql", query, "-o", "sums.out.tfrecord").status == 0
    assert load("sums.out.tfrecord")["s"].tolist() == [10]
    query = query.replace("1.5 d", "sum(n)::hugeint << 62 d")
    for name in ("sums.parquet", "sums.arrow"):
        assert run("sql", query, "-o", name).status == 0
        kinds = imported("pyarrow.dataset").dataset(name, format=name[5:]).schema.types
        texts = [str(kinds[0]), str(kinds[1].value_type), str(kinds[2])]
        assert texts == ["int64", "int64", "decimal128(38, 0)"]


def test_every_bit_is_kept_if_asked_for(run: Run) -> None:
    query = "select 0.1::double x, 0.5::double y"
    line = "tfrecord: float64 was rounded to float32 in 'x'; --lossless keeps every bit"
    assert run("sql", query, "-o", "out.tfrecord") == (0, ["out.tfrecord: 1 row"], [line])
    assert scan("out.tfrecord").to_arrow()["x"].to_pylist() == [float(np.float32(0.1))]
    assert run("sql", query, "-o", "out.tfrecord", "--overwrite", "--lossless").err == []
    assert scan("out.tfrecord").to_arrow()["x"].to_pylist() == [0.1]
    done = run("sql", "select 1e300::double x", "-o", "large.tfrecord")
    assert (done.status, "--lossless stores it as it is" in done.err[0]) == (2, True)


def test_a_file_does_not_appear_if_the_query_fails(run: Run, folder: Path) -> None:
    damage(folder / "x-00001-of-00002", 2000)
    done = run("sql", "select label from 'x@2'", "-o", "out.parquet")
    assert done.status == 1
    assert done.err[0].startswith("tfrecord: x-00001-of-00002: record 1, byte ")
    assert not list(folder.glob("out*"))
    assert run("sql", "from 'x@2'", "-o", "out.xyz").status == 2


@pytest.mark.parametrize(("query", "output"), [
    ("select label from '*.tfrecord'", "me.tfrecord"),
    ('select label from "me.tfrecord" where label = 1', "link.tfrecord"),
    ("select * from read_csv('me.csv')", "me.csv"), ("from me.csv", "me.csv"),
    ("select m.* from 'x@2' x, './me.csv' m", "me.csv"),
])  # fmt: skip
def test_a_file_never_gets_its_own_rows(run: Run, folder: Path, query: str, output: str) -> None:
    write(folder / "me.tfrecord", map(flower, range(6)))
    (folder / "me.csv").write_text("label\n1\n2\n")
    (folder / "link.tfrecord").symlink_to("me.tfrecord")
    before = (folder / output).read_bytes()
    done = run("sql", query, "-o", output, "--overwrite")
    assert done.status == 2
    assert done.err == [
        f"tfrecord: {output}: the query names this file; give another one for its rows"
    ]
    assert (folder / output).read_bytes() == before


def test_schemas_are_given_inferred_or_beside(run: Run, folder: Path) -> None:
    times = {"t": np.array(["2024-05-01T12:00"], "M8[us]"), "a/b": np.array([0.1])}
    save("times", times, lossless=True)
    assert run("sql", "select t, \"a/b\" from 'times'").out[2] == "2024-05-01 12:00:00  0.1"
    write(folder / "odd", [odd()])
    (folder / "s.json").write_text(Schema({"ratio": RaggedFeature("float32")}).to_json())
    assert run("sql", "--schema", "s.json", "from 'odd'").out[0] == "ratio"


@pytest.mark.parametrize(("query", "name"), [
    ("select label from all.tfrecord", "all.tfrecord"),
    ("select label from a-*.tfrecord, 'x@2'", "a-*.tfrecord"),
    ("from 'x@2' join folder/b.gz using (id)", "folder/b.gz"), ("from plain", "plain"),
    ("summarize x-00000-of-00002", "x-00000-of-00002"),
])  # fmt: skip
def test_a_file_without_quotes(run: Run, query: str, name: str) -> None:
    done = run("sql", query)
    assert (done.status, len(done.err)) == (2, 1)
    assert done.err[0].endswith(f"; the name of a file is in quotes: from '{name}'")


def test_without_duckdb_the_extra_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    for arguments in ("sql", "select 1"), ("filter", "--where=label = 1", "x-00000-of-00002", "y"):
        done = run(*arguments)
        assert done.status == 2
        assert "SQL needs duckdb: pip install duckdb pyarrow" in done.err[0]


@pytest.mark.parametrize(("condition", "hint"), [
    ('name = "rose"', "; text is in single quotes: 'rose'"),
    ("name <> rose", "; text is in single quotes: 'rose'"),
    ("rose is null", "there is no column 'rose'"), ("labels = 1", "; the nearest: 'label'"),
    ("name.x = 1 or names.x = 1", "'names.x'; the nearest: 'name'"),
])  # fmt: skip
def test_a_name_that_is_no_column(run: Run, condition: str, hint: str) -> None:
    assert "select * from 'x-00000" in run("sql", "x-00000-of-00002").err[0]
    assert hint in run("filter", "--where", condition, "x@2", "y").err[0]
    if "x" not in condition:
        assert hint in run("sql", f"select * from 'x@2' where {condition}").err[0]


def test_a_file_without_records_is_an_empty_table(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path("none.tfrecord"), [])
    note = "tfrecord: none.tfrecord: no records, so the columns are not known; "
    note += "give --schema, which says what they are"
    assert run("sql", "--csv", "select count(*) n from 'none.tfrecord'") == (0, ["n", "0"], [note])
    assert run("sql", "--json", "select * from 'none.tfrecord'") == (0, [], [note])
    where = ("filter", "--where", "label = 1", "none.tfrecord", "some")
    assert run(*where) == (0, ["some: wrote 0 of 0 records, 0 bytes"], [note])
    for name in ("a.parquet", "b.csv", "c.jsonl"):
        done = run("convert", "--where", "label = 1", "none.tfrecord", name)
        assert (done.status, done.err) == (0, [note])
    assert imported("pyarrow.parquet").read_table("a.parquet").shape == (0, 0)
    assert Path("b.csv").read_bytes() == Path("c.jsonl").read_bytes() == b""
    stream = io.TextIOWrapper(cast("IO[bytes]", io.BufferedReader(io.BytesIO())))
    monkeypatch.setattr(sys, "stdin", stream)
    where = ("filter", "--where", "label = 1", "-", "all")
    assert run(*where) == (0, ["all: wrote 0 of 0 records, 0 bytes"], [])
    assert run("convert", "-", "--from", "tfrecord", "--to", "csv", "-").err == [
        note.replace("none.tfrecord", "<stdin>")
    ]
    chosen = run("convert", "--columns", "label", "none.tfrecord", "d.csv")
    assert (chosen.status, chosen.err) == (2, [note])
    unknown = run("sql", "select label from 'none.tfrecord'")
    assert unknown.status == 2
    assert unknown.err[:2] == [note, "tfrecord: sql: there is no column 'label'"]


def test_what_a_query_cannot_have(run: Run) -> None:
    write(Path("late"), map(flower, range(2)))
    done = run("sql", "select count(rare) from 'late'", "--sample", "1")
    sampled = "the schema comes from a sample, the first records: give --sample all, or --schema"
    assert done.err == [f"tfrecord: sql: there is no column 'rare'; {sampled}"]
    assert "2 statements with rows" in run("sql", "select 1; select 2").err[0]
    assert "select * from 'FILE'" in run("sql", "late", "select 1").err[0]
    save("bytes", {"b": [b"\xff"]})
    assert "name other columns in SELECT" in run("sql", "--csv", "select * from 'bytes'").err[0]


@pytest.mark.filterwarnings("ignore:.*rounded to float32")
def test_numbers_have_the_digits_that_they_are_stored_with(run: Run) -> None:
    halves = np.array([1.65, np.nan], np.float16)
    save("n", {"w": np.array([1.65, np.nan]), "l": np.array([[0.1], [2.0]]), "h": halves})
    cells = "1.65,[0.1]", "nan,[2.0]"
    assert run("sql", "--csv", "select w, l from 'n'").out == ["w,l", *cells]
    assert run("convert", "n", "n.csv", "--where", "h > 1 or w is not null").err == []
    assert Path("n.csv").read_text().split() == ["w,l,h", "1.65,[0.1],1.65", "nan,[2.0],nan"]
    assert "  w  float64  1  1.65" in run("head", "n").out
    assert run("sql", "--csv", "select w, w, 1 w from 'n' limit 1").out == ["w,w,w", "1.65,1.65,1"]
    numbers = json.loads(run("stats", "--json", "n").out[0])["features"]["l"]["numbers"]
    assert (numbers["min"], numbers["max"], numbers["quartiles"]) == (0.1, 2.0, [0.1, 0.1, 0.1])
    assert numbers["histogram"]["edges"][::10] == [0.1, 1.05, 2.0]
    assert run("sql", "--csv", "select max(w) m from 'n' where w < 9").out == ["m", "1.65"]
    query = "select {'a': w::float, 'b': [w::float]} s, w / 3 w from 'n' where h > 1"
    assert run("sql", query).out[2].split("  ")[0] == '{"a": 1.65, "b": [1.65]}'
    assert scan("n").to_arrow()["w"][0].as_py() == np.float32(1.65)
