"""Lists of Examples with a context: ``ExampleListWithContext``, as learning to rank stores them.

::

    1 examples   Example, any number      the items: documents
    2 context    Example                  what all items share: the query

All lists of a batch are split at once; then their contexts are one batch of Examples, and their
items another. Nothing is copied before that but contexts that are stored in several parts.

Format: ``tensorflow_serving/apis/input.proto`` of TensorFlow Serving.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tfrecord_lite.arrays import Int64Array, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.decode.first_error import MisfitError, first_misfit
from tfrecord_lite.example.decode.reader import as_block, as_bytes
from tfrecord_lite.example.parse import ExampleParser
from tfrecord_lite.example.proto import ITEMS, ITEMS_CONTEXT
from tfrecord_lite.example.to_dicts import ExampleDecoder
from tfrecord_lite.schema.text import listed
from tfrecord_lite.wire.fields import Fields, tokenise
from tfrecord_lite.wire.scalar import LEN, WireError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.columns import Column
    from tfrecord_lite.example.decode.reader import Serialized
    from tfrecord_lite.example.to_dicts import Row
    from tfrecord_lite.schema import FeatureLike

__all__ = [
    "ExampleList",
    "ExampleListParser",
    "ParsedExampleLists",
    "decode_example_list",
    "decode_example_lists",
]


class ExampleList(NamedTuple):
    """One list, decoded without a schema."""

    context: Row
    """The features of the context; empty without one."""
    examples: list[Row]
    """The features of each item."""


class ParsedExampleLists(NamedTuple):
    """A batch of lists as columns."""

    context: dict[str, Column]
    """A row per list."""
    examples: dict[str, Column]
    """A row per item, the items of all lists end to end."""
    row_splits: Int64Array
    """The start of each list's items, and the end of the last; shape (n_lists + 1,)."""


class _Lists(NamedTuple):
    """The parts of a batch of lists: blocks on one buffer, without places of their own."""

    contexts: Block
    examples: Block
    splits: Int64Array


class ExampleListParser:
    """Parse batches of ExampleListWithContext messages into columns.

    Parameters
    ----------
    context_features, example_features : mapping of str to feature specification
        The features to read of the contexts, and of the items; either may be empty.
    strings : {"ndarray", "BytesColumn"}, optional
        As for :class:`ExampleParser`.

    Raises
    ------
    InvalidArgumentError, TypeError
        As :class:`ExampleParser`.

    Notes
    -----
    Can be pickled.

    Examples
    --------
    >>> from tfrecord_lite.messages import ExampleListWithContext
    >>> lists = ExampleListWithContext()
    >>> n_bytes = lists.context.ParseFromString(encode_example({"query": "cake"}))
    >>> for score in (3, 1):
    ...     n_bytes = lists.examples.add().ParseFromString(encode_example({"score": score}))
    >>> parser = ExampleListParser({"query": bytes}, {"score": int})
    >>> parsed = parser([lists.SerializeToString()] * 2)
    >>> parsed.context["query"], parsed.examples["score"], parsed.row_splits
    (array([b'cake', b'cake'], dtype=object), array([3, 1, 3, 1]), array([0, 2, 4]))
    """

    def __init__(
        self,
        context_features: Mapping[str, FeatureLike],
        example_features: Mapping[str, FeatureLike],
        *,
        strings: Literal["ndarray", "BytesColumn"] = "ndarray",
    ) -> None:
        self._features = context_features, example_features
        self._context = _parser(context_features, strings)
        self._examples = _parser(example_features, strings)

    def __call__(self, serialized: Serialized) -> ParsedExampleLists:
        """Parse a batch of lists.

        Parameters
        ----------
        serialized : Block, sequence of bytes, or object array of bytes

        Returns
        -------
        ParsedExampleLists
            Owns its memory. ``RaggedTensor(column, row_splits)`` divides a column of the
            items into a row per list.

        Raises
        ------
        InvalidArgumentError
            About the first list that is wrong: ``MALFORMED``, or as
            :class:`ExampleParser`.
        """
        return ParsedExampleLists(*_read(as_block(serialized), self._context, self._examples))

    def __repr__(self) -> str:
        """Return the numbers of features, and the names of the first."""
        context, examples = self._features
        return (
            f"ExampleListParser({listed(context, 'context feature')}; "
            f"{listed(examples, 'example feature')})"
        )


