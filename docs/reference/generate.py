"""Write the pages that are made of the code: ``python docs/reference/generate.py``.

``cli-options.md`` has the arguments of all verbs, ``api/names.md`` a line per public name, and
``api/extension.md`` a line per name for authors of extensions. They are plain Markdown, which a code host shows as it is. The tests make them again and compare.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from importlib import import_module
from itertools import groupby, zip_longest
from pathlib import Path

import tfrecord_lite
from tfrecord_lite import extension
from tfrecord_lite.cli import app
from tfrecord_lite.cli.app import GROUPS, make_parser

__all__ = ["PAGES", "pages"]

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
NOTE = "<!-- made by docs/reference/generate.py -->\n\n"


def _argument(action: argparse.Action) -> str:
    """Return how an argument is written, and what it does, as a row of a table."""
    value = str(action.metavar or "{" + ",".join(map(str, action.choices or ())) + "}")
    names = ", ".join(action.option_strings)
    if action.nargs != 0 or not names:
        names = f"{names} {value}".strip() + " ..." * (action.nargs == "+")
    text = str(action.help).replace("|", "\\|")
    text = re.sub(r"(?<![\w-])(--?[a-z][\w-]*(?:=[\w,-]+)?)", r"`\1`", text)
    return f"| `{names}` | {text} |\n".replace("N|all", "N\\|all").replace(
        "all|N", "all\\|N"
    )


def _verb(name: str, parser: argparse.ArgumentParser) -> str:
    """Return the section of a verb: how it is called, what it does, its arguments."""
    shown = [one for one in parser._actions if one.help != argparse.SUPPRESS][1:]  # noqa: SLF001
    operands = [one for one in shown if not one.option_strings]
    call = " ".join(f"{one.metavar}{' ...' * (one.nargs == '+')}" for one in operands)
    text = " ".join((parser.description or "").split("\n\n")[0].split())
    rows = "".join(
        map(_argument, sorted(shown, key=lambda one: bool(one.option_strings)))
    )
    reading = re.search(r"reading: (.*) \(see", parser.epilog or "")
    names = ", ".join(f"`{one}`" for one in reading[1].split(", ")) if reading else ""
    more = f"\nAnd for [reading](#reading): {names}.\n" if reading else ""
    head = f"### {name}\n\n`tfrecord {name} [options] {call}`: {text}\n\n"
    return f"{head}| argument | |\n| --- | --- |\n{rows}{more}\n"


def options_page() -> str:
    """Return the page of all verbs' arguments."""
    verbs = make_parser(is_whole=True).verbs
    text = f"# Options of the command line\n\n{NOTE}What `tfrecord VERB --help` says. "
    text += "[The command line](cli.md) has examples.\n\n## Reading\n\n| option | |\n| --- | --- |\n"
    for option, meaning in re.findall(
        r"^  (--\S+(?: [A-Z])?\S*) {2,}(\S.*)$", (app.__doc__ or ""), re.MULTILINE
    ):
        text += f"| `{option}` | {meaning} |\n"
    for title, names in GROUPS.items():
        text += f"\n## To {title}\n\n" + "".join(
            _verb(name, verbs[name]) for name in names
        )
    return text.rstrip() + "\n"


def _summary(name: str) -> str:
    """Return the first line of the docstring of a dotted name, without importing engines."""
    place, _, attribute = name.rpartition(".")
    if place == "tfrecord_lite":
        modules = vars(tfrecord_lite)["_MODULE_OF"]
        place = f"tfrecord_lite.{modules[attribute]}"
    path = ROOT / place.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    body = ast.parse(file.read_text("utf-8")).body
    for node, after in zip_longest(body, body[1:]):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == attribute:
            text = ast.get_docstring(node)
            if text:  # an overload has none
                return _first_line(text)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
            names = ast.unparse(node).partition("=")[
                0
            ]  # Which a string below describes.
            if re.search(rf"\b{attribute}\b", names):
                return _first_line(ast.literal_eval(after.value))
        if isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                if (one.asname or one.name) == attribute:
                    return _summary(f"{node.module}.{one.name}")
    return _first_line(getattr(import_module(place), attribute).__doc__)


def _first_line(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


def names_page() -> str:
    """Return the page of all public names, by topic."""
    text = f"# All names\n\n{NOTE}A line each, by topic; the topics have a page per name, with examples.\n"
    for topic in re.findall(r"^(\w+)$", _api("index.md"), re.MULTILINE):
        page, rows, module = f"{topic}.md", "", ""
        title, *lines = _api(page).splitlines()
        for line in lines:
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            if match := re.fullmatch(r"   ~?([\w.]+)", line):
                name = f"{module}.{match[1]}"
                rows += _row(name, name.removeprefix("tfrecord_lite."))
        if rows:
            text += f"\n## [{title.removeprefix('# ')}]({page})\n\n| name | |\n| --- | --- |\n{rows}"
    return text


def _row(place: str, name: str) -> str:
    """Return the row of a name in a table."""
    summary = re.sub(r":\w+:`~?(.+?)`", r"`\1`", _summary(place)).replace("``", "`")
    return f"| `{name}` | {summary} |\n"


def extension_page() -> str:
    """Return the page of the names for authors of extensions, by the packages that define them."""
    introduction = inspect.cleandoc(str(extension.__doc__)).replace("``", "`")
    text = f"# For authors of extensions\n\n{NOTE}{introduction}\n"
    for package, homes in groupby(vars(extension)["_EXPORTS"].items(), _package_of):
        text += f"\n## {package}\n\n| name | |\n| --- | --- |\n"
        text += "".join(
            _row(f"tfrecord_lite.{home}.{name}", name)
            for home, names in homes
            for name in names
        )
    return text


def _package_of(item: tuple[str, tuple[str, ...]]) -> str:
    return item[0].partition(".")[0]


def _api(page: str) -> str:
    return (FOLDER / "api" / page).read_text("utf-8")


PAGES = {
    "cli-options.md": options_page,
    "api/extension.md": extension_page,
    "api/names.md": names_page,
}


def pages() -> dict[Path, str]:
    """Return the pages, by their paths."""
    return {FOLDER / name: make() for name, make in PAGES.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, "utf-8")
