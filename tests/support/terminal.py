"""Programs that run on a pseudo-terminal, and what the terminal shows."""

import os
import select
import struct
import subprocess
import sys
import time
from typing import NamedTuple

import pytest

pty = pytest.importorskip("pty")  # not on Windows
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")


class Shown(NamedTuple):
    """The outcome of a program on a terminal."""

    status: int
    text: str
    """What it wrote, codes included."""
    out: bytes
    """What it wrote to standard output, if that was a pipe."""


def on_terminal(
    *arguments: object, is_piped: bool = False, seconds: float = 60, **environment: str
) -> Shown:
    """Run Python with arguments on a terminal of 100 columns; maybe with standard output in a pipe."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 40, 100, 0, 0))
    variables = dict(os.environ)
    variables |= {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if is_piped else theirs,
        stderr=theirs,
        env=variables | environment,
    ) as process:
        os.close(theirs)
        sources = [ours] + ([process.stdout.fileno()] if process.stdout is not None else [])
        found: dict[int, bytes] = dict.fromkeys(sources, b"")
        until = time.monotonic() + seconds
        try:
            while sources and time.monotonic() < until:
                for source in select.select(sources, [], [], 1)[0]:
                    data = _read(source)
                    found[source] += data
                    if not data:
                        sources.remove(source)
            status = process.wait(max(until - time.monotonic(), 0.1))
        except BaseException:
            process.kill()
            raise
        finally:
            os.close(ours)
    out = b"".join(found[source] for source in found if source != ours)
    return Shown(status, found[ours].decode(), out)


def _read(source: int) -> bytes:
    try:
        return os.read(source, 65_536)
    except OSError:  # the other end of a terminal is closed
        return b""


def screen(text: str) -> list[str]:
    """Return the lines that a terminal shows in the end, without codes."""
    lines: list[str] = [""]
    row = column = 0
    at = 0
    while at < len(text):
        character = text[at]
        if text.startswith("\x1b[", at):
            stop = at + 2
            while not text[stop].isalpha():
                stop += 1
            if text[stop] == "A":
                row = max(row - int(text[at + 2 : stop] or 1), 0)
            at = stop + 1
            continue
        if character == "\n":
            row += 1
        elif character == "\r":
            column = 0
        else:
            lines += [""] * (row + 1 - len(lines))
            line = lines[row].ljust(column)
            lines[row] = line[:column] + character + line[column + 1 :]
            column += 1
        lines += [""] * (row + 1 - len(lines))
        at += 1
    return [line.rstrip() for line in lines]
