r"""Images on the terminal, as the escape sequences that it understands: ``tfrecord head --images``.

::

    kitty    ESC _ G key=value,... ; base64 of a PNG  ESC \      in chunks of 4,096 bytes
    iterm    ESC ] 1337 ; File = key=value;... : base64 of a PNG  BEL
    sixel    ESC P 0;1 q  colours, then bands of 6 rows of pixels  ESC \
    blocks   U+2580, the upper half of a cell: its colour is one pixel, the background's the one below

Which of them it is, the environment tells, or the terminal itself when it is asked for its
attributes (DA1): 4 among them is sixel. tmux and screen answer for themselves, so the variables of
the terminal around them do not count. Images are decoded and made smaller by Pillow, within the
limits of :mod:`tfrecord_lite.markup.pictures`; nothing of their bytes reaches the terminal as it is.

Protocols: https://sw.kovidgoyal.net/kitty/graphics-protocol/, https://iterm2.com/documentation-images.html,
https://vt100.net/docs/vt3xx-gp/chapter14.html
"""

from __future__ import annotations

import base64
import contextlib
import io
import os
import re
import select
import shutil
import sys
import time
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.example.outline import sections
from tfrecord_lite.markup.pictures import shrunk
from tfrecord_lite.media import recognize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.arrays import Uint8Array
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.example.content import Content

ARGUMENT = "--images"
MODES = ("auto", "kitty", "iterm", "sixel", "blocks", "none")

_MAX_IMAGES = 4
"""Per record."""
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "WEBP", "TIFF", "JPEG2000", "AVIF")
"""As Pillow names them."""
_MAX_ENCODED_BYTES = 64 << 20
_PIXELS = (480, 320)
"""The largest image in pixels, which is about 48 columns and 16 lines."""
_MAX_COLUMNS, _MAX_LINES = 64, 20
"""The largest image in half blocks: two pixels in each line."""
_ANSWER_SECONDS = 0.3
_CHUNK = 4096
_ESCAPE = "\x1b"


def drawing(asked: str, console: Console) -> Callable[[Content], None] | None:
    """Return a function that draws the images of a record; None if there is nothing to draw on."""
    mode = detect_mode(os.environ) if asked == "auto" else asked
    if mode == "none":
        return None
    try:
        import PIL  # noqa: F401, PLC0415 - optional
    except ImportError:
        console.complain(f"{ARGUMENT} needs Pillow: pip install 'tfrecord-numpy[image]'")
        return None
    return lambda content: _draw_all(content, mode, console)


def _draw_all(content: Content, mode: str, console: Console) -> None:
    """Write the name and the picture of each image in a record, up to :data:`_MAX_IMAGES`."""
    found = _images_of(content)
    for name, data in islice(found, _MAX_IMAGES):
        console.say(f"  {name}:")
        try:
            picture = draw(data, mode)
        except Exception:  # noqa: BLE001 - decoders raise anything
            picture = None
        if picture is None:
            console.say("  (cannot be decoded, or has too many pixels)")
        else:
            console.draw(picture)
    if next(found, None) is not None:
        console.say("  ... more images")


def _images_of(content: Content) -> Iterator[tuple[str, bytes]]:
    """Yield the encoded images of a record, with the names of their features."""
    if content.message is None:
        if _is_image(content.record):
            yield "record", content.record
        return
    for section in sections(content.message):
        for row in section.rows:
            for step, feature in enumerate(row.steps):
                name = f"{row.name}, step {step}" if row.is_list else row.name
                yield from ((name, data) for data in feature.bytes_list.value if _is_image(data))


def _is_image(data: bytes) -> bool:
    found = recognize(data)
    return found is not None and found.kind == "image"


