"""The three kinds of an Example's features, and the dtypes that select them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from typing import Any

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error


class Kind(IntEnum):
    """Which of its three lists a feature holds, numbered by ``tf.train.Feature``'s fields.

    Examples
    --------
    >>> from tfrecord_lite.schema import Kind
    >>> Kind.INT64, Kind.INT64.dtype, Kind.BYTES.label
    (<Kind.INT64: 3>, dtype('int64'), 'string')
    """

    BYTES = 1
    FLOAT = 2
    INT64 = 3

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of parsed values; object for byte strings."""
        return _DTYPES[self]

    @property
    def label(self) -> str:
        """The name that specifications print: string, float32 or int64."""
        return _LABELS[self]


_DTYPES: dict[Kind, np.dtype[Any]]
_DTYPES = {Kind.BYTES: np.dtype("O"), Kind.FLOAT: np.dtype("f4"), Kind.INT64: np.dtype("i8")}
_KINDS = {dtype: kind for kind, dtype in _DTYPES.items()}
_LABELS = {Kind.BYTES: "string", Kind.FLOAT: "float32", Kind.INT64: "int64"}

# Names and Python types that NumPy does not know, or gives another meaning.
_WORDS: dict[Any, Kind] = dict.fromkeys(["string", "bytes", "str", bytes, str, object], Kind.BYTES)
_WORDS |= {"float": Kind.FLOAT, float: Kind.FLOAT, "int": Kind.INT64, int: Kind.INT64}


