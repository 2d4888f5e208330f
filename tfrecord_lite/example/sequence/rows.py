"""Records of sequences, one dictionary each, collected until they are worth a batch.

As for rows (:mod:`.rows`), whose plans take the contexts apart, records of one form go into
columns. What is in the steps of a list is laid end to end, which is a copy, as soon as the
record comes; so the form need say no more of a list than the dtype of that::

    {"context":       {"id": 7},                         ── a plan of rows
     "feature_lists": {"tokens": [[5, 6], [7]]}}         ── int64, 5 6 7, steps of 2 and 1

A record that has no such form, lists of several types or none, is encoded by itself at
once, so an error is raised by the record that brings it.
"""

from __future__ import annotations

import struct
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfrecord_lite.arrays.ragged import row_splits
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.lists import Outgoing, outgoing
from tfrecord_lite.convert.types import Strings
from tfrecord_lite.example.encode.one import encoded_key
from tfrecord_lite.example.encode.plan import ARRAYS, Plan, UnplannedError
from tfrecord_lite.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from typing_extensions import Buffer

__all__ = ["SequenceForm", "SequenceRows"]

_MOST_ROWS = 1024
_MOST_BYTES = 8 * 1024 * 1024
"""When a buffer is full."""
_MOST_FORMS = 8
"""Forms that are collected at a time; each is a batch of its own in the end."""
_LARGE_BYTES = 256 * 1024
"""A record with a list of more bytes is encoded by itself."""
_FORMATS: dict[type, tuple[str, np.dtype[Any]]] = {
    int: ("q", np.dtype("<i8")),
    float: ("f", np.dtype("<f4")),
}
_BYTES = np.dtype(object)
_dtype_of = attrgetter("dtype")


class _Taken(NamedTuple):
    """What the steps of one list hold, in one record."""

    dtype: np.dtype[Any]
    counts: list[int] | None
    """Values of each step; None for one each, not in a list."""
    values: Any
    """All of them: bytes of numbers, or a list of bytes."""
    n_steps: int
    n_bytes: int


def _take_apart(steps: Any) -> _Taken | None:
    """Copy what some steps hold; None if they are not of one type, or hold nothing."""
    if type(steps) not in (list, tuple):
        return None
    types = set(map(type, steps))
    if types == {np.ndarray}:
        return _of_arrays(steps)
    counts = None
    values = steps
    if types in ({list}, {tuple}):
        counts = list(map(len, steps))
        values = list(chain.from_iterable(steps))
        types = set(map(type, values))
    if len(types) != 1:
        return None
    kind: Any = types.pop()
    if kind in _FORMATS:
        letter, dtype = _FORMATS[kind]
        try:
            packed = struct.pack(f"<{len(values)}{letter}", *values)
        except (OverflowError, struct.error):
            return None
        return _Taken(dtype, counts, packed, len(steps), len(packed))
    if kind is str:
        try:
            values = [value.encode() for value in values]
        except UnicodeEncodeError:
            return None
    elif kind is not bytes:
        return None
    return _Taken(_BYTES, counts, list(values), len(steps), sum(map(len, values)))


def _of_arrays(steps: list[npt.NDArray[Any]] | tuple[npt.NDArray[Any], ...]) -> _Taken | None:
    """Copy what steps that are arrays hold."""
    dtypes = set(map(_dtype_of, steps))
    if dtypes == {_BYTES}:
        lists = list(map(_as_list, steps))
        return _take_apart(lists) if set(map(type, lists)) == {list} else None
    if len(dtypes) > 1 or not dtypes <= ARRAYS:
        return None
    try:
        flat = np.concatenate(steps)
    except ValueError:  # arrays of several dimensions, or of none
        return None
    if flat.ndim != 1:
        return None
    return _Taken(flat.dtype, list(map(len, steps)), flat.tobytes(), len(steps), flat.nbytes)


def _as_list(value: Any) -> Any:
    """Return an array of objects, if it is that and has some, as the list it is encoded as."""
    is_array = type(value) is np.ndarray and value.dtype == _BYTES and value.ndim == 1
    return value.tolist() if is_array and value.size else value


class _List:
    """One list in the records of one form."""

    def __init__(self) -> None:
        self._taken: list[_Taken] = []

    def add(self, taken: _Taken) -> None:
        self._taken.append(taken)

    def steps(self, key: str) -> tuple[Outgoing, npt.NDArray[np.int64]]:
        """Return the values of all steps, and the number of steps of each record."""
        taken = self._taken
        n_steps = np.fromiter((one.n_steps for one in taken), np.int64, len(taken))
        n_all = int(n_steps.sum())
        counts = None
        if taken[0].counts is not None:
            parts = chain.from_iterable([one.counts or () for one in taken])
            counts = np.fromiter(parts, np.int64, n_all)
        is_even = counts is None or bool((counts == counts[0]).all())
        count: Any = (1 if counts is None else int(counts[0])) if is_even else counts
        if taken[0].dtype == _BYTES:
            strings = list(chain.from_iterable([one.values for one in taken]))
            lengths = np.fromiter(map(len, strings), np.int64, len(strings))
            data = np.frombuffer(b"".join(strings), np.uint8)
            own = Strings(data, row_splits(lengths)[:-1], lengths)
            return Outgoing(n_all, Kind.BYTES, count, own), n_steps
        flat = np.frombuffer(b"".join([one.values for one in taken]), taken[0].dtype)
        if is_even:
            return outgoing(key, flat.reshape(n_all, count)), n_steps
        return outgoing(key, RaggedTensor(flat, row_splits(count))), n_steps


