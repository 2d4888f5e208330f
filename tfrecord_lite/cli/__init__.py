"""The command ``tfrecord``: inspect, check, repair, index, rearrange and convert record files, pack images.

One module per verb, each with ``SUMMARY``, ``DESCRIPTION`` and ``EPILOG`` (its help),
``add_arguments`` and ``run``, and the modules that verbs share:

::

    info  head  cat  verify  recover  schema  index     the verbs
    stats  diff                                         distributions, and two of them
    merge  split  shuffle  sample  filter               (rearranging: what these share)
    convert                                             other formats
    pack  unpack                                        of images
    sql                                                 queries with DuckDB
    view                                                a page in the browser
    completion                                          a script for shells

    app         parser of all verbs, signals, main
    inputs      from arguments to open files, one after the other
    console     standard output and error, exit status
    progress    a bar for the files of a verb   style   colours of text
    printing    records one by one, for head and cat
    display     a record as text            jsonlines   a record as JSON
    image_files      encoded images of records to files
    terminal_images  images on the terminal, as escape sequences
    stats_table      statistics, a row per feature
    formatting  numbers, sizes, columns of text, lines of JSON
"""

from __future__ import annotations

from tfrecord_lite.cli.app import main

__all__ = ["main"]
