"""SequenceExampleParser, parse_sequence_example: messages to columns, as TensorFlow's.

The context is read as an Example; in a feature list each *step* takes the place of a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from tfrecord_lite.arrays import AnyArray, Int64Array, first_true
from tfrecord_lite.block import Block
from tfrecord_lite.columns import Column
from tfrecord_lite.convert.lists import Lists, SparseLists, row_of
from tfrecord_lite.convert.restore import restore, restore_values, result
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.decode import build, first_error, reader
from tfrecord_lite.example.parse import ExampleParser
from tfrecord_lite.example.sequence.batch import SequenceMessageBatch, sequences_in
from tfrecord_lite.options import hinted
from tfrecord_lite.schema import FeatureLike, Schema, prepare
from tfrecord_lite.schema.schema import check_steps
from tfrecord_lite.schema.types import Type
from tfrecord_lite.texts import listed

Features: TypeAlias = "Mapping[str, FeatureLike]"
Results: TypeAlias = "dict[str, Column]"
Lengths: TypeAlias = "dict[str, Int64Array]"


@hinted
class SequenceExampleParser:
    r"""Parse batches of SequenceExample messages into columns; prepared once, used many times.

    Several threads may use it at once. It can be pickled.

    Parameters
    ----------
    context_features : mapping of str to feature specification, optional
        FixedLenFeature, VarLenFeature and RaggedFeature; of a Schema with their original dtypes and shapes.
    sequence_features : mapping of str to feature specification, optional
        FixedLenSequenceFeature, VarLenFeature and RaggedFeature. A dtype, or a tuple of dtype and
        shape, stands for a FixedLenFeature in the context, and for steps of that dtype and shape in a
        list. Lists of a Schema have steps of their original dtypes and shapes, which may vary.
    strings : {"ndarray", "BytesColumn"}, optional
        Return byte strings as object arrays of ``bytes``, or as a :class:`BytesColumn` where
        they are dense with shape [] in the context, or ragged without partitions.
    pad : bool, default True
        Whether to pad the lists of FixedLenSequenceFeatures. Without, they are RaggedTensors of
        shape (n, None, \\*shape), and have no lengths; lists with an original type always are.

    Raises
    ------
    InvalidArgumentError, TypeError
        For specifications that are not valid (rules Q2, Q3, L1, E7, X2, X7, ...).

    Examples
    --------
    >>> block = encode_sequence_examples({"id": [1, 2]}, {"tokens": [[5, 6], [7]]})
    >>> parser = SequenceExampleParser({"id": int}, {"tokens": FixedLenSequenceFeature([], int)})
    >>> context, lists, lengths = parser(block)
    >>> context["id"], lists["tokens"].tolist(), lengths["tokens"]
    (array([1, 2]), [[5, 6], [7, 0]], array([2, 1]))
    """

    def __init__(
        self,
        context_features: Features | None = None,
        sequence_features: Features | None = None,
        *,
        strings: Literal["ndarray", "BytesColumn"] = "ndarray",
        pad: bool = True,
    ) -> None:
        context, lists = prepare.prepare_sequence(context_features, sequence_features)
        context_specs = prepare.specifications({} if context_features is None else context_features)
        list_specs = prepare.specifications(sequence_features or {}, is_list=True)
        if isinstance(list_specs, Schema):
            check_steps(list_specs)
        self.features: tuple[Features, Features] = context_specs, list_specs
        self.strings = strings
        dense = [feature for feature in context.values() if isinstance(feature, prepare.Dense)]
        self._required = [f for f in dense if f.default is None and f.size]
        self._context = reader.FeatureReader(
            context, context_specs, strings, no_kind_is_missing=False
        )
        self._lists = FeatureListReader(lists, list_specs, strings, pad=pad)

    def __call__(
        self, serialized: reader.Serialized, example_names: Sequence[str] | None = None
    ) -> tuple[Results, Results, Lengths]:
        r"""Parse a batch of messages.

        Parameters
        ----------
        serialized : Block, sequence of bytes, or object array of bytes
            Serialised ``tf.train.SequenceExample`` messages; a str is encoded as UTF-8.
        example_names : sequence of str, optional
            Names of the messages, for errors.

        Returns
        -------
        context : dict of str to result
            As :class:`ExampleParser` returns it.
        feature_lists : dict of str to result
            FixedLenSequenceFeature: ndarray (n, most steps, \\*shape), padded with 0 or
            ``b""`` (rule L1). VarLenFeature: SparseTensor (n, most steps, most values) (rule L4).
            RaggedFeature: RaggedTensor, rows of steps of values (rule L5). All own their memory.
        feature_list_lengths : dict of str to int64, shape (n,)
            Steps in each message, for each FixedLenSequenceFeature (rule Q4).

        Raises
        ------
        InvalidArgumentError
            For the first message that is wrong: ``MALFORMED``, ``MISSING``, ``WRONG_KIND``,
            ``WRONG_COUNT``, ``BAD_PARTITION``. ``TENSOR_TOO_LARGE`` for the longest one, if
            there is no memory to pad all to its length. ``BAD_ARGUMENT`` for
            `example_names` of another length. ``MISSING`` if there are no messages, but a
            context feature is required (rule Q9).
        TypeError
            For one message instead of a sequence, and for messages that are not bytes.

        Notes
        -----
        Only memory limits the padding, as in TensorFlow: one long list makes the whole result large.
        For messages of unknown origin use a RaggedFeature, or ``pad=False``.
        """
        block = reader.as_block(serialized)
        names = reader.checked_names(example_names, (len(block),))
        if not len(block) and self._required:
            key = self._required[0].key
            detail = f"a batch of 0 messages has no value for the required feature {key!r}"
            raise InvalidArgumentError(Reason.MISSING, key=key, detail=detail)
        return self._parse(block, [0, len(block)], names)[0]

    def parse_block(self, block: Block) -> tuple[Results, Results, Lengths]:
        """Parse a block; one without messages gives results without rows, whatever is required.

        Examples
        --------
        >>> block = encode_sequence_examples({}, {"tokens": [[5, 6], [7], [8]]})
        >>> parser = SequenceExampleParser({}, {"tokens": FixedLenSequenceFeature([], int)})
        >>> context, lists, lengths = parser.parse_block(block[:0])
        >>> lists["tokens"].shape, lengths["tokens"].shape
        ((0, 0), (0,))
        """
        return self._parse(block, [0, len(block)])[0]

    def parse_single(
        self, serialized: bytes | str, name: str | None = None
    ) -> tuple[Results, Results, Lengths]:
        """Parse one message; results have no batch dimension (rule Q1).

        Examples
        --------
        >>> tokens = FixedLenSequenceFeature([], int)
        >>> parser = SequenceExampleParser({"id": int}, {"tokens": tokens})
        >>> row = {"context": {"id": 1}, "feature_lists": {"tokens": [[5], [6]]}}
        >>> parser.parse_single(encode_sequence_example(row))
        ({'id': array(1)}, {'tokens': array([5, 6])}, {'tokens': array(2)})
        """
        block = reader.as_block([reader.as_bytes(serialized)])
        named = np.ravel([] if name is None else name)  # also a name in a list (rule Q1)
        names = reader.checked_names(named, (1,))
        context, lists, lengths = self._parse(block, [0, 1], names, single=True)[0]

        def first_of(columns: Mapping[str, Any]) -> dict[str, Any]:
            return {name: row_of(column, 0) for name, column in columns.items()}

        return first_of(context), first_of(lists), first_of(lengths)

    def parse_batches(
        self, block: Block, splits: Sequence[int]
    ) -> list[tuple[Results, Results, Lengths]]:
        """Parse several batches at once.

        Parameters
        ----------
        block : Block
        splits : sequence of int
            As for :meth:`ExampleParser.parse_batches`.

        Returns
        -------
        list of tuple
            For each batch what :meth:`parse_block` returns for its messages.

        Raises
        ------
        InvalidArgumentError
            As for a batch; ``BAD_ARGUMENT`` for other splits.

        Examples
        --------
        >>> block = encode_sequence_examples({}, {"tokens": [[5, 6], [7], [8]]})
        >>> parser = SequenceExampleParser({}, {"tokens": FixedLenSequenceFeature([], int)})
        >>> [lists["tokens"].tolist() for _, lists, _ in parser.parse_batches(block, [0, 2, 3])]
        [[[5, 6], [7, 0]], [[8]]]
        """
        return self._parse(block, reader.checked_splits(splits, len(block)))

    def _parse(
        self,
        block: Block,
        splits: list[int],
        names: Sequence[str] | None = None,
        *,
        single: bool = False,
    ) -> list[tuple[Results, Results, Lengths]]:
        """Parse several batches at once; the error is about the first message that is wrong."""

        def parse(records: Block) -> list[tuple[Results, Results, Lengths]]:
            own = splits if records is block else [0, len(records)]
            batch = sequences_in(records, self._lists.table)
            contexts = self._context.read(batch.contexts(records), own, single=single)
            lists = self._lists.read(batch, own, single=single)
            return [(context, *parsed) for context, parsed in zip(contexts, lists, strict=True)]

        return first_error.parse_or_first_error(block, names, parse, "SequenceExample")

    def _read_lists(self, block: Block) -> dict[str, Lists | SparseLists]:
        def parse(records: Block) -> dict[str, Lists | SparseLists]:
            batch = sequences_in(records, self._lists.table)
            features = self._context.lists_of(batch.contexts(records))
            steps = {name: reader.apart(lists) for name, lists in self._lists.lists(batch).items()}
            return {f"context/{name}": lists for name, lists in features.items()} | {
                f"feature_lists/{name}": lists for name, lists in steps.items()
            }

        return first_error.parse_or_first_error(block, None, parse, "SequenceExample")

    def _reader_of(self, path: str) -> tuple[reader.ColumnReader, str]:
        part, _, name = path.partition("/")
        return self._context if part == "context" else self._lists, name

    def __repr__(self) -> str:
        """Return the numbers of features and lists, and the names of the first."""
        context, lists = self.features
        features, names = listed(context, "context feature"), listed(lists, "feature list")
        return f"SequenceExampleParser({features}; {names})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the specifications, not what was learnt."""
        remake = partial(SequenceExampleParser, strings=self.strings, pad=self._lists.pad)
        return remake, self.features


