"""The parser of all verbs, signals that end a run, and :func:`main`."""

from __future__ import annotations

import argparse
import inspect
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from tfrecord_lite import __version__
from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console, OutputError, Status
from tfrecord_lite.files.names import name_of

VERBS = {
    "info": ("info", "count records, show sizes, compression and content"),
    "head": ("head", "print the first records"),
    "view": ("view", "show what is inside, on a page in the browser"),
    "cat": ("head", "print all records"),
    "schema": ("schema", "infer the features of all records, and how to parse them"),
    "stats": ("stats", "show how the values of each feature are distributed"),
    "diff": ("stats", "compare two data sets: schemas, statistics, records"),
    "verify": ("damage", "check every checksum, report every damaged place"),
    "recover": ("damage", "write every intact record of a damaged file to a new one"),
    "count": ("info", "count records, as fast as the files allow"),
    "index": ("info", "write an index, for random access"),
    "merge": ("rearranging", "write the records of many files to one"),
    "split": ("rearranging", "divide records among shards, or into parts such as train and test"),
    "unique": ("rearranging", "write records without duplicates"),
    "shuffle": ("rearranging", "write all records in random order, also of files larger than memory"),
    "sample": ("rearranging", "write some records, chosen at random"),
    "filter": ("rearranging", "write the records for which a condition is true"),
    "pack": ("images", "pack a folder or list of images into record files"),
    "unpack": ("images", "write the images in record files to a folder"),
    "events": ("events", "print the scalars of TensorBoard's event files as CSV"),
    "convert": ("convert", "convert to and from Parquet, Arrow, CSV and JSON lines"),
    "sql": ("sql", "query files with DuckDB's SQL"),
}  # fmt: skip
"""The module of each verb, and what it does."""

HELP = """\
Inspect TFRecord files, check and convert them. Compression is detected from a file's first bytes;
every checksum is verified.

examples:
  tfrecord train.tfrecord                       what is in it? info and head -n 1 in one
  tfrecord view train.tfrecord                  all of that, on a page in the browser
  tfrecord verify 'train-*.tfrecord'            is everything intact?
  tfrecord convert train.tfrecord train.parquet another format, both ways

'tfrecord VERB --help' says more about each verb. With pip install tqdm,
long work shows a progress bar on a terminal. TQDM_DISABLE=1 does without it."""

STATUSES = """\
exit status: 0 if everything is intact, 1 if a file is damaged, 2 if one could not be read or
is not a TFRecord file, or the arguments are wrong; the worst file decides."""


class _Parser(argparse.ArgumentParser):
    """A parser that keeps paragraphs as they are, and reports an error in one line."""

    def __init__(self, **settings: Any) -> None:
        settings["formatter_class"] = argparse.RawDescriptionHelpFormatter
        if sys.version_info >= (3, 14):
            settings["color"] = False  # which would be printed as escapes
        self.verb: str | None = settings.pop("verb", None)
        super().__init__(**settings, allow_abbrev=False)

    def load(self) -> None:
        """Declare the arguments of a verb, unless that is done."""
        if self.verb is not None:
            module: Any = import_module(f"tfrecord_lite.cli.{VERBS[self.verb][0]}")
            run = getattr(module, f"run_{self.verb}")
            self.describe(inspect.getdoc(run) or "")
            getattr(module, f"add_{self.verb}")(self)
            self.set_defaults(run=run)
            self.verb = None

    def describe(self, text: str) -> None:
        """Take the help apart: what comes before the arguments, and the examples, and the exit status."""
        self.description, _, examples = text.partition("\n\nexamples:")
        self.epilog = "examples:" + examples
        if "exit status:" not in examples:
            self.epilog += f"\n\n{STATUSES}"

    def parse_known_args(self, *args: Any, **more: Any) -> Any:
        if self.verb is None:
            return super().parse_known_args(*args, **more)
        self.load()
        return self.parse_known_intermixed_args(*args, **more)  # options may stand between files

    def _print_message(self, message: str, file: Any = None) -> None:
        console = Console()
        for line in message.rstrip("\n").split("\n"):
            console.say(line)
        console.flush()

    def error(self, message: str) -> NoReturn:
        Console().complain(f"{message} (see {self.prog} --help)")
        self.exit(Status.FAILED)


def make_parser(*, is_whole: bool = False) -> argparse.ArgumentParser:
    """Return the parser of all verbs; only if it is whole, with the arguments of each."""
    parser = _Parser(prog="tfrecord")
    parser.describe(HELP)
    parser.add_argument("--version", action="version", version=f"tfrecord-numpy {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", dest="verb", required=True)
    for name, (_, summary) in VERBS.items():
        verb = verbs.add_parser(name, help=summary, verb=name)
        if is_whole:
            verb.load()
    return parser


class _Terminated(KeyboardInterrupt):
    """A signal asked the process to end."""


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Raise :class:`_Terminated` where SIGTERM or SIGHUP would end the process at once.

    So a file that is being written is removed, as after Ctrl-C. A signal that is ignored
    (nohup) or that has a handler is left alone; so are all in other threads than the main
    one, where Python has no handlers.
    """
    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    is_main = threading.current_thread() is threading.main_thread()
    defaults = [n for n in numbers if is_main and n and signal.getsignal(n) is signal.SIG_DFL]

    def end(number: int, _: object) -> NoReturn:
        raise _Terminated(128 + number)

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
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def _is_file(first: list[str]) -> bool:
    """Whether the first argument is a file where a verb should stand."""
    name = "".join(first)
    is_word = not name or name in VERBS or name.startswith("-")
    return not is_word and (os.path.exists(name) or bool(re.search(r"[/\\.@*?[]", name)))  # noqa: PTH110 - any text


def _run(args: argparse.Namespace, console: Console) -> None:
    """Run a verb; report what fails."""
    try:
        args.run(args, console)
    except BrokenPipeError as error:
        raise OutputError from error
    except (OSError, ImportError, ValueError, TypeError) as error:
        inputs.complain_of(error, args.verb, console)
    console.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit status."""
    console = Console()
    try:
        with _termination_as_interrupt(), _warnings_as_lines(console):
            given = list(sys.argv[1:] if arguments is None else arguments)
            if not _is_file(given[:1]):
                _run(make_parser().parse_args(given), console)
            else:
                args = make_parser().parse_args(["info", *given])
                _run(args, console)
                is_readable = not console.status or args.skip_damage
                if is_readable and (sources := inputs.find(args, console)):
                    if not args.json:
                        console.say()
                    options = [each for each in given if each not in args.files]
                    first = ["head", "-n", "1", name_of(sources[0]), *options]
                    _run(make_parser().parse_args(first), console)
    except OutputError as error:
        return console.give_up(error)
    except _Terminated as error:
        return int(error.args[0])
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    return console.status
