"""parse_example, parse_single_example, and the parser behind them; see :mod:`.reading`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from tfrecord_lite.block import Block
from tfrecord_lite.example.decode.first_error import parse_or_first_error
from tfrecord_lite.example.decode.reader import (
    FeatureReader,
    as_block,
    as_bytes,
    as_one_message,
    checked_names,
    is_one_message,
)
from tfrecord_lite.schema import prepare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfrecord_lite.example.decode.reader import Result, Serialized
    from tfrecord_lite.schema import FeatureSpec

__all__ = ["ExampleParser", "parse_example", "parse_single_example"]


class ExampleParser:
    """Parses batches of Example messages into columns; prepared once, used many times.

    Parameters
    ----------
    features : mapping of str to feature specification
        What to read: a dict, or a Schema. Features that are not named cost next to
        nothing.
    strings : {"ndarray", "BytesColumn"}, optional
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
        strings: Literal["ndarray", "BytesColumn"] = "ndarray",
    ) -> None:
        self._features = dict(features) if features else features
        self._reader = FeatureReader(prepare(features), strings)

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
            ``TENSOR_TOO_LARGE`` about the longest one, if there is no memory to pad all to
            it; or ``BAD_ARGUMENT`` for `example_names` of another length.
        TypeError
            For one message instead of a sequence, and messages that are no bytes.
        """
        block = as_block(serialized)
        names = checked_names(example_names, (len(block),))
        return self._parse(block, names, single=False)

    def parse_single(self, serialized: bytes | str, name: str | None = None) -> dict[str, Result]:
        """Parse one message; results have no batch dimension (rules X1, S2, V1, Z1, G1).

        Raises
        ------
        InvalidArgumentError
            As for a batch.
        """
        block = Block.from_records([as_bytes(serialized)])
        return self._parse(block, checked_names(name, ()), single=True)

    def _parse(
        self, block: Block, names: Sequence[str] | None, *, single: bool
    ) -> dict[str, Result]:
        def parse(block: Block) -> dict[str, Result]:
            stops = block.offsets + block.lengths
            return self._reader.read(block.data, block.offsets, stops, single=single)

        return parse_or_first_error(block, names, parse)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the specifications, not what was learnt."""
        return partial(ExampleParser, strings=self._reader.strings), (self._features,)


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
    if is_one_message(serialized):
        name_of_it: Any = example_names
        return parser.parse_single(as_bytes(serialized), name_of_it)
    batch: Any = serialized
    return parser(batch, example_names)


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
    message = as_one_message(serialized, "parse_example")
    return ExampleParser(features).parse_single(message, example_names)
