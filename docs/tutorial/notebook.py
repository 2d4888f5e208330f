"""Make the notebook of the tutorial from its page: ``python docs/tutorial/notebook.py``.

Each block of Python on the page is a cell, with the block of text after it, if there is one, as its output; what is
between them is Markdown. ``--run`` puts what the cells print into the page first. The tests run the cells, and compare.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["PAGE", "cells", "notebook", "printed"]

PAGE = Path(__file__).resolve().parent / "first-model.md"

_BLOCK = re.compile(
    r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)


def cells(page: str) -> list[tuple[str, str]]:
    """Return the code of each cell, and what the page says that it prints."""
    return [(code, output or "") for code, output in _BLOCK.findall(page)]


def printed(page: str) -> list[str]:
    """Run the cells in a new folder, and return what each prints."""
    namespace: dict[str, Any] = {}
    found = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for code, _ in cells(page):
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(code, namespace)  # noqa: S102 - our own page
            found.append(stream.getvalue())
    return found


def notebook(page: str) -> str:
    """Return the notebook, as JSON."""
    parts: list[dict[str, Any]] = []

    def add(kind: str, text: str, **more: Any) -> None:
        if text.strip():
            lines = text.strip("\n").splitlines(keepends=True)
            parts.append(
                {
                    "cell_type": kind,
                    "id": f"cell-{len(parts)}",
                    "metadata": {},
                    "source": lines,
                    **more,
                }
            )

    end = 0
    for number, match in enumerate(_BLOCK.finditer(page), 1):
        add("markdown", _portable(page[end : match.start()]))
        code, output = match[1], match[2] or ""
        stream = {
            "name": "stdout",
            "output_type": "stream",
            "text": output.splitlines(keepends=True),
        }
        add("code", code, execution_count=number, outputs=[stream] if output else [])
        end = match.end()
    add("markdown", _portable(page[end:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    content = {"cells": parts, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _portable(text: str) -> str:
    """Return Markdown without what only these pages understand."""
    text = re.sub(r"^This page is also a notebook.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)


def _with_outputs(page: str, outputs: list[str]) -> str:
    results = iter(outputs)

    def replaced(match: re.Match[str]) -> str:
        output = next(results)
        return f"```python\n{match[1]}```\n" + (
            f"\n```text\n{output}```\n" if output else ""
        )

    return _BLOCK.sub(replaced, page)


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    if "--run" in sys.argv[1:]:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        text = _with_outputs(text, printed(text))
        PAGE.write_text(text, "utf-8")
    PAGE.with_suffix(".ipynb").write_text(notebook(text), "utf-8")
