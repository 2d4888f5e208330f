"""The maps of the package name what is there: ARCHITECTURE.md its modules, and each package's docstring its own."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tfrecord_lite"
INITS = sorted(PACKAGE.glob("*/**/__init__.py"))


@pytest.mark.parametrize("init", INITS, ids=lambda path: path.parent.name)
def test_a_package_names_its_modules(init: Path) -> None:
    docstring = ast.get_docstring(ast.parse(init.read_text("utf-8"))) or ""
    names = {path.stem for path in init.parent.glob("*.py")}
    names |= {path.parent.name for path in init.parent.glob("*/__init__.py")}
    names = {name for name in names if not re.match("_|.*_pb2", name)}
    assert names <= set(re.findall(r"\w+", docstring))
    drawn = set(re.findall(r"^    ([a-z]\w+)/?  ", docstring, re.MULTILINE))
    assert drawn <= {*names, "read", "write"}


def test_the_map_names_modules_that_exist() -> None:
    names = re.findall(r"`([a-z][\w/]*\.py)`", (ROOT / "ARCHITECTURE.md").read_text("utf-8"))
    assert len(names) > 100
    for name in names:
        assert (ROOT / name).exists() or any(PACKAGE.glob(f"**/{name}")), name
