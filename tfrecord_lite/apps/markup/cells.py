"""Cells of tables in notebooks: what a column holds in its first rows.

Cheap and small for columns of any size: only the values that are shown are taken, and only the
beginning of long ones; an encoded image becomes a thumbnail. One :class:`Cells` makes the cells of one
representation, with a limit on how many pictures it has and how many pixels are decoded for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.apps.markup.pictures import (
    picture,
    pixels_to_decode,
    thumbnail,
    thumbnail_of_pixels,
)
from tfrecord_lite.apps.markup.tables import MAX_TEXT, Html, content, escaped
from tfrecord_lite.columns.bytes import BytesColumn
from tfrecord_lite.columns.ragged import RaggedTensor
from tfrecord_lite.columns.sparse import SparseTensor
from tfrecord_lite.errors import human_bytes, plural
from tfrecord_lite.sniff import recognize, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tfrecord_lite.apps.markup.tables import Cell
    from tfrecord_lite.columns.join import Column
    from tfrecord_lite.sniff import Media

MAX_ROWS = 10
"""Most rows that are shown of a column or batch."""
_MAX_VALUES, _MAX_STRINGS, _MAX_STEPS = 8, 4, 3
"""Most numbers, strings and inner rows of a cell."""
_MAX_PICTURES, _MAX_PIXELS = 48, 64 << 20
"""Most pictures of a representation, and pixels to decode for them; a JPEG's count a quarter."""
_MAX_BYTES = 16 << 20
"""Of a longer value only the beginning is looked at."""
_SHORT_TEXT, _TINY_PIXELS = 32, 48
_TEXT_BYTES = 4 * (MAX_TEXT + 1)
"""As many bytes are decoded: a text that is cut there has more characters than are shown."""
_EMPTY = Html('<span class="tfl-more">(empty)</span>')
_MISSING = Html('<span class="tfl-more">missing</span>')
_NO_VALUES = Html('<span class="tfl-more">no values</span>')


class Cells:
    """Makes the cells of one representation, which may hold only so many pictures.

    `tell` returns what a byte string is that is neither an encoded medium nor text; or None.
    """

    def __init__(self, tell: Callable[[bytes], str | None] | None = None) -> None:
        self._tell = tell
        self._n_pictures = _MAX_PICTURES
        self._n_pixels = _MAX_PIXELS

    def rows(self, column: Column, n_rows: int = MAX_ROWS) -> list[Cell]:
        """Return a cell for each of the first rows of a column."""
        n_rows = min(n_rows, count_rows(column))
        if not n_rows:
            return []
        if isinstance(column, SparseTensor):
            rows = column.indices[:, 0]
            shown = np.flatnonzero(rows < n_rows)  # of all values once: they may be in any order
            places = [shown[rows[shown] == i] for i in range(n_rows)]
            return [self.cell(_values_at(column, place)) for place in places]
        if isinstance(column, BytesColumn):
            return [self._of_range(column, i) for i in range(n_rows)]
        return [self.cell(column[i]) for i in range(n_rows)]

    def cell(self, value: Any) -> Cell:
        """Return a value of any type, or a row of values, as a cell."""
        if value is np.ma.masked or value is None:
            return _MISSING
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if isinstance(value, bytes):
            return self.bytes_cell(value)
        if isinstance(value, RaggedTensor):
            return self._lines((value[i] for i in range(min(len(value), _MAX_STEPS))), len(value))
        if isinstance(value, SparseTensor):
            return self.cell(value.values)
        if isinstance(value, list | tuple):
            return self._lines(value[:_MAX_STEPS], len(value))
        if isinstance(value, BytesColumn):
            cells = [self._of_range(value, i) for i in range(min(len(value), _MAX_STRINGS))]
            return joined(cells, len(value))
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
            return str(value) if isinstance(value, bool) else int(value)
        return float(value) if isinstance(value, float | np.floating) else escaped(str(value))

    def bytes_cell(self, data: bytes, n_bytes: int | None = None) -> Html:
        """Return a byte string as a picture, as what its content is, as text or as bytes.

        `n_bytes` is the length of the whole, if `data` is only its beginning.
        """
        n_bytes = len(data) if n_bytes is None else n_bytes
        found = recognize(data)
        if found is not None:
            what = f"{found}, {human_bytes(n_bytes)}"
            shown = self._picture(data, found, what) if n_bytes == len(data) else None
            return shown or escaped(what)
        if not n_bytes:
            return _EMPTY
        text = text_of(data[:_TEXT_BYTES], is_cut=n_bytes > _TEXT_BYTES)
        if text is not None:
            return escaped(text)
        told = self._tell(data) if self._tell is not None and n_bytes == len(data) else None
        if told is not None:
            return escaped(told)
        first = f"{data[:12]!r}"
        return escaped(first if n_bytes <= 12 else f"{first}... {human_bytes(n_bytes)}")

    def _of_range(self, column: BytesColumn, i: int) -> Html:
        """Return the cell of value `i`, which may be too long to be copied as a whole."""
        start, stop = column.offsets[i : i + 2].tolist()
        data = column.data[start : min(stop, start + _MAX_BYTES)].tobytes()
        return self.bytes_cell(data, stop - start)

    def _picture(self, data: bytes, found: Media, what: str) -> Html | None:
        """Return an image's thumbnail; None if there are too many, or it cannot be made."""
        if found.kind != "image" or found.width is None or found.height is None:
            return None
        n_pixels = max(found.width * found.height, _n_decoded(data))
        n_pixels //= 4 if found.format == "JPEG" else 1
        if not self._n_pictures or n_pixels > self._n_pixels:
            return None
        self._n_pictures -= 1
        self._n_pixels -= n_pixels  # also of what turns out to be damaged, after some work
        small = thumbnail(data, found.mime)
        return small and picture(small, what, _enlarged(found.width, found.height))

    def _array(self, array: np.ndarray[Any, Any]) -> Cell:
        """Return numbers or strings as a list, a single one as it is, pixels as a picture."""
        if array.shape == (1,):
            return self.cell(array[0])
        if _is_picture(array) and self._n_pictures:
            self._n_pictures -= 1
            what = f"{array.dtype} {list(array.shape)}"
            return picture(
                thumbnail_of_pixels(array), what, _enlarged(array.shape[1], array.shape[0])
            )
        most = _MAX_STRINGS if array.dtype == object else _MAX_VALUES
        masks = array.mask.flat if isinstance(array, np.ma.MaskedArray) else None
        first = [
            np.ma.masked if masks is not None and masks[i] else array.flat[i]
            for i in range(min(array.size, most))
        ]
        if array.dtype == object:
            cells = [self.cell(value) for value in first]
        else:
            cells = [_short(value) for value in first]
        shape = "" if array.ndim == 1 else f"{list(array.shape)}: "
        return Html(escaped(shape) + joined(cells, array.size))

    def _lines(self, rows: Iterable[Any], n_rows: int) -> Html:
        """Return the first inner rows or steps below each other, and how many there are."""
        lines = [f"<div>{content(self.cell(row))}</div>" for row in rows]
        more = f"<div>… {n_rows:,} rows</div>" if n_rows > len(lines) else ""
        return Html("".join(lines) + more) if lines else _NO_VALUES


