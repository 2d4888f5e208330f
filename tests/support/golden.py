"""Expressions, and what comes of them, in a text file that ``pytest --update-golden`` rewrites.

::

    # Comments and blank lines stay.
    $ some = np.zeros(3)
    >>> encode_examples({"x": [1, "a"]})
    UNREPRESENTABLE x 1: values of several kinds: int at record 0, str at record 1
    >>> encode_example({1: 1})
    TypeError: a feature's key must be a str, not 1
    >>> FixedLenFeature([2], float).shape
    = [2]

An error of this package is told by its reason, key and index, and its detail; others by their class,
and by their text if the package raises them.
So all inputs that are refused, and the wording, stand in one place.
"""

import re
import traceback
from difflib import unified_diff
from pathlib import Path
from typing import Any

import numpy as np

import tfrecord_lite
from tfrecord_lite import schema
from tfrecord_lite.errors import InvalidArgumentError

update = False
"""Whether to write what is found; set by the command line."""


def outcome(expression: str, names: dict[str, Any]) -> str:
    """Return what an expression comes to, in a line."""
    try:
        found = eval(expression, names)  # noqa: S307 - a file of the tests
    except InvalidArgumentError as error:
        place = " ".join(str(part) for part in (error.key, error.index) if part is not None)
        return f"{error.reason.name} {ascii(place)[1:-1]}: {ascii(error.detail)[1:-1]}".replace(
            " :", ":"
        )
    except (NameError, SyntaxError, AttributeError):  # a mistake in the file
        raise
    except Exception as error:  # noqa: BLE001 - what it is, is the answer
        words = re.sub(" at 0x[0-9a-f]+", "", ascii(str(error))[1:-1])
        return f"{type(error).__name__}: {words}" if _is_ours(error) else type(error).__name__
    return f"= {found!r}".splitlines()[0]


def _is_ours(error: Exception) -> bool:
    """Return whether the package raised an error itself; the words of others change."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return Path(tfrecord_lite.__file__).parent in Path(at.filename).parents and (
        at.line or ""
    ).startswith("raise")


def check(path: Path, names: dict[str, Any]) -> None:
    """Compare each expression of a file with the line after it; or rewrite these lines.

    `names` are those that expressions may use, besides ``np`` and what the package and `schema` export.
    """
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    names = {"np": np, **names}
    for module in (tfrecord_lite, schema):
        used = set(re.findall(r"[A-Za-z]\w*", text)).intersection(module.__all__) - names.keys()
        names |= {name: getattr(module, name) for name in used}
    answers = [i + 1 for i, line in enumerate(lines) if line.startswith(">>> ")]
    found = []
    for i, line in enumerate(lines):
        if line.startswith("$ "):
            exec(line[2:], names)  # noqa: S102
        if i not in answers:
            found.append(line)
        if line.startswith(">>> "):
            found.append(outcome(line[4:], names))
    if update:
        path.write_text("\n".join(found) + "\n", encoding="utf-8")
        return
    diff = "\n".join(unified_diff(lines, found, str(path), "found", n=1, lineterm=""))
    assert not diff, diff
    assert answers