class ListsParser:
    """Parses blocks to lists, which may be joined, and makes the results of those.

    What is in SequenceExamples is named by part: ``context/label``, ``feature_lists/frames``.
    """

    def __init__(self, parser: ExampleParser[Any] | SequenceExampleParser) -> None:
        self._parser = parser

    def __call__(self, block: Block) -> dict[str, Lists | SparseLists]:
        """Read the features and lists of a block; errors as of the parser."""
        return self._parser._read_lists(block)  # noqa: SLF001 - a method of both parsers

    def result(self, path: str, lists: Lists | SparseLists) -> Column:
        """Make the result of a feature, or of a feature list."""
        columns, name = self._parser._reader_of(path)  # noqa: SLF001 - a method of both parsers
        try:
            return cast("Column", columns.result(name, lists))
        except first_error.MisfitError as misfit:  # no room to pad
            index, key, detail = misfit.message, misfit.key, misfit.detail
            raise InvalidArgumentError(misfit.reason, index=index, key=key, detail=detail) from None


class FeatureListReader(reader.ColumnReader):
    """Reads feature lists out of batches of SequenceExamples: of a Schema with the original types of steps."""

    def __init__(
        self,
        prepared: Mapping[str, prepare.Prepared],
        features: Mapping[str, FeatureLike],
        strings: Literal["ndarray", "BytesColumn"],
        *,
        pad: bool,
    ) -> None:
        super().__init__(prepared, features, strings)
        self.pad = pad
        for name, own in self._own.items():
            if isinstance(prepared[name], prepare.Ragged):  # in each step
                self._own[name] = own._replace(shape=(None, *(own.shape or ())))

    def read(
        self, batch: SequenceMessageBatch, splits: list[int], *, single: bool
    ) -> list[tuple[Results, Lengths]]:
        """Build the results of several batches, and the lengths of padded ones."""
        whole: dict[str, Any] = self.lists(batch, single=single)
        padded = [name for name in whole if self._is_dense(name) and (self.pad or single)]
        lengths = [
            {name: whole[name].lengths[start:stop].copy() for name in padded}
            for start, stop in pairwise(splits)
        ]
        return list(zip(self.results_of(whole, splits), lengths, strict=True))

    def _column(self, batch: SequenceMessageBatch, key: str) -> Lists:
        """Read one list; raise for messages with steps of another kind (rule L6)."""
        kind, number = self.kinds[key], self.numbers[key]
        lists = batch.lists(number, kind)
        with first_error.in_steps(lists.lengths):
            reader.check_kinds(key, kind, batch.kinds(number))
        return lists

    def _read(self, _: Any, name: str, column: Callable[[str], Lists], *, single: bool) -> Lists:
        feature, own = self.prepared[name], self._own[name]
        partitions = {key: column(key) for key, _ in feature.reads()[1:]}  # of a RaggedFeature
        lists = column(feature.reads()[0][0])  # all that a VarLenFeature needs (rule Q3)
        if isinstance(feature, prepare.Padded):
            lists = _even_steps(lists, feature, own)
        elif isinstance(feature, prepare.Ragged):
            lists = _ragged(lists, partitions, feature, own)
        original = self._originals.get(name)
        return lists if original is None else _restored(name, lists, original, feature)

    def result(self, name: str, lists: Any) -> Any:
        """Make the result of a list."""
        feature = self.prepared[name]
        if isinstance(feature, prepare.Ragged):
            return build.in_rows(feature, lists, with_objects=self.strings == "ndarray")
        if not isinstance(feature, prepare.Padded):
            return build.var_len(lists, with_objects=True)
        if self.pad and self._is_dense(name):
            return _padded(lists, feature)
        return result(lists, with_objects=True)

    def _is_dense(self, name: str) -> bool:
        """Return whether all steps of a list have one shape; with an original, they may have any."""
        return isinstance(self.prepared[name], prepare.Padded) and name not in self._originals


