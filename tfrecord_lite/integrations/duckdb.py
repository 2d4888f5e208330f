"""DuckDB over record files: queries, and conditions on batches.

``duckdb.sql("select ... from table")`` finds a table of ``scan`` by its name, but asks it for all columns; files of
:func:`sql` are asked for those that the query uses, and for the rows that its simple filters keep, batch by batch.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from types import SimpleNamespace
from typing import Any, Unpack

import numpy as np

from tfrecord_lite import extension as ext
from tfrecord_lite import summarize
from tfrecord_lite.apps.tables import table as scanned
from tfrecord_lite.apps.tables.table import ScanOptions, TFRecordTable, hint_of, scan
from tfrecord_lite.apps.tfds import files_of
from tfrecord_lite.arrays import BoolArray
from tfrecord_lite.errors import InvalidArgumentError, TFRecordError, argument_error
from tfrecord_lite.extension import imported as arrow
from tfrecord_lite.options import ReadOptions, hinted
from tfrecord_lite.texts import nearest

__all__ = ["Where", "sql", "where"]

_FILE = re.compile(
    r"""(?:\b(?:from|join|describe|summarize|table)|,)\s*(?:'((?:[^']|'')+)'|"((?:[^"]|"")+)")""",
    re.IGNORECASE,
)
"""A quoted name where a query may have a table."""

_DUCKDB_FILES = re.compile(
    r"(?i)\.(csv|tsv|parquet|json|jsonl|ndjson|xlsx|avro|db|duckdb)(\.(gz|zst))?$"
)
"""The names of files that DuckDB reads directly."""

_BARE_NAME = re.compile(r"""(?i)\b(?:from|join|describe|summarize|table)\s+([^\s'"(),;]+)""")
_QUOTED = re.compile(r"""'((?:[^']|'')+)'|"((?:[^"]|"")+)\"""")
_LIKE_A_FILE = re.compile(r"[/\\*@]|\.tfr", re.IGNORECASE)

_UNKNOWN_COLUMN = re.compile(r'column "([^"]+)" not found|Referenced table "([^"]+)" not found')
_ROWS_PER_BATCH = 100_000

_NUMBER = "__number_of_row__"
"""The column with the rows for which a condition holds."""

_NO_COLUMN = "__no_column__"
"""The column of a file without records, about which nothing is known."""

_OWN_NAMES = ("LAMBDA", "SUBQUERY")
"""Expressions that bring names of their own, which need not be columns."""


def sql(query: str, *, schema: ext.SchemaLike | None = None, **options: Unpack[ScanOptions]) -> Any:
    """Run a query of DuckDB's SQL over files, such as ``select * from 'train-*.tfrecord'``.

    Parameters
    ----------
    query : str
        Quoted names in its FROM clauses are files of Examples or SequenceExamples, as for :func:`scan`, or directories
        of TensorFlow Datasets with all splits. Files that DuckDB reads directly (``.csv``, ``.parquet``, ``.json``,
        ...) are left to it.
    schema, **options : optional
        As for :func:`scan`, for all these files; but `text` is True by default.

    Returns
    -------
    pyarrow.RecordBatchReader
        The rows, as they are found. Decimals with digits after the point, as DuckDB's literals are, are float64. Read
        it to its end, or close it.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` with DuckDB's text for a query that cannot be run; as :func:`scan`.
    FileNotFoundError
        If there is no such file.
    DataLossError
        For damage, when a query reaches it.

    Examples
    --------
    >>> from tfrecord_lite.integrations.duckdb import sql
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> sql("select avg(age) as mean from 'people.tfrecord' where age > 36").read_all().to_pylist()
    [{'mean': 39.0}]
    """
    if not isinstance(query, str):
        raise TypeError(f"a query must be a str, not {type(query).__name__}")
    run = _Run(query, {"schema": schema, "text": True, **options})
    try:
        reader = run.reader()
    except BaseException:
        run.connection.close()
        raise
    fields = list(ext.without_decimals(reader.schema))
    chosen = [i for i, field in enumerate(fields) if field.name != _NO_COLUMN]
    kept = arrow().schema([fields[i] for i in chosen])
    if any(scanned.rounded_in(table.arrow_schema) for table in run.tables.values()):
        kept = kept.with_metadata({scanned.ROUNDED_KEY: json.dumps(kept.names)})
    rows = (batch.select(chosen).cast(kept) for batch in run.batches(reader))
    return arrow().RecordBatchReader.from_batches(kept, rows)


