"""Texts for people: counts, sizes, names and tables; values at prompts and in notebooks.

A class that notebooks show as a table has the line ``_repr_html_ = repr_html``. The codec knows neither HTML nor
images: the package's root fills the hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

html_of: Callable[[object], str] = repr
"""Returns an object as a small table in HTML, as soon as the root has set it."""

content_of: Callable[[bytes], str | None] | None = None
"""Returns what an image, a sound or an array is, such as "PNG 8 x 8, 90 bytes", as soon as the root has set it."""

_SHOWN_BYTES, _SHOWN_NAME, _MOST_LISTED = 32, 60, 3
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def value_text(value: object) -> str:
    """Return a value as Python writes it, or how it begins."""
    if not isinstance(value, bytes | str):
        text = str(value)
        return text if len(text) <= 2 * _SHOWN_BYTES else f"{text[: 2 * _SHOWN_BYTES]}..."
    if len(value) <= _SHOWN_BYTES:
        return repr(value)
    content = content_of(value) if content_of and isinstance(value, bytes) else None
    unit = "bytes" if isinstance(value, bytes) else "characters"
    return f"<{content}>" if content else f"{value[:_SHOWN_BYTES]!r}... ({len(value):,} {unit})"


def repr_html(thing: object) -> str:
    """Return an object as a small table in HTML."""
    return html_of(thing)


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Return a count with its noun: 1 record, 1,200 records; `nouns` if it takes more than an s."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def short_name(name: str) -> str:
    """Return a name as a ``repr`` shows it: of a long one the end."""
    return name if len(name) <= _SHOWN_NAME else f"...{name[3 - _SHOWN_NAME :]}"


def human_bytes(n_bytes: int) -> str:
    """Return a size in the unit that suits it.

    >>> human_bytes(523), human_bytes(53_869), human_bytes(1024**3 - 1)
    ('523 B', '52.6 KiB', '1.0 GiB')
    """
    if n_bytes < 1024:
        return f"{n_bytes} B"
    size, units = n_bytes / 1024, iter(_UNITS)
    while round(size, 1) >= 1024:
        size, _ = size / 1024, next(units)
    return f"{size:.1f} {next(units)}"


def printable(text: str) -> str:
    r"""Return a text on one line, with escapes for characters that cannot be printed.

    Those are control characters, of terminals and of writing direction, and odd spaces.

    >>> printable("a\tb")
    'a\\tb'
    """
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def abridged(text: str, most: int = 4000) -> str:
    """Return the text of a table as a repr shows it: without the middle."""
    if len(text) <= most:
        return text
    lines = [
        line if len(line) <= 400 else f"{line[:300]} ... {line[-90:]}" for line in text.split("\n")
    ]
    count = most // (max(map(len, lines)) + 1)
    if len(lines) > count:
        lines[count * 3 // 4 : -(count // 4)] = ["..."]
    return "\n".join(lines)


def aligned(rows: Sequence[Sequence[str]], alignment: str = "") -> list[str]:
    """Return the lines of a table; ``>`` aligns a column to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    ruled = [rows[0], ["-" * width for width in widths], *rows[1:]]
    sides = alignment or "<" * len(widths)

    def cell_of(cell: str, width: int, side: str) -> str:
        return cell.rjust(width) if side == ">" else cell.ljust(width)

    return ["  ".join(map(cell_of, row, widths, sides)).rstrip() for row in ruled]


def shown_name(name: str) -> str:
    """Return a feature's name as a table shows it, in quotes if necessary."""
    return name if name.isprintable() and name == name.strip() != "" else repr(name)


def nearest(name: object, names: Iterable[str]) -> str:
    """Return the end of an error text: the names most like an unknown one."""
    from difflib import get_close_matches  # noqa: PLC0415 - for errors

    names = list(names)
    below = [path for path in names if path.endswith(f"/{name}")]
    words = {path.rpartition("/")[2].lower(): path for path in names}
    words |= {path.lower(): path for path in names}
    close = below[:3] or dict.fromkeys(map(words.get, get_close_matches(str(name).lower(), words)))
    return f"; the nearest: {', '.join(map(repr, close))}" if close else ""


def choices(name: object, names: Iterable[str]) -> str:
    """Return the end of an error text: the names most like an unknown one, or the first ones."""
    names = list(names)
    shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    return nearest(name, names) or (f"; there are {shown}" if names else "")


def listed(names: Iterable[str], noun: str) -> str:
    """Return how many names there are, and the first ones, for a short repr.

    >>> listed(["a", "b", "c", "d"], "feature")
    "4 features: 'a', 'b', 'c', ..."
    """
    known = list(names)
    shown = [name if len(name) <= 24 else f"{name[:20]}..." for name in known[:_MOST_LISTED]]
    first_names = list(map(repr, shown))
    first_names += ["..."] if len(known) > len(first_names) else []
    return plural(len(known), noun) + (f": {', '.join(first_names)}" if first_names else "")
