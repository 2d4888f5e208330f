"""A schema as text: the table it prints, and the JSON it is kept in.

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

A feature's fields are its specification's arguments, under their names; an argument at
its default may be left out. Reading checks every name, and makes only what stands in
the table of classes below: nothing in the text can name code.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema.features import (
    FeatureSpec,
    FixedLenFeature,
    FixedLenSequenceFeature,
    Partition,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from tfrecord_lite.schema.kinds import Kind, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "tfrecord_lite.Schema"
VERSION = 1

_SPECIFICATIONS: dict[str, type[FeatureSpec]] = {
    cls.__name__: cls
    for cls in (
        FixedLenFeature,
        FixedLenSequenceFeature,
        VarLenFeature,
        SparseFeature,
        RaggedFeature,
    )
}
_PARTITIONS: dict[str, type[Partition]] = {
    cls.__name__: cls
    for cls in (
        RaggedFeature.RowSplits,
        RaggedFeature.RowLengths,
        RaggedFeature.RowStarts,
        RaggedFeature.RowLimits,
        RaggedFeature.ValueRowIds,
        RaggedFeature.UniformRowLength,
    )
}
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _refuse(detail: str, key: str | None = None) -> InvalidArgumentError:
    return InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=f"schema JSON: {detail}")


# ------------------------------------------------------------------------------ writing


def to_json(
    features: Mapping[str, FeatureSpec],
    originals: Mapping[str, Mapping[str, Any]],
    indent: int | None,
) -> str:
    """Write canonical specifications and original types as JSON."""
    described = {name: _describe(spec) for name, spec in features.items()}
    for name, original in originals.items():
        described[name]["original"] = dict(original)
    document = {"format": FORMAT, "version": VERSION, "features": described}
    return json.dumps(document, indent=indent, allow_nan=False)


def _describe(spec: FeatureSpec) -> dict[str, Any]:
    """Return a specification as what JSON can hold."""
    described: dict[str, Any] = {"specification": type(spec).__name__}
    for field in fields(spec):  # type: ignore[arg-type]
        value = getattr(spec, field.name)
        match field.name:
            case "dtype":
                value = kind_of(value).label
            case "row_splits_dtype":
                value = value.name
            case "partitions":
                value = [_describe_partition(partition) for partition in value]
            case "default_value":
                value = _encode_default(value)
            case _:
                pass
        described[field.name] = value
    return described


def _describe_partition(partition: Partition) -> dict[str, Any]:
    return {
        "partition": type(partition).__name__,
        **{f.name: getattr(partition, f.name) for f in fields(partition)},
    }


def _encode_default(value: Any) -> Any:
    """Return a default with byte strings and floats that JSON has no words for in words."""
    if isinstance(value, tuple):
        return [_encode_default(item) for item in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return next(word for word, number in _NON_FINITE.items() if str(number) == str(value))
    return value


# ------------------------------------------------------------------------------ reading


def from_json(document: str | bytes) -> tuple[dict[str, FeatureSpec], dict[str, dict[str, Any]]]:
    """Read specifications and original types; their values are still to be checked."""
    try:
        found = json.loads(document, object_pairs_hook=_unique)
    except RecursionError as error:
        raise _refuse("nested too deeply") from error
    except InvalidArgumentError:
        raise
    except ValueError as error:  # bad JSON, bad UTF-8, a number of thousands of digits
        raise _refuse(f"{type(error).__name__}; is this a file that to_json wrote?") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _refuse(f'no "format": "{FORMAT}" in it; is this a file that to_json wrote?')
    if found.get("version") != VERSION:
        detail = f"schema JSON of version {found.get('version')!r}, this release reads {VERSION}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    listed = found.get("features")
    if not isinstance(listed, dict) or not all(isinstance(item, dict) for item in listed.values()):
        raise _refuse('"features" must be an object of objects')
    originals = {}
    for name, item in listed.items():
        if "original" in item:
            originals[name] = _original(name, item.pop("original"))
    return {name: _rebuild(name, item) for name, item in listed.items()}, originals


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's members; refuse one that has a name twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _refuse("an object has two members of one name")
    return found


def _original(name: str, item: Any) -> dict[str, Any]:
    """Check the form of an original; its dtype must be a name, never another object."""
    known = {"dtype", "shape", "text", "missing"}
    if not isinstance(item, dict) or not {"dtype"} <= item.keys() <= known:
        raise _refuse("an original has a dtype, a shape, a text, and may be missing", name)
    if not isinstance(item["dtype"], str) or not isinstance(item.get("shape"), list | None):
        raise _refuse("an original's dtype is a name, its shape a list or null", name)
    if not isinstance(item.get("text"), str | None) or not isinstance(
        item.get("missing", False), bool
    ):
        raise _refuse("an original's text is a name or null, missing true or false", name)
    return item


def _rebuild(name: str, item: dict[str, Any]) -> FeatureSpec:
    """Make one specification from its description."""
    values = dict(item)
    word = values.pop("specification", None)
    cls = _SPECIFICATIONS.get(word) if isinstance(word, str) else None
    if cls is None:
        raise _refuse(f"{word!r} is no specification; there are {', '.join(_SPECIFICATIONS)}", name)
    _check_members(name, values, cls)
    for field in ("dtype", "row_splits_dtype"):
        if not isinstance(values.get(field, ""), str):
            raise _refuse(f"{field} must be a name, such as int64", name)
    if "partitions" in values:
        values["partitions"] = _rebuild_partitions(name, values["partitions"])
    try:
        if values.get("default_value") is not None:
            values["default_value"] = _decode_default(name, values)
        return cls(**values)
    except TypeError as error:
        raise _refuse(str(error), name) from error


def _check_members(name: str, values: Mapping[str, Any], cls: type) -> None:
    """Refuse members that are not arguments of `cls`, and the want of those without default."""
    known = {field.name: field for field in fields(cls)}
    if unknown := sorted(values.keys() - known.keys()):
        raise _refuse(f"{cls.__name__} has no {', '.join(unknown)}", name)
    needed = {n for n, f in known.items() if f.default is MISSING}
    if missing := sorted(needed - values.keys()):
        raise _refuse(f"{cls.__name__} needs {', '.join(missing)}", name)


def _rebuild_partitions(name: str, items: Any) -> list[Partition]:
    """Make the partitions of a RaggedFeature."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _refuse("partitions must be a list of objects", name)
    made = []
    for item in items:
        values = dict(item)
        word = values.pop("partition", None)
        cls = _PARTITIONS.get(word) if isinstance(word, str) else None
        if cls is None:
            raise _refuse(f"{word!r} is no partition; there are {', '.join(_PARTITIONS)}", name)
        _check_members(name, values, cls)
        made.append(cls(**values))
    return made


