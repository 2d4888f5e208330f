"""Make pictures of the viewer's pages, to be looked at.

    python -m tests.browser.screenshots FOLDER [KIND ...]
    python -m tests.browser.screenshots --docs

One per kind of data in light and dark, at 1280 and at 400 pixels; with ``--docs`` the two pictures in
``docs/images/``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from tests.support.chromium import launched, missing, watched
from tests.support.corpus import ROOT
from tests.support.view_files import KINDS
from tests.support.view_pages import page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTHS = (1280, 400)
MAX_HEIGHT = 6000  # of a picture, in pixels
DOCS = ROOT / "docs" / "images"


def shoot(browser: Browser, page: Path, picture: Path, width: int, scheme: str) -> None:
    """Save a picture of a whole page, unless it is very long."""
    with watched(browser, page, width, color_scheme=scheme) as one:
        height = one.page.evaluate("document.documentElement.scrollHeight")
        one.page.set_viewport_size({"width": width, "height": min(height, MAX_HEIGHT)})
        one.page.screenshot(path=picture)


def all_pictures(browser: Browser, folder: Path, kinds: list[str]) -> None:
    for kind in kinds:
        data = folder / "files" / kind
        data.mkdir(parents=True, exist_ok=True)
        page = page_of(KINDS[kind](data), folder / f"{kind}.html")
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                shoot(browser, page, folder / f"{kind}-{width}-{scheme}.png", width, scheme)


def docs_pictures(browser: Browser, folder: Path) -> None:
    """Make the pictures of the docs: as few colours as do, for a small file."""
    for kind, scheme, height in ("images", "light", 1800), ("table", "dark", 1200):
        paths = KINDS[kind](folder)
        with chdir(folder):  # so that the page shows no path of ours
            page = page_of([Path(path.name) for path in paths], folder / f"{kind}.html")
        picture = folder / f"{kind}.png"
        with watched(browser, page, color_scheme=scheme) as one:
            one.page.set_viewport_size({"width": 1280, "height": height})
            one.page.screenshot(path=picture)
        with Image.open(picture) as image:
            few = image.convert("RGB").quantize(192, Image.Quantize.MEDIANCUT)
        few.save(DOCS / f"view-{kind}-{scheme}.png", optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="new files are written there")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="of data; by default all")
    parser.add_argument("--docs", action="store_true", help="only the pictures of the docs")
    arguments = parser.parse_args()
    if reason := missing():
        sys.exit(reason)
    with launched() as browser, tempfile.TemporaryDirectory() as folder:
        if arguments.docs:
            DOCS.mkdir(exist_ok=True)
            docs_pictures(browser, Path(folder))
        elif arguments.folder:
            all_pictures(browser, arguments.folder.resolve(), arguments.kinds or list(KINDS))
        else:
            parser.error("a folder, or --docs")


if __name__ == "__main__":
    main()
