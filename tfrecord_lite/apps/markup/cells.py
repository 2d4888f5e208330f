"""Values as cells: of a table in a notebook, and of the viewer's page.

::

    one number           exact                      several: the first few
    pixels               uint8 (h, w) or (h, w, 1, 3 or 4), or as many numbers as fit the height and
                         width beside them: a picture
    byte string          a picture, a sound, a tensor, a text, or hex: whichever it is first
    rows, steps          the first few, below each other

Cells are cheap and small for values of any size: only what is shown is looked at. One :class:`Cells` makes the
cells of one page or table, and takes their cost from one :class:`Budget`. On a page, a cell also has *details*:
the whole, up to a bound.

Pillow makes the pictures, of the formats that browsers show; images of too many pixels are not decoded, nor
JPEGs that go over them too often.

Classes: ``v-number``, ``v-numbers``; ``v-text``, ``v-long`` (<bdi>); ``v-hex`` (<code>); ``v-texts`` (<ul> of several
byte strings), ``v-steps`` (<ol>); ``v-picture``, ``v-pixelated`` (<img>), ``v-audio``, ``v-caption``; ``v-more``,
``v-empty``, ``v-note`` for remarks; ``v-dump`` (<pre>, the whole).
"""

from __future__ import annotations

import base64
import io
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from tfrecord_lite.apps.markup.charts import short_number
from tfrecord_lite.apps.markup.tables import Cell, Html, escaped, quoted, visible
from tfrecord_lite.arrays import AnyArray, Float64Array, Uint8Array
from tfrecord_lite.columns import BytesColumn, Column, RaggedTensor, SparseTensor
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.sniff import Media, ValueContent, recognize_value, text_of
from tfrecord_lite.texts import plural

MAX_ROWS = 10
"""Most rows that are shown of a column or batch."""
_MAX_VALUES, _MAX_STEPS, _MAX_STEPS_OF_PAGE = 8, 3, 24
"""Most numbers or strings of a cell, and inner rows."""
_MAX_TEXT, _MAX_SMALL_TEXT, _MAX_HEX = 160, 40, 16
_MAX_WHOLE_NUMBERS, _MAX_WHOLE_TEXT, _MAX_WHOLE_HEX, _MAX_WHOLE_LINES = 4096, 20_000, 1024, 64
"""The most numbers, characters, bytes and lines in the details."""
_MAX_EXAMINED_NUMBERS, _MAX_TENSOR_BYTES, _MAX_SOUND_BYTES = 1 << 20, 32 << 20, 2 << 20
_SIZE, _PAGE_SIZE, _SMALL_SIZE, _LARGE_SIZE = 96, 128, 64, 1024  # pixels of pictures
_MIN_PICTURE = 8  # rows and columns of an array that is a picture rather than a table
_ENLARGED_SIZE = 256
"""The size of an image whose pixels are shown one by one."""
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "WEBP")
"""Shown by browsers, as Pillow names them."""
_MAX_PIXELS, _MAX_JPEG_PIXELS = 16 << 20, 64 << 20
"""Larger images are not decoded. For a JPEG, an eighth of the rows may be enough."""
_MAX_ENCODED_BYTES = 64 << 20
_START_OF_SCAN = b"\xff\xda"
_FREE_SCANS = 16
"""A progressive JPEG has about ten scans; in a few bytes it may have thousands, each over all pixels."""
_EXACT_SIZE = 64
"""Images of at most so many pixels each way lose nothing: their pixels may be seen one by one."""
_OF_ANOTHER_PACKAGE = 2  # what dtype.isbuiltin is of bfloat16, int4, ... of ml_dtypes
_SIZES = (
    ("image/height", "image/width", "image/channels", "image/depth"),
    ("height", "width", "depth", "channels"),
)
"""Features that say how pixels lie in a list beside them; the last two may be missing."""
SIZE_NAMES = frozenset(name for names in _SIZES for name in names)
Sizes: TypeAlias = Mapping[str, int] | None
"""The numbers beside a value, by these names."""
_NOTHING = Html("")


