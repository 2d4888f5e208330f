"""URLs, through fsspec: file systems, files to read, and the errors of their clients.

Whatever a client raises becomes the :class:`OSError` of a local file, with the URL as its `filename`.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple, TypeVar

from tfrecord_lite.errors import argument_error
from tfrecord_lite.files.urls import is_url

_Answer = TypeVar("_Answer")
_Item = TypeVar("_Item")

MAX_OPENING = 16
"""How many remote files are asked about, or opened, at a time."""


PAUSES = (0.1, 0.3, 1.0, 3.0)
"""Seconds to wait before a request over HTTP is repeated; clients of stores do that themselves."""
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})


def remote_place(
    url: str, storage_options: Mapping[str, Any] | None = None, *, keeps_listings: bool = False
) -> tuple[Any, str]:
    """Return the file system of a URL (fsspec's), and the file's path there.

    What its client keeps of folders is forgotten, as others may have written there, but for one call.
    """
    try:
        import fsspec  # noqa: PLC0415 - optional
    except ImportError:
        raise ImportError("URLs need fsspec: pip install fsspec aiohttp") from None
    try:
        filesystem, path = fsspec.core.url_to_fs(url, **(storage_options or {}))
    except ValueError as error:
        if not str(error).startswith("Protocol not known"):
            raise
        scheme = str(error).partition(": ")[2] or url.partition("://")[0]
        detail = f"no file system for {scheme}:// is known"
        if scheme == "abfss":  # which adlfs makes known
            detail += "; pip install adlfs"
        raise argument_error(detail, source=url) from None
    except ImportError as error:
        cause = error.__cause__ or error
        detail = _missing_package(url) or f"its file system cannot be loaded: {cause}"
        raise ImportError(f"{url}: {detail}", name=getattr(cause, "name", None)) from None
    if "::" in url and not (hasattr(filesystem, "fs") or hasattr(filesystem, "fo")):
        scheme = url.partition("://")[0]
        detail = "'::' begins the URL of what holds the file, "
        raise argument_error(f"{detail}but {scheme}:// is not read from another", source=url)
    if not keeps_listings:
        forget(filesystem)
    return filesystem, path


def forget_listings(urls: Iterable[str], storage_options: Mapping[str, Any] | None) -> None:
    """Have clients forget folders, if they know any; what is wrong with a URL is raised later."""
    stores = {"/".join(url.split("/")[:3]): url for url in urls} if "fsspec" in sys.modules else {}
    for url in stores.values():
        with contextlib.suppress(OSError, ImportError, ValueError):
            remote_place(url, storage_options)


_IN_THREADS = {"hf", "webhdfs"}
"""Schemes of file systems that serve ranges to several threads, and have no coroutines."""
_VERSIONS = [
    *("ETag", "etag", "generation"),
    *("LastModified", "Last-Modified", "updated", "mtime", "created"),
]
"""Where file systems say which version of a file they have, the best first."""


class FileState(NamedTuple):
    """What a store says of a file."""

    size: int | None
    """In bytes; None if ranges of it cannot be read."""
    version: str | None
    """What identifies this content, such as an entity tag; None if nothing does."""

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> FileState:
        """Take it from the `info` of fsspec."""
        size = info.get("size")
        has_ranges = isinstance(size, int) and info.get("partial") is not False
        version = next((str(info[key]) for key in _VERSIONS if info.get(key)), None)
        return cls(size if has_ranges else None, version)


def serves_ranges(filesystem: Any) -> bool:
    """Whether a file system serves several ranges of bytes at once; archives and caches do not."""
    if hasattr(filesystem, "fs"):
        return False
    schemes = filesystem.protocol
    schemes = {schemes} if isinstance(schemes, str) else {*schemes}
    return bool((filesystem.async_impl and not filesystem.asynchronous) or schemes & _IN_THREADS)


def is_http(filesystem: Any) -> bool:
    """Whether a file system is fsspec's of web servers."""
    return "http" in filesystem.protocol


def forget(filesystem: Any, *paths: str) -> None:
    """Have a client forget paths and their folders, by default all, unless its user wants them kept."""
    if not filesystem.storage_options.get("use_listings_cache"):
        parents = [filesystem._parent(path) for path in paths]  # noqa: SLF001 - of all file systems
        for place in (*paths, *parents) or (None,):
            filesystem.invalidate_cache(place)


def is_passing(error: Exception) -> bool:
    """Whether the same request may succeed later: the server is busy, or the line was cut."""
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, Exception):
        return is_passing(error.__cause__)
    status = getattr(error, "status", None)
    if isinstance(status, int):
        return status in _BUSY
    kinds: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)
    if (aiohttp := sys.modules.get("aiohttp")) is not None:
        if isinstance(error, aiohttp.ClientConnectorError):  # nobody answers
            return False
        kinds += (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError)
    return isinstance(error, kinds) and not isinstance(error, ConnectionRefusedError)


_PACKAGES = {"http": "aiohttp", "https": "aiohttp", "sftp": "paramiko", "ssh": "paramiko"}
"""What those file systems need that are part of fsspec; others name their package."""


def _missing_package(url: str) -> str | None:
    from importlib.util import find_spec  # noqa: PLC0415 - for an error

    from fsspec.registry import known_implementations as known  # noqa: PLC0415 - optional

    for scheme in re.findall(r"([A-Za-z][A-Za-z0-9+.\-]*)(?:://|::)", url):
        package = known.get(scheme, {}).get("class", "fsspec").partition(".")[0]
        package = _PACKAGES.get(scheme) if package == "fsspec" else package
        if package is not None and find_spec(package) is None:
            return f"{scheme}:// needs another package: pip install {package}"
    return None


