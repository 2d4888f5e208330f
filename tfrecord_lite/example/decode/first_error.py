"""Which message of a batch is the first that is wrong.

A batch is read feature by feature and level by level, so the first trouble met need
not be in the first message that is wrong. The messages before it are read once more,
half of what is left at a time: all in all not much more than the batch itself, however
many of them are wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.wire.scalar import WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfrecord_lite.block import Block

Found = TypeVar("Found")


class MisfitError(Exception):
    """A message that does not fit a feature, or is none at all."""

    def __init__(self, message: int, reason: Reason, key: str | None, detail: str) -> None:
        super().__init__(message, reason, key, detail)
        self.message = message
        self.reason = reason
        self.key = key
        self.detail = detail

    def moved(self, n_before: int) -> MisfitError:
        """Return this of a batch that has so many messages before."""
        return MisfitError(n_before + self.message, self.reason, self.key, self.detail)

    def as_error(self, block: Block, example_name: str | None = None) -> InvalidArgumentError:
        """Make the error that a user sees.

        Parameters
        ----------
        block : Block
            The batch that the number of the message counts in.
        example_name : str, optional
            What the user calls the message.
        """
        named = "" if example_name is None else f" (example {example_name!r})"
        detail = self.detail + named
        error = InvalidArgumentError(self.reason, key=self.key, detail=detail)
        return block.place(self.message).locate(error)


def parse_or_first_error(
    block: Block, names: Sequence[str] | None, parse: Callable[[Block], Found]
) -> Found:
    """Parse a batch; when a message is wrong, tell of the first that is.

    Parameters
    ----------
    block : Block
    names : sequence of str, optional
        Of the messages, for errors.
    parse : callable
        Parses a block; raises WireError or MisfitError about one of the messages that are
        wrong, maybe not the first.

    Raises
    ------
    InvalidArgumentError
    """
    result = _attempt(block, parse)
    if not isinstance(result, MisfitError):
        return result
    found = first_misfit(block, parse, result)
    raise found.as_error(block, names[found.message] if names else None)


def first_misfit(block: Block, parse: Callable[[Block], object], found: MisfitError) -> MisfitError:
    """Return what is wrong with the first message that is, given one that is wrong.

    Parameters
    ----------
    block, parse
        As :func:`parse_or_first_error`.
    found : MisfitError
    """
    sound = 0  # so many messages are
    while sound < found.message:
        stop = (sound + found.message + 1) // 2
        earlier = _attempt(block[sound:stop], parse)
        if isinstance(earlier, MisfitError):
            found = earlier.moved(sound)
        else:
            sound = stop
    # Of several things wrong with it, the batch may have told another than it does by itself.
    alone = _attempt(block[found.message : found.message + 1], parse)
    return alone.moved(found.message) if isinstance(alone, MisfitError) else found


def _attempt(block: Block, parse: Callable[[Block], Found]) -> Found | MisfitError:
    """Parse, or say what is wrong with one of the messages, maybe not the first."""
    try:
        return parse(block)
    except MisfitError as misfit:
        return misfit
    except WireError as error:
        return MisfitError(error.message, Reason.MALFORMED, None, error.detail)