class _Run:
    def __init__(self, query: str, options: Any) -> None:
        self.query, self.connection = query, imported().connect(":memory:")
        self.tables: dict[str, TFRecordTable] = {}
        self._absent: dict[str, Exception] = {}
        self._failures: list[Exception] = []
        for match in _FILE.finditer(query):
            name = match[1].replace("''", "'") if match[1] else match[2].replace('""', '"')
            if name in self.tables or _DUCKDB_FILES.search(name):
                continue
            try:
                table = self.tables[name] = _scanned(name, query, options)
            except (OSError, TFRecordError) as error:  # it need not be a file
                self._absent[name] = error
                continue
            rows = _dataset_class()(table, self._failures)
            nothing = arrow().table({_NO_COLUMN: []})  # DuckDB has no tables without columns
            self.connection.register(name, rows if table.column_names else nothing)

    def reader(self) -> Any:
        """Begin the query, and return a RecordBatchReader of its rows."""
        try:
            statements = self.connection.extract_statements(self.query)
            number = [one.type for one in statements].count(imported().StatementType.SELECT)
            if number > 1:
                detail = f"the query has {number} statements with rows; run one at a time"
                raise argument_error(detail)
            relation = self.connection.sql(self.query)
            if relation is None:  # a statement without rows
                return arrow().table({}).to_reader()
            read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            return self._waited(lambda: read(_ROWS_PER_BATCH))
        except imported().Error as error:
            raise self._explained(error) from None

    def batches(self, reader: Any) -> Iterator[Any]:
        """Yield the rows."""
        with closing(self.connection), closing(reader):
            try:
                while (batch := self._waited(lambda: next(reader, None))) is not None:
                    yield batch
            except (imported().Error, arrow().ArrowException, OSError) as error:
                raise self._explained(error) from None

    def _waited(self, work: Callable[[], Any]) -> Any:
        """Let a thread work, since DuckDB may compute for minutes before it looks for Ctrl-C."""
        with ThreadPoolExecutor(1) as thread:
            future = thread.submit(work)
            try:
                return future.result()
            except KeyboardInterrupt:
                self.connection.interrupt()
                raise

    def _explained(self, error: Exception) -> Exception:
        """Return the error that explains one of DuckDB's: ours that caused it, or one of one line."""
        if self._failures:
            return self._failures[0]
        text = str(error)
        for name, absent in self._absent.items():
            if name in text:
                return absent
        if unknown := _UNKNOWN_COLUMN.search(text):
            names = [name for table in self.tables.values() for name in table.column_names]
            # Of context.label, DuckDB takes context for a table.
            path = re.search(rf"\b{re.escape(unknown[2] or ' ')}\.\w+", self.query)
            name = path[0] if path else unknown[1] or unknown[2]
            sampled = max(map(hint_of, self.tables.values()), default="")
            hint = _hint(name, self.query, names) or sampled
            return argument_error(f"there is no column {name!r}{hint}")
        detail = f"the query cannot be run: {first_line(error)}"
        if os.path.exists(self.query):
            detail += f"; a query is, for example, select * from '{self.query}'"  # noqa: S608 - a text
        for name in _BARE_NAME.findall(self.query):
            is_unknown = f"Table with name {name} does not exist" in text
            if is_unknown or _LIKE_A_FILE.search(name) or os.path.exists(name):
                detail += f"; the name of a file is in quotes: from '{name}'"
                break
        return argument_error(detail)


def _scanned(name: ext.Sources, query: str, options: dict[str, Any]) -> TFRecordTable:
    """Return the table of a file; of the columns that the query names, if a column has no type."""
    try:
        return scan(name, **options)
    except IsADirectoryError:
        if not isinstance(name, str):
            raise
        return _scanned(files_of(name, options.get("storage_options")), query, options)
    except InvalidArgumentError as error:
        if error.key is None or error.key in query:
            raise
        with imported().connect(":memory:") as connection:
            nodes = list(_nodes(_parsed_query(connection, query)))
        if any(node.get("class") == "STAR" for node in nodes):
            raise
        reading = {key: options[key] for key in options.keys() & ReadOptions.__annotations__}
        summary = summarize(name, num_records=options.get("sample", ext.SAMPLE), **reading)
        return scan(name, [n for n in ext.feature_names(summary) if n in query], **options)


