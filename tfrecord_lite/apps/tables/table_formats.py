"""CSV, JSON lines, Parquet and Arrow's own format (Feather) as streams of batches, both ways.

::

    CSV         cells of text (pyarrow) ── typed ──┐
    JSON lines  objects (json) ────────────────────┴──> batches of one schema

The first block of a file decides the types of its columns, unless they are given. What does not
fit them later is an error with the number of its row or line. Numbers in CSV keep their digits: a column
with leading zeros, or with integers that its type would round, is text. What is written:

=================  =============================  =================================
value              CSV                            JSON lines
=================  =============================  =================================
missing            an empty cell, without quotes  ``null``
number             ``1``, ``1.5``, ``nan``        the same; ``{"float": "NaN"}``
text               as it is, ``""`` if empty      a string
other bytes        an error                       ``{"base64": "AAE="}``
list               JSON, as in JSON lines         ``[1, 2]``
=================  =============================  =================================

A float always has a point or an exponent, and as few digits as identify it in its own type. Bytes
that are UTF-8 count as text, in JSON those without control characters.
"""

from __future__ import annotations

import base64
import bisect
import contextlib
import csv
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as pa_csv

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.tables.formats import Content, RowTarget, undone_by
from tfrecord_lite.apps.tables.table import as_rounded, check_columns, rounded_in
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.extension import Source, form_of, name_of, pairs_of, type_error
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.sniff import text_of

_CSV_BLOCK = 2 * 1024 * 1024
"""Bytes of CSV that are parsed at once; a row must fit in."""
_JSON_BLOCK = 4 * 1024 * 1024
_HEAD = 64
"""Cells that rule out most types before all cells are tried."""
_ZEROS = r"^[+-]?0[0-9xX]"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_TIME = r"^[0-9]{2}:[0-9]{2}(:[0-9]{2})?$"
_FRACTION = re.compile(r"\s*[+-]?\d*\.\d*(e[+-]?\d+)?\s*", re.IGNORECASE)
_LONG_INTEGER = r"^[+-]?[0-9]{16,}$"
_EXACT_DIGITS, _MAX_EXACT = 16, 2**53
"""An integer of so many digits may be more than a float64 has, one beyond that is."""
_TEXT = pa.large_string()
_ERRORS = (ValueError, TypeError, OverflowError, pa.ArrowException)
"""What is raised for values that are not of a type."""
_FLOATS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _misfit(
    source: str, number: int, detail: str, key: str | None = None, place: str = "line {:,}"
) -> InvalidArgumentError:
    detail = f"{place.format(number)}: {detail}"
    return InvalidArgumentError(Reason.WRONG_KIND, source=source, key=key, detail=detail)


_ROW = "row {:,} after the header"


def _advice(name: str, kind: str) -> str:
    return f"; name the column's type in --features, as in --features {name}:{kind}"


def _first_wrong(values: Any, array_of: Callable[[Any], Any]) -> int:
    """Return the number of the first value with which `array_of` raises, as for all values."""

    def is_wrong(stop: int) -> bool:
        try:
            array_of(values[:stop])
        except _ERRORS:
            return True
        return False

    return bisect.bisect_left(range(1, len(values)), 1, key=is_wrong)


