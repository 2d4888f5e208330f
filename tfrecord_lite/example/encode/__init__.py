"""Columns and dictionaries to Example messages.

::

    columns   columns ───────────────> value lists ──> messages    many at once, the plain way
    one       one dictionary ────────────────────────> its bytes   fast path, no batch
    row_plan  dictionaries of a form ─> value lists                fast path, no look at values
    row_columns   many of a form ────> value lists                 the same by columns, if all are there
    buffer    dictionaries, one by one, until they are worth a batch

Values become lists by :mod:`tfrecord_lite.convert.normalize`, under its lenient policy. Both
fast paths leave to it whatever they do not know, errors included, and
``tests/convert/test_fast_paths.py`` checks that they agree with it.
"""
