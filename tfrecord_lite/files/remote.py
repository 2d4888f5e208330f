"""URLs, through fsspec: file systems, files to read, and the errors of their clients.

Whatever a client raises becomes the :class:`OSError` that Python raises for a local file, with
the URL as its `filename`.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Iterator, Mapping
from typing import IO, Any

from tfrecord_lite.errors import argument_error


def fsspec_module() -> Any:
    """Return the package fsspec; ImportError says how to install it."""
    try:
        import fsspec  # noqa: PLC0415 - optional
    except ImportError:
        detail = "URLs need fsspec: pip install fsspec aiohttp"
        raise ImportError(detail) from None
    return fsspec


def remote_place(url: str, storage_options: Mapping[str, Any] | None = None) -> tuple[Any, str]:
    """Return the file system of a URL (fsspec's), and the file's path there."""
    with _choosing_file_system(url):
        filesystem, path = fsspec_module().core.url_to_fs(url, **(storage_options or {}))
    return filesystem, path


def remote_file(url: str, mode: str, storage_options: Mapping[str, Any] | None) -> Any:
    """Return fsspec's file of a URL, not open yet."""
    with _choosing_file_system(url):
        return fsspec_module().open(url, mode, **(storage_options or {}))


@contextlib.contextmanager
def _choosing_file_system(url: str) -> Iterator[None]:
    """Raise our errors about a URL that no installed file system is for."""
    scheme = url.partition("://")[0]
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("Protocol not known"):
            raise
        raise argument_error(f"no file system for {scheme}:// is known", source=url) from None
    except ImportError as error:
        missing = getattr(error.__cause__, "name", None)
        if missing is None:
            raise
        package = missing.partition(".")[0]
        detail = f"{scheme}:// needs another package: pip install {package}"
        raise ImportError(f"{url}: {detail}", name=missing) from None


class RemoteFile:
    """The file of a URL, to read; it ends only where its size says."""

    def __init__(self, url: str, storage_options: Mapping[str, Any] | None) -> None:
        self.name = url
        with as_os_errors(url, ValueError, ImportError):
            self._file: IO[bytes] = remote_file(url, "rb", storage_options).open()

    def read(self, n_bytes: int = -1) -> bytes:
        """Return the next bytes, at most `n_bytes`, none at the end of the file."""
        with as_os_errors(self.name):
            data = self._file.read(n_bytes)
        if not data and n_bytes:
            self._check_end()
        return data

    def _check_end(self) -> None:
        """Raise if an answer was shorter than it should be, which looks like the end."""
        size, position = getattr(self._file, "size", None), self._file.tell()
        if isinstance(size, int) and position < size:
            raise short_error(self.name, position, size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to an offset, as for a local file."""
        with as_os_errors(self.name):
            return self._file.seek(offset, whence)

    def seekable(self) -> bool:
        """Whether it can seek."""
        return self._file.seekable()

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def short_error(url: str, n_bytes: int, size: int) -> OSError:
    """Return the error about an answer that ends too early."""
    detail = f"the answers of the server end at byte {n_bytes:,} of {size:,}; read it again"
    return OSError(errno.EIO, detail, url)


@contextlib.contextmanager
def as_os_errors(url: str, *passed: type[Exception]) -> Iterator[None]:
    """Raise the errors of a client as Python raises those of a local file, except `passed`."""
    try:
        yield
    except passed:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise os_error(error, url) from error


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
"""Error numbers of HTTP's status codes; of any other, EIO."""


def os_error(error: Exception, url: str) -> OSError:
    """Return an OSError with the URL; Python chooses its subclass by the number."""
    # To fsspec's HTTP client a file that it cannot reach is missing, whatever the reason.
    cause = error.__cause__
    if isinstance(error, FileNotFoundError) and isinstance(cause, Exception):
        return os_error(cause, url)
    status = getattr(error, "status", None)
    if isinstance(status, int):
        number = _STATUS_ERRNOS.get(status, errno.EIO)
        answer = f"{status} {getattr(error, 'message', '')}".strip()
        return OSError(number, f"the server answered {answer}", url)
    if isinstance(error, OSError) and error.errno is not None:
        return OSError(error.errno, error.strerror, url)
    if isinstance(error, FileNotFoundError) and str(error) in url:  # nothing but the name
        return OSError(errno.ENOENT, os.strerror(errno.ENOENT), url)
    number = next((n for kind, n in _ERRNOS.items() if isinstance(error, kind)), errno.EIO)
    detail = f"the remote file could not be read: {type(error).__name__}: {error}"
    return OSError(number, detail, url)
