"""Bridges to other libraries, which are imported when a function is called.

::

    duckdb  conditions in SQL on batches
    image   encoded images to pixels and back, with Pillow
    torch   data sets and files as torch's data sets of tensors
"""
