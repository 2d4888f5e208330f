"""A feature of a record as a cell: a short form for the table, and the whole in the details.

A cell's HTML is made of escaped parts and uses these classes:

::

    v-number v-numbers     one number; several, with commas between them
    v-text v-texts         a text (<bdi>); several as chips (<ul>)
    v-hex                  bytes as hex (<code>)
    v-more v-empty v-note  what is left out; no values; a remark, e.g. about a broken image
    v-dump                 the whole, in the details (<pre>)

The whole page has one :class:`Budget`. What is over it is not shown, and said so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from markupsafe import Markup

from tfrecord_lite.errors import plural
from tfrecord_lite.example.content import text_of
from tfrecord_lite.example.outline import float_texts, kind_of, values_of
from tfrecord_lite.schema.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfrecord_lite.example.content import Content
    from tfrecord_lite.example.outline import Row
    from tfrecord_lite.messages import Feature

NO_MARKUP = Markup("")
MAX_SEARCH_TEXT = 240
_MAX_NUMBERS = 16  # of a short form
_MAX_CHIPS = 12
_MAX_STEPS = 24
_MAX_SHORT_TEXT = 160
_MAX_CHIP_TEXT = 40
_MAX_WHOLE_NUMBERS = 4096
_MAX_WHOLE_TEXT = 20_000
_MAX_SHORT_BYTES = 16
_MAX_WHOLE_BYTES = 1024
# What would not be seen, would reorder the text around it, or cannot be stored as UTF-8.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(slots=True)
class Budget:
    """What the records of one page may still take, all together; cells take it as they are made."""

    characters: int = 8_000_000
    """Of markup, without pictures and sounds."""
    pictures: int = 600
    pixels: int = 1_000_000_000
    """That may be decoded, which takes a second per 50 million or so."""
    picture_bytes: int = 8 << 20
    """Of thumbnails and strips."""
    detail_bytes: int = 16 << 20
    """Of large pictures and sounds."""

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is shown."""
        return self.characters <= 0


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


def visible(text: str) -> str:
    r"""Return a text with escapes for control characters, and for what would reorder it.

    >>> visible("a\x00b\u202ec\n")
    'a\\x00b\\u202ec\n'
    """
    return _UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def shortened(text: str, limit: int) -> str:
    """Return the first characters of a text on one line, with an ellipsis if there are more."""
    line = " ".join(visible(text[: 4 * limit]).split())
    is_cut = len(line) > limit or len(text) > 4 * limit
    return line[:limit] + "…" if is_cut else line


def text_prefix(data: bytes, limit: int) -> str | None:
    """Return the first `limit` bytes as text; None if they are not text."""
    if len(data) <= limit:
        return text_of(data)
    found = (text_of(data[: limit - n]) for n in range(4))  # a character may be cut
    return next((text for text in found if text is not None), None)


def more(count: int, noun: str) -> Markup:
    """Return the remark that there is more than is shown."""
    nouns = noun if count == 1 else f"{noun}s"
    return Markup(' <span class="v-more">and {:,} more {}</span>').format(count, nouns)


def note(text: str) -> Markup:
    """Return a remark."""
    return Markup('<span class="v-note">{}</span>').format(text)


def feature_cell(section: str, row: Row, budget: Budget) -> Cell:
    """Return the cell of a feature, or of a feature list."""
    if row.is_list:
        return lane_cell(section, row, budget)
    html, text, details = _shown(row.steps[0])
    budget.characters -= len(html) + len(details) + len(text) + len(row.name)
    return Cell(section, row.name, row.kind, row.count, html, text, details)


def lane_cell(section: str, row: Row, budget: Budget) -> Cell:
    """Return the cell of a feature list: its first steps, numbered."""
    steps = [_shown(step) for step in islice(row.steps, _MAX_STEPS)]
    items = (Markup("<li>{}</li>").format(html) for html, _, _ in steps)
    html = Markup('<ol class="v-steps" start="0">{}</ol>').format(NO_MARKUP.join(items))
    if len(row.steps) > _MAX_STEPS:
        html += more(len(row.steps) - _MAX_STEPS, "step")
    text = shortened(" ".join(text for _, text, _ in steps), MAX_SEARCH_TEXT)
    budget.characters -= len(html) + len(text)
    return Cell(section, row.name, row.kind, row.count, html, text)


