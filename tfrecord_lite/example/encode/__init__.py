"""Columns and dictionaries to Example messages.

::

    columns   columns ───────────────> Lists ──> messages    many at once, the plain way
    one       one dictionary ──────────────────> its bytes   fast path, no batch
    rows      dictionaries of a form, one by one until they are worth a batch, or all at once
              ─────────────────────────────> Lists           fast path, no look at values

Both fast paths leave to :mod:`tfrecord_lite.convert.normalize` whatever they do not know, errors included, and
``tests/convert/test_fast_paths.py`` checks that they agree with it.
"""
