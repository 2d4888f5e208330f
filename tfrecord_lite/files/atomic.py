"""A file that is written under a temporary name, and moved to its place when it is complete.

::

    .name.1f2e3d4c.tmp ──move_to──> name        nobody sees half of it
                       <─move_back─             if others of its set cannot be moved

A :class:`TemporaryFile` knows its temporary name, moves the file to its place and back, and can
tell where the file is when a move was interrupted: every step may be repeated. A local file
moves in one step; a remote store copies it, then removes the original. Writing the file, and
deciding when it is complete, is for :class:`tfrecord_lite.files.output.OutputFile`.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Protocol

from tfrecord_lite.files.remote import remote_place

if TYPE_CHECKING:
    from tfrecord_lite.files.names import StorageOptions


class TemporaryFile(Protocol):
    """The temporary name of a file that is to appear complete."""

    def is_taken(self, place: str) -> bool:
        """Whether there is a file at `place`."""

    def move_to(self, place: str) -> None:
        """Move the file to `place`, over any file there; may be repeated after an interrupt."""

    def is_at(self, place: str) -> bool:
        """Whether :meth:`move_to` has moved the file to `place`, even if interrupted then."""

    def move_back(self, place: str) -> None:
        """Give the file its temporary name again, if it is at `place`."""

    def remove(self) -> None:
        """Remove the file if it has its temporary name."""


class LocalTemporary:
    """A local file, which the system moves in one step; `temporary` is in the same folder."""

    def __init__(self, temporary: str) -> None:
        self._temporary = temporary
        self._status: os.stat_result | None = None  # of the file, just before it was first moved

    def is_taken(self, place: str) -> bool:
        """Whether there is a file at `place`, or where it leads as a link."""
        return os.path.lexists(os.path.realpath(place))

    def move_to(self, place: str) -> None:
        """Move the file to `place`, and sync its new name to the disk."""
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
        """Give the file its temporary name again, if it is at `place`."""
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
        """Remove the file if it has its temporary name."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.remove(self._temporary)


class RemoteTemporary:
    """A file of a remote store (`filesystem` is fsspec's), which moves it by copying."""

    def __init__(
        self, filesystem: Any, temporary: str, storage_options: StorageOptions = None
    ) -> None:
        self._filesystem = filesystem
        self._temporary = temporary
        self._storage_options = storage_options
        self._was_there = False  # under its temporary name, just before it was last moved

    def _path_of(self, url: str) -> str:
        return remote_place(url, self._storage_options)[1]

    def is_taken(self, place: str) -> bool:
        """Whether there is a file at `place`, a URL."""
        return bool(self._filesystem.exists(self._path_of(place)))

    def move_to(self, place: str) -> None:
        """Move the file to `place`."""
        # A store copies, then removes: an interrupted move is repeated while both are there.
        if not self.is_at(place):
            self._was_there = bool(self._filesystem.exists(self._temporary))
            self._filesystem.mv(self._temporary, self._path_of(place))

    def is_at(self, place: str) -> bool:
        """Whether the file is at `place`, and no longer under its temporary name."""
        is_moved = self._was_there and not self._filesystem.exists(self._temporary)
        return is_moved and self.is_taken(place)

    def move_back(self, place: str) -> None:
        """Give the file its temporary name again; remove a copy of it at `place`."""
        if self.is_at(place):
            self._filesystem.mv(self._path_of(place), self._temporary)
        elif self._was_there and self.is_taken(place):  # copied, but not removed
            self._filesystem.rm(self._path_of(place))

    def remove(self) -> None:
        """Remove the file if it has its temporary name."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            self._filesystem.rm(self._temporary)


def _sync_directory(path: str) -> None:
    """Sync a directory, so that a new name in it outlives a power cut, where that can be done."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
