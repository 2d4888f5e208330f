"""Operators, constants and shapes of tensors: what TensorFlow answers, recorded."""

import warnings

import numpy as np

from tests.support.errors import raised
from tests.tf.tensor_answers import RECORDED, answer
from tfrecord_lite import tf


def test_every_recorded_answer_is_ours() -> None:
    """In one test, as there are hundreds."""
    differing = {}
    for expression, expected in RECORDED.items():
        found = answer(expression, tf)
        # Ours is a ValueError, too.
        is_alike = expected == "ValueError" and found == "InvalidArgumentError"
        if found != expected and not is_alike:
            differing[expression] = (expected, found)
    assert not differing
    assert len(RECORDED) > 500


def test_a_constant_of_float64_keeps_all_its_digits() -> None:
    assert tf.constant(0.1, tf.float64).numpy() == 0.1
    assert tf.constant([0.1, 1], tf.float64).numpy().tolist() == [0.1, 1.0]
    assert tf.constant(1e300, tf.float64).numpy() == 1e300
    assert (tf.constant(0.1, tf.float64) + 0.2).numpy() == 0.1 + 0.2


def test_operators_and_numpys_functions_give_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan((tf.constant(0.0) / 0).numpy())
        assert (tf.constant(2**31 - 1) + 1).numpy() == -(2**31)
        assert tf.cast(float("nan"), tf.int32).numpy() == np.iinfo(np.int32).min
    assert np.add(tf.constant([1]), 1).tolist() == [2]
    assert type(np.add(tf.constant([1]), 1)) is np.ndarray
    assert isinstance(np.array([1]) + tf.constant([1]), tf.Tensor)


def test_other_libraries_take_the_array_itself() -> None:
    for tensor in (tf.constant([[1, 2], [3, 4]]), tf.constant(2.5)):
        shared = np.from_dlpack(tensor)  # as torch.as_tensor does
        assert (shared == tensor.numpy()).all()
        assert shared.dtype == tensor.numpy().dtype
        assert shared.shape == tensor.numpy().shape
    rows = tf.constant([1, 2])
    assert np.shares_memory(np.from_dlpack(rows), rows.numpy())
    raised((BufferError, TypeError), np.from_dlpack, tf.constant(["a"]))
