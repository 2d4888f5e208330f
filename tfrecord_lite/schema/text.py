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
value may be omitted. Reading checks every name and creates only the classes of this package's
specifications: nothing in the text can name code.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from dataclasses import MISSING, fields
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, plural
from tfrecord_lite.schema.features import (
    PARTITIONS,
    SPECIFICATIONS,
    FeatureSpec,
    Partition,
    RaggedFeature,
    SparseFeature,
)
from tfrecord_lite.schema.kinds import Kind, is_float, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Described = tuple[dict[str, FeatureSpec], dict[str, dict[str, Any]]]

FORMAT = "tfrecord_lite.Schema"
SEQUENCE_FORMAT = "tfrecord_lite.SequenceSchema"
VERSION = 1

_SPECIFICATIONS = {cls.__name__: cls for cls in SPECIFICATIONS}
_PARTITIONS = {cls.__name__: cls for cls in PARTITIONS}
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _json_error(detail: str, key: str | None = None) -> InvalidArgumentError:
    return argument_error(f"schema JSON: {detail}", key=key)


# ------------------------------------------------------------------------------ writing


def to_json(
    features: Mapping[str, FeatureSpec],
    originals: Mapping[str, Mapping[str, Any]],
    indent: int | None,
) -> str:
    """Write canonical specifications and original types as JSON."""
    return write_document(FORMAT, {"features": describe(features, originals)}, indent)


