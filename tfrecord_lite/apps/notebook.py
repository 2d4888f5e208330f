"""Parsed batches and rows as tables: ``show``, and an extension for IPython.

::

    parse_example(...)            {"image": BytesColumn, ...}            a row per record
    parse_sequence_example(...)   context, feature_lists, lengths        a table each
    reader.examples()             [{"image": array, ...}, ...]           a row per record
    load(...)                     nested dictionaries and tuples         columns by their path
    decode_example(...)           {"image": array, ...}                  a row per feature

``%load_ext tfrecord_lite`` shows dictionaries that are batches this way automatically. IPython is not
imported here: it calls :func:`load_ipython_extension`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from tfrecord_lite.apps.markup.cells import MAX_ROWS, Cells, count_rows, type_text
from tfrecord_lite.apps.markup.tables import MAX_COLUMNS, Cell, Html, escaped, panel, table
from tfrecord_lite.apps.markup.tables import MAX_ROWS as MAX_TABLE_ROWS
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.errors import DamageReport, TFRecordError, require_int
from tfrecord_lite.extension import table_rows
from tfrecord_lite.options import hinted
from tfrecord_lite.schema import Schema, SequenceSchema, summary_rows
from tfrecord_lite.texts import aligned, plural, short_name, shown_name, value_text

__all__ = ["Shown", "load_ipython_extension", "show", "unload_ipython_extension"]

_COLUMNS = (np.ndarray, BytesColumn, RaggedTensor, SparseTensor)
_PARTS = ("context", "feature lists", "lengths of feature lists")
_MAX_FEATURES = 2_000
_TEXT_WIDTH, _MAX_NAME = 60, 80


@hinted
def show(data: Any, num_records: int = MAX_ROWS) -> Shown:
    """Show a parsed batch, or rows, as a table: a row per record, a column per feature.

    Parameters
    ----------
    data : dict, tuple or list
        A batch as parsing, loading and data sets return it: a dictionary of columns, possibly
        nested, or a tuple of them; or a list of dictionaries, one per record, as
        :meth:`TFRecordReader.examples` yields them. The features of a single record are shown
        below each other.
    num_records : int, optional
        How many records to show, from the first one on.

    Returns
    -------
    Shown
        HTML in notebooks, where encoded images, and pixels of uint8, are thumbnails (with the extra
        ``image``); text in terminals. It holds `data`, and shows a limited number of features and values.

    Raises
    ------
    TypeError
        If `data` is not a batch, a record, or a list of records.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if `num_records` is not at least 1.

    Examples
    --------
    >>> batch = {"label": np.array([3, 7]), "name": BytesColumn.from_list([b"a", b"b"])}
    >>> show(batch)
    <2 records, 2 features>
    name   type    values
    -----  ------  --------------------------
    label  int64   [3 7]
    name   string  <BytesColumn [b'a', b'b']>
    """
    return Shown(_parts_of(data), require_int("num_records", num_records, 1))


class Shown:
    """What :func:`show` returns: an object that notebooks and terminals show as tables."""

    def __init__(self, parts: list[_Part], num_records: int) -> None:
        self._parts = parts
        self._num_records = num_records

    def __repr__(self) -> str:
        """Return a line per feature."""
        return "\n".join(part.text() for part in self._parts)

    def _repr_html_(self) -> str:
        cells = Cells()
        tables = [part.table(cells, self._num_records) for part in self._parts]
        return panel(self._parts[0].title, *tables)


class _Part:
    """What a table is made of: columns of one length, dictionaries of records, or one record."""

    def __init__(self, data: Any, caption: str = "") -> None:
        self._caption = caption
        self._rows = data if isinstance(data, list) else None
        self._is_batch = self._rows is None and _is_batch(data)
        n_records = 1
        if self._rows is not None:
            names = {name for row in self._rows[:100] for name in _flattened(row)}
            n_records = len(self._rows)
            data = dict.fromkeys(sorted(names)) | (_flattened(self._rows[0]) if n_records else {})
        elif self._is_batch:
            n_records = count_rows(next(iter(data.values())))
        self._values: dict[str, Any] = data
        self._n_records = n_records
        self.title = f"{plural(n_records, 'record')}, {plural(len(data), 'feature')}"

    def table(self, cells: Cells, num_records: int) -> Html:
        values, rows = self._values, self._rows
        shown: Iterable[Sequence[Cell]]
        if rows is None and not self._is_batch:
            shown = ((escaped(name), _type_of(v), cells.cell(v)) for name, v in values.items())
            return table(["feature", "type", "value"], shown, n_rows=len(values), noun="feature")
        # The first columns have cells; `table` counts the others by the header.
        heads: list[Cell] = [*values]
        first = list(values)[:MAX_COLUMNS]
        if rows is not None:
            flat = map(_flattened, rows[:num_records])
            shown = ((i, *(cells.cell(row.get(n)) for n in first)) for i, row in enumerate(flat))
        else:
            heads = [_head(name, type_text(column)) for name, column in values.items()]
            columns = [cells.rows(values[name], num_records) for name in first]
            shown = ((i, *row) for i, row in enumerate(zip(*columns, strict=True)))
        return table(
            ["#", *heads], shown, n_rows=self._n_records, noun="record",
            caption=self._caption, max_rows=num_records,
        )  # fmt: skip

    def text(self) -> str:
        type_of = type_text if self._is_batch else _type_of
        shown = islice(self._values.items(), MAX_COLUMNS)
        rows = [(shown_name(name)[:40], type_of(value), _brief(value)) for name, value in shown]
        lines = aligned([("name", "type", "values"), *rows]) if rows else []
        n_hidden = len(self._values) - len(rows)
        more = [f"... and {plural(n_hidden, 'more feature')}"] if n_hidden else []
        title = f"<{self.title}{'; the first record:' if self._rows is not None else ''}>"
        return "\n".join([self._caption or title, *lines, *more])


def _parts_of(data: Any) -> list[_Part]:
    if isinstance(data, list) and all(isinstance(row, Mapping) for row in data[:100]):
        return [_Part(data)]
    if not isinstance(data, Mapping | tuple) or not data:
        expected = "a parsed batch (a dictionary of columns, or a tuple of them) or a list"
        raise TypeError(f"data must be {expected} of dictionaries, not {type(data).__name__}")
    if isinstance(data, tuple) and 2 <= len(data) <= 3 and all(map(_is_mapping, data)):
        named = zip(data, _PARTS, strict=False)
        parts = [(_flattened(part), caption) for part, caption in named if part]
        if parts and all(_is_batch(columns) for columns, _ in parts):
            return [_Part(columns, caption) for columns, caption in parts]
    return [_Part(_flattened(data))]


def _is_mapping(data: Any) -> bool:
    return isinstance(data, Mapping)


def _flattened(data: Any, path: str = "") -> dict[str, Any]:
    """Return the values of nested dictionaries and tuples by their path; arrays of any library as NumPy's."""
    if not isinstance(data, Mapping | tuple):
        is_foreign = not isinstance(data, _COLUMNS) and hasattr(data, "__array__")
        return {path: np.asarray(data) if is_foreign else data}
    columns: dict[str, Any] = {}
    items: Iterable[Any] = data.items() if isinstance(data, Mapping) else enumerate(data)
    for key, value in islice(items, _MAX_FEATURES):
        columns |= _flattened(value, f"{path}/{key}" if path else str(key))
    return columns


