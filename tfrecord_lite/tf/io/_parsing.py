"""Parse messages to tensors, with the library's parsers, made once for each set of features."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfrecord_lite.example.parse import ExampleParser
from tfrecord_lite.example.sequence.parse import SequenceExampleParser
from tfrecord_lite.schema import require_specifications
from tfrecord_lite.tf._parse_ahead import BatchTensor, RecordTensor, can_be_cut
from tfrecord_lite.tf._tensor import unwrap, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.schema import FeatureSpec

    Features = Mapping[str, FeatureSpec]


def parse_example(
    serialized: Any, features: Features, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parse a batch of Examples, as :func:`tfrecord_lite.parse_example`."""
    if isinstance(serialized, BatchTensor):
        return wrap(serialized.parsed(_example_parser(features), _names(example_names)))  # type: ignore[no-any-return]
    messages = unwrap(serialized)
    if isinstance(messages, bytes):
        return parse_single_example(messages, features, example_names, name)
    return wrap(_example_parser(features)(messages, _names(example_names)))  # type: ignore[no-any-return]


def parse_single_example(
    serialized: Any, features: Features, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parse one Example, as :func:`tfrecord_lite.parse_single_example`."""
    parser = _example_parser(features)
    if example_names is None and isinstance(serialized, RecordTensor) and can_be_cut(features):
        row = serialized.parsed(parser)
        if row is not None:
            return wrap(row)  # type: ignore[no-any-return]
    return wrap(parser.parse_single(unwrap(serialized), _names(example_names)))  # type: ignore[no-any-return]


def parse_sequence_example(
    serialized: Any,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parse a batch of SequenceExamples, as :func:`tfrecord_lite.parse_sequence_example`."""
    parser = _sequence_parser(context_features, sequence_features)
    return wrap(parser(unwrap(serialized), _names(example_names)))  # type: ignore[no-any-return]


def parse_single_sequence_example(
    serialized: Any,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse one SequenceExample, as :func:`tfrecord_lite.parse_single_sequence_example`."""
    parser = _sequence_parser(context_features, sequence_features)
    context, lists, _ = parser.parse_single(unwrap(serialized), _names(example_name))
    return wrap(context), wrap(lists)


def _names(names: Any) -> Any:
    return None if names is None else unwrap(names)


def _cached(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a cached constructor of parsers, since scripts pass the same features with each record."""
    recent: list[tuple[Any, Any]] = []

    @functools.wraps(make)
    def cached(*features: Any) -> Any:
        if not all(given is None or isinstance(given, Mapping) for given in features):
            return make(*features)  # which raises an error
        items = [given if given is None else tuple(given.items()) for given in features]
        for known, parser in recent:
            if known == items:  # fast for identical specifications
                return parser
        parser = make(*features)
        recent[:] = [(items, parser), *recent[: _MAX_PARSERS - 1]]
        return parser

    return cached


def _strict(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a constructor that takes specifications only, as TensorFlow: no shorthand (rule E2)."""

    @functools.wraps(make)
    def strict(*features: Any) -> Any:
        for given in features:
            require_specifications(given)
        return make(*features)

    return strict


_MAX_PARSERS = 16
_example_parser = _cached(_strict(ExampleParser))
_sequence_parser = _cached(_strict(SequenceExampleParser))
