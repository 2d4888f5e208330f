"""Verbs that show what is in files: info, head, cat, schema, stats, diff, view. What they print is in ``outputs``."""

import base64
import io
import json
import sys
import webbrowser
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import Run
from tests.cli.samples import damage, flower, sequence, write
from tests.support.corpus import CorpusFile, corpus_files
from tests.support.untyped import load
from tfrecord_lite import (
    Schema,
    SequenceSchema,
    TFRecordFile,
    encode_example,
    extension,
    infer_schema,
    save,
    serialize_tensor,
    summarize,
)
from tfrecord_lite.apps.statistics import compare, compute_statistics
from tfrecord_lite.cli import main
from tfrecord_lite.cli.console import exact_bytes
from tfrecord_lite.messages import Event, Summary


def json_of(run: Run, *arguments: object) -> list[dict[str, Any]]:
    done = run(*arguments)
    assert done.status == 0
    return [json.loads(line) for line in done.out]


CONTENT = {
    "example": "tf.train.Example", "sequence_example": "tf.train.SequenceExample",
    "elwc": "ExampleListWithContext", "tfevents": "TensorBoard event",
}  # fmt: skip


@pytest.mark.parametrize("sample", corpus_files())
class TestCorpus:
    def test_info_is_what_tensorflow_found(self, run: Run, sample: CorpusFile) -> None:
        truth = sample.truth
        (found,) = json_of(run, "info", "--json", sample.path)
        assert found["records"] == truth["records"]
        assert (found["min"], found["max"]) == (truth["min_len"], truth["max_len"])
        assert (found["compression"] or "NONE") == truth["compression"]
        assert found["content"] == [CONTENT[truth["kind"]]]
        assert found["file_bytes"] == sample.path.stat().st_size
        assert found["damage"] is None
        if truth["kind"] == "example":
            assert [row["name"] for row in found["features"]] == sorted(truth["keys"])
            schema = f"{summarize(sample.path)}\n\n{infer_schema(sample.path)}"
            assert run("schema", sample.path).out == schema.splitlines()
            (found,) = json_of(run, "stats", "--json", sample.path)
            expected = json.dumps({**compute_statistics(sample.path).describe(), "sample": None})
            assert found == json.loads(expected)


def numbers(lines: list[str]) -> list[int]:
    return [int(line.split()[1].rstrip(":")) for line in lines if line.startswith("record ")]


