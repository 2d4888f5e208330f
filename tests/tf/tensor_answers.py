"""What TensorFlow 2.21 answers to operations on tensors, recorded in ``tensor_answers.txt``.

A line is an expression and its answer: the repr of the result, or the class of the error.
``tests/tf`` compares ours with the record, ``tests/parity`` the record with TensorFlow.
"""

from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["RECORDED", "answer"]

_ERRORS = (
    ("InvalidArgumentError", lambda tf: tf.errors.InvalidArgumentError),
    ("UnimplementedError", lambda tf: tf.errors.UnimplementedError),
    ("TypeError", lambda tf: TypeError),  # noqa: ARG005
    ("ValueError", lambda tf: ValueError),  # noqa: ARG005
)


def answer(expression: str, tf: Any) -> str:
    """Return what `tf` answers: the repr of the result in one line, or the class of the error."""
    try:
        result = eval(expression, {"tf": tf, "np": np})  # noqa: S307 - our own table
    except Exception as error:  # noqa: BLE001 - whichever it is
        for name, class_of in _ERRORS:
            if isinstance(error, class_of(tf)):
                return name
        return type(error).__name__
    return " ".join(repr(result).split())


def _recorded() -> dict[str, str]:
    lines = Path(__file__).with_suffix(".txt").read_text().splitlines()
    return dict(line.split(" -> ") for line in lines)


RECORDED = _recorded()
"""Answers by expression."""
