"""From arguments to open files: the arguments that verbs share, the loop over files, and what is said of errors.

An argument has the name of its keyword in Python (``--max-record-bytes``), so errors of the library say what to do
here too.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib import import_module
from itertools import islice
from typing import IO, Any, TypeAlias, cast

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.endings import ending_of, format_of
from tfrecord_lite.cli.console import Console, Status
from tfrecord_lite.errors import DamagedSpan, DamageReport, DataLossError, argument_error
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.progress import metered, title_of, total_bytes
from tfrecord_lite.reader import check_message_class

Records: TypeAlias = "ext.RecordStream | ext.SkippingStream"
"""The records of an open file, either to the first damage or past all of it."""
Work: TypeAlias = Callable[[Records, Callable[[], None]], None]

CODEC_WORDS = ("none", *(name.lower() for name in ext.CODECS))
INNER_CODECS = ("snappy", "lz4", "brotli")
"""What Parquet and Arrow files may also use inside."""
MAX_LINES = 20
"""How many damaged places, or dropped records, of a file are shown unless all are asked for."""
_NUMBER = re.compile(r"\d+(?=(-of-\d+)?\D*$)")
"""The number of a file among others that are named like it."""
_SIZE = re.compile(r"(\d+)(?:([kmgt])(i?))?b?", re.IGNORECASE)


class Pipe(io.BufferedReader):
    """A pipe, which is closed when nothing reads it any more."""

    def __del__(self) -> None:
        """Close it without the warning about files that are left open."""
        self.close()


class _StandardInput:
    """Standard input as a source: returns what a pipe has, without waiting for more."""

    name = "<stdin>"

    def read(self, n_bytes: int) -> bytes | None:
        """Return up to `n_bytes` bytes, empty at the end; None if it would have to wait."""
        # Not from the buffer, which treats an empty non-blocking pipe as one that has ended.
        buffer: Any = sys.stdin.buffer
        return getattr(buffer, "raw", buffer).read(n_bytes)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------ arguments


def add(parser: Any, spec: str, text: str, kind: Any = None, **more: Any) -> None:
    """Declare an argument: a flag as ``--json``, an option as ``-o/--output DIR``, others as ``source SRC``."""
    names, _, metavar = spec.partition(" ")
    if metavar:
        more["metavar"] = metavar
    if kind is not None:
        more["type"] = kind
    if not metavar and "choices" not in more:
        more.setdefault("action", "store_true")
    parser.add_argument(*names.split("/"), help=text, **more)


def add_files(parser: argparse.ArgumentParser, *, can_skip: bool = True) -> None:
    """Declare the files, and how to read them."""
    text = "a path, URL, pattern in quotes, shards as train@10, directory of TFDS, or - for standard input"
    add(parser, "files FILE", text, nargs="+")
    add_reading(parser, can_skip=can_skip)


def add_reading(parser: argparse.ArgumentParser, *, can_skip: bool = False) -> None:
    """Declare how to read files; the help of all verbs explains it."""
    text = argparse.SUPPRESS
    if can_skip:
        add(parser, "--skip-damage", text)
    add(parser, "--compression NAME", text, compression, choices=[*CODEC_WORDS, "infer"])
    parser.set_defaults(compression="infer")
    add(parser, "--max-record-bytes N", text, size)
    add(parser, "--max-inflated-bytes N", text, positive_size)
    add(parser, "--max-inflated-ratio X", text, number("a number above 0", lambda x: x > 0))


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the keywords of readers for the arguments; skipped damage is only reported."""
    names = ("compression", "max_record_bytes", "max_inflated_bytes", "max_inflated_ratio")
    options = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if getattr(args, "skip_damage", False):
        options["on_error"] = skip_quietly
    if getattr(args, "drop_bad", False):
        options["on_misfit"] = skip_quietly
    return options


def skip_quietly(span: object) -> None:
    """Skip damage, which a report has in the end; processes can load this function."""


def settings_of(args: argparse.Namespace) -> ReadSettings:
    """Return the settings of readers for the arguments."""
    return ReadSettings(**read_options(args))