@pytest.mark.parametrize("way", ["read", "index", "compressed", "--skip-damage"])
@given(asked=st.lists(st.integers(-90, 90), min_size=1, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_records_by_number_are_shown(run: Run, tmp_path: Path, way: str, asked: list[int]) -> None:
    compression = "GZIP" if way == "compressed" else ""
    path = write(tmp_path / "a", (flower(i) for i in range(70)), compression)
    if way == "index":
        TFRecordFile(path).save_index()
    more = [way] if way.startswith("--") else []
    done = run("head", *more, *(f"--record={n}" for n in asked), path)
    there = {n % 70 for n in asked if -70 <= n < 70}
    missing = {n for n in asked if not -70 <= n < 70}
    from_start = sorted({n for n in asked if 0 <= n < 70})
    assert numbers(done.out) == from_start + sorted(there.difference(from_start))
    assert len(done.err) == len(missing)
    assert all("there is no record" in line and "70 records" in line for line in done.err)
    assert done.status == (2 if missing else 0)


EVENT_VALUES: list[tuple[Any, Any]] = [
    (np.float32(0.1), 0.1), (np.float64(np.inf), {"float": "Infinity"}),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.array([b"text", b"\xff"], object), ["text", {"base64": "/w=="}]), (np.array(True), True),
]  # fmt: skip


def test_events_as_json_and_csv_have_wall_time_step_tag_and_value(run: Run, tmp_path: Path) -> None:
    (tmp_path / "logs" / "a").mkdir(parents=True)
    values = [Summary.Value(tag=f"tensor {i}") for i in range(len(EVENT_VALUES))]
    for value, (array, _) in zip(values, EVENT_VALUES, strict=True):
        value.tensor.ParseFromString(serialize_tensor(array))
    values.append(Summary.Value(tag="loss, old", simple_value=0.5))
    event = Event(wall_time=1.5, step=-3, summary=Summary(value=values))
    records = [Event(wall_time=1, file_version="v"), event, Event(wall_time=2, graph_def=b"\xff")]
    path = tmp_path / "logs" / "a" / "events.out.tfevents.1"
    write(path, [record.SerializeToString() for record in records])

    version, found, graph = json_of(run, "cat", "--json", path)
    assert version == {"wall_time": 1, "step": 0, "file_version": "v"}
    assert graph == {"wall_time": 2, "step": 0, "graph_def": "/w=="}
    assert (found["wall_time"], found["step"]) == (1.5, -3)
    expected = [*(shown for _, shown in EVENT_VALUES), 0.5]
    assert [each["value"] for each in found["values"]] == expected
    assert [each["tag"] for each in found["values"]] == [value.tag for value in values]

    logs, line = tmp_path / "logs", 'a,"loss, old",-3,1.5,0.5'
    assert run("events", logs).out == ["run,tag,step,wall_time,value", line]
    assert run("events", "--runs", logs).out == ['run,"loss, old"', "a,0.5"]
    (tmp_path / "b").mkdir()
    more = write(tmp_path / "b" / "events.out.tfevents.2", [event.SerializeToString()])
    both = run("events", "--tag", "loss*", "--tag", "lss", logs, tmp_path / "b")
    names = [logs / "a", tmp_path / "b"]
    assert both.out[1:] == [line.replace("a,", f"{name},", 1) for name in names]
    assert run("events", tmp_path / "*" / "events*").out == run("events", more).out
    assert both.err == ["tfrecord: --tag: no run has a scalar 'lss'; there are 'loss, old'"]
    for verb in (["count"], ["head"], ["verify"], []):  # a log directory is the files of its runs
        assert run(*verb, logs) == run(*verb, path)
    damage(path, 30)
    assert [run("events", *skip, logs).status for skip in ([], ["--skip-damage"])] == [1, 1]


def test_records_that_are_tensors_are_shown_as_tensors(run: Run, tmp_path: Path) -> None:
    """By dtype, shape and values, with what reads them; also those that TensorFlow stores otherwise."""
    arrays = [EVENT_VALUES[2][0], EVENT_VALUES[3][0], np.uint8(7)]
    ragged = bytes.fromhex("0815 1200 2216 15 0a13") + b"RaggedTensorVariant"
    records = [*map(serialize_tensor, arrays), b"\x08\x07\x12\x00\x22\x03\x02bb", ragged]
    path = write(tmp_path / "tensors", records)

    page = "\n".join(run(path).out)
    assert "content       serialized tensor\n" in page
    assert "int64 [2, 2], string [2], uint8 [], string [], variant []" in page
    assert "parse_tensors(records)" in page
    (found,) = json_of(run, "info", "--json", path)
    assert found["tensors"][:2] == [
        {"dtype": "int64", "shape": [2, 2]},
        {"dtype": "string", "shape": [2]},
    ]
    shown = run("cat", path).out
    assert "  int64 tensor [2, 2]  1, 2, 3, 4" in shown
    assert "  string tensor []  'bb'" in shown
    rows = json_of(run, "cat", "--json", path)
    assert rows[0] == {"dtype": "int64", "shape": [2, 2], "values": [[1, 2], [3, 4]]}
    assert rows[1]["values"] == EVENT_VALUES[3][1]
    assert base64.b64decode(rows[-1]["base64"]) == ragged
    shard = tmp_path / "saved" / "1" / "00000000.shard" / "00000000.snapshot"
    shard.parent.mkdir(parents=True)
    path.rename(shard)
    (error,) = run("stats", shard).err
    assert f"load('{tmp_path}/saved') reads the data set" in error


def test_an_index_is_used_unless_it_is_old(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [encode_example({"a": i}) for i in range(9)])
    TFRecordFile(path).save_index()
    data = bytearray(path.read_bytes() * 2)
    data[len(data) // 2 - 20] ^= 1
    path.write_bytes(data)
    done = run("head", "--record=0", path)
    assert (done.status, numbers(done.out), done.err) == (0, [0], [])
    path = write(tmp_path / "b", map(flower, range(5)))
    damage(path, 40)
    TFRecordFile(path).save_index()
    assert numbers(run("head", "--record", -1, path).out) == [4]  # damage before it is not met
    assert run("head", "--record", 0, path).status == 1


@pytest.mark.parametrize(("records", "cls"), [
    (map(flower, range(20)), Schema), (map(sequence, range(1, 9)), SequenceSchema),
], ids=["Examples", "SequenceExamples"])  # fmt: skip
def test_json(run: Run, tmp_path: Path, records: Any, cls: type[Schema | SequenceSchema]) -> None:
    path, beside = write(tmp_path / "d", records), tmp_path / "d.schema.json"
    (line,) = run("schema", "--json", path).out
    beside.write_text(line)
    assert cls.from_json(line) == infer_schema(path)
    assert json.loads(line)["summary"] == summarize(path).describe()
    loaded = load(path)
    if cls is Schema:
        assert loaded["label"].tolist() == [i % 3 for i in range(20)]
    else:
        assert loaded["context"]["id"].tolist() == [7] * 8
        assert run("schema", "--variable", "padded", path).status == 2
    assert run("verify", "--schema", beside, path).status == 0
    before = run("schema", path)
    beside.write_text("{")
    assert run("schema", path) == before


@pytest.mark.parametrize("make", [flower, sequence])
def test_what_is_different_is_what_compare_returns(run: Run, tmp_path: Path, make: Any) -> None:
    a, b = write(tmp_path / "a", map(make, range(60))), write(tmp_path / "b", [make(2)] * 60)
    done, as_json = run("diff", a, b), run("diff", "--json", a, b)
    assert (done.status, done.err, as_json.status) == (1, [], 1)
    assert done.out == str(compare(a, b)).splitlines()
    assert json.loads(as_json.out[0]) == json.loads(json.dumps(compare(a, b).describe()))


@pytest.mark.parametrize(("width", "missing"), [(120, set()), (70, {"std", "histogram"})])
def test_lines_fit_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, missing: set[str]
) -> None:
    path = write(tmp_path / "d", [*map(flower, range(60))])
    wide = run("stats", path).out[2].split()
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("stats", path).out
    assert max(map(len, lines)) <= width
    assert set(wide) - set(lines[2].split()) == missing
    assert "petals" in " ".join(lines)
    monkeypatch.setenv("COLUMNS", str(len(lines[3])))  # the rule is as long as the table is wide
    assert run("stats", path).out[2] == lines[2]


def test_without_utf8_there_are_no_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "d", [*map(flower, range(60))])
    shown = []
    for encoding in ("utf-8", "ascii"):
        out = io.TextIOWrapper(io.BytesIO(), encoding)
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["stats", "--columns", "label,petals", str(path)]) == 0
        shown.append(out.buffer.getvalue().decode(encoding))
    assert "███" in shown[0]
    assert "histogram" not in shown[1]
    assert shown[1].isascii()