def describe(
    features: Mapping[str, FeatureSpec], originals: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Convert canonical specifications and original types to JSON values."""
    described = {name: _describe(spec) for name, spec in features.items()}
    for name, original in originals.items():
        described[name]["original"] = dict(original)
    return described


def write_document(format_name: str, members: Mapping[str, Any], indent: int | None) -> str:
    """Write a schema's members as JSON, after the format and its version."""
    document = {"format": format_name, "version": VERSION, **members}
    return json.dumps(document, indent=indent, allow_nan=False)


def _describe(spec: FeatureSpec) -> dict[str, Any]:
    """Convert a specification to JSON values."""
    described: dict[str, Any] = {"specification": type(spec).__name__}
    for field in fields(spec):  # type: ignore[arg-type]
        value = getattr(spec, field.name)
        match field.name:
            case "dtype":
                value = kind_of(value).label
            case "row_splits_dtype":
                value = value.name
            case "partitions":
                value = [
                    {"partition": type(one).__name__}
                    | {part.name: getattr(one, part.name) for part in fields(one)}
                    for one in value
                ]
            case "default_value":
                value = json_value(value)
            case _:
                pass
        described[field.name] = value
    return described


def json_value(value: Any) -> Any:
    """Convert a value to JSON values: bytes that are not UTF-8 as base64, inf and NaN as text."""
    if isinstance(value, tuple):
        return [json_value(item) for item in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return next(word for word, number in _NON_FINITE.items() if str(number) == str(value))
    return value


# ------------------------------------------------------------------------------ reading


def from_json(document: str | bytes) -> Described:
    """Read specifications and original types, whose values are not checked yet."""
    return read_features("features", read_document(document, FORMAT))


def read_document(document: str | bytes, format_name: str) -> dict[str, Any]:
    """Read a schema's JSON; check its format and version."""
    try:
        found = json.loads(document, object_pairs_hook=_unique)
    except RecursionError as error:
        raise _json_error("nested too deeply") from error
    except InvalidArgumentError:
        raise
    except ValueError as error:  # bad JSON, bad UTF-8, a number of thousands of digits
        raise _json_error(f"not JSON that to_json wrote ({type(error).__name__})") from error
    if not isinstance(found, dict) or found.get("format") != format_name:
        raise _json_error(f'"format" must be "{format_name}", as to_json writes it')
    if found.get("version") != VERSION:
        detail = (
            f"schema JSON: version {found.get('version')!r}, this release reads version {VERSION}"
        )
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    return found


def read_features(member: str, document: Mapping[str, Any]) -> Described:
    """Read the specifications and original types of one member of a schema's JSON."""
    listed = document.get(member)
    if not isinstance(listed, dict) or not all(isinstance(item, dict) for item in listed.values()):
        raise _json_error(f'"{member}" must be an object of objects')
    originals = {}
    for name, item in listed.items():
        if "original" in item:
            originals[name] = _original(name, item.pop("original"))
    return {name: _rebuild(name, item) for name, item in listed.items()}, originals


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's members; raise if a name occurs twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _json_error("an object has two members of the same name")
    return found


def _original(name: str, item: Any) -> dict[str, Any]:
    """Check the form of an original; its dtype must be a name."""
    known = ("dtype", "shape", "text", "missing", "zone", "categories", "ordered")
    if not isinstance(item, dict) or not {"dtype"} <= item.keys() <= set(known):
        raise _json_error(f"original must have dtype, and at most {', '.join(known[1:])}", name)
    if not isinstance(item["dtype"], str) or not isinstance(item.get("shape"), list | None):
        raise _json_error("original: dtype must be a name, shape a list or null", name)
    if not isinstance(item.get("text"), str | None) or not isinstance(
        item.get("missing", False), bool
    ):
        raise _json_error("original: text must be a name or null, missing true or false", name)
    if not isinstance(item.get("categories"), list | None):
        raise _json_error("original: categories must be a list or null", name)
    if item.get("categories") is not None:
        item["categories"] = tuple(_category(name, value, item) for value in item["categories"])
    return item


def _category(name: str, value: Any, item: dict[str, Any]) -> Any:
    """Return a category as :func:`json_value` was given it."""
    is_bytes = item["dtype"] == "string" and item.get("text") is None
    decoded = _decoded(name, value, is_float=is_float(item["dtype"]))
    return decoded.encode() if is_bytes and isinstance(decoded, str) else decoded


def _rebuild(name: str, item: dict[str, Any]) -> FeatureSpec:
    """Create a specification from its JSON values."""
    values = dict(item)
    word = values.pop("specification", None)
    cls = _SPECIFICATIONS.get(word) if isinstance(word, str) else None
    if cls is None:
        raise _json_error(f"{word!r} is not one of {', '.join(_SPECIFICATIONS)}", name)
    _check_members(name, values, cls)
    for field in ("dtype", "row_splits_dtype"):
        if not isinstance(values.get(field, ""), str):
            raise _json_error(f"{field} must be a name, such as int64", name)
    if "partitions" in values:
        values["partitions"] = _rebuild_partitions(name, values["partitions"])
    try:
        if values.get("default_value") is not None:
            kind = kind_of(values["dtype"], name)
            default = _decoded(name, values["default_value"], is_float=kind is Kind.FLOAT)
            values["default_value"] = default
        return cls(**values)
    except TypeError as error:
        raise _json_error(str(error), name) from error


def _check_members(name: str, values: Mapping[str, Any], cls: type) -> None:
    """Check that all members are arguments of `cls`, and that none without default is missing."""
    known = {field.name: field for field in fields(cls)}
    if unknown := sorted(values.keys() - known.keys()):
        raise _json_error(f"{cls.__name__} has no {', '.join(unknown)}", name)
    needed = {n for n, f in known.items() if f.default is MISSING}
    if missing := sorted(needed - values.keys()):
        raise _json_error(f"{cls.__name__} needs {', '.join(missing)}", name)


def _rebuild_partitions(name: str, items: Any) -> list[Partition]:
    """Create the partitions of a RaggedFeature."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _json_error("partitions must be a list of objects", name)
    made = []
    for item in items:
        values = dict(item)
        word = values.pop("partition", None)
        cls = _PARTITIONS.get(word) if isinstance(word, str) else None
        if cls is None:
            raise _json_error(f"{word!r} is not one of {', '.join(_PARTITIONS)}", name)
        _check_members(name, values, cls)
        made.append(cls(**values))
    return made


def _decoded(name: str, value: Any, *, is_float: bool) -> Any:
    if isinstance(value, list):
        return [_decoded(name, item, is_float=is_float) for item in value]
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
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
    if left_out:
        rows = rows[:head] + rows[count - tail :]
    lines = aligned([header, *rows])
    if left_out:
        lines.insert(2 + head, f"... {left_out} more ...")
    return "\n".join([title, *lines])


def table_rows(
    features: Mapping[str, FeatureSpec], originals: Mapping[str, Any], most: int | None = None
) -> list[list[str]]:
    """Return a header and a row per feature, without the columns that are empty in all rows."""
    shown = islice(features.items(), most)
    rows = [_row(name, spec, originals.get(name)) for name, spec in shown]
    header = ("name", "specification", "dtype", "shape", "default", "details", "original")
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    return [[row[i] for i in used] for row in (header, *rows)]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, with a rule after the first row."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    ruled = [rows[0], ["-" * width for width in widths], *rows[1:]]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in ruled
    ]


def shown_name(name: str) -> str:
    """Return a feature's name as a table shows it: in quotes if it could not be seen otherwise."""
    return name if name.isprintable() and name == name.strip() != "" else repr(name)


def nearest(name: object, names: Iterable[str]) -> str:
    """Return the end of an error text about an unknown name: those most like it, if any."""
    close = get_close_matches(str(name), list(names))
    return f"; the nearest: {', '.join(map(repr, close))}" if close else ""


def listed(names: Iterable[str], noun: str) -> str:
    """Return how many names there are, and the first ones, for a short repr.

    >>> listed(["a", "b", "c", "d"], "feature")
    "4 features: 'a', 'b', 'c', ..."
    """
    known = list(names)
    some = [repr(name if len(name) <= 24 else f"{name[:20]}...") for name in known[:_MOST_LISTED]]
    some += ["..."] if len(known) > len(some) else []
    return plural(len(known), noun) + (f": {', '.join(some)}" if some else "")


_MOST_LISTED = 3


def _row(name: str, spec: FeatureSpec, original: Any) -> tuple[str, ...]:
    """Return the cells of one feature."""
    shape = getattr(spec, "shape", None)
    default = getattr(spec, "default_value", None)
    return (
        shown_name(name),
        type(spec).__name__,
        kind_of(getattr(spec, "dtype", None)).label,
        "" if shape is None else _brackets(shape),
        "" if default is None else _short(default),
        _details(spec),
        "" if original is None else _original_text(original),
    )


def _original_text(original: Any) -> str:
    """Return the cell of an original."""
    words = [original.dtype, _brackets(original.shape), original.text or "", original.zone or ""]
    if original.categories is not None:
        kind = "ordered " if original.ordered else ""
        count = len(original.categories)
        words.append(f"of {plural(count, f'{kind}category', f'{kind}categories')}")
    return " ".join(filter(None, [*words, "or missing" if original.missing else ""]))


def _details(spec: FeatureSpec) -> str:
    """Return the cell with the keys that a composite feature reads."""
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
    if shape is None:
        return ""
    return f"[{', '.join('?' if dim is None else str(dim) for dim in shape)}]"


def _short(value: Any, limit: int = 24) -> str:
    """Return the repr of a value in at most `limit` characters."""
    if isinstance(value, bytes):
        value = value[:limit]
    written = repr(np.asarray(value).tolist() if isinstance(value, np.ndarray) else value)
    return written if len(written) <= limit else written[: limit - 3] + "..."