EXTRA_FLOATS = frozenset(
    {
        *("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
        *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
        *("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"),
    }
)
EXTRA_INTEGERS = frozenset({"int1", "uint1", "int2", "uint2", "int4", "uint4"})
EXTRA_DTYPES = EXTRA_FLOATS | EXTRA_INTEGERS
"""The small numbers of machine learning that NumPy lacks, by the names that ml_dtypes gives them."""


def nearest_of_numpy(name: str) -> str:
    """Return the name of NumPy's smallest dtype with all numbers of one of ml_dtypes; others as they are."""
    if name in EXTRA_INTEGERS:
        return name.rstrip("124") + "8"
    return "float32" if name in EXTRA_FLOATS else name


def is_float(name: str) -> bool:
    """Return whether a dtype with this name is one of floats, NumPy's or another."""
    return name.startswith("float") or name in EXTRA_FLOATS


def kind_of(dtype: object, key: str | None = None) -> Kind:
    """Return the kind that a user's dtype selects.

    A dtype of NumPy or TensorFlow, its name, or Python's type. `key` is the feature, for errors: ``UNSUPPORTED`` for a
    dtype that an Example cannot hold, such as float64, ``BAD_ARGUMENT`` for None, TypeError for others.

    >>> kind_of(float), kind_of("int64"), kind_of(bytes)
    (<Kind.FLOAT: 2>, <Kind.INT64: 3>, <Kind.BYTES: 1>)
    """
    if isinstance(dtype, np.dtype) and dtype in _KINDS:  # as specifications in a Schema have it
        return _KINDS[dtype]
    if dtype is None:
        raise argument_error("missing dtype; give float32, int64 or string", key=key)
    word = _without_tensorflow(dtype)
    if isinstance(word, str | type) and word in _WORDS:
        return _WORDS[word]
    if isinstance(word, str) and word in EXTRA_DTYPES:  # known without ml_dtypes
        raise _not_stored_error(word, key)
    try:
        known = numpy_dtype(dtype)
    except TypeError:
        where = f" of feature {key!r}" if key is not None else ""
        raise TypeError(f"not a dtype{where}: {dtype!r}; give float32, int64 or string") from None
    if known.kind in "OSUT":
        return Kind.BYTES
    for kind in (Kind.FLOAT, Kind.INT64):
        if known.newbyteorder("=") == kind.dtype:
            return kind
    raise _not_stored_error(known.name, key)


def _not_stored_error(name: str, key: str | None) -> InvalidArgumentError:
    number = "float32 or " if is_float(name) else "" if name.startswith("complex") else "int64 or "
    raw = f"RawFeature(shape, {name!r}) for raw bytes"
    if name.startswith(("datetime64", "timedelta64", "void")):
        raw = "string for raw bytes, and convert the result"
    detail = f"an Example holds float32, int64 and string, not {name}; give the one it was stored "
    detail += f"as, {number}{raw}"
    return InvalidArgumentError(Reason.UNSUPPORTED, key=key, detail=detail)


def _without_tensorflow(dtype: Any) -> Any:
    # Asked of the class: the property of some TensorFlow dtypes raises an error.
    return dtype.name if hasattr(type(dtype), "as_numpy_dtype") else dtype


def numpy_dtype(name_or_type: object) -> np.dtype[Any]:
    """Convert a name, scalar type or dtype to NumPy's dtype; raise TypeError for others.

    ``np.dtype`` accepts None as float64 and any class as object, and parses strings as a small language. A name of
    ml_dtypes means the same whether or not that has been imported; without it, ImportError.

    >>> numpy_dtype("<f4").name
    'float32'
    """
    word: Any = _without_tensorflow(name_or_type)
    if isinstance(word, str) and word in EXTRA_DTYPES:
        return extra_dtype(word)
    known = isinstance(word, np.dtype)
    if isinstance(word, str):
        known = re.fullmatch(_NAME, word) is not None
    elif isinstance(word, type):
        known = issubclass(word, np.generic) or word in _BUILTINS
    with suppress(TypeError, ValueError, OverflowError):
        if known:
            dtype: np.dtype[Any] = np.dtype(word)
            return dtype
    raise TypeError(f"not a dtype: {name_or_type!r}")


def extra_dtype(name: str) -> np.dtype[Any]:
    """Return a dtype of ml_dtypes by its name; ImportError if it is missing, or too old."""
    try:
        import ml_dtypes  # noqa: PLC0415 - an extra

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        raise ImportError(f"{name} needs the package ml_dtypes: pip install ml_dtypes") from None
    return dtype


def array_of(tensor: Any, key: str | None = None, index: int | None = None) -> AnyArray:
    """Return a tensor of another library as an array; ``UNSUPPORTED`` for one that NumPy does not take."""
    try:
        return np.asarray(tensor)
    except Exception as error:  # of any library  # noqa: BLE001
        reason = str(error).partition("\n")[0]
    name = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
    cure = next((cure for is_so, cure in _CURES if is_so(tensor)), "give a NumPy array")
    if cure == "give a NumPy array" and name in EXTRA_FLOATS:
        try:
            dtype = extra_dtype(name)
            bits = tensor.view(getattr(sys.modules["torch"], f"uint{8 * dtype.itemsize}"))
            return np.asarray(bits).view(dtype)
        except ImportError as error:
            cure = f"{error}, or give tensor.float()"
    detail = f"NumPy does not take this {type(tensor).__name__} ({reason}); {cure}"
    raise InvalidArgumentError(Reason.UNSUPPORTED, key=key, index=index, detail=detail)


def _device(tensor: Any) -> str:
    return str(getattr(tensor, "device", ""))


_CURES: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (lambda x: "meta" in _device(x), "one on the device 'meta' has no values"),
    (lambda x: getattr(x, "requires_grad", False), "give tensor.detach()"),
    (lambda x: getattr(x, "is_nested", False), "give a list of its rows, list(tensor.unbind())"),
    (lambda x: "sparse" in str(getattr(x, "layout", "")), "give tensor.to_dense()"),
    (lambda x: getattr(x, "is_quantized", False), "give tensor.dequantize()"),
    (lambda x: hasattr(x, "cpu") and _device(x) not in ("", "cpu"), "give tensor.cpu()"),
    (lambda x: hasattr(x, "is_neg") and x.is_neg(), "give tensor.resolve_neg()"),
    (lambda x: hasattr(x, "is_conj") and x.is_conj(), "give tensor.resolve_conj()"),
)
"""What makes NumPy take a tensor, by what keeps it from it."""


# A byte order, a name or code, and a unit of time: "float32", "<f4", "datetime64[s]".
_NAME = r"(?a)[<>=|]?[A-Za-z?][A-Za-z0-9_]*(\[\w+\])?"
_BUILTINS = frozenset({bool, int, float, complex, bytes, str, object})