def test_a_sample(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "d", map(flower, range(60)))
    whole = run("stats", "--sample", 10, path)
    monkeypatch.setattr(extension, "draw_sample", partial(extension.draw_sample, max_bytes=50_000))
    done = run("stats", "--sample", 10, path)
    (described,) = json_of(run, "stats", "--json", "--sample", 10, path)
    assert whole.out == run("stats", path).out
    assert "10 records, 4 features; records at 2 places" in done.out[0]
    assert described["records"] == 10
    drawn = {"method": "records at 2 places", "is_whole": False, "total_records": None}
    assert described["sample"] == drawn


SOUND, BROKEN = [flower(i) for i in range(12)], b"\x0a\xff"


@pytest.mark.parametrize("how", [[], ["--sample", "50"]])
@pytest.mark.parametrize(("name", "options", "expected"), [
    ("malformed", [], (2, 7, "record 7")),
    ("malformed", ["--skip-damage"], (2, 12, "left out 2 malformed records; the first: ")),
    ("damaged", ["--skip-damage"], (1, 8, "skipped 1 damaged place")),
    ("damaged", ["--columns=zro", "--skip-damage"], (2, None, "no feature 'zro'")),
    ("none", [], (2, None, "No such file or directory")),
])  # fmt: skip
def test_wrong(run: Run, tmp_path: Path, how: Any, name: str, options: Any, expected: Any) -> None:
    damage(write(tmp_path / "damaged", [flower(0)] * 9), 2000)
    write(tmp_path / "malformed", [*SOUND[:7], BROKEN, BROKEN, *SOUND[7:]])
    done = run("stats", *how, *options, tmp_path / name)
    status, n_records, text = expected
    assert done.status == status
    assert done.out[:1] == [f"{n_records} records, 4 features"] * (n_records is not None)
    assert text in " ".join(done.err)


