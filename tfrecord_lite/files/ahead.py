"""Files of a store, fetched in pieces ahead of their reader.

What is held is counted over all files of an iteration, so that small files follow each other
without a pause. The window grows with what was read: a first look fetches little. Files that are
read in turns share it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, cast

from tfrecord_lite.errors import warn_user
from tfrecord_lite.files import names, remote

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tfrecord_lite.files.ranges import Ranges, Requests
PIECE_BYTES = 2 * 1024 * 1024
MAX_BYTES = 32 * 1024 * 1024
"""The default of what is held at most."""
MAX_REQUESTS = 16
"""Under way at a time."""
_GROWTH = 4
"""Bytes that may be held for each byte that was read."""


def share_of(max_bytes: int | None, n_readers: int) -> int:
    """Return how much each of several readers may hold, so that all together hold `max_bytes`."""
    return (MAX_BYTES if max_bytes is None else max_bytes) // max(n_readers, 1)


class ReadAhead:
    """Fetch the files of one iteration ahead of its reader, until it is closed.

    `sources` will be opened, in about this order, `n_at_once` of them read in turns; others can be opened, too. A
    `block_size` among the options is the size of pieces. At most `max_bytes` are held; 0 for nothing.
    """

    def __init__(
        self,
        sources: Sequence[names.Source] = (),
        storage_options: names.StorageOptions = None,
        max_bytes: int | None = None,
        n_at_once: int = 1,
    ) -> None:
        self.storage_options = storage_options
        options = {"block_size": PIECE_BYTES, **(storage_options or {})}
        block = int(options.get("default_block_size", options["block_size"]))
        max_bytes = MAX_BYTES if max_bytes is None else max_bytes
        self._max_bytes = max_bytes if block else 0
        self._n_at_once = n_at_once
        # Several pieces for each file in turns, but not so small that requests cannot be enough.
        n_pieces = max(2 * n_at_once, min(4 * n_at_once, 2 * MAX_REQUESTS))
        self.piece_bytes: int = max(min(block, self._max_bytes // n_pieces), 1)
        self._first_bytes = max(n_at_once, 2) * self.piece_bytes
        self._n_read = 0
        paths = [names.name_of(source) for source in sources if not names.is_file_object(source)]
        self._upcoming = deque(_File(self, path) for path in paths if names.is_url(path))
        self._opened: list[_File] = []
        self._requests: Requests | None = None
        self._pid = os.getpid()
        self._has_warned = False

    def open(self, name: str, *, is_owner: bool = False) -> AheadInput | None:
        """Open a URL; None if ranges of it cannot be read at once. An owner closes this object, too."""
        self._check_process()
        file = next((upcoming for upcoming in self._upcoming if upcoming.name == name), None)
        if file is None:
            file = _File(self, name)
        else:
            while (before := self._upcoming.popleft()) is not file:
                before.move_to(0)
        if not self._max_bytes or not file.has_ranges:
            return None
        file.ask_state()
        self._ask_states()
        if file.state.size is None:
            return None
        self._opened.append(file)
        self._warn()
        return AheadInput(self, file, is_owner=is_owner)

    def release(self, file: _File) -> None:
        """Ask for no more of a file."""
        if file in self._opened:
            self._opened.remove(file)
            file.move_to(0)

    def next_piece(self, file: _File) -> bytes:
        """Return the next piece of a file, and ask for more of all files; b"" at its end."""
        self._check_process()
        file.n_held = 0
        if not file.n_bytes and file.wants_more:
            file.ask_piece()
        self._ask_states()
        self._ask_pieces()
        piece = file.take()
        self._n_read += len(piece)
        self._warn()
        return piece

    def ranges(self, name: str) -> Ranges | None:
        """Return the ranges of a file; None if its file system does not serve them."""
        with remote.as_os_errors(name, ValueError, ImportError):
            # Its state is asked for past what the client keeps.
            place = remote.remote_place(name, self.storage_options, keeps_listings=True)
            if not remote.serves_ranges(place[0]):
                return None
            from tfrecord_lite.files.ranges import Ranges, Requests  # noqa: PLC0415 - loads asyncio

            self._requests = self._requests or Requests()
            return Ranges(*place, name, self._requests)

    @property
    def _window(self) -> int:
        return min(self._first_bytes + _GROWTH * self._n_read, self._max_bytes)

    def _ask_states(self) -> None:
        """Ask for the sizes of the next files, which may be small; errors are raised when they are opened."""
        for file in islice(self._upcoming, MAX_REQUESTS):
            with contextlib.suppress(OSError, ImportError, ValueError):
                if file.has_ranges:
                    file.ask_state()

    def _ask_pieces(self) -> None:
        """Ask for pieces while there is room: of the files in turns, equally, then of the next in order."""
        files = [*self._opened, *islice(self._upcoming, MAX_REQUESTS)]
        n_turns = max(self._n_at_once, len(self._opened))
        n_bytes = sum(file.n_bytes for file in files)
        n_requests = sum(file.n_requests for file in files)
        while n_bytes + self.piece_bytes <= self._window and n_requests < MAX_REQUESTS:
            in_turns = [file for file in files[:n_turns] if file.wants_more]
            others = in_turns or files[n_turns:]
            waiting = [file for file in others if file.is_known and file.wants_more]
            if not waiting:
                break
            file = min(waiting, key=lambda file: file.n_bytes) if in_turns else waiting[0]
            if in_turns and file.n_bytes + self.piece_bytes > self._window // len(in_turns):
                break
            n_bytes += file.ask_piece()
            n_requests += 1

    def _warn(self) -> None:
        refusal = None if self._requests is None else self._requests.refusal
        if refusal is not None and not self._has_warned:
            self._has_warned = True
            text = f"{refusal.filename}: {refusal.strerror}; it was asked again"
            warn_user(text)

    def _check_process(self) -> None:
        """In a fork, begin anew: threads and connections are the parent's."""
        if os.getpid() != self._pid:
            self._pid, self._requests = os.getpid(), None
            for file in (*self._opened, *self._upcoming):
                file.begin_anew()

    def close(self) -> None:
        """End what is under way, and wait until it has ended. May be called twice."""
        self._opened, self._max_bytes = [], 0
        self._upcoming.clear()
        if self._requests is not None and os.getpid() == self._pid:
            self._requests.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


