"""The rules as docs/reference/semantics.md has them, and the tests of them."""

import importlib
import re
from pathlib import Path

from tests.parity.rules import DEVIATIONS, RULES

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs" / "reference" / "semantics.md"
FAMILIES = {name[0] for name in RULES}


def test_every_deviation_is_in_a_table_of_the_docs_and_the_reverse() -> None:
    for path in HERE.glob(
        "test_*.py"
    ):  # importing them fills DEVIATIONS, whichever tests are selected
        if "deviation" in path.read_text("utf-8"):
            importlib.import_module(f"tests.parity.{path.stem}")
    rows = re.findall(r"^\| (\[.*?\) )\|", DOCS.read_text("utf-8"), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"\[(\w+)\]\(#", row)}
    assert {name for name in listed if name[0] in FAMILIES} == DEVIATIONS


def test_every_rule_is_in_the_docs() -> None:
    headings = re.findall(r"^#### (\w+)$", DOCS.read_text("utf-8"), re.MULTILINE)
    assert [name for name in headings if name[0] in FAMILIES] == list(RULES)