def draw(data: bytes, mode: str) -> str | None:
    """Return what shows an encoded image on the terminal; None if it has too many pixels.

    Raises anything that Pillow does.
    """
    if len(data) > _MAX_ENCODED_BYTES:
        return None
    image = shrunk(data, _cells() if mode == "blocks" else _PIXELS, _FORMATS)
    if image is None:
        return None
    if mode == "sixel":
        return _sixel(image)
    if mode == "blocks":
        return _blocks(np.asarray(image.convert("RGBA")), is_true_colour=_has_true_colour())
    out = io.BytesIO()
    image.save(out, "PNG")
    png = out.getvalue()
    return _kitty(png) if mode == "kitty" else _iterm(png)


def _cells() -> tuple[int, int]:
    """Return how many half blocks there are room for: columns, and rows of pixels."""
    columns, _ = shutil.get_terminal_size((80, 24))
    return max(min(columns - 3, _MAX_COLUMNS), 1), 2 * _MAX_LINES


# ----------------------------------------------------------------------------- protocols


def _kitty(png: bytes) -> str:
    """Transmit and show a PNG (a=T, f=100) without an answer (q=2); m=1 until the last chunk."""
    encoded = base64.b64encode(png).decode()
    chunks = [encoded[at : at + _CHUNK] for at in range(0, len(encoded), _CHUNK)]
    parts = []
    for number, chunk in enumerate(chunks):
        keys = "a=T,f=100,q=2," if number == 0 else ""
        more = int(number < len(chunks) - 1)
        parts.append(f"{_ESCAPE}_G{keys}m={more};{chunk}{_ESCAPE}\\")
    return "".join(parts)


def _iterm(png: bytes) -> str:
    encoded = base64.b64encode(png).decode()
    return f"{_ESCAPE}]1337;File=inline=1;size={len(png)}:{encoded}\a"


def _sixel(image: Any) -> str:
    """Write an image in 256 colours, band by band; transparent pixels are left as they are."""
    quantized = image.convert("RGB").quantize(256)
    pixels = np.asarray(quantized)
    if image.mode == "RGBA":
        is_seen = np.asarray(image)[:, :, 3] >= 128
    else:
        is_seen = np.ones(pixels.shape, np.bool_)
    palette = np.array(quantized.getpalette()).reshape(-1, 3)
    height, width = pixels.shape
    parts = [f'{_ESCAPE}P0;1q"1;1;{width};{height}']
    for number in np.unique(pixels[is_seen]).tolist():
        red, green, blue = (palette[number] * 100 + 127) // 255  # in percent
        parts.append(f"#{number};2;{red};{green};{blue}")
    for top in range(0, height, 6):
        band, seen = pixels[top : top + 6], is_seen[top : top + 6]
        weights = 1 << np.arange(len(band))[:, None]
        rows = []
        for number in np.unique(band[seen]).tolist():
            sixels = (((band == number) & seen) * weights).sum(axis=0)
            rows.append(f"#{number}{_run_lengths((sixels + 63).astype(np.uint8).tobytes())}")
        parts.append("$".join(rows) + "-")
    return "".join(parts) + f"{_ESCAPE}\\"


def _run_lengths(sixels: bytes) -> str:
    """Write more than three equal characters as ``!count character``."""
    runs = [(chr(code), len(list(run))) for code, run in groupby(sixels)]
    return "".join(f"!{n}{char}" if n > 3 else char * n for char, n in runs)


def _blocks(pixels: Uint8Array, *, is_true_colour: bool) -> str:
    """Write an image of shape (height, width, 4) in half blocks, two rows in each line."""
    if len(pixels) % 2:
        pixels = np.concatenate([pixels, np.zeros_like(pixels[:1])])
    lines = []
    for upper, lower in zip(pixels[::2].tolist(), pixels[1::2].tolist(), strict=True):
        cells = [_cell(top, low, is_true_colour) for top, low in zip(upper, lower, strict=True)]
        # Colours last until others come: write them where they change.
        line = "".join(
            (colours if n == 0 or colours != cells[n - 1][0] else "") + char
            for n, (colours, char) in enumerate(cells)
        )
        lines.append(f"  {line}{_ESCAPE}[0m")
    return "\n".join(lines)


