"""Bridges to other libraries, which are imported when a function is called.

::

    duckdb  conditions in SQL on batches
    image   encoded images to pixels and back, with Pillow
    pandas  read_tfrecord, to_tfrecord
    polars  scan_tfrecord: lazy frames
    torch   data sets and files as torch's data sets of tensors
"""
