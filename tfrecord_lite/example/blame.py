"""Which message of a batch is the first that is wrong.

A batch is read feature by feature and level by level, so the first trouble met need
not be in the first message that is wrong. The messages before it are read once more,
half of what is left at a time: all in all not much more than the batch itself, however
many of them are wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.block import Block

__all__ = ["Misfit", "first_misfit"]


class Misfit(Exception):  # noqa: N818 - not an error a user sees, but the makings of one
    """A message that does not fit a feature, or is none at all."""

    def __init__(self, message: int, reason: Reason, key: str | None, detail: str) -> None:
        super().__init__(message, reason, key, detail)
        self.message = message
        self.reason = reason
        self.key = key
        self.detail = detail

    def moved(self, n_before: int) -> Misfit:
        """Return this of a batch that has so many messages before."""
        return Misfit(n_before + self.message, self.reason, self.key, self.detail)

    def as_error(self, block: Block, example_name: str | None = None) -> InvalidArgumentError:
        """Make the error that a user sees.

        Parameters
        ----------
        block : Block
            The batch that the number of the message counts in.
        example_name : str, optional
            What the user calls the message.
        """
        place = block.place(self.message)
        named = "" if example_name is None else f" (example {example_name!r})"
        detail = self.detail + named
        fields = (place.offset, place.source, place.index)
        return InvalidArgumentError(self.reason, *fields, self.key, detail)


def first_misfit(found: Misfit, attempt: Callable[[int, int], Misfit | None]) -> Misfit:
    """Find the first message that is wrong, given one that is.

    Parameters
    ----------
    found : Misfit
    attempt : callable
        Reads the messages from one number up to another; returns what is wrong with one
        of them, counted from the first of these, or None.

    Returns
    -------
    Misfit
        Counted in the batch.
    """
    sound = 0  # so many messages are
    while sound < found.message:
        stop = (sound + found.message + 1) // 2
        earlier = attempt(sound, stop)
        if earlier is None:
            sound = stop
        else:
            found = earlier.moved(sound)
    # Of several things wrong with it, the batch may have told another than it does by itself.
    alone = attempt(found.message, found.message + 1)
    return found if alone is None else alone.moved(found.message)
