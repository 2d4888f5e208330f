"""SequenceExample messages from dictionaries, one at a time.

::

    {"context": {"length": 3}, "feature_lists": {"tokens": [[5, 6], [7], []]}}

The context holds features as an Example does; a feature list holds a feature a step, all of
one kind. Messages are encoded by hand; many at once by :mod:`.sequence_encode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfrecord_lite.convert.lists import outgoing
from tfrecord_lite.convert.types import refuse, unmasked
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.example.encode.one import (
    content_of,
    delimited,
    encode_features,
    encoded_key,
    feature_content,
)

__all__ = ["check_lists", "encode_sequence_example", "in_step", "values_of"]

_CONTEXT = b"\x0a"
_FEATURE_LISTS = b"\x12"


def encode_sequence_example(row: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Encode a dictionary as one SequenceExample message.

    Parameters
    ----------
    row : mapping
        ``{"context": {...}, "feature_lists": {...}}``, either of which may be left out. The
        context's features are given as :func:`encode_example` takes them; a feature list as
        a sequence of such values, one a step, or as an array with a row a step.

    Returns
    -------
    bytes
        The same for the same values: keys in the order of their bytes.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for another member than these two; ``UNREPRESENTABLE`` and
        ``UNSUPPORTED`` as :func:`encode_example` has them, with `key`; for the values of a
        feature list the text says in which step.
    TypeError
        For what is no dictionary, and for a feature list that is no sequence.

    Notes
    -----
    A step without values, also one that is None or masked, is an empty list of the kind of
    the others. If all steps are, they are features without kind. Python's ints and floats in
    one list are all floats, if that changes none of them, as they are in one feature.

    Examples
    --------
    >>> row = {"context": {"length": 2}, "feature_lists": {"tokens": [[5, 6], [7]]}}
    >>> from tfrecord_lite import decode_sequence_example
    >>> decode_sequence_example(encode_sequence_example(row))
    {'context': {'length': array([2])}, 'feature_lists': {'tokens': [array([5, 6]), array([7])]}}
    """
    if not isinstance(row, Mapping):
        raise TypeError(f"a record must be a dict, not {type(row).__name__}")
    for name in row:
        if name not in ("context", "feature_lists"):
            refuse(str(name), "a SequenceExample has 'context' and 'feature_lists', nothing else")
    pieces: list[Any] = []
    if "context" in row:
        pieces += encode_features(_CONTEXT, row["context"])
    if "feature_lists" in row:
        lists = check_lists("feature_lists", row["feature_lists"])
        entries = sorted((encoded_key(key), key) for key in lists)
        content = [
            delimited(
                b"\x0a",
                delimited(b"\x0a", raw) + delimited(b"\x12", _feature_list(key, lists[key])),
            )
            for raw, key in entries
        ]
        pieces.append(delimited(_FEATURE_LISTS, b"".join(content)))
    return b"".join(pieces)


def check_lists(name: str, given: Any) -> Mapping[str, Any]:
    """Refuse what is no dictionary."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a dict, one entry a list, not {type(given).__name__}")
    return given


def _feature_list(key: str, steps: Any) -> bytes:
    """Encode the steps of one feature list."""
    is_single = isinstance(steps, np.ndarray) and steps.ndim == 0
    is_single |= isinstance(steps, str | bytes | Mapping) or not hasattr(steps, "__iter__")
    if is_single:
        raise TypeError(f"feature list {key!r} must be a sequence of steps, not {steps!r:.40}")
    steps = list(steps)
    try:
        contents = [feature_content(key, () if step is None else step) or b"" for step in steps]
    except InvalidArgumentError:
        contents = _of_column(key, steps)
    tags = {content[:1] for content in contents if content}
    if len(tags) > 1:
        contents = _of_column(key, steps)
        tags = {content[:1] for content in contents}
    empty = tags.pop() + b"\0" if tags else b""
    return b"".join([delimited(b"\x0a", content or empty) for content in contents])


def _of_column(key: str, steps: list[Any]) -> list[bytes]:
    """Encode steps together, as a column: ints among floats are floats, or the step is named."""
    try:
        out = outgoing(key, [values_of(step) for step in unmasked(key, steps)])
    except InvalidArgumentError as error:
        raise in_step(error, error.index or 0) from None
    return [content_of(out.part(number, number + 1)) for number in range(len(steps))]


def values_of(step: Any) -> Any:
    """Return a step as a sequence of its values; one that is not there has none."""
    if step is None:
        return ()
    return step if isinstance(step, list | tuple | np.ndarray) else [step]


def in_step(error: InvalidArgumentError, step: int, record: int = 0) -> InvalidArgumentError:
    """Turn what is said of one step into what is said of a record."""
    detail = f"in step {step} of the list: {error.detail}"
    return InvalidArgumentError(error.reason, None, None, record, error.key, detail)
