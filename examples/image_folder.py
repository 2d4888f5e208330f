"""A folder of images to TFRecord shards, and back.

    python examples/image_folder.py pack   FOLDER SHARDS   # photos/ 'train@4.tfrecord'
    python examples/image_folder.py unpack SHARDS FOLDER   # 'train-*.tfrecord' photos-again/
    python examples/image_folder.py                        # both, with drawn images

The folder has a subfolder of images for each class, or a list ``labels.csv`` of lines
``file,label``. Images are stored as they are, not encoded again. Missing files, and files that
are not images, are reported and skipped. Needs the extra ``image``: ``pip install '.[image]'``.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tfrecord_lite import (
    FixedLenFeature,
    InvalidArgumentError,
    ShardedTFRecordWriter,
    TFRecordDataset,
    TFRecordError,
    encode_image,
    image_row,
)

LIST = "labels.csv"
SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp"}


def entries(folder: Path) -> list[tuple[Path, str]]:
    """List the images of a folder, each with the name of its class."""
    if (folder / LIST).is_file():
        with (folder / LIST).open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
        bad = next((row for row in rows if len(row) != 2), None)
        if bad is not None:
            raise ValueError(f"{folder / LIST}: expected lines of file,label; found {bad}")
        return [(folder / name, label) for name, label in rows]
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder")
    found = sorted(path for path in folder.glob("*/*") if path.suffix.lower() in SUFFIXES)
    return [(path, path.parent.name) for path in found]


def pack(folder: Path, shards: str) -> int:
    """Write the images to shards; return the number of skipped ones."""
    images = entries(folder)
    if not images:
        raise ValueError(f"{folder} has neither {LIST} nor folders of images")
    classes = sorted({label for _, label in images})
    n_skipped = 0
    with ShardedTFRecordWriter(shards) as writer:
        for path, label in images:
            try:
                row: dict[str, Any] = image_row(path.read_bytes(), classes.index(label))
            except (OSError, InvalidArgumentError) as error:
                print(f"skipped {path}: {error}", file=sys.stderr)
                n_skipped += 1
                continue
            row |= {"image/filename": path.name, "image/class/text": label}
            writer.write_example(row)
    print(f"packed {len(images) - n_skipped} images of {len(classes)} classes into {shards}")
    print(f"skipped {n_skipped}" if n_skipped else "skipped none")
    return n_skipped


def unpack(shards: str, folder: Path) -> int:
    """Write the images in shards to a folder per class; return their number."""
    names = ("image/encoded", "image/filename", "image/class/text")
    features = {name: FixedLenFeature([], bytes) for name in names}
    n_images = 0
    for batch in TFRecordDataset(shards).batch(64).parse_example(features):
        for content, name, label in zip(*(batch[key] for key in names), strict=True):
            target = folder / plain(label) / plain(name)
            stem, number = target.stem, 1
            while target.exists():
                target, number = target.with_stem(f"{stem}-{number}"), number + 1
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            n_images += 1
    print(f"unpacked {n_images} images into {folder}")
    return n_images


def plain(name: bytes) -> str:
    """Return the last part of a name, so that no record can lead outside the folder."""
    last = Path(name.decode(errors="replace").replace("\\", "/")).name
    return last if last not in {"", ".", ".."} else "unnamed"


def draw(folder: Path) -> None:
    """Draw six images; list them with a missing file, and one that is not an image."""
    folder.mkdir()
    lines = ["absent.png,square", "broken.jpeg,disc"]
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