def _restored(name: str, lists: Lists, original: Type, feature: prepare.Prepared) -> Lists:
    """Return a feature list with its steps as they were before they were stored."""
    own, restore_steps = lists.type, restore_values
    if not isinstance(feature, prepare.VarLen):  # the first dimension is the steps
        own, restore_steps = own._replace(shape=(own.shape or ())[1:]), restore
    with first_error.misfits(), first_error.in_steps(lists.lengths):
        steps = restore_steps(name, lists.below().with_(type=own), original)
    whole = steps.above(lists.lengths, lists.present)
    return whole.with_(type=steps.type._replace(shape=(None, *(steps.type.shape or ()))))


def _padded(lists: Lists, feature: prepare.Padded) -> AnyArray:
    r"""Build the result of a FixedLenSequenceFeature: shape (n, longest, \*shape) (rules L1 to L3)."""
    steps: Any = result(lists, with_objects=True).values
    fill = feature.padding if steps.dtype == object else np.zeros((), steps.dtype)
    return build.with_padding(steps, lists.lengths, steps.shape[1:], fill, feature)


def _even_steps(column: Lists, feature: prepare.Padded, own: Type) -> Lists:
    """Divide steps of one shape; raise if a list is missing, or a step is of another size."""
    key, present = feature.key, column.present
    if not feature.allow_missing and present is not None and not present.all():
        detail = "the list is missing"
        detail += "; with allow_missing=True it would have no steps" if feature.raw is None else ""
        raise first_error.MisfitError(int((~present).argmax()), Reason.MISSING, key, detail)
    steps, flat = column.below(), column.flat
    with first_error.in_steps(column.lengths):
        count = steps.levels[0]
        if not isinstance(count, int) or count != feature.size:
            build.reject_sizes(key, steps, steps.lengths != feature.size, feature)
        if feature.raw is not None:
            flat = build.raw(flat, feature.raw, key)
    shape = feature.shape if feature.raw is None else feature.raw.shape
    return Lists(column.n, own, (column.levels[0], *shape), flat)