@dataclass(slots=True)
class Budget:
    """What the contents of one page may still take, all together; cells take it as they are made."""

    characters: int = 8_000_000
    """Of markup, without pictures and sounds."""
    card_characters: int = 4_000_000
    """The most characters of the cards and the schema."""
    pictures: int = 1000
    pixels: int = 300_000_000
    """That may be decoded, which takes some seconds for all of them; a JPEG's count a quarter."""
    picture_bytes: int = 8 << 20
    """The most bytes of thumbnails and strips."""
    detail_bytes: int = 16 << 20
    """Of large pictures and sounds."""

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is shown."""
        return self.characters <= 0

    def take(self, **amounts: int) -> bool:
        """Take some of each; return whether all was left, otherwise nothing is taken."""
        if any(getattr(self, name) < amount for name, amount in amounts.items()):
            return False
        for name, amount in amounts.items():
            setattr(self, name, getattr(self, name) - amount)
        return True


class Form(NamedTuple):
    """How a value is shown."""

    html: Html
    details: Html = _NOTHING
    """The whole, up to a bound; empty if the short form shows everything, and outside of a page."""


def _span(name: str, text: str, limit: int = 1000) -> Html:
    return Html(f'<span class="v-{name}">{escaped(text, limit)}</span>')


_MISSING, _EMPTY = Form(_span("empty", "missing")), Form(_span("empty", "(empty)"))
_NO_VALUES, _NO_STEPS = Form(_span("empty", "no values")), Form(_span("empty", "no steps"))


class Cells:
    """Makes the cells of one page, or of one table of a notebook."""

    def __init__(self, budget: Budget | None = None, *, is_page: bool = False) -> None:
        self.budget: Budget = budget or Budget(pictures=48, pixels=64 << 20)
        self.max_steps: int = _MAX_STEPS_OF_PAGE if is_page else _MAX_STEPS
        """How many steps of a list are shown."""
        self._is_page = is_page
        self._size = _PAGE_SIZE if is_page else _SIZE
        self._has_pillow = find_spec("PIL") is not None
        self._said = set[str]()
        """Why contents were left out."""

    def rows(self, column: Column, n_rows: int = MAX_ROWS) -> list[Cell]:
        """Return a cell for each of the first rows of a column."""
        n_rows = min(n_rows, count_rows(column))
        if isinstance(column, SparseTensor) and n_rows:
            rows, values = column.indices[:, 0], column.values
            shown = np.flatnonzero(rows < n_rows)  # of all values once: they may be in any order
            places = [shown[rows[shown] == i] for i in range(n_rows)]
            return [self.cell(cast("Any", values).take(at)) for at in places]
        return [self.cell(cast("Any", column)[i]) for i in range(n_rows)]

    def cell(self, value: Any) -> Cell:
        """Return a value, or a row of values, as a cell of a table, where a number stays one."""
        if isinstance(value, np.ndarray) and value.shape in {(), (1,)}:
            value = value.ravel()[0]
        if isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64):
            return int(value)
        return float(value) if isinstance(value, float | np.floating) else self.form(value).html

    def form(self, value: Any) -> Form:
        """Show a value of any type, or a row of values."""
        if value is np.ma.masked or value is None:
            return _MISSING
        if isinstance(value, bytes):
            return self.bytes_form(value)
        if isinstance(value, RaggedTensor | list | tuple):
            shown = range(min(len(value), self.max_steps))
            return self.steps_form([self.form(value[i]) for i in shown], len(value))
        if isinstance(value, SparseTensor):
            return self.form(value.values)
        if isinstance(value, BytesColumn):
            return self.strings_form([*value[:_MAX_VALUES]], len(value))
        if isinstance(value, np.ndarray):
            return self.array_form(value)
        return self._text_form(str(value))

    def steps_form(self, forms: Sequence[Form], n_steps: int) -> Form:
        """Show the first steps or inner rows, which are made already, each by its number."""
        items = "".join(f"<li>{form.html}</li>" for form in forms)
        html = f'<ol class="v-steps" start="0" tabindex="0">{items}</ol>'
        return Form(_with_more(html, n_steps - len(forms), n_steps, "step")) if forms else _NO_STEPS

    # --------------------------------------------------------------------------- strings

    def bytes_form(self, data: bytes, sizes: Sizes = None, *, is_small: bool = False) -> Form:
        """Show a byte string as what it is.

        `sizes` are the numbers beside it, by :data:`SIZE_NAMES`. A small one is one of several.
        """
        n_bytes = len(data)
        if not data:
            return _EMPTY
        what = recognize_value(data)
        if what.media is not None:
            return self._media_form(data, str(what), what.media, is_small=is_small)
        if what.shape is not None:
            return self._tensor_form(data, what)
        if what.label == "text":
            most = _MAX_WHOLE_TEXT if self._is_page else 4 * _MAX_TEXT
            text = text_of(data[:most], is_cut=n_bytes > most)
            if text is not None:
                return self._text_form(text, n_bytes - len(text.encode()), is_small=is_small)
        pixels = self._pixels(np.frombuffer(data, np.uint8), sizes)
        if pixels is not None:
            return self._pixels_form(pixels)
        html = f'<code class="v-hex">{data[:_MAX_HEX].hex(" ")}</code>'
        whole = data[:_MAX_WHOLE_HEX]
        lines = "\n".join(whole[at : at + 32].hex(" ") for at in range(0, len(whole), 32))
        details = self._dump(lines, n_bytes - len(whole), "byte", is_new=n_bytes > _MAX_HEX)
        return Form(_with_more(html, n_bytes - _MAX_HEX, n_bytes, "byte"), details)

    def strings_form(self, values: Sequence[Any], n_values: int, sizes: Sizes = None) -> Form:
        """Show byte strings or texts, the first of `n_values`: one in full, of several the first."""
        if n_values == 1:
            return self._string_form(values[0], sizes, is_small=False)
        forms = [self._string_form(value, is_small=True) for value in values[:_MAX_VALUES]]
        if not forms:
            return _NO_VALUES
        items = "".join(f"<li>{form.html}</li>" for form in forms)
        html = f'<ul class="v-texts">{items}</ul>'
        is_new = n_values > _MAX_VALUES or any(form.details for form in forms)
        lines = [_in_a_line(value) for value in values[:_MAX_WHOLE_LINES]]
        details = self._dump("\n".join(lines), n_values - len(lines), "value", is_new=is_new)
        return Form(_with_more(html, n_values - len(forms), n_values, "value"), details)

    def _string_form(self, value: Any, sizes: Sizes = None, *, is_small: bool) -> Form:
        if isinstance(value, bytes):
            return self.bytes_form(value, sizes, is_small=is_small)
        is_text = isinstance(value, str)
        return self._text_form(value, is_small=is_small) if is_text else self.form(value)

    def _text_form(self, text: str, n_hidden: int = 0, *, is_small: bool = False) -> Form:
        """Show a text on a line, with the number of bytes that are left out."""
        line, limit = " ".join(text.split()), _MAX_SMALL_TEXT if is_small else _MAX_TEXT
        short = escaped(line, limit) if line or not text else escaped(repr(text), limit)
        name = "v-text v-long" if len(line) > _MAX_SMALL_TEXT else "v-text"
        is_new = len(line) > limit or line != text or n_hidden > 0
        details = self._dump(text, n_hidden, "byte", is_new=is_new)
        return Form(Html(f'<bdi class="{name}">{short}</bdi>'), details)

    def _dump(self, text: str, n_hidden: int, noun: str, *, is_new: bool) -> Html:
        """Return the whole as text for the details, and how much is left out; nothing outside of a page."""
        if not self._is_page or not is_new:
            return _NOTHING
        html = Html(f'<pre class="v-dump" tabindex="0">{quoted(visible(text))}</pre>')
        more = f"and {plural(n_hidden, f'more {noun}')}"
        return Html(html + _span("more", more)) if n_hidden > 0 else html

    # -------------------------------------------------------------------- pictures, sounds

    def _media_form(self, data: bytes, what: str, media: Media, *, is_small: bool) -> Form:
        below = _span("caption", what) if self._is_page and not is_small else _NOTHING
        if media.kind == "audio" and self._is_page:
            if len(data) > _MAX_SOUND_BYTES:
                return Form(Html(self._left_out("too large to play here") + below))
            if not self.budget.take(detail_bytes=len(data)):
                return Form(Html(self._left_out("not here: the page is full") + below))
            source = f"data:{media.mime};base64,{base64.b64encode(data).decode()}"
            html = f'<audio class="v-audio" controls preload="none" aria-label="{escaped(str(media))}" src="{source}"></audio>'
            return Form(Html(html + below))
        if media.kind != "image":
            return Form(escaped(what))
        size = _SMALL_SIZE if is_small else self._size
        small = thumbnail(data, media, self.budget, size)
        if isinstance(small, str):
            return Form(self._left_out(small, what))
        name = f"{media.format} image" if below else what  # a caption is not said twice
        html = Html(picture(small, name, size) + below)
        if not self._is_page or max(media.width or 0, media.height or 0) <= size:
            return Form(html)
        large = thumbnail(data, media, self.budget, _LARGE_SIZE, is_detail=True)
        if isinstance(large, str):
            return Form(html)
        return Form(html, picture(large, f"{what}, larger", _LARGE_SIZE))

    def _left_out(self, reason: str, what: str = "") -> Html:
        """Say what a picture or sound is that is left out; why only once, if that holds for all that follow."""
        text = what if reason in self._said else ": ".join(filter(None, (reason, what)))
        if reason.startswith(("not shown", "not here")):
            self._said.add(reason)
        return _span("note", text) if text else _NOTHING

    def _pixels(self, array: AnyArray, sizes: Sizes) -> Uint8Array | None:
        """Return numbers as pixels: the pixels of a picture, or as many as the numbers beside them ask for.

        Integers must be 0 to 255, floats 0 to 1.
        """
        shape = array.shape
        if not self._has_pillow:
            return None
        if array.dtype == np.uint8 and array.ndim > 1:
            is_shape = array.ndim == 2 or (array.ndim == 3 and shape[2] in {1, 3, 4})
            return array if is_shape and min(shape[:2]) >= _MIN_PICTURE else None
        pixel_shape = _pixel_shape(array.size, sizes) if sizes else None
        if pixel_shape is None or not np.isfinite(array).all():
            return None
        scale = 255 if (array % 1).any() else 1
        if array.min() < 0 or array.max() > 255 // scale:
            return None
        return (array * scale).astype(np.uint8).reshape(pixel_shape)

    def _pixels_form(self, pixels: Uint8Array) -> Form:
        """Show pixels of shape (height, width), or with 1, 3 or 4 channels."""
        height, width = pixels.shape[:2]
        text = f"{width} x {height} pixels, {plural(pixels[0, 0].size, 'channel')}"
        if pixels.size < _MAX_EXAMINED_NUMBERS and pixels.max() == 1:  # a mask
            pixels, text = pixels * np.uint8(255), f"{text}, each 0 or 1"
        below = _span("caption", text) if self._is_page else _NOTHING
        small = thumbnail_of_pixels(pixels, self._size)
        if not self.budget.take(pictures=1, picture_bytes=len(small.data)):
            return Form(self._left_out("not shown, as the page is full", text))
        html = Html(picture(small, "the pixels as an image" if below else text, self._size) + below)
        if not self._is_page or max(height, width) <= self._size:
            return Form(html)
        large = thumbnail_of_pixels(pixels, _LARGE_SIZE)
        is_left = self.budget.take(detail_bytes=len(large.data))
        return Form(html, picture(large, f"{text}, larger", _LARGE_SIZE) if is_left else _NOTHING)

    # ----------------------------------------------------------------- numbers, tensors

    def _tensor_form(self, data: bytes, what: ValueContent) -> Form:
        """Show a serialised tensor or a .npy file: on a page its elements below its dtype and shape."""
        from tfrecord_lite import parse_tensor  # noqa: PLC0415 - not light

        if not self._is_page:
            return Form(escaped(str(what)))
        head = _span("caption", f"{what.label} {what.details}")
        if max(len(data), what.n_bytes) > _MAX_TENSOR_BYTES:
            return Form(Html(head + _span("note", "too large to be shown")))
        try:
            if data.startswith(b"\x93NUMPY"):
                form = self.array_form(np.load(io.BytesIO(data), allow_pickle=False))
            else:
                form = self.array_form(parse_tensor(data, max_bytes=_MAX_TENSOR_BYTES))
        except Exception as error:  # noqa: BLE001 - NumPy's parser of headers raises anything
            detail = error.detail if isinstance(error, InvalidArgumentError) else None
            return Form(Html(head + _span("note", detail or "it cannot be parsed")))
        return Form(Html(f"{head} {form.html}"), form.details)

    def array_form(self, array: AnyArray, sizes: Sizes = None, n_values: int | None = None) -> Form:
        """Show an array, which may be the first of `n_values`: as numbers, strings or a picture."""
        n_values = array.size if n_values is None else n_values
        if not n_values:
            return _NO_VALUES
        is_foreign = array.dtype.isbuiltin == _OF_ANOTHER_PACKAGE
        array = array.astype(np.float32) if is_foreign else array
        first = array.flat[: _MAX_WHOLE_NUMBERS if self._is_page else _MAX_VALUES]
        if array.dtype.kind not in "biufc":
            texts = first.astype(str) if array.dtype.kind in "mM" else first
            strings = zip(texts.tolist(), np.ma.getmaskarray(first).tolist(), strict=True)
            return self.strings_form([None if is_no else v for v, is_no in strings], n_values)
        pixels = self._pixels(array, sizes) if n_values == array.size else None
        if pixels is not None:
            return self._pixels_form(pixels)
        if n_values == 1:
            return Form(_span("number", str(first[0])))
        shape = "" if array.ndim <= 1 or self._is_page else f"{list(array.shape)}: "
        shown = [_short(first[i]) for i in range(min(len(first), _MAX_VALUES))]
        exact = np.asarray(first).astype(str).tolist()
        is_new = n_values > len(shown) or shown != exact[: len(shown)]
        details = self._dump(", ".join(exact), n_values - len(first), "value", is_new=is_new)
        html = _span("numbers", shape + ", ".join(shown))
        html = _with_more(html, n_values - len(shown), n_values, "value")
        if self._is_page and n_values > len(shown) and array.dtype.kind in "iuf":
            extent = _extent_text(array.flat[:_MAX_EXAMINED_NUMBERS].astype(np.float64))
            html = Html(html + _span("caption", extent))
        return Form(html, details)


# ------------------------------------------------------------------------------ tables


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


def _with_more(html: str, n_hidden: int, n_all: int, noun: str) -> Html:
    return Html(f"{html} {_span('more', f'… {plural(n_all, noun)}')}" if n_hidden > 0 else html)


def _short(value: Any) -> str:
    if value is np.ma.masked:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _in_a_line(value: Any) -> str:
    """Return a byte string or text in the details of several: its text, what it is, or hex."""
    if not isinstance(value, bytes):
        return str(value)[: 4 * _MAX_TEXT]
    text = text_of(value[: 4 * _MAX_TEXT], is_cut=len(value) > 4 * _MAX_TEXT)
    if text is not None:
        return text
    what = recognize_value(value)
    return value[:_MAX_HEX].hex(" ") if what.label == "bytes" else str(what)


# ------------------------------------------------------------------------------ numbers


def _pixel_shape(n_values: int, sizes: Mapping[str, int]) -> tuple[int, int, int] | None:
    """Return height, width and channels if the numbers beside say so, and fit."""
    for names in _SIZES:
        height, width, *n_channels = (max(sizes.get(name, 0), 0) for name in names)
        if not height or not width or height * width < _MIN_PICTURE**2:
            continue
        depth = max(n_channels) or n_values // (height * width)
        if depth in {1, 3, 4} and height * width * depth == n_values:
            return height, width, depth
    return None


def _extent_text(values: Float64Array) -> str:
    """Return the smallest and largest number in words, and what is not a number."""
    finite = values[np.isfinite(values)]
    parts = []
    if finite.size:
        low, high = short_number(float(finite.min())), short_number(float(finite.max()))
        parts.append(f"all {low}" if low == high else f"{low} to {high}")
    counts = (np.isnan(values).sum(), "NaN"), (np.isinf(values).sum(), "infinite")
    parts += [f"{count:,} {name}" for count, name in counts if count]
    return ", ".join(parts) or "no values"


# --------------------------------------------------------------------------- thumbnails


class Thumbnail(NamedTuple):
    """An encoded image that is small enough to be part of a page."""

    data: bytes
    mime: str
    width: int
    height: int


def thumbnail(
    data: bytes, media: Media, budget: Budget, size: int = 128, *, is_detail: bool = False
) -> Thumbnail | str:
    """Return an image of at most `size` pixels each way, or why there is none.

    Its size is taken from the budget; details have a part of their own.
    """
    n_pixels, broken = sys.maxsize, f"broken {media.format}, which cannot be decoded"
    if media.format.upper() not in _FORMATS:
        return f"{media.format} is not shown here"
    try:
        opened = _opened(data)
        n_pixels = _n_pixels(opened, data)
    except ImportError:
        return "not shown without Pillow"
    except Exception as error:  # noqa: BLE001 - decoders raise anything
        if type(error).__name__ != "DecompressionBombError":
            return broken
    limit = _MAX_JPEG_PIXELS if media.format == "JPEG" else _MAX_PIXELS
    if n_pixels > limit or len(data) > _MAX_ENCODED_BYTES:
        return "not decoded, as it would take too long"
    if not budget.take(pictures=1, pixels=n_pixels // (4 if media.format == "JPEG" else 1)):
        return "not shown, as there are enough pictures"
    try:
        encoded = _encoded(_shrunk(opened, (size, size)))
    except Exception:  # noqa: BLE001 - decoders raise anything
        return broken
    pot = "detail_bytes" if is_detail else "picture_bytes"
    return encoded if budget.take(**{pot: len(encoded.data)}) else "not shown: the page is full"


def thumbnail_of_pixels(pixels: Uint8Array, size: int = 128) -> Thumbnail:
    """Encode pixels (height, width) or (height, width, 1, 3 or 4) as PNG, every n-th if they are many."""
    from PIL import Image  # noqa: PLC0415 - optional

    step = max(-(-max(pixels.shape[:2]) // size), 1)
    small = pixels[::step, ::step]
    if small.shape[2:] == (1,):
        small = small[:, :, 0]
    return _encoded(Image.fromarray(np.ascontiguousarray(small)), is_exact=True)


def _encoded(image: Any, *, is_exact: bool = False) -> Thumbnail:
    """Encode an image of Pillow's: as PNG if it may be transparent or is tiny, otherwise as JPEG."""
    is_exact = is_exact or image.mode == "RGBA" or max(image.size) <= _EXACT_SIZE
    out = io.BytesIO()
    image.save(out, "PNG" if is_exact else "JPEG", quality=85)
    return Thumbnail(out.getvalue(), "image/png" if is_exact else "image/jpeg", *image.size)


