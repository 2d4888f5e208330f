"""Damaged files: find the damage, and save what is intact.

::

    verify     check every checksum of many files and, if asked, every message
    recover    save intact records to a new file, and report what was lost
    members    read what can be inflated of a damaged compressed file
"""
