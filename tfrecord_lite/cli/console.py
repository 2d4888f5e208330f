"""Standard output, standard error and the exit status of one run; sizes, lines of JSON and columns as verbs print them.

A failure to write output (a closed pipe, a full disk) ends the run; a failure to read a file ends the work on it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterable, Sequence
from enum import IntEnum
from itertools import zip_longest
from typing import Any

from tfrecord_lite.cli.words import shell_text
from tfrecord_lite.errors import argument_error
from tfrecord_lite.progress import bars_hidden, is_terminal
from tfrecord_lite.texts import human_bytes, plural, printable


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
        self.verb: str = ""
        self.after_damage: str = ""
        """The end of an error about damage: what goes on."""
        encoding = getattr(sys.stdout, "encoding", None) or ""
        self.is_utf8: bool = encoding.lower().replace("-", "") == "utf8"
        for stream in (sys.stdout, sys.stderr):
            # File names and texts may hold what the terminal's encoding cannot show.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    def say(self, line: str = "") -> None:
        """Write one line to standard output, control characters as escapes, or raise OutputError."""
        if sys.stdout is None:
            raise OutputError
        try:
            with bars_hidden(sys.stdout):
                sys.stdout.write(printable(line) + "\n")
        except OSError as error:
            raise OutputError from error

    def say_lines(self, lines: Iterable[str]) -> None:
        """Write lines to standard output, or raise OutputError."""
        for line in lines:
            self.say(line)

    def open_output(self, *, is_text: bool) -> Any:
        """Return standard output as a binary file, on a terminal without control characters, or raise."""
        if sys.stdout is None:
            raise OutputError
        self.flush()
        if not is_terminal(sys.stdout):
            return sys.stdout.buffer
        if not is_text:
            detail = "it is a terminal; redirect it, or name a file"
            raise argument_error(detail, source="standard output")
        return _Escaped(self)

    def say_json(self, value: object) -> None:
        """Write a value as JSON on one line, with escapes unless standard output is UTF-8."""
        self.say(json_line(value, is_ascii=not self.is_utf8))

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
        self.note(text)
        self.worsen(status)

    def note(self, text: str) -> None:
        """Write one line to standard error."""
        self.flush()  # both may go to one place: keep the order
        _say_error(shell_text(text, self.verb))

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
        _say_error(f"standard output: {getattr(cause, 'strerror', None) or cause}")
        return Status.FAILED


class _Escaped(io.RawIOBase):
    """A terminal as a binary file: takes lines of text, and escapes what controls a terminal."""

    name = "<stdout>"

    def __init__(self, console: Console) -> None:
        self._console = console
        self._rest = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        *lines, self._rest = (self._rest + bytes(data)).split(b"\n")
        for line in lines:
            self._console.say(line.removesuffix(b"\r").decode(errors="backslashreplace"))
        return len(data)


def _say_error(text: str) -> None:
    if sys.stderr is None:  # a shell can close that too
        return
    with bars_hidden(sys.stderr):
        sys.stderr.write(f"tfrecord: {printable(text)}\n")


# ---------------------------------------------------------------------------------- texts


def exact_bytes(n_bytes: int) -> str:
    """Return a size in bytes, and in the unit that suits it.

    >>> exact_bytes(523), exact_bytes(53_869)
    ('523 bytes', '53,869 bytes (52.6 KiB)')
    """
    exact = plural(n_bytes, "byte")
    return exact if n_bytes < 1024 else f"{exact} ({human_bytes(n_bytes)})"


def terminal_width() -> int:
    """Return the characters of a line; shutil, which has this too, takes longer to import than reading a short file."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    with contextlib.suppress(OSError):  # not a terminal
        return os.get_terminal_size().columns or 100
    return 100


def json_line(value: object, *, is_ascii: bool) -> str:
    r"""Return a value as JSON on one line, with ``\u`` escapes for what cannot be printed.

    If only ASCII is safe, all else is an escape too.

    >>> json_line("tab: \t, \x9b", is_ascii=False)
    '"tab: \\t, \\u009b"'
    """
    text = json.dumps(value, ensure_ascii=is_ascii, allow_nan=False)
    return text if text.isprintable() else "".join(map(_json_character, text))


def _json_character(character: str) -> str:
    if character.isprintable():
        return character
    return r"\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


def ragged_notes(names: Iterable[str]) -> list[str]:
    """Return a line about the features that TFDS stores as values and lengths, if there are any.

    >>> ragged_notes(["id", "steps/a/ragged_flat_values", "steps/a/ragged_row_lengths_0"])
    ['steps/a: nested lists of TFDS, as all values and the lengths of the rows; sql and convert have lists of lists']
    """
    end = "/ragged_flat_values"
    nested = ", ".join(name.removesuffix(end) for name in names if name.endswith(end))
    text = "nested lists of TFDS, as all values and the lengths of the rows; sql and convert have lists of lists"
    return [f"{nested}: {text}"] if nested else []


def aligned(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Lay out rows, of any lengths, in columns with ``<`` or ``>`` for each.

    >>> aligned([("a", "10", "x"), ("long", "9", "")], "<><")
    ['a     10  x', 'long   9']
    """
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    lines = []
    for row in rows:
        cells = zip(row, alignment, widths, strict=False)
        lines.append("  ".join(f"{text:{side}{width}}" for text, side, width in cells).rstrip())
    return lines