class _TextSource:
    """A file of text, whose first block decides the types of its columns."""

    columns: list[str] | None = None
    """Those to read, set before anything is; None for all."""
    _names: Callable[[], list[str]]
    _blocks: Callable[[], Iterator[Any]]
    _type: Callable[[str, Any], Any]
    """Returns the type of a column by the first block, or None for a file without rows."""
    _batch: Callable[[Any], Any]
    """Makes a batch of rows of a block."""

    def __init__(self, source: Source, options: ReadSettings, types: Any) -> None:
        self.name: str = name_of(source)
        self._types = types
        self._content = Content(source, options)
        self._file = io.BufferedReader(self._content, _CSV_BLOCK)
        self._n_rows = 0  # before those that become a batch
        with undone_by(self.close):
            self.names: list[str] = self._names()

    @cached_property
    def _rest(self) -> Iterator[Any]:
        return self._blocks()

    @cached_property
    def _first(self) -> Any:
        return next(self._rest, None)

    def _all_blocks(self) -> Iterator[Any]:
        return chain([] if self._first is None else [self._first], self._rest)

    @cached_property
    def schema(self) -> Any:
        """The types of the columns that are read: the given ones, and the first block's."""
        types = self._types
        known = [] if types is None else types.names
        fields = [
            types.field(name) if name in known else pa.field(name, self._type(name, self._first))
            for name in (self.names if self.columns is None else self.columns)
        ]
        return pa.schema(fields, None if types is None else types.metadata)

    def count(self) -> int:
        """Count the rows."""
        return sum(map(len, self._all_blocks()))

    def batches(self, first_row: int = 0) -> Iterator[Any]:
        """Yield the rows from one row on."""
        for block in self._all_blocks():
            skipped = min(max(first_row - self._n_rows, 0), len(block))
            self._n_rows += skipped
            if skipped < len(block):
                yield self._batch(block[skipped:])
            self._n_rows += len(block) - skipped

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(ValueError):  # pyarrow may have closed it
            self._file.close()
        self._content.close()


# ------------------------------------------------------------------------------ cells of CSV


def typed(cells: Any, kind: Any = None) -> Any:  # noqa: PLR0912 - a case for each type
    """Return cells of text as an array: of a type, or of the first one that all of them fit; or raise `_ERRORS`.

    A cell fits a number if nothing of it is lost: no leading zero, no digit of an integer, not its size.
    Cells without a value decide nothing, and are of type null.
    """
    if cells.null_count == len(cells):
        return pa.nulls(len(cells), kind or pa.null())
    if kind is None:
        head = cells.drop_null()[:_HEAD]
        kinds = [pa.int64(), pa.bool_(), pa.date32(), pa.time32("s")]
        kinds += [pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "ns")]
        for guess in [*kinds, pa.float64(), pa.list_(pa.null())]:
            with contextlib.suppress(*_ERRORS):
                typed(head, guess)
                return typed(cells, guess)
        return cells
    form = form_of(kind)
    if form in ("list", "fixed list"):
        return _lists_of(cells, kind)
    if form in ("text", "bytes"):
        return cells.cast(kind)
    types = pa.types
    cells = pc.utf8_trim_whitespace(cells)
    if types.is_integer(kind) or types.is_floating(kind):
        numbers = cells.cast(kind)
        if pc.any(pc.match_substring_regex(cells, _ZEROS)).as_py():
            raise ValueError("a leading zero")
        if types.is_floating(kind):
            beyond = cells.filter(pc.is_inf(numbers.cast(pa.float64())))
            if not pc.all(pc.match_substring_regex(beyond, _INFINITE), min_count=0).as_py():
                raise ValueError("too large")
        if kind == pa.float64() and (pc.max(pc.binary_length(cells)).as_py() or 0) >= _EXACT_DIGITS:
            long = cells.filter(pc.match_substring_regex(cells, _LONG_INTEGER)).to_pylist()
            if any(abs(int(cell)) > _MAX_EXACT for cell in long):
                raise ValueError("more digits than a float has")
        return numbers
    if types.is_time(kind):
        if not pc.all(pc.match_substring_regex(cells, _TIME)).as_py():
            raise ValueError("not a time")
        day = pa.scalar("1970-01-01 ", cells.type)
        cells = pc.binary_join_element_wise(day, cells, pa.scalar("", cells.type))
        return cells.cast(pa.timestamp("s")).cast(pa.time32("s")).cast(kind)
    return cells.cast(pa.int64()).cast(kind) if types.is_duration(kind) else cells.cast(kind)


