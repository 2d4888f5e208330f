"""Records in files: frames to blocks of records and back, damage included.

::

    crc32c       the masked checksum of one record or of many
    crc_combine  many checksums checked with one call
    framing      records to frames; check frames
    decoder      a stream of frames to blocks of records, without I/O
    resync       find the next intact record after damage
    options      ReadOptions: the keywords of readers, checked
    stream       RecordStream: read the records of one open file
    damage       skip damage, and report what was lost
    sink         RecordSink: write records to one open file
"""
