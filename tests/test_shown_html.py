"""What notebooks show: bounded, read from no file, and without markup from the data."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.markup.test_tables import HOSTILE
from tests.support.event_messages import event
from tests.support.shown_html import parsed
from tfrecord_lite import (
    BytesColumn,
    FixedLenFeature,
    RaggedFeature,
    RaggedTensor,
    Schema,
    SequenceSchema,
    SparseTensor,
    encode_example,
)
from tfrecord_lite.apps.events import read_events
from tfrecord_lite.apps.statistics import compute_statistics
from tfrecord_lite.errors import DamagedSpan, DamageReport, FileReport, InvalidArgumentError, Reason
from tfrecord_lite.messages import Summary
from tfrecord_lite.records.framing import frame

OURS = {
    "div",
    "style",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "img",
    "span",
    "svg",
    "path",
    "rect",
    "title",
    "bdi",
    "code",
    "ul",
    "ol",
    "li",
}
MOST = 90_000


def page_of(thing: Any) -> Any:
    """Parse what a notebook shows, and check that nothing in it comes from data."""
    text = thing._repr_html_()
    page = parsed(text)

    assert set(page.tags) <= OURS
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert all(source.startswith("data:image/") for source in page.sources)
    assert len(text) < MOST
    assert text.encode()
    return page


def scalar(tag: str, value: float) -> Summary.Value:
    return Summary.Value(tag=tag, simple_value=value)


def png(width: int = 3, height: int = 2) -> bytes:
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes((width + 1) * height))),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def damaged(name: str) -> DamageReport:
    span = DamagedSpan(name, 24, 19, Reason.DATA_CRC, name, 1, 1, 8)
    error = InvalidArgumentError(Reason.MALFORMED, detail=name)
    return DamageReport(
        (FileReport(name, 9, 72, (span,), 1, 19), FileReport(name, 1, 1, (), 0, 0, (error,), 1),
         FileReport(name, 1, 1, failure=OSError(name)))
    )  # fmt: skip


def in_memory(name: str, value: bytes) -> list[Any]:
    """Things with a hostile name and value that no file is needed for."""
    column = BytesColumn.from_list([value, name.encode("utf-8", "surrogatepass"), png()])
    key = name.encode("utf-8", "replace").decode()
    events = read_events(io.BytesIO(frame([
        event(1, scalar(key or "-", 0.5)), event(2, scalar(key or "-", 1.5)),
    ])))  # fmt: skip
    return [
        Schema({key: FixedLenFeature([], "string", value), "b-": RaggedFeature("int64", key or "-")}),
        SequenceSchema({key: FixedLenFeature([], "string", value)}, {key: RaggedFeature("string")}),
        column, RaggedTensor(column, [0, 2, 3]),
        RaggedTensor(np.array([name, value], object), [0, 2]), SparseTensor([[0], [1], [2]], column, [3]),
        damaged(name), events, events.scalars(),
        compute_statistics([encode_example({key: value}), encode_example({key: [value, b"x" * 99]})]),
    ]  # fmt: skip


@given(
    HOSTILE.filter(lambda name: not set("*?[@") & set(name)),
    st.one_of(st.binary(max_size=40), HOSTILE.map(lambda s: s.encode("utf-8", "replace"))),
)
def test_names_and_values_are_never_markup(name: str, value: bytes) -> None:
    for thing in in_memory(name, value):
        page_of(thing)


@pytest.mark.full
def test_no_representation_grows_with_what_it_shows() -> None:
    name, value = "long" * 5_000, b"long" * 500_000
    many = {f"{i}{name}": FixedLenFeature([], "int64") for i in range(2_000)}
    numbers = np.arange(1_000_000)
    column = BytesColumn.from_list([value] * 3 + [b"x"] * 100_000)
    spans = tuple(DamagedSpan(name, i, 1, Reason.DATA_CRC, None, i, 0) for i in range(10_000))
    wide = SparseTensor(np.stack([numbers, numbers], 1), numbers, [1_000_000, 1_000_000])
    for thing in [
        Schema(many), SequenceSchema(many), column, RaggedTensor(numbers, [0, 500_000, 1_000_000]),
        RaggedTensor(column, [0, 100_003]), RaggedTensor(numbers, np.arange(1_000_001)), wide,
        DamageReport((FileReport(name, 1, 1, spans, 20_000, 20_000),) * 100),
    ]:  # fmt: skip
        page_of(thing)


@pytest.mark.needs("image")
def test_images_are_pictures_and_other_values_what_they_are() -> None:
    column = BytesColumn.from_list(
        [png(), b"text", b"", b"\xff\x00" * 20, "ä".encode() * 1_000, b"RIFF\x24\0\0\0WAVE"]
    )
    page = page_of(column)
    cells = page.cells[3:]

    assert page.sources[0].startswith("data:image/png;base64,")
    assert ("img", "alt", f"PNG 3 x 2, {len(png())} bytes") in page.attributes
    assert cells[5] == "text"
    assert cells[8] == "(empty)"
    assert cells[11] == "ff 00 " * 8 + "… 40 bytes"
    assert cells[14] == "ä" * 160 + "…"
    assert cells[17].startswith("WAV")


def test_rows_are_those_of_the_column() -> None:
    ragged = page_of(RaggedTensor(np.arange(100), [0, 0, 2, 100])).cells
    sparse = page_of(SparseTensor([[0, 1], [2, 0]], np.array([0.5, 8], np.float32), [3, 2])).cells

    assert ragged[:9] == ["row", "length", "values", "0", "0", "no values", "1", "2", "0, 1"]
    assert ragged[11] == "2, 3, 4, 5, 6, 7, 8, 9 … 98 values"
    assert sparse[2:] == ["[0, 1]", "0.5", "[2, 0]", "8"]


def test_events_have_a_curve_per_scalar() -> None:
    events = read_events(io.BytesIO(frame([event(i, scalar("loss", 1 / i)) for i in range(1, 9)])))
    page = page_of(events)

    assert page.tags.count("svg") == 1
    assert page.cells[6:11] == ["loss", "scalars", "8", "1 .. 8", "0.125"]
