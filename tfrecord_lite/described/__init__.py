"""What describes the records of files: a schema, files beside the data, or a sample of the records.

::

    schema= ───────────────────────────────> Schema, and of sidecars the structure of the data
    data.tfrecord.schema.json, merged ──┤
    features.json of TFDS ──────────────┤
    the first records, surveyed ────────╯

    sources    what describes some files, and the parser of it: all readers ask here
    inferred   a schema from the records themselves, by one of three policies
    columns    which columns callers ask for, and which byte strings are text
    sidecar    schema files, written and read: ours, and with formats those of other programs
    merging    one sidecar for the files of several
    frames     descriptions of data frames, from which columns become the same frame
    structure  nested dicts and tuples, as columns by name and back
"""
