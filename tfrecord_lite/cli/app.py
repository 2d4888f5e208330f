"""Inspect TFRecord files, check and convert them.

Compression is detected from a file's first bytes; every checksum is verified.
{verbs}
reading, where records are read:
  --skip-damage           continue after damage with the next intact record, and sum up what was lost
  --compression NAME      none, gzip, zlib, zstd, bz2, or infer (the default): by each file's first bytes
  --max-record-bytes N    larger records are damage (default: 2GiB)
  --max-inflated-bytes N  stop reading a compressed file that inflates to more (default: no limit)
  --max-inflated-ratio X  the same, to more than X times its size

examples:
  tfrecord train.tfrecord                       what is in it? info and head -n 1 in one
  tfrecord view train.tfrecord                  all of that, on a page in the browser
  tfrecord verify 'train-*.tfrecord'            is everything intact?
  tfrecord convert train.tfrecord train.parquet another format, both ways

'tfrecord VERB --help' says more about each verb. With pip install tqdm,
long work shows a progress bar on a terminal. TQDM_DISABLE=1 does without it.
"""

# The text above is the help of the command, as the docstring of a verb is the help of the verb.

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
from tfrecord_lite.cli.words import option_hint, verb_meant
from tfrecord_lite.extension import is_pipe, name_of

GROUPS = {
    "look": {
        "info": ("info", "count records, show sizes, compression and content"),
        "head": ("head", "print the first records"),
        "view": ("info", "show what is inside, on a page in the browser"),
        "cat": ("head", "print all records"),
        "schema": ("stats", "infer the features of all records, and how to parse them"),
        "stats": ("stats", "show how the values of each feature are distributed"),
        "count": ("info", "count records, as fast as the files allow"),
        "events": ("events", "print the scalars of TensorBoard's event files as CSV"),
    },
    "check": {
        "verify": ("damage", "check every checksum, report every damaged place"),
        "recover": ("damage", "write every intact record of a damaged file to a new one"),
        "diff": ("stats", "compare two data sets: schemas, statistics, records"),
    },
    "rearrange": {
        "merge": ("rearranging", "write the records of many files to one"),
        "split": ("rearranging", "divide records among shards, or into parts such as train and test"),
        "unique": ("rearranging", "write records without duplicates"),
        "shuffle": ("rearranging", "write all records in random order, also of files larger than memory"),
        "sample": ("rearranging", "write some records, chosen at random"),
        "filter": ("rearranging", "write the records for which a condition is true"),
        "index": ("info", "write an index, for random access"),
    },
    "convert": {
        "convert": ("convert", "convert to and from Parquet, Arrow, CSV and JSON lines"),
        "sql": ("sql", "query files with DuckDB's SQL"),
        "pack": ("images", "pack a folder or list of images into record files"),
        "unpack": ("images", "write the images in record files to a folder"),
    },
}  # fmt: skip
"""The verbs in groups: the module of each, and what it does."""
VERBS = {name: row for group in GROUPS.values() for name, row in group.items()}

STATUSES = """\
exit status: 0 if everything is intact, 1 if a file is damaged, 2 if one could not be read or
is not a TFRecord file, or the arguments are wrong; the worst file decides."""


class _Parser(argparse.ArgumentParser):
    """A parser that keeps paragraphs as they are, and reports an error in one line."""

    description: str | None
    epilog: str | None

    def __init__(self, **settings: Any) -> None:
        settings["formatter_class"] = argparse.RawDescriptionHelpFormatter
        if sys.version_info >= (3, 14):
            settings["color"] = False  # which would be printed as escapes
        self.verb: str | None = settings.pop("verb", None)
        self.verbs: dict[str, _Parser] = {}
        self.given: list[str] = []
        super().__init__(**settings, allow_abbrev=False)

    def options(self) -> list[str]:
        """Return the spellings of all options."""
        return list(self._option_string_actions)

    def load(self) -> None:
        """Declare the arguments of a verb, unless that is done."""
        if self.verb is not None:
            module: Any = import_module(f"tfrecord_lite.cli.{VERBS[self.verb][0]}")
            name = self.verb.replace("-", "_")
            run = getattr(module, f"run_{name}")
            self.describe(inspect.getdoc(run) or "")
            getattr(module, f"add_{name}")(self)
            reading = [a.option_strings[0] for a in self._actions if a.help == argparse.SUPPRESS]
            if reading:
                line = f"reading: {', '.join(reading)} (see tfrecord --help)\n\n"
                self.epilog = line + (self.epilog or "")
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
        self.given = list(args[0])
        if "-n" in self._option_string_actions:  # head -2 is head -n 2
            for i, one in enumerate(self.given):
                if re.fullmatch(r"-\d+", one) and self.given[i - 1 : i] != ["--record"]:
                    self.given[i] = f"-n{one[1:]}"
        # Options may be between files.
        namespace, unknown = self.parse_known_intermixed_args(self.given, *args[1:], **more)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def _print_message(self, message: str, file: Any = None) -> None:
        console = Console()
        for line in message.rstrip("\n").split("\n"):
            console.say(line)
        console.flush()

    def error(self, message: str) -> NoReturn:
        known = self._option_string_actions
        others = [w for w in self.given if w[:2] == "--" and w.partition("=")[0] not in known]
        if message.endswith("required") and others and others[0] != "--":  # the cause of it, maybe
            message = f"unrecognized arguments: {others[0]}"
        Console().complain(f"{message}{_hint(message, self.prog)} (see {self.prog} --help)")
        self.exit(Status.FAILED)


