"""Ask TensorFlow and this library to parse the same SequenceExamples.

Answers are put into one dictionary, with a key such as ``"list tokens"`` for the result of
each feature, and compared as those of Examples are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.parity.answers import Answer, ask
from tests.parity.parsing import COPIES, Parsing, agree, error_name, results
from tfrecord_lite.example.sequence.parse import (
    parse_sequence_example,
    parse_single_sequence_example,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.errors import InvalidArgumentError, Reason

__all__ = ["SequenceParsing"]

PARTS = ("context", "list", "lengths")


class SequenceParsing:
    """Both parsers, and the comparison of their answers."""

    def __init__(self, parsing: Parsing) -> None:
        self._parsing = parsing
        self.tf = parsing.tf

    def ask_single(
        self, record: Any, context: Any = None, lists: Any = None, **named: Any
    ) -> tuple[Answer, Answer]:
        """Parse one message with both."""
        functions = self.tf.io.parse_single_sequence_example, parse_single_sequence_example
        return self._ask(*functions, record, (context, lists), named)

    def ask_batch(
        self, records: Any, context: Any = None, lists: Any = None, **named: Any
    ) -> tuple[Answer, Answer]:
        """Parse a batch with both."""
        functions = self.tf.io.parse_sequence_example, parse_sequence_example
        return self._ask(*functions, records, (context, lists), named)

    def _ask(
        self,
        theirs: Callable[..., Any],
        ours: Callable[..., Any],
        given: Any,
        specs: tuple[Any, Any],
        named: dict[str, Any],
    ) -> tuple[Answer, Answer]:
        features = [self._parsing.features(some) for some in specs]
        # An empty list has no dtype in TensorFlow.
        for_them = np.empty(0, object) if isinstance(given, list) and not given else given
        return (
            ask(lambda: in_one(theirs(for_them, *features, **named))),
            ask(lambda: in_one(ours(given, *specs, **named))),
        )

    def single(
        self, record: Any, context: Any = None, lists: Any = None, **named: Any
    ) -> dict[str, Any]:
        """Parse one message with both, check that the results are equal, and return ours."""
        return results(*self.ask_single(record, context, lists, **named))

    def batch(
        self, records: Any, context: Any = None, lists: Any = None, **named: Any
    ) -> dict[str, Any]:
        """Parse a batch with both, also several times over; check, and return ours."""
        if isinstance(records, list) and records and not named:
            for copies in COPIES:
                results(*self.ask_batch(records * copies, context, lists))
        return results(*self.ask_batch(records, context, lists, **named))

    def rejected(
        self,
        records: list[bytes],
        context: Any = None,
        lists: Any = None,
        *,
        reason: Reason | None,
        theirs: str = "InvalidArgumentError",
    ) -> InvalidArgumentError:
        """Check that both reject a batch, and each rejects its only message by itself."""
        answers = [self.ask_batch(records * n, context, lists) for n in (1, *COPIES)]
        if len(records) == 1:
            answers.append(self.ask_single(records[0], context, lists))
        for answer, ours in answers:
            assert error_name(answer) == theirs, answer
            agree(answer, ours)
            assert getattr(ours.error, "reason", None) == reason, ours
        found: Any = answers[0][1].error
        return found  # type: ignore[no-any-return]

    def only_ours(
        self, records: list[bytes], context: Any = None, lists: Any = None, *, batch: bool = True
    ) -> tuple[list[Answer], list[Answer]]:
        """Return the answers of each side to a batch, several times over, and to one message."""
        answers = [self.ask_batch(records * n, context, lists) for n in (1, *COPIES) if batch]
        answers += [self.ask_single(records[0], context, lists)] * (len(records) == 1)
        return [theirs for theirs, _ in answers], [ours for _, ours in answers]


def in_one(answer: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Return the results of all features in one dictionary."""
    assert all(type(part) is dict for part in answer)
    return {
        f"{name} {key}": value
        for name, part in zip(PARTS, answer, strict=False)
        for key, value in part.items()
    }
