"""Which rule of docs/reference/semantics.md a test is about.

``@rule("R1")`` says that the test asks TensorFlow and this library about rule R1 and
that both answer alike. ``@deviation("R2")`` says that they differ on purpose, and
that the test holds the two answers side by side; the rule counts as covered too.
The end of the run tells how many rules were covered.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

FAMILIES = {
    "F": 4, "R": 10, "C": 8, "O": 9, "P": 7, "W": 21, "E": 8, "X": 8, "S": 5, "V": 2, "Z": 6,
    "G": 8, "Q": 16, "L": 6, "D": 6, "T": 8, "B": 5,
}  # fmt: skip
"""How many rules each family has."""

RULES = tuple(
    f"{family}{number}" for family, last in FAMILIES.items() for number in range(1, last + 1)
)
"""Every rule that must have a test."""

DEVIATIONS: set[str] = set()
"""Every rule with a test of a deviation, in the modules imported so far."""


def rule(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.rule(*_known(names))


def deviation(*names: str) -> pytest.MarkDecorator:
    """Mark a test as one of rules that this library does not follow on purpose."""
    DEVIATIONS.update(_known(names))
    return pytest.mark.deviation(*names)


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    unknown = set(names).difference(RULES)
    if unknown or not names:
        message = f"expected names of rules, got {names}"
        raise ValueError(message)
    return names


def names_of(item: pytest.Item) -> set[str]:
    marks = [*item.iter_markers("rule"), *item.iter_markers("deviation")]
    return {name for mark in marks for name in mark.args}


def summary(covered: set[str]) -> str:
    """Say in one line which rules were covered."""
    missing = [name for name in RULES if name not in covered]
    families = " ".join(f"{family}1-{family}{last}" for family, last in FAMILIES.items())
    text = f"parity: {len(covered)} rules covered, {len(missing)} missing of {families}"
    return f"{text}: {', '.join(missing)}" if missing else text


def parameters(
    rows: Iterable[tuple[Any, ...]],
    *defaults: Any,
    mark: Callable[..., pytest.MarkDecorator] = rule,
) -> list[Any]:
    """Return rows of a table, which begin with a rule, as parameters; `defaults` are for their last columns."""
    given = list(rows)
    width = max(map(len, given))
    return [
        pytest.param(*row, *defaults[len(defaults) - (width - len(row)) + 1 :], marks=mark(name))
        for name, *row in given
    ]
