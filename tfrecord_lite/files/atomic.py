"""A file that is written beside its place, and moved there when it is complete.

::

    .name.1f2e3d4c.tmp ──move_to──> name        nobody sees half of it
                       <─move_back─             if others of its set cannot be moved

A :class:`Beside` knows both names, moves the file from one to the other and back, and can
tell where it is when a move was interrupted: every step may be taken again. A local file
moves in one step; a remote store copies, and then removes. What is written to the file, and
when it is complete, is for :class:`tfrecord_lite.files.output.OutputFile` to say.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Protocol

from tfrecord_lite.files.names import remote_place

if TYPE_CHECKING:
    from tfrecord_lite.files.names import StorageOptions


class Beside(Protocol):
    """The name of a file that is written beside its place."""

    def is_taken(self, place: str) -> bool:
        """Whether there is a file at `place`."""

    def move_to(self, place: str) -> None:
        """Put the file at `place`; what was there is gone. Again is fine, after an interrupt."""

    def is_at(self, place: str) -> bool:
        """Whether :meth:`move_to` has put the file at `place`, though it was interrupted then."""

    def move_back(self, place: str) -> None:
        """Give the file its other name again, if :meth:`move_to` has put it at `place`."""

    def remove(self) -> None:
        """Remove the file if it has this name."""


class LocalBeside:
    """A local file, which the system moves in one step.

    Parameters
    ----------
    temporary : str
        Its name until it is in its place; in the same folder.
    """

    def __init__(self, temporary: str) -> None:
        self._temporary = temporary
        self._status: os.stat_result | None = None  # of the file, once it was to be moved

    def is_taken(self, place: str) -> bool:
        """Whether there is a file at `place`, or where it leads as a link."""
        return os.path.lexists(os.path.realpath(place))

    def move_to(self, place: str) -> None:
        """Put the file at `place`, and have the new name on the disk."""
        target = os.path.realpath(place)
        if self._status is None:
            self._status = os.stat(self._temporary)
        try:
            os.replace(self._temporary, target)
        except FileNotFoundError:
            if not self.is_at(place):
                raise
        _sync_directory(os.path.dirname(self._temporary))

    def move_back(self, place: str) -> None:
        """Give the file its other name again, if it is at `place`."""
        if self.is_at(place):
            os.replace(os.path.realpath(place), self._temporary)

    def is_at(self, place: str) -> bool:
        """Whether the file at `place` is this one, unchanged."""
        try:
            found = os.lstat(os.path.realpath(place))
        except FileNotFoundError:
            return False
        status = self._status
        return (
            status is not None
            and os.path.samestat(found, status)
            and (found.st_size, found.st_mtime_ns) == (status.st_size, status.st_mtime_ns)
        )

    def remove(self) -> None:
        """Remove the file if it has its other name."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.remove(self._temporary)


class RemoteBeside:
    """A file of a remote store, which copies it and then removes the old one.

    Parameters
    ----------
    filesystem : fsspec.AbstractFileSystem
        The store.
    temporary : str
        The path in the store until it is in its place.
    """

    def __init__(
        self, filesystem: Any, temporary: str, storage_options: StorageOptions = None
    ) -> None:
        self._filesystem = filesystem
        self._temporary = temporary
        self._storage_options = storage_options
        self._was_there = False

    def _path_of(self, url: str) -> str:
        return remote_place(url, self._storage_options)[1]

    def is_taken(self, place: str) -> bool:
        """Whether there is a file at `place`, a URL."""
        return bool(self._filesystem.exists(self._path_of(place)))

    def move_to(self, place: str) -> None:
        """Put the file at `place`."""
        # A store copies and removes: what was interrupted is done anew while both are there.
        if not self.is_at(place):
            self._was_there = bool(self._filesystem.exists(self._temporary))
            self._filesystem.mv(self._temporary, self._path_of(place))

    def is_at(self, place: str) -> bool:
        """Whether the file is at `place`, and no longer under its other name."""
        is_moved = self._was_there and not self._filesystem.exists(self._temporary)
        return is_moved and self.is_taken(place)

    def move_back(self, place: str) -> None:
        """Give the file its other name again; a copy of it at `place` goes."""
        if self.is_at(place):
            self._filesystem.mv(self._path_of(place), self._temporary)
        elif self._was_there and self.is_taken(place):  # copied, and not removed
            self._filesystem.rm(self._path_of(place))

    def remove(self) -> None:
        """Remove the file if it has its other name."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            self._filesystem.rm(self._temporary)


def _sync_directory(path: str) -> None:
    """Make a new name in a directory as durable as the file's content, where that can be done."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
