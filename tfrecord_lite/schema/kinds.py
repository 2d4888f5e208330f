"""The three kinds of value an Example holds, and the many names users have for them.

A ``tf.train.Feature`` is a list of byte strings, of float32 or of int64, nothing
else. Its field number on the wire is the number of the :class:`Kind`.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason


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
    word = _without_tensorflow(dtype)
    if isinstance(word, str | type) and word in _WORDS:
        return _WORDS[word]
    try:
        found = numpy_dtype(dtype)
    except TypeError:
        where = f" of feature {key!r}" if key is not None else ""
        raise TypeError(f"not a dtype{where}: {dtype!r}; give float32, int64 or string") from None
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


def _without_tensorflow(dtype: Any) -> Any:
    """Return the name of a TensorFlow dtype, anything else as it is."""
    # The class is asked: some of TensorFlow's dtypes have the property and fail to answer.
    return dtype.name if hasattr(type(dtype), "as_numpy_dtype") else dtype


def numpy_dtype(given: object) -> np.dtype[Any]:
    """Return NumPy's dtype for one of its names, a scalar type or a dtype.

    Not simply ``np.dtype(given)``, which takes None for float64 and any class for object,
    and reads a string as a small language, errors of syntax included.

    Raises
    ------
    TypeError
        If `given` is none of these.
    """
    word: Any = _without_tensorflow(given)
    known = isinstance(word, np.dtype)
    if isinstance(word, str):
        known = _NAME.fullmatch(word) is not None
    elif isinstance(word, type):
        known = issubclass(word, np.generic) or word in _BUILTINS
    try:
        found: np.dtype[Any] | None = np.dtype(word) if known else None
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None:
        raise TypeError(f"not a dtype: {given!r}")
    return found


# A byte order, a name or code, and a unit of time: "float32", "<f4", "datetime64[s]".
_NAME = re.compile(r"[<>=|]?[A-Za-z?][A-Za-z0-9_]*(\[\w+\])?", re.ASCII)
_BUILTINS = frozenset({bool, int, float, complex, bytes, str, object})
