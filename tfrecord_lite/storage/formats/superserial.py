"""The headers of Super Serial: YAML, for each feature its shape and TensorFlow's dtype number.

::

    image:
      dtype: 4        # DT_UINT8
      shape:
      - 28
      - 28
    label:
      dtype: 9        # DT_INT64
      shape: []

Values are stored flat: integers and bools as int64 lists, floats as float lists, byte
strings as they are. The dtypes of the header are the original ones.

PyYAML reads the text, with its safe loader: a header cannot make objects. The one tag of
Python's that it may have is that of tuples, as which shapes were sometimes written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Schema
from tfrecord_lite.storage.formats.natural import Shape, specification

_DTYPES = {
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    8: "complex64",
    9: "int64",
    10: "bool",
    14: "bfloat16",
    17: "uint16",
    18: "complex128",
    19: "float16",
    22: "uint32",
    23: "uint64",
}
"""TensorFlow's DataType enumeration."""


def from_yaml(text: str | bytes) -> Schema:
    """Read a Super Serial header.

    Parameters
    ----------
    text : str or bytes
        The YAML.

    Returns
    -------
    Schema
        FixedLenFeature of the header's shape, with the original dtypes; RaggedFeature where
        the first dimension is null. Of dtypes that Super Serial could not store there are
        no values to read.

    Raises
    ------
    ImportError
        If PyYAML is not installed.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if it is no YAML or no such header, or names code;
        ``UNSUPPORTED`` for a dtype that cannot be stored in an Example, with the feature in
        `key`.

    Examples
    --------
    >>> from_yaml("x: {dtype: 2, shape: [3]}")
    Schema of 1 feature
    name  specification    dtype    shape  original
    ----  ---------------  -------  -----  -----------
    x     FixedLenFeature  float32  [3]    float64 [3]
    """
    try:
        import yaml  # noqa: PLC0415 - optional
    except ImportError:
        detail = 'YAML headers need an extra package: pip install "tfrecord-numpy[yaml]"'
        raise ImportError(detail) from None
    try:
        found = yaml.load(text, _loader(yaml))  # noqa: S506 - a safe one, with tuples
    except InvalidArgumentError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # PyYAML's own text repeats the document.
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise _refuse(f"{type(error).__name__}{where}") from None
    return from_mapping(found)


def _loader(yaml: Any) -> Any:
    """Return the safe loader, with tuples, and without names that are there twice."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
            seen = set()
            for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                if isinstance(key, yaml.ScalarNode) and key.value in seen:
                    raise _refuse("a name that is there twice", key.value)
                seen.add(getattr(key, "value", None) if isinstance(key, yaml.ScalarNode) else None)
            return super().construct_mapping(node, deep)

    def construct_tuple(loader: Any, node: Any) -> tuple[Any, ...]:
        return tuple(loader.construct_sequence(node, deep=True))

    Loader.add_constructor("tag:yaml.org,2002:python/tuple", construct_tuple)
    return Loader


def from_mapping(header: Any) -> Schema:
    """Read a Super Serial header that is parsed already.

    Parameters
    ----------
    header : mapping
        name -> ``{"shape": list of int, "dtype": int}``.

    Returns
    -------
    Schema
        As :func:`from_yaml`; so are the errors.
    """
    if not isinstance(header, Mapping) or not header:
        raise _refuse("it has no features")
    specs, originals = {}, {}
    for name, item in header.items():
        if not isinstance(name, str):
            raise _refuse(f"a feature's name must be a string, not {type(name).__name__}")
        dtype, shape = _entry(name, item)
        specs[name], original = specification(name, dtype, shape)
        if original is not None:
            originals[name] = original
    return Schema(specs, originals)


def _entry(name: str, item: Any) -> tuple[str, Shape]:
    """Check one feature's entry; return its dtype and shape."""
    if not isinstance(item, Mapping) or not {"shape", "dtype"} <= item.keys():
        raise _refuse("a feature has a shape and a dtype", name)
    number, shape = item["dtype"], item["shape"]
    # A bool is an int to Python, and no number of a dtype.
    dtype = _DTYPES.get(number) if type(number) is int else None
    if dtype is None:
        raise _refuse(f"{number!r} is not the number of a dtype that Super Serial knows", name)
    if not isinstance(shape, list | tuple) or not all(type(d) is int or d is None for d in shape):
        raise _refuse("a shape is a list of numbers", name)
    if any(d is not None and d < 0 for d in shape):
        raise _refuse("a dimension is negative", name)
    return dtype, tuple(shape)


def _refuse(detail: str, key: str | None = None) -> InvalidArgumentError:
    detail = f"Super Serial header: {detail}"
    return InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)
