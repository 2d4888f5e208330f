"""Values to lists: columns, rows and data frames, in the form that an Example holds.

::

    arrow        tables and data frames ──> columns, and back; the one door for them
    normalize    columns ──┬─ lenient ──> value lists
    types                  └─ strict ───> arrays
    restore      lists as stored ──> as they were ──> arrays, ragged tensors, byte strings
    lossless     arrays ──> their schema, and restore for columns that others parsed;
                 the schema that came along with Arrow data, as far as its columns fit
    conform      columns and a schema ──> what they are stored as: value lists, one per key
    lists        value lists: kind, values end to end, counts, presence

``types`` is the one table of which Python and NumPy types go into which list, and knows whether an
array changed the values that it was made of; ``normalize`` applies it. No module here knows the wire format.
"""
