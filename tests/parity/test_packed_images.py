"""Packed images, as TensorFlow reads and decodes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tensorflow as tf

from tfrecord_lite.apps.images import encode_image, pack_images

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("PIL.Image", reason="needs the extra image")

FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/format": tf.io.FixedLenFeature([], tf.string),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/width": tf.io.FixedLenFeature([], tf.int64),
    "image/channels": tf.io.FixedLenFeature([], tf.int64),
    "image/colorspace": tf.io.FixedLenFeature([], tf.string),
    "image/filename": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    "image/class/text": tf.io.FixedLenFeature([], tf.string),
    "score": tf.io.FixedLenFeature([], tf.float32),
}


def test_tensorflow_reads_the_shards(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    lines = ["path,label,score"]
    contents: dict[bytes, bytes] = {}
    for number in range(12):
        name = ("png", "jpeg", "bmp")[number % 3]
        shape = (7 + number, 5, 1) if number % 4 == 0 else (7 + number, 5, 3)
        content = encode_image(rng.integers(0, 256, shape, np.uint8), name)
        (tmp_path / f"{number}.jpg").write_bytes(content)
        contents[f"{number}.jpg".encode()] = content
        lines.append(f"{number}.jpg,{'cat' if number % 2 else 'ant'},{number / 8}")
    (tmp_path / "list.csv").write_text("\n".join(lines))

    report = pack_images(tmp_path / "list.csv", tmp_path / "train@3.tfrecord")

    records = list(tf.data.TFRecordDataset(report.paths))
    found = tf.io.parse_example(tf.stack(records), FEATURES)
    rows = [{key: value.numpy()[i] for key, value in found.items()} for i in range(len(records))]
    assert {row["image/filename"]: row["image/encoded"] for row in rows} == contents
    for row in rows:
        number = int(row["image/filename"].split(b".")[0])
        pixels = tf.io.decode_image(row["image/encoded"], expand_animations=False)
        size = (row["image/height"], row["image/width"], row["image/channels"])
        assert tuple(pixels.shape) == size
        assert row["image/format"] == (b"png", b"jpeg", b"bmp")[number % 3]
        assert row["image/colorspace"] == (b"grayscale" if size[2] == 1 else b"RGB")
        assert (row["image/class/label"], row["image/class/text"]) == (
            number % 2, (b"ant", b"cat")[number % 2],
        )  # fmt: skip
        assert row["score"] == number / 8
