"""Small files of text, such as schema files, read whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.errors import argument_error
from tfrecord_lite.files.input import open_input

if TYPE_CHECKING:
    from tfrecord_lite.files.names import StorageOptions

_MOST_BYTES = 256 * 1024 * 1024
_READ_BYTES = 1024 * 1024


def content_of(name: str, storage_options: StorageOptions) -> bytes:
    """Read a whole file, within the limit for schema files; leave out a byte order mark."""
    file = open_input(name, storage_options)
    data = bytearray()
    try:
        while chunk := file.read(_READ_BYTES):
            data += chunk
            if len(data) > _MOST_BYTES:
                detail = f"a schema file must have at most {_MOST_BYTES} bytes"
                raise argument_error(detail, source=name)
    finally:
        file.close()
    return bytes(data).removeprefix(b"\xef\xbb\xbf")
