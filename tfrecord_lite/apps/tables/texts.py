"""Files of CSV and JSON lines that are written: Arrow's values as cells, and as values of JSON.

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
import json
import re
from typing import TYPE_CHECKING, Any

from tfrecord_lite.convert.arrow import form_of, imported
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.sniff import text_of

if TYPE_CHECKING:
    from tfrecord_lite.apps.tables.byte_files import TargetFile

DELIMITERS = ",;\t"
"""What may be between the cells of CSV; the header of a file tells which it is."""

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
    pa, pc = imported(), imported("pyarrow.compute")
    cells = [pc.fill_null(_csv_cells(_plain(column), quoted), "") for column in columns]
    return pc.binary_join_element_wise(*cells, pa.scalar(delimiter, pa.large_string()))


def _csv_cells(array: Any, quoted: str) -> Any:
    """Return cells in quotes where a reader needs them; null where a value is missing.

    pyarrow's own writer would quote all texts, and so the floats, which are texts to keep their point.
    """
    pa, pc = imported(), imported("pyarrow.compute")
    form = form_of(array.type)
    if form == "number" or pa.types.is_duration(array.type):
        return _numbers(array)
    if form in ("list", "fixed list", "struct"):
        texts = pc.if_else(array.is_null(), pa.scalar(None, pa.large_string()), json_values(array))
    elif form == "bytes":
        texts = array.cast(pa.large_binary()).cast(pa.large_string())
    else:
        texts = array.cast(pa.large_string())
    needs = pc.or_(pc.match_substring_regex(texts, f'["\r\n{quoted}]'), pc.equal(texts, ""))
    if not pc.any(needs).as_py():
        return texts
    return pc.if_else(needs, _join('"', pc.replace_substring(texts, '"', '""'), '"'), texts)


def json_values(array: Any) -> Any:
    """Return an array as values of JSON, a large_string array without nulls."""
    pa, pc = imported(), imported("pyarrow.compute")
    array = _plain(array)
    kind, form = array.type, form_of(array.type)
    if form == "struct":
        texts = json_objects(array.type.names, [json_values(field) for field in array.flatten()])
    elif form in ("list", "fixed list"):
        texts = _json_lists(array)
    elif form == "number" or pa.types.is_duration(kind):
        texts = _numbers(array)
        for name, word in _NOT_JSON.items() if pa.types.is_floating(kind) else ():
            texts = pc.if_else(pc.equal(texts, name), f'{{"float": "{word}"}}', texts)
    elif form == "bytes":
        as_text = _as_text(array)
        texts = _mapped(array, _json_of) if as_text is None else _json_strings(as_text)
    else:
        texts = _json_strings(array.cast(pa.large_string()))
    return pc.if_else(array.is_null(), "null", texts).cast(pa.large_string())


def json_objects(names: list[str], values: list[Any]) -> Any:
    """Return a JSON object per row, of columns of JSON values."""
    parts: list[Any] = []
    for i, (name, texts) in enumerate(zip(names, values, strict=True)):
        parts += [f"{', ' if i else '{'}{json.dumps(name, ensure_ascii=False)}: ", texts]
    return _join(*parts, "}")


def _json_lists(array: Any) -> Any:
    pa, pc = imported(), imported("pyarrow.compute")
    texts = json_values(array.flatten())  # which leaves out what null lists hold
    if pa.types.is_fixed_size_list(array.type):
        lengths = pc.if_else(array.is_null(), 0, array.type.list_size)
    else:
        lengths = pc.fill_null(pc.list_value_length(array), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    splits = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    lists = pa.ListArray.from_arrays(splits, texts)
    return _join("[", pc.binary_join(lists, pa.scalar(", ", pa.large_string())), "]")


def _json_strings(texts: Any) -> Any:
    pc = imported("pyarrow.compute")
    if pc.any(pc.match_substring_regex(texts, r'["\\\x00-\x1f\x7f]')).as_py():
        return _mapped(texts, lambda text: json.dumps(text, ensure_ascii=False))
    return _join('"', texts, '"')


def _json_of(data: bytes) -> str:
    text = text_of(data)
    value = {"base64": base64.b64encode(data).decode()} if text is None else text
    return json.dumps(value, ensure_ascii=False)


def _numbers(array: Any) -> Any:
    """Return numbers and bools as text, floats in the digits that their own type needs."""
    pa, pc = imported(), imported("pyarrow.compute")
    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())
    if pa.types.is_duration(array.type):
        array = array.cast(pa.int64())
    texts = array.cast(pa.large_string())
    if not pa.types.is_floating(array.type):
        return texts
    is_whole = pc.match_substring_regex(texts, "^-?[0-9]+$")
    return pc.if_else(is_whole, _join(texts, ".0"), texts)


def _as_text(array: Any) -> Any:
    """Return byte strings as text, if all of them are; else None."""
    pa, pc = imported(), imported("pyarrow.compute")
    try:
        texts = array.cast(pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return None
    return None if pc.any(pc.match_substring_regex(texts, _CONTROL)).as_py() else texts


def _mapped(array: Any, change: Any) -> Any:
    """Return texts made of values one by one."""
    pa = imported()
    made = [None if value is None else change(value) for value in array.to_pylist()]
    return pa.array(made, pa.large_string())


def _join(*parts: Any) -> Any:
    """Return texts joined, row by row; null where one of them is."""
    pa, pc = imported(), imported("pyarrow.compute")
    large = pa.large_string()
    given = [pa.scalar(part, large) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*given, pa.scalar("", large))


def _plain(array: Any) -> Any:
    """Return an array without dictionaries and extensions."""
    pa = imported()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast(pa.large_string()) if pa.types.is_null(array.type) else array


def lines(texts: Any) -> memoryview:
    """Return texts as the bytes of lines, each with its end."""
    joined = _join(texts, "\n")
    _, offsets, data = joined.buffers()
    if data is None or not len(joined):
        return memoryview(b"")
    starts = memoryview(offsets).cast("q")
    first, last = starts[joined.offset], starts[joined.offset + len(joined)]
    return memoryview(data)[first:last]


class TextWriter:
    """Writes CSV, or JSON lines."""

    def __init__(self, file: TargetFile, schema: Any, kind: str) -> None:
        self._file, self._n_rows = file, 0
        self._delimiter = {"csv": ",", "tsv": "\t"}.get(kind)
        if self._delimiter is not None:
            pa = imported()
            names = [pa.array([name], pa.large_string()) for name in schema.names]
            # In quotes whatever delimiter a reader takes, so that no name looks like two.
            (line,) = csv_rows(names, self._delimiter, DELIMITERS).to_pylist()
            file.write(f"{line}\n".encode())

    def write_batch(self, batch: Any) -> None:
        """Write a batch."""
        for start in range(0, len(batch), _WRITTEN_ROWS):
            part = batch[start : start + _WRITTEN_ROWS]
            if self._delimiter is None:
                values = list(map(json_values, part.columns))
                rows = json_objects(part.schema.names, values)
            else:
                try:
                    rows = csv_rows(part.columns, self._delimiter, self._delimiter)
                except imported().ArrowInvalid:
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
                    index = self._n_rows + i
                    return InvalidArgumentError(
                        Reason.UNSUPPORTED, key=field.name, index=index, detail=detail
                    )
        return argument_error(detail)

    def close(self) -> None:
        """Do nothing: the last line has its end."""
