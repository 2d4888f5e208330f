"""parse_example, parse_single_example, and ExampleParser, which they are made with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Generic, Literal, TypeVar, cast, overload

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.block import Block
from tfrecord_lite.columns import Column, RaggedTensor, SparseTensor
from tfrecord_lite.convert.lists import Lists, SparseLists, row_of
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.example.decode import reader
from tfrecord_lite.example.decode.first_error import Found, parse_or_first_error
from tfrecord_lite.options import hinted
from tfrecord_lite.schema import DenseLike, FeatureLike, RaggedFeature, SparseSpec
from tfrecord_lite.schema.prepare import prepare, specifications
from tfrecord_lite.texts import listed

_ColumnT_co = TypeVar("_ColumnT_co", covariant=True)
"""The type of all columns, where the specifications are of one family; else any Column."""


@hinted
class ExampleParser(Generic[_ColumnT_co]):
    """Parse batches of Example messages into columns; prepared once, used many times.

    Several threads may use it at once. It can be pickled.

    Parameters
    ----------
    features : mapping of str to feature specification
        The features to read: a dict, or a Schema, whose originals give columns the dtypes and shapes
        that they had before they were stored. A dtype (``int``, ``"float32"``, ``bytes``), or a tuple
        of dtype and shape, stands for a FixedLenFeature.
    strings : {"ndarray", "BytesColumn"}, optional
        The form of byte strings: object arrays of ``bytes``; or a :class:`BytesColumn`, without an
        object per value, where the feature is dense with shape [] or ragged without partitions.

    Raises
    ------
    InvalidArgumentError, TypeError
        For specifications that are not valid (rules E2, E7, X2, X7, ...).

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> parser = ExampleParser({"name": bytes, "age": int})
    >>> parser(people[:2])["age"], parser(people[2:])["age"]  # made once, used for each batch
    (array([36, 41]), array([37]))
    """

    @overload
    def __init__(
        self: ExampleParser[AnyArray],
        features: Mapping[str, DenseLike],
        *,
        strings: Literal["ndarray"] = "ndarray",
    ) -> None: ...
    @overload
    def __init__(
        self: ExampleParser[SparseTensor],
        features: Mapping[str, SparseSpec],
        *,
        strings: reader.StringForm = "ndarray",
    ) -> None: ...
    @overload
    def __init__(
        self: ExampleParser[RaggedTensor],
        features: Mapping[str, RaggedFeature],
        *,
        strings: reader.StringForm = "ndarray",
    ) -> None: ...
    @overload
    def __init__(
        self: ExampleParser[Column],
        features: Mapping[str, FeatureLike],
        *,
        strings: reader.StringForm = "ndarray",
    ) -> None: ...
    def __init__(
        self, features: Mapping[str, FeatureLike], *, strings: reader.StringForm = "ndarray"
    ) -> None:
        specs = specifications(features)
        self._reader = reader.FeatureReader(prepare(specs), specs, strings)
        self.features: Mapping[str, FeatureLike] = specs
        self.strings = strings
        self._hint: str | None = None

    def __call__(
        self, serialized: reader.Serialized, example_names: Sequence[str] | None = None
    ) -> dict[str, _ColumnT_co]:
        r"""Parse a batch of messages.

        Parameters
        ----------
        serialized : Block, sequence of bytes, or object array of bytes
            One serialised ``tf.train.Example`` each; str is encoded as UTF-8.
        example_names : sequence of str, optional
            Names of the messages, for errors (rule E3).

        Returns
        -------
        dict of str to result
            FixedLenFeature: ndarray (n, \\*shape). FixedLenSequenceFeature: ndarray
            (n, longest, \\*shape). VarLenFeature and SparseFeature: SparseTensor. RaggedFeature:
            RaggedTensor. All own their memory.

        Raises
        ------
        InvalidArgumentError
            About the first message that is wrong: ``MALFORMED``, ``MISSING``,
            ``WRONG_KIND``, ``WRONG_COUNT``, ``BAD_INDEX``, ``BAD_PARTITION``; or
            ``TENSOR_TOO_LARGE`` about the longest one, if there is not enough memory to pad
            all to it; or ``BAD_ARGUMENT`` for `example_names` of another length.
        TypeError
            For one message instead of a sequence, and for messages that are not bytes.
        """
        block = reader.as_block(serialized)
        names = reader.checked_names(example_names, (len(block),))
        (columns,) = self._parse(block, [0, len(block)], names)
        return cast("dict[str, _ColumnT_co]", columns)  # as the overloads of __init__ say

    def parse_batches(self, block: Block, splits: Sequence[int]) -> list[dict[str, _ColumnT_co]]:
        """Parse several batches at once, at little more than the cost of one.

        Parameters
        ----------
        block : Block
            The messages of all batches.
        splits : sequence of int
            Where each batch begins in the block, and the last ends: ascending, from 0 to the
            number of messages. A batch may be empty.

        Returns
        -------
        list of dict
            For each batch what a call with its messages returns; no two share memory.

        Raises
        ------
        InvalidArgumentError
            As for a batch; ``BAD_ARGUMENT`` for other splits; ``MALFORMED`` for a batch without a
            value whose messages are of another type, such as SequenceExamples.

        Examples
        --------
        >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> ExampleParser({"age": int}).parse_batches(people, [0, 2, 3])
        [{'age': array([36, 41])}, {'age': array([37])}]
        """
        bounds = reader.checked_splits(splits, len(block))
        batches = self._parse(block, bounds)
        for columns, (start, stop) in zip(batches, pairwise(bounds), strict=True):
            if columns and not any(map(_n_values, columns.values())):
                from tfrecord_lite.example.content import ContentType  # noqa: PLC0415 - seldom needed
                from tfrecord_lite.example.survey import TypeCheck  # noqa: PLC0415 - seldom needed

                try:
                    TypeCheck(ContentType.EXAMPLE)(block[start:stop])
                except InvalidArgumentError as error:
                    if error.index is None or error.offset is not None:
                        raise
                    # A record from memory has its number in the slice.
                    raise error.at(index=start + error.index) from None
        return cast("list[dict[str, _ColumnT_co]]", batches)

    def parse_single(self, serialized: bytes | str, name: str | None = None) -> dict[str, Column]:
        """Parse one message; results have no batch dimension (rules X1, S2, V1, Z1, G1).

        Examples
        --------
        >>> parser = ExampleParser({"name": bytes, "age": int})
        >>> parser.parse_single(encode_example({"name": "Ada", "age": 36}))
        {'name': array(b'Ada', dtype=object), 'age': array(36)}
        """
        block = Block.from_records([reader.as_bytes(serialized)])
        (columns,) = self._parse(block, [0, 1], reader.checked_names(name, ()), single=True)
        return {feature: row_of(column, 0) for feature, column in columns.items()}

    def _parse(
        self,
        block: Block,
        splits: list[int],
        names: Sequence[str] | None = None,
        *,
        single: bool = False,
    ) -> list[dict[str, Column]]:
        """Parse several batches at once."""

        def parse(records: Block) -> list[dict[str, Column]]:
            own = splits if records is block else [0, len(records)]
            return self._reader.read(records, own, single=single)

        return self._or_first_error(block, names, parse)

    def _read_lists(self, block: Block) -> dict[str, Lists | SparseLists]:
        return self._or_first_error(block, None, self._reader.lists_of)

    def _reader_of(self, path: str) -> tuple[reader.ColumnReader, str]:
        return self._reader, path

    def _or_first_error(
        self, block: Block, names: Sequence[str] | None, parse: Callable[[Block], Found]
    ) -> Found:
        """Parse a block; the error is about the first message that is wrong."""
        if self._hint is not None:
            from tfrecord_lite.example.survey import reject_sequences  # noqa: PLC0415 - loaded before

            reject_sequences(block, is_first=False)
        try:
            return parse_or_first_error(block, names, parse)
        except InvalidArgumentError as error:
            if self._hint is None or error.key is None:
                raise
            raise error.at(detail=f"{error.detail or error.reason}; {self._hint}") from None

    def __repr__(self) -> str:
        """Return the number of features, and the names of the first."""
        return f"ExampleParser({listed(self.features, 'feature')})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the specifications, not what was learnt."""
        if self._reader.rejects_others:
            return partial(parser_of_all, strings=self.strings, hint=self._hint), (self.features,)
        return partial(ExampleParser, strings=self.strings), (self.features,)


