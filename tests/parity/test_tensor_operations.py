"""The answers that tests/tf expects of operations on tensors are TensorFlow's."""

import pytest
import tensorflow as tf

from tests.tf.tensor_answers import RECORDED, answer


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("expression", RECORDED)
def test_the_recorded_answer_is_tensorflows(expression: str) -> None:
    assert answer(expression, tf) == RECORDED[expression]
