"""How much a run of the tests tries: a little of everything, or all with ``pytest --full``.

What is asked for by `pick` or `at_most` may depend on it while a module is imported, since
``tests/conftest.py`` sets `full` before any module of tests is. Single tests and parameters that
only the whole has bear the mark ``full`` instead.
"""

from __future__ import annotations

import os
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings

__all__ = ["at_most", "full", "load_profile", "pairs", "pick", "some"]
from collections.abc import Iterable

T = TypeVar("T")

full = False
"""Whether this run tries all."""

# No deadline: the first example of a test pays for imports and table building.
# Slow machines are no failure either, nor are draws of which many happen to be rejected.
_COMMON = settings(
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
# The same examples each time, in the first run of a newcomer and where a change is judged: neither
# must depend on luck.
_JUDGED = bool(os.environ.get("CI"))
settings.register_profile("short", _COMMON, max_examples=5, derandomize=True)
settings.register_profile("default", _COMMON, max_examples=200)
settings.register_profile("ci", _COMMON, max_examples=100, derandomize=True)
settings.register_profile("long", _COMMON, max_examples=10_000)
# For a first look: fails fast, with the first example found rather than the smallest.
settings.register_profile(
    "quick", _COMMON, max_examples=40, phases=[Phase.explicit, Phase.generate]
)


def load_profile() -> None:
    """Load the profile of Hypothesis that the environment names, or the one that suits the run."""
    suitable = ("ci" if _JUDGED else "default") if full else "short"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or suitable)


def pick(short: T, whole: T) -> T:
    """Return what suits the run: a number of rounds, a size, a list of parameters."""
    return whole if full else short


def at_most(examples: int) -> settings:
    """Return settings for a property that is slow, or soon exhausted: so many examples, or fewer."""
    return settings(max_examples=min(examples, settings().max_examples))


def some(number: int, values: Iterable[Any]) -> list[Any]:
    """Return parameters of which a short run has `number`: the first, and others evenly spread."""
    given = list(values)
    kept = {i * len(given) // number for i in range(number)}
    return [
        value
        if i in kept
        else pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.full
        )
        for i, value in enumerate(given)
    ]


def pairs(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Return pairs of parameters, all with all; a short run has each value, but few of the pairs."""
    one, other = list(first), list(second)
    kept = {(i % len(one), i % len(other)) for i in range(max(len(one), len(other)))}
    return [
        pytest.param(a, b, marks=() if (i, j) in kept else pytest.mark.full)
        for i, a in enumerate(one)
        for j, b in enumerate(other)
    ]
