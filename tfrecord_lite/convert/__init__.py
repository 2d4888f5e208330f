"""Values to lists: columns, rows and data frames, in the form that an Example holds.

::

    arrow        tables and data frames ──> Lists, and back; the one entry for them
    normalize    columns ──┬─ lenient ──> Lists as they are stored
    types                  └─ strict ───> Lists of all levels, with values as they are
    restore      Lists as stored ──> as they were ──> arrays, ragged tensors, byte strings
    lossless     columns ──> their schema, and restore for columns that others parsed;
                 the schema that came along with Arrow data, as far as its columns fit
    store        Lists and a schema ──> Lists as they are stored, one per key, and the warning about
                 columns that float32 does not hold
    lists        Lists: values end to end, lengths of each level, presence
"""
