"""Generated features and messages: both give the same, or differ by a known rule."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from tests.parity.known_differences import judge
from tests.parity.parsing import Parsing, bits
from tests.support.cases import Case, cases
from tests.support.corpus import CorpusFile, corpus_files
from tfrecord_lite import TFRecordReader
from tfrecord_lite.example.parse import parse_example
from tfrecord_lite.schema import FixedLenFeature, RaggedFeature, VarLenFeature

N_CASES = int(os.environ.get("TFRECORD_PARITY_CASES", "3000"))
DTYPES = {"bytes": "string", "float": "float32", "int64": "int64"}


@pytest.mark.timeout(max(600, N_CASES))
@settings(max_examples=N_CASES)
@given(case=cases())
def test_generated_examples_come_out_alike(parsing: Parsing, case: Case) -> None:
    judge(parsing, case)


@pytest.mark.timeout(max(600, N_CASES))
@settings(max_examples=N_CASES)
@given(case=cases(is_sequence=True))
def test_generated_sequences_come_out_alike(sequences: Parsing, case: Case) -> None:
    judge(sequences, case)


def features_of(truth: dict[str, Any], n_records: int) -> Iterator[dict[str, Any]]:
    """Return features for a file, by the kinds and numbers of values of its keys."""
    var, ragged, dense = {}, {}, {}
    for key, kinds in truth["keys"].items():
        for kind, (n_found, fewest, most) in kinds.items():
            var[key] = VarLenFeature(DTYPES[kind])
            ragged[key] = RaggedFeature(DTYPES[kind])
            if fewest == most and n_found == n_records and len(kinds) == 1:
                dense[key] = FixedLenFeature([fewest], DTYPES[kind])
    yield var
    yield ragged
    if dense:
        yield dense


@pytest.mark.parametrize("sample", corpus_files())
def test_files_of_the_corpus_are_parsed_alike(parsing: Parsing, sample: CorpusFile) -> None:
    if sample.truth["kind"] != "example":
        pytest.skip("not a file of Examples")
    records = list(TFRecordReader(sample.path))
    assert len(records) == sample.truth["records"]
    for features in features_of(sample.truth, len(records)):
        batched = parsing.batch(records, features)
        for record in records[:20]:
            parsing.single(record, features)
        for block in TFRecordReader(sample.path).blocks(len(records)):
            found = parse_example(block, features)
            assert {n: bits(r) for n, r in found.items()} == {
                n: bits(r) for n, r in batched.items()
            }


@pytest.mark.parametrize("sample", corpus_files("sequence_example"))
def test_sequences_of_the_corpus_are_parsed_alike(sequences: Parsing, sample: CorpusFile) -> None:
    records = list(TFRecordReader(sample.path))
    for make in (VarLenFeature, RaggedFeature):
        parts: dict[str, dict[str, Any]] = {"context": {}, "list": {}}
        for name, (kind,) in sample.truth["keys"].items():
            part, key = name.split(":")
            parts["context" if part == "context" else "list"][key] = make(DTYPES[kind])
        sequences.batch(records, *parts.values())
        for record in records:
            sequences.single(record, *parts.values())
