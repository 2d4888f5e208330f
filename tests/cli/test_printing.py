"""Verbs that print what is in a file: those of the corpus, and what JSON says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.samples import (
    flower,
    sequence,
    write,
)
from tests.support.corpus import CorpusFile, corpus_files
from tests.support.untyped import load
from tfrecord_lite import Schema, SequenceSchema, TFRecordReader, infer_schema, summarize
from tfrecord_lite.apps.statistics import compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done
    from tests.support.corpus import CorpusFile

    Run = Callable[..., Done]


def titles(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("record ")]


@pytest.mark.parametrize("sample", corpus_files())
class TestCorpus:
    def test_cat_prints_every_record(self, run: Run, sample: CorpusFile) -> None:
        done = run("cat", sample.path)

        assert done.status == 0
        assert len(titles(done.out)) == sample.truth["records"]
        assert max(map(len, done.out)) <= 100

    def test_the_lines_hold_the_values_tensorflow_saw(self, run: Run, sample: CorpusFile) -> None:
        done = run("cat", "--json", sample.path)
        lines: list[dict[str, Any]] = [json.loads(line) for line in done.out]

        assert len(lines) == sample.truth["records"]
        for key, kinds in sample.truth.get("keys", {}).items():
            part, _, name = key.rpartition(":")
            section = {"": None, "context": "context", "sequence": "feature_lists"}[part]
            found = [(line if section is None else line[section])[name] for line in lines]
            if part == "sequence":
                found = [step for steps in found for step in steps]
            ((n_with, least, most),) = kinds.values()
            counts = [len(values) for values in found]
            assert (len(counts), min(counts), max(counts)) == (n_with, least, most)

    def test_head_prints_what_cat_prints_first(self, run: Run, sample: CorpusFile) -> None:
        n_records = min(2, sample.truth["records"])
        whole, head = run("cat", sample.path), run("head", "-n", 2, sample.path)

        assert titles(head.out) == titles(whole.out)[:n_records]
        assert whole.out[: len(head.out)] == head.out


def test_records_come_in_the_order_of_the_file(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b"%d" % i for i in range(3000)], "GZIP")

    lines = run("cat", "--json", path).out

    assert [json.loads(line)["text"].encode() for line in lines] == list(TFRecordReader(path))


CONTENT = {
    "example": "tf.train.Example",
    "sequence_example": "tf.train.SequenceExample",
    "elwc": "ExampleListWithContext",
    "tfevents": "TensorBoard event",
}


def info(run: Run, *arguments: object) -> dict[str, Any]:
    (line,) = run("info", "--json", *arguments).out
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.mark.parametrize("sample", corpus_files())
def test_the_corpus_is_as_tensorflow_found_it(run: Run, sample: CorpusFile) -> None:
    truth, found = sample.truth, info(run, sample.path)

    assert found["records"] == truth["records"]
    assert (found["min"], found["max"]) == (truth["min_len"], truth["max_len"])
    assert (found["compression"] or "NONE") == truth["compression"]
    assert found["content"] == [CONTENT[truth["kind"]]]
    assert found["file_bytes"] == sample.path.stat().st_size
    assert found["damage"] is None
    if truth["kind"] == "example":
        assert [row["name"] for row in found["features"]] == sorted(truth["keys"])


@pytest.mark.parametrize("sample", corpus_files(kind="example"))
def test_real_files_print_what_is_inferred(run: Run, sample: CorpusFile) -> None:
    done = run("schema", sample.path)

    assert done.status == 0
    expected = f"{summarize(sample.path)}\n\n{infer_schema(sample.path)}"
    assert done.out == expected.splitlines()


def test_json_is_a_sidecar(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d", map(flower, range(20)))

    (line,) = run("schema", "--json", path).out
    (tmp_path / "d.schema.json").write_text(line)

    assert Schema.from_json(line) == infer_schema(path)
    assert json.loads(line)["summary"] == summarize(path).describe()
    assert load(path)["label"].tolist() == [i % 3 for i in range(20)]


def test_json_of_sequences_is_a_sidecar_too(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d", [sequence(n) for n in range(1, 9)])

    (line,) = run("schema", "--json", path).out
    (tmp_path / "d.schema.json").write_text(line)

    assert SequenceSchema.from_json(line) == infer_schema(path)
    assert json.loads(line)["summary"] == summarize(path).describe()
    assert load(path)["context"]["id"].tolist() == [7] * 8
    assert run("verify", "--schema", tmp_path / "d.schema.json", path).status == 0
    assert run("schema", "--variable", "padded", path).status == 2


def test_a_sidecar_is_not_read(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d", [flower(0)] * 3)
    before = run("schema", path).out
    (tmp_path / "d.schema.json").write_text("{")

    assert run("schema", path).out == before


def test_what_is_found_is_printed_in_lines(run: Run, tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", map(flower, range(60))), write(tmp_path / "b", [flower(0)] * 60)

    done = run("diff", a, b)

    assert (done.status, done.err) == (1, [])
    assert done.out == str(compare(a, b)).splitlines()
    assert sum(line.startswith("petals ") for line in done.out) == 1


def test_json_is_the_description(run: Run, tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", map(sequence, range(9))), write(tmp_path / "b", [sequence(2)] * 9)

    done = run("diff", "--json", a, b)

    assert done.status == 1
    assert json.loads(done.out[0]) == json.loads(json.dumps(compare(a, b).describe()))
