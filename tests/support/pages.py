"""Pages of the documentation, run as they stand: their Python, what it prints, and their commands."""

import contextlib
import io
import shlex
from doctest import ELLIPSIS, OutputChecker
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import SkipTest

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

from tfrecord_lite.cli import main

__all__ = ["run_page"]


def run_page(page: Path, *, commands: bool = False) -> None:
    """Run the blocks of a page, which are one programme, in the current folder.

    A block of text right after one of Python is what that prints. With `commands`, so are the lines
    after a ``$ tfrecord ...`` in a block of the console. A block that needs what is not installed is
    skipped: ``<!--- skip: next if(not installed("pandas"), reason="...") -->``.
    """
    last, end = "", -1

    def compare(what: str, expected: str, found: str) -> str | None:
        if OutputChecker().check_output(expected, found, ELLIPSIS):
            return None
        return f"{what} prints\n{found}and not\n{expected}"

    def printed(example: Example) -> str | None:
        if end < 0 or example.document.text[end : example.start].strip("\n` "):
            return None
        return compare("the block before", str(example.parsed), last)

    def typed(example: Example) -> str | None:
        wrong = []
        for part in str(example.parsed).split("$ ")[1:]:
            command, _, expected = part.partition("\n")
            words = shlex.split(command)
            if commands and words[0] == "tfrecord" and words[1] != "view":  # which opens a browser
                stream = io.TextIOWrapper(io.BytesIO(), "utf-8")  # which charts need
                with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
                    main(words[1:])
                stream.seek(0)
                wrong.append(compare(command, expected, stream.read()))
        return "\n".join(filter(None, wrong)) or None

    parsers: list[Any] = [
        PythonCodeBlockParser(), CodeBlockParser("text", printed),
        CodeBlockParser("console", typed), SkipParser(),
    ]  # fmt: skip
    document = Sybil(parsers=parsers, path=str(page.parent), filenames=[page.name]).parse(page)
    document.namespace["installed"] = lambda name: find_spec(name) is not None
    for example in document.examples():
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            try:
                example.evaluate()
            except SkipTest:  # one block, not the rest of the page
                end = -1
                continue
        is_python = "python" in document.text[example.start : example.start + 10]
        last, end = stream.getvalue(), example.end if is_python else -1