class SequenceForm:
    """Records of one form."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._outline = frozenset(row)
        context = row.get("context", {})
        self._lists = {key: _List() for key in row.get("feature_lists", {})}
        for key in chain(context, self._lists):
            encoded_key(key)
        self._plan = Plan(tuple(context), tuple(context.values())) if context else None
        self.order: list[int] = []
        """The numbers of the records."""

    def take(self, number: int, context: dict[str, Any], lists: list[_Taken]) -> bool:
        """Take the context of a record apart, and its lists in; or say that it is another form."""
        plan = self._plan
        if tuple(context) != (() if plan is None else plan.keys):
            return False
        if plan is not None:
            values = tuple(context.values())
            if plan.types != tuple(map(type, values)) or not plan.take(values):
                return False
            plan.order.append(number)
        self.order.append(number)
        for own, taken in zip(self._lists.values(), lists, strict=True):
            own.add(taken)
        return True

    def columns(
        self,
    ) -> tuple[
        dict[str, Outgoing] | None, dict[str, tuple[Outgoing, npt.NDArray[np.int64]]] | None
    ]:
        """Return contexts and lists as columns, None for what these records do not have."""
        context = self._plan.columns() if self._plan is not None else {}
        lists = {key: own.steps(key) for key, own in self._lists.items()}
        return (
            context if "context" in self._outline else None,
            lists if "feature_lists" in self._outline else None,
        )


class SequenceRows:
    """Records of sequences, and messages between them, in the order in which they came.

    Notes
    -----
    What was added is copied; nothing that happens to a record afterwards matters.
    """

    def __init__(self) -> None:
        self._n = 0
        self._n_bytes = 0
        self._forms: dict[Any, list[SequenceForm]] = {}
        self._messages: list[bytes] = []
        self._order: list[int] = []

    def __len__(self) -> int:
        """Return the number of records and messages."""
        return self._n

    @property
    def is_full(self) -> bool:
        """Whether it is time to take what is here."""
        return self._n >= _MOST_ROWS or self._n_bytes >= _MOST_BYTES

    def add(self, row: Any) -> bool:
        """Take a record in, if it has a form; what is wrong with it shows when it is encoded."""
        if type(row) is not dict or not row.keys() <= {"context", "feature_lists"}:
            return False
        context, lists = row.get("context", {}), row.get("feature_lists", {})
        if type(context) is not dict or type(lists) is not dict:
            return False
        context = {key: _as_list(value) for key, value in context.items()}
        taken: list[_Taken] = []
        for steps in lists.values():
            one = _take_apart(steps)
            if one is None or one.n_bytes > _LARGE_BYTES:
                return False
            taken.append(one)
        outline = tuple([(one.dtype, one.counts is None) for one in taken])
        form = (tuple(row), tuple(lists), outline)
        if not self._take(form, row, context, taken):
            return False
        self._n += 1
        self._n_bytes += sum(one.n_bytes for one in taken)
        return True

    def _take(
        self, form: Any, row: dict[str, Any], context: dict[str, Any], lists: list[_Taken]
    ) -> bool:
        alike = self._forms.setdefault(form, [])
        if any(one.take(self._n, context, lists) for one in alike):
            return True
        if sum(map(len, self._forms.values())) >= _MOST_FORMS:
            return False
        try:
            new = SequenceForm({**row, "context": context} if context else row)
        except (UnplannedError, TypeError, ValueError):
            return False
        if not new.take(self._n, context, lists):
            return False
        alike.append(new)
        return True

    def forms(self) -> list[SequenceForm]:
        """Return the records that were taken in, by form."""
        return list(chain.from_iterable(self._forms.values()))

    def add_message(self, message: bytes) -> None:
        """Take in a message that is encoded already."""
        self._messages.append(message)
        self._order.append(self._n)
        self._n += 1
        self._n_bytes += len(message)

    def in_order(self, records: Sequence[Sequence[Buffer]]) -> list[Buffer]:
        """Return all messages in order, given those that the records of each form became."""
        found: list[Any] = [None] * self._n
        orders = [form.order for form in self.forms()]
        for order, some in zip([*orders, self._order], [*records, self._messages], strict=True):
            for number, message in zip(order, some, strict=True):
                found[number] = message
        return found
