"""TensorBoard's event files as plain columns, without TensorBoard.

::

    run       the event files of a run, in order
    parse     a block of Events to the values in them, one row per value; numbers for tags
    series    Events: the values of each category as columns, decoded on demand

Sources: TensorBoard's ``event.proto`` and ``summary.proto``; its ``io_wrapper`` and
``directory_watcher`` for which files are read, and in which order.
"""

from tfrecord_lite.apps.events.run import find_runs, read_events, tabulate_runs
from tfrecord_lite.apps.events.series import Events, Image, Series

__all__ = ["Events", "Image", "Series", "find_runs", "read_events", "tabulate_runs"]
