"""``tfrecord info``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.samples import write
from tests.support.corpus import CorpusFile, corpus_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

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


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB", "BZ2"])
def test_sizes_and_compression(run: Run, tmp_path: Path, compression: str) -> None:
    sizes = [7, 1, 5, 900, 3, 8]
    found = info(run, write(tmp_path / "a", [b"x" * size for size in sizes], compression))

    assert found["records"] == 6
    assert found["record_bytes"] == sum(sizes)
    assert (found["min"], found["median"], found["max"]) == (1, 5, 900)
    assert found["compression"] == compression
