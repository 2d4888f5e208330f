"""Descriptions of data frames, which a sidecar holds as JSON: how columns become the same frame again.

A description has the ``"library"``, a word for each of the ``"columns"`` that says its type there, the ``"index"``,
and which columns are ``"required"``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, get_args

from tfrecord_lite.convert.arrow import UNUSABLE, Description, Library
from tfrecord_lite.errors import argument_error
from tfrecord_lite.schema import Original, Schema


def fitting_description(
    description: Description | None, schema: Schema, originals: Mapping[str, Original]
) -> Description | None:
    """Return a description without the words that do not go with a schema; `originals` are the frame's own."""
    if description is None:
        return None
    own = schema.originals
    words = {}
    for name, word in description["columns"].items():
        ours, original = originals.get(name), own.get(name)
        is_list = isinstance(word, dict) and word.get("object") in ("list", "tuple", "array")
        is_fit = ours is not None and original is not None and _type_of(ours) == _type_of(original)
        if is_list:  # rows of any values
            is_fit = original is not None and bool(original.shape)
        words[name] = word if is_fit else None
    required = description.get("required", [])
    required = [name for name in required if name not in own or not own[name].missing]
    return {**description, "columns": words, "required": required}


def _type_of(original: Original) -> tuple[object, ...]:
    """Return what determines the type of a column, but for what is missing."""
    is_plain = original.text is None, original.categories is None
    return original.dtype, original.shape, original.zone, is_plain


def index_names(description: Description | None) -> list[str]:
    """Return the features that are levels of a frame's index."""
    return [feature for feature, _ in (description or {}).get("index", [])]


def check_description(description: Any, names: Collection[str]) -> Description:
    """Check the form of a description from parsed JSON; its words are checked when they are used."""
    try:
        index = description.get("index", [])
        is_good = description["library"] in get_args(Library)
        is_good &= isinstance(description["columns"], dict)
        is_good &= isinstance(index, list) and all(feature in names for feature, _ in index)
    except UNUSABLE:
        is_good = False
    if not is_good:
        detail = "a sidecar's dataframe must have a library, the types of its columns, and an index"
        raise argument_error(f"{detail} that is a list of features with their names")
    return dict(description)


def merged_description(one: Description | None, other: Description | None) -> Description | None:
    """Return the description of two frames that are read as one: the parts that agree."""
    if one is None or other is None:
        return None
    if one["library"] != other["library"] or index_names(one) != index_names(other):
        return None
    merged = {key: value for key, value in one.items() if other.get(key) == value}
    theirs = other["columns"]
    # A column that one of them lacks is as in the other.
    both = {**theirs, **one["columns"]}
    words = {name: word if theirs.get(name, word) == word else None for name, word in both.items()}
    merged |= {"library": one["library"], "columns": words}
    ours, others = one.get("index", []), other.get("index", [])
    titles = [t if t == u else None for (_, t), (_, u) in zip(ours, others, strict=True)]
    merged["index"] = [[f, t] for (f, _), t in zip(ours, titles, strict=True)]
    if "ranges" in one and "ranges" in other:
        merged["ranges"] = [*one["ranges"], *other["ranges"]]
    return merged


def part_of(description: Description, rows: range) -> Description:
    """Return the description of some of a frame's rows."""
    if "ranges" not in description:
        return description
    labels = range(*description["ranges"][0])[rows.start : rows.stop]
    return {**description, "ranges": [[labels.start, labels.stop, labels.step]]}


def without_numbers(description: Description | None) -> Description | None:
    """Return the description of a frame without labels that are the numbers of its rows."""
    return description and {key: item for key, item in description.items() if key != "ranges"}
