"""A feature of a record as a cell: a short form for the table, and the whole in the details.

::

    one number        exact                         several: the first few, and their extent
    float list        from 16 values on a strip     image-like: a picture
    byte string       a picture, a sound, a tensor (header and strip, heat map or picture), pixels of
                      the height and width beside it, text, or hex: whichever it is first

A cell's HTML is made of escaped parts. Its classes, besides those of :mod:`.pictures`:

::

    v-number v-numbers     one number; several, with commas between them
    v-text v-long v-texts  a text (<bdi>), one of more than a few words; several values as chips (<ul>)
    v-hex                  bytes as hex (<code>)
    v-more v-empty v-note  what is left out; no values; a remark, e.g. about a broken image
    v-dump                 the whole, in the details (<pre>)

The whole page has one :class:`Budget`. What is over it is not shown, and said so.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tfrecord_lite.apps.viewer.parts import (
    NO_MARKUP,
    Budget,
    Form,
    caption,
    dump,
    joined,
    more,
    n_characters,
    note,
    shortened,
    text_prefix,
    visible,
)
from tfrecord_lite.apps.viewer.pictures import (
    THUMBNAIL_SIZE,
    extent_text,
    heat_map,
    media_form,
    pixels_form,
    strip,
)
from tfrecord_lite.errors import InvalidArgumentError, Reason, plural
from tfrecord_lite.example.outline import float_texts, kind_of, values_of
from tfrecord_lite.schema.kinds import Kind
from tfrecord_lite.sniff import recognize_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfrecord_lite.arrays import AnyArray, Uint8Array
    from tfrecord_lite.example.content import Content
    from tfrecord_lite.example.outline import Row
    from tfrecord_lite.messages import Feature
    from tfrecord_lite.sniff import ValueContent

__all__ = ["Budget", "Cell", "feature_cell", "visible", "whole_cell"]

_MAX_NUMBERS = 12  # of a short form
_MIN_STRIP = 16  # floats that are an embedding rather than a few numbers
_MAX_CHIPS = 12
_MAX_STEPS = 24
_MAX_SHORT_TEXT = 160
_MAX_CHIP_TEXT = 40
_CHIP_SIZE = 64  # pixels of a picture among several
_MAX_WHOLE_NUMBERS = 4096
_MAX_EXAMINED_NUMBERS = 1 << 20
_MAX_WHOLE_TEXT = 20_000
_MAX_SHORT_BYTES = 16
_MAX_WHOLE_BYTES = 1024
_MAX_TENSOR_BYTES = 32 << 20
_MIN_PICTURE = 8  # rows and columns of an array that is a picture rather than a table
_OF_ANOTHER_PACKAGE = 2  # what dtype.isbuiltin is of bfloat16, int4, ... of ml_dtypes
_NPY_MAGIC = b"\x93NUMPY"
_SIZES = (
    ("image/height", "image/width", "image/channels", "image/depth"),
    ("height", "width", "depth", "channels"),
)
"""Features that say how pixels lie in a list beside them; the last two may be missing."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A feature of a record, or a list of features."""

    section: str
    """"context", "feature_lists", "example 0 of 3", ...; empty in an Example."""
    name: str
    """The name as it is; `label` is for display."""
    kind: str
    """"string", "float32", "int64" or "unset"; for a record without features, what it is."""
    count: str
    """Number of values; "5 x 3" for a list of 5 steps with 3 values each."""
    html: Markup
    """The short form."""
    text: str
    """The same as plain text, for the search: one line, bounded."""
    details: Markup = NO_MARKUP
    """The whole, up to a bound; empty if the short form shows everything."""

    @property
    def label(self) -> str:
        """The name, with escapes for what cannot be seen; never empty."""
        return visible(self.name).strip() or repr(self.name)


def feature_cell(section: str, row: Row, siblings: Mapping[str, Feature], budget: Budget) -> Cell:
    """Return the cell of a feature; `siblings` are the features beside it, by name."""
    form = _steps_form(row, budget) if row.is_list else feature_form(row.steps[0], siblings, budget)
    budget.characters -= n_characters(form.html, form.details) + len(row.name)
    return Cell(section, row.name, row.kind, row.count, *_in_order(form))


