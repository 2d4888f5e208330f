"""The command ``tfrecord``: inspect, check, repair, index, rearrange and convert record files, pack images.

A verb's module has ``HELP``, ``add_arguments`` and ``run``, and is imported when it is used:

::

    info  head (and cat)  view  schema  stats  diff  verify  recover  index
    rearranging (merge, split, shuffle, sample, filter)  pack  unpack  convert  sql  completion

What they share:

::

    app         the table of verbs, their parser, signals, main: what a verb raises becomes one line
    inputs      arguments; from arguments to open files, one after the other; what is said of errors
    console     standard output and error, exit status
    style       colours, columns of text, sizes, lines of JSON
    display     a record as text or JSON
    images      its images, on the terminal and to files
"""

from __future__ import annotations

from tfrecord_lite.cli.app import main

__all__ = ["main"]
