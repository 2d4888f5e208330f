"""Random access: an index of where each record of a file is, and reading any of them.

::

    index      RecordIndex: the extents of a file's records, from a scan or an index file
    handles    files read at any offset: local ones, and URLs by range requests
    parts      parts of files, cut at borders of records, for tasks elsewhere
    file       TFRecordFile: records by number; tf_record_random_reader: by offset
"""
