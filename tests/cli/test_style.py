"""Colours: ours alone, where they are wanted, and without effect on the layout."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.support import terminal
from tfrecord_lite import save
from tfrecord_lite.cli import main, style
from tfrecord_lite.cli.console import Console
from tfrecord_lite.cli.style import aligned


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_what_is_joined_to_a_styled_text_is_made_printable(monkeypatch: pytest.MonkeyPatch) -> None:
    evil = "\x1b[2J\n"
    for text in (
        style.bad("bad") + evil,
        evil + style.bad("bad"),
        style.bad(evil),
        style.line("a", evil, style.good("ok")),
        style.bad("-").join([evil, evil]),
        (style.bad("bad") + evil).rstrip(),
    ):
        assert isinstance(text, style.Styled)
        assert style.plain(text).isprintable()
    assert style.plain(f"{style.bad('bad')}") == "\x1b[31mbad\x1b[0m"  # no longer known as ours
    monkeypatch.setattr(sys, "stdout", out := Terminal())
    Console().say(f"{style.bad('bad')}")
    Console().say(style.bad("bad"))
    assert out.getvalue() == "\\x1b[31mbad\\x1b[0m\n\x1b[31mbad\x1b[0m\n"


def test_columns_are_as_wide_as_what_is_seen() -> None:
    rows = [("a", "10", "x"), ("long", "9", "")]
    styled = [(style.name(a), style.bad(b), c) for a, b, c in rows]

    assert list(map(style.plain, aligned(styled, "<><"))) == aligned(rows, "<><")
    assert aligned([("a", "")], "<<") == ["a"]


@pytest.mark.parametrize(
    ("variables", "on_a_terminal", "elsewhere"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"CLICOLOR_FORCE": "0"}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
    ],
)
def test_where_there_are_colours(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    variables: dict[str, str],
    on_a_terminal: bool,
    elsewhere: bool,
) -> None:
    save(tmp_path / "a", {"n": [1]})
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm"} | variables).items():
        monkeypatch.setenv(name, value)
    for stream, is_coloured in ((Terminal(), on_a_terminal), (io.StringIO(), elsewhere)):
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", stream)

        for verb in ("info", "schema", "verify"):
            main([verb, str(tmp_path / "a")])
            assert ("\x1b[" in stream.getvalue()) == is_coloured
            stream.truncate(0)
        main(["info", str(tmp_path / "absent")])
        assert ("\x1b[31mtfrecord:\x1b[0m" in stream.getvalue()) == is_coloured


def test_help_has_headings_on_a_terminal_and_is_plain_elsewhere(run: Run) -> None:
    shown = terminal.on_terminal("-m", "tfrecord_lite", "info", "--help").text

    assert "\x1b[1musage\x1b[0m: tfrecord info" in shown
    assert "\x1b[1moptions\x1b[0m:" in shown
    plain = "\n".join(run("info", "--help").out)
    assert "\x1b" not in plain
    assert "usage: tfrecord info" in plain
