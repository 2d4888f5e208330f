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

from tfrecord_lite.errors import plural
from tfrecord_lite.example.outline import sections
from tfrecord_lite.viewer.cells import Cell, feature_cell, whole_cell
from tfrecord_lite.viewer.timeline import lane_cell

if TYPE_CHECKING:
    from tfrecord_lite.block import Place
    from tfrecord_lite.example.content import Content, ContentType
    from tfrecord_lite.viewer.cells import Budget

_MAX_EXAMPLES = 8
_MAX_CELLS = 2000
_MAX_SEARCH_TEXT = 2000


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
    def text(self) -> str:
        """What the search looks through: names and values; bounded."""
        parts = (f"{cell.label} {cell.text}" for cell in self.cells)
        return " ".join(parts)[:_MAX_SEARCH_TEXT]

    @property
    def size(self) -> str:
        """The record's size in words."""
        return plural(self.n_bytes, "byte")


def describe_record(content: Content, place: Place, budget: Budget) -> RecordView:
    """Return the cells of a record; what is over the budget is left out, and counted.

    Takes time in proportion to what is shown, not to the record, once `content` is there.
    """
    if content.message is None:
        cells = [] if not content.record or budget.is_spent else [whole_cell(content, budget)]
        return RecordView(place, content.type, len(content.record), tuple(cells))
    cells, n_hidden = [], 0
    for section in sections(content.message, _MAX_EXAMPLES):
        siblings = {row.name: row.steps[0] for row in section.rows if not row.is_list}
        n_steps = max((len(row.steps) for row in section.rows), default=0)
        for row in section.rows:
            if budget.is_spent or len(cells) == _MAX_CELLS:
                n_hidden += 1
            elif row.is_list:
                cells.append(lane_cell(section.title, row, n_steps, budget))
            else:
                cells.append(feature_cell(section.title, row, siblings, budget))
    return RecordView(place, content.type, len(content.record), tuple(cells), n_hidden)
