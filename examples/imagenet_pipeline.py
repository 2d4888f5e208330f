"""An input pipeline for ImageNet-like shards: ``python examples/imagenet_pipeline.py [FILE ...]``.

Nine tenths of the files are for training, the others for validation. Several files are read
in turns, records are shuffled and parsed in batches, and threads decode and resize images
while the previous batch is being used.

Files hold ``image/encoded`` (JPEG, PNG, ...) and, unless ``--unlabelled``, ``image/class/label``,
counted from 1. Without arguments, twenty files of drawn images are written. Nothing is
downloaded. Needs the extra ``image``: ``pip install '.[image]'``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite import (
    Dataset,
    FixedLenFeature,
    ShardedTFRecordWriter,
    TFRecordDataset,
    TFRecordError,
    TFRecordReader,
)
from tfrecord_lite.apps.images import decode_image, image_row
from tfrecord_lite.messages import Example

if TYPE_CHECKING:
    import numpy.typing as npt

N_CLASSES = 4


def draw(folder: Path) -> str:
    """Write twenty shards of ten images each: squares in the colour of their class, on noise."""
    rng = np.random.default_rng(0)
    with ShardedTFRecordWriter(folder / "drawn@20.tfrecord") as writer:
        for i in range(200):
            label = i % N_CLASSES
            image = rng.integers(0, 64, (rng.integers(40, 80), rng.integers(40, 80), 3), np.uint8)
            image[10:30, 10:30, label % 3] = 255 if label < 3 else 128
            writer.write_example(image_row(image, label + 1))
    return str(folder / "drawn-*.tfrecord")


def split(files: list[str]) -> tuple[list[str], list[str]]:
    """Return nine tenths of the files, and the rest; neither is empty if there are two files."""
    n_train = min(round(0.9 * len(files)), len(files) - 1) or len(files)
    return files[:n_train], files[n_train:]


def decode(encoded: npt.NDArray[np.object_], size: int) -> npt.NDArray[np.float32]:
    """Decode and resize a batch of images; values are from 0 to 1."""
    from PIL import Image  # noqa: PLC0415 - an extra

    out = np.empty((len(encoded), size, size, 3), np.float32)
    for i, content in enumerate(encoded):
        picture = Image.fromarray(decode_image(content, channels=3))
        out[i] = np.asarray(picture.resize((size, size), Image.Resampling.BILINEAR))
    return out / np.float32(255)


def pipeline(files: list[str], size: int, batch_size: int, *, labelled: bool) -> Dataset:
    """Return batches of images, and of labels counted from 0 if there are any."""
    features = {"image/encoded": FixedLenFeature([], bytes)}
    if labelled:
        features["image/class/label"] = FixedLenFeature([], int)

    def prepare(columns: dict[str, Any]) -> Any:
        images = decode(columns["image/encoded"], size)
        if not labelled:
            return images
        return images, columns["image/class/label"].astype(np.int32) - 1

    return (
        TFRecordDataset(files)
        .interleave(cycle_length=16, deterministic=False)
        .shuffle(2048, seed=0)
        .batch(batch_size)
        .parse_example(features)
        .map(prepare, num_parallel_calls=-1)
        .prefetch(2)
    )


def show_first(files: list[str]) -> None:
    """Print the features of the first record."""
    for record in TFRecordDataset(files).take(1):
        for name, feature in sorted(Example.FromString(record).features.feature.items()):
            kind = feature.WhichOneof("kind")
            values = list(getattr(feature, kind).value) if kind else []
            text = [v[:8] + b"..." if isinstance(v, bytes) and len(v) > 8 else v for v in values]
            print(f"  {name}: {kind} {text}")


def run(files: list[str], size: int, batch_size: int, *, labelled: bool) -> None:
    """Read both parts once, and print their size and speed."""
    for name, part in zip(("train", "validate"), split(files), strict=True):
        if not part:
            print(f"{name}: no files")
            continue
        print(f"{name}: {len(part)} files; the first record:")
        show_first(part)
        start, n_images = time.perf_counter(), 0
        labels: set[int] = set()
        for batch in pipeline(part, size, batch_size, labelled=labelled):
            images = batch[0] if labelled else batch
            n_images += len(images)
            labels.update(batch[1].tolist() if labelled else ())
        if not n_images:
            sys.exit(f"no records to {name} with in {', '.join(part)}")
        seconds = time.perf_counter() - start
        print(f"  {n_images} images, the last batch {images.dtype} of shape {images.shape}")
        print(f"  labels {sorted(labels)[:10]}" if labelled else "  no labels read")
        print(f"  {n_images / seconds:,.0f} images/s")


def main() -> None:
    """Run over the given files, or over drawn images."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0].split(":")[0] + ".")
    parser.add_argument(
        "files", nargs="*", help="TFRecord files or patterns; default: drawn images"
    )
    parser.add_argument("--unlabelled", action="store_true", help="read no labels")
    parser.add_argument("--size", type=int, default=224, help="pixels per side; default: 224")
    parser.add_argument("--batch", type=int, default=32, help="images per batch; default: 32")
    given = parser.parse_args()
    if given.size < 1:
        parser.error("--size must be at least 1")
    with tempfile.TemporaryDirectory() as folder:
        try:
            # A data set accepts patterns too; here the list of files is needed, to split it.
            found = TFRecordReader(given.files or draw(Path(folder))).sources
            files = [str(source) for source in found]
            run(files, given.size, given.batch, labelled=not given.unlabelled)
        except (OSError, ImportError, TFRecordError) as error:
            sys.exit(f"{error}")


if __name__ == "__main__":
    main()
