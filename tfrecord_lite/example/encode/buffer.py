"""A writer's row buffer: dictionaries, one per record, collected until they are worth a batch.

Programs write their rows alike: the same keys, the same types, often lists of the same
lengths. That is a row's *form*. Rows of a form seen before are taken apart by its row plan
(:mod:`.row_plan`), and become one batch. A row of a new form, or one with large, unusual or wrong
values, is encoded alone at once, so the call that passes a bad row raises, and keeps nothing of it.

Every row, and every record that is written between rows, has a number; they come out in order.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.example.encode.columns import encode_lists
from tfrecord_lite.example.encode.one import encode_features, encoded_key, only_string
from tfrecord_lite.example.encode.row_plan import (
    LARGE_BYTES,
    SHORT_LIST,
    RowPlan,
    UnplannedError,
    dtypes_of,
    is_list,
)
from tfrecord_lite.example.proto import FEATURES_TAG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Buffer

_MAX_ROWS = 1024
_MAX_BYTES = 2 * 1024 * 1024
"""When a buffer is full."""
_MAX_PLANS = 8
"""Forms that are collected at a time; each becomes a batch of its own."""
_MAX_FORMS = 256
"""Forms that are remembered."""


class Waiting:
    """Records among rows that wait, and how many there are of both. Not thread-safe."""

    def __init__(self) -> None:
        self._n = 0
        self._n_bytes = 0
        self._records: list[bytes] = []
        self._record_order: list[int] = []

    def __len__(self) -> int:
        """Return the number of rows and records."""
        return self._n

    @property
    def is_full(self) -> bool:
        """Whether it is time to write what is here."""
        return self._n >= _MAX_ROWS or self._n_bytes >= _MAX_BYTES

    def add_record(self, record: bytes) -> None:
        """Add a record that is encoded already."""
        self._records.append(record)
        self._record_order.append(self._n)
        self._n += 1
        self._n_bytes += len(record)

    def add_records(self, records: Sequence[Buffer] | Block) -> None:
        """Add copies of many encoded records."""
        for record in records.views() if isinstance(records, Block) else records:
            self.add_record(bytes(record))

    def _clear(self) -> None:
        """Forget the records; there are no rows any more."""
        self._n = self._n_bytes = 0
        self._records, self._record_order = [], []


class RowBuffer(Waiting):
    """Rows and records, in the order in which they came.

    Rows are checked and copied as they are added; they may change afterwards.
    """

    of_sequences = False

    def __init__(self) -> None:
        super().__init__()
        self._forms: dict[Any, RowPlan | bool] = {}
        self._active: list[RowPlan] = []
        self._last: RowPlan | None = None

    def add(self, row: Mapping[str, Any]) -> list[Buffer] | None:
        """Add a row, or return it encoded if it is large and nothing waits before it.

        That record is in pieces, which saves a copy: write them before the row's arrays change.
        Raises as :func:`~tfrecord_lite.encode_example`, and is then unchanged.
        """
        plan = self._last
        if type(row) is not dict:
            return self._add_alone(row)
        values = tuple(row.values())
        if plan is not None and plan.keys == tuple(row) and plan.types == tuple(map(type, values)):
            n_bytes = plan.take(values)
            if n_bytes:
                plan.order.append(self._n)
                self._n += 1
                self._n_bytes += n_bytes
                return None
            if plan.is_only:
                return self._add_alone(row)
        return self._add_other(row, values)

    def _add_alone(self, row: Mapping[str, Any]) -> list[Buffer] | None:
        """Encode a row alone."""
        pieces = encode_features(FEATURES_TAG, row)
        if not self._n and sum(map(len, pieces)) >= LARGE_BYTES:  # type: ignore[arg-type]
            return pieces
        self.add_record(b"".join(pieces))
        return None

    def _add_other(self, row: Mapping[str, Any], values: tuple[Any, ...]) -> list[Buffer] | None:
        """Add a row of another form than the last one, or one to be encoded alone."""
        strings = [value for value in map(only_string, values) if type(value) is bytes]
        if any(len(string) >= LARGE_BYTES for string in strings):
            return self._add_alone(row)
        plan = self._plan_for(tuple(row), values)
        n_bytes = plan.take(values) if plan is not None else 0
        if plan is None or not n_bytes:
            return self._add_alone(row)
        if not plan.order:
            self._active.append(plan)
        plan.order.append(self._n)
        self._last = plan
        self._n += 1
        self._n_bytes += n_bytes
        return None

    def _plan_for(self, keys: tuple[Any, ...], values: tuple[Any, ...]) -> RowPlan | None:
        """Return the plan of a row's form, if the form has come before and can have one."""
        lists = [value for value in values if is_list(value)]
        lengths = tuple([min(len(value), SHORT_LIST + 1) for value in lists])
        # The first value stands for a long list; the plan looks at all of them.
        first = [value[:1] if len(value) > SHORT_LIST else value for value in lists]
        types = tuple(map(type, values))
        form = (keys, types, dtypes_of(values), lengths, tuple(map(type, chain(*first))))
        plan = self._forms.get(form)
        if plan is None:  # a form that comes only once is not worth a plan
            if len(self._forms) >= _MAX_FORMS:
                self._forms = {}
            self._forms[form] = True
        elif plan is True:
            try:
                for key in keys:
                    encoded_key(key)
                plan = self._forms[form] = RowPlan(keys, values)
            except (UnplannedError, TypeError, ValueError):
                plan = self._forms[form] = False
        if not isinstance(plan, RowPlan):
            return None
        has_room = plan.order or len(self._active) < _MAX_PLANS
        return plan if has_room else None

    def take(self) -> list[Any] | Block:
        """Return everything as records, bytes-like and in order, and start anew."""
        # After an interrupt of this method some plans may be empty already.
        plans = [plan for plan in self._active if plan.order]
        blocks = [encode_lists(plan.columns(), len(plan.order)) for plan in plans]
        orders = [plan.order for plan in plans]
        records = in_order(blocks, orders, self._records, self._record_order)
        for plan in plans:
            plan.clear()
        self._active, self._last = [], None
        self._clear()
        return records


def in_order(
    blocks: list[Block], orders: list[list[int]], records: list[bytes], record_order: list[int]
) -> list[Any] | Block:
    """Merge the records of blocks, and single ones, by their numbers; one block stays one."""
    if len(blocks) == 1 and not records:
        return blocks[0]
    found: list[Any] = list(chain.from_iterable([block.views() for block in blocks]))
    if records:
        found += records
        orders = [*orders, record_order]
    if len(orders) > 1:
        places = np.argsort(np.fromiter(chain(*orders), np.int64, len(found)))
        found = [found[i] for i in places.tolist()]
    return found
