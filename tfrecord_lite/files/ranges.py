"""Ranges of bytes of files in a store: who serves them, and how they are asked for, again if need be.

A store's own client asks again when a server is busy or drops a connection; over HTTP nobody does
but this module, a few times, with growing pauses. Everything runs as coroutines on fsspec's loop,
also the calls of a file system that has none, each in a thread.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol, TypeVar

from tfrecord_lite.files import remote
from tfrecord_lite.files.remote import forget, fsspec_module, is_http, os_error, short_error

_Answer = TypeVar("_Answer")

_IN_THREADS = frozenset({"hf", "webhdfs"})
"""Schemes of file systems without coroutines that serve ranges."""
_VERSIONS = [
    "ETag",
    "etag",
    "generation",
    "LastModified",
    "Last-Modified",
    "updated",
    "mtime",
    "created",
]
"""Where file systems say which version of a file they have, the best first."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What a store says of a file."""

    size: int | None
    """In bytes; None if ranges of it cannot be read."""
    version: str | None
    """What tells this content from another, an entity tag for instance; None if nothing is said."""

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> FileState:
        """Take it from what fsspec says."""
        size = info.get("size")
        has_ranges = isinstance(size, int) and info.get("partial") is not False
        version = next((str(info[key]) for key in _VERSIONS if info.get(key)), None)
        return cls(size if has_ranges else None, version)


def serves_ranges(filesystem: Any, *, is_asked: bool) -> bool:
    """Whether ranges can be asked for at once; `is_asked` if the user says so.

    Not of file systems that stand on others, such as archives and caches: these are to be used.
    """
    if hasattr(filesystem, "fs"):
        return False
    if filesystem.async_impl:
        return not filesystem.asynchronous
    schemes = filesystem.protocol
    return is_asked or not _IN_THREADS.isdisjoint(
        [schemes] if isinstance(schemes, str) else schemes
    )


class Notice(Protocol):
    """Whoever reads ranges: it has the threads, and is told why a request was made again."""

    refusal: OSError | None

    def threads(self) -> Executor:
        """Return threads for a file system without coroutines."""


class Ranges:
    """One file of a file system that serves ranges; its methods run on `loop`."""

    def __init__(self, filesystem: Any, path: str, url: str, reader: Notice) -> None:
        self._filesystem = filesystem
        self._path = path
        self._url = url
        self._reader = reader
        is_async = filesystem.async_impl
        self.loop: Any = filesystem.loop if is_async else fsspec_module().asyn.get_loop()

    async def state(self) -> FileState:
        """Ask what the file is now, past what the client keeps."""
        if is_http(self._filesystem):
            return await self._again(self._state_by_http)
        forget(self._filesystem, self._path)
        info = await self._call("info", self._path)
        if info.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self._url)
        return FileState.of(info)

    async def _state_by_http(self) -> FileState:
        """Ask for the first byte: a server may have ranges without saying so, or say so without."""
        filesystem = self._filesystem
        session = await filesystem.set_session()
        url, options = filesystem.encode_url(self._path), self._http_options({"Range": "bytes=0-0"})
        async with session.get(url, **options) as answer:
            length = re.search(r"/(\d+)$", answer.headers.get("Content-Range", ""))
            size = None if length is None else int(length[1])
            if size != 0:  # of which there is no first byte
                answer.raise_for_status()
                size = size if answer.status == HTTPStatus.PARTIAL_CONTENT else None
            return FileState(
                size, answer.headers.get("ETag") or answer.headers.get("Last-Modified")
            )

    def _http_options(self, headers: dict[str, str]) -> dict[str, Any]:
        """Return the user's options of a request, with more headers; ranges are of the content as stored."""
        options = self._filesystem.kwargs
        headers = {**options.get("headers", {}), "Accept-Encoding": "identity", **headers}
        return {**options, "headers": headers}

    async def fetch(self, start: int, stop: int) -> bytes:
        """Return the bytes from one offset to another."""
        data: bytes
        fetch = functools.partial(self._call, "cat_file", self._path, start, stop)
        if is_http(self._filesystem):
            headers = self._http_options({})["headers"]
            data = await self._again(functools.partial(fetch, headers=headers))
        elif self._filesystem.async_impl:
            data = await fetch()
        else:
            data = await fetch(cache_type="none")
        if len(data) < stop - start:
            raise short_error(self._url, start + len(data), stop)
        if len(data) > stop - start:
            detail = "the server answers with other bytes than it was asked for"
            raise OSError(errno.EIO, detail, self._url)
        return data

    async def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the file system."""
        if self._filesystem.async_impl:
            return await getattr(self._filesystem, f"_{name}")(*arguments, **options)
        call = functools.partial(getattr(self._filesystem, name), *arguments, **options)
        return await self.loop.run_in_executor(self._reader.threads(), call)

    async def _again(self, request: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Make a request until there is an answer, a bounded number of times."""
        for pause in remote.PAUSES:
            try:
                return await request()
            except Exception as error:
                if not remote.is_passing(error):
                    raise
                self._reader.refusal = os_error(error, self._url)
            await asyncio.sleep(pause)
        return await request()
