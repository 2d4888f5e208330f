"""parse_sequence_example, parse_single_sequence_example, and the parser behind them.

The context is read and built as an Example is; of feature lists each *step* is what a
message is there, so that most of :mod:`.build` serves both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.decode.first_error import Misfit, first_wrong
from tfrecord_lite.example.decode.reader import (
    FeatureReader,
    as_block,
    as_bytes,
    as_one_message,
    build_all,
    checked_names,
    column_of,
    is_one_message,
)
from tfrecord_lite.example.sequence import build
from tfrecord_lite.example.sequence.batch import SequenceBatch
from tfrecord_lite.example.sequence.build import StepColumn
from tfrecord_lite.schema import Dense, Kind, Padded, Ragged, keys_to_read, prepare_sequence
from tfrecord_lite.wire.keys import KeyTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tfrecord_lite.arrays import Int64Array
    from tfrecord_lite.block import Block
    from tfrecord_lite.example.decode.reader import Result, Serialized
    from tfrecord_lite.schema import FeatureSpec, Prepared

    Features = Mapping[str, FeatureSpec]
    Results = dict[str, Result]
    Lengths = dict[str, Int64Array]

__all__ = ["SequenceExampleParser", "parse_sequence_example", "parse_single_sequence_example"]


class SequenceExampleParser:
    """Parses batches of SequenceExample messages into columns; prepared once.

    Parameters
    ----------
    context_features : mapping of str to feature specification, optional
        FixedLenFeature, VarLenFeature and RaggedFeature.
    sequence_features : mapping of str to feature specification, optional
        FixedLenSequenceFeature, VarLenFeature and RaggedFeature. What is not named, in
        either, costs next to nothing.
    strings : {"ndarray", "BytesColumn"}, optional
        What byte strings come as, where they are dense with shape [] in the context, or
        ragged without partitions: object arrays of ``bytes``, or a :class:`BytesColumn`.

    Raises
    ------
    InvalidArgumentError, TypeError
        For specifications that cannot be (rules Q2, Q3, L1, E7, X2, X7, ...).

    Notes
    -----
    May be used by several threads at once. Can be pickled.

    Examples
    --------
    >>> from tfrecord_lite import FixedLenSequenceFeature, SequenceExample
    >>> example = SequenceExample()
    >>> for token in (7, 8):
    ...     step = example.feature_lists.feature_list["tokens"].feature.add()
    ...     step.int64_list.value.append(token)
    >>> parser = SequenceExampleParser({}, {"tokens": FixedLenSequenceFeature([], "int64")})
    >>> parser([example.SerializeToString(), b""][:1])
    ({}, {'tokens': array([[7, 8]])}, {'tokens': array([2])})
    """

    def __init__(
        self,
        context_features: Features | None = None,
        sequence_features: Features | None = None,
        *,
        strings: Literal["ndarray", "BytesColumn"] = "ndarray",
    ) -> None:
        if strings not in ("ndarray", "BytesColumn"):
            detail = f"strings is {strings!r}, expected 'ndarray' or 'BytesColumn'"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        context, self._lists = prepare_sequence(context_features, sequence_features)
        self._features = dict(context_features or {}), dict(sequence_features or {})
        self._strings = strings
        self._required = [
            feature
            for feature in context.values()
            if isinstance(feature, Dense) and feature.default is None and feature.size
        ]
        self._context = FeatureReader(context, strings, no_kind_is_missing=False)
        self._kinds = keys_to_read(self._lists)
        self._numbers = {key: number for number, key in enumerate(self._kinds)}
        self._table = KeyTable([key.encode() for key in self._kinds])

    def __call__(
        self, serialized: Serialized, example_names: Sequence[str] | None = None
    ) -> tuple[Results, Results, Lengths]:
        r"""Parse a batch of messages.

        Parameters
        ----------
        serialized : Block, sequence of bytes, or object array of bytes
            One serialised ``tf.train.SequenceExample`` each; str is taken as UTF-8. From
            a Block, no object a record is ever made.
        example_names : sequence of str, optional
            Names of the messages, for errors.

        Returns
        -------
        context : dict of str to result
            As :class:`ExampleParser` gives it.
        feature_lists : dict of str to result
            FixedLenSequenceFeature: ndarray (n, most steps, \\*shape), padded with 0 or
            ``b""`` (rule L1); one long list makes the result of all messages large, see
            the notes. VarLenFeature: SparseTensor (n, most steps, most values)
            (rule L4). RaggedFeature: RaggedTensor, rows of steps of values (rule L5).
        feature_list_lengths : dict of str to int64, shape (n,)
            Steps in each message, for each FixedLenSequenceFeature (rule Q4).

        Raises
        ------
        InvalidArgumentError
            About the first message that is wrong: ``MALFORMED``, ``MISSING``,
            ``WRONG_KIND``, ``WRONG_COUNT``, ``BAD_PARTITION``; or ``TENSOR_TOO_LARGE``
            about the longest one, if there is no memory to pad all to it; or
            ``BAD_ARGUMENT`` for `example_names` of another length; or ``MISSING`` for no
            messages at all, if a context feature is required (rule Q9).
        TypeError
            For one message instead of a sequence, and messages that are no bytes.

        Notes
        -----
        Padding has no limit but memory, as in TensorFlow: beside one message of ten million
        steps, each of a thousand short ones takes the room of ten million. A RaggedFeature
        is never padded; for messages of unknown origin ask for that.
        """
        block = as_block(serialized)
        names = checked_names(example_names, (len(block),))
        if not len(block) and self._required:
            detail = "there are no messages, and it has no default value"
            raise InvalidArgumentError(Reason.MISSING, key=self._required[0].key, detail=detail)
        return first_wrong(block, names, lambda some: self._parse(some, single=False))

    def parse_single(
        self, serialized: bytes | str, name: str | None = None
    ) -> tuple[Results, Results, Lengths]:
        """Parse one message; results have no batch dimension (rule Q1).

        Raises
        ------
        InvalidArgumentError
            As for a batch.
        """
        block = as_block([as_bytes(serialized)])
        named = np.ravel([] if name is None else name)  # one in a list is as good (rule Q1)
        names = checked_names(named, (1,))
        return first_wrong(block, names, lambda some: self._parse(some, single=True))

    def _parse(self, block: Block, *, single: bool) -> tuple[Results, Results, Lengths]:
        """Parse; the error is about one of the messages that are wrong, maybe not the first."""
        starts, stops = block.offsets, block.offsets + block.lengths
        batch = SequenceBatch(block.data, starts, stops, self._table)
        misfits = []
        context: Results = {}
        lists: Results = {}
        lengths: Lengths = {}
        try:
            context = self._context.read(block.data, starts, batch.context_stops, single=single)
        except Misfit as misfit:
            misfits.append(misfit)
        columns: dict[str, StepColumn] = {}

        def column(key: str) -> StepColumn:
            if key not in columns:
                columns[key] = self._column(batch, key)
            return columns[key]

        def build_one(feature: Prepared) -> Result:
            if isinstance(feature, Padded) and feature.kind is Kind.FLOAT and not single:
                found = batch.padded_floats(self._numbers[feature.key], feature.size)
                if found is not None:
                    values, lengths[feature.key] = found
                    return values.reshape(*values.shape[:2], *feature.shape)
            return _build(feature, column, lengths, single=single)

        try:
            lists = build_all(self._lists, build_one)
        except Misfit as misfit:
            misfits.append(misfit)
        if misfits:
            raise min(misfits, key=lambda misfit: misfit.message)
        return context, lists, lengths

    def _column(self, batch: SequenceBatch, key: str) -> StepColumn:
        """Read one list, and refuse messages with steps of another kind (rule L6)."""
        kind = self._kinds[key]
        lists = batch.lists(self._numbers[key], kind)
        try:
            steps = column_of(batch.data, key, kind, lists.steps, self._strings)
        except Misfit as misfit:
            raise build.of_message(misfit, lists.n_steps) from None
        return StepColumn(key, lists, steps)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was asked for, not what was learnt."""
        return _remake, (*self._features, self._strings)


