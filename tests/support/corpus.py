"""The sample corpus: real TFRecord files, and what TensorFlow reads from them.

The corpus is not part of this repository. It is looked for in ``../shared/corpus``,
seen from the project's root, or where ``TFRECORD_CORPUS`` points. Where it is
missing, tests that need it are skipped; where it was asked for by the variable,
or is there but empty, that is an error.

``TRUTH.jsonl`` in it has one JSON object a file: ``file``, ``kind``,
``compression``, ``records``, ``min_len``, ``max_len``, ``stream_sha256`` (over each
record's length as 8 bytes little-endian, then the record), and more.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

ROOT = Path(__file__).resolve().parents[2]
ABSENT = "no sample corpus: ../shared/corpus does not exist and TFRECORD_CORPUS is not set"


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One file of the corpus, and what is known about it."""

    path: Path
    truth: dict[str, Any]


def corpus_path() -> Path | None:
    """Return the corpus's folder; None if it is missing."""
    asked = os.environ.get("TFRECORD_CORPUS")
    folder = Path(asked) if asked else ROOT.parent / "shared" / "corpus"
    if (folder / "TRUTH.jsonl").is_file():
        return folder
    if asked:
        message = f"TFRECORD_CORPUS={asked} holds no TRUTH.jsonl"
        raise FileNotFoundError(message)
    return None


def corpus_files(kind: str | None = None) -> list[ParameterSet]:
    """Return the files as parameters: ``@pytest.mark.parametrize("sample", corpus_files())``.

    With `kind`, only those of one: "example", "sequence_example", "elwc", "tfevents".
    """
    folder = corpus_path()
    if folder is None:
        return [pytest.param(None, id="absent", marks=pytest.mark.skip(reason=ABSENT))]
    lines = (folder / "TRUTH.jsonl").read_text("utf-8").splitlines()
    truths = [json.loads(line) for line in lines if line]
    truths = [truth for truth in truths if kind in (None, truth["kind"])]
    if not truths:
        message = f"{folder / 'TRUTH.jsonl'} is empty"
        raise ValueError(message)
    return [pytest.param(CorpusFile(folder / t["file"], t), id=t["file"]) for t in truths]
