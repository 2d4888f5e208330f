"""The command ``tfrecord``: inspect, check, repair, index, rearrange and convert record files, pack images.

One module per verb, with ``DESCRIPTION``, ``EPILOG`` and maybe ``STATUSES`` (its help), ``add_arguments`` and
``run``. ``app`` has the table of verbs, and imports a verb's module when it is used. What verbs share:

::

    info  head  cat  verify  recover  schema  index     the verbs
    stats  diff                                         distributions, and two of them
    merge  split  shuffle  sample  filter  pack  unpack  convert  sql  view  completion

    app         parser of all verbs, signals, main: what a verb raises becomes one line
    inputs      arguments; from arguments to open files, one after the other; what is said of errors
    rearranging what merge, split, shuffle, sample and filter share
    console     standard output and error, exit status
    style       colours of text             formatting   numbers, sizes, columns of text, lines of JSON
    display     a record as text or JSON    images       its images, on the terminal and to files
    stats_table statistics, a row per feature
"""

from __future__ import annotations

from tfrecord_lite.cli.app import main

__all__ = ["main"]
