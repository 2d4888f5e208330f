"""Standard output, standard error and the exit status of one run.

Output goes through :meth:`Console.say`, so that a failure to write it (a closed
pipe, a full disk) is told apart from a failure to read a file: the one ends the
run, the other only the work on that file.
"""

from __future__ import annotations

import contextlib
import os
import sys
from enum import IntEnum


class Status(IntEnum):
    """What a run ends with; the worst of its files counts."""

    SOUND = 0
    DAMAGED = 1  # a file breaks the format
    FAILED = 2  # a file could not be read, or the arguments are wrong
    INTERRUPTED = 130  # 128 + SIGINT
    PIPE_CLOSED = 141  # 128 + SIGPIPE, as a shell reports it of other programs


class OutputError(Exception):
    """Standard output does not take what is written to it."""


class Console:
    """Where a run writes to.

    Attributes
    ----------
    status : Status
        The worst so far.
    """

    def __init__(self) -> None:
        self.status = Status.SOUND
        for stream in (sys.stdout, sys.stderr):
            # File names and texts may hold what the terminal's encoding cannot show.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    @property
    def is_ascii(self) -> bool:
        """Whether standard output may be unable to take some characters as they are."""
        return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") != "utf8"

    def say(self, line: str = "") -> None:
        """Write a line, or several, to standard output.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        if sys.stdout is None:
            raise OutputError
        try:
            sys.stdout.write(line + "\n")
        except OSError as error:
            raise OutputError from error

    def flush(self) -> None:
        """Write out what standard output holds back.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        if sys.stdout is None:  # closed from the start; nothing can have been written
            return
        try:
            sys.stdout.flush()
        except OSError as error:
            raise OutputError from error

    def complain(self, text: str, status: Status = Status.FAILED) -> None:
        """Write one line to standard error and remember the status."""
        self.flush()  # both may go to one place: keep the order
        shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
        _say_error(shown)
        self.worsen(status)

    def worsen(self, status: Status) -> None:
        """Remember a status if it is worse than the one so far."""
        self.status = max(self.status, status)

    def give_up(self, error: OutputError) -> Status:
        """End the run after standard output has failed; quietly if its reader has gone."""
        if sys.stdout is None:
            _say_error("standard output is closed")
            return Status.FAILED
        # The interpreter flushes once more when it exits, and would fail again.
        with contextlib.suppress(OSError):  # standard output need not be a file
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        cause = error.__cause__
        if isinstance(cause, BrokenPipeError):
            return Status.PIPE_CLOSED
        reason = getattr(cause, "strerror", None) or cause
        _say_error(f"standard output: {reason}")
        return Status.FAILED


def _say_error(text: str) -> None:
    if sys.stderr is not None:  # a shell can close that too
        sys.stderr.write(f"tfrecord: {text}\n")