def _ragged(
    values: Lists, partitions: dict[str, Lists], feature: prepare.Ragged, own: Type
) -> Lists:
    """Divide the values of a RaggedFeature (rule L5), with steps in the place of messages."""
    n_steps = values.lengths
    for key, column in partitions.items():
        if (first := first_true(column.lengths != n_steps)) is not None:
            actual, expected = column.lengths[first], n_steps[first]
            detail = f"found {actual} steps, expected {expected} as the values have"
            raise first_error.MisfitError(first, Reason.BAD_PARTITION, key, detail)
    steps = {key: column.below() for key, column in partitions.items()}
    with first_error.in_steps(n_steps):
        rows = build.ragged(values.below(), steps, feature, own, single=False)
    return Lists(values.n, own, (n_steps, *rows.levels), values.flat)


@hinted
def parse_sequence_example(
    serialized: reader.Serialized | bytes | str,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: Sequence[str] | None = None,
    name: str | None = None,  # noqa: ARG001
) -> tuple[Results, Results, Lengths]:
    """Parse a batch of SequenceExample messages, as ``tf.io.parse_sequence_example``.

    Parameters
    ----------
    serialized : Block, sequence of bytes, object array, or bytes
        The messages. A single one returns the results of the single call (rule Q1).
    context_features, sequence_features : mapping of str to feature specification, optional
        At least one of them.
    example_names : sequence of str, optional
        Names of the messages, for errors.
    name : str, optional
        Ignored: the name of an operation in TensorFlow.

    Returns
    -------
    context, feature_lists, feature_list_lengths : dict
        As :class:`SequenceExampleParser` returns them, which is faster for many batches; the same errors.

    Examples
    --------
    >>> block = encode_sequence_examples({"id": [1, 2, 3]}, {"tokens": [[5, 6], [7], [8]]})
    >>> context, lists, lengths = parse_sequence_example(
    ...     block, {"id": int}, {"tokens": FixedLenSequenceFeature([], int)}
    ... )
    >>> lists["tokens"], lengths["tokens"]
    (array([[5, 6],
           [7, 0],
           [8, 0]]), array([2, 1, 1]))
    """
    parser = SequenceExampleParser(context_features, sequence_features)
    batch: Any = serialized
    if reader.is_one_message(serialized):
        name_of_it: Any = example_names
        return parser.parse_single(reader.as_bytes(serialized), name_of_it)
    return parser(batch, example_names)


@hinted
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
        Name of the message, for errors.
    name : str, optional
        Ignored: the name of an operation in TensorFlow.

    Returns
    -------
    context, feature_lists : dict of str to result
        Without the batch dimension.

    Raises
    ------
    InvalidArgumentError
        As :class:`SequenceExampleParser`; ``BAD_ARGUMENT`` for several messages.

    Examples
    --------
    >>> row = {"context": {"id": 1}, "feature_lists": {"tokens": [[5], [6]]}}
    >>> parse_single_sequence_example(
    ...     encode_sequence_example(row), {"id": int}, {"tokens": FixedLenSequenceFeature([], int)}
    ... )
    ({'id': array(1)}, {'tokens': array([5, 6])})
    """
    message = reader.as_one_message(serialized, "parse_sequence_example")
    parser = SequenceExampleParser(context_features, sequence_features)
    context, lists, _ = parser.parse_single(message, example_name)
    return context, lists