def parser_of_all(
    features: Mapping[str, FeatureLike],
    *,
    strings: reader.StringForm = "ndarray",
    hint: str | None = None,
) -> ExampleParser[Column]:
    """Return a parser that rejects records with values of other features, ``WRONG_KIND``.

    The hint ends the errors about features.
    """
    parser = ExampleParser(features, strings=strings)
    parser._reader.rejects_others, parser._hint = True, hint  # noqa: SLF001 - a second constructor
    return parser


@overload
def parse_example(
    serialized: reader.Serialized | bytes | str,
    features: Mapping[str, DenseLike],
    example_names: Sequence[str] | None = None,
    name: str | None = None,
) -> dict[str, AnyArray]: ...
@overload
def parse_example(
    serialized: reader.Serialized | bytes | str,
    features: Mapping[str, SparseSpec],
    example_names: Sequence[str] | None = None,
    name: str | None = None,
) -> dict[str, SparseTensor]: ...
@overload
def parse_example(
    serialized: Block | list[bytes],
    features: Mapping[str, RaggedFeature],
    example_names: Sequence[str] | None = None,
    name: str | None = None,
) -> dict[str, RaggedTensor]: ...
@overload
def parse_example(
    serialized: reader.Serialized | bytes | str,
    features: Mapping[str, FeatureLike],
    example_names: Sequence[str] | None = None,
    name: str | None = None,
) -> dict[str, Column]: ...
@hinted
def parse_example(
    serialized: reader.Serialized | bytes | str,
    features: Mapping[str, FeatureLike],
    example_names: Sequence[str] | None = None,
    name: str | None = None,  # noqa: ARG001
) -> Any:
    """Parse a batch of Example messages, as ``tf.io.parse_example``.

    Parameters
    ----------
    serialized : Block, sequence of bytes, object array, or bytes
        The messages. One message gives the results of :func:`parse_single_example` (rule E1).
    features : mapping of str to feature specification
    example_names : sequence of str, optional
        For errors.
    name : str, optional
        Ignored: the name of an operation in TensorFlow.

    Returns
    -------
    dict of str to result
        As :class:`ExampleParser` returns it, which is faster for many batches; the same errors.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, None]})
    >>> parse_example(people, {"name": bytes, "age": FixedLenFeature([], int, -1)})
    {'name': array([b'Ada', b'Alan', b'Grace'], dtype=object), 'age': array([36, 41, -1])}
    """
    parser = ExampleParser(features)
    if reader.is_one_message(serialized):
        name_of_it: Any = example_names
        return parser.parse_single(reader.as_bytes(serialized), name_of_it)
    batch: Any = serialized
    return parser(batch, example_names)


