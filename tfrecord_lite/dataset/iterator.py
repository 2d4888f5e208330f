"""DatasetIterator: one pass through a pipeline, which can be stopped and resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfrecord_lite.dataset.feed import Elements, Feed
from tfrecord_lite.dataset.plan import Context, Source, describe
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

__all__ = ["DatasetIterator"]


class DatasetIterator:
    """One pass through a data set, which can say where it stands, and go on from there.

    Notes
    -----
    Has the methods of torchdata's ``Stateful`` protocol. Not to be used by several threads
    at once. Files, threads and processes go when it ends, is closed or is forgotten.
    """

    def __init__(self, plan: Source, epoch: tuple[int, ...], state: Any = None) -> None:
        self._plan = plan
        self._begin(epoch, state)

    def _begin(self, epoch: tuple[int, ...], state: Any) -> None:
        self._epoch = epoch
        context = Context(epoch=epoch)
        self._feed = Feed(lambda at: self._plan.run(context, at), state)
        self._elements = Elements(self._feed)
        self._is_closed = False

    def __iter__(self) -> Self:
        """Return the iterator itself."""
        return self

    def __next__(self) -> Any:
        """Return the next element."""
        if self._is_closed:
            raise StopIteration
        return next(self._elements)

    def state_dict(self) -> dict[str, Any]:
        """Return where the iterator stands: behind the last element it gave.

        Returns
        -------
        dict
            Plain data, fit for JSON: numbers of files, records and steps. Never records.
        """
        return {
            "version": 1,
            "stages": describe(self._plan),
            "epoch": list(self._epoch),
            "at": self._elements.state(),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where another iterator stood, of a data set made in the same way.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if the stages are others, or the number of files.

        Notes
        -----
        Files that have fewer records than then are a FailedPreconditionError,
        ``STALE_INDEX``, on iteration; that their contents are the same is not checked.
        """
        if state_dict.get("version") != 1 or state_dict["stages"] != describe(self._plan):
            detail = f"the state is of {state_dict.get('stages')}, this data set is {describe(self._plan)}"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        self._feed.close()
        self._begin(tuple(state_dict["epoch"]), state_dict["at"])

    def close(self) -> None:
        """End the pass. Twice is fine."""
        self._is_closed = True
        self._feed.close()