def add_json(parser: Any, what: str = "JSON objects, one per line") -> None:
    """Declare that the output is for programs."""
    add(parser, "--json", f"print {what}")


def add_drop_bad(parser: Any) -> None:
    """Declare that records that do not fit are left out."""
    add(parser, "--drop-bad", "leave out records that do not fit the schema, and list them")


def add_overwrite(parser: Any, what: str = "files that exist") -> None:
    """Declare that files may be replaced."""
    add(parser, "--overwrite", f"replace {what}")


def add_lossless(parser: Any) -> None:
    """Declare that TFRecords are to keep every bit."""
    text = "keep every bit in TFRecords: float64 as byte strings, by default as float32"
    add(parser, "--lossless", text)


def note_rounded(names: Iterable[str], console: Console) -> None:
    """Name the columns in which float64 was rounded, if there are any."""
    if columns := ", ".join(map(repr, names)):
        console.note(f"float64 was rounded to float32 in {columns}; --lossless keeps every bit")


def add_limit(parser: Any, what: str, default: int | None = None, *, at_least: int = 1) -> None:
    """Declare how many records or rows there are at most."""
    add(parser, "-n/--limit N", what, count_of("records", at_least=at_least), default=default)


def add_output_compression(parser: Any, what: str, *others: str) -> None:
    """Declare the compression of what is written: one of ours, or of `others`."""
    choices = [*CODEC_WORDS, *others]
    text = f"{what}: {', '.join(choices)} (default: by the ending of its name)"
    add(parser, "--output-compression NAME", text, compression, choices=choices)


def add_jobs(parser: Any, noun: str) -> None:
    """Declare how many threads work."""
    text = f"check N {noun} at a time (default: one per processor)"
    add(parser, "--jobs N", text, count_of(noun))


def add_seed(parser: Any, what: str, default: int | None = None) -> None:
    """Declare the seed of what is drawn."""
    add(parser, "--seed N", what, seed, default=default)


def add_memory(parser: Any, what: str) -> None:
    """Declare how much memory to use."""
    text = f"how much memory to use for {what} (default: 1GiB)"
    add(parser, "--memory SIZE", text, positive_size, default=1024**3)


def add_shards(group: Any) -> Any:
    """Declare how many files to write; return the group, to add other ways to say so."""
    shards = group.add_mutually_exclusive_group()
    add(shards, "--num-shards N", "write N files", count_of("shards"))
    add(shards, "--bytes-per-shard SIZE", "write files of about this size, as 200MB", positive_size)
    return shards


def add_columns(parser: Any, what: str) -> None:
    """Declare a choice of features."""
    add(parser, "--columns A,B", what, names, action="extend")


def add_schema(group: Any, parser: Any) -> None:
    """Declare in a group the schema, and how many records it is inferred from."""
    add(group, "--schema SCHEMA", "a schema file (default: the sidecar beside a file, or inferred)")
    text = "records from which a schema is inferred (default: 10000)"
    add(parser, "--sample N|all", text, sample_size, default=10_000)


def add_text(group: Any, *, default: bool) -> None:
    """Declare which byte strings are text."""
    usual = "all that look so" if default else "none"
    text = f"columns of byte strings in TFRecords that are text (default: {usual})"
    add(group, "--text all|NAME,...", text, text_columns, default=default)
    add(group, "--no-text", "leave byte strings as they are", dest="text", action="store_false")


def text_columns(text: str) -> bool | list[str]:
    """Parse which columns are text."""
    return text == "all" or names(text)


def add_message(parser: Any) -> None:
    """Declare the class of messages of another type."""
    text = "the protobuf class of the records, as waymo_open_dataset.dataset_pb2:Frame"
    add(parser, "--message MODULE:CLASS", text, message_class)


