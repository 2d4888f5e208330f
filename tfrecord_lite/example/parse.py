"""parse_example, parse_single_example, and the parser behind them.

::

    list of bytes ─┐
    Block ─────────┴─> Batch ─> Column, one a key ─> result, one a feature
                       wire      kinds checked       build

What is wrong with a message is said of the first message of the batch that is
wrong (rule E5), whatever it is, with the file, record number and offset that the
block knows of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example import build
from tfrecord_lite.example.batch import Batch, Memory
from tfrecord_lite.example.blame import Misfit, first_misfit
from tfrecord_lite.example.build import Column
from tfrecord_lite.schema import (
    Dense,
    Kind,
    Padded,
    Ragged,
    Sparse,
    VarLen,
    keys_to_read,
    prepare,
)
from tfrecord_lite.wire.fields import WireError
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.repeated import Extents

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from tfrecord_lite.columns import RaggedTensor, SparseTensor
    from tfrecord_lite.schema import FeatureSpec, Prepared

    Result: TypeAlias = npt.NDArray[Any] | BytesColumn | RaggedTensor | SparseTensor
    Serialized: TypeAlias = Block | Sequence[bytes | str] | npt.NDArray[Any]

__all__ = ["ExampleParser", "parse_example", "parse_single_example"]


class ExampleParser:
    """Parses batches of Example messages into columns; prepared once, used many times.

    Parameters
    ----------
    features : mapping of str to feature specification
        What to read: a dict, or a Schema. Of features that are not named
        the values are passed over.
    strings : {"object", "column"}, optional
        What byte strings come as: object arrays of ``bytes``, as TensorFlow's
        ``.numpy()`` gives them; or a :class:`BytesColumn`, without an object a value,
        where the feature is dense with shape [] or ragged without partitions.

    Raises
    ------
    InvalidArgumentError, TypeError
        For specifications that cannot be (rules E2, E7, X2, X7, ...).

    Notes
    -----
    May be used by several threads at once. Can be pickled. It remembers how the
    messages of the last batch were laid out, and reads the next one faster for it.

    Examples
    --------
    >>> from tfrecord_lite import Example, FixedLenFeature
    >>> example = Example()
    >>> example.features.feature["age"].int64_list.value.append(7)
    >>> parser = ExampleParser({"age": FixedLenFeature([], "int64")})
    >>> parser([example.SerializeToString()] * 3)
    {'age': array([7, 7, 7])}
    """

    def __init__(
        self,
        features: Mapping[str, FeatureSpec],
        *,
        strings: Literal["object", "column"] = "object",
    ) -> None:
        if strings not in ("object", "column"):
            detail = f"strings is {strings!r}, expected 'object' or 'column'"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        self._features = dict(features) if features else features
        self._strings = strings
        self._prepared = prepare(features)
        self._kinds = keys_to_read(self._prepared)
        self._numbers = {key: number for number, key in enumerate(self._kinds)}
        self._table = KeyTable([key.encode() for key in self._kinds])
        self._memory = Memory()

    def __call__(
        self, serialized: Serialized, example_names: Sequence[str] | None = None
    ) -> dict[str, Result]:
        r"""Parse a batch of messages.

        Parameters
        ----------
        serialized : Block, sequence of bytes, or object array of bytes
            One serialised ``tf.train.Example`` each; str is taken as UTF-8. From a
            Block, no object a record is ever made.
        example_names : sequence of str, optional
            Names of the messages, for errors (rule E3).

        Returns
        -------
        dict of str to result
            One entry a feature. FixedLenFeature: ndarray (n, \\*shape).
            FixedLenSequenceFeature: ndarray (n, longest, \\*shape). VarLenFeature and
            SparseFeature: SparseTensor. RaggedFeature: RaggedTensor. All own their
            memory.

        Raises
        ------
        InvalidArgumentError
            About the first message that is wrong: ``MALFORMED``, ``MISSING``,
            ``WRONG_KIND``, ``WRONG_COUNT``, ``BAD_INDEX``, ``BAD_PARTITION``; or
            ``BAD_ARGUMENT`` for `example_names` of another length.
        """
        block = as_block(serialized)
        names = _checked_names(example_names, (len(block),))
        return self._parse(block, names, single=False)

    def parse_single(self, serialized: bytes | str, name: str | None = None) -> dict[str, Result]:
        """Parse one message; results have no batch dimension (rules X1, S2, V1, Z1, G1).

        Raises
        ------
        InvalidArgumentError
            As for a batch.
        """
        block = Block.from_records([as_bytes(serialized)])
        return self._parse(block, _checked_names(name, ()), single=True)

    def _parse(
        self, block: Block, names: Sequence[str] | None, *, single: bool
    ) -> dict[str, Result]:
        """Parse; when a message is wrong, look for an earlier one that is."""
        results = self._attempt(block, single=single)
        if not isinstance(results, Misfit):
            return results

        def again(first: int, stop: int) -> Misfit | None:
            found = self._attempt(block[first:stop], single=single)
            return found if isinstance(found, Misfit) else None

        misfit = first_misfit(results, again)
        raise misfit.as_error(block, names[misfit.message] if names else None)

    def _attempt(self, block: Block, *, single: bool) -> dict[str, Result] | Misfit:
        """Parse, or say what is wrong with one of the messages, maybe not the first."""
        try:
            return self._columns(block, single=single)
        except Misfit as misfit:
            return misfit
        except WireError as error:
            return Misfit(error.message, Reason.MALFORMED, None, error.detail)

    def _columns(self, block: Block, *, single: bool) -> dict[str, Result]:
        """Parse; the error is about one of the messages that are wrong, maybe not the first."""
        stops = block.offsets + block.lengths
        batch = Batch(block.data, block.offsets, stops, self._table, self._memory)
        columns: dict[str, Column] = {}

        def column(key: str) -> Column:
            if key in columns:  # for another result, which is to share no memory with the first
                return columns[key].copy()
            columns[key] = self._column(batch, key)
            return columns[key]

        results = {}
        misfits = []
        for name, feature in self._prepared.items():
            try:
                results[name] = _build(feature, column, single=single)
            except Misfit as misfit:
                misfits.append(misfit)
        if misfits:
            raise min(misfits, key=lambda misfit: misfit.message)
        return results

    def _column(self, batch: Batch, key: str) -> Column:
        """Read one key, and refuse messages that have it in another kind (rules X6, V2)."""
        kind = self._kinds[key]
        lists = batch.lists(self._numbers[key], kind)
        if lists.kinds != kind if isinstance(lists.kinds, int) else True:
            wrong = np.flatnonzero((lists.kind != kind) & (lists.kind != 0))
            if wrong.size:
                found = Kind(int(lists.kind[wrong[0]])).label
                detail = f"found {found}, expected {kind.label}"
                raise Misfit(int(wrong[0]), Reason.WRONG_KIND, key, detail)
        flat: Any = lists.flat
        if isinstance(flat, Extents):
            flat = build.strings(batch.data, flat, as_column=self._strings == "column")
        elif kind is Kind.BYTES and self._strings == "column":
            flat = BytesColumn.from_list(flat.tolist())
        return Column(key, lists, flat)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was asked for, not what was learnt."""
        return _remake, (self._features, self._strings)


