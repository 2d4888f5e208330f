"""The three kinds of value an Example holds, and the many names users have for them.

A ``tf.train.Feature`` is a list of byte strings, of float32 or of int64, nothing
else. Its field number on the wire is the number of the :class:`Kind`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason

__all__ = ["Kind", "kind_of", "without_tensorflow"]


class Kind(IntEnum):
    """Which list a feature is; the values are field numbers of ``tf.train.Feature``.

    Examples
    --------
    >>> Kind.INT64, Kind.INT64.dtype, Kind.BYTES.label
    (<Kind.INT64: 3>, dtype('int64'), 'string')
    """

    BYTES = 1
    FLOAT = 2
    INT64 = 3

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of the parsed values; byte strings are objects."""
        return _DTYPES[self]

    @property
    def label(self) -> str:
        """The dtype's name as specifications print it: string, float32 or int64."""
        return _LABELS[self]


_DTYPES: dict[Kind, np.dtype[Any]] = {
    Kind.BYTES: np.dtype(object),
    Kind.FLOAT: np.dtype(np.float32),
    Kind.INT64: np.dtype(np.int64),
}
_LABELS = {Kind.BYTES: "string", Kind.FLOAT: "float32", Kind.INT64: "int64"}

# Names and Python types that mean something else to NumPy, or nothing at all.
_WORDS: dict[Any, Kind] = {
    "string": Kind.BYTES,
    "bytes": Kind.BYTES,
    "str": Kind.BYTES,
    bytes: Kind.BYTES,
    str: Kind.BYTES,
    object: Kind.BYTES,
    "float": Kind.FLOAT,
    float: Kind.FLOAT,
    "int": Kind.INT64,
    int: Kind.INT64,
}


def kind_of(dtype: object, key: str | None = None) -> Kind:
    """Say which kind a user's dtype means.

    Parameters
    ----------
    dtype : object
        ``np.float32``, ``"float32"`` or ``float``; ``np.int64``, ``"int64"`` or ``int``;
        ``bytes``, ``str``, ``object`` or ``"string"``; a NumPy dtype of these in any
        byte order; a TensorFlow dtype.
    key : str, optional
        The feature, for the error text.

    Returns
    -------
    Kind
        One of three.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` for a dtype that an Example cannot hold, such as float64;
        ``BAD_ARGUMENT`` for None.
    TypeError
        If `dtype` is no dtype at all.

    Examples
    --------
    >>> kind_of(float), kind_of("int64"), kind_of(bytes)
    (<Kind.FLOAT: 2>, <Kind.INT64: 3>, <Kind.BYTES: 1>)
    """
    if dtype is None:
        raise InvalidArgumentError(
            Reason.BAD_ARGUMENT, key=key, detail="missing dtype; give float32, int64 or string"
        )
    word = without_tensorflow(dtype)
    if isinstance(word, str | type) and word in _WORDS:
        return _WORDS[word]
    found = _numpy_dtype(word)
    if found is None:
        where = f" of feature {key!r}" if key is not None else ""
        raise TypeError(f"not a dtype{where}: {dtype!r}; give float32, int64 or string")
    if found.kind in "OSUT":
        return Kind.BYTES
    for kind in (Kind.FLOAT, Kind.INT64):
        if found.newbyteorder("=") == kind.dtype:
            return kind
    detail = (
        f"an Example holds float32, int64 and string, not {found.name}; "
        "ask for the one it was stored as and convert the result"
    )
    raise InvalidArgumentError(Reason.UNSUPPORTED, key=key, detail=detail)


def without_tensorflow(dtype: Any) -> Any:
    """Return the name of a TensorFlow dtype, anything else as it is."""
    # The class is asked: some of TensorFlow's dtypes have the property and fail to answer.
    return dtype.name if hasattr(type(dtype), "as_numpy_dtype") else dtype


def _numpy_dtype(word: Any) -> np.dtype[Any] | None:
    """Return NumPy's dtype for a name, scalar type or dtype, None if it is none of these."""
    # Not simply np.dtype(word), which takes None for float64 and any class for object.
    is_scalar_type = isinstance(word, type) and (issubclass(word, np.generic) or word is bool)
    if not isinstance(word, np.dtype | str) and not is_scalar_type:
        return None
    try:
        found: np.dtype[Any] = np.dtype(word)
    except TypeError:
        return None
    return found
