"""What describes the records of files: a schema, files beside the data, or a sample of the records.

::

    schema= ───────────────────────────────> Schema, and of sidecars the structure of the data
    data.tfrecord.schema.json, merged ──┤
    features.json of TFDS ──────────────┤
    the first records, surveyed ────────╯

All readers ask ``sources``.
"""