class RemoteFile:
    """The file of a URL, to read; it ends only where its size says.

    `block_bytes` more are fetched than are read; if 0, a web server is asked once, for all of it. With
    `is_fresh` its client forgets what it keeps of it.
    """

    def __init__(
        self,
        url: str,
        storage_options: Mapping[str, Any] | None,
        block_bytes: int | None = None,
        *,
        is_fresh: bool = False,
    ) -> None:
        self.name = url
        options: dict[str, Any] = {}
        with as_os_errors(url, ValueError, ImportError):
            filesystem, path = remote_place(url, storage_options, keeps_listings=True)
            if is_fresh:
                forget(filesystem, path)
            self._is_stream = is_http(filesystem) and block_bytes == 0
            if block_bytes or self._is_stream:
                options["block_size"] = block_bytes
            if is_http(filesystem) and "cache_type" not in filesystem.storage_options:
                options["cache_type"] = "readahead"  # its default fetches bytes twice
            self._filesystem = filesystem  # an archive's closes its files when it goes
            self._file: IO[bytes] = again(lambda: filesystem.open(path, "rb", **options))
            if isinstance(self._file, io.BytesIO):  # of memory://, whose readers share a position
                self._file = io.BytesIO(self._file.getvalue())

    def read(self, n_bytes: int = -1) -> bytes:
        """Return the next bytes, at most `n_bytes`, none at the end of the file."""
        with as_os_errors(self.name):
            read = functools.partial(self._file.read, n_bytes)
            data = read() if self._is_stream else again(read)
        if not data and n_bytes:
            self._check_end()
        return data

    def _check_end(self) -> None:
        """Raise if an answer was too short, which looks like the end."""
        size, position = getattr(self._file, "size", None), self._file.tell()
        if isinstance(size, int) and position < size:
            raise short_error(self.name, position, size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to an offset, as for a local file."""
        with as_os_errors(self.name):
            return self._file.seek(offset, whence)

    def seekable(self) -> bool:
        """Whether it can seek."""
        return not self._is_stream and self._file.seekable()

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def again(request: Callable[[], _Answer]) -> _Answer:
    """Make a request until there is an answer, a bounded number of times."""
    for pause in PAUSES:
        try:
            return request()
        except Exception as error:
            if not is_passing(error):
                raise
        time.sleep(pause)
    return request()


def for_each_file(
    names: Sequence[str], items: Sequence[_Item], work: Callable[[_Item], _Answer]
) -> list[_Answer]:
    """Do something with an item for each file, with several at a time if some are remote."""
    if not any(map(is_url, names)):
        return list(map(work, items))
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only for URLs

    with ThreadPoolExecutor(min(len(items), MAX_OPENING)) as threads:
        return list(threads.map(work, items))


def short_error(url: str, n_bytes: int, size: int) -> OSError:
    """Return the error about an answer that ends too early."""
    detail = f"the answers of the server end at byte {n_bytes:,} of {size:,}; read it again"
    return OSError(errno.EIO, detail, url)


@contextlib.contextmanager
def as_os_errors(url: str, *passed: type[Exception]) -> Iterator[None]:
    """Raise the errors of a client as Python raises errors of a local file, except `passed`."""
    try:
        yield
    except passed:
        raise
    except Exception as error:
        named = os_error(error, url)
        if named is error:
            raise
        raise named from error


_ERRNOS = {
    FileNotFoundError: errno.ENOENT,
    PermissionError: errno.EACCES,
    TimeoutError: errno.ETIMEDOUT,
    BrokenPipeError: errno.EPIPE,
    ConnectionAbortedError: errno.ECONNABORTED,
    ConnectionRefusedError: errno.ECONNREFUSED,
    ConnectionError: errno.ECONNRESET,
}
"""Error numbers of the exceptions that clients raise without one."""
_STATUS_ERRNOS = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}

_MISSING = {
    *("NoSuchKey", "NoSuchBucket", "404"),
    *("BlobNotFound", "ContainerNotFound", "ResourceNotFoundError"),
}
"""How clients of stores report what does not exist, by class or code."""


def os_error(error: Exception, url: str, offset: int | None = None) -> OSError:
    """Return an OSError of the right subclass, with the URL, and the offset if it is known."""
    # fsspec's HTTP client reports any file that it cannot reach as missing; Azure's as a RuntimeError.
    cause = None if isinstance(error.__cause__, KeyError) else error.__cause__  # of an archive
    if isinstance(error, FileNotFoundError | RuntimeError) and isinstance(cause, Exception):
        return os_error(cause, url, offset)
    if isinstance(error, OSError) and error.filename == url:
        return error
    status = getattr(error, "status", None)
    if isinstance(status, int):
        number = _STATUS_ERRNOS.get(status, errno.EIO)
        answer = f"{status} {getattr(error, 'message', '')}".strip()
        detail = f"the server answered {answer}"
    elif isinstance(error, OSError) and error.errno is not None:
        number, detail = error.errno, error.strerror or os.strerror(error.errno)
    elif _is_missing(error) and str(error) in url:  # nothing but the name
        number, detail = errno.ENOENT, os.strerror(errno.ENOENT)
    else:
        number = next((n for kind, n in _ERRNOS.items() if isinstance(error, kind)), errno.EIO)
        number = errno.ENOENT if _is_missing(error) else number
        detail = f"the client of its store failed: {type(error).__name__}: {error}"
    place = "" if offset is None else f", at byte {offset:,}"
    return OSError(number, f"{detail}{place}", url)


def _is_missing(error: Exception) -> bool:
    answer = getattr(error, "response", None)  # of botocore's errors
    code = answer.get("Error", {}).get("Code") if isinstance(answer, dict) else None
    names = {type(error).__name__, code, getattr(error, "error_code", None)}
    return isinstance(error, FileNotFoundError) or not names.isdisjoint(_MISSING)
