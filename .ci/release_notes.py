"""Print what the changelog says of a version, for the page of its release.

    python .ci/release_notes.py v1.2.0

It fails unless the package has that version, and the changelog a dated section of it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def notes(changelog: str, version: str) -> str:
    """Return the section of a version, without its heading; an empty text if there is none."""
    heading = rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$"
    found = re.search(rf"{heading}\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def main(tag: str) -> str | None:
    """Print the notes of a tag; return what is wrong, if anything is."""
    package = (ROOT / "tfrecord_lite" / "__init__.py").read_text("utf-8")
    version = re.search(r'^__version__ = "(.+)"$', package, re.MULTILINE)
    if version is None or tag != f"v{version[1]}":
        return f"tag {tag}, but the package has version {version and version[1]}"
    text = notes((ROOT / "CHANGELOG.md").read_text("utf-8"), version[1])
    if not text:
        return f"CHANGELOG.md has no section '## {version[1]} - YYYY-MM-DD', or an empty one"
    print(text)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
