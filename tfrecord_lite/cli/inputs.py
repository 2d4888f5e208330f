"""From arguments to open streams: what all verbs share on the way in."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import closing
from typing import IO, TYPE_CHECKING, Any, cast

from tfrecord_lite.cli.console import Status
from tfrecord_lite.compression import CODECS
from tfrecord_lite.errors import DataLossError, Reason, TFRecordError
from tfrecord_lite.framing import MAX_RECORD_BYTES
from tfrecord_lite.sources import expand, name_of
from tfrecord_lite.stream import RecordStream

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.sources import Source

__all__ = ["add_arguments", "find", "for_each", "worded"]

_COMPRESSIONS = {"auto": None, "none": "", **{name.lower(): name for name in CODECS}}
_SIZE = re.compile(r"(\d+)([kmgt]?)(?:i?b)?", re.IGNORECASE)


class StandardInput:
    """Standard input as a source: gives what a pipe has, without waiting for more."""

    name = "<stdin>"

    def read(self, n_bytes: int) -> bytes | None:
        """Return the next bytes, at most `n_bytes`; none at the end, None if it would wait."""
        # Not from the buffer, which takes a pipe that does not wait for one that has ended.
        buffer: Any = sys.stdin.buffer
        data: bytes | None = getattr(buffer, "raw", buffer).read(n_bytes)
        return data


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the files and how to read them."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a path, a URL (needs pip install 'tfrecord-numpy[remote]'), a pattern "
        "('data-*.tfrecord'), the shards 'train@10' (train-00000-of-00010 and so on), "
        "or - for standard input",
    )
    parser.add_argument(
        "--compression",
        type=str.lower,
        choices=_COMPRESSIONS,
        default="auto",
        help="auto (the default) tells it from each file's first bytes",
    )
    parser.add_argument(
        "--max-record-bytes",
        type=_size,
        default=MAX_RECORD_BYTES,
        metavar="N",
        help="take a larger record for damage; 64M and the like can be said (default: 2G)",
    )


def _size(text: str) -> int:
    """Read a number of bytes: ``1000``, ``64K``, ``2GiB``; the units are powers of 1,024."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes, such as 1000 or 64M")
    n_bytes = int(match[1]) << 10 * " kmgt".index(match[2].lower() or " ")
    if n_bytes >= 2**64:
        raise argparse.ArgumentTypeError(f"{text} is more than a length can say")
    return n_bytes


def find(args: argparse.Namespace, console: Console) -> list[Source]:
    """List what the arguments name; say of a pattern without matches that it has none."""
    sources: list[Source] = []
    for file in args.files:
        try:
            if file == "-" and sys.stdin is None:
                console.complain("standard input is closed")
                continue
            sources += [cast("IO[bytes]", StandardInput())] if file == "-" else expand(file)
        # ValueError is what file systems behind URLs say of a URL they do not like.
        except (OSError, ImportError, ValueError) as error:
            console.complain(_text_of(error, file))
    return sources


def for_each(
    sources: list[Source],
    args: argparse.Namespace,
    console: Console,
    work: Callable[[RecordStream], None],
) -> None:
    """Open one file after the other and work on it; a failure ends the work on that file only.

    Parameters
    ----------
    sources : list of source
        What :func:`find` found.
    args : Namespace
        With what :func:`add_arguments` declares.
    console : Console
        Where failures are reported and remembered.
    work : callable
        Given the open stream.
    """
    for source in sources:
        try:
            stream = RecordStream(
                source,
                _COMPRESSIONS[args.compression],
                max_record_bytes=args.max_record_bytes,
            )
        except (OSError, ImportError, ValueError) as error:
            console.complain(_text_of(error, name_of(source)))
            continue
        try:
            with closing(stream):
                work(stream)
        except DataLossError as error:
            is_damage = error.reason is not Reason.COMPRESSION
            console.complain(str(worded(error)), Status.DAMAGED if is_damage else Status.FAILED)
        except (OSError, TFRecordError) as error:
            console.complain(_text_of(error, name_of(source)))


def worded(error: DataLossError) -> DataLossError:
    """Return an error that says what can be done in words of the command line."""
    if error.reason is not Reason.RECORD_TOO_LARGE or error.detail is None:
        return error
    detail = error.detail.partition(";")[0] + "; a larger --max-record-bytes takes it"
    return DataLossError(error.reason, error.offset, error.source, error.index, None, detail)


def _text_of(error: Any, name: str) -> str:
    """Return an error's text in one line, with the file's name in front."""
    name = name if name.strip() else repr(name)
    reason = getattr(error, "strerror", None)
    if reason:
        return f"{name}: {reason}"
    text = str(error) or type(error).__name__
    return text if name in text else f"{name}: {text}"
