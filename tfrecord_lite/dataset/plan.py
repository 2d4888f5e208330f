"""Plans: frozen descriptions of data sets; and runs, the iterations over them.

A plan is a chain of nodes, each of which holds the one it takes its elements from::

    Parse ──input──> Batch ──input──> Shuffle ──input──> Files

It is plain data: plans can be hashed, compared and pickled, and no run changes them. What changes
during an iteration belongs to its :class:`Run`. What outlives a run, such as a cache's elements,
is kept by the process, under a :class:`MemoryKey` that the plan holds.
"""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from tfrecord_lite.dataset.feed import Feed
from tfrecord_lite.records.damage import DamageLog, DamageReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.feed import Pair, State
    from tfrecord_lite.records.damage import Log
    from tfrecord_lite.records.options import ReadOptions

Content: TypeAlias = Literal["records", "batches", "objects"]
"""The chunks that a node gives: RecordChunks, BatchChunks, or any."""

_memory: weakref.WeakKeyDictionary[MemoryKey, Any] = weakref.WeakKeyDictionary()


class MemoryKey:
    """Name under which this process keeps something for a node, as long as a plan holds the name.

    Pickled, it is a new name, with nothing under it.
    """

    __slots__ = ("__weakref__",)

    def recall(self) -> Any:
        """Return what is kept; None if nothing is."""
        return _memory.get(self)

    def keep(self, value: object) -> None:
        """Keep something, instead of what was kept before."""
        _memory[self] = value

    def __reduce__(self) -> tuple[type[MemoryKey], tuple[()]]:
        """Leave what is kept where it is."""
        return MemoryKey, ()


class RunDamage:
    """Damage that one run has met: the log of the files that it reads, or read last."""

    def __init__(self, *, is_skipped: bool = False) -> None:
        self._is_skipped = is_skipped
        self.log: Log | None = None

    def begin(self, options: ReadOptions) -> DamageLog | None:
        """Start reading files; None if damage is to be raised."""
        self.log = log = DamageLog.begin(options.on_error, options.max_errors)
        return log

    def report(self) -> DamageReport | None:
        """Return what was read and lost so far; None if damage is raised."""
        if self.log is None:
            return DamageReport(()) if self._is_skipped else None
        return self.log.report()


@dataclass(frozen=True, slots=True)
class Run:
    """One iteration over a plan: what its nodes share."""

    epoch: tuple[int, ...] = (0,)
    """Number of the epoch, then those of the rounds of each ``repeat``: part of every key of
    random order."""
    cached: dict[str, Any] | None = None
    """What to assume of the caches' contents (:meth:`PlanNode.cached`); None for what they are."""
    damage: RunDamage = field(default_factory=RunDamage)


@dataclass(frozen=True, kw_only=True)
class PlanNode:
    """Node of a plan; one that is not a :class:`Stage` takes its elements from no other."""

    counts: ClassVar[bool] = False
    """Whether it decides by an element's number among all. Such a node has to see all elements,
    so a plan can be divided among workers only after it."""
    gives: ClassVar[Content | None] = None
    """Content that it always has, if not that of its input."""

    @property
    def content(self) -> Content:
        """Which chunks it gives."""
        return self.gives or "records"

    def size(self) -> int | None:
        """Return the number of elements; None if it is not known."""
        return None

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield chunks of elements, each with the state after it, from a state on."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """Return the settings that identify this node in a checkpoint: numbers and counts."""
        settings: dict[str, Any] = {}
        for name, value in vars(self).items():
            if type(value) is tuple:
                settings[f"n_{name}"] = len(value)
            elif isinstance(value, (int, type(None))) and not name.startswith("_"):
                settings[name] = value
        return settings

    def cached(self) -> dict[str, Any] | None:
        """Return which epoch the last cache holds, as plain data; None if there is no cache."""
        return None

    @property
    def skips_damage(self) -> bool:
        """Whether damage in files is skipped, rather than raised."""
        return False

    def part(self, n_parts: int, number: int) -> PlanNode:
        """Return a node that gives every `n_parts`-th element, from `number` on."""
        raise NotImplementedError

    def worker_part(self, n_workers: int, worker: int) -> PlanNode:
        """Return a node that gives one worker's part of the elements, whichever is fastest."""
        return self.part(n_workers, worker)


@dataclass(frozen=True, kw_only=True)
class Stage(PlanNode):
    """Node that takes its elements from another."""

    input: PlanNode
    is_one_to_one: ClassVar[bool] = False
    """Whether it gives one element for each of its input."""

    @property
    def content(self) -> Content:
        """Which chunks it gives: those of its input, if it has no own content."""
        return self.gives or self.input.content

    def size(self) -> int | None:
        """Return the number of elements; None if it is not known."""
        return self.input.size() if self.is_one_to_one else None

    def feed(self, run: Run, state: State) -> Feed:
        """Start the input, where a state of this stage has it."""
        return feed_of(self.input, run, state["feed"] if state else None)

    def cached(self) -> dict[str, Any] | None:
        """Return which epoch the last cache holds: by default, the last one of the input."""
        return self.input.cached()

    @property
    def skips_damage(self) -> bool:
        """Whether damage in files is skipped, rather than raised."""
        return self.input.skips_damage

    def with_input(self, node: PlanNode) -> Stage:
        """Return the same stage on another input."""
        return replace(self, input=node)


def feed_of(node: PlanNode, run: Run, state: State) -> Feed:
    """Start a node.

    A state of the beginning says what the caches held: those of another process, which are empty
    or hold another epoch by now, then give the same elements.
    """
    cached = state.get("kept") if state else run.cached or node.cached()
    return Feed(functools.partial(node.chunks, replace(run, cached=cached)), state, cached)


def chain(node: PlanNode) -> list[PlanNode]:
    """List the nodes of a plan, the first one being the one without input."""
    nodes = [node]
    while isinstance(node, Stage):
        node = node.input
        nodes.append(node)
    return nodes[::-1]


def describe(plan: PlanNode) -> list[str]:
    """Name the nodes of a plan, each with its settings."""
    return [
        f"{type(node).__name__}({', '.join(f'{k}={v}' for k, v in node.settings().items())})"
        for node in chain(plan)
    ]
