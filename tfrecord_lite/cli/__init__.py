"""The command ``tfrecord``: look into record files and check them.

One module a verb (``info``, ``head``, ``cat``, ``verify``, ``index``), each with ``add_to``, which
declares its arguments, and ``run``, which does its work; and what they share:

::

    app        the parser of all verbs, and main
    inputs     from arguments to open streams, one after the other
    console    standard output and error, and the exit status
    progress   the bar on standard error
    content    what a record holds: told from its bytes
    features   the rows to show of a message
    display    records for people          jsonlines   records for programs
    table      columns, numbers and sizes
"""

from __future__ import annotations

from tfrecord_lite.cli.app import main

__all__ = ["main"]
