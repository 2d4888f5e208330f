"""What TensorFlow serialises and encodes is recognised: tensors of every dtype, images, sounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite.sniff import recognize, recognize_value
from tfrecord_lite.tensors.dtypes import TYPES

SHAPES = st.lists(st.integers(0, 4), max_size=4)
NUMBERS = ["float32", "float64", "int32", "int64", "uint8", "bool", "complex64"]


@pytest.mark.parametrize("name", [kind.name for kind in TYPES])
@given(shape=SHAPES)
def test_serialised_tensors(tf: Any, name: str, shape: list[int]) -> None:
    dtype = getattr(tf, name, None)
    if dtype is None:
        pytest.skip("TensorFlow does not serialise tensors of this dtype")
    values = np.zeros(shape, dtype.as_numpy_dtype) if dtype != tf.string else np.full(shape, b"x")
    serialized = tf.io.serialize_tensor(tf.constant(values, dtype, shape)).numpy()

    found = recognize_value(serialized)

    assert found.label == f"{dtype.name} tensor"
    assert found.shape == tuple(shape)


@pytest.mark.parametrize("name", NUMBERS)
@given(shape=SHAPES, is_repeated=st.booleans())
def test_tensor_protos(tf: Any, name: str, shape: list[int], is_repeated: bool) -> None:
    dtype = getattr(tf, name)
    values = np.ones([] if is_repeated else shape, dtype.as_numpy_dtype)
    proto = tf.make_tensor_proto(values.tolist(), dtype, shape)

    found = recognize_value(proto.SerializeToString())

    assert (found.label, found.shape) == (f"{dtype.name} tensor", tuple(shape))


@given(width=st.integers(1, 60), height=st.integers(1, 60))
def test_encoded_images(tf: Any, width: int, height: int) -> None:
    pixels = tf.zeros((height, width, 3), tf.uint8)

    for name, encode in (("JPEG", tf.io.encode_jpeg), ("PNG", tf.io.encode_png)):
        assert str(recognize(encode(pixels).numpy())) == f"{name} {width} x {height}"


@given(channels=st.integers(1, 2), rate=st.integers(1, 48_000), n_samples=st.integers(1, 500))
def test_encoded_sounds(tf: Any, channels: int, rate: int, n_samples: int) -> None:
    found = recognize(tf.audio.encode_wav(tf.zeros((n_samples, channels)), rate).numpy())

    assert found is not None
    assert (found.format, found.sample_rate, found.n_channels) == ("WAV", rate, channels)
    assert found.seconds == pytest.approx(n_samples / rate)