def _remake(
    features: Mapping[str, FeatureSpec], strings: Literal["object", "column"]
) -> ExampleParser:
    return ExampleParser(features, strings=strings)


def _build(feature: Prepared, column: Callable[[str], Column], *, single: bool) -> Result:
    match feature:
        case Dense():
            return build.dense(column(feature.key), feature, single=single)
        case Padded():
            return build.padded(column(feature.key), feature, single=single)
        case VarLen():
            return build.var_len(column(feature.key), single=single)
        case Sparse():
            indices = [column(key) for key in feature.index_keys]
            return build.sparse(column(feature.value_key), indices, feature, single=single)
        case Ragged():
            keys = [key for key, _ in feature.reads()[1:]]
            partitions = {key: column(key) for key in keys}
            return build.ragged(column(feature.key), partitions, feature, single=single)


def as_block(serialized: Serialized) -> Block:
    """Take a batch of serialised messages in any form; no copy of a Block.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an array of another rank than 1 (rule E1).
    TypeError
        For messages that are neither bytes nor str.
    """
    if isinstance(serialized, Block):
        return serialized
    if isinstance(serialized, np.ndarray) and serialized.ndim != 1:
        detail = f"expected a vector of messages, got the shape {list(serialized.shape)}"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    return Block.from_records([as_bytes(item) for item in serialized])


