"""The parser of all verbs, signals that end a run, and :func:`main`."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NoReturn

from tfrecord_lite.cli import inputs, style
from tfrecord_lite.cli.console import Console, OutputError, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERBS = {
    "info": "count records, show sizes, compression and content",
    "head": "print the first records",
    "view": "show what is inside, on a page in the browser",
    "cat": "print all records",
    "schema": "infer the features of all records, and how to parse them",
    "stats": "show how the values of each feature are distributed",
    "diff": "compare two data sets: schemas, statistics, records",
    "verify": "check every checksum, report every damaged place",
    "recover": "write every intact record of a damaged file to a new one",
    "index": "write an index, for random access",
    "merge": "write the records of many files to one",
    "split": "divide the records of a file, or of several, among shards",
    "shuffle": "write all records in random order, also of files larger than memory",
    "sample": "write records drawn at random",
    "filter": "write the records for which a condition is true",
    "pack": "pack a folder or list of images into record files",
    "unpack": "write the images in record files to a folder",
    "convert": "convert to and from Parquet, Arrow, CSV and JSON lines",
    "sql": "query files with DuckDB's SQL",
    "completion": "print a script that completes verbs, options and files in a shell",
}
"""What each verb does; the module of its name has its arguments, and is imported when it is used."""

_DESCRIPTION = """\
Inspect TFRecord files and check them. Whether a file is uncompressed, GZIP, ZLIB, ZSTD or
BZ2 is detected from its first bytes; every checksum is verified."""

_EPILOG = """\
examples:
  tfrecord info train.tfrecord                  what is in it?
  tfrecord head -n 1 train.tfrecord             what does a record look like?
  tfrecord view train.tfrecord                  all of that, on a page in the browser
  tfrecord cat --json train.tfrecord            everything, for other programs
  tfrecord schema train.tfrecord                how can it be parsed?
  tfrecord stats train.tfrecord                 how are the values distributed?
  tfrecord diff old.tfrecord new.tfrecord       what is different?
  tfrecord verify 'train-*.tfrecord'            is everything intact?
  tfrecord recover bad.tfrecord new.tfrecord    save the intact records
  tfrecord index train.tfrecord                 where is each record?
  tfrecord merge 'part-*' all.tfrecord          many files to one
  tfrecord split --num-shards 8 all.tfrecord x      one file to many
  tfrecord shuffle all.tfrecord mixed.tfrecord  any number of records in random order
  tfrecord sample -n 99 all.tfrecord few        some records, drawn at random
  tfrecord filter --where SQL all.tfrecord x    the records that meet a condition
  tfrecord pack photos train@8.tfrecord         a folder of images to records
  tfrecord unpack 'train-*.tfrecord' photos     and back
  tfrecord convert train.tfrecord train.parquet another format, both ways
  tfrecord sql "select ... from 'x.tfrecord'"   rows, counts, joins: any query
  eval "$(tfrecord completion bash)"            verbs, options and files by Tab

'tfrecord VERB --help' says more about each verb. With pip install 'tfrecord-numpy[cli]',
work of more than a second shows a progress bar, if standard error is a terminal. NO_COLOR=1 does
without colours."""

_STATUSES = """\
exit status: 0 if everything is intact, 1 if a file is damaged, 2 if one could not be read or
is not a TFRecord file, or the arguments are wrong; the worst file decides, and the others are
still read."""

_SIGNALS = ("SIGTERM", "SIGHUP")


class _Parser(argparse.ArgumentParser):
    """A parser that keeps paragraphs as they are, and reports an error in one line."""

    def __init__(self, **settings: object) -> None:
        settings["formatter_class"] = argparse.RawDescriptionHelpFormatter
        if sys.version_info >= (3, 14):
            settings["color"] = False  # it has our colours
        self.verb = settings.pop("verb", None)
        super().__init__(**settings, allow_abbrev=False)  # type: ignore[arg-type]

    def load(self) -> None:
        """Declare the arguments of a verb, if it is one and they are not declared yet."""
        if self.verb is None:
            return
        verb: Any = import_module(f"tfrecord_lite.cli.{self.verb}")
        self.verb = None
        self.description = verb.DESCRIPTION
        self.epilog = f"{verb.EPILOG}\n\n{getattr(verb, 'STATUSES', _STATUSES)}"
        verb.add_arguments(self)
        self.set_defaults(run=verb.run)

    def parse_known_args(self, *args: Any, **more: Any) -> Any:
        """Parse the arguments, all of which are now declared."""
        self.load()
        return super().parse_known_args(*args, **more)

    def print_help(self, file: object = None) -> None:
        """Write the help to standard output, or raise OutputError."""
        _print(style.help_text(self.format_help().rstrip("\n")))

    def error(self, message: str) -> NoReturn:
        """End the run with one line."""
        Console().complain(f"{message} (see {self.prog} --help)")
        self.exit(Status.FAILED)


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print it and end the run."""
        try:
            number = version("tfrecord-numpy")
        except PackageNotFoundError:
            number = "(not installed)"
        _print(f"tfrecord-numpy {number}")
        parser.exit()


def _print(text: str) -> None:
    console = Console()
    console.say(text)
    console.flush()


def make_parser(*, is_whole: bool = False) -> argparse.ArgumentParser:
    """Return the parser of all verbs; only if it is whole, with the arguments of each."""
    parser = _Parser(prog="tfrecord", description=_DESCRIPTION, epilog=f"{_EPILOG}\n\n{_STATUSES}")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", dest="verb", required=True)
    for name, summary in VERBS.items():
        verb = verbs.add_parser(name, help=summary, verb=name)
        if is_whole:
            verb.load()
    return parser


class _Terminated(KeyboardInterrupt):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Raise :class:`_Terminated` where SIGTERM or SIGHUP would end the process at once.

    So a file that is being written is removed, as after Ctrl-C. A signal that is ignored
    (nohup) or that has a handler is left alone; so are all in other threads than the main
    one, where Python has no handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    defaults = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _: object) -> NoReturn:
        raise _Terminated(number)

    try:
        for number in defaults:
            signal.signal(number, end)
        yield
    finally:
        for number in defaults:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _warnings_as_lines(console: Console) -> Iterator[None]:
    """Report a warning as one line, without the place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        console.complain(str(message), Status.INTACT)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default this process's, and return its exit status.

    A :class:`Status`, or 143 or 129 after SIGTERM or SIGHUP. Wrong arguments, the help and the
    version raise SystemExit.
    """
    console = Console()
    try:
        with _termination_as_interrupt(), _warnings_as_lines(console):
            args = make_parser().parse_args(arguments)
            try:
                args.run(args, console)
            except (OSError, ImportError, ValueError, TypeError) as error:
                if isinstance(error, BrokenPipeError):
                    raise OutputError from error
                inputs.complain_of(error, args.verb, console)
            console.flush()
    except OutputError as error:
        return console.give_up(error)
    except _Terminated as error:
        return error.status
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    return console.status
