"""The maps of the package name what is there: ARCHITECTURE.md its modules, and each package's docstring its own."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tfrecord_lite"
PACKAGES = [path.parent for path in sorted(PACKAGE.rglob("__init__.py")) if path.parent != PACKAGE]


def modules_of(package: Path) -> set[str]:
    names = {path.stem for path in package.glob("*.py")}
    names |= {path.parent.name for path in package.glob("*/__init__.py")}
    return {name for name in names if not name.startswith("_") and not name.endswith("_pb2")}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_package_names_its_modules(package: Path) -> None:
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or ""
    assert modules_of(package) <= set(re.findall(r"\w+", docstring))
    drawn = re.findall(r"^    ([a-z]\w+)/?  ", docstring, re.MULTILINE)
    assert set(drawn) <= {*modules_of(package), "read", "write"}


def test_the_map_names_modules_that_exist() -> None:
    names = re.findall(r"`([a-z][\w/]*\.py)`", (ROOT / "ARCHITECTURE.md").read_text("utf-8"))
    assert len(names) > 100
    for name in names:
        assert (ROOT / name).exists() or any(PACKAGE.glob(f"**/{name}")), name
