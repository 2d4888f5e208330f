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

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.row import delimited, encode_features, encoded_key, feature_content
from tfrecord_lite.example.runs import refuse

__all__ = ["encode_sequence_example"]

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
    the others. If all steps are, they
    are features without kind.

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
        lists = row["feature_lists"]
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


def _feature_list(key: str, steps: Any) -> bytes:
    """Encode the steps of one feature list."""
    is_single = isinstance(steps, np.ndarray) and steps.ndim == 0
    is_single |= isinstance(steps, str | bytes | Mapping) or not hasattr(steps, "__iter__")
    if is_single:
        raise TypeError(f"feature list {key!r} must be a sequence of steps, not {steps!r:.40}")
    contents: list[bytes] = []
    for number, step in enumerate(steps):
        try:
            contents.append(feature_content(key, [] if step is None else step) or b"")
        except InvalidArgumentError as error:
            detail = f"in step {number} of the list: {error.detail}"
            raise InvalidArgumentError(error.reason, None, None, 0, key, detail) from None
    tags = {content[:1] for content in contents if content}
    if len(tags) > 1:
        first = next(content[:1] for content in contents if content)
        wrong = [bool(content) and content[:1] != first for content in contents]
        detail = (
            f"in step {wrong.index(True)} of the list: a step of another kind than those before"
        )
        refuse(key, detail, 0, Reason.UNREPRESENTABLE)
    empty = tags.pop() + b"\0" if tags else b""
    return b"".join([delimited(b"\x0a", content or empty) for content in contents])
