"""The plan of a pipeline: stages, each with what it takes its elements from.

A plan is plain data, frozen, and can be pickled. Running it starts the generator of each
stage, the last one first. To spread a pipeline over workers is to change its plan.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from tfrecord_lite.dataset.feed import Feed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.feed import Pair, State

Kind: TypeAlias = Literal["records", "batches", "objects"]
"""Which chunks a stage gives."""


@dataclass(frozen=True, slots=True)
class Context:
    """What all stages of a run share."""

    epoch: tuple[int, ...] = (0,)
    """Which pass this is, from the outermost loop in: part of every key for random order."""
    kept: dict[str, Any] | None = None
    """What :meth:`Source.kept` is to be taken for; None for what it is."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A stage that takes its elements from nowhere else in the plan."""

    counts: ClassVar[bool] = False
    """Whether what it gives depends on the number of an element among all; such a stage
    has to see all of them, so a plan can be spread over workers only behind it."""

    @property
    def kind(self) -> Kind:
        """Which chunks it gives."""
        return "records"

    def size(self) -> int | None:
        """Return the number of its elements; None if that is not known."""
        return None

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Start it."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """Return what tells it from others of its class: numbers, and how many there are of what."""
        settings: dict[str, Any] = {}
        for name, value in vars(self).items():
            if type(value) is tuple:
                settings[f"n_{name}"] = len(value)
            elif isinstance(value, (int, type(None))) and not name.startswith("_"):
                settings[name] = value
        return settings

    def kept(self) -> dict[str, Any] | None:
        """Return which epoch its last cache gives, as plain data; None if there is no cache."""
        return None

    def part(self, n_parts: int, number: int) -> Source:
        """Return one that gives every n-th of the elements, from `number` on."""
        raise NotImplementedError

    def worker_part(self, n_workers: int, worker: int) -> Source:
        """Return one that gives the part of one of the workers, in whichever way is fastest."""
        return self.part(n_workers, worker)


@dataclass(frozen=True, kw_only=True)
class Stage(Source):
    """A stage that takes its elements from another."""

    input: Source

    @property
    def kind(self) -> Kind:
        """Which chunks it gives: those of its input, unless said otherwise."""
        return self.input.kind

    def feed(self, context: Context, state: dict[str, Any] | None) -> Feed:
        """Start the input."""
        return feed_of(self.input, context, state)

    def kept(self) -> dict[str, Any] | None:
        """Return which epoch the last cache gives: by default, that of the input."""
        return self.input.kept()

    def with_input(self, stage: Source) -> Stage:
        """Return the same stage on another input."""
        return replace(self, input=stage)


def feed_of(stage: Source, context: Context, state: dict[str, Any] | None) -> Feed:
    """Start a stage.

    A state of the beginning says what caches had kept then: those of another process, which
    are empty, or that keep another epoch by now, give the same.
    """
    kept = state.get("kept") if state else context.kept or stage.kept()
    return Feed(functools.partial(stage.run, replace(context, kept=kept)), state, kept)


def chain(stage: Source) -> list[Source]:
    """List the stages of a plan, the source first."""
    stages = [stage]
    while isinstance(stage, Stage):
        stage = stage.input
        stages.append(stage)
    return stages[::-1]


def describe(stage: Source) -> list[str]:
    """Name the stages of a plan, with what decides what they give, but for files' contents."""
    return [
        f"{type(each).__name__}({', '.join(f'{k}={v}' for k, v in each.settings().items())})"
        for each in chain(stage)
    ]