def decode_example_lists(serialized: Serialized) -> list[ExampleList]:
    """Decode a batch of ExampleListWithContext messages, without a schema.

    Parameters
    ----------
    serialized : Block, sequence of bytes, or object array of bytes

    Returns
    -------
    list of ExampleList
        Each with a dictionary for the context and one per item, as
        :func:`decode_example` returns them.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED``, about the first malformed list.
    TypeError
        For one message instead of a sequence of them, and for messages that are not bytes.

    Examples
    --------
    >>> from tfrecord_lite.messages import ExampleListWithContext
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"]})
    >>> message = ExampleListWithContext(examples=[Example.FromString(person) for person in people])
    >>> [len(each.examples) for each in decode_example_lists([message.SerializeToString(), b""])]
    [3, 0]
    """
    contexts, examples, splits = _read(as_block(serialized), ExampleDecoder(), ExampleDecoder())
    bounds = splits.tolist()
    return [
        ExampleList(context, examples[first:last])
        for context, first, last in zip(contexts, bounds[:-1], bounds[1:], strict=True)
    ]


def decode_example_list(serialized: bytes | str) -> ExampleList:
    r"""Decode one ExampleListWithContext message, without a schema.

    Parameters
    ----------
    serialized : bytes or str

    Returns
    -------
    ExampleList
        A dictionary for the context, and one per item.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` if the bytes are not such a message.

    Examples
    --------
    >>> from tfrecord_lite.messages import ExampleListWithContext
    >>> ada = Example.FromString(encode_example({"age": 36}))
    >>> decode_example_list(ExampleListWithContext(examples=[ada]).SerializeToString())
    ExampleList(context={}, examples=[{'age': array([36])}])
    """
    return decode_example_lists([as_bytes(serialized)])[0]


def _parser(
    features: Mapping[str, FeatureLike], strings: Literal["ndarray", "BytesColumn"]
) -> Callable[[Block], Any]:
    """Return a parser; without features, one that returns nothing."""
    if isinstance(features, Mapping) and not features:
        return _nothing
    return ExampleParser(features, strings=strings)


def _nothing(_: Block) -> dict[str, Column]:
    return {}


def _read(
    block: Block, read_contexts: Callable[[Block], Any], read_examples: Callable[[Block], Any]
) -> tuple[Any, Any, Int64Array]:
    """Read contexts and items; errors are about the first list that is wrong."""
    try:
        lists = _split(block)
    except WireError as error:
        one = MisfitError(error.message, Reason.MALFORMED, None, error.detail)
        first = first_misfit(block, _split, one)
        if first.message:  # the lists before it can be split, but their Examples may be wrong
            _read(block[: first.message], read_contexts, read_examples)
        raise first.as_error(block, message_type="ExampleListWithContext") from None
    contexts, wrong_context = _attempt(read_contexts, lists.contexts)
    examples, wrong_example = _attempt(read_examples, lists.examples)
    wrong = _first(block, lists.splits, wrong_context, wrong_example)
    if wrong is not None:
        raise wrong
    return contexts, examples, lists.splits


def _split(block: Block) -> _Lists:
    """Find the contexts and the items of all lists."""
    fields = tokenise(block.data, block.offsets, block.offsets + block.lengths)
    fields = fields.only(fields.wire_type == LEN)
    items = fields.only(fields.number == ITEMS)
    examples = Block(block.data, items.start, items.stop - items.start)
    counts = np.bincount(items.owner, minlength=len(block))
    contexts = _contexts(block, fields.only(fields.number == ITEMS_CONTEXT))
    return _Lists(contexts, examples, row_splits(counts))


def _contexts(block: Block, found: Fields) -> Block:
    """Return the context of each list; several parts are joined, which merges them."""
    n_parts = np.bincount(found.owner, minlength=len(block))
    if n_parts.max(initial=0) > 1:
        parts: list[list[memoryview]] = [[] for _ in range(len(block))]
        view = memoryview(block.data)  # type: ignore[arg-type]
        extents = zip(found.owner.tolist(), found.start.tolist(), found.stop.tolist(), strict=True)
        for owner, start, stop in extents:
            parts[owner].append(view[start:stop])
        return Block.from_records(list(map(b"".join, parts)))
    offsets, lengths = np.zeros(len(block), np.int64), np.zeros(len(block), np.int64)
    offsets[found.owner] = found.start
    lengths[found.owner] = found.stop - found.start
    return Block(block.data, offsets, lengths)


def _attempt(read: Callable[[Block], Any], block: Block) -> tuple[Any, InvalidArgumentError | None]:
    try:
        return read(block), None
    except InvalidArgumentError as error:
        return None, error


def _first(
    block: Block,
    splits: Int64Array,
    context: InvalidArgumentError | None,
    example: InvalidArgumentError | None,
) -> InvalidArgumentError | None:
    """Return the error about the earlier list, at its place; of one list, the context's."""
    found = []
    if context is not None:
        found.append((context.index or 0, "the context", context))
    if example is not None:
        item = example.index or 0
        owner = int(np.searchsorted(splits, item, side="right")) - 1
        found.append((owner, f"example {item - int(splits[owner])} of the list", example))
    if not found:
        return None
    number, what, error = min(found, key=lambda each: each[0])
    return block.place(number).locate(error.at(detail=f"{what}: {error.detail}"))