@overload
def parse_single_example(
    serialized: bytes | str,
    features: Mapping[str, DenseLike],
    example_names: str | None = None,
    name: str | None = None,
) -> dict[str, AnyArray]: ...
@overload
def parse_single_example(
    serialized: bytes | str,
    features: Mapping[str, SparseSpec],
    example_names: str | None = None,
    name: str | None = None,
) -> dict[str, SparseTensor]: ...
@overload
def parse_single_example(
    serialized: bytes | str,
    features: Mapping[str, FeatureLike],
    example_names: str | None = None,
    name: str | None = None,
) -> dict[str, Column]: ...
@hinted
def parse_single_example(
    serialized: bytes | str,
    features: Mapping[str, FeatureLike],
    example_names: str | None = None,
    name: str | None = None,  # noqa: ARG001
) -> Any:
    """Parse one Example message, as ``tf.io.parse_single_example``.

    Parameters
    ----------
    serialized : bytes or str
    features : mapping of str to feature specification
    example_names : str, optional
        For errors.
    name : str, optional
        Ignored: the name of an operation in TensorFlow.

    Returns
    -------
    dict of str to result
        Without the batch dimension.

    Raises
    ------
    InvalidArgumentError
        As :class:`ExampleParser`; ``BAD_ARGUMENT`` for a vector of messages.

    Examples
    --------
    >>> ada = encode_example({"name": "Ada", "age": 36})
    >>> parse_single_example(ada, {"name": bytes, "age": int})
    {'name': array(b'Ada', dtype=object), 'age': array(36)}
    """
    message = reader.as_one_message(serialized, "parse_example")
    return ExampleParser(features).parse_single(message, example_names)


def _n_values(column: Column) -> int:
    """Return how many values a column has."""
    if isinstance(column, SparseTensor):
        return len(column.values)
    values: Any = column.flat_values if isinstance(column, RaggedTensor) else column
    return values.size if isinstance(values, np.ndarray) else len(values)
