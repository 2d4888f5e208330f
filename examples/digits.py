"""From images to TFRecord shards and back: ``python examples/digits.py``.

Stores the 1,797 images of handwritten digits that come with scikit-learn, each as a
``tf.train.Example``, in GZIP shards. Then reads the shards back twice, record by record
and into columns, with every checksum verified, and compares the images with the originals.

Nothing is downloaded. Needs the extra ``examples``: ``pip install '.[examples]'``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite import (
    BytesColumn,
    ExampleParser,
    FixedLenFeature,
    ShardedTFRecordWriter,
    TFRecordReader,
)
from tfrecord_lite.messages import BytesList, Example, Feature, Features, Int64List

if TYPE_CHECKING:
    import numpy.typing as npt

    Images = npt.NDArray[np.uint8]
    Labels = npt.NDArray[np.int64]

NUM_SHARDS = 4
IMAGE_SHAPE = (8, 8)
SHADES = " .:-=+*#%@"
"""Characters from no ink to full ink."""


def load_images() -> tuple[Images, Labels]:
    """Return the images, uint8 of shape (1797, 8, 8) with values up to 16, and their digits."""
    try:
        from sklearn.datasets import load_digits  # noqa: PLC0415 - an extra
    except ImportError:
        sys.exit("This example needs scikit-learn: pip install '.[examples]'")
    digits = load_digits()
    return digits.images.astype(np.uint8), digits.target.astype(np.int64)


def to_record(image: Images, label: int) -> bytes:
    """Store one image in a serialised Example."""
    feature = {
        "image": Feature(bytes_list=BytesList(value=[image.tobytes()])),
        "shape": Feature(int64_list=Int64List(value=image.shape)),
        "label": Feature(int64_list=Int64List(value=[label])),
    }
    return Example(features=Features(feature=feature)).SerializeToString(deterministic=True)


def from_record(record: bytes) -> tuple[Images, int]:
    """Return the image and the label in a serialised Example."""
    feature = Example.FromString(record).features.feature
    pixels = np.frombuffer(feature["image"].bytes_list.value[0], np.uint8)
    image = pixels.reshape(feature["shape"].int64_list.value)
    return image, feature["label"].int64_list.value[0]


def write(folder: Path, images: Images, labels: Labels) -> list[Path]:
    """Write all images to shards; the files appear when all of them are complete."""
    pattern = str(folder / f"digits@{NUM_SHARDS}.tfrecord.gz")
    with ShardedTFRecordWriter(pattern) as writer:
        for image, label in zip(images, labels.tolist(), strict=True):
            writer.write(to_record(image, label))
    return [Path(path) for path in writer.paths]


def read(folder: Path) -> tuple[Images, Labels]:
    """Read all shards in sorted order. The compression is detected from the first bytes."""
    # A damaged byte anywhere would raise DataLossError here, with file, record and offset.
    pairs = [from_record(record) for record in TFRecordReader(folder / "digits-*.tfrecord.gz")]
    images, labels = zip(*pairs, strict=True)
    return np.stack(images), np.array(labels)


def read_columns(folder: Path) -> tuple[Images, Labels]:
    """Read all shards block by block, the images of each block as one array."""
    features = {"image": FixedLenFeature([], bytes), "label": FixedLenFeature([], int)}
    parser = ExampleParser(features, strings="BytesColumn")
    images, labels = [], []
    for block in TFRecordReader(folder / "digits-*.tfrecord.gz").blocks():
        columns = parser(block)
        pixels, digits = columns["image"], columns["label"]
        assert isinstance(pixels, BytesColumn)
        assert isinstance(digits, np.ndarray)
        # `data` has all strings end to end; images of one size make that an array of images.
        images.append(pixels.data.reshape(len(pixels), *IMAGE_SHAPE))
        labels.append(digits)
    return np.concatenate(images), np.concatenate(labels)


def picture(image: Images) -> str:
    """Draw an image with two characters per pixel, so that pixels look square."""
    shades = np.array(list(SHADES))[image.astype(int) * (len(SHADES) - 1) // 16]
    return "\n".join("".join(np.repeat(row, 2)).rstrip() for row in shades)


def run(folder: Path) -> None:
    """Write, read, compare, and print the speed."""
    images, labels = load_images()
    start = time.perf_counter()
    paths = write(folder, images, labels)
    written = time.perf_counter()
    images_back, labels_back = read(folder)
    read_once = time.perf_counter()
    image_column, label_column = read_columns(folder)
    stop = time.perf_counter()

    # Records are written to the shards in turn: 0, 4, 8, ... to the first one.
    order = np.concatenate(
        [np.arange(len(images))[shard::NUM_SHARDS] for shard in range(NUM_SHARDS)]
    )
    for images_read, labels_read in ((images_back, labels_back), (image_column, label_column)):
        is_same = np.array_equal(images_read, images[order])
        if not (is_same and np.array_equal(labels_read, labels[order])):
            sys.exit("What was read differs from what was written.")

    n_records, n_bytes = len(images), sum(path.stat().st_size for path in paths)
    print(f"{'':12}{'files':>8}{'records':>10}{'bytes':>10}{'seconds':>10}{'records/s':>12}")
    steps = {
        "written": written - start,
        "read": read_once - written,
        "as columns": stop - read_once,
    }
    for step, seconds in steps.items():
        counts = f"{len(paths):8}{n_records:10,}{n_bytes:10,}"
        print(f"{step:12}{counts}{seconds:10.3f}{n_records / seconds:12,.0f}")
    print("\nEvery checksum is right, and every image equals its original. The first one read:\n")
    print(picture(images_back[0]))
    print(f"\nlabel: {labels_back[0]}")


def main() -> None:
    """Run in a given or temporary folder."""
    parser = argparse.ArgumentParser(description="Store images in TFRecord shards and read them.")
    parser.add_argument(
        "--output", type=Path, help="folder for the shards; default: a temporary one"
    )
    arguments = parser.parse_args()
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
        run(arguments.output)
        print(f"\nThe shards are in {arguments.output}")
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))


if __name__ == "__main__":
    main()
