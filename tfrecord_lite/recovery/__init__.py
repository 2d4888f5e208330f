"""Damaged files: what is wrong with them, and what can be saved.

::

    verify     every checksum of many files; optionally, every message
    recover    sound records to a new file, with a report of what was lost
    members    the parts of a damaged compressed file that can still be inflated
"""
