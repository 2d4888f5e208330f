"""Steps of one known form: where they are, and their values.

The steps of a list nearly always have a head of one form, with their content behind it, up
to the next step. If all contents have one length, they lie at even distances, and no more
than where the first is and how many there are need be known of a list. So evenly placed
floats are padded without a look at any step::

    in the buffer      h 1 h 2 h 3 ..      h 4 ......      (h: a head)
    a copy a list      h 1 h 2 h 3         h 4 x x x x     as long as the longest
    heads left out       1   2   3           4   x   x     a view, with strides
    the rest is 0        1   2   3           4   0   0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays.lanes import rows
from tfrecord_lite.arrays.ragged import gather, ranges
from tfrecord_lite.example.decode.entries import errors_of
from tfrecord_lite.example.decode.oneof import Values
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.repeated import Extents, varint_runs

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["AnyPlaces", "EvenPlaces", "PlainSteps"]

_COPIED_BYTES = 128 * 1024
"""So many bytes of lists are copied at once; they stay in the cache."""


@dataclass(frozen=True, slots=True, eq=False)
class EvenPlaces:
    """Contents of one length, as far from each other in all lists."""

    first: npt.NDArray[np.int64]
    """Where that of the first step of each list starts; shape (n_lists,)."""
    size: int
    """Bytes from one step to the next."""
    length: int

    def start(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return where each content starts, given the steps of each list; shape (n_steps,)."""
        return ranges(self.first, counts, self.size)

    def pad(
        self,
        data: npt.NDArray[np.uint8],
        counts: npt.NDArray[np.int64],
        out: npt.NDArray[np.float32],
    ) -> None:
        """Copy all contents, as :meth:`PlainSteps.pad`.

        As many bytes as the longest list has are copied from the start of each list; in
        that copy, contents lie at the same places for all, so no step is looked at.
        """
        n_lists, longest = out.shape[:2]
        step = np.dtype((np.void, self.length))
        to = out.reshape(-1).view(step).reshape(n_lists, longest)
        width = (longest - 1) * self.size + self.length
        last = data.size - width  # starts behind it are copied from a buffer with more room
        is_late = self.first > last
        base = max(last, 0)
        tail = np.concatenate([data[base:], np.zeros(width, np.uint8)])
        for source, which, first in (
            (data, np.flatnonzero(~is_late), self.first),
            (tail, np.flatnonzero(is_late), self.first - base),
        ):
            for begin in range(0, which.size, at_once := max(_COPIED_BYTES // width, 1)):
                some = which[begin : begin + at_once]
                copied = rows(source, width)[first[some]]
                strides = (width, self.size)
                steps = np.ndarray((some.size, longest), step, copied, strides=strides)
                steps[np.arange(longest) >= counts[some, None]] = np.zeros((), step)
                to[some] = steps


@dataclass(frozen=True, slots=True, eq=False)
class AnyPlaces:
    """Contents of any lengths, anywhere."""

    starts: npt.NDArray[np.int64]
    """Where each starts; shape (n_steps,)."""
    length: npt.NDArray[np.int64]
    """Bytes of each; shape (n_steps,)."""

    def start(self, _: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return where each content starts; shape (n_steps,)."""
        return self.starts


@dataclass(frozen=True, slots=True, eq=False)
class PlainSteps:
    """Steps of many lists that are one string, or one packed chunk, of one kind each."""

    is_plain: npt.NDArray[np.bool_]
    """Which of the lists have such steps, and no others; shape (n_lists,)."""
    kind: Kind
    """Of all steps."""
    counts: npt.NDArray[np.int64]
    """Steps of each of these lists; shape (is_plain.sum(),)."""
    where: EvenPlaces | AnyPlaces
    """Where the content of each step is."""

    def values(self, data: npt.NDArray[np.uint8], kind: Kind) -> Values:
        """Read the values of all steps; none if they are of another kind.

        Raises
        ------
        WireError
            Its `message` is the number of the list.
        """
        if kind != self.kind:
            none: Any = np.empty(0, np.int64)
            is_bytes = kind is Kind.BYTES
            return Values(0, Extents(none, none) if is_bytes else none.astype(kind.dtype))
        start, length = self.where.start(self.counts), self.where.length
        if kind is Kind.FLOAT and isinstance(length, int):
            if not length:
                return Values(0, np.empty(0, np.float32))
            return Values(length // 4, rows(data, length)[start].view("<f4"))
        lengths = np.broadcast_to(length, start.shape)
        if kind is Kind.BYTES:
            return Values(1, Extents(start, lengths))
        if kind is Kind.FLOAT:
            return Values(lengths >> 2, gather(data, start, lengths).view("<f4"))
        with (
            errors_of(np.flatnonzero(self.is_plain)),
            errors_of(np.repeat(np.arange(self.counts.size), self.counts)),
        ):
            counts, numbers = varint_runs(data, start, lengths)
        return Values(1 if (counts == 1).all() else counts, numbers)

    def are_floats(self, n_values: int) -> bool:
        """Whether all lists have steps of so many floats, and they lie evenly."""
        return (
            self.kind is Kind.FLOAT
            and isinstance(self.where, EvenPlaces)
            and self.where.length == 4 * n_values > 0
            and bool(self.is_plain.all())
        )

    def pad(self, data: npt.NDArray[np.uint8], out: npt.NDArray[np.float32]) -> None:
        """Store the steps of each list in a row, and zeros behind them; if :meth:`are_floats`.

        Parameters
        ----------
        data : uint8, shape (n_bytes,)
        out : float32, shape (n_lists, longest, n_values)
            Contiguous; at least as long as the longest list.
        """
        if isinstance(self.where, EvenPlaces):
            self.where.pad(data, self.counts, out)
