"""Ranges of bytes of files in a store: who serves them, and how they are asked for, again if need be.

A store's own client repeats a request when a server is busy or drops a connection; over HTTP only
this module does, with growing pauses. Everything runs as coroutines on fsspec's loop, also the calls
of a file system that has none, each in a thread.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import os
import re
import sys
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, TypeVar, cast

from tfrecord_lite.files import remote

_Answer = TypeVar("_Answer")

_N_THREADS = 16


class Requests:
    """Coroutines under way for one reader, on the loops of file systems."""

    def __init__(self) -> None:
        self._loops: set[Any] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._threads: ThreadPoolExecutor | None = None
        self.refusal: OSError | None = None  # why the last one was made again

    def start(self, loop: Any, coroutine: Coroutine[Any, Any, _Answer]) -> Future[_Answer]:
        """Run a coroutine on a loop."""
        self._loops.add(loop)
        return asyncio.run_coroutine_threadsafe(self._tracked(coroutine), loop)

    async def _tracked(self, coroutine: Coroutine[Any, Any, _Answer]) -> _Answer:
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._tasks.add(task)
        try:
            return await coroutine
        finally:
            self._tasks.discard(task)

    @property
    def threads(self) -> ThreadPoolExecutor:
        """Threads for a file system without coroutines."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_N_THREADS)
        return self._threads

    def close(self) -> None:
        """End all, and wait until they have ended."""
        if sys.is_finalizing():  # the threads of the loops are gone
            return
        loops, self._loops = self._loops, set()
        for loop in loops:
            stopped = asyncio.run_coroutine_threadsafe(self._stop(loop), loop)
            if loop is not _running_loop():  # which would wait for itself
                stopped.result()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    async def _stop(self, loop: Any) -> None:
        tasks = [task for task in self._tasks if task.get_loop() is loop]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _running_loop() -> Any:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Ranges:
    """One file of a file system that serves ranges; its coroutines run on the file system's loop."""

    def __init__(self, filesystem: Any, path: str, url: str, requests: Requests) -> None:
        self._filesystem = filesystem
        self._path = path
        self._url = url
        self._requests = requests
        from fsspec.asyn import get_loop  # noqa: PLC0415 - optional

        self._loop: Any = filesystem.loop if filesystem.async_impl else get_loop()

    def start(self, name: str, *arguments: int) -> Future[Any]:
        """Run a coroutine of this object."""
        return self._requests.start(self._loop, getattr(self, name)(*arguments))

    async def state(self) -> remote.FileState:
        """Return what the file is now, past what the client keeps."""
        if remote.is_http(self._filesystem):
            return await self._again(self._state_by_http)
        remote.forget(self._filesystem, self._path)
        info = await self._call("info", self._path)
        if info.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self._url)
        return remote.FileState.of(info)

    async def _state_by_http(self) -> remote.FileState:
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
            version = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
            return remote.FileState(size, version)

    def _http_options(self, headers: dict[str, str]) -> dict[str, Any]:
        """Return the user's options of a request, with more headers; ranges are of the content as stored."""
        options = self._filesystem.kwargs
        headers = {**options.get("headers", {}), "Accept-Encoding": "identity", **headers}
        return {**options, "headers": headers}

    async def fetch(self, start: int, stop: int) -> bytes:
        """Return the bytes from one offset to another."""
        data: bytes
        fetch = functools.partial(self._call, "cat_file", self._path, start=start, end=stop)
        if remote.is_http(self._filesystem):
            headers = self._http_options({})["headers"]
            data = await self._again(functools.partial(fetch, headers=headers))
        elif self._filesystem.async_impl:
            data = await fetch()
        else:
            data = await fetch(cache_type="none")
        if len(data) < stop - start:
            raise remote.short_error(self._url, start + len(data), stop)
        if len(data) > stop - start:
            detail = "the server answers with other bytes than it was asked for"
            raise OSError(errno.EIO, detail, self._url)
        return data

    async def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        if self._filesystem.async_impl:
            return await getattr(self._filesystem, f"_{name}")(*arguments, **options)
        call = functools.partial(getattr(self._filesystem, name), *arguments, **options)
        return await self._loop.run_in_executor(self._requests.threads, call)

    async def _again(self, request: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Make a request until there is an answer, a bounded number of times."""
        for pause in remote.PAUSES:
            try:
                return await request()
            except Exception as error:
                if not remote.is_passing(error):
                    raise
                self._requests.refusal = remote.os_error(error, self._url)
            await asyncio.sleep(pause)
        return await request()