def _is_batch(columns: Mapping[str, Any]) -> bool:
    if not columns or not all(isinstance(value, _COLUMNS) for value in columns.values()):
        return False
    shapes = [column.shape for column in columns.values()]
    return all(shapes) and len({shape[0] for shape in shapes}) == 1


def _head(name: str, kind: str) -> Html:
    return Html(f'{escaped(name, _MAX_NAME)}<div class="tfl-note">{escaped(kind)}</div>')


def _type_of(value: Any) -> str:
    if isinstance(value, _COLUMNS):
        return f"{'string' if value.dtype == object else value.dtype} {list(value.shape)}"
    return f"{plural(len(value), 'step')}" if isinstance(value, list) else type(value).__name__


def _brief(value: Any) -> str:
    """Return the beginning of a value's text on one line."""
    if isinstance(value, np.ma.MaskedArray):  # whose masked values NumPy cannot format
        shown = ", ".join(map(value_text, value.ravel()[:8]))
        text = f"[{shown}{', ...' if value.size > 8 else ''}]"
    elif isinstance(value, np.ndarray):
        options: Any = {"edgeitems": 3, "formatter": {"object": value_text}}
        text = np.array2string(value, threshold=8, max_line_width=10**6, **options)
    elif isinstance(value, list):
        text = f"[{', '.join(map(_brief, value[:3]))}{', ...' if len(value) > 3 else ''}]"
    else:
        text = value_text(value) if isinstance(value, bytes) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= _TEXT_WIDTH else text[: _TEXT_WIDTH - 3] + "..."


