"""Images on the terminal: what is written is parsed back to pixels; a pseudo-terminal is asked what it can."""

from __future__ import annotations

import base64
import io
import os
import re
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.samples import feature, features, write
from tfrecord_lite.cli import terminal_images
from tfrecord_lite.cli.terminal_images import draw
from tfrecord_lite.messages import Example

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

pytestmark = pytest.mark.needs("image")

SIDES = st.integers(1, 40)


def png(pixels: Any) -> bytes:
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.fromarray(np.asarray(pixels, np.uint8)).save(out, "PNG")
    return out.getvalue()


def pixels_of(data: bytes) -> Any:
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(io.BytesIO(data)))


def drawn(width: int, height: int, channels: int = 3, colours: int = 256) -> Any:
    """Return random pixels, of at most so many different levels."""
    levels = np.random.default_rng(width * 41 + height).integers(
        0, colours, (height, width, channels)
    )
    return (levels * (255 // (colours - 1))).astype(np.uint8)


# ------------------------------------------------------------------------------ decoders


def from_kitty(text: str) -> bytes:
    parts = re.findall(r"\x1b_G([^;]*);([A-Za-z0-9+/=]*)\x1b\\", text)
    assert "".join(f"\x1b_G{keys};{data}\x1b\\" for keys, data in parts) == text
    assert all(len(data) <= 4096 for _, data in parts)
    keys = [dict(pair.split("=") for pair in keys.split(",")) for keys, _ in parts]
    assert (keys[0]["a"], keys[0]["f"], keys[0]["q"]) == ("T", "100", "2")
    assert [key["m"] for key in keys] == ["1"] * (len(keys) - 1) + ["0"]
    return base64.b64decode("".join(data for _, data in parts))


def from_iterm(text: str) -> bytes:
    found = re.fullmatch(r"\x1b\]1337;File=inline=1;size=(\d+):([A-Za-z0-9+/=]*)\a", text)
    assert found is not None
    data = base64.b64decode(found[2])
    assert len(data) == int(found[1])
    return data


def from_sixel(text: str) -> Any:
    """Return pixels of shape (height, width, 4), 0 where nothing was drawn."""
    found = re.fullmatch(r'\x1bP0;1q"1;1;(\d+);(\d+)(.*)\x1b\\', text, re.DOTALL)
    assert found is not None
    out = np.zeros((int(found[2]) + 6, int(found[1]), 4))
    palette: dict[int, list[float]] = {}
    colour, top, x = -1, 0, 0
    for part in re.findall(r"#\d+(?:;\d+)*|!\d+[?-~]|[?-~]|[$-]", found[3]):
        if part[0] == "#":
            number, *numbers = map(int, part[1:].split(";"))
            if numbers:
                assert numbers[0] == 2
                palette[number] = [*(percent * 2.55 for percent in numbers[1:]), 255]
            colour = number
        elif part == "$":
            x = 0
        elif part == "-":
            top, x = top + 6, 0
        else:
            n = int(part[1:-1]) if part[0] == "!" else 1
            for bit in range(6):
                if (ord(part[-1]) - 63) >> bit & 1:
                    out[top + bit, x : x + n] = palette[colour]
            x += n
    assert not out[int(found[2]) :].any()
    return out[: int(found[2])]


def from_blocks(text: str) -> Any:
    """Return pixels of shape (rows, columns, 4) as a terminal would show them; 0 without a colour."""
    rows = []
    for line in text.split("\n"):
        assert line.endswith("\x1b[0m")
        assert "\x1b" not in re.sub(r"\x1b\[[\d;]*m", "", line)
        upper, lower, front, back = [], [], [0] * 4, [0] * 4
        for codes, char in re.findall(r"\x1b\[([\d;]*)m|([^\x1b])", line.removeprefix("  ")):
            numbers = list(map(int, filter(None, codes.split(";"))))
            while numbers:
                layer = numbers.pop(0)
                if layer == 0:
                    front, back = [0] * 4, [0] * 4
                    continue
                if numbers.pop(0) == 2:
                    colour, numbers = [*numbers[:3], 255], numbers[3:]
                else:
                    n = numbers.pop(0) - 16
                    parts = (n // 36, n // 6 % 6, n % 6)
                    colour = [*(0 if k == 0 else 55 + 40 * k for k in parts), 255]
                front, back = (colour, back) if layer == 38 else (front, colour)
            if char:
                upper.append({"\u2580": front, "\u2584": back, " ": [0] * 4}[char])
                lower.append({"\u2580": back, "\u2584": front, " ": [0] * 4}[char])
        rows += [upper, lower]
    return np.array(rows)


# --------------------------------------------------------------------------------- tests


@given(SIDES, SIDES)
def test_kitty_and_iterm_get_the_pixels(width: int, height: int) -> None:
    pixels = drawn(width, height)

    for mode, decode in (("kitty", from_kitty), ("iterm", from_iterm)):
        text = draw(png(pixels), mode)

        assert text is not None
        assert np.array_equal(pixels_of(decode(text)), pixels)


def test_formats_that_browsers_do_not_show() -> None:
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.fromarray(drawn(3, 2)).save(out, "TIFF")

    text = draw(out.getvalue(), "iterm")

    assert text is not None
    assert np.array_equal(pixels_of(from_iterm(text)), drawn(3, 2))


def test_large_images_are_sent_in_chunks_and_made_smaller() -> None:
    pixels = drawn(2000, 1000)

    text = draw(png(pixels), "kitty")

    assert text is not None
    assert text.count("\x1b_G") > 10
    assert pixels_of(from_kitty(text)).shape == (240, 480, 3)


@given(SIDES, SIDES)
def test_sixels_are_the_pixels(width: int, height: int) -> None:
    pixels = drawn(width, height, colours=6)  # at most 216 colours

    text = draw(png(pixels), "sixel")

    assert text is not None
    assert np.abs(from_sixel(text)[:, :, :3] - pixels).max() <= 1.5


@given(SIDES, SIDES)
def test_transparent_pixels_are_not_drawn(width: int, height: int) -> None:
    pixels = drawn(width, height, 4, 2)

    text = draw(png(pixels), "sixel")

    assert text is not None
    assert np.array_equal(from_sixel(text)[:, :, 3], pixels[:, :, 3])


def test_many_colours_become_256() -> None:
    pixels = drawn(200, 100)

    text = draw(png(pixels), "sixel")

    assert text is not None
    assert len(set(re.findall(r"#(\d+);2", text))) <= 256
    assert np.abs(from_sixel(text)[:, :, :3] - pixels).mean() < 40


@pytest.mark.parametrize("is_true_colour", [True, False])
@given(width=SIDES, height=SIDES, channels=st.sampled_from([3, 4]))
def test_half_blocks_are_the_pixels(
    is_true_colour: bool, width: int, height: int, channels: int
) -> None:
    pixels = drawn(width, height, channels, 256 if is_true_colour else 2)
    if channels == 4:
        pixels[:, :, 3] = np.where(pixels[:, :, 3] < 128, 0, 255)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLORTERM", "truecolor" if is_true_colour else "")
        patch.setenv("COLUMNS", "80")
        patch.setenv("TERM", "xterm-256color")

        text = draw(png(pixels), "blocks")

    assert text is not None
    shown = from_blocks(text)[:height]
    is_seen = np.ones(pixels.shape[:2], bool) if channels == 3 else pixels[:, :, 3] == 255
    assert np.array_equal(shown[:, :, 3] == 255, is_seen)
    assert np.array_equal(shown[is_seen][:, :3], pixels[is_seen][:, :3])


@pytest.mark.parametrize("columns", [5, 20, 200])
def test_half_blocks_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    text = draw(png(drawn(500, 300)), "blocks")

    assert text is not None
    lines = re.sub(r"\x1b\[[\d;]*m", "", text).split("\n")
    assert max(map(len, lines)) < columns
    assert len(lines) <= 20


class TestHead:
    def image_file(self, folder: Path, *images: bytes) -> Path:
        record = Example(
            features=features(**{f"image{i}": feature(x) for i, x in enumerate(images)})
        )
        return write(folder / "a", [record.SerializeToString()])

    def test_images_follow_their_record(self, run: Run, tmp_path: Path) -> None:
        path = self.image_file(tmp_path, png(drawn(3, 2)), png(drawn(2, 2)))

        lines = run("head", "--images=kitty", path).out

        assert lines[3] == "  image0:"
        assert np.array_equal(pixels_of(from_kitty(lines[4])), drawn(3, 2))
        assert lines[5] == "  image1:"

    def test_a_file_may_follow_the_argument(self, run: Run, tmp_path: Path) -> None:
        path = self.image_file(tmp_path, png(drawn(3, 2)))

        done = run("head", "--images", path)

        assert done.status == 0
        assert "\x1b" not in "".join(done.out)

    def test_so_may_a_mode(self, run: Run, tmp_path: Path) -> None:
        path = self.image_file(tmp_path, png(drawn(3, 2)))

        assert run("head", "--images", "kitty", path).out == run("head", "--images=kitty", path).out
        assert run("head", path, "--images").status == 0

    def test_images_that_cannot_be_decoded_and_too_many(self, run: Run, tmp_path: Path) -> None:
        path = self.image_file(tmp_path, *([png(drawn(3, 2))[:40]] * 5))

        lines = run("head", "--images=sixel", path).out

        assert lines.count("  (cannot be decoded, or has too many pixels)") == 4
        assert lines[-1] == "  ... more images"

    def test_json_has_no_pictures(self, run: Run, tmp_path: Path) -> None:
        path = self.image_file(tmp_path, png(drawn(3, 2)))

        assert len(run("head", "--json", "--images=sixel", path).out) == 1

    def test_without_pillow_it_says_what_to_install(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = self.image_file(tmp_path, png(drawn(3, 2)))
        monkeypatch.setitem(sys.modules, "PIL", None)

        done = run("head", "--images=blocks", path)

        assert done.status == 2
        assert "pip install 'tfrecord-numpy[image]'" in done.err[0]
        assert done.out[0].startswith("record 0")


# --------------------------------------------------------------------- a pseudo-terminal

ENVIRONMENT = {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}


def on_terminal(path: Path, answer: bytes | None, **environment: str) -> tuple[str, bool]:
    """Run head on a new terminal, which answers a question; return output, and whether it was asked."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    # A process of a new session gets the terminal that it opens first.
    start = "import os, sys; os.close(os.open(os.ttyname(1), os.O_RDWR)); "
    start += "from tfrecord_lite.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", start, "head", "--images", str(path)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**ENVIRONMENT, **kept, **environment},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        written, is_asked, end = b"", False, time.monotonic() + 60
        while time.monotonic() < end and select.select([ours], [], [], 60)[0]:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the end, on Linux
                break
            if not part:
                break
            written += part
            if b"\x1b[c" in written and not is_asked:
                is_asked = True
                if answer is not None:
                    os.write(ours, answer)
        os.close(ours)
        assert process.wait(60) == 0, written
    return written.decode().replace("\r\n", "\n"), is_asked


def mode_of(text: str) -> str:
    marks = {"kitty": "\x1b_G", "iterm": "\x1b]1337", "sixel": "\x1bP", "blocks": "\u2580"}
    return next((mode for mode, mark in marks.items() if mark in text), "none")


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(
    ("environment", "answer", "mode", "is_asked"),
    [
        ({"KITTY_WINDOW_ID": "1"}, None, "kitty", False),
        ({"TERM": "xterm-kitty"}, None, "kitty", False),
        ({"TERM_PROGRAM": "WezTerm"}, None, "iterm", False),
        ({"LC_TERMINAL": "iTerm2"}, None, "iterm", False),
        ({}, b"\x1b[?62;4;6c", "sixel", True),
        ({"TMUX": "x", "KITTY_WINDOW_ID": "1"}, b"\x1b[?1;2;4c", "sixel", True),
        ({"TMUX": "x", "KITTY_WINDOW_ID": "1"}, b"\x1b[?1;2c", "blocks", True),
        ({}, b"\x1b[?4c", "blocks", True),  # the first number is the class of the terminal
        ({}, None, "blocks", True),
        ({"NO_COLOR": "1"}, None, "none", True),
        ({"TERM": "dumb"}, None, "none", False),
        ({"PYTHONIOENCODING": "latin-1"}, None, "none", True),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_terminal_tells_what_it_can(
    tmp_path: Path, environment: dict[str, str], answer: bytes | None, mode: str, is_asked: bool
) -> None:
    record = Example(features=features(image=feature(png(drawn(3, 2)))))
    path = write(tmp_path / "a", [record.SerializeToString()])

    text, was_asked = on_terminal(path, answer, **environment)

    assert (mode_of(text), was_asked) == (mode, is_asked)
    assert "tf.train.Example, 1" in text


def test_modes_are_those_of_the_help(run: Run) -> None:
    assert set(terminal_images.MODES) <= set(
        re.findall(r"\w+", " ".join(run("head", "--help").out))
    )