def _cell(top: list[int], low: list[int], is_true_colour: bool) -> tuple[str, str]:  # noqa: FBT001
    """Return the colours and the character of two pixels; a transparent one has no colour."""
    has_top, has_low = top[3] >= 128, low[3] >= 128
    if has_top and has_low:
        codes = [_colour(38, top, is_true_colour), _colour(48, low, is_true_colour)]
        return f"{_ESCAPE}[{';'.join(codes)}m", "\u2580"
    if has_top or has_low:
        code = _colour(38, top if has_top else low, is_true_colour)
        return f"{_ESCAPE}[0;{code}m", "\u2580" if has_top else "\u2584"
    return f"{_ESCAPE}[0m", " "


def _colour(layer: int, pixel: list[int], is_true_colour: bool) -> str:  # noqa: FBT001
    """Return the code of a colour: 24 bits, or the nearest of the cube of 6 x 6 x 6."""
    red, green, blue, _ = pixel
    if is_true_colour:
        return f"{layer};2;{red};{green};{blue}"
    red, green, blue = (0 if x < 48 else 1 if x < 115 else (x - 35) // 40 for x in pixel[:3])
    return f"{layer};5;{16 + 36 * red + 6 * green + blue}"


def _has_true_colour() -> bool:
    told = os.environ.get("COLORTERM", "").lower()
    return told in ("truecolor", "24bit") or "direct" in os.environ.get("TERM", "")


# ----------------------------------------------------------------------------- detection

_KITTY_TERMS = ("xterm-kitty", "xterm-ghostty")
_ITERM_PROGRAMS = ("iTerm.app", "WezTerm", "mintty")


def detect_mode(environment: Any) -> str:
    """Return how the terminal of standard output shows images: one of :data:`MODES` but ``auto``."""
    if sys.stdout is None or not sys.stdout.isatty():
        return "none"
    term = environment.get("TERM", "")
    if term == "dumb":
        return "none"
    is_inner = "TMUX" in environment or "STY" in environment
    program = environment.get("TERM_PROGRAM", "")
    if not is_inner and (
        "KITTY_WINDOW_ID" in environment or term in _KITTY_TERMS or program == "ghostty"
    ):
        return "kitty"
    is_iterm = program in _ITERM_PROGRAMS or environment.get("LC_TERMINAL") == "iTerm2"
    if not is_inner and is_iterm:
        return "iterm"
    if _answers_sixel():
        return "sixel"
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    has_blocks = encoding == "utf8" and not term.startswith("vt")
    return "blocks" if has_blocks and not environment.get("NO_COLOR") else "none"


def _answers_sixel() -> bool:
    r"""Ask the terminal for its attributes; ``ESC [ ? 62 ; 4 c`` has 4, which is sixel."""
    try:
        import termios  # noqa: PLC0415 - not on Windows
        import tty  # noqa: PLC0415

        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except (ImportError, OSError):
        return False
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():  # in the background: it would be stopped
            return False
        before = termios.tcgetattr(terminal)
        try:
            tty.setcbreak(terminal, termios.TCSANOW)
            answer = _ask(terminal)
        finally:
            termios.tcsetattr(terminal, termios.TCSANOW, before)
    except (OSError, termios.error):
        return False
    finally:
        with contextlib.suppress(OSError):
            os.close(terminal)
    found = re.search(rb"\x1b\[\?([\d;]*)c", answer)
    return found is not None and b"4" in found[1].split(b";")[1:]


def _ask(terminal: int) -> bytes:
    """Send the question and return what comes back in :data:`_ANSWER_SECONDS`."""
    sys.stdout.flush()
    os.write(terminal, b"\x1b[c")
    answer, end = b"", time.monotonic() + _ANSWER_SECONDS
    while b"c" not in answer and len(answer) < 1000:
        left = end - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            break
        answer += os.read(terminal, 100)
    return answer
