"""The parser of all verbs, and :func:`main`."""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, NoReturn

from tfrecord_lite.cli import cat, head, index, info, recover, schema, verify
from tfrecord_lite.cli.console import Console, OutputError, Status
from tfrecord_lite.cli.signals import Terminated, answered

if TYPE_CHECKING:
    from collections.abc import Sequence

_VERBS = {
    "info": info,
    "head": head,
    "cat": cat,
    "verify": verify,
    "recover": recover,
    "schema": schema,
    "index": index,
}

_DESCRIPTION = """\
Look into TFRecord files and check them. Uncompressed, GZIP, ZLIB, ZSTD and BZ2 files are
told apart by their first bytes; every checksum is verified on the way."""

_EPILOG = """\
examples:
  tfrecord info train.tfrecord          what is in it?
  tfrecord head -n 1 train.tfrecord     what does a record look like?
  tfrecord cat --json train.tfrecord    everything, for other programs
  tfrecord verify 'train-*.tfrecord'    is it all sound?
  tfrecord recover bad.tfrecord new.tfrecord    save what is sound
  tfrecord schema train.tfrecord        how can it be parsed?
  tfrecord index train.tfrecord         where is each record?

'tfrecord VERB --help' says more about each. With pip install 'tfrecord-numpy[cli]', info,
verify, recover and schema show a progress bar on long work, if standard error is a terminal."""

_STATUSES = """\
exit status: 0 if all is sound, 1 if a file is damaged, 2 if one could not be read or the
arguments are wrong; the worst counts, and the other files are read all the same."""


class _Parser(argparse.ArgumentParser):
    """A parser that leaves paragraphs as they are, and complains in one line."""

    def __init__(self, **settings: object) -> None:
        settings["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(**settings, allow_abbrev=False)  # type: ignore[arg-type]

    def print_help(self, file: object = None) -> None:
        """Write the help to standard output, or fail if that cannot be done."""
        _print(self.format_help().rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """End the run with one line."""
        self.exit(Status.FAILED, f"tfrecord: {message} (see {self.prog} --help)\n")


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


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tfrecord", description=_DESCRIPTION, epilog=f"{_EPILOG}\n\n{_STATUSES}")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", dest="verb", required=True)
    for name, verb in _VERBS.items():
        verb_parser = verbs.add_parser(
            name,
            help=verb.SUMMARY,
            description=verb.DESCRIPTION,
            epilog=f"{verb.EPILOG}\n\n{_STATUSES}",
        )
        verb.add_arguments(verb_parser)
        verb_parser.set_defaults(run=verb.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; by default those of this process.

    Returns
    -------
    int
        The exit status: 0 if all is sound, 1 if a file is damaged, 2 if one could
        not be read; 130 after an interrupt, 143 or 129 if it was asked to end (SIGTERM,
        SIGHUP), 141 if standard output was closed.

    Raises
    ------
    SystemExit
        With status 2 for wrong arguments, and 0 after the help or the version.
    """
    console = Console()
    try:
        with answered():
            args = _parser().parse_args(arguments)
            args.run(args, console)
            console.flush()
    except OutputError as error:
        return console.give_up(error)
    except Terminated as error:
        return error.status
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    return console.status
