"""Standard output, standard error and the exit status of one run.

Output goes through :meth:`Console.say`, which tells a failure to write it (a closed pipe,
a full disk) from a failure to read a file: the first ends the run, the second only the
work on that file.
"""

from __future__ import annotations

import contextlib
import os
import sys
from enum import IntEnum

from tfrecord_lite.cli.formatting import json_line, printable


class Status(IntEnum):
    """The exit status of a run; the worst file decides."""

    INTACT = 0
    DAMAGED = 1  # a file breaks the format
    FAILED = 2  # a file could not be read, or the arguments are wrong
    INTERRUPTED = 130  # 128 + SIGINT
    PIPE_CLOSED = 141  # 128 + SIGPIPE, as a shell reports it for other programs


class OutputError(Exception):
    """Standard output could not be written."""


class Console:
    """The output of one run, and its worst status so far."""

    def __init__(self) -> None:
        self.status: Status = Status.INTACT
        for stream in (sys.stdout, sys.stderr):
            # File names and texts may hold what the terminal's encoding cannot show.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    def say(self, line: str = "") -> None:
        """Write one or more lines to standard output, or raise OutputError."""
        if sys.stdout is None:
            raise OutputError
        try:
            sys.stdout.write(line + "\n")
        except OSError as error:
            raise OutputError from error

    def say_json(self, value: object) -> None:
        """Write a value as JSON on one line, with escapes unless standard output is UTF-8."""
        encoding = getattr(sys.stdout, "encoding", None) or ""
        is_utf8 = encoding.lower().replace("-", "") == "utf8"
        self.say(json_line(value, is_ascii=not is_utf8))

    def flush(self) -> None:
        """Flush standard output, or raise OutputError."""
        if sys.stdout is None:  # closed from the start, so nothing can have been written
            return
        try:
            sys.stdout.flush()
        except OSError as error:
            raise OutputError from error

    def complain(self, text: str, status: Status = Status.FAILED) -> None:
        """Write one line to standard error, and remember the status."""
        self.flush()  # both may go to one place: keep the order
        _say_error(printable(text))
        self.worsen(status)

    def worsen(self, status: Status) -> None:
        """Remember a status if it is worse than the one so far."""
        self.status = max(self.status, status)

    def give_up(self, error: OutputError) -> Status:
        """End the run after standard output has failed; silently if its reader has gone."""
        if sys.stdout is None:
            _say_error("standard output is closed")
            return Status.FAILED
        # The interpreter flushes once more when it exits, and would fail again.
        with contextlib.suppress(OSError):  # standard output need not be a file
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, sys.stdout.fileno())
            os.close(devnull)
        cause = error.__cause__
        if isinstance(cause, BrokenPipeError):
            return Status.PIPE_CLOSED
        reason = getattr(cause, "strerror", None) or cause
        _say_error(f"standard output: {reason}")
        return Status.FAILED


def _say_error(text: str) -> None:
    if sys.stderr is not None:  # a shell can close that too
        sys.stderr.write(f"tfrecord: {text}\n")
