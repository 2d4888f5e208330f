"""TensorBoard's event files, without TensorBoard: what a run wrote, as plain columns.

::

    run       files of a folder, in order; what is new in them ── blocks of records
    values    a block of Events to its values, a row each, in lockstep
    tags      numbers for tags; their metadata
    series    Events: rows of one kind as columns
    contents  one value that is not a number: histogram, image, audio, text, tensor

Sources: ``tensorboard/compat/proto/event.proto`` and ``summary.proto``; which files, and
in which order: TensorBoard's ``io_wrapper`` and ``directory_watcher``.
"""

from __future__ import annotations

from tfrecord_lite.events.contents import Image
from tfrecord_lite.events.run import EventFiles, find_runs, follow_events, read_events
from tfrecord_lite.events.series import Events, Series

__all__ = [
    "EventFiles",
    "Events",
    "Image",
    "Series",
    "find_runs",
    "follow_events",
    "read_events",
]
