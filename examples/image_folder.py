"""A folder of images to TFRecord shards, and back.

    python examples/image_folder.py pack   FOLDER SHARDS   # photos/ 'train@4.tfrecord'
    python examples/image_folder.py unpack SHARDS FOLDER   # 'train-*.tfrecord' photos-again/
    python examples/image_folder.py                        # both, with drawn images

The folder has a subfolder of images for each class, or a list ``labels.csv`` with the columns
``path`` and ``label``. Images are stored as they are, not encoded again. Missing files, and files
that are not images, are reported and skipped. Needs Pillow, and pyarrow for a list:
``pip install '.[arrow,image]'``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from tfrecord_lite import TFRecordError
from tfrecord_lite.apps.images import ImageReport, encode_image, pack_images, unpack_images

LIST = "labels.csv"


def pack(folder: Path, shards: str) -> None:
    """Write the images to shards, in their order."""
    listed = folder / LIST
    source = listed if listed.is_file() else folder
    report = pack_images(source, shards, on_error="skip", shuffle=False)
    show("packed", report, shards)


def unpack(shards: str, folder: Path) -> None:
    """Write the images in shards to a folder per class."""
    show("unpacked", unpack_images(shards, folder, on_error="skip"), str(folder))


def show(verb: str, report: ImageReport, target: str) -> None:
    """Print what was written, and what was skipped."""
    for path, detail in report.problems:
        print(f"skipped {path}: {detail}", file=sys.stderr)
    print(f"{verb} {report.num_images} images of {len(report.classes)} classes into {target}")
    print(f"skipped {len(report.problems) or 'none'}")


def draw(folder: Path) -> None:
    """Draw six images; list them with a missing file, and one that is not an image."""
    folder.mkdir()
    lines = ["path,label", "absent.png,square", "broken.jpeg,disc"]
    y, x = np.mgrid[:32, :32] - 16
    for size in (6, 9, 12):
        for label, is_inside in (
            ("square", np.maximum(abs(x), abs(y)) < size),
            ("disc", np.hypot(x, y) < size),
        ):
            name = f"{label}{size}.png"
            (folder / name).write_bytes(encode_image(np.where(is_inside, 255, 0).astype(np.uint8)))
            lines.append(f"{name},{label}")
    (folder / "broken.jpeg").write_bytes(b"not an image")
    (folder / LIST).write_text("\n".join(lines) + "\n", encoding="utf-8")


def demonstrate(folder: Path) -> None:
    """Pack drawn images, unpack them, and compare."""
    draw(folder / "drawn")
    pack(folder / "drawn", str(folder / "images@2.tfrecord"))
    unpack(str(folder / "images-*.tfrecord"), folder / "again")
    for path in (folder / "again").glob("*/*"):
        if path.read_bytes() != (folder / "drawn" / path.name).read_bytes():
            sys.exit(f"{path.name} has changed.")
    print("every image is unchanged, byte for byte")


def main() -> None:
    """Pack, unpack, or both with drawn images."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    verbs = parser.add_subparsers(dest="verb")
    packing = verbs.add_parser("pack", help="a folder of images to shards")
    packing.add_argument("folder", type=Path, help=f"with a subfolder per class, or {LIST}")
    packing.add_argument("shards", help="such as train@4.tfrecord")
    unpacking = verbs.add_parser("unpack", help="shards to a folder of images")
    unpacking.add_argument("shards", help="a file or pattern")
    unpacking.add_argument("folder", type=Path)
    given = parser.parse_args()
    try:
        if given.verb == "pack":
            pack(given.folder, given.shards)
        elif given.verb == "unpack":
            unpack(given.shards, given.folder)
        else:
            with tempfile.TemporaryDirectory() as folder:
                demonstrate(Path(folder))
    except (OSError, ValueError, ImportError, TFRecordError) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
