"""The structure is what the documents say: layers, package heads, and what no module does."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import tfrecord_lite

pytestmark = pytest.mark.every

PACKAGE = Path(tfrecord_lite.__file__).parent
ROOT = Path(__file__).resolve().parents[1]
PACKAGES = sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)


def contracts() -> list[dict[str, list[str]]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found: list[dict[str, list[str]]] = settings["tool"]["importlinter"]["contracts"]
    return found


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def test_the_layers_in_the_architecture_are_those_that_import_linter_holds() -> None:
    (layers,) = (contract["layers"] for contract in contracts() if "layers" in contract)
    text = (ROOT / "ARCHITECTURE.md").read_text()
    drawn = text.split("```text\n", 1)[1].split("```", 1)[0].splitlines()

    assert [re.split(r"\s{3,}", line)[0].split() for line in drawn] == [
        re.findall(r"\w+", line) for line in layers
    ]


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_the_head_of_a_package_names_its_modules(folder: Path) -> None:
    head = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.endswith("_pb2")}
    folders = {path.parent.name for path in folder.glob("*/__init__.py")}

    assert {name for name in modules | folders if not name.startswith("_")} <= words(head)
