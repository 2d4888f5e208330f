"""How many records files have: by an index, by the lengths of records, or by reading what is compressed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Unpack

from tfrecord_lite.files.names import Source, Sources, expand, is_file_object, name_of
from tfrecord_lite.index.parts import file_marks
from tfrecord_lite.options import ReadOptions, ReadSettings, read_settings
from tfrecord_lite.reader import reader_with


def count_records(paths: Sources, **options: Unpack[ReadOptions]) -> int:
    """Count the records of files.

    The index beside a file has their number. Without one, the lengths of the records are read, but not the data;
    compressed and remote files are read to their ends. Checksums of data are not verified.

    Parameters
    ----------
    paths : str, PathLike, file object, or an iterable of them
        As for :class:`TFRecordReader`.
    **options
        How files are read: :class:`~tfrecord_lite.options.ReadOptions`. With ``on_error="skip"`` intact records
        are counted, for which checksums are verified.

    Raises
    ------
    DataLossError, OSError, InvalidArgumentError
        As :class:`TFRecordReader`.

    Examples
    --------
    >>> _ = save("people@2.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> count_records("people@2.tfrecord")
    3
    """
    settings = read_settings(options)
    return sum(n for _, n in count_each(expand(paths, settings.storage_options), settings))


def count_each(sources: list[Source], settings: ReadSettings) -> Iterator[tuple[Source, int]]:
    """Yield each source with the number of its records."""
    is_strict = not settings.leaves_out
    for source in sources:
        marks = None
        if is_strict and not is_file_object(source):
            marks = file_marks(name_of(source), settings, is_first=False)
        if marks is not None:
            yield source, int(marks.numbers[-1])
            continue
        options = replace(settings, verify=settings.verify and not is_strict)
        with closing(reader_with(source, options).blocks()) as blocks:  # type: ignore[type-var]
            yield source, sum(map(len, blocks))