class _File:
    def __init__(self, ahead: ReadAhead, name: str) -> None:
        self.name = name
        self._ahead = ahead
        self._ranges: Ranges | None = None
        self._state: Future[remote.FileState] | None = None
        self._last_state: Future[remote.FileState] | None = None  # asked for with the last piece
        self._pieces: deque[tuple[int, int, Future[bytes]]] = deque()  # from, to, the bytes
        self._asked = 0  # where the next piece begins
        self.stop: int | None = None  # what follows is not read
        self.n_held: int = 0  # bytes of the piece that is read now

    @property
    def has_ranges(self) -> bool:
        self._ranges = self._ranges or self._ahead.ranges(self.name)
        return self._ranges is not None

    def ask_state(self) -> None:
        if self._state is None:
            self._state = self._start("state")

    def _start(self, name: str, *arguments: int) -> Future[Any]:
        return cast("Ranges", self.has_ranges and self._ranges).start(name, *arguments)

    @property
    def state(self) -> remote.FileState:
        self.ask_state()
        with remote.as_os_errors(self.name):
            return cast("Future[remote.FileState]", self._state).result()

    @property
    def is_known(self) -> bool:
        state = self._state
        is_there = state is not None and state.done() and state.exception() is None
        return is_there and self.state.size is not None

    @property
    def size(self) -> int:
        return cast("int", self.state.size)

    @property
    def _end(self) -> int:
        return self.size if self.stop is None else min(self.stop, self.size)

    @property
    def n_bytes(self) -> int:
        return self.n_held + sum(stop - start for start, stop, _ in self._pieces)

    @property
    def n_requests(self) -> int:
        return sum(not answer.done() for _, _, answer in self._pieces)

    @property
    def wants_more(self) -> bool:
        """Whether there is more to ask for, as far as is known."""
        return not self.is_known or self._asked < self._end

    def ask_piece(self) -> int:
        start, end = self._asked, self._end
        self._asked = stop = min(start + self._ahead.piece_bytes, end)
        self._pieces.append((start, stop, self._start("fetch", start, stop)))
        if stop == end:
            self._last_state = self._start("state")
        return stop - start

    def take(self) -> bytes:
        """Return the next piece, b"" at the end; with the last, the file must be what it was."""
        if not self._pieces:
            return b""
        start, stop, answer = self._pieces.popleft()
        try:
            data = answer.result()
            state = None if stop < self._end else self._last_state
            is_same = state is None or state.result() == self.state
        except Exception as error:
            self.move_to(start)
            if not remote.is_passing(error) and self.has_changed():
                raise self.changed_error() from None
            raise remote.os_error(error, self.name, start) from error
        if not is_same:
            raise self.changed_error()
        self.n_held = len(data)
        return data

    def has_changed(self) -> bool:
        with contextlib.suppress(Exception):
            return bool(self._start("state").result() != self.state)
        return False

    def changed_error(self) -> OSError:
        detail = "the file has changed while it was read; read it again"
        return OSError(errno.ESTALE, detail, self.name)

    def move_to(self, offset: int) -> None:
        """Go on at another offset; what was asked for is not awaited."""
        for _, _, answer in self._pieces:
            answer.cancel()
        self._pieces.clear()
        self._asked, self.n_held = offset, 0

    def begin_anew(self) -> None:
        self._ranges = self._last_state = None
        if self._state is not None and not self._state.done():
            self._state = None
        self._asked = self._pieces[0][0] if self._pieces else self._asked
        self._pieces.clear()


