"""A release has its version's notes, and no other tag's."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
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
    [("1.2.0", "### Added\n\n- A thing."), ("1.1.0", "- Another."), ("1.2", ""), ("1x2.0", "")],
)
def test_notes_of_a_release_are_its_section_of_the_changelog(version: str, expected: str) -> None:
    program = runpy.run_path(str(ROOT / ".ci" / "release_notes.py"))
    assert program["notes"](CHANGELOG, version) == expected


@pytest.mark.parametrize("tag", ["v0.0.0", "0.1.0", "main"])
def test_a_tag_has_to_be_the_version(tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["release_notes.py", tag])
    with pytest.raises(SystemExit, match=f"^tag {tag}, but the package has version "):
        runpy.run_path(str(ROOT / ".ci" / "release_notes.py"), run_name="__main__")
