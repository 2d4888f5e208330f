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

A first dimension that is null varies. PyYAML parses the text with its safe loader, so a header cannot create
objects; the only tag of Python's that it may have is for tuples, which shapes were sometimes written as.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from tfrecord_lite.described.formats import specification
from tfrecord_lite.errors import InvalidArgumentError, argument_error, errors_at
from tfrecord_lite.schema import Original, Schema
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
        raise ImportError("YAML headers need PyYAML: pip install pyyaml") from None

    class Loader(yaml.SafeLoader):
        """The safe loader, and tuples."""

    def construct_tuple(loader: Any, node: Any) -> tuple[Any, ...]:
        return tuple(loader.construct_sequence(node, deep=True))

    Loader.add_constructor("tag:yaml.org,2002:python/tuple", construct_tuple)
    try:
        document = yaml.load(text, Loader)  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise _header_error(f"not valid YAML{where} ({type(error).__name__})") from None
    return from_mapping(document)


def from_mapping(header: object) -> Schema:
    """Read a parsed header: name -> ``{"shape": list of int or None, "dtype": int}``."""
    if not isinstance(header, Mapping) or not header:
        raise _header_error("there are no features")
    items = {}
    for name, item in header.items():
        if not isinstance(name, str):
            raise _header_error(f"a feature's name must be a string, not {type(name).__name__}")
        if not isinstance(item, Mapping) or not {"shape", "dtype"} <= item.keys():
            raise _header_error("a feature must have a shape and a dtype", name)
        try:
            with errors_at(key=name):
                dtype = type_of_number(operator.index(item["dtype"]), "the dtype is").name
                shape = Original(dtype, item["shape"]).shape
                items[name] = specification(name, dtype, tuple(shape))
        except TypeError:
            detail = "a dtype must be the number of one, and a shape a list of numbers or null"
            raise _header_error(detail, name) from None
    return Schema.of_items(items)


def _header_error(detail: str, key: str | None = None) -> InvalidArgumentError:
    return argument_error(f"Super Serial header: {detail}", key=key)
