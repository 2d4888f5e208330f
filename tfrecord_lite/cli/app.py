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
"""What each verb does."""

_MODULES = dict.fromkeys(("merge", "split", "shuffle", "sample", "filter"), "rearranging")
_MODULES |= {"head": "head", "cat": "head"}
"""The modules of verbs that share one; they have a table HELP. Others have a module of their name."""

_HELP = """\
Inspect TFRecord files, check and convert them. Compression is detected from a file's first bytes;
every checksum is verified.

examples:
  tfrecord info train.tfrecord                  what is in it?
  tfrecord head -n 1 train.tfrecord             what does a record look like?
  tfrecord view train.tfrecord                  all of that, on a page in the browser
  tfrecord verify 'train-*.tfrecord'            is everything intact?
  tfrecord convert train.tfrecord train.parquet another format, both ways

'tfrecord VERB --help' says more about each verb. With pip install 'tfrecord-numpy[cli]',
long work shows a progress bar on a terminal. NO_COLOR=1 does without colours."""

_STATUSES = """\
exit status: 0 if everything is intact, 1 if a file is damaged, 2 if one could not be read or
is not a TFRecord file, or the arguments are wrong; the worst file decides."""

_SIGNALS = ("SIGTERM", "SIGHUP")


class _Parser(argparse.ArgumentParser):
    """A parser that keeps paragraphs as they are, and reports an error in one line."""

    def __init__(self, **settings: object) -> None:
        settings["formatter_class"] = argparse.RawDescriptionHelpFormatter
        if sys.version_info >= (3, 14):
            settings["color"] = False  # it has our colours
        self.verb: Any = settings.pop("verb", None)
        super().__init__(**settings, allow_abbrev=False)  # type: ignore[arg-type]

    def load(self) -> None:
        """Declare the arguments of a verb, if it is one and they are not declared yet."""
        if (verb := self.verb) is None:
            return
        module: Any = import_module(f"tfrecord_lite.cli.{_MODULES.get(verb, verb)}")
        self.verb = None
        self.describe(module.HELP[verb] if verb in _MODULES else module.HELP)
        module.add_arguments(self, *[verb] * (verb in _MODULES))
        self.set_defaults(run=module.run)

    def describe(self, text: str) -> None:
        """Take the help apart: what comes before the arguments, and the examples, and the exit status."""
        self.description, _, examples = text.partition("\n\nexamples:")
        self.epilog = "examples:" + examples
        if "exit status:" not in examples:
            self.epilog += f"\n\n{_STATUSES}"

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
    parser = _Parser(prog="tfrecord")
    parser.describe(_HELP)
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
