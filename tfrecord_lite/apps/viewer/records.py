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

from tfrecord_lite.apps.viewer.cells import Cell, feature_cell, whole_cell
from tfrecord_lite.apps.viewer.runs import event_cells
from tfrecord_lite.apps.viewer.timeline import lane_cell
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
        n_steps = max((len(row.steps) for row in section.rows), default=0)
        for row in section.rows:
            if budget.is_spent or len(cells) == _MAX_CELLS:
                n_hidden += 1
            elif row.is_list:
                cells.append(lane_cell(section.title, row, n_steps, budget))
            else:
                cells.append(feature_cell(section.title, row, siblings, budget))
    return RecordView(place, content.type, len(content.record), tuple(cells), n_hidden)


def _without_features(content: Content, budget: Budget) -> list[Cell]:
    """Return the cells of a record that is not an Example of some form."""
    if content.type is ContentType.EVENT:
        cells = event_cells(content.record, budget)
        if cells is not None:
            return cells
    return [whole_cell(content, budget)] if content.record else []
