"""DatasetIterator: one pass through a pipeline, which can be stopped and resumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfrecord_lite.dataset.feed import Cursor
from tfrecord_lite.dataset.plan import Context, Source, describe, feed_of
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Callable


class DatasetIterator(Cursor):
    """One pass through a data set, which can say where it stands, and go on from there.

    Notes
    -----
    Has the methods of torchdata's ``Stateful`` protocol. Not to be used by several threads
    at once. Files, threads and processes go when it ends, is closed or is forgotten.
    """

    def __init__(self, plan: Source, epoch: tuple[int, ...], begun: Callable[[int], None]) -> None:
        self._plan = plan
        self._begun = begun
        """Tells the data set which epoch this is."""
        self._begin(epoch, None)

    def _begin(self, epoch: tuple[int, ...], state: Any) -> None:
        self._epoch = epoch
        self._begun(epoch[0])
        self._follow(feed_of(self._plan, Context(epoch=epoch), state))
        self._is_closed = False

    def _make_ready(self) -> None:
        if self._is_closed:
            raise StopIteration
        super()._make_ready()

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
            "at": self._where(),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where another iterator stood, of a data set made in the same way.

        The data set goes on with the epoch behind that of the state.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if this is no state, or one of other stages, settings, seeds,
            features or numbers of files.

        Notes
        -----
        Files that have fewer records than then are a FailedPreconditionError,
        ``STALE_INDEX``, on iteration; that their contents are the same is not checked.
        """
        if not _is_state(state_dict):
            detail = "this is no state: expected what state_dict of such an iterator returned"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        found, expected = list(state_dict["stages"]), describe(self._plan)
        if found != expected:
            detail = (
                f"the state is of {found}, this data set is {expected}; make it as that was "
                "made, with the same seeds in all shuffles"
            )
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        self._feed.close()
        self._begin(tuple(state_dict["epoch"]), state_dict["at"])

    def close(self) -> None:
        """End the pass. Twice is fine."""
        self._before, self._ready, self._n_taken = self._where(), [], 0
        self._is_closed = True
        self._feed.close()


def _is_state(state: Any) -> bool:
    """Whether something has the parts of a state."""
    if not isinstance(state, Mapping) or state.get("version") != 1:
        return False
    epoch, at = state.get("epoch"), state.get("at")
    return (
        isinstance(state.get("stages"), (list, tuple))
        and isinstance(epoch, (list, tuple))
        and len(epoch) > 0
        and all(isinstance(number, int) for number in epoch)
        and isinstance(at, Mapping)
        and {"at", "skip"} <= set(at)
    )
