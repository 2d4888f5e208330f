"""The error about the first message of a batch that is wrong (rule E5).

A batch is read feature by feature and level by level, so the first error need not be about the first message
that is wrong. The messages before that are read again, half of those left at a time. That costs little more
than reading the batch once, however many messages are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from tfrecord_lite.arrays import Int64Array, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.convert.types import record_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema.text import FOR_SEQUENCES
from tfrecord_lite.texts import listed, short_name
from tfrecord_lite.wire.scalar import LEN, WireError, walk

Found = TypeVar("Found")

_MOST_NAMES = 1000
"""Looked at in a message that lacks a feature, to show those most like it."""


class MisfitError(Exception):
    """A message does not fit a feature, or is malformed; becomes the error that users see."""

    def __init__(self, message: int, reason: Reason, key: str | None, detail: str) -> None:
        super().__init__(message, reason, key, detail)
        self.message: int = message
        self.reason: Reason = reason
        self.key: str | None = key
        self.detail: str = detail

    def moved(self, n_before: int) -> MisfitError:
        """Return the same of a batch with `n_before` more messages before."""
        return MisfitError(n_before + self.message, self.reason, self.key, self.detail)

    def as_error(
        self, block: Block, example_name: str | None = None, message_type: str = "Example"
    ) -> InvalidArgumentError:
        """Return the error for users; `block` is the batch, `example_name` the message's name."""
        if self.reason in (Reason.MALFORMED, Reason.MISSING):
            from tfrecord_lite.example.content import ContentType, type_error  # noqa: PLC0415

            types = ContentType.EXAMPLE, ContentType.SEQUENCE_EXAMPLE
            expected = types if message_type == "Example" else types[::-1]
            if (error := type_error(block, self.message, *expected)) is not None:
                return error
        malformed = f"not a valid {message_type}: " if self.reason is Reason.MALFORMED else ""
        has = _what_it_has(block[self.message], self.key) if self.reason is Reason.MISSING else ""
        if message_type == "Example" and "feature list" in has:
            has += FOR_SEQUENCES
        named = "" if example_name is None else f" (example {example_name!r})"
        what, *advice = self.detail.rsplit("; ", 1)
        detail = "; ".join([f"{malformed}{what}{has}", *advice]) + named
        error = InvalidArgumentError(self.reason, key=self.key, detail=detail)
        return block.place(self.message).locate(error)


@contextmanager
def misfits() -> Iterator[None]:
    """Turn an error about one of the messages into a MisfitError."""
    try:
        yield
    except InvalidArgumentError as error:
        if error.index is None:
            raise
        raise MisfitError(error.index, error.reason, error.key, error.detail or "") from None


@contextmanager
def in_steps(n_steps: Int64Array) -> Iterator[None]:
    """Turn an error about one of all steps into one about its record, which names the step.

    >>> with in_steps(np.array([2, 3])):  # the steps of each record
    ...     raise InvalidArgumentError(Reason.WRONG_COUNT, index=4, detail="too short")
    Traceback (most recent call last):
    tfrecord_lite.errors.InvalidArgumentError: record 1: in step 2 of the list: too short
    """

    def in_record(step: int, detail: str | None) -> tuple[int, str]:
        splits = row_splits(n_steps)
        record = record_of(splits, step)
        return record, f"in step {step - int(splits[record])} of the list: {detail}"

    try:
        yield
    except MisfitError as misfit:
        record, detail = in_record(misfit.message, misfit.detail)
        raise MisfitError(record, misfit.reason, misfit.key, detail) from None
    except InvalidArgumentError as error:
        if error.index is None:
            raise
        record, detail = in_record(error.index, error.detail)
        raise error.at(index=record, detail=detail) from None


def parse_or_first_error(
    block: Block,
    names: Sequence[str] | None,
    parse: Callable[[Block], Found],
    message_type: str = "Example",
) -> Found:
    """Parse a batch, or raise the InvalidArgumentError about the first message that is wrong.

    `parse` may raise WireError or MisfitError about any of the messages that are wrong.
    """
    result = _attempt(block, parse)
    if not isinstance(result, MisfitError):
        return result
    first = first_misfit(block, parse, result)
    raise first.as_error(block, names[first.message] if names else None, message_type)


def _what_it_has(message: bytes, key: str | None) -> str:
    """Return the end of an error text about a name that a message lacks: those it has, the most similar first."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - for an error

    try:
        features, lists = (_names(message, number) for number in (1, 2))
    except WireError:
        return ""

    def unlikeness(name: str) -> tuple[float, str]:
        return -SequenceMatcher(None, name, key or "").ratio() - ((key or "") in name), name

    has = listed(sorted(features, key=unlikeness), "feature") if features else "no features"
    steps = listed(sorted(lists, key=unlikeness), "feature list") if lists else ""
    return f"; the record has {has}" + (f", and {steps}" if lists else "")


def _names(message: bytes, number: int) -> set[str]:
    """Return the first keys of the map in a field, short ones only as far as they are shown."""
    maps = [(a, b) for *field, a, b in walk(message, 0, len(message)) if field == [number, LEN]]
    entries = ((a, b) for first, last in maps for _, _, a, b in walk(message, first, last))
    names = set()
    for start, stop in islice(entries, _MOST_NAMES):
        for field, wire_type, first, last in walk(message, start, stop):
            if (field, wire_type) == (1, LEN):
                names.add(short_name(message[first:last].decode(errors="replace")))
    return names


def first_misfit(
    block: Block, parse: Callable[[Block], object], misfit: MisfitError
) -> MisfitError:
    """Return what is wrong with the first message that is, given one that `parse` found wrong."""
    n_intact = 0
    while n_intact < misfit.message:
        stop = (n_intact + misfit.message + 1) // 2
        earlier = _attempt(block[n_intact:stop], parse)
        if isinstance(earlier, MisfitError):
            misfit = earlier.moved(n_intact)
        else:
            n_intact = stop
    # If several things are wrong with it, it may raise another error alone than in the batch.
    alone = _attempt(block[misfit.message : misfit.message + 1], parse)
    return alone.moved(misfit.message) if isinstance(alone, MisfitError) else misfit


def _attempt(block: Block, parse: Callable[[Block], Found]) -> Found | MisfitError:
    """Parse, or return what is wrong with one of the messages, maybe not the first."""
    try:
        return parse(block)
    except MisfitError as misfit:
        return misfit
    except WireError as error:
        return MisfitError(error.message, Reason.MALFORMED, None, error.detail)
