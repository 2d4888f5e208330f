"""The files around the package agree with each other: groups, hooks, workflows, the release."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.every

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DEVELOPERS_GROUPS = PROJECT["dependency-groups"]


def requirements(group: str) -> list[str]:
    """Return all that a group installs, other groups included."""
    found = []
    for each in DEVELOPERS_GROUPS[group]:
        found += [each] if isinstance(each, str) else requirements(each["include-group"])
    return found


def test_what_to_install_is_named_by_what_is_on_an_index() -> None:
    """The package itself is on none: its extras cannot be installed by its name."""
    guides = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "tfrecord_lite").rglob("*.py")]

    assert len(guides) > 200
    assert [path for path in guides if "tfrecord-numpy[" in path.read_text("utf-8")] == []


# ------------------------------------------------------------------------------------- hooks


@pytest.mark.needs("yaml")
def test_hooks_install_what_the_groups_do() -> None:
    import yaml

    settings = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    hooks = [hook for repository in settings["repos"] for hook in repository["hooks"]]
    installed = {each for hook in hooks for each in hook.get("additional_dependencies", [])}

    assert {hook["id"] for hook in hooks} >= {"ruff-check", "ruff-format", "lint-imports", "mypy"}
    assert installed
    assert installed <= {*requirements("lint"), *requirements("workflows")}


# --------------------------------------------------------------------------------- workflows


@pytest.mark.needs("yaml")
def test_each_python_that_the_package_names_is_tested() -> None:
    import yaml

    classifiers = "\n".join(PROJECT["project"]["classifiers"])
    tests = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))

    assert set(re.findall(r":: (3\.\d+)", classifiers)) <= set(
        tests["jobs"]["tests"]["strategy"]["matrix"]["python"]
    )


# ----------------------------------------------------------------------------------- release

CHANGELOG = """# Changelog

## Unreleased

## 1.2.0 - 2026-12-31

### Added

- A thing.

## 1.1.0 - 2026-11-30

- Another.

## 1.0.0 - 2026-10-31
"""


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.2.0", "### Added\n\n- A thing."),
        ("1.1.0", "- Another."),
        ("1.0.0", ""),
        ("1.2", ""),
        ("1x2.0", ""),
        ("Unreleased", ""),
    ],
)
def test_the_notes_of_a_release_are_its_section_of_the_changelog(
    version: str, expected: str
) -> None:
    program = runpy.run_path(str(ROOT / ".ci" / "release_notes.py"))

    assert program["notes"](CHANGELOG, version) == expected


@pytest.mark.parametrize("tag", ["v0.0.0", "0.1.0", "main"])
def test_a_tag_that_is_not_the_version_is_not_released(
    tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["release_notes.py", tag])

    with pytest.raises(SystemExit, match=f"^tag {tag}, but the package has version "):
        runpy.run_path(str(ROOT / ".ci" / "release_notes.py"), run_name="__main__")
