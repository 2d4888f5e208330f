"""A saved data set as a file of Examples, made while it is read; its schema keeps every dtype and shape."""

from __future__ import annotations

from collections.abc import Generator

from tfrecord_lite.block import Block
from tfrecord_lite.convert.lossless import item_of
from tfrecord_lite.convert.store import stored
from tfrecord_lite.errors import FailedPreconditionError, Reason
from tfrecord_lite.example.encode.columns import encode_lists
from tfrecord_lite.files.names import StorageOptions
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.framing import frame
from tfrecord_lite.saved.folder import SavedData
from tfrecord_lite.saved.read import empty, lists_of, resolve
from tfrecord_lite.schema import Schema

_NO_FEATURES = b"\n\0"


def schema_of_saved(data: SavedData, options: ReadSettings) -> Schema:
    """Return how the Examples of a saved data set are parsed."""
    resolve(data, options)
    items = {c.name: item_of(c.name, empty(c), lossless=True) for c in data.chosen(None)}
    return Schema.of_items(items)


def examples_of(data: SavedData, options: ReadSettings) -> Generator[Block, None, None]:
    """Yield the elements as Examples."""
    schema = schema_of_saved(data, options)
    for n, lists in lists_of(data, options):
        none = [_NO_FEATURES] * n
        yield encode_lists(stored(lists, schema), n) if schema else Block.from_records(none)


class ExampleFile:
    """The Examples of a saved data set, framed: a file that can only be read on."""

    def __init__(self, place: str, storage_options: StorageOptions = None) -> None:
        self.name = place
        settings = ReadSettings(storage_options=storage_options)
        self._blocks = examples_of(SavedData(place, storage_options), settings)
        self._ready = memoryview(b"")
        self._is_closed = False

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, none at the end."""
        if self._is_closed:
            detail = "the file is closed"
            raise FailedPreconditionError(Reason.CLOSED, source=self.name, detail=detail)
        while not self._ready:
            block = next(self._blocks, None)
            if block is None:
                return b""
            self._ready = memoryview(frame(block))
        data, self._ready = self._ready[:n_bytes], self._ready[n_bytes:]
        return data.tobytes()

    def close(self) -> None:
        """Close the file that is being read."""
        self._is_closed = True
        self._blocks.close()
