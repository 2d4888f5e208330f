"""Draw the pictures of these pages, each in a light and a dark form: ``python docs/pictures/draw.py``.

What can be computed is: the bytes come from the package, the layers from pyproject.toml. The tests draw the
pictures again and compare.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite import RaggedTensor, encode_example
from tfrecord_lite.records.framing import frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["PICTURES", "drawn"]

FOLDER = Path(__file__).resolve().parent
WIDTH = 480
"""Of all pictures, in pixels: a phone shows them nearly at full size."""

THEMES = {
    "light": {
        "text": "#1b1f24",
        "quiet": "#57606a",
        "line": "#8c959f",
        "plain": "#f3f4f6",
        "blue": "#d5e6fb",
        "green": "#d3efd9",
        "orange": "#fce3c7",
        "red": "#fbd9d7",
    },
    "dark": {
        "text": "#e6edf3",
        "quiet": "#9da7b3",
        "line": "#6e7681",
        "plain": "#23282f",
        "blue": "#17395f",
        "green": "#1b4427",
        "orange": "#5a3a12",
        "red": "#5c2422",
    },
}
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


class Picture:
    """Shapes of one picture, in the colours of one theme; coordinates are pixels from the upper left."""

    def __init__(self, theme: str) -> None:
        self._colours = THEMES[theme]
        self._parts: list[str] = []
        self._bottom = 0.0

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "plain",
        label: str = "",
        *,
        mono: bool = False,
        size: int = 13,
    ) -> None:
        """Draw a rectangle with a label in its middle."""
        colours = f'fill="{self._colours[fill]}" stroke="{self._colours["line"]}"'
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        self._parts.append(f'<rect {place} rx="3" {colours}/>')
        self._bottom = max(self._bottom, y + height)
        if label:
            middle = y + height / 2 + size * 0.35
            self.text(x + width / 2, middle, label, anchor="middle", mono=mono, size=size)

    def text(
        self,
        x: float,
        y: float,
        label: str,
        *,
        anchor: str = "start",
        colour: str = "text",
        mono: bool = False,
        bold: bool = False,
        size: int = 13,
    ) -> None:
        """Write one line; y is where its letters stand."""
        style = f'font-size="{size}" text-anchor="{anchor}" fill="{self._colours[colour]}"'
        style += f' font-family="{MONO if mono else SANS}"' + (' font-weight="600"' if bold else "")
        self._parts.append(f'<text x="{x:g}" y="{y:g}" {style}>{escape(label)}</text>')
        self._bottom = max(self._bottom, y + 5)

    def cells(
        self, x: float, y: float, values: Sequence[object], fill: str, width: float = 26
    ) -> None:
        """Draw a row of small boxes, each with a value."""
        for i, value in enumerate(values):
            self.box(x + i * width, y, width, 24, fill, str(value), mono=True, size=12)

    def line(self, x: float, y: float, x2: float, y2: float, *, arrow: bool = False) -> None:
        """Draw a line, or an arrow."""
        end = ' marker-end="url(#tip)"' if arrow else ""
        colour = self._colours["line"]
        place = f'x1="{x:g}" y1="{y:g}" x2="{x2:g}" y2="{y2:g}"'
        self._parts.append(f'<line {place} stroke="{colour}" stroke-width="1.5"{end}/>')
        self._bottom = max(self._bottom, y, y2)

    def svg(self) -> str:
        """Return the picture, as high as what is in it."""
        height = int(self._bottom) + 8
        size = f'width="{WIDTH}" height="{height}" viewBox="-1 0 {WIDTH + 2} {height}"'
        tip = f'<path d="M0 0 L8 4 L0 8 z" fill="{self._colours["line"]}"/>'
        marker = f'<marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">{tip}</marker>'
        body = "\n".join(self._parts)
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<defs>{marker}</defs>\n{body}\n</svg>\n'


def _hex(data: bytes) -> list[str]:
    return [f"{byte:02x}" for byte in data]


def draw_frame(p: Picture) -> None:
    """Draw a file of two records, and the bytes of the first."""
    p.text(0, 14, "a file", bold=True)
    x = 0.0
    for name, width in ("record 0", 170), ("record 1", 120), ("record 2", 190):
        p.box(x, 24, width - 4, 28, "blue" if not x else "plain", name)
        x += width
    p.line(0, 54, 0, 92)
    p.line(166, 54, 476, 92)
    parts = (
        ("length", "8", 110, "green"),
        ("CRC", "4", 60, "orange"),
        ("data", "length", 226, "blue"),
        ("CRC", "4", 60, "orange"),
    )
    x = 0.0
    for name, size, width, fill in parts:
        p.box(x, 94, width, 30, fill, name)
        p.text(
            x + width / 2,
            140,
            f"{size} bytes" if size != "length" else "as many bytes as length says",
            anchor="middle",
            colour="quiet",
            size=12,
        )
        x += width + 8
    p.text(0, 172, "header: 12 bytes", colour="quiet", size=12)
    p.text(476, 172, "footer: 4 bytes", colour="quiet", size=12, anchor="end")
    p.text(0, 206, 'the record b"hello", byte by byte', bold=True)
    data = frame([b"hello"])
    rows = (
        (data[:8], "green", "length 5, little-endian"),
        (data[8:12], "orange", "CRC of the 8 bytes before"),
        (data[12:-4], "blue", "data"),
        (data[-4:], "orange", "CRC of the data"),
    )
    y = 218
    for part, fill, meaning in rows:
        p.cells(0, y, _hex(bytes(part)), fill, 28)
        p.text(240, y + 17, meaning)
        y += 32


def draw_example(p: Picture) -> None:
    """Draw the bytes of an Example, a line per level."""
    data = encode_example({"age": 36})
    p.text(0, 14, 'Example {"age": [36]}', bold=True)
    p.text(0, 32, "each tag and length wrap what is indented below them", colour="quiet", size=12)
    rows = [
        (0, data[0:2], "orange", "field 1: Example.features"),
        (1, data[2:4], "orange", "field 1: an entry of the map"),
        (2, data[4:6], "orange", "field 1: the key"),
        (3, data[6:9], "green", "'age'"),
        (2, data[9:11], "orange", "field 2: the Feature"),
        (3, data[11:13], "orange", "field 3: int64_list"),
        (4, data[13:15], "orange", "field 1: packed values"),
        (5, data[15:], "blue", "36"),
    ]
    stops: dict[int, int] = {}  # of the last box of each depth
    for i, (depth, part, fill, meaning) in enumerate(rows):
        x, y = depth * 22, 44 + i * 32
        if depth:
            p.line(x - 11, stops[depth - 1], x - 11, y + 12)
            p.line(x - 11, y + 12, x, y + 12)
        stops[depth] = y + 24
        p.cells(x, y, _hex(part), fill, 30)
        plural = "" if part[-1] == 1 else "s"
        p.text(212, y + 17, meaning + (f", {part[1]} byte{plural}" if fill == "orange" else ""))


def draw_results(p: Picture) -> None:
    """Draw one feature of three records as four results."""
    rows = [[7], [4, 2], []]
    values = np.array([value for row in rows for value in row], np.int64)
    ragged = RaggedTensor.from_row_lengths(values, np.array([len(row) for row in rows]))
    p.text(0, 14, "three records", bold=True)
    for i, row in enumerate(rows):
        p.text(0, 42 + i * 30, f"{i}", mono=True, colour="quiet")
        p.cells(22, 25 + i * 30, row, "blue")
        if not row:
            p.text(22, 42 + i * 30, "no value", colour="quiet", size=12)
    left, right = 0, 250
    p.text(left, 142, "dense", bold=True)
    p.text(left, 159, "FixedLenFeature([1], int)", mono=True, size=12)
    p.cells(left, 168, [7], "blue")
    p.cells(left, 196, ["4", "2"], "red")
    p.text(left, 240, "error: record 1 has 2 values,", size=12)
    p.text(left, 256, "1 expected", size=12)
    p.text(right, 142, "padded", bold=True)
    p.text(right, 159, "FixedLenSequenceFeature", mono=True, size=12)
    for i, row in enumerate(rows):
        p.cells(right, 168 + i * 24, row, "blue")
        p.cells(right + 26 * len(row), 168 + i * 24, [0] * (2 - len(row)), "plain")
    p.text(right + 66, 206, "shape (3, 2)", colour="quiet", size=12)
    p.text(left, 284, "ragged", bold=True)
    p.text(left, 301, "RaggedFeature(int)", mono=True, size=12)
    p.cells(left, 310, values.tolist(), "blue")
    p.text(left + 112, 327, "values", colour="quiet", size=12)
    p.cells(left, 342, ragged.row_splits.tolist(), "green")
    p.text(left + 112, 359, "row_splits", colour="quiet", size=12)
    p.text(left, 386, "row i: values[splits[i]:splits[i+1]]", colour="quiet", size=12)
    p.text(right, 284, "sparse", bold=True)
    p.text(right, 301, "VarLenFeature(int)", mono=True, size=12)
    p.cells(right, 310, values.tolist(), "blue", 34)
    p.text(right + 112, 327, "values", colour="quiet", size=12)
    p.cells(
        right, 342, [f"{r},{c}" for r, row in enumerate(rows) for c in range(len(row))], "green", 34
    )
    p.text(right + 112, 359, "indices", colour="quiet", size=12)
    p.text(right, 386, "dense_shape (3, 2)", colour="quiet", size=12)


def draw_pipeline(p: Picture) -> None:
    """Draw what a batch passes from the files to the training step."""
    stages = [
        ("files", "plain", "train-*.tfrecord.gz, any number"),
        ("blocks", "blue", "a megabyte of records, every CRC checked"),
        ("shuffle", "green", "records in random order, no copies of Python objects"),
        ("batch", "green", "records 0 to 255, 256 to 511, ..."),
        ("parse", "orange", "all records of a batch at once"),
        ("columns", "blue", "{'x': float32 (256, 8), 'y': int64 (256,)}"),
    ]
    for i, (name, fill, meaning) in enumerate(stages):
        y = 4 + i * 52
        p.box(0, y, 110, 32, fill, name)
        p.text(126, y + 21, meaning, size=12, mono=name == "columns")
        if i:
            p.line(55, y - 19, 55, y - 2, arrow=True)


def draw_layers(p: Picture) -> None:
    """Draw the layers that import-linter holds, the highest first."""
    settings = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if "layers" in each)
    for i, line in enumerate(layers):
        rooms = [room.strip() for room in line.split("|")]
        width = (WIDTH - 4 * (len(rooms) - 1)) / len(rooms)
        for j, room in enumerate(rooms):
            p.box(j * (width + 4), i * 34 + 1, width - 1, 30, "blue", room, mono=True, size=12)
    p.text(0, len(layers) * 34 + 16, "Each imports only what is below it.", colour="quiet", size=12)


def draw_lockstep(p: Picture) -> None:
    """Draw how a loop over messages and lockstep go through the same fields."""
    p.text(0, 14, "one message after another", bold=True)
    p.text(250, 14, "in lockstep", bold=True)
    names, fills = ["tag", "len", "key", "value"], ["orange", "orange", "green", "blue"]
    for row in range(4):
        y = 28 + row * 34
        for column, (name, fill) in enumerate(zip(names, fills, strict=True)):
            p.box(column * 50, y, 48, 22, "plain", name, mono=True, size=12)
            p.box(250 + column * 58, y, 46, 22, fill, name, mono=True, size=12)
        p.line(0, y + 28, 198, y + 28, arrow=True)
    for column in range(4):
        p.line(301 + column * 58, 26, 301 + column * 58, 160, arrow=True)
    p.text(0, 184, "16 steps of Python", colour="quiet", size=12)
    p.text(250, 184, "4 operations of NumPy,", colour="quiet", size=12)
    p.text(250, 200, "for any number of messages", colour="quiet", size=12)


def draw_layout(p: Picture) -> None:
    """Draw two messages of one writer, and what their layout knows."""
    p.text(0, 14, "two messages of one writer", bold=True)
    messages = [
        encode_example({"age": age, "name": name}) for age, name in ((36, "Ada"), (41, "Alan"))
    ]
    for row, message in enumerate(messages):
        shown = [*_hex(message[:2]), "...", *_hex(message[4:9]), "...", *_hex(message[15:16])]
        fills = ["green", "orange", "plain"] + ["green"] * 5 + ["plain", "blue"]
        for i, (value, fill) in enumerate(zip(shown, fills, strict=True)):
            p.box(i * 34, 26 + row * 32, 34, 24, fill, value, mono=True, size=12)
    p.text(0, 112, "their layout", bold=True)
    for i, (value, fill) in enumerate(
        zip(["0a", "hole", "...", "0a", "03", "61", "67", "65", "...", "value"], fills, strict=True)
    ):
        p.box(
            i * 34 if i < 9 else 306, 124, 34 if i < 9 else 44, 24, fill, value, mono=True, size=11
        )
    legend = (
        ("green", "known: the same in every message"),
        ("orange", "a hole: follows from the lengths of values"),
        ("blue", "a value: any bytes"),
    )
    for i, (fill, meaning) in enumerate(legend):
        p.box(0, 164 + i * 24, 18, 16, fill)
        p.text(28, 177 + i * 24, meaning, size=12)


def draw_steps(p: Picture) -> None:
    """Draw how the places of a list's steps are guessed and checked."""
    p.text(0, 14, "a feature list: each step's length says where the next begins", bold=True)
    for i in range(4):
        x = i * 112
        p.box(x, 40, 34, 26, "orange", "len", mono=True, size=12)
        p.box(x + 34, 40, 70, 26, "blue", f"step {i}", size=12)
        p.line(x + 17, 84, x + 17, 68, arrow=True)
        p.text(
            x + 17,
            98,
            "start" if not i else f"+ {i} x size",
            anchor="middle",
            colour="quiet",
            size=12,
        )
    p.text(0, 128, "guess: all steps are as long as the first", size=13)
    p.text(0, 148, "check: every len leads to the next start, and the last to the end", size=13)
    p.text(0, 168, "lists that fail the check are walked step by step", size=13)


