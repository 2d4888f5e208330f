"""A record of any content as a row of cells.

::

    Example           a cell per feature
    SequenceExample   a cell per feature of the context, one per feature list
    other message     a cell per path of fields, by numbers, or by names if its class is known
    text, other bytes one cell: the text, or hex
    empty             none
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tfrecord_lite.apps.markup.cells import SIZE_NAMES, Cells, Form
from tfrecord_lite.apps.markup.tables import Html, visible
from tfrecord_lite.apps.outline import Row, Tree, kind_of, leaves, sections, tree_of, values_of
from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.block import Place
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.extension import Content, ContentType
from tfrecord_lite.messages import Feature
from tfrecord_lite.texts import plural

_MAX_CELLS = 2000
_MAX_EXAMINED = 1 << 20
_EMBEDDED = re.compile('"data:[a-z]+/[a-z0-9.+-]+;base64,[^"]*"')  # in text, quotes are escaped


@dataclass(frozen=True, slots=True)
class Cell:
    """A feature of a record, or a list of features."""

    section: str
    """"context", "feature_lists"; empty in an Example."""
    name: str
    """The name as it is; `label` is for display."""
    kind: str
    """"string", "float32", "int64" or "unset"; for a record without features, what it is."""
    count: str
    """Number of values; "5 x 3" for a list of 5 steps with 3 values each."""
    html: Html
    """The short form."""
    details: Html
    """The whole, up to a bound; empty if the short form shows everything."""

    @property
    def label(self) -> str:
        """The name, with escapes for what cannot be seen; never empty."""
        return visible(self.name).strip() or repr(self.name)


@dataclass(frozen=True, slots=True)
class RecordView:
    """A record as the page shows it."""

    place: Place
    type: ContentType
    n_bytes: int
    cells: tuple[Cell, ...]
    n_hidden: int = 0
    """Number of features that are left out, because of the budget or their number."""


def describe_record(
    content: Content,
    place: Place,
    cells: Cells,
    names: Collection[str] = (),
    message_class: Any = None,
    restored: Mapping[str, AnyArray] | None = None,
) -> RecordView:
    """Return the cells of a record, of these features or all; what is over the budget is left out, and counted.

    Values are looked at up to a bound; only steps of feature lists are all counted. Raises
    InvalidArgumentError for a record that is not of the class.
    """
    try:
        tree = tree_of(content, message_class, _MAX_CELLS)
    except InvalidArgumentError as error:
        raise place.locate(error) from None
    shown, n_hidden, budget = list[Cell](), 0, cells.budget
    for section, name, kind, count, form_of in _parts(content, tree, cells, restored or {}):
        if names and name not in names:
            continue
        if budget.is_spent or len(shown) == _MAX_CELLS:
            n_hidden += 1
            continue
        form = form_of()
        budget.characters -= n_characters(form.html, form.details) + len(name)
        shown.append(Cell(section, name, kind, count, *form))
    return RecordView(place, content.type, len(content.record), tuple(shown), n_hidden)


def _parts(
    content: Content, tree: Tree | None, cells: Cells, restored: Mapping[str, AnyArray]
) -> Iterator[tuple[str, str, str, str, Callable[[], Form]]]:
    """Yield section, name, kind and count of each part of a record, and what makes its cell."""
    if tree is not None:
        for path, values in leaves(tree).items():
            kind, form = "string", partial(cells.strings_form, values, len(values))
            if not isinstance(values[0], bytes | str):
                kind, array = np.asarray(values[0]).dtype.name, np.array(values[:_MAX_EXAMINED])
                form = partial(cells.array_form, array, n_values=len(values))
            yield "", path, kind, f"{len(values):,}", form
    elif content.message is not None:
        for section in sections(content.message, None, restored):
            sizes = _sizes(section.rows)
            for row in section.rows:
                form = partial(_row_form, row, sizes, cells)
                yield section.title, row.name, row.kind, row.size_text, form
    elif content.record:
        n_bytes = plural(len(content.record), "byte")
        yield "", "content", str(content.type), n_bytes, partial(cells.bytes_form, content.record)


def _row_form(row: Row, sizes: Mapping[str, int], cells: Cells) -> Form:
    """Show a feature, or the steps of a list; `sizes` say how the pixels beside them lie."""
    if row.restored is not None:
        return cells.array_form(row.restored, sizes)
    if not row.is_list:
        return _feature_form(row.steps[0], sizes, cells)
    forms = [_feature_form(step, {}, cells) for step in row.steps[: cells.max_steps]]
    return cells.steps_form(forms, len(row.steps))


def n_characters(*parts: str) -> int:
    """Return the characters of markup, without pictures and sounds, which count as bytes."""
    embedded = sum(len(match[0]) for part in parts for match in _EMBEDDED.finditer(part))
    return sum(map(len, parts)) - embedded


def _feature_form(feature: Feature, sizes: Mapping[str, int], cells: Cells) -> Form:
    values: Any = values_of(feature)
    if kind_of(feature) == "string":
        return cells.strings_form(values, len(values), sizes)
    dtype = np.float32 if kind_of(feature) == "float32" else np.int64
    return cells.array_form(np.array(values[:_MAX_EXAMINED], dtype), sizes, len(values))


def _sizes(rows: list[Row]) -> dict[str, int]:
    """Return the features of one integer that may say how the pixels of others lie."""
    rows = [row for row in rows if row.name in SIZE_NAMES and not row.is_list]
    known = {row.name: values_of(row.steps[0]) for row in rows}
    return {name: v[0] for name, v in known.items() if len(v) == 1 and isinstance(v[0], int)}
