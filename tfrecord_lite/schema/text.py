"""The text forms of a schema: the table it prints, and its JSON.

::

    {
      "format": "tfrecord_lite.Schema",
      "version": 1,
      "features": {
        "image": {
          "specification": "FixedLenFeature",
          "shape": [],
          "dtype": "string",
          "default_value": {"base64": "/9j/"},
          "original": {"dtype": "uint8", "shape": [28, 28]}
        }
      }
    }

The members of a feature are the arguments of its specification; those with their default
value may be omitted. The version is 2 if a float64 is stored as float32, and otherwise 1. Nothing in the text can name
code.
"""

from __future__ import annotations

import math
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from dataclasses import asdict, fields
from itertools import chain, islice
from typing import Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import features as specs
from tfrecord_lite.schema.features import FeatureSpec, RaggedFeature, arguments_of
from tfrecord_lite.schema.kinds import Kind, is_float, kind_of
from tfrecord_lite.texts import aligned, plural, shown_name

FORMAT = "tfrecord_lite.Schema"
SEQUENCE_FORMAT = "tfrecord_lite.SequenceSchema"
VERSIONS = (1, 2)

_SPECIFICATIONS = {cls.__name__: cls for cls in specs.SPECIFICATIONS}
_PARTITIONS = {cls.__name__: cls for cls in specs.PARTITIONS}
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _json_error(detail: str, key: str | None = None) -> InvalidArgumentError:
    return argument_error(f"schema JSON: {detail}", key=key)


# ------------------------------------------------------------------------------ writing


def write_document(format_name: str, members: Mapping[str, Any], indent: int | None) -> str:
    """Write a schema's members as JSON, after the format and its version."""
    import json  # noqa: PLC0415 - seldom needed

    features = chain.from_iterable(member.values() for member in members.values())
    version = VERSIONS[any(map(_is_narrowed, features))]
    document = {"format": format_name, "version": version, **members}
    return json.dumps(document, indent=indent, allow_nan=False)


def _is_narrowed(feature: Mapping[str, Any]) -> bool:
    dtype = feature.get("original", {}).get("dtype")
    return bool(dtype == "float64" and feature["dtype"] == "float32")


def describe(spec: FeatureSpec) -> dict[str, Any]:
    """Convert a canonical specification to JSON values."""
    described: dict[str, Any] = {"specification": type(spec).__name__}
    for name, value in arguments_of(spec):
        if name == "dtype":
            value = spec.dtype_name  # noqa: PLW2901
        elif name == "row_splits_dtype":
            value = value.name  # noqa: PLW2901
        elif name == "partitions":
            value = [{"partition": type(p).__name__} | asdict(p) for p in spec.partitions]  # type: ignore[attr-defined]  # noqa: PLW2901
        described[name] = json_value(value)
    return described


def json_value(value: Any) -> Any:
    """Convert a value to JSON values: bytes that are not UTF-8 as base64, inf and NaN as text."""
    if isinstance(value, tuple):
        return list(map(json_value, value))
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": b2a_base64(value, newline=False).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return next(word for word, number in _NON_FINITE.items() if str(number) == str(value))
    return value


def shortest(value: Any) -> Any:
    """Return a float that is a float32 with as few digits as that needs, also in a tuple; others as they are."""
    if isinstance(value, tuple):
        return tuple(map(shortest, value))
    is_single = isinstance(value, float) and float(np.float32(value)) == value
    return float(str(np.float32(value))) if is_single else value


# ------------------------------------------------------------------------------ reading


def read_document(document: str | bytes, format_name: str) -> dict[str, Any]:
    """Read a schema's JSON; check its format and version."""
    import json  # noqa: PLC0415 - seldom needed

    try:
        fields = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise _json_error(f"not JSON that to_json wrote ({type(error).__name__})") from error
    if not isinstance(fields, dict) or fields.get("format") != format_name:
        raise _json_error(f'"format" must be "{format_name}", as to_json writes it')
    if fields.get("version") not in VERSIONS:
        detail = f"schema JSON: version {fields.get('version')!r}, this release reads 1 and 2"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    return fields


def read_features(
    member: str, document: Mapping[str, Any]
) -> tuple[dict[str, FeatureSpec], dict[str, dict[str, Any]]]:
    """Read the specifications and original types of one member; their values are not checked yet."""
    listed = document.get(member)
    if not isinstance(listed, dict) or not all(isinstance(item, dict) for item in listed.values()):
        raise _json_error(f'"{member}" must be an object of objects')
    features, originals = {}, {}
    for name, item in listed.items():
        original = item.pop("original", None)
        try:
            features[name] = _specification(name, item)
            if original is not None:
                originals[name] = _original(name, original)
        except TypeError as error:
            raise _json_error(str(error), name) from error
    return features, originals


def _specification(name: str, values: dict[str, Any]) -> FeatureSpec:
    cls = _class(name, values, "specification", _SPECIFICATIONS)
    if "partitions" in values:
        partitions = values["partitions"]
        values["partitions"] = [_class(name, p, "partition", _PARTITIONS)(**p) for p in partitions]
    if values.get("default_value") is not None:
        is_float = kind_of(values.get("dtype"), name) is Kind.FLOAT
        values["default_value"] = _decoded(name, values["default_value"], is_float=is_float)
    spec: FeatureSpec = cls(**values)
    return spec


