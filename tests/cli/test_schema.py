"""``tfrecord schema``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.samples import flower, sequence, write
from tests.support.corpus import corpus_files
from tests.support.untyped import load
from tfrecord_lite import Schema, SequenceSchema, infer_schema, summarize

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
