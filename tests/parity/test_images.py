"""Images as TensorFlow decodes and encodes them."""

from typing import Any

import numpy as np
import pytest

from tfrecord_lite import tf as our_tf
from tfrecord_lite.apps.images import decode_image, encode_image

pytest.importorskip("PIL")


def noise(*shape: int) -> Any:
    return np.random.default_rng(shape).integers(0, 256, shape, np.uint8)


@pytest.mark.parametrize(("name", "n_channels"), [("png", 1), ("png", 3), ("png", 4), ("bmp", 3)])
def test_tensorflow_decodes_what_we_encode(tf: Any, name: str, n_channels: int) -> None:
    image = noise(7, 5, n_channels)
    data = encode_image(image, name)
    assert (tf.io.decode_image(data).numpy() == image).all()
    for channels in (1, 3):
        if name == "png" and channels >= n_channels:
            theirs = tf.io.decode_image(data, channels).numpy()
            assert (theirs == decode_image(data, channels)).all()


@pytest.mark.parametrize("n_channels", [1, 2, 3, 4])
def test_we_decode_what_tensorflow_encodes(tf: Any, n_channels: int) -> None:
    image = noise(7, 5, n_channels)
    found = decode_image(tf.io.encode_png(image).numpy())
    assert found.shape == image.shape
    assert (found == image).all()
    assert (decode_image(tf.io.encode_png(image).numpy(), dtype="uint16") == image * 257.0).all()


@pytest.mark.parametrize("n_channels", [1, 2, 3, 4])
def test_of_16_bits_all_are_kept(tf: Any, n_channels: int) -> None:
    image = np.random.default_rng(n_channels).integers(0, 65536, (7, 5, n_channels), np.uint16)
    data = tf.io.encode_png(image).numpy()
    assert (decode_image(data, dtype=np.uint16) == image).all()
    assert (our_tf.io.decode_png(data, dtype="uint16").numpy() == image).all()
    for channels in {1, 3, 4} - {1 if n_channels == 4 else 0}:
        theirs = tf.io.decode_png(data, channels, tf.uint16).numpy()
        ours = decode_image(data, channels, dtype=np.uint16)
        assert ours.shape == theirs.shape
        assert np.abs(ours.astype(int) - theirs).max() <= 2 * (channels == 1)
    if n_channels == 1:
        assert (decode_image(data) == tf.io.decode_image(data).numpy()).all()
        assert (tf.io.decode_png(encode_image(image), 0, tf.uint16).numpy() == image).all()


@pytest.mark.parametrize("n_channels", [1, 3])
def test_jpeg_comes_out_nearly_alike(tf: Any, n_channels: int) -> None:
    smooth = np.linspace(0, 255, 40).astype(np.uint8)
    image = np.repeat(np.add.outer(smooth // 2, smooth // 2)[:, :, None], n_channels, axis=2)
    for data in (tf.io.encode_jpeg(image).numpy(), encode_image(image, "jpeg")):
        ours, theirs = decode_image(data), tf.io.decode_image(data).numpy()
        assert ours.shape == theirs.shape
        assert np.abs(ours.astype(int) - theirs).max() <= 4
