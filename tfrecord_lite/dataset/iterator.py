"""DatasetIterator: one iteration over a data set, which can be stopped and resumed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Generic

from tfrecord_lite.dataset.feed import further
from tfrecord_lite.dataset.plan import PlanNode, Run, RunDamage, describe, feed_of, summary
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from typing_extensions import TypeVar

    from tfrecord_lite.errors import DamageReport

    T_co = TypeVar("T_co", covariant=True, default=Any)
else:  # only type checkers need the default
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)


_MOST_SHOWN = 80
"""Characters of a stage in an error about a state."""


class DatasetIterator(Generic[T_co]):
    """One iteration over a data set, which can be stopped and resumed.

    Notes
    -----
    It has the methods of torchdata's ``Stateful`` protocol. Only one thread at a time may use it.
    Its files, threads and processes are released when it ends, is closed or is forgotten.

    Examples
    --------
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> iterator = iter(TFRecordDataset("names.tfrecord"))
    >>> next(iterator), iterator.state_dict()["epoch"]
    (b'Ada', [0])
    """

    def __init__(
        self, plan: PlanNode, epoch: tuple[int, ...], begun: Callable[[Run], object]
    ) -> None:
        self._plan = plan
        self._begun = begun
        """Called with each run that this iterator begins."""
        self._begin(epoch, None)

    def _begin(self, epoch: tuple[int, ...], state: Any) -> None:
        self._run = Run(epoch, damage=RunDamage(is_skipped=self._plan.skips_damage))
        self._begun(self._run)
        self._feed = feed_of(self._plan, self._run, state)
        self._before = self._feed.state()  # before the ready elements
        self._ready: list[Any] = []
        self._n_taken = 0  # of the ready elements
        self._is_closed = False

    def __iter__(self) -> Self:
        """Return the iterator itself."""
        return self

    def __next__(self) -> T_co:
        """Return the next element."""
        if self._n_taken == len(self._ready):
            self._make_ready()
        item = self._ready[self._n_taken]
        self._n_taken += 1
        return item  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        """Name the stages."""
        return f"<{type(self).__name__}: {summary(self._plan)}>"

    def _make_ready(self) -> None:
        """Make the elements of the next chunk."""
        if self._is_closed:
            raise StopIteration
        self._before, self._ready, self._n_taken = self._feed.state(), [], 0
        chunk = self._feed.take()
        if chunk is None:
            raise StopIteration
        self._ready = chunk.elements()

    @property
    def report(self) -> DamageReport | None:
        """What this iteration has read and lost so far; see :attr:`Dataset.report`."""
        return self._run.damage.report()

    def state_dict(self) -> dict[str, Any]:
        """Return where the iterator stands: after the last element it gave.

        Returns
        -------
        dict
            Plain data, fit for JSON: numbers of files, records and steps. Never records.

        Examples
        --------
        >>> import json
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> iterator = iter(TFRecordDataset("names.tfrecord"))
        >>> first = next(iterator)
        >>> state = json.dumps(iterator.state_dict())  # in a checkpoint, with the model
        >>> resumed = iter(TFRecordDataset("names.tfrecord"))
        >>> resumed.load_state_dict(json.loads(state))
        >>> list(resumed)
        [b'Alan', b'Grace']
        """
        return {
            "version": 1,
            "stages": describe(self._plan),
            "epoch": list(self._run.epoch),
            "at": self._at(),
        }

    def _at(self) -> dict[str, Any]:
        return further(self._before, self._n_taken)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where another iterator stood, of a data set made in the same way.

        The data set's next iteration is the epoch after that of the state.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if this is not a state, or one of other stages, settings, seeds,
            features or numbers of files.

        Notes
        -----
        If files have fewer records than they had, iteration raises a FailedPreconditionError,
        ``STALE_INDEX``. Other changes of their contents are not detected.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> names = TFRecordDataset("names.tfrecord").shuffle(3, seed=7)
        >>> iterator = iter(names)
        >>> first, state = next(iterator), iterator.state_dict()
        >>> resumed = iter(names)
        >>> resumed.load_state_dict(state)
        >>> first, list(resumed)
        (b'Alan', [b'Ada', b'Grace'])
        """
        if not _is_state(state_dict):
            detail = "not a state; expected what state_dict of a data set's iterator returned"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        found, expected = list(state_dict["stages"]), describe(self._plan)
        if found != expected:
            raise _other_stages_error(found, expected)
        self._feed.close()
        self._begin(tuple(state_dict["epoch"]), state_dict["at"])

    def close(self) -> None:
        """End the iteration; a second call does nothing.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> iterator = iter(TFRecordDataset("names.tfrecord").prefetch(1))
        >>> first = next(iterator)
        >>> iterator.close()  # the thread and the file
        >>> list(iterator)
        []
        """
        self._before, self._ready, self._n_taken = self._at(), [], 0
        self._is_closed = True
        self._feed.close()


def _other_stages_error(found: list[Any], expected: list[str]) -> InvalidArgumentError:
    """Return the error about a state whose stages are not those of the data set."""
    pairs = list(zip_longest(expected, found, fillvalue="missing"))
    number = next(i for i, (here, there) in enumerate(pairs) if here != there)
    (here, own), (there, its) = (_name_and_settings(str(stage)) for stage in pairs[number])
    differs = f"is {here}, but {there} in the state"
    how = "make both data sets in the same way, with the same seeds in all shuffles"
    if here == there:
        one, other = (_short(", ".join(a - b)) for a, b in ((own, its), (its, own)))
        differs = f"({here}) has {one or 'other settings'}, but {other} in the state"
        how += ", and in a DataLoader of torch with the same num_workers" * (here == "Files")
    detail = f"stage {number + 1} {differs}; {how}"
    return InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)


def _name_and_settings(stage: str) -> tuple[str, set[str]]:
    """Take the text of a stage apart: ``Batch(n=4, drop_remainder=False)``."""
    name, _, settings = stage.removesuffix(")").partition("(")
    return _short(name), set(re.split(r", (?=\w+=)", settings))


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


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
