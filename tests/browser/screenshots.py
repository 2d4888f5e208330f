"""Make the pictures of the viewer's pages in ``docs/images/``: ``python -m tests.browser.screenshots [KIND...]``."""

import sys
import tempfile
from contextlib import chdir
from pathlib import Path

import numpy as np
from PIL import Image

from tests.apps.viewer.view_files import KINDS
from tests.browser.chromium import launched, missing, watched
from tests.browser.view_pages import page_of
from tests.support.corpus import ROOT
from tests.support.drawings import encoded, landscape
from tfrecord_lite import save


def readme_files(folder: Path) -> list[Path]:
    """Write a few images with what is in them, small enough for one screen."""
    images, things = zip(*(landscape(number) for number in range(24)), strict=True)
    columns = {
        "image": [encoded(image, "JPEG") for image in images],
        "name": [f"landscape {number}" for number in range(24)],
        "objects": [[thing.name for thing in each] for each in things],
        "brightness": np.array([np.asarray(each).mean() for each in images], np.float32),
    }
    save(folder / "landscapes.tfrecord", columns)
    return [folder / "landscapes.tfrecord"]


PICTURES = {
    "readme": (readme_files, "light", 912),
    "images": (KINDS["images"], "light", 1800),
    "table": (KINDS["table"], "dark", 1200),
}
"""Of each: what it shows, in which colours, and how high it is."""


def main() -> None:
    if reason := missing():
        sys.exit(reason)
    with launched() as browser, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in sys.argv[1:] or PICTURES:
            write, scheme, height = PICTURES[kind]
            paths = write(folder)
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
