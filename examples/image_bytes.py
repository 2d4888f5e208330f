"""Images as raw pixels: ``python examples/image_bytes.py [IMAGE ...]``.

Each image is stored in one ``tf.train.Example``: its pixels as uint8 bytes, its shape as
int32 bytes, and a label. Raw bytes have no dtype and no shape, so the reader passes the dtype
to ``decode_raw``, and reads the shape from the record. One file may hold images of any size.

Without arguments, two small images are drawn. Nothing is downloaded. Needs the extra
``image``: ``pip install '.[image]'``. To store images compressed, write what ``image_row``
returns instead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite import (
    FixedLenFeature,
    TFRecordReader,
    TFRecordWriter,
    decode_raw,
    parse_single_example,
)
from tfrecord_lite.apps.images import decode_image, encode_image
from tfrecord_lite.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy.typing as npt

    Image = npt.NDArray[np.uint8]

FEATURES = {
    "image": FixedLenFeature([], bytes),
    "shape": FixedLenFeature([], bytes),
    "label": FixedLenFeature([], int),
}
SHADES = " .:-=+*#%@"


def drawn() -> list[Image]:
    """Return a disc of shape (12, 24, 3), and a ramp of shape (6, 30, 1)."""
    y, x = np.mgrid[:12, :24]
    distance = np.hypot(y - 5.5, (x - 11.5) / 2)
    disc = np.clip(255 - 40 * distance, 0, 255).astype(np.uint8)
    ramp = np.linspace(0, 255, 30).astype(np.uint8)
    return [np.repeat(disc[:, :, None], 3, axis=2), np.tile(ramp[None, :, None], (6, 1, 1))]


def to_row(image: Image, label: int) -> dict[str, bytes | int]:
    """Return the features that store one image."""
    shape = np.array(image.shape, "<i4")
    return {"image": image.tobytes(), "shape": shape.tobytes(), "label": label}


def from_record(record: bytes) -> tuple[Image, int]:
    """Return the image and the label in a serialised Example."""
    parsed = parse_single_example(record, FEATURES)
    shape = decode_raw(parsed["shape"], np.int32)
    pixels = decode_raw(parsed["image"], np.uint8)
    return pixels.reshape(shape), int(np.asarray(parsed["label"]))


def picture(image: Image) -> str:
    """Draw an image with characters."""
    grey = image.mean(axis=2).astype(int) * (len(SHADES) - 1) // 255
    return "\n".join("".join(row).rstrip() for row in np.array(list(SHADES))[grey])


def run(path: Path, files: list[Path]) -> None:
    """Write the images, read them back, compare, and print the first."""
    try:
        # Drawn images are encoded first, so that they are decoded as files are.
        contents = [file.read_bytes() for file in files] or [encode_image(i) for i in drawn()]
        images = [decode_image(content) for content in contents]
    except (OSError, ImportError, InvalidArgumentError) as error:
        sys.exit(str(error))
    with TFRecordWriter(path) as writer:
        writer.write_examples(to_row(image, label) for label, image in enumerate(images))
    back = [from_record(record) for record in TFRecordReader(path)]

    for (image, label), original in zip(back, images, strict=True):
        if not np.array_equal(image, original):
            sys.exit("What was read differs from what was written.")
        print(f"label {label}: {image.dtype} of shape {image.shape}")
    print("\nEvery image equals its original. The first one read:\n")
    print(picture(back[0][0][:40, :80]))


def main() -> None:
    """Run in a given or temporary file."""
    parser = argparse.ArgumentParser(description="Store images as raw pixels and read them.")
    parser.add_argument("images", nargs="*", type=Path, help="image files; default: two drawn ones")
    parser.add_argument("--output", type=Path, help="file to write; default: a temporary one")
    arguments = parser.parse_args()
    if arguments.output is not None:
        run(arguments.output, arguments.images)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder) / "images.tfrecord", arguments.images)


if __name__ == "__main__":
    main()
