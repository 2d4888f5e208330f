"""CSV and JSON lines: files of text as streams of batches, both ways.

The first batch of a file decides the types of its columns, unless they are given. What does not
fit them later is an error with the number of its line. Numbers in CSV keep their digits: a column
with leading zeros, or with integers beyond int64, is text.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any, cast

from tfrecord_lite.apps.tables import texts
from tfrecord_lite.apps.tables.byte_files import Content, Resumed
from tfrecord_lite.convert.dataframes.arrow import imported
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.files.names import name_of
from tfrecord_lite.schema.text import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.apps.tables.byte_files import Reading, TargetFile
    from tfrecord_lite.files.names import Source

_CSV_BLOCK = 2 * 1024 * 1024
"""Bytes of CSV that are parsed at once; a row must fit in."""
_JSON_BLOCK = 4 * 1024 * 1024
_NOT_INT64 = r"^\s*[+-]?(0[0-9]|0[xX]|[0-9]{20})"
"""Digits that an int64 would lose, or that are not decimal."""
_WRITTEN_ROWS = 8 * 1024
"""Rows that become text at once."""
_ADVICE = "name the column's type in --features, as in --features {name}:{kind}"
_BAD_VALUE = re.compile(
    r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to ([^:]+): invalid value '(.*)'",
    re.DOTALL,
)
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_BAD_WIDTH = re.compile(r"Expected (\d+) columns, got (\d+)")


def _misfit(source: str, line: int, detail: str, key: str | None = None) -> InvalidArgumentError:
    return InvalidArgumentError(
        Reason.WRONG_KIND, source=source, key=key, detail=f"line {line:,}: {detail}"
    )


# --------------------------------------------------------------------------------------- CSV


class CsvSource:
    """A CSV file with the names of its columns in the first line."""

    def __init__(self, source: Source, reading: Reading, delimiter: str | None = None) -> None:
        self.name: str = name_of(source)
        self._source, self._reading = source, reading
        self._content = Content(source, reading.options)
        head = self._content.read_up_to(_CSV_BLOCK)
        self._delimiter = delimiter or texts.delimiter_of(head.decode(errors="replace"))
        self._head = head
        self._file: Any = io.BufferedReader(cast("Any", Resumed(head, self._content)), 1024 * 1024)
        self._n_rows = 0
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._names = self._header()
        types = self._reading.types
        given = {} if types is None else {field.name: field.type for field in types}
        unknown = [name for name in given if name not in self._names]
        if unknown and types is not None:
            hint = nearest(unknown[0], self._names)
            raise argument_error(f"there is no column {unknown[0]!r}{hint}", source=self.name)
        self._integers = self._integers_of(given)
        self._reader: Any = None
        with self._explained():
            self._reader = self._stream(self._file, given | self._read_as_text)
        self._first = self._next()
        pa = imported()
        found = self._first.schema if self._first is not None else self._reader.schema
        self._types = {
            name: given[name] if name in given else self._detected(name, found.field(name).type)
            for name in self._columns
        }
        del self._head
        self.schema: Any = pa.schema(
            list(self._types.items()), None if types is None else types.metadata
        )

    def _integers_of(self, given: dict[str, Any]) -> set[str]:
        """Return the columns whose integers are read as text first; find which stay text."""
        pa = imported()
        asked = self._reading.features_given
        integers = {n for n, kind in given.items() if n not in asked and kind == pa.int64()}
        self._read_as_text = dict.fromkeys(integers, pa.string())
        free = [name for name in self._columns if name not in given]
        whole = self._head if len(self._head) < _CSV_BLOCK else self._head.rpartition(b"\n")[0]
        if not free or not whole:
            return integers
        with contextlib.suppress(pa.ArrowInvalid, StopIteration):
            first = self._stream(io.BytesIO(whole), given, is_strict=False).schema
            numbers = [n for n in free if first.field(n).type in (pa.int64(), pa.float64())]
            texts_of = dict.fromkeys(numbers, pa.string())
            batch = self._stream(io.BytesIO(whole), given | texts_of, is_strict=False)
            cells = batch.read_next_batch()
            for name in numbers:
                is_integer = first.field(name).type == pa.int64()
                if is_integer or _loses_digits(cells.column(name)):
                    self._read_as_text[name] = pa.string()
                if is_integer and not _loses_digits(cells.column(name)):
                    integers.add(name)
        return integers

    @property
    def _columns(self) -> list[str]:
        chosen = self._reading.columns
        return self._names if chosen is None else list(chosen)

    def _header(self) -> list[str]:
        """Return the names of the columns, which stay in the file."""
        head = self._head
        if not head.strip():
            raise argument_error("the file is empty, without a line of names", source=self.name)
        head = head.removeprefix(b"\xef\xbb\xbf")
        text = io.StringIO(head.decode(errors="replace"), newline="")  # lines may end in CR
        csv.field_size_limit(_CSV_BLOCK)
        names = next(csv.reader(text, delimiter=self._delimiter))
        repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if repeated is not None:
            detail = f"two columns have the name {repeated!r}; rename one in the first line"
            raise argument_error(detail, source=self.name)
        chosen = self._reading.columns or ()
        unknown = next((name for name in chosen if name not in names), None)
        if unknown is not None:
            detail = f"there is no column {unknown!r}{nearest(unknown, names)}"
            raise argument_error(detail, source=self.name)
        return names

    def _stream(self, file: Any, given: dict[str, Any], *, is_strict: bool = True) -> Any:
        module, pa = imported("pyarrow.csv"), imported()
        read = {name: pa.string() if _is_encoded(kind) else kind for name, kind in given.items()}
        return module.open_csv(
            file,
            read_options=module.ReadOptions(block_size=_CSV_BLOCK, use_threads=False),
            parse_options=module.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(self._names) > 1,
                invalid_row_handler=None if is_strict else lambda _: "skip",
            ),
            convert_options=module.ConvertOptions(
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                column_types=read,
                include_columns=self._columns,
            ),
        )

    def _next(self) -> Any:
        with self._explained():
            try:
                return self._reader.read_next_batch()
            except StopIteration:
                return None

    def _detected(self, name: str, kind: Any) -> Any:
        """Return the type of a column by its first values."""
        pa = imported()
        if name in self._integers:
            return pa.int64()
        if self._first is None or not pa.types.is_string(kind):
            return kind
        column = self._first.column(name)
        pc = imported("pyarrow.compute")
        is_list = pc.and_(pc.starts_with(column, "["), pc.ends_with(column, "]"))
        if len(column) > column.null_count and pc.all(is_list).as_py():
            with contextlib.suppress(ValueError, TypeError, pa.ArrowException, OverflowError):
                made = pa.array(_of_json(column.to_pylist()))
                return (
                    pa.list_(pa.string()) if pa.types.is_null(made.type.value_type) else made.type
                )
        if pc.any(pc.starts_with(column, texts.BASE64)).as_py():
            return pa.large_binary() if self._has_bytes(name, column) else kind
        return kind

    def _has_bytes(self, name: str, column: Any) -> bool:
        for i, cell in enumerate(column.to_pylist()):
            try:
                if cell is not None:
                    texts.bytes_of_cell(cell).decode()
            except UnicodeDecodeError:
                return True
            except ValueError as error:
                raise _misfit(
                    self.name, self._line_of(self._n_rows + i), str(error), name
                ) from None
        return False

    @property
    def position(self) -> int:
        """Bytes of the file that were read."""
        return self._content.n_read

    def count(self) -> int:
        """Count the rows."""
        return sum(map(len, self.batches()))

    def batches(self, first_row: int = 0) -> Iterator[Any]:
        """Yield the rows from one row on."""
        batch = self._first
        while batch is not None:
            if self._n_rows + len(batch) > first_row:
                made = self._typed(batch)
                yield made[max(first_row - self._n_rows, 0) :]
            self._n_rows += len(batch)
            batch = self._next()

    def _typed(self, batch: Any) -> Any:
        columns = [
            self._column(name, kind, batch.column(name)) for name, kind in self._types.items()
        ]
        return imported().record_batch(columns, schema=self.schema)

    def _column(self, name: str, kind: Any, column: Any) -> Any:
        if column.type == kind:
            return self._unescaped(name, column) if "string" in str(kind) else column
        pa = imported()
        if name in self._integers:
            return self._as_integers(name, column)
        if not _is_encoded(kind):
            return column.cast(kind)
        cells = column.to_pylist()
        try:
            return _decoded_cells(cells, kind)
        except (ValueError, TypeError, OverflowError, pa.ArrowException):
            raise self._misfit_of(name, kind, cells) from None

    def _as_integers(self, name: str, column: Any) -> Any:
        """Return integers that were read as text; raise for one that would lose digits."""
        column = imported("pyarrow.compute").utf8_trim_whitespace(column)
        found = _int64_of(column)
        if found is not None:
            return found
        cells = (cell for cell in column.to_pylist() if cell is not None)
        bad = next(cell for cell in cells if _int64_of(imported().array([cell])) is None)
        raise self._explain_value(self._columns.index(name), "int64", bad)

    def _misfit_of(self, name: str, kind: Any, cells: list[str | None]) -> InvalidArgumentError:
        """Return the error about the first cell that is not of a type."""
        for i, cell in enumerate(cells):
            try:
                _decoded_cells([cell], kind)
            except (ValueError, TypeError, OverflowError, imported().ArrowException) as error:
                detail = f"{str(cell)[:40]!r} is not of the column's type, {kind}: "
                detail += _first_line(error)
                return _misfit(self.name, self._line_of(self._n_rows + i), detail, name)
        return argument_error(f"values that are not of the type {kind}", source=self.name, key=name)

    def _unescaped(self, name: str, column: Any) -> Any:
        """Return texts, with those that were escaped as base64 as they were."""
        pc = imported("pyarrow.compute")
        if not pc.any(pc.starts_with(column, texts.BASE64)).as_py():
            return column
        values = []
        for i, cell in enumerate(column.to_pylist()):
            try:
                values.append(None if cell is None else texts.bytes_of_cell(cell).decode())
            except ValueError:
                line = self._line_of(self._n_rows + i)
                detail = "a value in base64 that is not text, in a column of text so far; "
                detail += _ADVICE.format(name=name, kind="bytes")
                raise _misfit(self.name, line, detail, name) from None
        return imported().array(values, column.type)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise what pyarrow says of a row as an error with the number of its line."""
        pa = imported()
        try:
            yield
        except pa.ArrowInvalid as error:
            raise self._explain(str(error)) from None
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise argument_error(f"not a CSV file: {error}", source=self.name) from None

    def _explain(self, text: str) -> InvalidArgumentError:
        value, width = _BAD_VALUE.search(text), _BAD_WIDTH.search(text)
        if value is not None:
            return self._explain_value(int(value[1]), value[2], value[3])
        if width is not None:
            line = self._find(lambda row: len(row) == int(width[2]) != int(width[1]))
            detail = (
                f"{width[2]} values, but there are {width[1]} columns; quote values with "
                f"{_DELIMITERS[self._delimiter]}"
            )
            return _misfit(self.name, line, detail)
        if "straddling" in text:
            detail = f"a row is longer than {_CSV_BLOCK:,} bytes, or a quote is not closed"
            return argument_error(detail, source=self.name)
        return argument_error(f"not a CSV file: {text}", source=self.name)

    def _explain_value(self, number: int, kind: str, bad: str) -> InvalidArgumentError:
        name = self._columns[number] if number < len(self._columns) else None
        place = number if name is None else self._names.index(name)
        line = self._find(lambda row: len(row) > place and row[place].strip() == bad.strip())
        shown = bad if len(bad) <= 40 else f"{bad[:40]}..."
        detail = f"{shown!r} is not of the column's type so far, {kind}; "
        is_float = _is_float(bad) and not bad.strip().lstrip("+-").isdigit()
        better = "float32" if kind.startswith("int") and is_float else "text"
        detail += _ADVICE.format(name=name, kind=better)
        return _misfit(self.name, line, detail, name)

    def _find(self, is_wrong: Any) -> int:
        """Return the line of the first row from here on that is wrong; read it anew for that."""
        for number, line, row in self._rows():
            if number >= self._n_rows and is_wrong(row):
                return line
        return 0

    def _line_of(self, number: int) -> int:
        return next((line for i, line, _ in self._rows() if i == number), 0)

    def _rows(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the number of each row, its line, and its cells."""
        if not isinstance(self._source, str):
            return
        with contextlib.closing(Content(self._source, self._reading.options)) as content:
            text = io.TextIOWrapper(io.BufferedReader(content), errors="replace", newline="")
            csv.field_size_limit(_CSV_BLOCK)
            rows = csv.reader(text, delimiter=self._delimiter)
            next(rows, None)
            first, number = rows.line_num + 1, 0
            for row in rows:
                if row or len(self._names) == 1:
                    yield number, first, row
                    number += 1
                first = rows.line_num + 1

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(ValueError):  # pyarrow may have closed it
            self._file.close()
        self._content.close()


def _int64_of(cells: Any) -> Any:
    """Return texts as integers; None if one is not, or has more to it than a number."""
    with contextlib.suppress(imported().ArrowInvalid):
        return None if _loses_digits(cells) else cells.cast(imported().int64())
    return None


def _loses_digits(cells: Any) -> bool:
    """Return whether any of some texts is an integer with more to it than a number."""
    pc = imported("pyarrow.compute")
    return bool(pc.any(pc.match_substring_regex(cells, _NOT_INT64)).as_py()) or _is_beyond(cells)


def _is_beyond(cells: Any) -> bool:
    """Return whether any of some texts is an integer of 19 digits beyond int64."""
    pc = imported("pyarrow.compute")
    long = cells.filter(pc.match_substring_regex(cells, r"^\s*[+-]?[0-9]{19}\s*$"))
    return any(not -(2**63) <= int(cell) < 2**63 for cell in long.to_pylist())


def _is_float(text: str) -> bool:
    with contextlib.suppress(ValueError):
        float(text)
        return True
    return False


def _is_encoded(kind: Any) -> bool:
    """Return whether cells have a text that stands for values of a type."""
    types = imported().types
    return bool("binary" in str(kind) or types.is_nested(kind))


def _of_json(cells: list[str | None]) -> list[Any]:
    found = json.loads(f"[{','.join('null' if cell is None else cell for cell in cells)}]")
    is_plain = not any(cell is not None and "{" in cell for cell in cells)
    values = found if is_plain else [texts.value_of(value) for value in found]
    if len(values) != len(cells):
        detail = "a cell of more than one value"
        raise ValueError(detail)
    return texts.as_bytes(values) if not is_plain and texts.has_bytes(values) else values


def _decoded_cells(cells: list[str | None], kind: Any) -> Any:
    """Return cells as an array of a type for which they have a text."""
    pa = imported()
    if not pa.types.is_nested(kind):
        found: list[Any] = [None if cell is None else texts.bytes_of_cell(cell) for cell in cells]
        return pa.array(found, kind)
    found = _of_json(cells)
    wrong = next((value for value in found if not isinstance(value, list | dict | None)), None)
    if wrong is not None:
        detail = "expected a list, as in [1, 2]"
        raise ValueError(detail)
    if "binary" in str(kind):
        found = texts.as_bytes(found)
    return texts.array_of(found, kind)


# -------------------------------------------------------------------------------- JSON lines


class JsonSource:
    """JSON lines: an object per line, with a value or a list for each column."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self.name: str = name_of(source)
        self._content = Content(source, reading.options)
        self._file = io.BufferedReader(self._content, 1024 * 1024)
        self._rest = b""
        self._line = 1  # the number of the next line
        self._chosen = reading.columns
        pa = imported()
        types = reading.types
        self.schema: Any = types
        try:
            self._first = self._next()
            if types is None:
                self.schema = pa.schema(self._detected())
            elif reading.columns is not None:
                fields = [types.field(name) for name in reading.columns]
                self.schema = pa.schema(fields, types.metadata)
        except BaseException:
            self.close()
            raise
        self._known = set(self.schema.names)

    @property
    def position(self) -> int:
        """Bytes of the file that were read."""
        return self._content.n_read

    def count(self) -> int:
        """Count the rows."""
        total, rows = 0, self._first
        while rows is not None:
            total += len(rows)
            rows = self._next()
        return total

    def batches(self, first_row: int = 0) -> Iterator[Any]:
        """Yield the rows from one row on."""
        n_rows, rows = 0, self._first
        while rows is not None:
            if n_rows + len(rows) > first_row:
                yield self._batch(rows[max(first_row - n_rows, 0) :])
            n_rows += len(rows)
            rows = self._next()

    def _next(self) -> list[tuple[int, dict[str, Any]]] | None:
        """Return the next rows, each with the number of its line; None at the end."""
        while True:
            data = self._file.read(_JSON_BLOCK)
            whole, end, rest = (self._rest + data).rpartition(b"\n")
            if not data:
                whole, end, rest = self._rest, b"", b""
                if not whole:
                    return None
            self._rest = rest
            if whole or end:
                return self._parsed(whole)

    def _parsed(self, data: bytes) -> list[tuple[int, dict[str, Any]]]:
        lines = data.split(b"\n")
        numbered = [(i, line) for i, line in enumerate(lines, self._line) if line.strip()]
        self._line += len(lines)
        try:
            found = json.loads(b"[" + b",".join(line for _, line in numbered) + b"]")
        except ValueError:
            found = []
        if len(found) != len(numbered):
            found = [self._parsed_line(number, line) for number, line in numbered]
        rows = list(zip((number for number, _ in numbered), found, strict=True))
        for number, row in rows:
            if not isinstance(row, dict):
                detail = 'expected an object, as in {"x": 1}'
                raise _misfit(self.name, number, detail)
        if b'"base64"' not in data and b'"float"' not in data:
            return rows
        return [(number, self._decoded(number, row)) for number, row in rows]

    def _parsed_line(self, number: int, line: bytes) -> Any:
        try:
            return json.loads(line)
        except ValueError as error:
            raise _misfit(self.name, number, f"not JSON: {error}") from None

    def _decoded(self, number: int, row: dict[str, Any]) -> dict[str, Any]:
        try:
            return {name: texts.value_of(value) for name, value in row.items()}
        except ValueError as error:
            raise _misfit(self.name, number, str(error)) from None

    def _detected(self) -> list[Any]:
        """Return the fields that the first rows have."""
        pa = imported()
        rows = self._first or []
        names = dict.fromkeys(name for _, row in rows for name in row)
        if self._chosen is not None:
            unknown = next((name for name in self._chosen if name not in names), None)
            if unknown is not None:
                detail = f"there is no column {unknown!r}{nearest(unknown, list(names))}"
                raise argument_error(detail, source=self.name)
            names = dict.fromkeys(self._chosen)
        fields = []
        for name in names:
            values = [row.get(name) for _, row in rows]
            values = texts.as_bytes(values) if texts.has_bytes(values) else values
            try:
                fields.append(pa.field(name, _large(pa.array(values).type)))
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                line = self._first_misfit(rows, name, None)
                detail = f"values of several types, or too large: {_first_line(error)}; "
                detail += _ADVICE.format(name=name, kind="text")
                raise _misfit(self.name, line, detail, name) from None
        return fields

    def _batch(self, rows: list[tuple[int, dict[str, Any]]]) -> Any:
        pa = imported()
        if self._chosen is None:
            self._check_names(rows)
        columns = []
        for field in self.schema:
            values = [_formed(row.get(field.name), field.type) for _, row in rows]
            try:
                columns.append(texts.array_of(values, field.type))
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                line = self._first_misfit(rows, field.name, field.type)
                detail = f"a value that is not of the column's type, {field.type}: "
                is_text = any(isinstance(row.get(field.name), str) for _, row in rows)
                better = "text" if is_text else "float32"
                detail += f"{_first_line(error)}; "
                detail += _ADVICE.format(name=field.name, kind=better)
                raise _misfit(self.name, line, detail, field.name) from None
        return pa.record_batch(columns, schema=self.schema)

    def _check_names(self, rows: list[tuple[int, dict[str, Any]]]) -> None:
        for number, row in rows:
            if not row.keys() <= self._known:
                name = next(name for name in row if name not in self._known)
                detail = "this key is in no line before; name all columns in --features, or those "
                detail += "to convert in --columns"
                raise _misfit(self.name, number, detail, name)

    def _first_misfit(self, rows: list[Any], name: str, kind: Any) -> int:
        """Return the line of the first value that has not the type, or that of those before it."""
        pa = imported()
        for number, row in rows:
            value = row.get(name)
            try:
                values = [_formed(value, kind) if kind else value]
                found = texts.array_of(values, kind) if kind else pa.array(values)
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                return int(number)
            if kind is None and not pa.types.is_null(found.type):
                kind = found.type
        return int(rows[0][0]) if rows else 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _large(kind: Any) -> Any:
    """Return a type with 64-bit offsets for strings, and lists of nothing as lists of strings."""
    pa = imported()
    if pa.types.is_list(kind):
        inner = kind.value_type
        return pa.list_(pa.large_string() if pa.types.is_null(inner) else _large(inner))
    if pa.types.is_string(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary(kind) else kind


def _formed(value: Any, kind: Any) -> Any:
    """Return a value as a type takes it: bytes for text, one value for a list of one."""
    is_list = "list" in str(kind)
    if "binary" in str(kind):
        value = texts.as_bytes(value)
    if isinstance(value, list) and not is_list and len(value) <= 1:
        return value[0] if value else None
    return [value] if is_list and value is not None and not isinstance(value, list) else value


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


# ----------------------------------------------------------------------------------- writing


class TextTarget:
    """CSV, or JSON lines, being written."""

    def __init__(self, file: TargetFile, schema: Any, kind: str) -> None:
        self._file = file
        self._delimiter = "\t" if kind == "tsv" else ","
        self._is_json = kind == "jsonl"
        if not self._is_json:
            names = imported().array(schema.names, imported().large_string())
            cells = texts.csv_cells(names, texts.DELIMITERS).to_pylist()  # no name looks like more
            file.write(f"{self._delimiter.join(cells)}\n".encode())

    def write(self, batch: Any) -> None:
        """Write a batch."""
        for start in range(0, len(batch), _WRITTEN_ROWS):
            self._write(batch[start : start + _WRITTEN_ROWS])

    def _write(self, batch: Any) -> None:
        names = batch.schema.names
        if self._is_json:
            rows = texts.json_objects(names, list(map(texts.json_values, batch.columns)))
        else:
            cells = [texts.csv_cells(column, self._delimiter) for column in batch.columns]
            rows = texts.joined(cells, self._delimiter)
        self._file.write(texts.lines(rows))

    def finish(self) -> None:
        """Write the end of the file."""
        self._file.finish()

    def commit(self) -> None:
        """Let the file appear."""
        self._file.commit()

    def abandon(self) -> None:
        """Remove what is not committed."""
        self._file.abandon()
