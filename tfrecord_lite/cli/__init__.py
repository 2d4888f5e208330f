"""The command ``tfrecord``: inspect, check, repair, index, rearrange and convert record files, pack images.

A verb is two functions, ``add_VERB``, which declares its arguments, and ``run_VERB``, whose docstring is its help. Their
module is imported when the verb is used:

::

    info (and index)  head (and cat)  view  schema  stats (and diff)  damage (verify, recover)
    rearranging (merge, split, shuffle, sample, filter)  images (pack, unpack)  convert  sql  completion

What they share:

::

    app         the table of verbs, their parser, signals, main: what a verb raises becomes one line
    inputs      arguments; from arguments to open files, one after the other; what is said of errors
    console     standard output and error, exit status
    style       colours, columns of text, sizes, lines of JSON
    display     a record as text or JSON
    pictures    its images, on the terminal
"""

from __future__ import annotations

from tfrecord_lite.cli.app import main

__all__ = ["main"]