def value_cell(section: str, name: str, value: Any, budget: Budget) -> Cell:
    """Return the cell of a field of an event: a number, bytes, a text, or another message."""
    kind = type(value).__name__
    if isinstance(value, (int, float)):
        form = Form(
            Markup('<span class="v-number">{}</span>').format(
                f"{value:.7g}" if isinstance(value, float) else value
            ),
            str(value),
        )
    else:
        data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        form = string_form(data, {}, budget)
    budget.characters -= n_characters(form.html, form.details) + len(name)
    return Cell(section, name, kind, "1", *_in_order(form))


def whole_cell(content: Content, budget: Budget) -> Cell:
    """Return the only cell of a record without features: its text, or its bytes as hex."""
    form = string_form(content.record, {}, budget)
    budget.characters -= n_characters(form.html, form.details)
    count = plural(len(content.record), "byte")
    return Cell("", "content", str(content.type), count, *_in_order(form))


def _in_order(form: Form) -> tuple[Markup, str, Markup]:
    return form.html, shortened(form.text), form.details


def _steps_form(row: Row, budget: Budget) -> Form:
    """Show the first steps of a feature list, each by its number."""
    if not row.steps:
        return Form(Markup('<span class="v-empty">no steps</span>'), "")
    forms = [feature_form(step, {}, budget) for step in row.steps[:_MAX_STEPS]]
    items = (Markup("<li>{}</li>").format(form.html) for form in forms)
    html = Markup('<ol class="v-steps" start="0">{}</ol>').format(NO_MARKUP.join(items))
    n_hidden = len(row.steps) - len(forms)
    html += more(n_hidden, "step") if n_hidden else NO_MARKUP
    return Form(html, " ".join(form.text for form in forms))


def feature_form(feature: Feature, siblings: Mapping[str, Feature], budget: Budget) -> Form:
    """Show the values of a feature."""
    values: Any = values_of(feature)
    if not values:
        return Form(Markup('<span class="v-empty">empty</span>'), "")
    if kind_of(feature) == Kind.BYTES.label:
        return strings_form(values, siblings, budget)
    return numbers_form(values, siblings, budget)


# ------------------------------------------------------------------------------- numbers


def numbers_form(values: Sequence[float], siblings: Mapping[str, Feature], budget: Budget) -> Form:
    """Show a list of numbers: as they are, as a strip if they are an embedding, or as a picture."""
    texts = _number_texts(values, _MAX_WHOLE_NUMBERS)
    shown = ", ".join(texts[:_MAX_NUMBERS])
    if len(values) < _MIN_STRIP:
        name = "v-number" if len(values) == 1 else "v-numbers"
        return Form(Markup('<span class="{}">{}</span>').format(name, ", ".join(texts)), shown)
    array = np.array(values[:_MAX_EXAMINED_NUMBERS], np.float64)
    whole = dump(", ".join(texts), len(values) - len(texts), "value")
    pixels = _pixels_of(array, len(values), siblings)
    if pixels is not None:
        form = pixels_form(pixels, budget)
        return Form(form.html, form.text, form.details + whole)
    if isinstance(values[0], float):
        form = strip(array, budget, _count_of(values, array))
        return Form(form.html, form.text, whole)
    first = Markup('<span class="v-numbers">{}, …</span> ').format(shown)
    text = f"{_count_of(values, array)}, {extent_text(array)}"
    return Form(first + caption(text), f"{shown} {text}", whole)


def _count_of(values: Sequence[float], examined: AnyArray) -> str:
    """Return the number of values; how many were looked at, if not all."""
    count = plural(len(values), "value")
    return count if len(values) == examined.size else f"{count}, the first {examined.size:,}"


def _number_texts(values: Sequence[float], most: int) -> list[str]:
    """Write the first numbers, each with as few digits as identify it."""
    if isinstance(values[0], int):
        return list(map(str, islice(values, most)))
    return float_texts(values, most)


def _pixels_of(
    array: AnyArray, n_values: int, siblings: Mapping[str, Feature]
) -> Uint8Array | None:
    """Return numbers as pixels, if there are as many as the features beside them ask for.

    Integers must be 0 to 255, floats 0 to 1.
    """
    shape = _pixel_shape(n_values, siblings)
    if shape is None or array.size != n_values:
        return None
    if array.dtype == np.uint8:
        return array.reshape(shape)
    if not np.isfinite(array).all() or array.min() < 0 or array.max() > 255:
        return None
    if array.max() <= 1 and (array % 1).any():
        array = array * 255
    elif (array % 1).any():
        return None
    return array.astype(np.uint8).reshape(shape)


