"""What cannot be encoded is refused: with the reason, the feature, and the record."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import golden
from tests.support.errors import raised
from tfrecord_lite import encode_example, encode_examples, encode_sequence_example
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.errors import InvalidArgumentError, Reason

ma = np.ma.MaskedArray


def endless(kind: str) -> Any:
    if kind == "array":
        array = np.empty(1, object)
        array[0] = array
        return array
    nested: list[Any] = []
    if kind == "deep":
        for _ in range(3000):
            nested = [nested]
    else:
        nested += [nested] * (1 if kind == "itself" else 5)
    return nested


@pytest.mark.parametrize("kind", ["itself", "itself often", "deep", "array"])
def test_lists_without_end_are_refused(kind: str) -> None:
    value = endless(kind)
    for call in (
        lambda: encode_example({"x": value}), lambda: encode_examples({"x": value}),
        lambda: encode_examples({"x": [value, [1]]}), lambda: schema_of({"x": value}),
        lambda: schema_of({"x": [[1], value]}),
        lambda: encode_sequence_example({"feature_lists": {"x": [value]}}),
    ):  # fmt: skip
        error = raised(InvalidArgumentError, call)
        assert (error.reason, error.key) == (Reason.BAD_ARGUMENT, "x")


class Convertible:
    def __array__(self, *_: Any, **__: Any) -> np.ndarray[Any, Any]:
        return np.arange(2)


def test_what_is_refused_and_what_is_taken() -> None:
    golden.check(Path(__file__).with_name("errors.txt"), globals())