def html_of(thing: Any) -> str:
    """Return an object of the codec as HTML: what its class's ``_repr_html_`` calls."""
    names = (cls.__name__ for cls in type(thing).__mro__)
    return _RENDERERS[next(name for name in names if name in _RENDERERS)](thing)


def _bytes_column(column: BytesColumn) -> str:
    cells = zip(column[:MAX_ROWS].lengths.tolist(), Cells().rows(column), strict=True)
    rows = ((i, *row) for i, row in enumerate(cells))
    title = f"BytesColumn of {plural(len(column), 'value')}, {plural(column.nbytes, 'byte')}"
    return panel(title, table(["#", "bytes", "value"], rows, n_rows=len(column), noun="value"))


def _ragged(tensor: RaggedTensor) -> str:
    rows = ((i, len(tensor[i]), cell) for i, cell in enumerate(Cells().rows(tensor)))
    title = f"RaggedTensor of {plural(len(tensor), 'row')}: {_described(tensor)}"
    return panel(title, table(["row", "length", "values"], rows, n_rows=len(tensor)))


def _sparse(tensor: SparseTensor) -> str:
    n_values = len(tensor.values)
    places = (str(index.tolist()) for index in tensor.indices[:MAX_ROWS])
    rows = zip(places, Cells().rows(tensor.values), strict=True)
    title = f"SparseTensor of {plural(n_values, 'value')}: {_described(tensor)}"
    return panel(title, table(["index", "value"], rows, n_rows=n_values, noun="value"))


def _described(tensor: RaggedTensor | SparseTensor) -> str:
    return f"{type_text(tensor)}, shape {tensor.shape}"


def _schema(schema: Schema) -> str:
    return panel(f"Schema of {plural(len(schema), 'feature')}", _schema_table(schema))


def _sequence_schema(schema: SequenceSchema) -> str:
    n_context, n_lists = map(len, schema)
    counts = f"{plural(n_context, 'context feature')} and {plural(n_lists, 'feature list')}"
    parts = [_schema_table(*part) for part in zip(schema, _PARTS, strict=False) if part[0]]
    return panel(f"SequenceSchema of {counts}", *parts)


def _schema_table(schema: Schema, caption: str = "") -> Html:
    header, *rows = table_rows(schema.features, schema.originals, MAX_TABLE_ROWS)
    return table(header, rows, n_rows=len(schema), noun="feature", caption=caption)


def _damage(report: DamageReport) -> str:
    rows: list[list[Any]] = []
    for file in sorted(report.files, key=bool)[:MAX_TABLE_ROWS]:  # damaged ones first
        error = str(file.failure or next(iter(file.message_errors), ""))
        counts = file.records, file.record_bytes, file.num_damaged
        rows.append([short_name(file.source), *counts, error])
    header = ["file", "records", "bytes in records", "damaged places", "error"]
    parts = [table(header, rows, n_rows=len(report.files), noun="file")]
    if report.num_damaged:
        spans = (
            (short_name(s.source), s.index, s.num_records, s.offset, s.length, s.detail or s.reason)
            for s in report.spans
        )
        header = ["file", "record", "how many", "at byte", "bytes skipped", "cause"]
        caption = "Damaged spans"
        parts.append(table(header, spans, n_rows=len(report.spans), noun="span", caption=caption))
    return panel(repr(report).strip("<>"), *parts)


def _tfds(info: Any) -> str:
    splits = ((name, n, len(info.files(name))) for name, n in info.splits.items())
    labels = ((n, len(names), ", ".join(names[:MAX_ROWS])) for n, names in info.label_names.items())
    parts = [table(["split", "records", "files"], splits), _schema_table(info.schema)]
    parts += [table(["feature", "labels", "names"], labels)] if info.label_names else []
    title = " ".join(filter(None, (info.name, info.config, info.version)))
    return panel(f"{title}, of TensorFlow Datasets", *parts)


def _summary(summary: Any) -> str:
    parts = (
        table(rows[0], rows[1:], n_rows=len(rows) - 1, noun="feature", caption=caption)
        for caption, rows in summary_rows(summary)
    )
    return panel(f"Summary of {plural(summary.n_records, 'record')}", *parts)


