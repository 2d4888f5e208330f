"""The examples of docs/reference/cli.md, run."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from tests.cli.samples import write_documented
from tfrecord_lite.cli.app import VERBS, make_parser

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, list[str]]]:
    """Return each command on the page that runs only tfrecord, with its output."""
    found = []
    for block in _BLOCK.findall(PAGE.read_text("utf-8")):
        for part in block.split("$ ")[1:]:
            command, *lines = part.splitlines()
            if command.startswith("tfrecord ") and not set("|>&") & set(command):
                found.append((command, lines))
    return found


NEEDS = {"convert": "arrow", "filter": "sql", "pack": "image", "sql": "sql", "view": "view"}
"""The extras that verbs need."""
EXAMPLES = [
    pytest.param(
        command,
        lines,
        id=command,
        marks=[pytest.mark.needs(NEEDS[verb])] if (verb := command.split()[1]) in NEEDS else [],
    )
    for command, lines in examples()
]


@pytest.mark.parametrize(("command", "lines"), EXAMPLES)
def test_what_the_page_shows_is_what_is_printed(
    run: Callable[..., Done],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    lines: list[str],
) -> None:
    write_documented(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = run(*shlex.split(command)[1:])
    assert done.out == lines


def test_the_table_has_every_verb_in_the_order_of_the_help() -> None:
    rows = re.findall(
        r"^\| \w* ?\| \[`(\w+)`\]\(#([\w-]+)\) \|", PAGE.read_text("utf-8"), re.MULTILINE
    )
    heads = re.findall(r"^## (.+)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [verb for verb, _ in rows] == list(VERBS)
    assert heads[0] == "Python's words"
    assert {place for _, place in rows} == {re.sub("[, ]+", "-", head) for head in heads[1:]}


def test_the_options_that_python_calls_otherwise_are_options() -> None:
    table = PAGE.read_text("utf-8").partition("## Python's words")[2].partition("## ")[0]
    named = set(
        re.findall(r"`(--?[a-z-]+)", "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    )
    options = {one for verb in make_parser(is_whole=True).verbs.values() for one in verb.options()}
    assert len(named) > 10
    assert named - options == set()
