"""The files around the package agree with each other: groups, hooks, workflows, the release."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.extras import EXTRAS, GROUPS

pytestmark = pytest.mark.every

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
USERS_EXTRAS = PROJECT["project"]["optional-dependencies"]
DEVELOPERS_GROUPS = PROJECT["dependency-groups"]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md")]


def requirements(group: str) -> list[str]:
    """Return all that a group installs, other groups included."""
    found = []
    for each in DEVELOPERS_GROUPS[group]:
        found += [each] if isinstance(each, str) else requirements(each["include-group"])
    return found


def test_what_tests_need_is_an_extra_or_a_group() -> None:
    assert set(EXTRAS) <= set(USERS_EXTRAS)
    assert set(GROUPS) <= set(DEVELOPERS_GROUPS)


def test_a_name_is_an_extra_or_a_group_not_both() -> None:
    assert set(USERS_EXTRAS) & set(DEVELOPERS_GROUPS) == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_groups_that_a_page_installs_exist(path: Path) -> None:
    named = re.findall(r"--group ([\w-]+)", path.read_text("utf-8"))

    assert set(named) <= set(DEVELOPERS_GROUPS)


def test_each_page_that_ci_runs_by_its_name_exists_once() -> None:
    ci = re.findall(r"\$page\[(.+?)\]", (ROOT / ".ci" / "run").read_text())
    nox = re.findall(r"\{PAGE\}\[(.+?)\]", (ROOT / "noxfile.py").read_text())

    assert set(ci) == set(nox)
    assert [name for name in ci if len(list((ROOT / "docs").rglob(name))) != 1] == []


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

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SESSIONS = re.findall(
    r"^@nox\.session.*\n(?:@.*\n)*def (\w+)", (ROOT / "noxfile.py").read_text(), re.MULTILINE
)


@pytest.mark.needs("yaml")
def test_each_python_that_the_package_names_is_tested() -> None:
    import yaml

    classifiers = "\n".join(PROJECT["project"]["classifiers"])
    tests = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))

    assert set(re.findall(r":: (3\.\d+)", classifiers)) <= set(
        tests["jobs"]["tests"]["strategy"]["matrix"]["python"]
    )


@pytest.mark.parametrize(
    "path", [ROOT / "CONTRIBUTING.md", ROOT / "RELEASING.md", *WORKFLOWS], ids=str
)
def test_pages_and_workflows_name_sessions_of_nox_that_exist(path: Path) -> None:
    named = re.findall(r"nox -s (\w+)", path.read_text("utf-8"))

    assert set(named) <= set(SESSIONS)


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
