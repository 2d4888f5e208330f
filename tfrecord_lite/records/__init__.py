"""Records in files: bytes to frames to blocks of records and back, damage included.

::

    read     bytes ──> frames ──> blocks of records
             stream    decoder    (tfrecord_lite.block)
               ╰─ after damage: resync finds the next intact frame, damage reports what was lost

    write    records ──> frames ──> bytes
             sink        framing    (compressed if asked)

    crc32c       the masked checksum of one record or of many
    crc_runs     many checksums checked with one call
    framing      records to frames; check frames
    decoder      a stream of frames to blocks of records, without I/O
    resync       find the next intact record after damage
    stream       RecordStream: read the records of one open file
    damage       skip damage, and report what was lost
    sink         RecordSink: write records to one open file
    shard_set    ShardSet: files that appear together, and which record goes to which
"""
