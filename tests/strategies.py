"""Records, streams and damages, for properties: what users get to test with too."""

from __future__ import annotations

from tfrecord_lite import testing
from tfrecord_lite.testing.records import ODD_LENGTHS

__all__ = [
    "ODD_LENGTHS",
    "cut_up",
    "damaged_streams",
    "odd_lengths",
    "records",
    "some_records",
]

records = testing.records()
some_records = testing.records(min_size=1)
odd_lengths = testing.odd_lengths()
damaged_streams = testing.any_stream
cut_up = testing.pieces_of
