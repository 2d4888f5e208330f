"""Ask TensorFlow and this library for the same tensors, and compare what comes."""

from typing import Any

import numpy as np

from tests.parity.answers import Answer, ask, assert_same_error
from tests.parity.parsing import bits
from tfrecord_lite import decode_raw, parse_tensor, serialize_tensor
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tensors.parse import parse_tensors

__all__ = ["Tensors"]


class Tensors:
    """Both sides, and the comparison of their answers."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf

    def ask_parse(self, serialized: Any, dtype: Any) -> tuple[Answer, Answer]:
        def theirs() -> Any:
            found = self.tf.io.parse_tensor(serialized, self.tf.as_dtype(dtype))
            found.numpy()
            return found

        return ask(theirs), ask(parse_tensor, serialized, dtype)

    def parse(self, serialized: bytes, dtype: Any) -> Any:
        """Parse with both, check that the arrays are equal, and return ours.

        A batch of the same must give the same.
        """
        answers = self.ask_parse(serialized, dtype)
        ours = self.agree(*answers)
        assert ours.error is None, answers
        batch = parse_tensors([serialized] * 3, dtype)
        assert batch.shape == (3, *ours.value.shape)
        for i in range(3):
            assert bits(batch[i, ...]) == bits(ours.value)
        assert bits(parse_tensor(serialized)) == bits(ours.value)
        return ours.value

    def rejected(self, serialized: bytes, dtype: Any, reason: Reason) -> None:
        """Check that both reject, and we a batch of it too, and for this reason."""
        theirs, ours = self.ask_parse(serialized, dtype)
        assert type(theirs.error).__name__ == "InvalidArgumentError", theirs
        for answer in (ours, ask(parse_tensors, [serialized] * 3, dtype)):
            assert isinstance(answer.error, InvalidArgumentError), answer
            assert answer.error.reason is reason, answer

    def serialize(self, value: Any) -> bytes:
        ours = serialize_tensor(value)
        assert ours == self.tf.io.serialize_tensor(value).numpy()
        return ours

    def ask_raw(self, strings: Any, dtype: Any, **named: Any) -> tuple[Answer, Answer]:
        theirs = ask(self.tf.io.decode_raw, strings, self.tf.as_dtype(dtype), **named)
        return theirs, ask(decode_raw, strings, dtype, **named)

    def raw(self, strings: Any, dtype: Any, **named: Any) -> Any:
        ours = self.agree(*self.ask_raw(strings, dtype, **named))
        assert ours.error is None, ours
        return ours.value

    def raw_rejected(self, strings: Any, dtype: Any, reason: Reason, **named: Any) -> Any:
        """Check that both reject, and we for this reason; return our error."""
        theirs, ours = self.ask_raw(strings, dtype, **named)
        assert type(theirs.error).__name__ == "InvalidArgumentError", theirs
        assert isinstance(ours.error, InvalidArgumentError), ours
        assert ours.error.reason is reason, ours
        return ours.error

    def agree(self, theirs: Answer, ours: Answer) -> Answer:
        """Check that both gave equal arrays, or errors that mean the same; return ours."""
        assert_same_error(theirs, ours)
        if theirs.error is None:
            assert _bits(ours.value) == _bits(theirs.value.numpy()), (theirs, ours)
        return ours


def _bits(found: Any) -> Any:
    """Return an array in a form to compare; of what is smaller than a byte, the numbers."""
    array = found if isinstance(found, np.ndarray | np.generic) else np.array(found, object)
    if array.dtype.name in {"bool", "int4", "uint4", "int2", "uint2"}:
        return array.dtype.name, array.shape, array.ravel().astype(np.int8).tolist()
    return bits(np.asarray(array))
