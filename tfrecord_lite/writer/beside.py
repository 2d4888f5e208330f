"""The sidecar beside a file that is written: brought up to date where records are appended."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tfrecord_lite.described import sidecar
from tfrecord_lite.described.frames import without_numbers
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.example.parse import parser_of_all
from tfrecord_lite.example.sequence.parse import SequenceExampleParser
from tfrecord_lite.files.names import SIDECAR_SUFFIX, companion
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.schema import SequenceSchema

if TYPE_CHECKING:
    from tfrecord_lite.writer.single import End


def describing(name: str) -> sidecar.Sidecar | None:
    """Return the sidecar that describes a file as it is, if there is one."""
    place = companion(name, SIDECAR_SUFFIX)
    try:
        described = sidecar.read(place)
    except (OSError, InvalidArgumentError):
        return None
    return described if described.fingerprint == sidecar.fingerprint_of(name) else None


def extend(name: str, described: sidecar.Sidecar, end: End, compression: str) -> None:
    """Write the sidecar anew for a file that has grown from an end; only the new records are read.

    Raises
    ------
    InvalidArgumentError
        If the new records have other features than the sidecar says; the file is as before.
    """
    place = companion(name, SIDECAR_SUFFIX)
    schema = described.schema
    is_sequence = isinstance(schema, SequenceSchema)
    parse = SequenceExampleParser(*schema) if is_sequence else parser_of_all(schema)
    try:
        with Path(name).open("rb") as file:
            file.seek(end.n_bytes or 0)
            with contextlib.closing(RecordStream(file, ReadSettings(compression))) as stream:
                stream.decoder.begin_at(end.offset, end.n_records)
                while (block := stream.next_block()) is not None:
                    parse(block)
    except InvalidArgumentError as error:
        os.truncate(name, end.n_bytes or 0)
        detail = f"{error.detail}; nothing was appended, since {place} describes the file: remove it, or use another file"
        raise error.at(source=name, detail=detail) from None
    fingerprint, frame = sidecar.fingerprint_of(name), without_numbers(described.dataframe)
    sidecar.write(place, described._replace(fingerprint=fingerprint, dataframe=frame)).commit()
