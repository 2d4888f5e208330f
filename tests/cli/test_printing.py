"""``tfrecord head`` and ``tfrecord cat``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.samples import (
    write,
)
from tests.support.corpus import CorpusFile, corpus_files
from tfrecord_lite import TFRecordReader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

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
