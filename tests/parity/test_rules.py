"""The rules as docs/reference/semantics.md has them, and the tests of them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest

# These hold all marks; importing them fills DEVIATIONS, whichever tests are selected.
from tests.parity import (
    rules,
    test_dataset_rules,
    test_decode_raw_rules,
    test_example_rules,
    test_messages,
    test_options,
    test_records,
    test_schema_errors,
    test_sequence_rules,
    test_streams,
    test_tensor_rules,
)
from tests.parity.rules import DEVIATIONS, RULES, counted, outcomes, summary

TESTED = (
    test_dataset_rules,
    test_decode_raw_rules,
    test_example_rules,
    test_messages,
    test_options,
    test_records,
    test_schema_errors,
    test_sequence_rules,
    test_streams,
    test_tensor_rules,
)
DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "semantics.md"
FAMILIES = {name[0] for name in RULES}


def test_every_deviation_is_in_a_table_of_the_docs_and_the_reverse() -> None:
    assert all(TESTED)
    rows = re.findall(r"^\| (\[.*?\) )\|", DOCS.read_text("utf-8"), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"\[(\w+)\]\(#", row)}

    assert {name for name in listed if name[0] in FAMILIES} == DEVIATIONS


def test_every_rule_is_in_the_docs() -> None:
    text = DOCS.read_text("utf-8")
    headings = re.findall(r"^#### (\w+)$", text, re.MULTILINE)
    targets = re.findall(r"^\((\w+)\)=$", text, re.MULTILINE)

    assert [name for name in headings if name[0] in FAMILIES] == list(RULES)
    assert [name.lower() for name in headings] == targets


def test_the_summary_names_what_is_missing() -> None:
    families = "F1-F4 R1-R10 C1-C8 O1-O9 P1-P7 W1-W21 E1-E8 X1-X8 S1-S5 V1-V2 Z1-Z6 G1-G8"
    families += " Q1-Q16 L1-L6 D1-D6 T1-T8 B1-B5"
    assert summary(set(RULES)) == f"parity: {len(RULES)} rules covered, 0 missing of {families}"
    assert summary(set(RULES) - {"R8", "O1"}).endswith(f"2 missing of {families}: R8, O1")


def test_generated_cases_are_counted_by_sort_and_disagreements_by_themselves() -> None:
    with mock.patch.object(rules, "OUTCOMES", Counter()):
        assert outcomes() == []
        with counted("one", 1) as found:
            found.update(["equal", "equal"])
        assert outcomes() == ["parity: 1 generated cases, 0 disagreements", "       2 equal"]
        with pytest.raises(AssertionError) as caught:
            disagree()
        assert caught.value.__notes__ == ["two: 2"]
        assert outcomes() == ["parity: 2 generated cases, 1 disagreements", "       2 equal"]


def disagree() -> None:
    with counted("two", 2) as found:
        found.update(["equal"])
        raise AssertionError
