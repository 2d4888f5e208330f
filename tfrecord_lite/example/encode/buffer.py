"""Rows, one dictionary a record, collected until they are worth a batch.

Programs write their rows alike: the same keys, the same types, often lists of the same
lengths. That is a row's *form*. Rows of a form seen before are taken apart by its plan
(:mod:`.row_plan`), and are a batch in the end. A row of a new form, one with large or unusual
values, or one that is wrong is encoded by itself at once, so an error is raised by the call
that brings it, and nothing of that row is kept.

Every row, and every record that is put between rows, has a number; they come out in order.

write_example and write_examples: what makes a writer of records one of Examples.

Rows are collected and encoded many at a time. A record written between two rows waits
with them, so everything comes out in the order in which it was written.

What encodes is loaded with the first row: writing records needs none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.example.encode.columns import encode_lists
from tfrecord_lite.example.encode.one import encode_features, encoded_key
from tfrecord_lite.example.encode.plan import LARGE_BYTES, SHORT_LIST, RowPlan, UnplannedError
from tfrecord_lite.example.proto import FEATURES_TAG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from typing_extensions import Buffer

    from tfrecord_lite.schema import FeatureSpec

_MOST_ROWS = 1024
_MOST_BYTES = 2 * 1024 * 1024
"""When a buffer is full."""
_MOST_PLANS = 8
"""Forms that are collected at a time; each is a batch of its own in the end."""
_MOST_FORMS = 256
"""Forms that are remembered."""


class RowBuffer:
    """Rows and records, in the order in which they came.

    Notes
    -----
    What was added is checked and copied; nothing that happens to a row afterwards matters.
    Not thread-safe.

    Attributes
    ----------
    is_taken : bool
        Set by whoever has taken over what :meth:`encoded` gave, which is dropped here then. To
        set it is no call, so that it can be one step with the taking, for interrupts.
    """

    def __init__(self) -> None:
        self.is_taken = False
        self._n = 0
        self._n_bytes = 0
        self._records: list[bytes] = []
        self._record_order: list[int] = []
        self._forms: dict[Any, RowPlan | bool] = {}
        self._active: list[RowPlan] = []
        self._last: RowPlan | None = None

    def __len__(self) -> int:
        """Return the number of rows and records."""
        return 0 if self.is_taken else self._n

    @property
    def is_full(self) -> bool:
        """Whether it is time to take what is here."""
        is_much = self._n >= _MOST_ROWS or self._n_bytes >= _MOST_BYTES
        return is_much and not self.is_taken

    def add(self, row: Mapping[str, Any]) -> list[Buffer] | None:
        """Take a row in; or give it back, encoded, if it is large and nothing waits before it.

        Returns
        -------
        list of bytes-like, or None
            The pieces of a record that is not in the buffer: to be written as it is, which
            saves a copy, before the row's arrays change.

        Raises
        ------
        InvalidArgumentError, TypeError
            As :func:`~tfrecord_lite.encode_example`; the buffer is as it was.
        """
        if self.is_taken:
            self._begin_anew()
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
            if not plan.has_lists:  # no other plan has these types
                return self._add_alone(row)
        return self._add_other(row, values)

    def _add_alone(self, row: Mapping[str, Any]) -> list[Buffer] | None:
        """Encode a row by itself."""
        pieces = encode_features(FEATURES_TAG, row)
        if not self._n and sum(map(len, pieces)) >= LARGE_BYTES:  # type: ignore[arg-type]
            return pieces
        self.add_record(b"".join(pieces))
        return None

    def _add_other(self, row: Mapping[str, Any], values: tuple[Any, ...]) -> list[Buffer] | None:
        """Take in a row of another form than the last one, or one to be encoded by itself."""
        if any(type(value) is bytes and len(value) >= LARGE_BYTES for value in values):
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
        """Return the plan of a row's form, if it has come before and can have one."""
        lists = [value for value in values if type(value) in (list, tuple)]
        lengths = tuple([min(len(value), SHORT_LIST + 1) for value in lists])
        # Of a long list the first value will do; it is looked through when it is taken.
        first = [value[:1] if len(value) > SHORT_LIST else value for value in lists]
        form = (keys, tuple(map(type, values)), lengths, tuple(map(type, chain(*first))))
        plan = self._forms.get(form)
        if plan is None:  # a form that comes but once is not worth a plan
            if len(self._forms) >= _MOST_FORMS:
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
        has_room = plan.order or len(self._active) < _MOST_PLANS
        return plan if has_room else None

    def add_record(self, record: bytes) -> None:
        """Take in a record that is encoded already."""
        if self.is_taken:
            self._begin_anew()
        self._records.append(record)
        self._record_order.append(self._n)
        self._n += 1
        self._n_bytes += len(record)

    def take(self) -> list[Any] | Block:
        """Return everything as records, bytes-like and in order, and begin anew."""
        records = self.encoded()
        self.is_taken = True
        return records

    def encoded(self) -> list[Any] | Block:
        """Return everything as records, bytes-like and in order; it stays here until it is taken."""
        if self.is_taken:
            return []
        blocks = [encode_lists(plan.columns(), len(plan.order)) for plan in self._active]
        if len(blocks) == 1 and not self._records:
            return blocks[0]
        found: list[Any] = list(chain.from_iterable([block.views() for block in blocks]))
        orders = [plan.order for plan in self._active]
        if self._records:
            found += self._records
            orders.append(self._record_order)
        if len(orders) > 1:
            places = np.argsort(np.fromiter(chain(*orders), np.int64, self._n))
            found = [found[i] for i in places.tolist()]
        return found

    def _begin_anew(self) -> None:
        for plan in self._active:
            plan.clear()
        self._n = self._n_bytes = 0
        self._records, self._record_order, self._active = [], [], []
        self._last, self.is_taken = None, False


