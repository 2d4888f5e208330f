"""Statistics of messages of a class: a feature for each path of fields, such as ``images.width``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfrecord_lite.apps.outline import leaves, message_tree
from tfrecord_lite.apps.statistics import (
    Distribution,
    FeatureStatistics,
    Statistics,
    StringStatistics,
)
from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.extension import parse_message
from tfrecord_lite.schema import FeatureSummary, Kind, ListSummary


def message_statistics(block: Block, message_class: Any) -> Statistics:
    """Return the statistics of the messages in a block, which can be added to others.

    Raises InvalidArgumentError for a record that is not of the class.
    """
    rows: dict[str, list[list[Any]]] = {}
    for i, record in enumerate(block):
        try:
            message = parse_message(record, message_class)
        except InvalidArgumentError as error:
            raise block.place(i).locate(error) from None
        for path, values in leaves(message_tree(message)).items():
            rows.setdefault(path, []).append(values)
    return Statistics(len(block), {path: _statistics(rows[path], block) for path in rows})


def _statistics(rows: list[list[Any]], block: Block) -> FeatureStatistics:
    """Return the statistics of a path, given the values of each message that has any."""
    lengths = Distribution.of(np.fromiter(map(len, rows), np.int64, len(rows)))
    values = [value for row in rows for value in row]
    first, numbers, strings = values[0], None, None
    # An unknown value of an enum is a number.
    if any(isinstance(value, str | bytes) for value in values):
        kind, dtype = Kind.BYTES, "string"
        texts = [v if isinstance(v, bytes) else str(v).encode() for v in values]
        strings = StringStatistics.of(np.array(texts, object))
    elif isinstance(first, float | np.floating):
        kind, dtype = Kind.FLOAT, np.asarray(first).dtype.name
        numbers = Distribution.of(np.array(values, dtype))
    else:
        kind = Kind.INT64
        dtype = "bool" if isinstance(first, bool) else "int64"
        numbers = Distribution.of(np.array(values, np.uint64 if max(values) >= 2**63 else np.int64))
    ends = int(lengths.min or 0), int(lengths.max or 0)
    summary = FeatureSummary({kind: ListSummary(len(rows), ends, None, block.place(0))})
    return FeatureStatistics(summary, lengths, numbers, strings, original=dtype)