def _readable(schema: Any) -> Any:
    """Return the Arrow schema of columns as DuckDB reads them: it has no float16."""
    half, single = arrow().float16(), arrow().float32()
    return ext.changed_schema(schema, lambda kind: single if kind == half else kind)


def names_in(query: str) -> list[str]:
    """Return the names of files that a query may read: quoted texts, and tables without quotes."""
    pairs = _QUOTED.findall(query)  # in single quotes, in double ones
    quoted = [a.replace("''", "'") or b.replace('""', '"') for a, b in pairs]
    return list(dict.fromkeys([*quoted, *_BARE_NAME.findall(query)]))


@cache
def _dataset_class() -> Any:
    """Return the class of tables as datasets of pyarrow's, which DuckDB knows."""
    pa = arrow()
    base: Any = arrow("pyarrow.dataset").Dataset

    class Scanned(base):  # type: ignore[misc]
        """A table as a dataset."""

        def __init__(self, table: TFRecordTable, failures: list[Exception]) -> None:
            self._table, self._failures = table, failures

        @property
        def schema(self) -> Any:
            return _readable(self._table.arrow_schema)

        def scanner(self, columns: Any = None, filter: Any = None, **_: Any) -> Any:  # noqa: A002
            names = self._table.column_names
            asked = names if columns is None else list(columns)
            # An expression does not list its fields, but its text has their names.
            tested = [] if filter is None else [name for name in names if name in str(filter)]
            chosen = list(dict.fromkeys([*asked, *tested]))
            # The table itself notices features that first occur after the sample; a selection does not.
            is_whole = columns is None or {*chosen} == {*names}
            table = self._table if is_whole else self._table.select(chosen)
            schema = _readable(table.select(asked).arrow_schema)
            reader = pa.RecordBatchReader.from_batches(schema, self._rows(table, asked, filter))
            # DuckDB takes anything with these names for a scanner.
            return SimpleNamespace(projected_schema=schema, to_reader=lambda: reader)

        def _rows(self, table: TFRecordTable, chosen: list[str], condition: Any) -> Iterator[Any]:
            try:
                for batch in table.to_batches():
                    kept = pa.Table.from_batches([batch]).cast(_readable(batch.schema))
                    kept = kept if condition is None else kept.filter(condition)
                    yield from kept.select(chosen).to_batches()
            except Exception as error:
                self._failures.append(error)  # DuckDB keeps only its text
                raise

    return Scanned


@hinted
def where(expression: str, column_names: Sequence[str]) -> Where:
    """Prepare a condition in DuckDB's SQL, for batches with these columns.

    Parameters
    ----------
    expression : str
        What may follow ``WHERE``. A column whose name is not a plain word is in double quotes:
        ``"image/class/label" = 3``.
    column_names : sequence of str
        The columns of the batches.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if this is not a condition, or names an unknown column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfrecord_lite.integrations.duckdb import where
    >>> people = pa.record_batch({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, None]})
    >>> where("age > 36 and name like 'A%'", ["name", "age", "image"]).mask(people)
    array([False,  True, False])
    """
    return Where(expression, column_names)