def _pixel_shape(n_values: int, siblings: Mapping[str, Feature]) -> tuple[int, int, int] | None:
    """Return height, width and channels if the features beside say so, and fit."""
    for names in _SIZES:
        height, width, *n_channels = (_number_in(siblings.get(name)) for name in names)
        if not height or not width or height * width < _MIN_PICTURE**2:
            continue
        depth = max(n_channels) or n_values // (height * width)
        if depth in {1, 3, 4} and height * width * depth == n_values:
            return height, width, depth
    return None


def _number_in(feature: Feature | None) -> int:
    """Return the only integer of a feature; 0 for anything else."""
    values: Any = () if feature is None else values_of(feature)
    is_one = len(values) == 1 and isinstance(values[0], int)
    return max(values[0], 0) if is_one else 0


# ------------------------------------------------------------------------------- strings


def strings_form(
    values: Sequence[bytes],
    siblings: Mapping[str, Feature],
    budget: Budget,
    n_values: int | None = None,
) -> Form:
    """Show byte strings, the first of `n_values`: one in full, of several the first as chips."""
    n_values = len(values) if n_values is None else n_values
    if n_values == 1:
        return string_form(values[0], siblings, budget)
    forms = [chip_form(value, budget) for value in islice(values, _MAX_CHIPS)]
    html = joined("ul", "v-texts", [form.html for form in forms])
    if n_values > _MAX_CHIPS:
        html += more(n_values - _MAX_CHIPS, "value")
    is_whole = n_values <= _MAX_CHIPS and not any(form.details for form in forms)
    text = shortened(" ".join(form.text for form in forms))
    return Form(html, text, NO_MARKUP if is_whole else _listed(values, n_values))


def _listed(values: Sequence[bytes], n_values: int) -> Markup:
    """Return several byte strings in the details: one per line, up to a bound."""
    texts, left = list[str](), _MAX_WHOLE_TEXT
    for value in values:
        text = text_prefix(value, min(left, _MAX_SHORT_TEXT * 4))
        texts.append(_in_a_line(value) if text is None else text)
        left -= len(texts[-1]) + 8
        if left <= 0:
            break
    return dump("\n".join(texts), n_values - len(texts), "value")


def _in_a_line(value: bytes) -> str:
    """Say what bytes are that are not text; those of no known format in hex."""
    what = recognize_value(value)
    return value[:_MAX_SHORT_BYTES].hex(" ") if what.label == "bytes" else str(what)


def chip_form(value: bytes, budget: Budget) -> Form:
    """Show one of several byte strings, small."""
    return string_form(value, {}, budget, _MAX_CHIP_TEXT, _CHIP_SIZE)


def string_form(
    value: bytes,
    siblings: Mapping[str, Feature],
    budget: Budget,
    limit: int = _MAX_SHORT_TEXT,
    size: int = THUMBNAIL_SIZE,
) -> Form:
    """Show a byte string as what it is; a text with at most `limit` characters."""
    if not value:
        return Form(Markup('<span class="v-empty">""</span>'), "")
    what = recognize_value(value)
    if what.media is not None:
        return media_form(value, what.media, str(what), budget, size)
    if what.shape is not None:
        return _tensor_form(value, what, budget)
    text = text_prefix(value, _MAX_WHOLE_TEXT) if what.label == "text" else None
    if text is not None:
        return _text_form(value, text, limit)
    pixels = _pixels_of(np.frombuffer(value, np.uint8), len(value), siblings)
    return _hex_form(value) if pixels is None else pixels_form(pixels, budget)


def _text_form(value: bytes, text: str, limit: int) -> Form:
    short = shortened(text, limit)
    name = "v-text v-long" if len(short) > _MAX_CHIP_TEXT else "v-text"
    html = Markup('<bdi class="{}">{}</bdi>').format(name, short)
    n_hidden = len(value) - len(text.encode())
    details = NO_MARKUP if short == text else dump(text, n_hidden, "byte")
    return Form(html, shortened(text), details)


def _hex_form(value: bytes) -> Form:
    short = value[:_MAX_SHORT_BYTES].hex(" ")
    html = Markup('<code class="v-hex">{}</code>').format(short)
    if len(value) <= _MAX_SHORT_BYTES:
        return Form(html, short)
    html += more(len(value) - _MAX_SHORT_BYTES, "byte")
    whole = value[:_MAX_WHOLE_BYTES]
    lines = "\n".join(whole[at : at + 32].hex(" ") for at in range(0, len(whole), 32))
    return Form(html, short, dump(lines, len(value) - len(whole), "byte"))


