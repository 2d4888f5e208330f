"""The rules as docs/reference/semantics.md has them, and the tests of them."""

from __future__ import annotations

import re
from pathlib import Path

# These hold all marks; importing them fills DEVIATIONS, whichever tests are selected.
from tests.parity import (
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
from tests.parity.rules import DEVIATIONS, RULES

TESTED = (
    test_dataset_rules, test_decode_raw_rules, test_example_rules, test_messages, test_options,
    test_records, test_schema_errors, test_sequence_rules, test_streams, test_tensor_rules,
)  # fmt: skip
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
