"""``tfrecord completion``: print a script by which a shell completes verbs, options and files."""

from __future__ import annotations

import argparse

from tfrecord_lite.cli.console import Console

SHELLS = ("bash", "zsh", "tcsh")

FILES = {"FILE", "SRC", "DST", "SCHEMA", "PAGE", "A", "B"}
"""Arguments by their names in the help; those of folders are the next."""
FOLDERS = {"FOLDER", "DIR"}


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or tcsh")


def run_completion(args: argparse.Namespace, console: Console) -> None:
    """Print a script by which Tab completes verbs, options and files in a shell.

    Needs pip install shtab.

    examples:
      eval "$(tfrecord completion bash)"                            in ~/.bashrc
      tfrecord completion zsh > ~/.zfunc/_tfrecord                  a folder of $fpath
      tfrecord completion tcsh > ~/.tfrecord.csh                    source it in ~/.tcshrc

    exit status: 0 if the script was printed, 2 if not.
    """
    from tfrecord_lite.cli.app import make_parser  # noqa: PLC0415 - which imports this module

    try:
        import shtab  # noqa: PLC0415 - optional
    except ImportError:
        console.complain("completion needs shtab: pip install shtab")
        return
    parser = make_parser(is_whole=True)
    for verb in verbs_of(parser):
        for action in verb._actions:  # noqa: SLF001 - argparse tells them nowhere else
            if action.choices is None and action.metavar in FILES | FOLDERS:
                action.complete = shtab.FILE if action.metavar in FILES else shtab.DIRECTORY  # type: ignore[attr-defined]
    for line in shtab.complete(parser, args.shell).rstrip("\n").split("\n"):
        console.say(line)


def verbs_of(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Return the parsers of all verbs."""
    verbs = next(action for action in parser._actions if action.dest == "verb")  # noqa: SLF001
    return list(dict(verbs.choices or {}).values())
