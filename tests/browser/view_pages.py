"""Pages of files, as ``tfrecord view`` writes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tfrecord_lite.cli import main

__all__ = ["page_of"]


def page_of(paths: Iterable[Path], page: Path, *arguments: str) -> Path:
    status = main(["view", *map(str, paths), "-o", str(page), *arguments])
    assert page.is_file(), f"no page was written; status {status}"
    return page
