"""The headers of Super Serial: YAML with each feature's shape and TensorFlow's dtype number.

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
strings as they are. The dtypes of the header are the original ones. A first dimension that is
null varies.

PyYAML parses the text with its safe loader, so a header cannot create objects. The only tag of
Python's that it may have is that of tuples, which shapes were sometimes written as.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.schema import Schema
from tfrecord_lite.storage.formats import specification
from tfrecord_lite.tensors.dtypes import type_of_number


def from_yaml(text: str | bytes) -> Schema:
    """Read a Super Serial header; ImportError if PyYAML is not installed.

    >>> from_yaml("x: {dtype: 2, shape: [3]}")
    Schema of 1 feature
    name  specification    dtype    shape  original
    ----  ---------------  -------  -----  -----------
    x     FixedLenFeature  float32  [3]    float64 [3]
    """
    try:
        import yaml  # noqa: PLC0415 - optional
    except ImportError:
        detail = "YAML headers need PyYAML: pip install pyyaml"
        raise ImportError(detail) from None

    class Loader(yaml.SafeLoader):
        """The safe loader, and tuples."""

    def construct_tuple(loader: Any, node: Any) -> tuple[Any, ...]:
        return tuple(loader.construct_sequence(node, deep=True))

    Loader.add_constructor("tag:yaml.org,2002:python/tuple", construct_tuple)
    try:
        found = yaml.load(text, Loader)  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise _header_error(f"not valid YAML{where} ({type(error).__name__})") from None
    return from_mapping(found)


def from_mapping(header: Any) -> Schema:
    """Read a parsed header: name -> ``{"shape": list of int or None, "dtype": int}``."""
    if not isinstance(header, Mapping) or not header:
        raise _header_error("there are no features")
    items = {}
    for name, item in header.items():
        if not isinstance(name, str):
            raise _header_error(f"a feature's name must be a string, not {type(name).__name__}")
        if not isinstance(item, Mapping) or not {"shape", "dtype"} <= item.keys():
            raise _header_error("a feature must have a shape and a dtype", name)
        number, shape = item["dtype"], item["shape"]
        if type(number) is not int:
            raise _header_error(f"the dtype is {number!r}, not the number of a dtype", name)
        if not isinstance(shape, list | tuple):
            raise _header_error("a shape must be a list of numbers", name)
        if not all(dim is None or (type(dim) is int and dim >= 0) for dim in shape):
            raise _header_error("a dimension must be a number that is not negative, or null", name)
        try:
            dtype = type_of_number(number, "the dtype is").name
        except InvalidArgumentError as error:
            raise error.at(key=name) from None
        items[name] = specification(name, dtype, tuple(shape))
    return Schema.of_items(items)


def _header_error(detail: str, key: str | None = None) -> InvalidArgumentError:
    return argument_error(f"Super Serial header: {detail}", key=key)
