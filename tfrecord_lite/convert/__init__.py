"""Values to lists: columns, rows and data frames, in the form that an Example holds.

::

    dataframes   pandas, polars, Arrow data ──> columns
    normalize    columns ──┬─ lenient ──> value lists
    types                  └─ strict ───> arrays
    lossless     arrays ──> their schema, what they are stored as, and the way back
    exact        whether an array changed the numbers and times that it was made of
    conform      columns and a schema ──> value lists, one per key
    carried      the schema that came along with Arrow data, as far as its columns fit
    plain_numbers  lists of Python's numbers ──> arrays, types checked on the way
    lists        value lists: kind, values end to end, counts, presence

``types`` is the one table of which Python and NumPy types go into which list, and ``normalize``
applies it. No module here knows the wire format.
"""