# ------------------------------------------------------------------------------- tensors


def _tensor_form(value: bytes, what: ValueContent, budget: Budget) -> Form:
    """Show a serialised tensor or array by its dtype and shape, and its elements."""
    head = f"{what.label} {what.details}"
    if max(len(value), what.n_bytes) > _MAX_TENSOR_BYTES:
        return Form(caption(head) + note("too large to be shown"), head)
    try:
        array = _loaded(value)
    except (InvalidArgumentError, ImportError) as error:
        detail = error.detail if isinstance(error, InvalidArgumentError) else str(error)
        return Form(caption(head) + note(detail or "it cannot be parsed"), head)
    form = array_form(array, budget)
    html = caption(head) + Markup(" {}").format(form.html)
    return Form(html, f"{head} {form.text}", form.details)


def _loaded(value: bytes) -> AnyArray:
    """Return the elements of a TensorProto or a .npy file, of which none is larger than it says."""
    from tfrecord_lite.tensors.parse import parse_tensor  # noqa: PLC0415 - not light

    if not value.startswith(_NPY_MAGIC):
        return parse_tensor(value, max_bytes=_MAX_TENSOR_BYTES)
    try:
        array: AnyArray = np.load(io.BytesIO(value), allow_pickle=False)
        if array.dtype.kind == "U" and array.nbytes:
            _check_characters(array)
    except Exception as error:  # noqa: BLE001 - its parser of headers raises anything
        detail = f"it cannot be parsed ({type(error).__name__})"
        raise InvalidArgumentError(Reason.MALFORMED, detail=detail) from None
    return array


def _check_characters(array: AnyArray) -> None:
    """Raise ValueError for texts with characters that do not exist, which NumPy does not check."""
    numbers = array.ravel().view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if numbers.max() > sys.maxunicode:
        raise ValueError


def array_form(array: AnyArray, budget: Budget) -> Form:
    """Show an array: as numbers, chips, a strip, a heat map or a picture."""
    if array.size == 0:
        return Form(Markup('<span class="v-empty">empty</span>'), "")
    if (strings := _strings_of(array)) is not None:
        return strings_form(strings, {}, budget, array.size)
    if array.dtype.isbuiltin == _OF_ANOTHER_PACKAGE:
        array = array.astype(np.float32)
    if array.dtype.kind == "c":
        texts = ", ".join(map(str, array.ravel()[:_MAX_NUMBERS].tolist()))
        return Form(Markup('<span class="v-numbers">{}</span>').format(texts), texts)
    if _is_picture(array):
        return pixels_form(array.reshape(*array.shape[:2], -1), budget)
    numbers = array.ravel()[:_MAX_EXAMINED_NUMBERS]
    shown = numbers[:_MAX_WHOLE_NUMBERS].astype(str).tolist()
    whole = dump(", ".join(shown), array.size - len(shown), "value")
    if array.ndim == 2 and min(array.shape) > 1 and array.size <= _MAX_EXAMINED_NUMBERS:
        return heat_map(array.astype(np.float64), budget)._replace(details=whole)
    if array.size >= _MIN_STRIP:
        return strip(numbers.astype(np.float64), budget)._replace(details=whole)
    text = ", ".join(shown)
    return Form(Markup('<span class="v-numbers">{}</span>').format(text), text)


def _strings_of(array: AnyArray) -> list[bytes] | None:
    """Return the first elements of an array as byte strings; None for numbers."""
    if array.dtype.kind in "biufc" or array.dtype.isbuiltin == _OF_ANOTHER_PACKAGE:
        return None
    first = array.ravel()[:_MAX_WHOLE_NUMBERS]
    elements = (first.astype(str) if array.dtype.kind in "mM" else first).tolist()
    return [
        each if isinstance(each, bytes) else str(each).encode("utf-8", "surrogatepass")
        for each in elements
    ]


def _is_picture(array: AnyArray) -> bool:
    """Return whether this looks like the pixels of an image: (h, w) or (h, w, channels)."""
    is_shape = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in {1, 3, 4})
    return array.dtype == np.uint8 and is_shape and min(array.shape[:2]) >= _MIN_PICTURE
