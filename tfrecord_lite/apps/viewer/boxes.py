"""Boxes over an image: the features of TensorFlow's detection files, and an overlay in SVG.

::

    image/object/bbox/xmin, ymin, xmax, ymax    floats, one per box, shares of the image's sides
    image/object/class/text, or label           one per box

Whatever does not fit is left out, and said so: other numbers of values, NaN, corners outside of the
image. Classes of the markup: ``v-boxes`` (<svg>, over an image; each box is a <g> of class
``series-N``), ``v-box-list`` (<ol>, the same as text).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tfrecord_lite.apps.viewer.parts import NO_MARKUP, joined, note, shortened
from tfrecord_lite.errors import plural
from tfrecord_lite.example.outline import kind_of, values_of
from tfrecord_lite.markup.charts import N_COLOURS, short_number
from tfrecord_lite.schema.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfrecord_lite.arrays import BoolArray, Float64Array
    from tfrecord_lite.messages import Feature

_SIDES = ("xmin", "ymin", "xmax", "ymax")
_MAX_BOXES = 100
_MAX_LABEL = 40
_LETTER = 6.2  # pixels that a character of a label takes


@dataclass(frozen=True, slots=True)
class Boxes:
    """The boxes of an image, as shares of its sides."""

    corners: Float64Array
    """xmin, ymin, xmax, ymax of each box, from 0 to 1; shape (n_boxes, 4)."""
    labels: list[str]
    colours: list[int]
    """The same for equal labels."""
    problems: list[str]
    """What does not fit."""

    @property
    def title(self) -> str:
        """The boxes in words."""
        named = ", ".join(dict.fromkeys(filter(None, self.labels)))
        return f"{plural(len(self.labels), 'box', 'boxes')}{': ' * bool(named)}{named}"


def find_boxes(siblings: Mapping[str, Feature]) -> Boxes | None:
    """Return the boxes in the features beside an image; None if there are no such features."""
    features = [siblings.get(f"image/object/bbox/{side}") for side in _SIDES]
    if any(feature is None or kind_of(feature) != Kind.FLOAT.label for feature in features):
        return None
    sides = [list(feature.float_list.value[: _MAX_BOXES + 1]) for feature in features if feature]
    counts = [len(values_of(feature)) for feature in features if feature]
    problems = []
    if len(set(counts)) > 1:
        found = ", ".join(f"{n:,} {side}" for n, side in zip(counts, _SIDES, strict=True))
        problems.append(f"the sides of the boxes differ in number: {found}")
    if min(counts) > _MAX_BOXES:
        problems.append(f"{min(counts):,} boxes, of which {_MAX_BOXES} are shown")
    n_boxes = min(*counts, _MAX_BOXES)
    given = np.array([side[:n_boxes] for side in sides], np.float64).T
    corners, is_box = _checked(given, problems)
    labels = _labels(siblings, min(counts), n_boxes, problems)
    labels = [label for label, is_shown in zip(labels, is_box.tolist(), strict=True) if is_shown]
    numbers = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    colours = [numbers[label] % N_COLOURS for label in labels]
    return Boxes(corners[is_box], labels, colours, problems)


def _checked(given: Float64Array, problems: list[str]) -> tuple[Float64Array, BoolArray]:
    """Return the boxes cut to the image, and which are boxes at all; name the problems."""
    low, high = given[:, :2], given[:, 2:]
    is_box: BoolArray = np.all(np.isfinite(given), axis=1)
    is_box &= np.all((low <= high) & (low <= 1) & (high >= 0), axis=1)
    corners = given.clip(0, 1)
    n_wrong = len(given) - int(is_box.sum())
    if n_wrong:
        verb = "is" if n_wrong == 1 else "are"
        problems.append(
            f"{n_wrong} of {plural(len(given), 'box', 'boxes')} {verb} not in the image"
        )
    n_outside = int((corners != given).any(axis=1)[is_box].sum())
    if n_outside:
        problems.append(f"{plural(n_outside, 'box reaches', 'boxes reach')} outside of the image")
    return corners, is_box


def _labels(
    siblings: Mapping[str, Feature], n_known: int, n_boxes: int, problems: list[str]
) -> list[str]:
    """Return a label for each box; the number of the class where it has no text."""
    columns = []
    for name in ("image/object/class/text", "image/object/class/label"):
        values: Any = values_of(siblings[name]) if name in siblings else ()
        if values and len(values) != n_known:
            problems.append(f"{plural(len(values), 'label')} for {plural(n_known, 'box', 'boxes')}")
        texts = [_label(value) for value in islice(values, n_boxes)]
        columns.append(texts + [""] * (n_boxes - len(texts)))
    return [text or number for text, number in zip(*columns, strict=True)]


def _label(value: bytes | float) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return shortened(text, _MAX_LABEL)


def overlay(boxes: Boxes, width: int, height: int, *, with_labels: bool) -> Markup:
    """Draw the boxes for an image that is shown with `width` times `height` pixels."""
    scaled = boxes.corners * [width, height, width, height]
    drawn = NO_MARKUP
    for (left, top, right, bottom), label, colour in zip(
        scaled.tolist(), boxes.labels, boxes.colours, strict=True
    ):
        shape = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            left, top, right - left, bottom - top
        )
        named = _drawn_label(label, left, top, width) if with_labels and label else NO_MARKUP
        drawn += Markup('<g class="series-{}"><title>{}</title>{}{}</g>').format(
            colour, label, shape, named
        )
    return Markup(
        '<svg class="v-boxes" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(width, height, boxes.title, drawn)


def _drawn_label(label: str, left: float, top: float, width: int) -> Markup:
    """Draw a label on a plate of its colour at the upper left corner of a box, inside the image."""
    room = len(label) * _LETTER + 6
    x, y = max(min(left, width - room), 0), max(top, 14)
    return Markup(
        '<rect class="v-plate" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="14"/>'
        '<text x="{:.1f}" y="{:.1f}" textLength="{:.1f}" lengthAdjust="spacingAndGlyphs">{}</text>'
    ).format(x, y - 14, room, x + 3, y - 3.5, room - 6, label)


def listing(boxes: Boxes) -> Markup:
    """Return the boxes as a list of texts, for those who do not see them."""
    items = []
    for corners, label in zip(boxes.corners.tolist(), boxes.labels, strict=True):
        left, top, right, bottom = map(short_number, corners)
        text = f"{label or 'box'}: x {left} to {right}, y {top} to {bottom}"
        items.append(Markup("<bdi>{}</bdi>").format(text))
    return joined("ol", "v-box-list", items) if items else NO_MARKUP


def remarks(boxes: Boxes | None) -> Markup:
    """Return what does not fit, as remarks."""
    return NO_MARKUP.join(map(note, boxes.problems if boxes else []))