class Where:
    """A condition on the rows of batches; make it with :func:`where`.

    It can be sent to other processes, and used by several threads at a time.

    Examples
    --------
    >>> from tfrecord_lite.integrations.duckdb import where
    >>> condition = where("age > 36 and name like 'A%'", ["name", "age"])
    >>> condition.columns
    ['name', 'age']
    """

    columns: list[str]
    """The columns that the condition uses, in the order of the batches."""

    def __init__(self, expression: str, column_names: Sequence[str], hint: str = "") -> None:
        self._arguments = expression, list(column_names), hint
        # Without threads of its own, which a fork would lose.
        self._connection = imported().connect(":memory:", config={"threads": 1})
        self.columns = _columns_of(self._connection, *self._arguments)
        # The parentheses are on lines of their own, since a comment may end the text.
        self._query = f'SELECT "{_NUMBER}" FROM batch WHERE (\n{expression}\n)'  # noqa: S608

    def __reduce__(self) -> tuple[type[Where], tuple[str, list[str], str]]:
        """Send the text; a connection stays where it is."""
        return Where, self._arguments

    def mask(self, batch: Any) -> BoolArray:
        """Evaluate the condition on a batch.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            With the columns that the condition uses; others are ignored.

        Returns
        -------
        ndarray
            bool, shape (rows,): whether the condition is true, and not null.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` with DuckDB's text if the condition cannot be evaluated.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tfrecord_lite.integrations.duckdb import where
        >>> people = pa.record_batch({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> where("age > 36", ["name", "age"]).mask(people)
        array([False,  True,  True])
        """
        pa = arrow()
        columns = {name: batch.column(name) for name in self.columns}
        columns[_NUMBER] = pa.array(np.arange(batch.num_rows))
        with self._connection.cursor() as cursor:
            rows = pa.table(columns)
            cursor.register("batch", rows.cast(_readable(rows.schema)))
            try:
                rows = cursor.execute(self._query).fetchnumpy()
            except (imported().Error, RuntimeError) as error:
                if "interrupted" in str(error):  # which DuckDB makes of Ctrl-C
                    raise KeyboardInterrupt from None
                raise _condition_error(first_line(error)) from None
        mask = np.zeros(batch.num_rows, np.bool_)
        mask[rows[_NUMBER]] = True
        return mask


def imported() -> Any:
    """Return the library, or raise the ImportError that says how to install it."""
    return ext.library("duckdb")


def first_line(error: Exception) -> str:
    """Return the first line of a text of DuckDB's."""
    return str(error).partition("\n")[0].strip()


def _condition_error(detail: str) -> InvalidArgumentError:
    return argument_error(f"the condition cannot be evaluated: {detail}")


def _columns_of(connection: Any, expression: str, names: list[str], hint: str) -> list[str]:
    """Return the columns that a condition uses, or raise if it is not a condition."""
    nodes = list(_nodes(_parsed(connection, expression)))
    if any(node.get("class") == "STAR" for node in nodes):
        return names
    used: set[str] = set()
    unknown: set[str] = set()
    for path in (node["column_names"] for node in nodes if node.get("class") == "COLUMN_REF"):
        # Case counts only between columns.
        alike = [n for n in names if n.lower() == path[0].lower()]
        used.update(path[:1] if path[0] in names else alike[:1])
        unknown.update([] if alike else [".".join(path)])
    if unknown and not any(node.get("class") in _OWN_NAMES for node in nodes):
        name = min(unknown, key=expression.lower().find)
        raise argument_error(f"there is no column {name!r}{_hint(name, expression, names) or hint}")
    if len({name.lower() for name in used}) < len(used):
        detail = "two columns whose names differ only in case, which are one to DuckDB"
        raise _condition_error(detail)
    return [name for name in names if name in used]


def _parsed(connection: Any, expression: str) -> dict[str, Any]:
    if not isinstance(expression, str):
        raise TypeError(f"a condition must be a str, not {type(expression).__name__}")
    if not expression.strip():
        raise _condition_error("it is empty")
    # Only a condition is right with parentheses and without: not "a limit 1", nor "a) or (b".
    tree = _parsed_query(connection, f"SELECT 1 WHERE (\n{expression}\n)")
    _parsed_query(connection, f"SELECT 1 WHERE {expression}")
    condition: dict[str, Any] = tree["statements"][0]["node"]["where_clause"]
    return condition


def _parsed_query(connection: Any, query: str) -> Any:
    with connection.cursor() as cursor:
        rows = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchall()
    tree = json.loads(rows[0][0])
    if tree["error"]:
        raise _condition_error(tree["error_message"].partition("\n")[0])
    return tree


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for item in tree:
            yield from _nodes(item)


def _hint(name: str, expression: str, names: list[str]) -> str:
    for column in names:
        is_it = column == name.replace(".", "/") or (name in column and column in expression)
        if not column.isidentifier() and is_it:
            return f'; write "{column}" in double quotes if this is the column'
    near = nearest(name, names)
    if not near and re.search(rf"""([=<>]|\bin\s*\()\s*["]?{re.escape(name)}\b""", expression):
        return f"; text is in single quotes: '{name}'"
    return near + ", in double quotes" * ("/" in near)
