"""Images on the terminal: what is written is parsed back to pixels."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Run
from tests.cli.samples import write
from tfrecord_lite import encode_example
from tfrecord_lite.cli.pictures import drawn

pytestmark = pytest.mark.needs("image")

SIDES = st.integers(1, 40)


def png(pixels: Any) -> bytes:
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.fromarray(np.asarray(pixels, np.uint8)).save(out, "PNG")
    return out.getvalue()


def random(width: int, height: int, channels: int = 3, colours: int = 256) -> Any:
    """Return random pixels, of at most so many different levels."""
    levels = np.random.default_rng(width * 41 + height).integers(
        0, colours, (height, width, channels)
    )
    return (levels * (255 // (colours - 1))).astype(np.uint8)


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


@pytest.mark.parametrize("is_true_colour", [True, False])
@given(width=SIDES, height=SIDES, channels=st.sampled_from([3, 4]))
def test_half_blocks_are_the_pixels(
    is_true_colour: bool, width: int, height: int, channels: int
) -> None:
    pixels = random(width, height, channels, 256 if is_true_colour else 2)
    if channels == 4:
        pixels[:, :, 3] = np.where(pixels[:, :, 3] < 128, 0, 255)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLORTERM", "truecolor" if is_true_colour else "")
        patch.setenv("COLUMNS", "80")
        patch.setenv("TERM", "xterm-256color")

        text = drawn(png(pixels))

    assert text is not None
    shown = from_blocks(text)[:height]
    is_seen = np.ones(pixels.shape[:2], bool) if channels == 3 else pixels[:, :, 3] == 255
    assert np.array_equal(shown[:, :, 3] == 255, is_seen)
    assert np.array_equal(shown[is_seen][:, :3], pixels[is_seen][:, :3])


@pytest.mark.parametrize("columns", [5, 20, 200])
def test_half_blocks_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    text = drawn(png(random(500, 300)))

    assert text is not None
    lines = re.sub(r"\x1b\[[\d;]*m", "", text).split("\n")
    assert max(map(len, lines)) < columns
    assert len(lines) <= 20


class TestHead:
    def image_file(self, folder: Path, *images: bytes) -> Path:
        return write(folder / "a", [encode_example({f"image{i}": x for i, x in enumerate(images)})])

    @pytest.fixture(autouse=True)
    def _colours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLORTERM", "truecolor")

    def test_images_follow_their_record(self, run: Run, tmp_path: Path) -> None:
        path = self.image_file(tmp_path, png(random(3, 2)), png(random(2, 2)))

        lines = run("head", "--images", path).out

        assert lines[3] == "  image0:"
        assert np.array_equal(from_blocks(lines[4])[:, :, :3], random(3, 2))
        assert lines[5] == "  image1:"

    def test_images_that_cannot_be_decoded_and_too_many(self, run: Run, tmp_path: Path) -> None:
        path = self.image_file(tmp_path, *([png(random(3, 2))[:40]] * 5))

        lines = run("head", "--images", path).out

        assert lines.count("  (cannot be decoded, or has too many pixels)") == 4
        assert lines[-1] == "  ... more images"

    def test_json_and_pipes_have_no_pictures(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = self.image_file(tmp_path, png(random(3, 2)))

        assert len(run("head", "--json", "--images", path).out) == 1
        monkeypatch.delenv("FORCE_COLOR")
        assert "\x1b" not in "".join(run("head", "--images", path).out)
