"""Check that records are the messages they should be, block after block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from tfrecord_lite.decoded import checked_class, parsed
from tfrecord_lite.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from google.protobuf.message import Message

    from tfrecord_lite.block import Block
    from tfrecord_lite.schema import FeatureSpec

__all__ = ["Check", "errors_in", "message_check"]

Check: TypeAlias = "Callable[[Block], object]"
"""Raises an InvalidArgumentError about the first record of a block that is wrong."""


def message_check(
    messages: type[Message] | Literal[True] | None, schema: Mapping[str, FeatureSpec] | None
) -> Check | None:
    """Return what checks the messages of a block; None if they are not to be looked at.

    Not thread-safe: one a file.
    """
    if schema is not None:
        from tfrecord_lite.example.parse import ExampleParser  # noqa: PLC0415 - loads the engine

        return ExampleParser(schema)
    if messages is True:
        from tfrecord_lite.example.survey import ExampleSurvey  # noqa: PLC0415 - loads the engine

        return ExampleSurvey().add
    return _class_check(messages) if messages else None


def _class_check(message_class: type[Message]) -> Check:
    """Return what parses each record as a message of a class."""
    checked_class(message_class)

    def check(block: Block) -> None:
        for _ in parsed(block, message_class):
            pass

    return check


def errors_in(block: Block, check: Check) -> Iterator[InvalidArgumentError]:
    """Yield an error for each record of a block that is wrong.

    Behind a wrong record, records are looked at in groups that double: many wrong ones cost
    a check of one record each, and few a handful of checks.
    """
    at, n_records = 0, len(block)
    while at < len(block):
        part = block[at : at + n_records]
        try:
            check(part)
        except InvalidArgumentError as error:
            yield error
            at += (error.index or 0) - (part.place(0).index or 0) + 1
            n_records = 1
        else:
            at, n_records = at + n_records, 2 * n_records
