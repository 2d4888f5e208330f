"""``tfrecord schema``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.samples import damage, flower, ranking, sequence, write
from tests.support.corpus import corpus_files
from tests.support.untyped import load
from tfrecord_lite import Schema, SequenceSchema, encode_example, infer_schema, summarize

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done
    from tests.support.corpus import CorpusFile

    Run = Callable[..., Done]


@pytest.mark.parametrize("sample", corpus_files(kind="example"))
def test_real_files_print_what_is_inferred(run: Run, sample: CorpusFile) -> None:
    done = run("schema", sample.path)

    assert done.status == 0
    expected = f"{summarize(sample.path)}\n\n{infer_schema(sample.path)}"
    assert done.out == expected.splitlines()


def test_files_are_one_data_set(run: Run, tmp_path: Path) -> None:
    rows = [{"a": i, "b": [i] * (i % 3)} for i in range(20)]
    write(tmp_path / "0", map(encode_example, rows[:10]))
    write(tmp_path / "1", map(encode_example, rows[10:]), "GZIP")

    done = run("schema", tmp_path / "*")

    assert done.out[0] == "20 records, 2 features"
    assert done.out[:5] == str(summarize(list(map(encode_example, rows)))).splitlines()[:5]


def test_json_is_a_sidecar(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d", map(flower, range(20)))

    (line,) = run("schema", "--json", path).out
    (tmp_path / "d.schema.json").write_text(line)

    assert Schema.from_json(line) == infer_schema(path)
    assert json.loads(line)["summary"] == summarize(path).describe()
    assert load(path)["label"].tolist() == [i % 3 for i in range(20)]


def test_sequences_print_their_contexts_and_lists(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d", [sequence(n) for n in range(1, 9)])

    done = run("schema", path)

    assert done.status == 0
    assert done.out == f"{summarize(path)}\n\n{infer_schema(path)}".splitlines()
    assert {"context", "feature lists"} <= set(done.out)


def test_json_of_sequences_is_a_sidecar_too(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d", [sequence(n) for n in range(1, 9)])

    (line,) = run("schema", "--json", path).out
    (tmp_path / "d.schema.json").write_text(line)

    assert SequenceSchema.from_json(line) == infer_schema(path)
    assert json.loads(line)["summary"] == summarize(path).describe()
    assert load(path)["context"]["id"].tolist() == [7] * 8
    assert run("verify", "--schema", tmp_path / "d.schema.json", path).status == 0
    assert run("schema", "--variable", "padded", path).status == 2


def test_a_sample_and_the_kind_of_feature_may_be_asked_for(run: Run, tmp_path: Path) -> None:
    rows = [{"a": [1] * (i // 15 + 1)} for i in range(30)]
    path = write(tmp_path / "d", map(encode_example, rows))

    assert "FixedLenFeature" in run("schema", "--max-records", 15, path).out[-1]
    assert run("schema", "--max-records", 15, path, path).out[0] == "15 records, 1 feature"
    assert "VarLenFeature" in run("schema", "--variable", "varlen", path).out[-1]
    assert run("schema", "--max-records", 0, path).status == 2


def test_a_damaged_file_is_looked_at_as_far_as_it_goes(run: Run, tmp_path: Path) -> None:
    size = len(flower(0)) + 16
    bad = damage(write(tmp_path / "bad", [flower(0)] * 5), 2 * size + 100)
    good = write(tmp_path / "good", [flower(0)] * 3)

    done = run("schema", bad, good)

    assert done.status == 1
    assert done.out[0] == "5 records, 4 features"
    assert str(bad) in done.err[0]


@pytest.mark.parametrize(
    "records",
    [
        [flower(0)] * 9 + [sequence(2)],
        [ranking(2)],
        [encode_example({"a": 1}), encode_example({"a": 0.5})],
        [b""],
        [],
        [b"\xff\xff"],
    ],
)
def test_what_has_no_schema_is_an_error(run: Run, tmp_path: Path, records: list[bytes]) -> None:
    path = write(tmp_path / "d", records)

    done = run("schema", path)

    assert done.status == 2
    assert len(done.err) == 1


def test_a_missing_file_is_an_error(run: Run, tmp_path: Path) -> None:
    done = run("schema", tmp_path / "none")

    assert done.status == 2
    assert done.out == []
    assert "none" in done.err[0]


def test_a_sidecar_is_not_read(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d", [flower(0)] * 3)
    before = run("schema", path).out
    (tmp_path / "d.schema.json").write_text("{")

    assert run("schema", path).out == before
