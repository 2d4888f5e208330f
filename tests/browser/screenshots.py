"""Make the two pictures of the viewer's pages in ``docs/images/``: ``python -m tests.browser.screenshots``."""

from __future__ import annotations

import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from PIL import Image

from tests.support.chromium import launched, missing, watched
from tests.support.corpus import ROOT
from tests.support.view_files import KINDS
from tests.support.view_pages import page_of


def main() -> None:
    if reason := missing():
        sys.exit(reason)
    with launched() as browser, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, scheme, height in ("images", "light", 1800), ("table", "dark", 1200):
            paths = KINDS[kind](folder)
            with chdir(folder):  # so that the page shows no path of ours
                page = page_of([Path(path.name) for path in paths], folder / f"{kind}.html")
            picture = folder / f"{kind}.png"
            with watched(browser, page, color_scheme=scheme) as one:
                one.page.set_viewport_size({"width": 1280, "height": height})
                one.page.screenshot(path=picture)
            with Image.open(picture) as image:  # as few colours as do, for a small file
                few = image.convert("RGB").quantize(192, Image.Quantize.MEDIANCUT)
            few.save(ROOT / "docs" / "images" / f"view-{kind}-{scheme}.png", optimize=True)


if __name__ == "__main__":
    main()
