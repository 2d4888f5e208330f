"""Remote files read at any offset, by range requests.

::

    frames        [a][b]      [c]               [d]
    requests      [------------]                [-]       neighbours are fetched together

Every request takes tens of milliseconds however little it asks for, so frames with a small gap
between them are fetched by one request, and all requests of a call are made at once, also those to
several files.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import ByteRanges, scatter
from tfrecord_lite.errors import FailedPreconditionError, Reason
from tfrecord_lite.files.remote import as_os_errors, os_error, remote_place, short_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfrecord_lite.arrays import Int64Array, Uint8Array
    from tfrecord_lite.files.names import StorageOptions

MAX_GAP_BYTES = 64 * 1024
"""Frames with at most this many bytes between them are fetched together."""
MAX_REQUEST_BYTES = 8 * 1024 * 1024
"""A request for several frames asks for at most this much."""

_VERSIONS = (
    "ETag",
    "etag",
    "generation",
    "LastModified",
    "Last-Modified",
    "updated",
    "mtime",
    "created",
)
"""Where file systems say which version of a file they have, the best first."""


class RemoteHandle:
    """One remote file; raises as the opening of a local one, and ``UNSUPPORTED`` without ranges."""

    def __init__(self, url: str, storage_options: StorageOptions) -> None:
        self.name = url
        with as_os_errors(url, ValueError, ImportError):
            place = remote_place(url, storage_options)
            info: dict[str, Any] = place[0].info(place[1])
        self.filesystem: Any = place[0]
        self.path: str = place[1]
        if info.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), url)
        if not isinstance(info.get("size"), int) or info.get("partial") is False:
            raise _no_ranges_error(url)
        self._size: int = info["size"]
        self._version = next((str(info[key]) for key in _VERSIONS if info.get(key)), None)

    def size(self) -> int:
        """Return the size in bytes, as of when it was opened."""
        return self._size

    def version(self) -> str | None:
        """Return what tells this content from another; None if the file system does not say."""
        return self._version

    def read(self, n_bytes: int, offset: int) -> bytes:
        """Return the bytes at an offset, fewer only at the end of the file."""
        (data,) = _fetch([(self, offset, min(offset + n_bytes, self._size))])
        return data


@dataclass(frozen=True, slots=True)
class RemoteFrames:
    """Frames of one file that are wanted, in any order; the arrays have the shape (n,)."""

    handle: RemoteHandle
    offsets: Int64Array
    """In the file."""
    sizes: Int64Array
    places: Int64Array
    """Where each frame goes."""


def read_frames(wanted: Sequence[RemoteFrames], out: Uint8Array) -> None:
    """Read frames of several files to their places in `out`; bytes after a file's end are zero."""
    plans = [_requests(each) for each in wanted]
    requests = [
        (each.handle, start, min(stop, each.handle.size()))
        for each, plan in zip(wanted, plans, strict=True)
        for _, start, stop in plan
    ]
    answers = iter(_fetch(requests))
    for each, plan in zip(wanted, plans, strict=True):
        for frames, start, stop in plan:
            data = np.zeros(stop - start, np.uint8)
            answer = np.frombuffer(next(answers), np.uint8)
            data[: answer.size] = answer
            found = ByteRanges(data, each.offsets[frames] - start, each.sizes[frames])
            scatter(out, each.places[frames], found)


def _requests(wanted: RemoteFrames) -> list[tuple[Int64Array, int, int]]:
    """Return what to fetch: the numbers of the frames, the first byte, and the end."""
    order = np.argsort(wanted.offsets, kind="stable")
    starts = wanted.offsets[order].tolist()
    stops = (wanted.offsets[order] + wanted.sizes[order]).tolist()
    edges: list[int] = []  # the first frame of each request
    spans: list[tuple[int, int]] = []
    begin = end = -1
    for i, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        together = begin >= 0 and start <= end + MAX_GAP_BYTES
        if together and (stop <= end or stop - begin <= MAX_REQUEST_BYTES):
            end = max(end, stop)
            spans[-1] = begin, end
        else:
            begin, end = start, stop
            edges.append(i)
            spans.append((begin, end))
    groups = np.split(order, edges[1:]) if edges else []
    return [(group, *span) for group, span in zip(groups, spans, strict=True)]


def _fetch(requests: list[tuple[RemoteHandle, int, int]]) -> list[bytes]:
    """Fetch ranges of bytes, all at once; those of no bytes are not asked for."""
    answers = [b""] * len(requests)
    by_filesystem: dict[int, list[int]] = {}
    for i, (handle, start, stop) in enumerate(requests):
        if start < stop:
            by_filesystem.setdefault(id(handle.filesystem), []).append(i)
    for chosen in by_filesystem.values():
        paths = [requests[i][0].path for i in chosen]
        starts, stops = ([requests[i][edge] for i in chosen] for edge in (1, 2))
        first = requests[chosen[0]][0]
        with as_os_errors(first.name):
            found = first.filesystem.cat_ranges(paths, starts, stops, on_error="return")
        for i, answer in zip(chosen, found, strict=True):
            answers[i] = _checked(answer, *requests[i])
    return answers


def _checked(answer: bytes | Exception, handle: RemoteHandle, start: int, stop: int) -> bytes:
    """Return the answer to a request, if it is what was asked for."""
    if isinstance(answer, Exception):
        raise os_error(answer, handle.name) from answer
    if len(answer) > stop - start:
        raise _no_ranges_error(handle.name)
    if len(answer) < stop - start:
        raise short_error(handle.name, start + len(answer), stop)
    return answer


def _no_ranges_error(url: str) -> FailedPreconditionError:
    detail = (
        "random access needs a server that answers range requests, which this one does not; "
        "download the file, or read it in order"
    )
    return FailedPreconditionError(Reason.UNSUPPORTED, source=url, detail=detail)