def count_rows(column: Column) -> int:
    """Return the number of rows: of a scalar, 0."""
    return (column.shape[0] or 0) if column.shape else 0


def type_text(column: Column) -> str:
    """Name the type of a column's rows: ``int64``, ``ragged string``, ``uint8 [28, 28]``."""
    name = "string" if column.dtype == object else str(column.dtype)
    if isinstance(column, RaggedTensor):
        return f"ragged {name}"
    if isinstance(column, SparseTensor):
        return f"sparse {name}"
    return f"{name} {list(column.shape[1:])}" if len(column.shape) > 1 else name


def _short(value: Any) -> Html:
    """Return one of several numbers, dates or texts; of a float four digits."""
    is_float = isinstance(value, float | np.floating)
    return escaped(f"{value:.4g}" if is_float else str(value), _SHORT_TEXT)


def _values_at(column: SparseTensor, places: np.ndarray[Any, Any]) -> Any:
    """Return the values of one row of a sparse tensor."""
    values = column.values
    return values.take(places) if isinstance(values, BytesColumn) else values[places]


def joined(cells: Sequence[Cell], n_values: int) -> Html:
    """Return values side by side, and how many there are if not all are shown."""
    parts = [content(cell) for cell in cells]
    is_pictures = bool(parts) and all(part.startswith("<img") for part in parts)
    text = ("" if is_pictures else ", ").join(parts)
    if n_values > len(cells):
        text += f"{'' if is_pictures else ', '}… {plural(n_values, 'value')}"
    return Html(text) if text else _NO_VALUES


def _n_decoded(data: bytes) -> int:
    """Return how many pixels a thumbnail takes, which may be more than the image says; 0 if none can be made."""
    try:
        return pixels_to_decode(data) or 0
    except ImportError:
        return 0


def _enlarged(width: int, height: int) -> tuple[int, int] | None:
    """Return twice the size of a tiny picture; None for others."""
    return (2 * width, 2 * height) if max(width, height) <= _TINY_PIXELS else None


def _is_picture(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array can be pixels, and not one of a few numbers."""
    shape = array.shape
    is_shape = array.ndim == 2 or (array.ndim == 3 and shape[2] in {1, 3, 4})
    return is_shape and array.dtype == np.uint8 and min(shape[:2]) >= 8
