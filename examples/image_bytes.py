"""Images as raw pixels: ``python examples/image_bytes.py [IMAGE ...]``.

Each image goes into one ``tf.train.Example``: its pixels as uint8 bytes, its shape as
int32 bytes, and a label. Raw bytes say neither dtype nor shape, so both have to be known
when they are read: ``decode_raw`` is given the dtype, and the shape is read first.
Images of several sizes may stand in one file.

Without arguments two small images are drawn. Nothing is downloaded. Needs the extra
``image``: ``pip install '.[image]'``. For images that should stay compressed in the
file, store what ``image_row`` returns instead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite import (
    BytesList,
    Example,
    Feature,
    Features,
    FixedLenFeature,
    Int64List,
    InvalidArgumentError,
    TFRecordReader,
    TFRecordWriter,
    decode_image,
    decode_raw,
    encode_image,
    parse_single_example,
)

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


def to_record(image: Image, label: int) -> bytes:
    """Put one image into a serialised Example."""
    feature = {
        "image": Feature(bytes_list=BytesList(value=[image.tobytes()])),
        "shape": Feature(bytes_list=BytesList(value=[np.array(image.shape, "<i4").tobytes()])),
        "label": Feature(int64_list=Int64List(value=[label])),
    }
    return Example(features=Features(feature=feature)).SerializeToString(deterministic=True)


def from_record(record: bytes) -> tuple[Image, int]:
    """Get the image and its label out of a serialised Example."""
    parsed = parse_single_example(record, FEATURES)
    shape = decode_raw(parsed["shape"], np.int32)
    pixels = decode_raw(parsed["image"], np.uint8)
    return pixels.reshape(shape), int(np.asarray(parsed["label"]))


def picture(image: Image) -> str:
    """Draw an image with letters."""
    grey = image.mean(axis=2).astype(int) * (len(SHADES) - 1) // 255
    return "\n".join("".join(row).rstrip() for row in np.array(list(SHADES))[grey])


def run(path: Path, files: list[Path]) -> None:
    """Write the images, read them back, compare, and show the first."""
    try:
        # Encoded once, so that the images that are drawn come from Pillow as well.
        contents = [file.read_bytes() for file in files] or [encode_image(i) for i in drawn()]
        images = [decode_image(content) for content in contents]
    except (OSError, ImportError, InvalidArgumentError) as error:
        sys.exit(str(error))
    with TFRecordWriter(path) as writer:
        for label, image in enumerate(images):
            writer.write(to_record(image, label))
    back = [from_record(record) for record in TFRecordReader(path)]

    for (image, label), original in zip(back, images, strict=True):
        if not np.array_equal(image, original):
            sys.exit("What was read is not what was written.")
        print(f"label {label}: {image.dtype} of shape {image.shape}")
    print("\nEvery image equals its original. The first one read:\n")
    print(picture(back[0][0][:40, :80]))


def main() -> None:
    """Run in the file given, or in a temporary one."""
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
