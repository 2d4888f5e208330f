"""Boxes over images: where they are, what they are called, and what does not fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.viewer.images import image
from tests.apps.viewer.shown_records import HOSTILE, cells_of, plain, shown
from tests.support.corpus import corpus_files
from tfrecord_lite import TFRecordReader

if TYPE_CHECKING:
    from tests.support.corpus import CorpusFile
    from tfrecord_lite.apps.viewer.cells import Cell

pytestmark = pytest.mark.needs("view")


def with_boxes(*boxes: tuple[float, float, float, float], **changes: Any) -> Cell:
    """Return the cell of an image with boxes: xmin, ymin, xmax, ymax."""
    columns = list(zip(*boxes, strict=True)) or [()] * 4
    features: dict[str, Any] = {
        f"image/object/bbox/{side}": [float(value) for value in column]
        for side, column in zip(("xmin", "ymin", "xmax", "ymax"), columns, strict=True)
    }
    features["image/encoded"] = image(200, 100)
    features |= {f"image/object/{name}": value for name, value in changes.items()}
    return cells_of(features)["image/encoded"]


def rectangles(html: str) -> list[tuple[float, ...]]:
    """Return x, y, width and height of the boxes in markup."""
    found = re.findall(
        r'<title>[^<]*</title><rect x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"', html
    )
    return [tuple(map(float, numbers)) for numbers in found]


def test_boxes_are_where_they_should_be() -> None:
    cell = with_boxes((0.25, 0.5, 0.75, 1.0), (0, 0, 1, 1))

    assert rectangles(cell.html) == [(32, 32, 64, 32), (0, 0, 128, 64)]
    assert rectangles(cell.details) == [(50, 50, 100, 50), (0, 0, 200, 100)]
    assert "box: x 0.25 to 0.75, y 0.5 to 1" in plain(cell.details)


def test_labels() -> None:
    boxes = [(0.0, 0.0, 0.5, 0.5)] * 3
    cell = with_boxes(*boxes, **{"class/text": [b"cat", b"", b"cat"], "class/label": [1, 2, 1]})

    assert 'aria-label="3 boxes: cat, 2"' in cell.html
    assert re.findall(r"<title>(.*?)</title>", cell.html) == ["cat", "2", "cat"]
    assert re.findall(r'class="(series-\d)"', cell.html) == ["series-0", "series-1", "series-0"]


def test_what_is_not_in_the_image() -> None:
    nan, inf = float("nan"), float("inf")
    cell = with_boxes(
        (-0.5, 0.5, 0.5, 1.5),
        (2, 2, 3, 3),
        (nan, 0, 1, 1),
        (0, 0, inf, 1),
        (0.9, 0, 0.1, 1),
        (0, 0, 1, 1),
    )

    assert rectangles(cell.html) == [(0, 32, 64, 32), (0, 0, 128, 64)]
    assert "4 of 6 boxes are not in the image" in plain(cell.html)
    assert "1 box reaches outside of the image" in plain(cell.html)


def test_different_numbers() -> None:
    features = {
        f"image/object/bbox/{side}": [0.1] * n
        for side, n in (("xmin", 1), ("ymin", 2), ("xmax", 3), ("ymax", 2))
    }
    features |= {"image/encoded": image(), "image/object/class/label": [1, 2, 3, 4, 5]}  # type: ignore[dict-item]
    text = plain(cells_of(features)["image/encoded"].html)

    assert "the sides of the boxes differ in number: 1 xmin, 2 ymin, 3 xmax, 2 ymax" in text
    assert "5 labels for 1 box" in text


def test_no_boxes_other_kinds_and_very_many() -> None:
    assert "v-boxes" not in cells_of({"image/encoded": image()})["image/encoded"].html
    ints = {f"image/object/bbox/{side}": [0] for side in ("xmin", "ymin", "xmax", "ymax")}
    assert "v-boxes" not in cells_of({"image/encoded": image(), **ints})["image/encoded"].html
    assert rectangles(with_boxes().html) == []
    many = with_boxes(*[(0.1, 0.1, 0.2, 0.2)] * 10_000)
    assert len(rectangles(many.html)) == 100
    assert "10,000 boxes, of which 100 are shown" in plain(many.html)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_labels(text: str) -> None:
    with_boxes((0, 0, 1, 1), **{"class/text": [text.encode()]})
    with_boxes((0, 0, 1, 1), **{"class/text": [b"\xff\xfe" * 1000]})


@given(st.lists(st.tuples(*[st.floats(width=32)] * 4), max_size=5))
def test_any_boxes(boxes: list[tuple[float, float, float, float]]) -> None:
    for x, y, width, height in rectangles(with_boxes(*boxes).html):
        assert 0 <= x <= x + width <= 128.1
        assert 0 <= y <= y + height <= 64.1


@pytest.mark.parametrize("sample", corpus_files("example"))
def test_the_corpus_has_a_file_with_boxes(sample: CorpusFile) -> None:
    if "detection" not in str(sample.path):
        pytest.skip("another file")
    (record,) = TFRecordReader(sample.path)
    cell = {cell.name: cell for cell in shown(record).cells}["image/encoded"]

    assert len(rectangles(cell.html)) == 3
    assert "label_2" in cell.html