def _decode_default(name: str, values: Mapping[str, Any]) -> Any:
    """Return a default as it was before :func:`_encode_default`."""
    is_float = kind_of(values["dtype"], name) is Kind.FLOAT

    def decode(value: Any) -> Any:
        if isinstance(value, list):
            return [decode(item) for item in value]
        if isinstance(value, dict) and value.keys() == {"base64"}:
            try:
                return base64.b64decode(value["base64"], validate=True)
            except (binascii.Error, TypeError, ValueError) as error:
                raise _refuse("a default that is not base64", name) from error
        if is_float and isinstance(value, str) and value in _NON_FINITE:
            return _NON_FINITE[value]
        return value

    return decode(values["default_value"])


# -------------------------------------------------------------------------------- table


def table(
    features: Mapping[str, FeatureSpec], originals: Mapping[str, Any], shown: int | None = None
) -> str:
    """Lay out a schema as a table, a line a feature; columns without entries are left out."""
    count = len(features)
    title = f"Schema of {count} feature{'' if count == 1 else 's'}"
    if not count:
        return title
    rows = [_row(name, spec, originals.get(name)) for name, spec in features.items()]
    left_out = 0 if shown is None or count <= shown + 1 else count - shown
    kept = count - left_out
    head, tail = kept - kept // 4, kept // 4
    if left_out:
        rows = rows[:head] + rows[count - tail :]
    header = ("name", "specification", "dtype", "shape", "default", "details", "original")
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    cells = [[row[i] for i in used] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    if left_out:
        lines.insert(2 + head, f"... {left_out} more ...")
    return "\n".join([title, *lines])


def _row(name: str, spec: FeatureSpec, original: Any) -> tuple[str, ...]:
    """Return the cells of one feature."""
    shape = getattr(spec, "shape", None)
    default = getattr(spec, "default_value", None)
    return (
        name if name.isprintable() and name else repr(name),
        type(spec).__name__,
        kind_of(getattr(spec, "dtype", None)).label,
        "" if shape is None else _brackets(shape),
        "" if default is None else _short(default),
        _details(spec),
        "" if original is None else _original_text(original),
    )


def _original_text(original: Any) -> str:
    """Return an original in one cell."""
    words = [original.dtype, _brackets(original.shape), original.text or ""]
    return " ".join(filter(None, [*words, "or missing" if original.missing else ""]))


def _details(spec: FeatureSpec) -> str:
    """Say which keys a composite feature reads, in few words."""
    match spec:
        case SparseFeature():
            return f"{_short(spec.index_key)} -> {spec.value_key!r}, size {spec.size}"
        case RaggedFeature():
            key = [] if spec.value_key is None else [f"values {spec.value_key!r}"]
            levels = [
                f"{type(p).__name__}({getattr(p, fields(p)[0].name)!r})" for p in spec.partitions
            ]
            return ", ".join(key + levels)
        case _:
            return ""


def _brackets(shape: tuple[int | None, ...] | None) -> str:
    return (
        "" if shape is None else "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"
    )


def _short(value: Any, limit: int = 24) -> str:
    """Write a value in at most `limit` characters."""
    if isinstance(value, bytes):
        value = value[:limit]
    written = repr(np.asarray(value).tolist() if isinstance(value, np.ndarray) else value)
    return written if len(written) <= limit else written[: limit - 3] + "..."