def _lists_of(cells: Any, kind: Any) -> Any:
    """Return cells of JSON as lists; a list of nulls may be a list of any values."""
    written = [cell if cell is None else cell.strip() for cell in cells.to_pylist()]
    if not all(cell is None or (cell[:1] == "[" and cell[-1:] == "]") for cell in written):
        raise ValueError("expected a list, as in [1, 2]")
    document = json.loads(f"[{','.join('null' if cell is None else cell for cell in written)}]")
    if len(document) != len(written):
        raise ValueError("more than one value")
    values = [_decoded(value) for value in document]
    if kind != pa.list_(pa.null()):
        return _array_of(_formed(values, kind), kind)
    values = _as_bytes(values) if _has_bytes(values) else values
    rows = pa.array(values)
    return pa.array(values, _large(rows.type)) if pa.types.is_null(rows.type.value_type) else rows


class CsvSource(_TextSource):
    """A CSV file with the names of its columns in the first line."""

    _bad: Any = None
    """The row that pyarrow could not divide into cells."""

    def __init__(
        self, source: Source, options: ReadSettings, types: Any = None, delimiter: str = ""
    ) -> None:
        self._delimiter = delimiter
        super().__init__(source, options, types)

    def _names(self) -> list[str]:
        head = self._file.peek(1)[:_CSV_BLOCK].removeprefix(b"\xef\xbb\xbf")
        text = head.decode(errors="replace")
        if not text.strip():
            detail = "the file is empty, without a line of names; write one, such as id,name"
            raise argument_error(detail, source=self.name)
        self._delimiter = self._delimiter or delimiter_of(text)
        csv.field_size_limit(_CSV_BLOCK)
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter))
        repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if repeated is not None:
            detail = f"two columns have the name {repeated!r}; rename one in the first line"
            raise argument_error(detail, source=self.name)
        if self._types is not None:
            check_columns(self._types.names, names, self.name)
        return names

    def _type(self, name: str, first: Any) -> Any:
        return pa.null() if first is None else typed(first.column(name)).type

    def _blocks(self) -> Iterator[Any]:
        try:
            yield from pa_csv.open_csv(
                self._file,
                pa_csv.ReadOptions(block_size=_CSV_BLOCK, use_threads=False),
                pa_csv.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=len(self.names) > 1,
                    invalid_row_handler=self._reject,
                ),
                pa_csv.ConvertOptions(
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    column_types=dict.fromkeys(self.names, pa.string()),
                    include_columns=self.names if self.columns is None else self.columns,
                ),
            )
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise self._error_of(error) from None

    def _reject(self, row: Any) -> str:
        self._bad = row
        return "error"

    def _error_of(self, error: Exception) -> InvalidArgumentError:
        """Return what pyarrow says of a row as an error with the number of its line."""
        row = self._bad
        if row is None:
            detail = f"not CSV with rows of {_CSV_BLOCK:,} bytes at most, all quotes closed"
            if "invalid UTF8" in str(error):
                detail = "not UTF-8, so save it as that first"
            return argument_error(f"{detail}: {error}", source=self.name)
        detail = f"{row.actual_columns} values, but there are {row.expected_columns} columns; "
        detail += f"quote values with {self._delimiter!r}"
        return _misfit(self.name, row.number - 1, detail, place=_ROW)  # the header is the first row

    def _batch(self, block: Any) -> Any:
        columns = [self._column(field, block.column(field.name)) for field in self.schema]
        return pa.record_batch(columns, schema=self.schema)

    def _column(self, field: Any, cells: Any) -> Any:
        try:
            return typed(cells, field.type)
        except _ERRORS:
            first = _first_wrong(cells, partial(typed, kind=field.type))
            cell = str(cells[first])
            shown = cell if len(cell) <= 40 else f"{cell[:40]}..."
            detail = f"{shown!r} is not of the column's type so far, {field.type}"
            is_fraction = pa.types.is_integer(field.type) and _FRACTION.fullmatch(cell)
            detail += _advice(field.name, "float32" if is_fraction else "text")
            row = self._n_rows + first + 1
            raise _misfit(self.name, row, detail, field.name, place=_ROW) from None


# -------------------------------------------------------------------------------- JSON lines


def _decoded(value: Any) -> Any:
    """Return a value of JSON, with bytes and floats in place of the objects that encode them."""
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"base64"}:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{str(value['base64'])[:40]!r} is not base64 ({error})") from None
    if value.keys() == {"float"} and value["float"] in _FLOATS:
        return _FLOATS[value["float"]]
    return {name: _decoded(item) for name, item in value.items()}


