"""Records in files: bytes to frames to blocks of records and back, damage included.

::

    read     bytes ──> frames ──> blocks of records
             stream    decoder    (tfrecord_lite.block)
               ╰─ after damage: resync finds the next intact frame, damage reports what was lost

    write    records ──> frames ──> bytes
             sink        framing    (compressed if asked)

    crc32c       the masked checksums of one record or of many
    shard_set    files that appear together, and which record goes to which
"""
