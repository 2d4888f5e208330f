"""Generated SequenceExamples: both give the same, or differ by a known rule.

3,000 cases; ``TFRECORD_PARITY_CASES`` asks for another number, ``TFRECORD_PARITY_SEED``
for other ones. The end of the run tells how they came out, with those of Examples.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.parity.answers import ask
from tests.parity.known_sequence_differences import judge
from tests.parity.parsing import bits
from tests.parity.rules import counted
from tests.parity.sequence_cases import Case, make_case
from tests.parity.sequence_parsing import SequenceParsing, in_one
from tests.parity.test_example_differential import with_objects
from tests.support.corpus import CorpusFile, corpus_files
from tfrecord_lite import TFRecordReader
from tfrecord_lite.example.sequence.parse import SequenceExampleParser
from tfrecord_lite.schema import RaggedFeature, VarLenFeature

if TYPE_CHECKING:
    from tests.parity.parsing import Parsing

N_CASES = int(os.environ.get("TFRECORD_PARITY_CASES", "3000"))
SEED = int(os.environ.get("TFRECORD_PARITY_SEED", "0"))
N_PARTS = 20
DTYPES = {"bytes": "string", "float": "float32", "int64": "int64"}


@pytest.fixture(name="both")
def both_fixture(parsing: Parsing) -> SequenceParsing:
    return SequenceParsing(parsing)


def case_of(number: int) -> Case:
    """Return a case by its number; the same every time."""
    return make_case(Random(f"{SEED}/sequence/{number}"))


@pytest.mark.timeout(max(600, N_CASES))
@pytest.mark.parametrize("part", range(N_PARTS))
def test_generated_cases_come_out_alike(both: SequenceParsing, part: int) -> None:
    for number in range(part, N_CASES, N_PARTS):
        case = case_of(number)
        with counted(f"case {number} of seed {SEED}", case) as found:
            found.update(judge(both, case))


def test_generated_cases_are_of_every_sort() -> None:
    cases = [case_of(number) for number in range(1000)]
    in_context = Counter(type(spec).__name__ for case in cases for spec in case.context.values())
    in_lists = Counter(type(spec).__name__ for case in cases for spec in case.lists.values())

    assert len(in_context) == len(in_lists) == 3
    assert min(*in_context.values(), *in_lists.values()) > 100


@pytest.mark.parametrize("part", range(5))
def test_columns_of_strings_hold_what_objects_do(part: int) -> None:
    for number in range(part, min(N_CASES, 500), 5):
        case = case_of(number)
        features = case.context, case.lists
        objects = ask(lambda: in_one(SequenceExampleParser(*features)(case.records)))  # noqa: B023
        columns = ask(
            lambda: in_one(SequenceExampleParser(*features, strings="BytesColumn")(case.records))  # noqa: B023
        )
        assert str(columns.error) == str(objects.error)
        if objects.error is None:
            for name, result in objects.value.items():
                assert bits(with_objects(columns.value[name])) == bits(result), (number, name)


@pytest.mark.parametrize("sample", corpus_files("sequence_example"))
def test_files_of_the_corpus_are_parsed_alike(both: SequenceParsing, sample: CorpusFile) -> None:
    records = list(TFRecordReader(sample.path))
    for make in (VarLenFeature, RaggedFeature):
        context: dict[str, Any] = {}
        lists: dict[str, Any] = {}
        for name, kinds in sample.truth["keys"].items():
            (kind,) = kinds
            part, key = name.split(":")
            (context if part == "context" else lists)[key] = make(DTYPES[kind])
        both.batch(records, context, lists)
        for record in records:
            both.single(record, context, lists)