def _as_bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_bytes(item) for item in value]
    return value.encode() if isinstance(value, str) else value


def _has_bytes(value: Any) -> bool:
    return any(map(_has_bytes, value)) if isinstance(value, list) else isinstance(value, bytes)


def _large(kind: Any) -> Any:
    """Return a type with 64-bit offsets for strings, and lists of nothing as lists of strings."""
    if pa.types.is_list(kind):
        inner = kind.value_type
        return pa.list_(_TEXT if pa.types.is_null(inner) else _large(inner))
    if pa.types.is_string(kind):
        return _TEXT
    return pa.large_binary() if pa.types.is_binary(kind) else kind


def _formed(values: list[Any], kind: Any) -> list[Any]:
    """Return values as a type takes them: bytes for text, one value for a list of one."""
    if form_of(_leaf(kind)) == "bytes":
        values = _as_bytes(values)
    if form_of(kind) in ("list", "fixed list"):
        return [v if v is None or isinstance(v, list) else [v] for v in values]
    return [(v[0] if v else None) if isinstance(v, list) and len(v) <= 1 else v for v in values]


def _array_of(values: list[Any], kind: Any) -> Any:
    """Return Python's values as an array of a type; an error where pyarrow would drop a fraction."""
    if not pa.types.is_integer(_leaf(kind)):
        return pa.array(values, kind)
    array = pa.array(values)
    leaf = _leaf(array.type)
    if not (pa.types.is_integer(leaf) or pa.types.is_null(leaf)):
        raise ValueError(f"expected integers, found {leaf}")
    return array if array.type == kind else pa.array(values, kind)


def _leaf(kind: Any) -> Any:
    while form_of(kind) in ("list", "fixed list"):
        kind = kind.value_type
    return kind


class JsonSource(_TextSource):
    """JSON lines: an object per line, with a value or a list for each column."""

    _line = 1
    """The number of the next line."""

    def _names(self) -> list[str]:
        if self._types is not None:
            return list(self._types.names)
        return list(dict.fromkeys(name for _, row in self._first or () for name in row))

    def _type(self, name: str, first: Any) -> Any:
        rows = first or []
        values = [row.get(name) for _, row in rows]
        values = _as_bytes(values) if _has_bytes(values) else values
        try:
            array = pa.array(values)
        except _ERRORS as error:
            line = rows[_first_wrong(values, pa.array)][0]
            detail = f"values of several types, or too large: {_first_line(error)}"
            raise _misfit(self.name, line, detail + _advice(name, "text"), name) from None
        return _large(array.type)

    def _blocks(self) -> Iterator[list[tuple[int, dict[str, Any]]]]:
        rest = b""
        while data := self._file.read(_JSON_BLOCK):
            whole, end, rest = (rest + data).rpartition(b"\n")
            if end:
                yield self._parsed(whole)
        if rest:
            yield self._parsed(rest)

    def _parsed(self, data: bytes) -> list[tuple[int, dict[str, Any]]]:
        lines = data.split(b"\n")
        numbered = [(i, line) for i, line in enumerate(lines, self._line) if line.strip()]
        self._line += len(lines)
        objects: list[Any] = []
        with contextlib.suppress(ValueError):
            objects = json.loads(b"[" + b",".join(line for _, line in numbered) + b"]")
        if len(objects) != len(numbered):
            objects = [self._parsed_line(number, line) for number, line in numbered]
        has_objects = b'"base64"' in data or b'"float"' in data
        rows = []
        for (number, _), row in zip(numbered, objects, strict=True):
            if not isinstance(row, dict):
                raise _misfit(self.name, number, 'expected an object, as in {"x": 1}')
            if row.keys() == {"base64"} and isinstance(row["base64"], str):
                detail = "a whole record as base64, which is how `tfrecord cat --json` writes one that is "
                detail += "no Example; leave it out, or rename the key if it is a column"
                raise _misfit(self.name, number, detail)
            try:
                rows.append(
                    (number, {k: _decoded(v) for k, v in row.items()} if has_objects else row)
                )
            except ValueError as error:
                raise _misfit(self.name, number, str(error)) from None
        return rows

    def _parsed_line(self, number: int, line: bytes) -> Any:
        try:
            return json.loads(line)
        except ValueError as error:
            raise _misfit(self.name, number, f"not JSON: {error}") from None

    def _batch(self, rows: list[tuple[int, dict[str, Any]]]) -> Any:
        if self.columns is None:
            known = set(self.schema.names)
            for number, row in rows:
                if not row.keys() <= known:
                    name = next(name for name in row if name not in known)
                    detail = "this key is in no line before; name all columns in --features, or "
                    detail += "those to convert in --columns"
                    raise _misfit(self.name, number, detail, name)
        columns = []
        for field in self.schema:
            values = _formed([row.get(field.name) for _, row in rows], field.type)
            try:
                columns.append(_array_of(values, field.type))
            except _ERRORS as error:
                line = rows[_first_wrong(values, partial(_array_of, kind=field.type))][0]
                detail = f"a value that is not of the column's type, {field.type}: "
                is_text = any(isinstance(row.get(field.name), str) for _, row in rows)
                detail += _first_line(error) + _advice(field.name, "text" if is_text else "float32")
                raise _misfit(self.name, line, detail, field.name) from None
        return pa.record_batch(columns, schema=self.schema)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


