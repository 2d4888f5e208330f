"""A record of any content as a row of cells.

::

    Example                  a cell per feature
    SequenceExample          a cell per feature of the context, one per feature list
    ExampleListWithContext   a cell per feature of the context, and of each Example
    event                    a cell per value
    text, other bytes        one cell: the text, or hex
    empty                    none
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from tfrecord_lite.apps.viewer.cells import Cell, feature_cell, value_cell, whole_cell
from tfrecord_lite.errors import plural
from tfrecord_lite.example.content import ContentType
from tfrecord_lite.example.outline import sections

if TYPE_CHECKING:
    from tfrecord_lite.apps.viewer.cells import Budget
    from tfrecord_lite.block import Place
    from tfrecord_lite.example.content import Content

_MAX_EXAMPLES = 8
_MAX_CELLS = 2000


@dataclass(frozen=True, slots=True)
class RecordView:
    """A record as the page shows it."""

    place: Place
    type: ContentType
    n_bytes: int
    cells: tuple[Cell, ...]
    n_hidden: int = 0
    """Number of features that are left out, because of the budget or their number."""

    @property
    def size(self) -> str:
        """The record's size in words."""
        return plural(self.n_bytes, "byte")


def describe_record(content: Content, place: Place, budget: Budget) -> RecordView:
    """Return the cells of a record; what is over the budget is left out, and counted.

    Values are looked at up to a bound; only steps of feature lists are all counted.
    """
    if content.message is None:
        found = _without_features(content, budget) if not budget.is_spent else []
        return RecordView(place, content.type, len(content.record), tuple(found))
    cells, n_hidden = list[Cell](), 0
    for section in sections(content.message, _MAX_EXAMPLES):
        siblings = {row.name: row.steps[0] for row in section.rows if not row.is_list}
        for row in section.rows:
            if budget.is_spent or len(cells) == _MAX_CELLS:
                n_hidden += 1
            else:
                cells.append(feature_cell(section.title, row, siblings, budget))
    return RecordView(place, content.type, len(content.record), tuple(cells), n_hidden)


def _without_features(content: Content, budget: Budget) -> list[Cell]:
    """Return the cells of a record that is not an Example of some form."""
    if content.type is ContentType.EVENT:
        try:
            return _event_cells(content.record, budget)
        except (DecodeError, UnicodeDecodeError):
            pass
    return [whole_cell(content, budget)] if content.record else []


def _event_cells(record: bytes, budget: Budget) -> list[Cell]:
    """Return the cells of an Event: a cell per value in it, by its tag, and one per other field."""
    from tfrecord_lite.messages import Event  # noqa: PLC0415 - not light

    event = Event.FromString(record)
    found = [
        ("", field.name, value) for field, value in event.ListFields() if field.name != "summary"
    ]
    for value in event.summary.value[:_MAX_CELLS]:
        kind = value.WhichOneof("value")
        if kind is not None:
            content = getattr(value, kind)
            content = getattr(content, f"encoded_{kind}_string", content)
            content = content.SerializeToString() if kind == "tensor" else content
            found.append(("value", value.tag, content))
    return [value_cell(*each, budget) for each in found]
