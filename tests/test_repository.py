"""The files around the package agree with each other: groups, hooks, workflows, the release."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.extras import EXTRAS, GROUPS

pytestmark = pytest.mark.every

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
NAME = PROJECT["project"]["name"]
USERS_EXTRAS = PROJECT["project"]["optional-dependencies"]
DEVELOPERS_GROUPS = PROJECT["dependency-groups"]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md")]


def requirements(group: str) -> list[str]:
    """Return all that a group installs, other groups included."""
    found = []
    for each in DEVELOPERS_GROUPS[group]:
        found += [each] if isinstance(each, str) else requirements(each["include-group"])
    return found


@pytest.mark.parametrize("group", DEVELOPERS_GROUPS)
def test_a_group_names_extras_and_groups_that_exist(group: str) -> None:
    own = [each for each in requirements(group) if re.match(rf"{NAME}\b", each)]
    extras = {name for each in own for name in re.findall(r"[\w-]+", each.removeprefix(NAME))}

    assert extras <= set(USERS_EXTRAS)


def test_what_tests_need_is_an_extra_or_a_group() -> None:
    assert set(EXTRAS) <= set(USERS_EXTRAS)
    assert set(GROUPS) <= set(DEVELOPERS_GROUPS)


def test_a_name_is_an_extra_or_a_group_not_both() -> None:
    assert set(USERS_EXTRAS) & set(DEVELOPERS_GROUPS) == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_groups_that_a_page_installs_exist(path: Path) -> None:
    named = re.findall(r"--group ([\w-]+)", path.read_text("utf-8"))

    assert set(named) <= set(DEVELOPERS_GROUPS)


def test_the_groups_that_nox_and_ci_install_exist() -> None:
    nox = re.findall(
        r"^ *install\(session, ([^)=]*)", (ROOT / "noxfile.py").read_text(), re.MULTILINE
    )
    named = {name for call in nox for name in re.findall(r'"([\w-]+)"', call)}
    ci = re.findall(
        r"^ *install \S+ \S+ ([\w -]+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE
    )

    assert "bare-test" in named
    assert "dev" in ci
    assert named | {name for line in ci for name in line.split()} <= set(DEVELOPERS_GROUPS)