def picture(shown: Thumbnail, text: str, room: int) -> Html:
    """Return an image in so many pixels each way, enlarged if it is tiny, with the text in its place."""
    longest = max(shown.width, shown.height)
    scale, name = min(room / longest, 1), "v-picture"
    if longest <= _EXACT_SIZE:
        scale, name = max(min(room, _ENLARGED_SIZE) // longest, 1), "v-picture v-pixelated"
    width, height = int(shown.width * scale) or 1, int(shown.height * scale) or 1
    encoded, text = base64.b64encode(shown.data).decode(), escaped(text)
    return Html(
        f'<img class="{name}" src="data:{shown.mime};base64,{encoded}" alt="{text}" '
        f'title="{text}" width="{width}" height="{height}">'
    )


def _shrunk(opened: Any, size: tuple[int, int]) -> Any:
    """Return a smaller image, in colours; of wide numbers in grey, from the smallest to the largest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened.draft("RGB", size)
        is_clear = "A" in opened.mode or "a" in opened.mode or "transparency" in opened.info
        if opened.mode[:1] in {"I", "F"}:
            low, high = opened.getextrema()
            scale = 255 / (high - low) if high > low else 0
            opened = opened.convert("F").point(lambda value: value * scale - low * scale)
            opened, is_clear = opened.convert("L"), False
        small = opened.convert("RGBA" if is_clear else "RGB")
        small.thumbnail(size)
        return small


def _opened(data: bytes) -> Any:
    from PIL import Image  # noqa: PLC0415 - optional

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about headers that are odd, or sizes, which are checked
        return Image.open(io.BytesIO(data), formats=_FORMATS)


def _n_pixels(opened: Any, data: bytes) -> int:
    n_scans = data.count(_START_OF_SCAN) if opened.format in {"JPEG", "MPO"} else 1
    return int(opened.width * opened.height) * max(-(-n_scans // _FREE_SCANS), 1)
