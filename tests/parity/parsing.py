"""Ask TensorFlow and this library to parse the same messages, and compare what comes.

Features are given as specifications of this library, with dtypes by name; TensorFlow
gets its own of the same names and arguments. Results are equal if their class, dtypes,
shapes and bits are: floats are compared by their bits, row splits with their dtype.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from tests.parity.answers import Answer, ask, assert_same_error
from tfrecord_lite.columns import RaggedTensor, SparseTensor
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.parse import parse_example, parse_single_example
from tfrecord_lite.example.sequence.parse import (
    parse_sequence_example,
    parse_single_sequence_example,
)
from tfrecord_lite.schema import FeatureSpec
from tfrecord_lite.schema.features import arguments_of

__all__ = ["Parsing", "agree", "bits", "bits_of_all", "error_name", "in_one"]

COPIES = (5, 40)
"""Numbers of copies of a batch to parse, in addition to one."""


class Parsing:
    """Both parsers, of Examples or of SequenceExamples, and the comparison of their answers.

    The features of an Example are one mapping, those of a SequenceExample two: context and lists.
    Results of SequenceExamples are put into one dictionary, with keys such as ``"list tokens"``.
    """

    def __init__(self, tf: Any, *, is_sequence: bool = False) -> None:
        self.tf = tf
        self._single, self._batch = parse_single_example, parse_example
        self._in_one: Callable[[Any], Any] = lambda answer: answer
        if is_sequence:
            self._single = parse_single_sequence_example  # type: ignore[assignment]
            self._batch = parse_sequence_example  # type: ignore[assignment]
            self._in_one = in_one

    def theirs(self, spec: Any) -> Any:
        """Return TensorFlow's form of a specification; of anything else, itself."""
        if not isinstance(spec, FeatureSpec):
            return spec
        values = dict(arguments_of(spec))
        for name in ("dtype", "row_splits_dtype"):
            if isinstance(values.get(name), str | np.dtype):
                values[name] = self.tf.as_dtype(values[name])
        if "partitions" in values:
            values["partitions"] = [self._partition(part) for part in values["partitions"]]
        return getattr(self.tf.io, type(spec).__name__)(**values)

    def _partition(self, part: Any) -> Any:
        cls = getattr(self.tf.io.RaggedFeature, type(part).__name__)
        return cls(getattr(part, fields(part)[0].name))

    def features(self, specs: Any) -> Any:
        """Return TensorFlow's form of features; of anything else, itself."""
        if not isinstance(specs, dict):
            return specs
        return {name: self.theirs(spec) for name, spec in specs.items()}

    def ask_single(self, record: Any, *specs: Any, **named: Any) -> tuple[Answer, Answer]:
        return self._ask(self._single, record, specs, named)

    def ask_batch(self, records: Any, *specs: Any, **named: Any) -> tuple[Answer, Answer]:
        return self._ask(self._batch, records, specs, named)

    def _ask(
        self, ours: Any, given: Any, specs: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Answer, Answer]:
        theirs = getattr(self.tf.io, ours.__name__)
        features = [self.features(some) for some in specs]
        # An empty list has no dtype in TensorFlow.
        for_them = np.empty(0, object) if isinstance(given, list) and not given else given
        return (
            ask(lambda: self._in_one(theirs(for_them, *features, **named))),
            ask(lambda: self._in_one(ours(given, *specs, **named))),
        )

    def single(self, record: Any, *specs: Any, **named: Any) -> dict[str, Any]:
        """Parse one message with both, check that the results are equal, and return ours."""
        return results(*self.ask_single(record, *specs, **named))

    def batch(self, records: Any, *specs: Any, **named: Any) -> dict[str, Any]:
        """Parse a batch with both, check that the results are equal, and return ours.

        A list is asked about several times over too, since this library reads many
        messages in other ways than a few.
        """
        if isinstance(records, list) and records and not named:
            for copies in COPIES:
                results(*self.ask_batch(records * copies, *specs))
        return results(*self.ask_batch(records, *specs, **named))

    def rejected(
        self,
        records: list[bytes],
        *specs: Any,
        reason: Reason | None,
        theirs: str | None = None,
        copies: tuple[int, ...] = (1, *COPIES),
    ) -> InvalidArgumentError:
        """Check that both reject a batch, and each rejects its only message by itself.

        `reason` is that of our error, None for a TypeError; `theirs` the class of TensorFlow's, if
        it is not InvalidArgumentError; `copies` how many times over they are asked about.
        """
        answers = [self.ask_batch(records * number, *specs) for number in copies]
        if len(records) == 1:
            answers.append(self.ask_single(records[0], *specs))
        for answer, ours in answers:
            assert error_name(answer) == (theirs or "InvalidArgumentError"), answer
            agree(answer, ours)
            assert getattr(ours.error, "reason", None) == reason, ours
        found: Any = answers[0][1].error
        return found  # type: ignore[no-any-return]

    def only_ours(self, records: list[bytes], *specs: Any) -> tuple[list[Answer], list[Answer]]:
        """Return the answers of each side to a batch, several times over, and to one message."""
        answers = [self.ask_batch(records * n, *specs) for n in (1, *COPIES)]
        answers += [self.ask_single(records[0], *specs)] * (len(records) == 1)
        return [theirs for theirs, _ in answers], [ours for _, ours in answers]