def _comparison(comparison: Any) -> str:
    findings, records = comparison.findings, comparison.records
    rows = ((one.feature, one.what, *one.sides, one.distance, one.threshold) for one in findings)
    header = ["feature", "what", "first", "second", "distance", "threshold"]
    parts = [table(header, rows, n_rows=len(findings), noun="difference")] if findings else []
    if records is not None and records.first:
        pairs = (
            (record.number, name, *sides)
            for record in records.first
            for name, sides in zip(record.features, record.values, strict=False)
        )
        parts.append(table(["record", "feature", "first", "second"], pairs, caption=str(records)))
    return panel(str(comparison).partition("\n")[0], *parts)


def _scanned(scanned: Any) -> str:
    """Show the columns of a table of files, and their first rows, which are read."""
    title = repr(scanned).partition("\n")[0].strip("<>")
    try:
        return _arrow(scanned.head(MAX_ROWS), f"{title}, the first rows")
    except (OSError, TFRecordError) as error:
        return panel(f"{title}: {error}", _fields(scanned.arrow_schema))


def _arrow(data: Any, title: str = "") -> str:
    columns = [column.slice(0, MAX_ROWS).to_pylist() for column in data.columns[:MAX_COLUMNS]]
    cells = Cells()
    rows = (
        (i, *(cells.cell(_unlisted(value)) for value in row))
        for i, row in enumerate(zip(*columns, strict=True))
    )
    heads = [_head(field.name, str(field.type)) for field in data.schema]
    shown = table(["#", *heads], rows, n_rows=None if title else data.num_rows, max_rows=MAX_ROWS)
    return panel(title or plural(data.num_rows, "row"), shown)


def _arrow_reader(reader: Any) -> str:
    """Show the columns of a stream of Arrow, whose rows can be read only once."""
    return panel("Rows that are not read yet: read_all() makes a table", _fields(reader.schema))


def _fields(schema: Any) -> Html:
    rows = ((field.name, str(field.type)) for field in schema)
    return table(["column", "type"], rows, n_rows=len(schema), noun="column")


def _unlisted(value: Any) -> Any:
    """Return a value of Arrow with arrays for its innermost lists."""
    if not isinstance(value, list):
        return value
    if any(isinstance(one, list) for one in value):
        return [_unlisted(one) for one in value]
    are_numbers = all(isinstance(one, int | float) for one in value)
    return np.array(value, None if are_numbers else object)


_RENDERERS: dict[str, Callable[[Any], str]] = {
    "BytesColumn": _bytes_column,
    "Comparison": _comparison,
    "DamageReport": _damage,
    "RaggedTensor": _ragged,
    "Schema": _schema,
    "SequenceSchema": _sequence_schema,
    "SequenceSummary": _summary,
    "SparseTensor": _sparse,
    "Summary": _summary,
    "TFRecordTable": _scanned,
    "TfdsInfo": _tfds,
}


def load_ipython_extension(shell: Any) -> None:
    """Show batches as tables, in a notebook or any other IPython front end; tables of pyarrow as well.

    Run by ``%load_ext tfrecord_lite``. A dictionary is a batch if its keys are str and its values columns of the
    same number of records, and what holds SequenceExamples, or one, if its keys are ``context`` and
    ``feature_lists``; so is a tuple of two or three batches. Others are shown as before.
    """
    formatter = shell.display_formatter.formatters["text/html"]
    for kind, renderer in _SHOWN.items():
        formatter.for_type(kind, renderer)


def unload_ipython_extension(shell: Any) -> None:
    """Show all as before again; run by ``%unload_ext tfrecord_lite``."""
    formatter = shell.display_formatter.formatters["text/html"]
    for kind, renderer in _SHOWN.items():
        if formatter.for_type(kind) is renderer:
            formatter.pop(kind)


def _html_of(data: Any) -> str | None:
    """Return a table of a batch, or of a SequenceExample; None for any other dictionary or tuple."""
    if isinstance(data, tuple):
        is_shown = all(map(_is_mapping, data)) and 2 <= len(data) <= 3 and len(_parts_of(data)) > 1
    elif data.keys() == {"context", "feature_lists"}:
        is_shown = all(map(_is_mapping, data.values()))
    else:
        is_shown = all(isinstance(name, str) for name in data) and _is_batch(data)
    return show(data)._repr_html_() if is_shown else None


_SHOWN: dict[Any, Callable[[Any], str | None]] = {dict: _html_of, tuple: _html_of}
_SHOWN |= {f"pyarrow.lib.{name}": _arrow for name in ("Table", "RecordBatch")}
_SHOWN["pyarrow.lib.RecordBatchReader"] = _arrow_reader
"""What IPython shows, by class or by its name."""