def message_class(text: str) -> Any:
    """Import a protobuf class, also from the working directory."""
    module, _, name = text.partition(":") if ":" in text else text.rpartition(".")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        member: Any = import_module(module)
        for part in name.split("."):
            member = getattr(member, part)
        check_message_class(member)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        detail = f"{text!r} is not a protobuf class, given as package.module:Class: {error}"
        if module.endswith(".proto"):
            compiled = f"{module.removesuffix('.proto').replace('/', '.')}_pb2"
            detail += f"; compile it with protoc first, and name the module {compiled}"
        elif isinstance(error, ModuleNotFoundError) and module.startswith(error.name or module):
            file = f"{module.replace('.', '/')}.py"
            detail += f"; run it in the folder of {file}, or set PYTHONPATH"
        raise argparse.ArgumentTypeError(detail) from None
    return member


def compression(text: str) -> str:
    """Return the usual word for a compression: ``gzip`` for ``gz``, ``GZIP`` or ``Gzip``."""
    word = text.lower()
    return ext.COMPRESSION_WORDS[word].lower() or "none" if word in ext.COMPRESSION_WORDS else word


def names(text: str) -> list[str]:
    """Parse names with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def size(text: str) -> int:
    """Parse a number of bytes: ``1000``, ``200MB`` or ``200M`` (powers of 1,000), ``64MiB`` (of 1,024)."""
    match = _SIZE.fullmatch(text)
    if match is None:
        detail = f"{text!r} is not a number of bytes, such as 200MB or 64MiB"
        raise argparse.ArgumentTypeError(detail)
    power = " kmgt".index((match[2] or " ").lower())
    n_bytes: int = int(match[1]) * (1024 if match[3] else 1000) ** power
    if n_bytes >= 2**64:
        raise argparse.ArgumentTypeError(f"{text} is more than a 64-bit length can hold")
    return n_bytes


def positive_size(text: str) -> int:
    """Parse a number of bytes above 0."""
    if (n_bytes := size(text)) > 0:
        return n_bytes
    raise argparse.ArgumentTypeError("expected more than 0")


def number(what: str, fits: Callable[[float], bool], kind: Any = float) -> Callable[[str], Any]:
    """Return a parser of numbers in a range."""

    def parse(text: str) -> Any:
        with suppress(ValueError):
            if fits(value := kind(text)):
                return value
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")

    return parse


def count_of(noun: str, *, at_least: int = 1) -> Callable[[str], Any]:
    """Return a parser of arguments that count something."""
    return number(f"a number of {noun}", lambda n: n >= at_least, int)


seed: Callable[[str], Any] = number("a seed, an integer from 0", lambda n: n >= 0, int)


def sample_size(text: str) -> int | None:
    """Parse a number of records, or ``all``, which is None."""
    return None if text == "all" else count_of("records")(text)


# ---------------------------------------------------------------------------------- files


def sources_of(name: str) -> list[ext.Source]:
    """List the files of a name; for a directory of TensorFlow Datasets, the files of all splits."""
    if name == "-":
        if sys.stdin is None:
            raise OSError("standard input is closed")
        return [cast("IO[bytes]", _StandardInput())]
    if ext.is_pipe(name):
        return [Pipe(io.FileIO(name))]
    try:
        return ext.expand(name)
    except IsADirectoryError:
        from tfrecord_lite.apps.tfds import files_of  # noqa: PLC0415 - not light

        return files_of(name)
    except FileNotFoundError:
        if not os.path.isdir(name):  # noqa: PTH112 - may be a URL
            raise
        from tfrecord_lite.apps.events.run import find_runs  # noqa: PLC0415 - not light

        # Below the log directory of TensorBoard each run has a folder.
        events = [f"{run}/*tfevents*" for run in find_runs(name).values()]
        if not events:
            raise
        return [file for pattern in events for file in ext.expand(pattern)]


def check_target(target: str, names: Iterable[str], *, overwrite: bool) -> None:
    """Raise if DST is one more file like the sources, which a pattern of the shell has put there."""
    key = _NUMBER.sub("*", target, 1)
    is_like_them = key != target and any(_NUMBER.sub("*", name, 1) == key for name in names)
    if is_like_them and os.path.exists(target) and not (overwrite and "-of-" not in key):  # noqa: PTH110 - may be a URL
        detail = "it exists, and is named like the files to read; the last argument is what is written; was it forgotten?"
        raise argument_error(detail, source=target)


def check_ending(target: str, more: str = "") -> None:
    """Raise if TFRecords would have the name of a table."""
    is_json = re.search(r"(?i)\.json(\.\w+)?$", target)
    ending = ".json" if is_json else ending_of(target)
    if ending and format_of(ending) != "tfrecord":
        detail = f"TFRecords would be written, not what {ending} says; use tfrecord convert{more} SRC DST"
        raise argument_error(detail, source=target)


def find(args: argparse.Namespace, console: Console) -> list[ext.Source]:
    """List the files that the arguments name; report a pattern that matches none."""
    sources: list[ext.Source] = []
    for file in args.files:
        try:
            sources += sources_of(file)
        # ValueError is what file systems raise for a URL that they do not accept.
        except (OSError, ImportError, ValueError) as error:
            console.complain(str(error) if file == "-" else text_of(error, file))
    return ext.without_companions(sources)


def for_each(
    sources: Any, args: argparse.Namespace, console: Console, work: Work, *, is_shown: bool = True
) -> None:
    """Open one file after the other and call `work` with its records; report what fails.

    `work` may call its second argument to show how far the files were read.
    """
    settings = settings_of(args)
    log = ext.DamageLog("skip", None) if getattr(args, "skip_damage", False) else None
    n_before = 0
    with metered(None if is_shown else False, title_of(sources), "bytes") as meter:
        total = total_bytes(sources) if meter.is_on else None

        def show(stream: ext.RecordStream) -> None:
            meter.update(n_before + stream.file_offset, total)

        for source in sources:
            name = ext.name_of(source)
            with reported(name, console), closing(ext.RecordStream(source, settings)) as stream:
                work(stream if log is None else log.skipping(stream), partial(show, stream))
                n_before += stream.file_offset
    if log is not None:
        complain_of_skipped(log.report(), console)


def complain_of_skipped(report: DamageReport | None, console: Console) -> None:
    """Report what was skipped and which records were dropped, if any were."""
    if report is None or report.is_sound:
        return
    console.complain(report.summary(), max(map(status_of, report.spans), default=Status.DAMAGED))
    list_dropped(report.message_errors[1:], report.num_message_errors - 1, console)


def list_dropped(errors: Iterable[Exception], count: int, console: Console) -> None:
    """List the first of the records that were dropped."""
    for error in islice(errors, MAX_LINES):
        console.note(f"dropped {error}")
    if count > MAX_LINES:
        more = f"{count - MAX_LINES:,} more records were dropped"
        console.note(f"{more}; tfrecord verify --schema SCHEMA --all lists them")


# --------------------------------------------------------------------------------- errors


@contextmanager
def reported(name: str, console: Console) -> Iterator[None]:
    """Report why a file could not be read or written."""
    try:
        yield
    except (OSError, ImportError, ValueError) as error:
        complain_of(error, name, console)


def complain_of(error: Exception, name: str, console: Console) -> None:
    """Report why a file could not be read or written, or not to its end."""
    status = status_of(error)
    text = text_of(error, name)
    is_sure = status == Status.DAMAGED and "is this a TFRecord" not in text
    console.complain(text + console.after_damage * is_sure, status)


def status_of(fault: Any) -> Status:
    """Return the exit status for an error or a damaged span: whether bytes break the format."""
    is_damage = isinstance(fault, DataLossError | DamagedSpan)
    return Status.DAMAGED if is_damage and fault.reason not in ext.NOT_DAMAGE else Status.FAILED


def text_of(error: Any, name: str) -> str:
    """Return an error's text in one line that begins with a file's name, that of the error itself if it has one."""
    if isinstance(error, DataLossError):
        return str(error)
    about = getattr(error, "filename", None) or getattr(error, "source", None)
    name = os.fsdecode(about) if isinstance(about, (str, bytes)) else name
    name = name if name.strip() else repr(name)
    if reason := getattr(error, "strerror", None):
        can_replace = isinstance(error, FileExistsError) and reason == os.strerror(error.errno or 0)
        return f"{name}: {reason}{'; --overwrite replaces it' if can_replace else ''}"
    text = str(error) or type(error).__name__
    return text if name in text else f"{name}: {text}"
