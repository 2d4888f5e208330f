"""Small pieces of markup, and the budget of a page.

Text goes through :func:`visible` or :func:`shortened`, and then into a Markup, which escapes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from tfrecord_lite.sniff import text_of

NO_MARKUP = Markup("")
MAX_SEARCH_TEXT = 240
_EMBEDDED = re.compile('"data:[a-z]+/[a-z0-9.+-]+;base64,[^"]*"')  # in text, quotes are escaped
# What would not be seen, would reorder the text around it, or cannot be stored as UTF-8.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


@dataclass(slots=True)
class Budget:
    """What the contents of one page may still take, all together; cells take it as they are made."""

    characters: int = 8_000_000
    """Of markup, without pictures and sounds."""
    card_characters: int = 4_000_000
    """Of the cards and the schema."""
    pictures: int = 1000
    pixels: int = 300_000_000
    """That may be decoded, which takes some seconds for all of them."""
    picture_bytes: int = 8 << 20
    """Of thumbnails and strips."""
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

    html: Markup
    """The short form."""
    text: str
    """The same as plain text on one line."""
    details: Markup = NO_MARKUP
    """The whole, up to a bound; empty if the short form shows everything."""


def n_characters(*parts: str) -> int:
    """Return the characters of markup, without pictures and sounds, which count as bytes."""
    embedded = sum(len(found[0]) for part in parts for found in _EMBEDDED.finditer(part))
    return sum(map(len, parts)) - embedded


def visible(text: str) -> str:
    r"""Return a text with escapes for control characters, and for what would reorder it.

    >>> visible("a\x00b\u202ec\n")
    'a\\x00b\\u202ec\n'
    """
    return _UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def shortened(text: str, limit: int = MAX_SEARCH_TEXT) -> str:
    """Return the first characters of a text on one line, with an ellipsis if there are more."""
    line = " ".join(visible(text[: 4 * limit]).split())
    is_cut = len(line) > limit or len(text) > 4 * limit
    return line[:limit] + "…" if is_cut else line


def text_prefix(data: bytes, limit: int) -> str | None:
    """Return the first `limit` bytes as text; None if they are not text."""
    return text_of(data[:limit], is_cut=len(data) > limit)


def more(count: int, noun: str) -> Markup:
    """Return the remark that there is more than is shown."""
    nouns = noun if count == 1 else f"{noun}s"
    return Markup(' <span class="v-more">and {:,} more {}</span>').format(count, nouns)


def note(text: str) -> Markup:
    """Return a remark."""
    return Markup('<span class="v-note">{}</span>').format(text)


def caption(text: str) -> Markup:
    """Return what stands below a picture, strip or sound."""
    return Markup('<span class="v-caption">{}</span>').format(text)


def dump(text: str, n_hidden: int, noun: str) -> Markup:
    """Return the whole of something as text, and how much is still left out."""
    html = Markup('<pre class="v-dump" tabindex="0">{}</pre>').format(visible(text))
    return html + more(n_hidden, noun) if n_hidden > 0 else html


def joined(tag: str, name: str, items: list[Markup]) -> Markup:
    """Return a list, ``ul`` or ``ol``, of a class, with markup as its items."""
    inner = NO_MARKUP.join(Markup("<li>{}</li>").format(item) for item in items)
    return Markup('<{0} class="{1}">{2}</{0}>').format(tag, name, inner)