class AheadInput:
    """A file of a store, read in order, as any InputFile."""

    rewindable = True

    def __init__(self, ahead: ReadAhead, file: _File, *, is_owner: bool) -> None:
        self.name: str = file.name
        self._ahead = ahead
        self._file = file
        self._is_owner = is_owner
        self._offset = 0
        self._rest = memoryview(b"")  # of the piece

    def _begin(self, n_bytes: int) -> memoryview:
        if not self._rest:
            self._rest = memoryview(self._ahead.next_piece(self._file))
        return self._rest[:n_bytes]

    def _take(self, n_bytes: int) -> None:
        self._rest = self._rest[n_bytes:]
        self._offset += n_bytes

    def readinto(self, view: memoryview) -> int:
        """Read the next bytes into `view`; return how many, 0 at the end."""
        data = self._begin(len(view))
        view[: len(data)] = data
        self._take(len(data))
        return len(data)

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, at most `n_bytes`, none at the end."""
        data = bytes(self._begin(n_bytes))
        self._take(len(data))
        return data

    def peek(self, n_bytes: int) -> bytes:
        """Return the next bytes without taking them, fewer only at the end."""
        while len(self._rest) < n_bytes and (more := self._ahead.next_piece(self._file)):
            self._rest = memoryview(bytes(self._rest) + more)
        return bytes(self._rest[:n_bytes])

    def skip(self, n_bytes: int) -> None:
        """Skip the next bytes, also beyond the end of the file."""
        if n_bytes <= len(self._rest):
            self._take(n_bytes)
        else:
            self._move_to(self._offset + n_bytes)

    def rewind(self) -> None:
        """Go back to the first byte."""
        self._move_to(0)

    def _move_to(self, offset: int) -> None:
        self._offset, self._rest = offset, memoryview(b"")
        self._file.move_to(offset)

    @property
    def size(self) -> int:
        """The size of the file when it was opened."""
        return self._file.size

    def remaining(self) -> int:
        """Return how many bytes follow."""
        return max(self._file.size - self._offset, 0)

    def end_at(self, offset: int | None) -> None:
        """Fetch nothing behind an offset; None for the end of the file."""
        self._file.stop = offset

    def check(self) -> None:
        """Raise if the file is another by now, which may look like damage."""
        if self._file.has_changed():
            raise self._file.changed_error()

    def close(self) -> None:
        """Fetch no more."""
        self._ahead.release(self._file)
        if self._is_owner:
            self._ahead.close()