def _class(name: str, values: Any, member: str, known: Mapping[str, type[Any]]) -> Any:
    """Return the class that a member names, which is taken out."""
    word = values.pop(member, None) if isinstance(values, dict) else values
    if not isinstance(word, str) or word not in known:
        raise _json_error(f"{word!r} is not one of {', '.join(known)}", name)
    return known[word]


def _original(name: str, members: Any) -> dict[str, Any]:
    """Return the arguments of an original; categories as :func:`json_value` was given them."""
    if not isinstance(members, dict) or not isinstance(members.get("dtype"), str):
        raise _json_error("an original must be an object with a dtype", name)
    if members.get("categories") is None:
        return members
    is_bytes = members["dtype"] == "string" and members.get("text") is None
    are_floats = is_float(members["dtype"])
    decoded = [_decoded(name, value, is_float=are_floats) for value in members["categories"]]
    categories = [v.encode() if is_bytes and isinstance(v, str) else v for v in decoded]
    return {**members, "categories": categories}


def _decoded(name: str, value: Any, *, is_float: bool) -> Any:
    if isinstance(value, list):
        return [_decoded(name, item, is_float=is_float) for item in value]
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            return a2b_base64(value["base64"], strict_mode=True)
        except (TypeError, ValueError) as error:
            raise _json_error("a value is not base64", name) from error
    if is_float and isinstance(value, str) and value in _NON_FINITE:
        return _NON_FINITE[value]
    return value


# -------------------------------------------------------------------------------- tables


def table(
    features: Mapping[str, FeatureSpec],
    originals: Mapping[str, Any],
    shown: int | None = None,
    title: str | None = None,
) -> str:
    """Return a schema as a table with a line per feature; at most about `shown` of them."""
    count = len(features)
    title = title or f"Schema of {plural(count, 'feature')}"
    if not count:
        return title
    header, *rows = table_rows(features, originals)
    left_out = 0 if shown is None or count <= shown + 1 else count - shown
    kept = count - left_out
    head, tail = kept - kept // 4, kept // 4
    lines = aligned([header, *rows[:head], *rows[count - tail :]])
    if left_out:
        lines.insert(2 + head, f"... {left_out} more ...")
    return "\n".join([title, *lines])


def table_rows(
    features: Mapping[str, FeatureSpec], originals: Mapping[str, Any], most: int | None = None
) -> list[list[str]]:
    """Return a header and a row per feature, without the columns that are empty in all rows."""
    rows = [_row(name, spec, originals.get(name)) for name, spec in islice(features.items(), most)]
    header = ("name", "specification", "dtype", "shape", "default", "details", "original")
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    return [[row[i] for i in used] for row in (header, *rows)]


FOR_SEQUENCES = "; for SequenceExamples give SequenceSchema({'id': int}, {'frames': bytes})"
"""The end of an error text about a schema that may be meant for SequenceExamples."""


def _row(name: str, spec: FeatureSpec, original: Any) -> tuple[str, ...]:
    shape = getattr(spec, "shape", None)
    default = getattr(spec, "default_value", None)
    shape_text = "" if shape is None else _brackets(shape)
    default_text = "" if default is None else _short(default)
    original_text = "" if is_told(spec, original) else _original_text(original)
    cells = type(spec).__name__, spec.dtype_name, shape_text, default_text, _details(spec)
    return (shown_name(name), *cells, original_text)


def is_told(spec: FeatureSpec, original: Any) -> bool:
    """Return whether a specification says all that an original does, or there is none."""
    is_more = original is not None and (original.categories, original.compression) != (None, None)
    return original is None or (isinstance(spec, specs.RawFeature) and not is_more)


def _original_text(original: Any) -> str:
    words = [original.dtype, _brackets(original.shape), original.text, original.zone]
    words.append(original.compression)
    if original.categories is not None:
        kind = "ordered " if original.ordered else ""
        count = len(original.categories)
        words.append(f"of {plural(count, f'{kind}category', f'{kind}categories')}")
    return " ".join(filter(None, [*words, "or missing" if original.missing else ""]))


def _details(spec: FeatureSpec) -> str:
    """Return the cell with the keys that a composite feature reads."""
    match spec:
        case specs.SparseFeature():
            return f"{_short(spec.index_key)} -> {spec.value_key!r}, size {spec.size}"
        case RaggedFeature():
            key = [] if spec.value_key is None else [f"values {spec.value_key!r}"]
            firsts = [(p, fields(p)[0].name) for p in spec.partitions]
            levels = [f"{type(p).__name__}({getattr(p, first)!r})" for p, first in firsts]
            return ", ".join(key + levels)
        case _:
            words = {"value_key": "values", "shape_key": "shape"}
            return ", ".join(f"{words[n]} {key!r}" for n, key in arguments_of(spec) if n in words)


def _brackets(shape: tuple[int | None, ...] | None) -> str:
    if shape is None:
        return ""
    return f"[{', '.join('?' if dim is None else str(dim) for dim in shape)}]"


def _short(value: Any, limit: int = 24) -> str:
    if isinstance(value, bytes):
        value = value[:limit]
    written = repr(np.asarray(value).tolist() if isinstance(value, np.ndarray) else value)
    return written if len(written) <= limit else written[: limit - 3] + "..."
