"""The directive ``verb``: the arguments of a verb of the command line, as its parser has them."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tfrecord_lite.cli.app import make_parser

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_WIDTH = 84
_OPTION = re.compile(r"((?<![\w-])--?[a-z][\w-]*)")


def _verbs() -> dict[str, argparse.ArgumentParser]:
    (choices,) = (
        action.choices
        for action in make_parser(is_whole=True)._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return dict(choices)


def _names(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    if not action.option_strings:
        return formatter._format_action_invocation(action)
    value = (
        ""
        if action.nargs == 0
        else f" {formatter._format_args(action, action.dest.upper())}"
    )
    return ", ".join(action.option_strings) + value


class Verb(SphinxDirective):
    """Show how a verb is called, and each of its arguments with its help."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the usage line, and a list of arguments."""
        parser = _verbs()[self.arguments[0]]
        formatter = argparse.HelpFormatter(parser.prog, width=_WIDTH)
        formatter.add_usage(
            parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix=""
        )
        usage = formatter.format_help().strip()
        items = nodes.definition_list(classes=["arguments"])
        for action in sorted(parser._actions, key=lambda one: bool(one.option_strings)):
            if action.help in (None, argparse.SUPPRESS) or isinstance(
                action, argparse._HelpAction
            ):
                continue
            name = _names(action, formatter)
            term = nodes.term("", "", nodes.literal("", name))
            pieces = _OPTION.split(formatter._expand_help(action))
            text = nodes.paragraph()
            for i, piece in enumerate(pieces):
                text += nodes.literal("", piece) if i % 2 else nodes.Text(piece)
            items += nodes.definition_list_item("", term, nodes.definition("", text))
        block = nodes.literal_block(usage, usage, language="text")
        return [nodes.rubric("", f"Arguments of {parser.prog}"), block, items]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("verb", Verb)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
