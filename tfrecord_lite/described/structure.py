"""Nested dicts and tuples, flattened to columns by name and rebuilt.

::

    {"image": a, "box": {"x": b, "y": c}}     image, box/x, box/y
    (a, b)                                    0, 1
    a                                         value

A *structure* is the same nesting with names as its leaves. In a sidecar it is JSON: an object
for a dict, an array for a tuple, a string for a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from tfrecord_lite.errors import argument_error

Structure: TypeAlias = "str | dict[str, Structure] | tuple[Structure, ...]"

_ONLY_COLUMN = "value"
"""The name of a column that is not in a dict or tuple."""


def flatten(data: object) -> tuple[Structure, dict[str, Any]]:
    """Split nested dicts and tuples into their structure and their leaves, named by path.

    >>> flatten({"a": 1, "b": {"c": 2, "d": (3, 4)}})[1]
    {'a': 1, 'b/c': 2, 'b/d/0': 3, 'b/d/1': 4}
    """
    leaves: dict[str, Any] = {}
    try:
        return _flatten(data, "", leaves), leaves
    except RecursionError as error:
        raise argument_error("the data are nested too deeply") from error


def _flatten(data: object, name: str, leaves: dict[str, Any]) -> Structure:
    if isinstance(data, Mapping):
        for key in data:
            if not isinstance(key, str):
                raise TypeError(f"a key must be a str, not {type(key).__name__}: {key!r}")
        paths = {key: f"{name}/{key}" if name else key for key in data}
        return {key: _flatten(data[key], path, leaves) for key, path in paths.items()}
    if isinstance(data, tuple):
        places = [f"{name}/{i}" if name else str(i) for i in range(len(data))]
        return tuple(_flatten(item, path, leaves) for item, path in zip(data, places, strict=True))
    name = name or _ONLY_COLUMN
    if name in leaves:
        detail = "two columns have this name, as / joins the names of nested ones"
        raise argument_error(detail, key=name)
    leaves[name] = data
    return name


def rebuild(structure: Structure, leaves: Mapping[str, object]) -> object:
    """Nest the leaves again, as the structure has them."""
    if isinstance(structure, dict):
        return {key: rebuild(item, leaves) for key, item in structure.items()}
    if isinstance(structure, tuple):
        return tuple(rebuild(item, leaves) for item in structure)
    return leaves[structure]


def is_flat_dict(structure: Structure) -> bool:
    """Return whether a structure is a dict of columns under their own names."""
    return isinstance(structure, dict) and all(key == item for key, item in structure.items())


def merged(one: Structure, other: Structure) -> Structure | None:
    """Merge the structures of two files; None if they are not nested alike."""
    both = _merged(one, other)
    if both is None or len(names := list(_names_of(both))) > len(set(names)):
        return None
    return both


def _merged(one: Structure, other: Structure) -> Structure | None:
    if isinstance(one, dict) and isinstance(other, dict):
        both = dict(one)
        for key, item in other.items():
            below = _merged(one[key], item) if key in one else item
            if below is None:
                return None
            both[key] = below
        return both
    return one if one == other else None


def completed(structure: Structure, names: Iterable[str]) -> Structure:
    """Add leaves for the names that a structure lacks, nested as their paths are."""
    is_flat = is_flat_dict(structure) and any("/" in key for key in structure)
    present = set(_names_of(structure))
    for name in names:
        if name not in present:
            whole = merged(structure, _nested([name] if is_flat else name.split("/"), name))
            if whole is None:
                detail = "the data have no place for this feature of the schema"
                raise argument_error(detail, key=name)
            structure = whole
    return structure


def _nested(keys: list[str], name: str) -> Structure:
    return {keys[0]: _nested(keys[1:], name)} if keys else name


def _names_of(structure: Structure) -> Iterator[str]:
    if not isinstance(structure, dict | tuple):
        yield structure
        return
    for item in structure.values() if isinstance(structure, dict) else structure:
        yield from _names_of(item)


def _nested_tuples(item: object) -> Structure:
    if isinstance(item, dict):
        return {key: _nested_tuples(below) for key, below in item.items()}
    if isinstance(item, list):
        return tuple(map(_nested_tuples, item))
    return cast("str", item)  # which `structure_of_json` checks


def structure_of_json(document: object, names: Iterable[str]) -> Structure:
    """Check a structure from parsed JSON; its leaves must be `names`, each once."""
    structure = _nested_tuples(document)
    if sorted(map(str, _names_of(structure))) != sorted(names):
        raise argument_error("a sidecar's structure must name each feature once")
    return structure
