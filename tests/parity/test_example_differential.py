"""Generated features and messages: both give the same, or differ by a known rule.

3,000 cases of Examples and as many of SequenceExamples; ``TFRECORD_PARITY_CASES`` asks for another
number, ``TFRECORD_PARITY_SEED`` for other ones.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.parity import cases, sequence_cases
from tests.parity.answers import ask
from tests.parity.known_differences import judge
from tests.parity.parsing import Parsing, bits, in_one
from tests.parity.rules import noted
from tests.support.corpus import CorpusFile, corpus_files
from tfrecord_lite import TFRecordReader
from tfrecord_lite.columns import BytesColumn, RaggedTensor
from tfrecord_lite.example.parse import ExampleParser, parse_example
from tfrecord_lite.example.sequence.parse import SequenceExampleParser
from tfrecord_lite.schema import FixedLenFeature, RaggedFeature, VarLenFeature

if TYPE_CHECKING:
    from collections.abc import Iterator

N_CASES = int(os.environ.get("TFRECORD_PARITY_CASES", "3000"))
SEED = int(os.environ.get("TFRECORD_PARITY_SEED", "0"))
N_PARTS = 30
DTYPES = {"bytes": "string", "float": "float32", "int64": "int64"}


def case_of(number: int) -> cases.Case:
    """Return a case by its number; the same every time."""
    return cases.make_case(Random(f"{SEED}/{number}"))


def sequence_case_of(number: int) -> sequence_cases.Case:
    """Return a case of SequenceExamples by its number."""
    return sequence_cases.make_case(Random(f"{SEED}/sequence/{number}"))


@pytest.mark.timeout(max(600, N_CASES))
@pytest.mark.parametrize("part", range(N_PARTS))
@pytest.mark.parametrize("kind", ["examples", "sequences"])
def test_generated_cases_come_out_alike(
    parsing: Parsing, sequences: Parsing, kind: str, part: int
) -> None:
    asked, make = (parsing, case_of) if kind == "examples" else (sequences, sequence_case_of)
    for number in range(part, N_CASES, N_PARTS):
        case: Any = make(number)
        with noted(f"case {number} of {kind}, seed {SEED}", case):
            judge(asked, case)


def test_generated_cases_are_of_every_sort() -> None:
    some = [case_of(number) for number in range(1000)]
    kinds = Counter(type(spec).__name__ for case in some for spec in case.features.values())
    sizes = Counter(min(len(case.records), 32) for case in some)
    assert len(kinds) == 5
    assert min(kinds.values()) > 100
    assert min(sizes[0], sizes[1], sizes[32]) > 50
    assert len(cases.FAULTS) == len(set(cases.FAULTS))

    others = [sequence_case_of(number) for number in range(1000)]
    for part in ("context", "lists"):
        kinds = Counter(type(spec).__name__ for c in others for spec in getattr(c, part).values())
        assert len(kinds) == 3
        assert min(kinds.values()) > 100


@pytest.mark.parametrize("part", range(10))
def test_columns_of_strings_hold_what_objects_do(part: int) -> None:
    for number in range(part, min(N_CASES, 1000), 10):
        case = case_of(number)
        assert_same_strings(number, lambda **to: ExampleParser(case.features, **to)(case.records))  # noqa: B023
    for number in range(part, min(N_CASES, 500), 10):
        other = sequence_case_of(number)
        features = other.context, other.lists
        assert_same_strings(
            number,
            lambda **to: in_one(SequenceExampleParser(*features, **to)(other.records)),  # noqa: B023
        )


def assert_same_strings(number: int, parse: Any) -> None:
    objects, columns = ask(parse), ask(parse, strings="BytesColumn")
    assert type(columns.error) is type(objects.error)
    assert str(columns.error) == str(objects.error)
    if objects.error is None:
        for name, result in objects.value.items():
            assert bits(with_objects(columns.value[name])) == bits(result), (number, name)


def with_objects(result: Any) -> Any:
    """Return a result with its columns of strings made arrays of objects."""
    if isinstance(result, BytesColumn):
        return result.to_numpy()
    if isinstance(result, RaggedTensor):
        inner = with_objects(result.values)
        return RaggedTensor(inner, result.row_splits, result.uniform_row_length)
    return result


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