@pytest.mark.needs("view")
class TestView:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        write(tmp_path / "x", map(flower, range(6)))

    def test_a_page_is_written(self, run: Run) -> None:
        done = run("view", "x", "-o", "page.html", "--columns", "label,name", "--limit", 2)
        page, size = Path("page.html").read_text("utf-8"), Path("page.html").stat().st_size
        assert done == (0, [f"page.html: wrote {exact_bytes(size)}"], [])
        assert "daisy" in page
        assert "2 of 6" in page
        assert "petals" not in page

    def test_a_file_that_exists_stays_unless_it_is_to_be_replaced(self, run: Run) -> None:
        for name in ("page.html", "x.idx"):
            Path(name).write_bytes(b"before")
            text = f"tfrecord: {name}: File exists; --overwrite replaces it"
            assert run("view", "x", "-o", name) == (2, [], [text])
            assert Path(name).read_bytes() == b"before"
            assert run("view", "x", "-o", name, "--overwrite").status == 0
            assert b"daisy" in Path(name).read_bytes()
        before = Path("x").read_bytes()
        done = run("view", "x", "-o", "x")
        assert done.status == 2
        assert "would replace a file that it shows" in done.err[0]
        assert Path("x").read_bytes() == before

    def test_the_page_is_opened_or_printed(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        opened: list[str] = []

        def open_it(url: str) -> bool:
            opened.append(url)
            return len(opened) == 1

        monkeypatch.setattr(webbrowser, "open", open_it)
        assert run("view", "x") == (0, [], [])
        (url,) = opened
        assert url.startswith("file:///")
        done = run("view", "x")
        assert done.status == 0
        assert Path(done.out[0]).read_text("utf-8").startswith("<!doctype html>")

    def test_standard_output(self, capfdbinary: Any) -> None:
        assert main(["view", "x", "-o", "-"]) == 0
        assert capfdbinary.readouterr().out.startswith(b"<!doctype html>")


@pytest.mark.needs("view")
def test_of_no_tfrecord_file_there_is_no_page(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "schema.pbtxt"
    path.write_text('feature { name: "a" }\n' * 9)
    done = run("view", path, "-o", tmp_path / "page.html")
    assert done.status == 2
    assert done.err[0].startswith(f"tfrecord: {path}: not a TFRecord file; it looks like ")
    assert not (tmp_path / "page.html").exists()


def test_what_was_saved_is_shown_with_its_own_dtype(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord"
    columns: dict[str, Any] = {
        "large": np.uint64(2**64 - 1) - np.arange(6, dtype="u8"),
        "pixels": np.arange(96, dtype="u1").reshape(6, 2, 8), "price": np.arange(6) / 3,
        "rows": [[0.1] * (i + 1) for i in range(6)], "flags": np.ones((6, 20), bool),
        "time": np.arange(6).astype("M8[s]"), "complex": np.ones(6) * 1j,
    }  # fmt: skip
    save(path, columns, lossless=True)

    lines = run("head", "-n", 1, path).out[1:]
    info = [line.split() for line in run("info", path).out[-len(lines) :]]
    assert info == [line.split()[: len(each)] for each, line in zip(info, lines, strict=True)]
    statistics = compute_statistics(path)

    kinds = {line.split()[0]: line.split()[1] for line in lines}
    dtypes = ("uint64", "uint8", "float64", "float64", "bool", "datetime64[s]", "complex128")
    assert kinds == dict(zip(columns, dtypes, strict=True))
    assert kinds == {name: statistics[name].original for name in columns}
    assert run("view", "-o", tmp_path / "page.html", path).status == 0
    shown = {line.split()[0]: line.split("  ")[-1] for line in lines}
    assert shown["large"] == "18446744073709551615"
    assert shown["time"] == "1970-01-01T00:00:00"
    assert next(line for line in lines if "pixels" in line).split()[2:5] == ["2", "x", "8"]
    assert all(f">{dtype}" in (tmp_path / "page.html").read_text() for dtype in dtypes)