def _remake(
    context: Features | None, lists: Features | None, strings: Literal["ndarray", "BytesColumn"]
) -> SequenceExampleParser:
    return SequenceExampleParser(context, lists, strings=strings)


def _build(
    feature: Prepared, column: Callable[[str], StepColumn], lengths: Lengths, *, single: bool
) -> Result:
    """Build the result of one feature list; its lengths go into a dictionary, if it has some."""
    match feature:
        case Padded():
            result, lengths[feature.key] = build.padded(column(feature.key), feature, single=single)
            return result
        case Ragged():
            partitions = {key: column(key) for key, _ in feature.reads()[1:]}
            return build.ragged(column(feature.key), partitions, feature, single=single)
        case _:  # rule Q3 leaves this one
            return build.var_len(column(feature.reads()[0][0]), single=single)


def parse_sequence_example(
    serialized: Serialized | bytes | str,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: Sequence[str] | None = None,
    name: str | None = None,  # noqa: ARG001
) -> tuple[Results, Results, Lengths]:
    """Parse a batch of SequenceExample messages, as ``tf.io.parse_sequence_example``.

    Parameters
    ----------
    serialized : Block, sequence of bytes, object array, or bytes
        The messages. A single one gives the results of the single call (rule Q1).
    context_features, sequence_features : mapping of str to feature specification, optional
        At least one of them.
    example_names : sequence of str, optional
        For errors.
    name : str, optional
        Ignored; TensorFlow names its operation so.

    Returns
    -------
    context, feature_lists, feature_list_lengths : dict
        As :class:`SequenceExampleParser`, which is faster when there are many batches.

    Raises
    ------
    InvalidArgumentError, TypeError
        As :class:`SequenceExampleParser`.

    Notes
    -----
    Each FixedLenSequenceFeature is padded to the longest list of the batch, however long
    that is; see :meth:`SequenceExampleParser.__call__`.
    """
    parser = SequenceExampleParser(context_features, sequence_features)
    batch: Any = serialized
    if is_one_message(serialized):
        name_of_it: Any = example_names
        return parser.parse_single(as_bytes(serialized), name_of_it)
    return parser(batch, example_names)


def parse_single_sequence_example(
    serialized: bytes | str,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: str | None = None,
    name: str | None = None,  # noqa: ARG001
) -> tuple[Results, Results]:
    """Parse one SequenceExample message, as ``tf.io.parse_single_sequence_example``.

    Parameters
    ----------
    serialized : bytes or str
    context_features, sequence_features : mapping of str to feature specification, optional
        At least one of them.
    example_name : str, optional
        For errors.
    name : str, optional
        Ignored; TensorFlow names its operation so.

    Returns
    -------
    context, feature_lists : dict of str to result
        Without the batch dimension.

    Raises
    ------
    InvalidArgumentError
        As :class:`SequenceExampleParser`; ``BAD_ARGUMENT`` for a vector of messages.
    """
    message = as_one_message(serialized, "parse_sequence_example")
    parser = SequenceExampleParser(context_features, sequence_features)
    context, lists, _ = parser.parse_single(message, example_name)
    return context, lists
