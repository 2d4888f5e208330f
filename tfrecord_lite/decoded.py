"""Blocks of records to what their records mean, as they come.

Each record is given out as a row that a decoder makes of it (:func:`rows_of`, a block at a
time), or as a message of a protobuf class (:func:`messages_of`). A record that is not what
it is taken for is an error with its file, offset and number; those before it come first.

The blocks come from a function, so that nobody but the loop over them holds their iterator:
it ends, and its file is closed, as soon as an error leaves the loop, though the error is kept.

No knowledge of schemas: what decodes a block is handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from google.protobuf.message import Message

    from tfrecord_lite.block import Block

    AnyMessage = TypeVar("AnyMessage", bound=Message)

_Row = TypeVar("_Row")

__all__ = ["checked_class", "messages_of", "parsed", "rows_of"]


def rows_of(
    blocks: Callable[[], Iterator[Block]], decode: Callable[[Block], Iterable[_Row]]
) -> Iterator[_Row]:
    """Decode the records of blocks many at a time; an error comes behind all rows before it."""
    for block in blocks():
        try:
            rows = decode(block)
        except InvalidArgumentError as error:
            first = block.place(0).index
            if error.index is not None and first is not None:
                yield from decode(block[: error.index - first])
            raise
        yield from rows


def messages_of(
    blocks: Callable[[], Iterator[Block]], message_class: type[AnyMessage]
) -> Iterator[AnyMessage]:
    """Parse each record of blocks by a protobuf class; an error says which record it is."""
    for block in blocks():
        yield from parsed(block, message_class)


def parsed(block: Block, message_class: type[AnyMessage]) -> Iterator[AnyMessage]:
    """Parse each record of a block by a protobuf class; an error says which record it is."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - not light

    for i, record in enumerate(block):
        try:
            message = message_class.FromString(record)
        except (DecodeError, UnicodeDecodeError):
            place = block.place(i)
            detail = f"the {len(record)} bytes are no {message_class.DESCRIPTOR.full_name}"
            fields = (place.offset, place.source, place.index, None, detail)
            raise InvalidArgumentError(Reason.MALFORMED, *fields) from None
        yield message


def checked_class(message_class: type[AnyMessage]) -> type[AnyMessage]:
    """Return a protobuf class; TypeError for anything else."""
    if not callable(getattr(message_class, "FromString", None)):
        raise TypeError(f"expected a protobuf message class, got {message_class!r}")
    return message_class
