"""From arguments to open streams: what all verbs share on the way in."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from contextlib import closing
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

from tfrecord_lite.cli.console import Status
from tfrecord_lite.errors import DataLossError, TFRecordError
from tfrecord_lite.files.compression import CODECS
from tfrecord_lite.files.names import expand, name_of
from tfrecord_lite.records.damage import NEVER_SKIPPED, DamageLog
from tfrecord_lite.records.framing import MAX_RECORD_BYTES
from tfrecord_lite.records.limits import ReadingLimits
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.files.names import Source
    from tfrecord_lite.records.damage import SkippingStream

Records: TypeAlias = "RecordStream | SkippingStream"
"""The records of an open file."""

_COMPRESSIONS = {"auto": None, "none": "", **{name.lower(): name for name in CODECS}}
_ARGUMENT = re.compile(r"pass (max_\w+)= to read (?:more|larger records)")
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
    add_reading_arguments(parser)


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how to read files."""
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
    parser.add_argument(
        "--max-inflated-bytes",
        type=_size_above_nothing,
        metavar="N",
        help="give up a compressed file that becomes larger (default: no limit)",
    )
    parser.add_argument(
        "--max-inflated-ratio",
        type=_ratio,
        metavar="X",
        help="give up a compressed file that becomes more than X times as large as what was read "
        "of it (default: no limit); data rarely reach 50",
    )


def add_skipping_argument(parser: argparse.ArgumentParser) -> None:
    """Declare what to do about damage."""
    parser.add_argument(
        "--skip-damage",
        action="store_true",
        help="go on behind damage with the next sound record, and say at the end what was lost",
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


def _size_above_nothing(text: str) -> int:
    n_bytes = _size(text)
    if not n_bytes:
        raise argparse.ArgumentTypeError("expected more than 0")
    return n_bytes


def _ratio(text: str) -> float:
    with contextlib.suppress(ValueError):
        if (ratio := float(text)) > 0:
            return ratio
    raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")


def limits_of(args: argparse.Namespace) -> ReadingLimits:
    """Return how large records, and what is inflated, may be."""
    return ReadingLimits(args.max_record_bytes, args.max_inflated_bytes, args.max_inflated_ratio)


def compression_of(args: argparse.Namespace) -> str | None:
    """Return the compression that was named; None for none at all."""
    return _COMPRESSIONS[args.compression]


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
            console.complain(text_of(error, file))
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
    limits = limits_of(args)
    for source in sources:
        try:
            stream = RecordStream(
                source,
                compression_of(args),
                max_record_bytes=limits.max_record_bytes,
                limits=limits.inflation,
            )
        except (OSError, ImportError, ValueError) as error:
            console.complain(text_of(error, name_of(source)))
            continue
        try:
            with closing(stream):
                work(stream)
        except (OSError, TFRecordError) as error:
            complain_of(error, name_of(source), console)


def for_each_going_on(
    sources: list[Source],
    args: argparse.Namespace,
    console: Console,
    work: Callable[[Records], None],
) -> None:
    """Do as :func:`for_each`; go on behind damage if asked to, and say at the end what was lost.

    The arguments are declared by :func:`add_skipping_argument` too.
    """
    if not args.skip_damage:
        for_each(sources, args, console, work)
        return
    log = DamageLog("skip", None)
    for_each(sources, args, console, lambda stream: work(log.skipping(stream)))
    report = log.report()
    if report.n_damaged:
        console.complain(worded_detail(report.summary()), Status.DAMAGED)


def complain_of(error: Exception, name: str, console: Console) -> None:
    """Report why a file could not be read, or not to its end."""
    is_damage = isinstance(error, DataLossError) and error.reason not in NEVER_SKIPPED
    console.complain(complaint_of(error, name), Status.DAMAGED if is_damage else Status.FAILED)


def complaint_of(error: Exception, name: str) -> str:
    """Say in one line why a file could not be read, or not to its end."""
    return str(worded(error)) if isinstance(error, DataLossError) else text_of(error, name)


def worded(error: DataLossError) -> DataLossError:
    """Return an error that says what can be done in words of the command line."""
    detail = None if error.detail is None else worded_detail(error.detail)
    return DataLossError(error.reason, error.offset, error.source, error.index, None, detail)


def worded_detail(detail: str) -> str:
    """Return the detail of an error in words of the command line."""
    return _ARGUMENT.sub(lambda found: f"a larger --{found[1].replace('_', '-')} takes it", detail)


def text_of(error: Any, name: str) -> str:
    """Return an error's text in one line, with the file's name in front.

    That is the file which the error is about, if it says so: it may be another one.
    """
    about = getattr(error, "filename", None) or getattr(error, "source", None)
    name = os.fsdecode(about) if isinstance(about, (str, bytes)) else name
    name = name if name.strip() else repr(name)
    reason = getattr(error, "strerror", None)
    if reason:
        return f"{name}: {reason}"
    text = str(error) or type(error).__name__
    return text if name in text else f"{name}: {text}"
