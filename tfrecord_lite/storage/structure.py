"""Nested dicts and tuples, flattened to columns by name and put together again.

::

    {"image": a, "box": {"x": b, "y": c}}     image, box/x, box/y
    (a, b)                                    0, 1
    a                                         value

A *structure* is the same nest with names at its leaves. In a sidecar it is JSON: an object
for a dict, an array for a tuple, a string for a column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

Structure: TypeAlias = "str | dict[str, Structure] | tuple[Structure, ...]"

_FLAT = "value"
"""The name of a column that is all there is."""


def flatten(data: Any) -> tuple[Structure, dict[str, Any]]:
    """Take nested dicts and tuples apart.

    Parameters
    ----------
    data : dict, tuple, or anything else
        What is neither a mapping nor a tuple is a leaf.

    Returns
    -------
    structure : Structure
    leaves : dict of str to leaf
        Named by their path, joined by ``/``.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if two leaves get one name, or it is nested without end.
    TypeError
        For a key that is no str.

    Examples
    --------
    >>> flatten({"a": 1, "b": {"c": 2, "d": (3, 4)}})[1]
    {'a': 1, 'b/c': 2, 'b/d/0': 3, 'b/d/1': 4}
    """
    leaves: dict[str, Any] = {}
    try:
        return _flatten(data, "", leaves), leaves
    except RecursionError as error:
        raise _refuse("nested too deeply") from error


def _flatten(data: Any, name: str, leaves: dict[str, Any]) -> Structure:
    if isinstance(data, Mapping):
        for key in data:
            if not isinstance(key, str):
                raise TypeError(f"a key must be a str, not {type(key).__name__}: {key!r}")
        return {
            key: _flatten(item, f"{name}/{key}" if name else key, leaves)
            for key, item in data.items()
        }
    if isinstance(data, tuple):
        return tuple(
            _flatten(item, f"{name}/{i}" if name else str(i), leaves) for i, item in enumerate(data)
        )
    name = name or _FLAT
    if name in leaves:
        raise _refuse("two columns of one name, since / joins the names of nested ones", name)
    leaves[name] = data
    return name


def _refuse(detail: str, key: str | None = None) -> InvalidArgumentError:
    return InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)


def rebuild(structure: Structure, leaves: Mapping[str, Any]) -> Any:
    """Put leaves together again."""
    if isinstance(structure, dict):
        return {key: rebuild(item, leaves) for key, item in structure.items()}
    if isinstance(structure, tuple):
        return tuple(rebuild(item, leaves) for item in structure)
    return leaves[structure]


def is_plain(structure: Structure) -> bool:
    """Whether it is a flat dict of columns by their own names."""
    return isinstance(structure, dict) and all(key == item for key, item in structure.items())


def checked(found: Any, names: Iterable[str]) -> Structure:
    """Check a structure that came from JSON.

    Parameters
    ----------
    found : parsed JSON
    names : iterable of str
        The columns; each has to be in the structure once.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if it is none, or does not have these leaves.
    """
    leaves: list[str] = []

    def check(item: Any) -> Structure:
        if isinstance(item, dict):
            return {key: check(below) for key, below in item.items()}
        if isinstance(item, list):
            found = []  # a map, or a comprehension, takes a level of recursion more
            for below in item:
                found.append(check(below))  # noqa: PERF401
            return tuple(found)
        if not isinstance(item, str):
            raise _refuse("a sidecar's structure has objects, arrays and names of features")
        leaves.append(item)
        return item

    try:
        structure = check(found)
    except RecursionError as error:
        raise _refuse("a sidecar's structure that is nested too deeply") from error
    if sorted(leaves) != sorted(names):
        raise _refuse("a sidecar's structure must name each feature once")
    return structure