def draw_parts(p: Picture) -> None:
    """Draw how a batch is written column by column."""
    p.text(0, 14, "three messages, written part by part, from left to right", bold=True)
    widths = [(60, 40, 50, 90), (60, 40, 50, 60), (60, 40, 50, 110)]
    for row, sizes in enumerate(widths):
        x = 0
        for i, width in enumerate(sizes):
            p.box(
                x,
                28 + row * 32,
                width,
                24,
                ["green", "blue", "green", "blue"][i],
                ["head", "36", "head", "name"][i],
                mono=True,
                size=12,
            )
            x += width
        p.box(x, 28 + row * 32, 64, 24, "plain", "16 bytes", size=11)
    p.text(0, 144, "part 1", colour="quiet", size=12)
    p.text(62, 144, "part 2", colour="quiet", size=12)
    p.text(104, 144, "part 3", colour="quiet", size=12)
    p.text(156, 144, "part 4, then room for a footer and the next header", colour="quiet", size=12)


def draw_saved(p: Picture) -> None:
    """Draw the folder of a saved data set, and what one of its files holds."""
    p.text(0, 14, "a data set that tf.data saved", bold=True)
    names = {
        "dataset_spec.pb": "the nested spec; a snapshot has none",
        "snapshot.metadata": "names RUN, dtypes, number of elements",
        "RUN/": "other runs are left over",
        "  00000000.shard/00000000.snapshot": "TFRecord file",
        "  00000001.shard/00000000.snapshot": "",
    }
    for row, (name, what) in enumerate(names.items()):
        p.text(14 if name[0] == " " else 0, 38 + row * 20, name.strip(), mono=True, size=12)
        p.text(476, 38 + row * 20, what, anchor="end", colour="quiet", size=12)
    p.text(0, 154, "one file: a record per component, a and b, of each element", bold=True)
    for i in range(3):
        p.box(i * 150, 166, 72, 26, "blue", f"a of {i}", mono=True, size=12)
        p.box(i * 150 + 72, 166, 72, 26, "green", f"b of {i}", mono=True, size=12)
    p.text(0, 222, "one record: a TensorProto", bold=True)
    for x, width, fill, label in (
        (0, 30, "orange", "08"),
        (30, 70, "plain", "dtype"),
        (100, 30, "orange", "12"),
        (130, 110, "plain", "length, shape"),
        (240, 30, "orange", "22"),
        (270, 206, "plain", "length, content"),
    ):
        p.box(x, 234, width, 26, fill, label, mono=True, size=12)
    p.text(0, 282, "numbers: little-endian; strings: all lengths, then all bytes", size=12)


PICTURES: dict[str, Callable[[Picture], None]] = {
    "frame": draw_frame,
    "example": draw_example,
    "results": draw_results,
    "pipeline": draw_pipeline,
    "layers": draw_layers,
    "lockstep": draw_lockstep,
    "layout": draw_layout,
    "steps": draw_steps,
    "parts": draw_parts,
    "saved": draw_saved,
}


def drawn() -> dict[str, str]:
    """Return each picture by the name of its file."""
    found = {}
    for name, draw in PICTURES.items():
        for theme in THEMES:
            picture = Picture(theme)
            draw(picture)
            found[f"{name}-{theme}.svg"] = picture.svg()
    return found


if __name__ == "__main__":
    for file_name, content in drawn().items():
        (FOLDER / file_name).write_text(content, encoding="utf-8")