def _hint(message: str, prog: str) -> str:
    """Return what to say of arguments that are wrong: what was probably meant."""
    if message.startswith("argument --compression: invalid choice") and prog.endswith("convert"):
        return "; --output-compression is what to write"
    what, _, unknown = message.partition(": ")
    options = [one for one in unknown.split() if one.startswith("-") and len(one) > 1]
    if what == "unrecognized arguments" and not options and prog.endswith("sql"):
        return "; a file is named in the query: select * from 'FILE'"
    if what != "unrecognized arguments" or not options:
        return ""
    options_of = {name: verb.options() for name, verb in make_parser(is_whole=True).verbs.items()}
    hint = option_hint(options[0], prog.rpartition(" ")[2], options_of)
    return f"; {hint}" if hint else ""


def make_parser(*names: str, is_whole: bool = False) -> _Parser:
    """Return the parser of some verbs, by default of all; only if it is whole, with the arguments of each."""
    parser = _Parser(prog="tfrecord", usage="tfrecord VERB ...\n       tfrecord FILE ...")
    rows = [
        f"\n{title}:\n" + "".join(f"    {name:9}  {text}\n" for name, (_, text) in verbs.items())
        for title, verbs in GROUPS.items()
    ]
    parser.describe((__doc__ or "").rstrip().replace("{verbs}", "".join(rows)))
    version = f"tfrecord-numpy {__version__}"
    parser.add_argument("-V", "--version", action="version", version=version)
    verbs = parser.add_subparsers(
        prog="tfrecord", metavar="VERB", dest="verb", required=True, help=argparse.SUPPRESS
    )
    for name in names or VERBS:
        parser.verbs[name] = verb = verbs.add_parser(name, verb=name)
        if is_whole:
            verb.load()
    return parser


class _Terminated(KeyboardInterrupt):
    """A signal asked the process to end."""


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Raise :class:`_Terminated` where SIGTERM or SIGHUP would end the process at once.

    A file that is being written is removed then. A signal that is ignored (nohup) or that has a handler is left alone.
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


def _is_file(words: list[str]) -> bool:
    if not words or words[0] in ("-h", "--help", "-V", "--version"):
        return False
    names = [name for name in words if name == "-" or (name and not name.startswith("-"))]
    candidates = names if words[0].startswith("-") else names[:1]
    return not set(candidates) & VERBS.keys() and any(map(_is_like_a_file, candidates))


def _is_like_a_file(name: str) -> bool:
    return name == "-" or os.path.exists(name) or bool(re.search(r"[/\\.@*?[]", name))  # noqa: PTH110 - any text


def _wrong_verb(first: list[str]) -> str:
    """Return an error about a word that is not a verb; "" if there is none."""
    name = "".join(first)
    if not name or name in VERBS or name.startswith("-"):
        return ""
    meant = verb_meant(name, VERBS)
    hint = f"did you mean {meant}?" if meant else f"the verbs are {', '.join(VERBS)}"
    return f"there is no verb or file {name!r}; {hint} (see tfrecord --help)"


def _show_file(words: list[str], console: Console) -> None:
    """Do what info and head -n 1 do, in one."""
    from tfrecord_lite.cli.info import run_info  # noqa: PLC0415 - as every verb

    args = _parsed(["head", *words])
    if any(name == "-" or is_pipe(name) for name in args.files):
        detail = "standard input, or a pipe, can be read only once; use tfrecord info - or tfrecord head -"
        console.complain(detail, Status.FAILED)
        return
    show_records, args.run, args.first = args.run, run_info, 1
    _run(args, console)
    if (not console.status or args.skip_damage) and (sources := inputs.find(args, console)):
        if not args.json:
            console.say()
        args.run, args.files = show_records, [name_of(sources[0])]
        _run(args, console)


def _run(args: argparse.Namespace, console: Console) -> None:
    console.verb = args.verb
    if args.verb != "recover":
        can_skip = getattr(args, "skip_damage", None) is False
        go_on = "--skip-damage reads on" if can_skip else "tfrecord recover saves what is intact"
        console.after_damage = f"; {go_on}"
    try:
        args.run(args, console)
    except BrokenPipeError as error:
        raise OutputError from error
    except (OSError, ImportError, ValueError, TypeError) as error:
        inputs.complain_of(error, args.verb, console)
    is_told = getattr(args, "compression", "infer") != "infer"
    if console.status and is_told and getattr(args, "output_compression", "") is None:
        text = "--compression is for what is read; --output-compression is for what is written"
        console.note(text)
    console.flush()


def _parsed(arguments: list[str]) -> argparse.Namespace:
    """Parse arguments; only the parser of their verb is made, if they begin with one."""
    return make_parser(*(name for name in arguments[:1] if name in VERBS)).parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit status."""
    console = Console()
    try:
        with _termination_as_interrupt(), _warnings_as_lines(console):
            words = list(sys.argv[1:] if arguments is None else arguments)
            if words[:1] == ["help"]:
                words = [*(name for name in words[1:2] if name in VERBS), "--help"]
            if _is_file(words):
                _show_file(words, console)
            elif detail := _wrong_verb(words[:1]):
                console.complain(detail)
            else:
                _run(_parsed(words), console)
    except OutputError as error:
        return console.give_up(error)
    except _Terminated as error:
        return int(error.args[0])
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    return console.status
