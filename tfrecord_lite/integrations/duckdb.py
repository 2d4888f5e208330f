"""DuckDB over record files: conditions on batches.

::

    where   a condition in SQL, evaluated on RecordBatches of Arrow

A table of ``scan`` needs none of this: ``duckdb.sql("select ... from table")`` finds it by its name.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.convert.dataframes.arrow import imported as arrow
from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.schema.text import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfrecord_lite.arrays import BoolArray

__all__ = ["Where", "where"]

_OWN_NAMES = ("LAMBDA", "SUBQUERY")
"""Expressions that bring names of their own, which need not be columns."""

_NOT_CONDITIONS = ("modifiers", "group_expressions", "group_sets", "having", "qualify")
"""Parts of a query that a text with unbalanced parentheses could smuggle in."""


def where(expression: str, column_names: Sequence[str]) -> Where:
    """Prepare a condition in DuckDB's SQL, for batches with these columns.

    Parameters
    ----------
    expression : str
        What may follow ``WHERE``. A column whose name is not a plain word is in double quotes:
        ``"image/class/label" = 3``.
    column_names : sequence of str
        The columns that there are.

    Returns
    -------
    Where
        Its ``columns`` are those that the condition uses, its ``mask`` evaluates it.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if this is not a condition, or names a column that there is not.
    ImportError
        If duckdb or pyarrow is not installed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> condition = where("label >= 2 and name = 'rose'", ["name", "label", "image"])
    >>> condition.columns
    ['name', 'label']
    >>> batch = pa.record_batch({"label": [1, 2, None], "name": ["rose", "rose", "rose"]})
    >>> condition.mask(batch)
    array([False,  True, False])
    """
    return Where(expression, column_names)


class Where:
    """A condition on the rows of batches; make it with :func:`where`.

    It can be sent to other processes, and used by several threads at a time.
    """

    columns: list[str]
    """The columns that the condition uses, in the order of the batches."""

    def __init__(self, expression: str, column_names: Sequence[str]) -> None:
        self._given = expression, list(column_names)
        self._connection = _connect()
        self.columns = _columns_of(self._connection, expression, self._given[1])
        number = "row"
        while number in map(str.lower, self.columns):
            number += "_"
        self._number = number
        # The parentheses are on lines of their own, since a comment may end the text.
        self._query = f'SELECT "{number}" FROM batch WHERE (\n{expression}\n)'  # noqa: S608

    def __reduce__(self) -> tuple[type[Where], tuple[str, list[str]]]:
        """Send the text; a connection stays where it is."""
        return Where, self._given

    def mask(self, batch: Any) -> BoolArray:
        """Evaluate the condition on a batch.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            With the columns that the condition uses; others are ignored.

        Returns
        -------
        ndarray
            bool, shape (rows,): whether the condition is true; where it is null, False.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` with DuckDB's text if the condition cannot be evaluated.
        """
        pa = arrow()
        columns = {name: batch.column(name) for name in self.columns}
        rows = pa.array(np.arange(batch.num_rows))
        with self._connection.cursor() as cursor:
            cursor.register("batch", pa.table({**columns, self._number: rows}))
            try:
                found = cursor.execute(self._query).fetchnumpy()
            except imported().Error as error:
                raise _condition_error(first_line(error)) from None
        mask = np.zeros(batch.num_rows, np.bool_)
        mask[found[self._number]] = True
        return mask


def imported() -> Any:
    """Return the library, or raise the ImportError that says how to install it."""
    try:
        import duckdb  # noqa: PLC0415 - optional
    except ImportError:
        detail = "SQL needs an extra package: pip install 'tfrecord-numpy[sql]'"
        raise ImportError(detail) from None
    return duckdb


def first_line(error: Exception) -> str:
    """Return the first line of a text of DuckDB's; candidates and the query's lines follow it."""
    return str(error).partition("\n")[0].strip()


def _connect() -> Any:
    """Return a database in memory without threads of its own, which a fork would lose."""
    return imported().connect(":memory:", config={"threads": 1})


def _condition_error(detail: str) -> InvalidArgumentError:
    return argument_error(f"the condition cannot be evaluated: {detail}")


def _columns_of(connection: Any, expression: str, names: list[str]) -> list[str]:
    """Return the columns that a condition uses, or raise if it is not a condition."""
    tree = _parsed(connection, expression)
    nodes = list(_nodes(tree))
    if any(node.get("class") == "STAR" for node in nodes):
        return names
    found = {
        _match(node["column_names"][0], names)
        for node in nodes
        if node.get("class") == "COLUMN_REF"
    }
    unknown = {name for name, is_known in found if not is_known}
    if unknown and not any(node.get("class") in _OWN_NAMES for node in nodes):
        name = min(unknown, key=expression.lower().find)
        raise argument_error(f"there is no column {name!r}{_hint(name, expression, names)}")
    used = {name for name, is_known in found if is_known}
    if len({name.lower() for name in used}) < len(used):
        detail = "two columns whose names differ only in case, which are one to DuckDB"
        raise _condition_error(detail)
    return [name for name in names if name in used]


def _parsed(connection: Any, expression: str) -> dict[str, Any]:
    """Return the tree of a condition."""
    if not isinstance(expression, str):
        raise TypeError(f"a condition must be a str, not {type(expression).__name__}")
    if not expression.strip():
        raise _condition_error("it is empty")
    query = f"SELECT 1 WHERE (\n{expression}\n)"
    with connection.cursor() as cursor:
        rows = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchall()
    tree = json.loads(rows[0][0])
    if tree["error"]:
        raise _condition_error(tree["error_message"].partition("\n")[0])
    node = tree["statements"][0]["node"]
    if node["type"] != "SELECT_NODE" or any(node.get(part) for part in _NOT_CONDITIONS):
        raise _condition_error("expected what may follow WHERE, and nothing more")
    condition: dict[str, Any] = node["where_clause"]
    return condition


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Iterate over all objects in JSON."""
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for item in tree:
            yield from _nodes(item)


def _match(name: str, names: list[str]) -> tuple[str, bool]:
    """Return the column of a name, and whether there is one; case counts only between columns."""
    if name in names:
        return name, True
    return next(((each, True) for each in names if each.lower() == name.lower()), (name, False))


def _hint(name: str, expression: str, names: list[str]) -> str:
    """Return the end of an error text about an unknown column."""
    for each in names:
        if not each.isidentifier() and name in each and each in expression:
            return f'; write "{each}" in double quotes if this is the column'
    return nearest(name, names)