# ------------------------------------------------------------------------------- writing

DELIMITERS = ",;\t"
"""What may be between the cells of CSV; the header of a file shows which it is."""

_WRITTEN_ROWS = 8 * 1024
"""Rows that become text at once."""
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_NOT_JSON = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def delimiter_of(head: str) -> str:
    r"""Return the delimiter of CSV that begins with some text: what its header has most of.

    >>> delimiter_of("a;b;c\n1,2;3;4"), delimiter_of('"a;b",c'), delimiter_of("a")
    (';', ',', ',')
    """
    header = re.sub(r'"[^"]*("|$)', "", head.lstrip("\r\n")).lstrip().partition("\n")[0]
    return max(DELIMITERS, key=header.count)


def csv_rows(columns: list[Any], delimiter: str, quoted: str) -> Any:
    """Return rows of CSV, of columns of any type; cells with a character of `quoted` are in quotes."""
    cells = [pc.fill_null(_csv_cells(_plain(column), quoted), "") for column in columns]
    return pc.binary_join_element_wise(*cells, pa.scalar(delimiter, _TEXT))


def _csv_cells(array: Any, quoted: str) -> Any:
    """Return cells in quotes where a reader needs them; null where a value is missing.

    pyarrow's own writer would quote all texts, and so the floats, which are texts to keep their point.
    """
    form = form_of(array.type)
    if form == "number" or pa.types.is_duration(array.type):
        return _numbers(array)
    if form in ("list", "fixed list", "struct", "map"):
        texts = pc.if_else(array.is_null(), pa.scalar(None, _TEXT), json_values(array))
    else:
        texts = (array.cast(pa.large_binary()) if form == "bytes" else array).cast(_TEXT)
    needs = pc.or_(pc.match_substring_regex(texts, f'["\r\n{quoted}]'), pc.equal(texts, ""))
    if not pc.any(needs).as_py():
        return texts
    return pc.if_else(needs, _join('"', pc.replace_substring(texts, '"', '""'), '"'), texts)


def json_values(array: Any) -> Any:
    """Return an array as values of JSON, a large_string array without nulls."""
    array = _plain(array)
    kind, form = array.type, form_of(array.type)
    if form == "struct":
        texts = json_objects(array.type.names, [json_values(field) for field in array.flatten()])
    elif form in ("list", "fixed list"):
        texts = _json_lists(array)
    elif form == "map":
        texts = _json_lists(pairs_of(array))
    elif form == "decimal":
        texts = array.cast(_TEXT)
    elif form == "number" or pa.types.is_duration(kind):
        texts = _numbers(array)
        for name, word in _NOT_JSON.items() if pa.types.is_floating(kind) else ():
            texts = pc.if_else(pc.equal(texts, name), f'{{"float": "{word}"}}', texts)
    elif form == "bytes":
        as_text = _as_text(array)
        texts = _mapped(array, _json_of) if as_text is None else _json_strings(as_text)
    else:
        texts = _json_strings(array.cast(_TEXT))
    return pc.if_else(array.is_null(), "null", texts).cast(_TEXT)