def as_bytes(message: object) -> bytes:
    if isinstance(message, bytes):
        return message
    if isinstance(message, str):
        return message.encode()
    if isinstance(message, np.ndarray) and message.ndim == 0:
        return as_bytes(message.item())
    if isinstance(message, (bytearray, memoryview)):
        return bytes(message)
    if isinstance(message, (list, tuple, np.ndarray)):
        detail = "expected a vector of messages, got one of vectors"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    raise TypeError(f"a serialised message must be bytes, not {type(message).__name__}")


def _checked_names(names: Any, shape: tuple[int, ...]) -> Sequence[str] | None:
    """Return the names end to end, None for none; they must be shaped as the messages are (E3)."""
    given = np.asarray([] if names is None else names, object)
    if given.size == 0:
        return None
    if given.shape != shape:
        wanted = f"one for each of the {shape[0]} messages" if shape else "one name"
        detail = f"example_names of shape {list(given.shape)}; give {wanted}, or none"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    return list(given.ravel())


def parse_example(
    serialized: Serialized | bytes | str,
    features: Mapping[str, FeatureSpec],
    example_names: Sequence[str] | None = None,
    name: str | None = None,  # noqa: ARG001
) -> dict[str, Result]:
    """Parse a batch of Example messages, as ``tf.io.parse_example``.

    Parameters
    ----------
    serialized : Block, sequence of bytes, object array, or bytes
        The messages. A single one gives the results of the single call (rule E1).
    features : mapping of str to feature specification
    example_names : sequence of str, optional
        For errors.
    name : str, optional
        Ignored; TensorFlow names its operation so.

    Returns
    -------
    dict of str to result
        As :class:`ExampleParser`, which is faster when there are many batches.

    Raises
    ------
    InvalidArgumentError, TypeError
        As :class:`ExampleParser`.
    """
    parser = ExampleParser(features)
    if isinstance(serialized, (bytes, str, bytearray, memoryview)) or (
        isinstance(serialized, np.ndarray) and serialized.ndim == 0
    ):
        name_of_it: Any = example_names
        return parser.parse_single(as_bytes(serialized), name_of_it)
    return parser(serialized, example_names)


def parse_single_example(
    serialized: bytes | str,
    features: Mapping[str, FeatureSpec],
    example_names: str | None = None,
    name: str | None = None,  # noqa: ARG001
) -> dict[str, Result]:
    """Parse one Example message, as ``tf.io.parse_single_example``.

    Parameters
    ----------
    serialized : bytes or str
    features : mapping of str to feature specification
    example_names : str, optional
        For errors.
    name : str, optional
        Ignored; TensorFlow names its operation so.

    Returns
    -------
    dict of str to result
        Without the batch dimension.

    Raises
    ------
    InvalidArgumentError
        As :class:`ExampleParser`; ``BAD_ARGUMENT`` for a vector of messages.
    """
    is_vector = isinstance(serialized, (list, tuple, Block)) or (
        isinstance(serialized, np.ndarray) and serialized.ndim > 0
    )
    if is_vector:
        detail = "expected one message, got several; use parse_example"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    return ExampleParser(features).parse_single(as_bytes(serialized), example_names)
