"""write_example and write_examples: what makes a writer of records one of Examples.

Rows are collected and encoded many at a time. A record written between two rows waits
with them, so everything comes out in the order in which it was written.

What encodes is loaded with the first row: writing records needs none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from typing_extensions import Buffer

    from tfrecord_lite.example.encode.buffer import RowBuffer
    from tfrecord_lite.schema import FeatureSpec

__all__ = ["ExampleWriter"]

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
        from tfrecord_lite.example.sequence.one import encode_sequence_example  # noqa: PLC0415

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