_BATCH_ROWS = 512


class ExampleWriter:
    """A base class of the writers of records; what they share about Examples."""

    _rows: RowBuffer | None = None
    """Rows that are not encoded yet, and the records written between them."""

    if TYPE_CHECKING:

        def _check_open(self) -> None:
            """Raise if the writer is closed."""

        def _put(self, records: Sequence[Buffer] | Block, rows: RowBuffer | None = None) -> None:
            """Take encoded records over, in order; none is lost if they cannot be written.

            `rows` is the buffer that they are of, if any.
            """

        def _put_pieces(self, pieces: Sequence[Buffer]) -> None:
            """Take over one record in pieces, which change after this call."""

    def write_example(
        self, row: Mapping[str, Any], schema: Mapping[str, FeatureSpec] | None = None
    ) -> None:
        """Write a dictionary as one Example.

        Parameters
        ----------
        row : mapping of str to value
            As :func:`~tfrecord_lite.encode_example` takes it.
        schema : Schema, or mapping of str to feature specification, optional
            What the row is to be read with. Rows are then encoded one by one, which is
            slower; :meth:`write_examples` encodes many.

        Raises
        ------
        InvalidArgumentError, TypeError
            If the row cannot be encoded: from this call, with the feature's name in `key`.
            Nothing of the row is written, and the writer goes on as if it had not been
            given. `index` is 0, the only record of this call.
        FailedPreconditionError
            ``CLOSED`` after :meth:`close`.
        OSError
            If the records collected so far cannot be written; the row is one of them.

        Notes
        -----
        Up to 1,024 rows, or two megabytes, wait to be encoded together. They are copies: the
        dictionary and its arrays may be used again at once.
        """
        self._check_open()
        if schema is not None:
            from tfrecord_lite.example.encode.columns import encode_example  # noqa: PLC0415 - see above

            self._add_records([encode_example(row, schema)])
            return
        rows = self._row_buffer()
        pieces = rows.add(row)
        if pieces is not None:
            self._put_pieces(pieces)
        elif rows.is_full:
            self._put_rows()

    def write_examples(
        self,
        rows: Iterable[Mapping[str, Any]] | Mapping[str, Any],
        schema: Mapping[str, FeatureSpec] | None = None,
    ) -> None:
        """Write many Examples, from columns or from dictionaries.

        Parameters
        ----------
        rows : mapping of str to column, or iterable of dict
            Columns as :func:`~tfrecord_lite.encode_examples` takes them, which is fastest;
            or any iterable of rows, as :meth:`write_example` takes them.
        schema : Schema, or mapping of str to feature specification, optional
            What the records are to be read with.

        Raises
        ------
        InvalidArgumentError, TypeError
            `index` is the number of the record among `rows`. Of columns nothing is written
            then; of an iterable all rows before that one.
        FailedPreconditionError
            ``CLOSED`` after :meth:`close`.
        OSError
            If the records collected so far cannot be written. They stay pending; those of
            `rows` that had not been taken in are not among them.
        """
        self._check_open()
        if isinstance(rows, Mapping):
            from tfrecord_lite.example.encode.columns import encode_batches  # noqa: PLC0415 - see above

            for block in encode_batches(rows, schema):
                self._add_records(block)
        elif schema is None:
            for index, row in enumerate(rows):
                self._numbered(index, self.write_example, row)
        else:
            self._write_fitted(rows, schema)

    def write_sequence_example(self, row: Mapping[str, Mapping[str, Any]]) -> None:
        """Write a dictionary as one SequenceExample.

        Parameters
        ----------
        row : mapping
            As :func:`~tfrecord_lite.encode_sequence_example` takes it.

        Raises
        ------
        InvalidArgumentError, TypeError
            If the row cannot be encoded; nothing of it is written.
        FailedPreconditionError
            ``CLOSED`` after :meth:`close`.
        OSError
            If the record cannot be written.
        """
        from tfrecord_lite.example.sequence.encode import encode_sequence_example  # noqa: PLC0415

        self._check_open()
        self._add_records([encode_sequence_example(row)])

    def write_sequence_examples(
        self,
        context: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
        feature_lists: Mapping[str, Any] | None = None,
        lengths: Mapping[str, Any] | None = None,
    ) -> None:
        """Write many SequenceExamples, from columns or from dictionaries.

        Parameters
        ----------
        context, feature_lists, lengths
            As :func:`~tfrecord_lite.encode_sequence_examples` takes them; what a
            :class:`~tfrecord_lite.SequenceExampleParser` gives, with a ``*`` before it.

        Raises
        ------
        InvalidArgumentError, TypeError
            Of columns nothing is written then; of dictionaries all before that one.
        FailedPreconditionError
            ``CLOSED`` after :meth:`close`.
        OSError
            If the records cannot be written.
        """
        self._check_open()
        if feature_lists is None and context is not None and not isinstance(context, Mapping):
            for index, row in enumerate(context):
                self._numbered(index, self.write_sequence_example, row)
            return
        from tfrecord_lite.example.sequence.encode import (  # noqa: PLC0415 - see above
            encode_sequence_examples,
        )

        self._add_records(encode_sequence_examples(context, feature_lists, lengths))

    def _write_fitted(
        self, rows: Iterable[Mapping[str, Any]], schema: Mapping[str, FeatureSpec]
    ) -> None:
        """Write rows that are to fit a schema, some hundreds at a time."""
        from tfrecord_lite.example.encode.columns import encode_rows  # noqa: PLC0415 - see above

        batch: list[Mapping[str, Any]] = []
        first = 0

        def write_batch() -> None:
            try:
                block = encode_rows(batch, schema)
            except (TypeError, ValueError):
                # One of them is at fault: those before it are written, and it is named.
                for index, row in enumerate(batch, first):
                    self._numbered(index, self.write_example, row, schema)
            else:
                self._add_records(block)

        for row in rows:
            batch.append(row)
            if len(batch) == _BATCH_ROWS:
                write_batch()
                first += len(batch)
                batch = []
        if batch:
            write_batch()

    def _numbered(self, index: int, call: Callable[..., None], *arguments: Any) -> None:
        """Call; let an error about the row bear its number."""
        try:
            call(*arguments)
        except InvalidArgumentError as error:
            where = (error.offset, error.source, index)
            raise InvalidArgumentError(error.reason, *where, error.key, error.detail) from None

    def _row_buffer(self) -> RowBuffer:
        if self._rows is None:
            from tfrecord_lite.example.encode.buffer import RowBuffer  # noqa: PLC0415 - see above

            self._rows = RowBuffer()
        return self._rows

    def _add_records(self, records: Sequence[Buffer] | Block) -> None:
        """Write encoded records behind the rows that wait."""
        try:
            self._put_rows()
        except BaseException:
            self._keep(records)
            raise
        self._put(records)

    def _keep(self, records: Sequence[Buffer] | Block) -> None:
        """Have encoded records wait as rows do: what is before them cannot be written now."""
        for record in records if not isinstance(records, Block) else records.views():
            self._row_buffer().add_record(bytes(record))

    def _put_rows(self) -> None:
        """Encode the rows that wait, if any, and write them."""
        if self._rows:
            self._put(self._rows.encoded(), self._rows)