def json_objects(names: list[str], values: list[Any]) -> Any:
    """Return a JSON object per row, of columns of JSON values."""
    parts: list[Any] = []
    for i, (name, texts) in enumerate(zip(names, values, strict=True)):
        parts += [f"{', ' if i else '{'}{json.dumps(name, ensure_ascii=False)}: ", texts]
    return _join(*parts, "}")


def _json_lists(array: Any) -> Any:
    texts = json_values(array.flatten())  # which leaves out what null lists hold
    if pa.types.is_fixed_size_list(array.type):
        lengths = pc.if_else(array.is_null(), 0, array.type.list_size)
    else:
        lengths = pc.fill_null(pc.list_value_length(array), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    lists = pa.ListArray.from_arrays(pa.concat_arrays([pa.array([0], pa.int32()), ends]), texts)
    return _join("[", pc.binary_join(lists, pa.scalar(", ", _TEXT)), "]")


def _json_strings(texts: Any) -> Any:
    if pc.any(pc.match_substring_regex(texts, r'["\\\x00-\x1f\x7f]')).as_py():
        return _mapped(texts, lambda text: json.dumps(text, ensure_ascii=False))
    return _join('"', texts, '"')


def _json_of(data: bytes) -> str:
    text = text_of(data)
    value = {"base64": base64.b64encode(data).decode()} if text is None else text
    return json.dumps(value, ensure_ascii=False)


def _numbers(array: Any) -> Any:
    if pa.types.is_float16(array.type):
        return _mapped(array, lambda value: str(np.float16(value)))
    if pa.types.is_duration(array.type):
        array = array.cast(pa.int64())
    texts = array.cast(_TEXT)
    if not pa.types.is_floating(array.type):
        return texts
    return pc.if_else(pc.match_substring_regex(texts, "^-?[0-9]+$"), _join(texts, ".0"), texts)


def _as_text(array: Any) -> Any:
    try:
        texts = array.cast(pa.large_binary()).cast(_TEXT)
    except pa.ArrowInvalid:
        return None
    return None if pc.any(pc.match_substring_regex(texts, _CONTROL)).as_py() else texts


def _mapped(array: Any, change: Any) -> Any:
    texts = [None if value is None else change(value) for value in array.to_pylist()]
    return pa.array(texts, _TEXT)


def _join(*parts: Any) -> Any:
    """Return texts joined, row by row; null where one of them is."""
    columns = [pa.scalar(part, _TEXT) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*columns, pa.scalar("", _TEXT))


def _plain(array: Any) -> Any:
    """Return an array without dictionaries and extensions."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast(_TEXT) if pa.types.is_null(array.type) else array


def lines(texts: Any) -> memoryview:
    """Return texts as the bytes of lines, each with its end."""
    joined = _join(texts, "\n")
    _, offsets, data = joined.buffers()
    if data is None or not len(joined):
        return memoryview(b"")
    return memoryview(data)[: memoryview(offsets).cast("q")[len(joined)]]


class TextWriter:
    """Writes CSV, or JSON lines."""

    def __init__(self, file: RowTarget, schema: Any, kind: str) -> None:
        self._file, self._n_rows = file, 0
        self._rounded = rounded_in(schema)
        self._delimiter = {"csv": ",", "tsv": "\t"}.get(kind)
        if self._delimiter is not None and schema.names:
            names = [pa.array([name], _TEXT) for name in schema.names]
            # In quotes whatever delimiter a reader takes, so that no name looks like two.
            (line,) = csv_rows(names, self._delimiter, DELIMITERS).to_pylist()
            file.write(f"{line}\n".encode())

    def write_batch(self, batch: Any) -> None:
        """Write a batch."""
        for start in range(0, len(batch), _WRITTEN_ROWS):
            part = batch[start : start + _WRITTEN_ROWS]
            names = part.schema.names
            columns = [
                as_rounded(column) if name in self._rounded else column
                for name, column in zip(names, part.columns, strict=True)
            ]
            try:
                if self._delimiter is None:
                    rows = json_objects(names, list(map(json_values, columns)))
                else:
                    rows = csv_rows(columns, self._delimiter, self._delimiter)
            except pa.ArrowNotImplementedError:
                raise _type_error(part) from None
            except pa.ArrowInvalid:
                raise self._bytes_error(part) from None
            self._file.write(lines(rows))
            self._n_rows += len(part)

    def _bytes_error(self, batch: Any) -> InvalidArgumentError:
        """Return the error about the first bytes that are not text, which CSV has no cells for."""
        detail = "bytes that are not text, which CSV has no cells for; choose other columns with "
        detail += "--columns, or write another format"
        for field, column in zip(batch.schema, batch.columns, strict=True):
            for i, value in enumerate(column.to_pylist() if form_of(field.type) == "bytes" else ()):
                try:
                    (value or b"").decode()
                except UnicodeDecodeError:
                    place: Any = {"key": field.name, "index": self._n_rows + i}
                    return InvalidArgumentError(Reason.UNSUPPORTED, detail=detail, **place)
        return argument_error(detail)

    def close(self) -> None:
        """Do nothing: the last line has its end."""


def _type_error(batch: Any) -> InvalidArgumentError:
    """Return the error about the first column whose type has no text."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            json_values(column)
        except pa.ArrowNotImplementedError:
            return type_error(name, column.type)
    return argument_error("a column of a type that has no text; cast it")


# ------------------------------------------------------------------------- Parquet and Arrow

_BATCH_BYTES, _BATCH_ROWS = 8 * 1024 * 1024, 64 * 1024
"""About as much a batch has, where the format leaves that open."""
_GROUP_BYTES, _GROUP_ROWS = 32 * 1024 * 1024, 128 * 1024
"""A row group of Parquet that is written has about so much."""


def seekable_file(source: Source, options: ReadSettings) -> Any:
    """Return a path or a file object that can seek: the file, or a copy if it is compressed, a URL or a pipe."""
    is_remote = ext.is_file_object(source) or ext.is_url(ext.name_of(source))
    with contextlib.closing(Content(source, options)) as content:
        if content.is_plain and not is_remote and not ext.is_pipe(source):
            return content.name
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever reads it
        shutil.copyfileobj(content, copy, 1024 * 1024)
    copy.seek(0)
    return copy


@contextlib.contextmanager
def reading_of(name: str) -> Iterator[None]:
    """Raise what pyarrow says of a file as an error that names it."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        detail = f"the file cannot be read: {str(error).strip()}"
        raise argument_error(detail, source=name) from None


def _fitting(n_bytes: int, n_rows: int) -> int:
    return max(1, min(_BATCH_BYTES * max(n_rows, 1) // max(n_bytes, 1), _BATCH_ROWS))


class _ColumnSource:
    """A file of columns, opened where it can seek."""

    columns: list[str] | None = None
    """Those to read; None for all."""
    _open: Callable[[], Any]
    """Opens the file, and returns its schema."""
    _batches: Callable[[int], Iterator[tuple[int, Any]]]
    """Yields batches, each after the number of its first row; those before some row may be left out."""

    def __init__(self, source: Source, options: ReadSettings) -> None:
        self.name: str = name_of(source)
        self._file: Any = seekable_file(source, options)
        with undone_by(self.close), reading_of(self.name):
            self._whole = self._open()
        self.names: list[str] = list(self._whole.names)

    @property
    def schema(self) -> Any:
        """The types of the columns that are read."""
        chosen = self.names if self.columns is None else self.columns
        return pa.schema([self._whole.field(name) for name in chosen], self._whole.metadata)

    def batches(self, first_row: int = 0) -> Iterator[Any]:
        """Yield the rows from one row on."""
        with reading_of(self.name):
            for row, batch in self._batches(first_row):
                chosen = batch if self.columns is None else batch.select(self.columns)
                chosen = chosen[max(first_row - row, 0) :]
                size = _fitting(chosen.nbytes, len(chosen))
                for start in range(0, len(chosen), size):
                    yield chosen[start : start + size]

    def close(self) -> None:
        """Close the file."""
        if not isinstance(self._file, str):
            self._file.close()


class ParquetSource(_ColumnSource):
    """A Parquet file, read by row groups."""

    _reader: Any = None

    def _open(self) -> Any:
        self._reader = ext.imported("pyarrow.parquet").ParquetFile(self._file)
        return self._reader.schema_arrow

    def count(self) -> int:
        """Count the rows."""
        return int(self._reader.metadata.num_rows)

    def _batches(self, first_row: int) -> Iterator[tuple[int, Any]]:
        row, metadata = 0, self._reader.metadata
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            if row + group.num_rows <= first_row:
                row += group.num_rows
                continue
            size = _fitting(group.total_byte_size, group.num_rows)
            for batch in self._reader.iter_batches(size, [i], self.columns):
                yield row, batch
                row += len(batch)

    def close(self) -> None:
        """Close the file."""
        if self._reader is not None:
            self._reader.close(force=True)
        super().close()


class ArrowSource(_ColumnSource):
    """The file format of Arrow (and Feather), or its stream."""

    def _open(self) -> Any:
        ipc = pa.ipc
        if isinstance(self._file, str) and os.path.getsize(self._file):
            self._file = pa.memory_map(self._file)  # which no empty file can be
        head = b"" if isinstance(self._file, str) else self._file.read(6)
        self._is_stream = head not in (b"", b"ARROW1")
        if self._is_stream:
            self._file.seek(0)
        self._reader = (ipc.open_stream if self._is_stream else ipc.open_file)(self._file)
        return self._reader.schema

    def count(self) -> int:
        """Count the rows."""
        return sum(len(batch) for _, batch in self._batches(0))

    def _batches(self, first_row: int) -> Iterator[tuple[int, Any]]:
        row = 0
        n_batches = 0 if self._is_stream else self._reader.num_record_batches
        whole = self._reader if self._is_stream else map(self._reader.get_batch, range(n_batches))
        for batch in whole:
            yield row, batch
            row += len(batch)


class ParquetWriter:
    """Writes row groups of some megabytes.

    A thread writes a row group while the next one is made: pyarrow leaves Python free meanwhile.
    """

    def __init__(self, file: RowTarget, schema: Any, compression: str | None) -> None:
        parquet = ext.imported("pyarrow.parquet")
        self._writer = parquet.ParquetWriter(file, schema, compression=compression or "snappy")
        self._schema = schema
        self._pending: list[Any] = []
        self._thread = ThreadPoolExecutor(1)
        self._writing: Any = None

    def write_batch(self, batch: Any) -> None:
        """Write a batch."""
        self._pending.append(batch)
        n_rows = sum(map(len, self._pending))
        if n_rows >= _GROUP_ROWS or sum(part.nbytes for part in self._pending) >= _GROUP_BYTES:
            self._put()

    def _put(self) -> None:
        if self._writing is not None:
            self._writing.result()
        if self._pending:
            table = pa.Table.from_batches(self._pending, self._schema)
            n_rows, self._pending = max(len(table), 1), []
            write = self._writer.write_table
            self._writing = self._thread.submit(write, table, row_group_size=n_rows)

    def close(self) -> None:
        """Write the rest, and the end."""
        try:
            self._put()
            self._put()
        finally:
            self._thread.shutdown()
            self._writer.close()


def arrow_writer(file: RowTarget, schema: Any, compression: str | None, *, is_stream: bool) -> Any:
    """Return pyarrow's writer of a file of Arrow's format, or of a stream."""
    ipc = pa.ipc
    codec = None if compression in (None, "none") else compression
    make = ipc.new_stream if is_stream else ipc.new_file
    return make(file, schema, options=ipc.IpcWriteOptions(compression=codec))