def whole_cell(content: Content, budget: Budget) -> Cell:
    """Return the only cell of a record without features: its text, or its bytes as hex."""
    html, text, details = _string(content.record)
    budget.characters -= len(html) + len(details)
    count = plural(len(content.record), "byte")
    return Cell("", "", str(content.type), count, html, text, details)


def _shown(feature: Feature) -> tuple[Markup, str, Markup]:
    """Return short form, plain text and details of a feature's values."""
    values = values_of(feature)
    if not values:
        return Markup('<span class="v-empty">empty</span>'), "", NO_MARKUP
    if kind_of(feature) == Kind.BYTES.label:
        return _strings(feature.bytes_list.value)
    return _numbers(values)  # type: ignore[arg-type]


def _numbers(values: Sequence[float]) -> tuple[Markup, str, Markup]:
    """Show numbers: the first few, and all up to a bound in the details."""
    texts = number_texts(values, _MAX_WHOLE_NUMBERS)
    shown = ", ".join(texts[:_MAX_NUMBERS])
    name = "v-number" if len(values) == 1 else "v-numbers"
    html = Markup('<span class="{}">{}</span>').format(name, shown)
    if len(values) <= _MAX_NUMBERS:
        return html, shown, NO_MARKUP
    html += more(len(values) - _MAX_NUMBERS, "value")
    return html, shown, dump(", ".join(texts), len(values) - len(texts), "value")


def number_texts(values: Sequence[float], most: int) -> list[str]:
    """Write the first numbers, each with as few digits as identify it."""
    if isinstance(values[0], int):
        return list(map(str, islice(values, most)))
    return float_texts(values, most)


def _strings(values: Sequence[bytes]) -> tuple[Markup, str, Markup]:
    """Show byte strings: one, or several as chips."""
    if len(values) == 1:
        return _string(values[0])
    shown = [_string(value, _MAX_CHIP_TEXT)[0] for value in islice(values, _MAX_CHIPS)]
    chips = Markup("").join(Markup("<li>{}</li>").format(chip) for chip in shown)
    html = Markup('<ul class="v-texts">{}</ul>').format(chips)
    if len(values) > _MAX_CHIPS:
        html += more(len(values) - _MAX_CHIPS, "value")
    texts = [
        text_prefix(value, _MAX_CHIP_TEXT) or value[:8].hex(" ") for value in values[:_MAX_CHIPS]
    ]
    return html, shortened(" ".join(texts), MAX_SEARCH_TEXT), NO_MARKUP


def _string(value: bytes, limit: int = _MAX_SHORT_TEXT) -> tuple[Markup, str, Markup]:
    """Show a byte string: as text if it is text, otherwise as hex."""
    text = text_prefix(value, _MAX_WHOLE_TEXT)
    if not value:
        return Markup('<span class="v-empty">""</span>'), "", NO_MARKUP
    if text is None:
        return hex_form(value)
    short = shortened(text, limit)
    html = Markup('<bdi class="v-text">{}</bdi>').format(short)
    is_whole = short == text
    details = NO_MARKUP if is_whole else dump(text, len(value) - len(text.encode()), "byte")
    return html, shortened(text, MAX_SEARCH_TEXT), details


def hex_form(value: bytes) -> tuple[Markup, str, Markup]:
    """Show bytes as hex."""
    short = value[:_MAX_SHORT_BYTES].hex(" ")
    html = Markup('<code class="v-hex">{}</code>').format(short)
    if len(value) <= _MAX_SHORT_BYTES:
        return html, short, NO_MARKUP
    html += more(len(value) - _MAX_SHORT_BYTES, "byte")
    whole = value[:_MAX_WHOLE_BYTES]
    lines = "\n".join(whole[at : at + 32].hex(" ") for at in range(0, len(whole), 32))
    return html, short, dump(lines, len(value) - len(whole), "byte")


def dump(text: str, n_hidden: int, noun: str) -> Markup:
    """Return the whole of something as text, and how much is still left out."""
    html = Markup('<pre class="v-dump" tabindex="0">{}</pre>').format(visible(text))
    return html + more(n_hidden, noun) if n_hidden > 0 else html