def in_one(answer: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Return the results of all features of a SequenceExample in one dictionary."""
    assert all(type(part) is dict for part in answer)
    return {
        f"{name} {key}": value
        for name, part in zip(("context", "list", "lengths"), answer, strict=False)
        for key, value in part.items()
    }


def results(theirs: Answer, ours: Answer) -> dict[str, Any]:
    """Check that both gave the same results, and return ours."""
    assert theirs.error is None, theirs
    agree(theirs, ours)
    return ours.value  # type: ignore[no-any-return]


def error_name(answer: Answer) -> str:
    """Name the class of an error; UnicodeDecodeError is an InvalidArgumentError (rule W9)."""
    name = type(answer.error).__name__
    return "InvalidArgumentError" if name == "UnicodeDecodeError" else name


def agree(theirs: Answer, ours: Answer) -> None:
    """Check that both gave equal results, or errors that mean the same."""
    assert_same_error(theirs, ours)
    if theirs.error is None:
        text = f"TensorFlow: {theirs}; ours: {ours}"
        assert bits_of_all(ours.value) == bits_of_all(theirs.value), text


def bits_of_all(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return results of either side in a form to compare."""
    return {name: bits(result) for name, result in results.items()}


def bits(result: Any) -> tuple[Any, ...]:
    """Return a result of either side in a form to compare: class, dtypes, shapes, bits."""
    if isinstance(result, SparseTensor) or type(result).__name__ == "SparseTensor":
        parts = (result.indices, result.values, result.dense_shape)
        return ("sparse", *map(_array_bits, parts))
    if isinstance(result, RaggedTensor) or type(result).__name__ == "RaggedTensor":
        inner = (*result.nested_row_splits, result.flat_values)
        return ("ragged", *map(_array_bits, inner), shape_of(result))
    return ("dense", _array_bits(result))


def shape_of(ragged: Any) -> tuple[int | None, ...]:
    """Return the shape of a ragged tensor, None where rows may differ."""
    if not len(ragged.row_splits):  # -1 rows, of which TensorFlow has no shape (rule G8)
        return ()
    return tuple(ragged.shape)


def _array_bits(array: Any) -> tuple[Any, ...]:
    if isinstance(array, np.ndarray):
        found = array
    elif array.dtype.name == "string":
        found = np.array(array.numpy(), object)
    else:
        found = np.asarray(array.numpy())
    data = tuple(found.ravel().tolist()) if found.dtype == object else found.tobytes()
    return (found.dtype.name, found.shape, data)
