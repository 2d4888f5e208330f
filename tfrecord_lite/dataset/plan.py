"""Plans: descriptions of data sets; and runs, the iterations over them.

A plan is a chain of nodes, each with the node that it takes its elements from. It is plain data: it can be
pickled, and no run changes it. Whatever changes during an iteration belongs to its :class:`Run`; whatever
outlives a run, such as a cache's elements, to a :class:`Memory` in the plan.

A plan is divided among workers at its first node; if stages count elements, after the last of those, whose output
is the same in every worker. Workers of torch's ``DataLoader`` are recognised, without importing torch.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, dataclass_transform

from tfrecord_lite.dataset.cutting import Demand, Feed, Pair, State
from tfrecord_lite.errors import DamageReport
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.texts import short_name

Content: TypeAlias = Literal["records", "batches", "objects"]
"""The chunks that a node gives: Blocks, BatchChunks, or any."""

_WORDS = {"n": "count", "n_parts": "num_shards", "number": "index", "n_workers": "num_workers"}
_WORDS |= {"n_threads": "num_parallel_calls", "reshuffles": "reshuffle_each_iteration"}
"""The arguments by which users know the fields of most nodes."""
_MOST_CHARS = 150
"""About the most characters of a plan's summary."""


@dataclass(eq=False, repr=False)
class Memory:
    """What this process keeps for a node, as long as a plan holds it; only what `travels` is pickled."""

    travels: bool = False
    value: Any = None

    def __reduce__(self) -> Any:
        """Pickle without what remains in this process."""
        return Memory, (self.travels, self.value if self.travels else None)


@dataclass(eq=False, repr=False)
class RunDamage:
    """Damage that one run has met, in its latest pass over the files."""

    is_skipped: bool = False
    log: DamageLog | None = None

    def begin(self, options: ReadSettings) -> DamageLog | None:
        """Start a log for a pass over the files; None if damage is to be raised."""
        self.log = log = DamageLog.begin(options)
        return log

    def report(self) -> DamageReport | None:
        """Report what was read and lost so far; None if damage is raised."""
        if self.log is None:
            return DamageReport(()) if self.is_skipped else None
        return self.log.report()


@dataclass(slots=True, eq=False, repr=False)
class Run:
    """One iteration over a plan: what its nodes share."""

    epoch: tuple[int, ...] = (0,)
    """Number of the epoch, then of the round of each ``repeat``."""
    sizes: dict[str, int] = field(default_factory=dict)
    """The bytes of each file that was opened, by its name."""
    salt: tuple[int, ...] = ()
    """A number that the workers of one epoch share, if they cannot know the epoch's."""
    damage: RunDamage = field(default_factory=RunDamage)
    demand: Demand = field(default_factory=Demand)
    """What the stage after a source wants next."""

    def key(
        self, seed: int, number: int, *, reshuffles: bool, is_shared: bool = False
    ) -> tuple[int, ...]:
        """Return the key of a random order: shuffle `number` of the plan; 0 for the files.

        If ranks share the order, it is without the salt, which differs between them.
        """
        epoch, salt = self.epoch, () if is_shared else self.salt
        return (seed, number, *((epoch[0], *salt, *epoch[1:]) if reshuffles else ()))


@dataclass_transform(kw_only_default=True, eq_default=False)
class PlanNode:
    """Node of a plan, a dataclass."""

    counts: ClassVar[bool] = False
    """Whether its result depends on an element's number among all. It then has to see all elements,
    so a plan can be divided among workers only after it."""
    gives: ClassVar[Content | None] = None
    """The chunks that it always gives; None if that depends on its input."""
    method: ClassVar[str] = ""
    """The method that makes it; empty for the name of the class."""
    words: ClassVar[Mapping[str, str]] = _WORDS

    def __init_subclass__(cls) -> None:
        """Make each kind of node a dataclass."""
        dataclass(kw_only=True, eq=False, repr=False)(cls)

    @property
    def content(self) -> Content:
        """Which chunks it gives."""
        return self.gives or "records"

    @property
    def stage(self) -> str:
        """The name by which users know it."""
        return self.method or type(self).__name__.lower()

    @property
    def call(self) -> str:
        """The call that makes it, with a number or a function."""
        own = [value for value in vars(self).values() if type(value) is int or callable(value)]
        names = [getattr(value, "__name__", type(value).__name__) for value in own[:1]]
        shown = str(own[0]) if own and type(own[0]) is int else "".join(names)
        return f"{self.stage}({shown})"

    def size(self) -> int | None:
        """Return the number of elements; None if it is not known."""
        return None

    def prepare(self, run: Run, n_workers: int) -> None:
        """Find out once, before workers start, what each of them would."""

    def count(self) -> None:
        """Find out the number of elements, if that takes reading."""

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield chunks of elements from a state on, each with the state after it."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """Return what identifies this node in a state: its settings, by the words of users.

        A seed that was drawn is not one of them: a state keeps it.
        """
        own = {n: v for n, v in vars(self).items() if isinstance(v, int | float | str | None)}
        settings: dict[str, Any] = {self.words.get(n, n): value for n, value in own.items()}
        for name, word in (("ranks", "shard"), ("share", "worker")):
            if (value := getattr(self, name, (1, 0))) != (1, 0):
                settings[word] = list(value)
        if not settings.pop("is_seeded", True):
            settings["drawn"] = settings.pop("seed")
        return settings


class Source(PlanNode):
    """Node without input, of which every `n_parts`-th element is given, from `number` on."""

    names: tuple[str, ...] = ()
    """The names of the files."""
    n_parts: int = 1
    number: int = 0
    ranks: tuple[int, int] = (1, 0)
    """Number of ranks that share these elements, in runs where possible, and the number of this one."""
    share: tuple[int, int] = (1, 0)
    """Number of workers that share these elements, and the number of this one."""
    even: Literal["", "pad", "drop"] = ""
    """How parts are made equal: one element more where one is missing, or none of the last."""
    method = "TFRecordDataset"

    @property
    def call(self) -> str:
        """The call that makes it."""
        if not self.names:
            return super().call
        more = f", ... ({len(self.names)} files)" if len(self.names) > 1 else ""
        return f"{self.stage}({short_name(self.names[0])!r}{more})"

    def part(self, n_parts: int, number: int) -> Self:
        """Return every `n_parts`-th of these elements, from `number` on."""
        step, first = self.n_parts * n_parts, self.number + self.n_parts * number
        return replace(self, n_parts=step, number=first)

    @property
    def step(self) -> slice:
        """Which of the elements of all ranks and workers are given."""
        first, step = self.number, self.n_parts
        for n, number in (self.ranks, self.share):
            first, step = first + step * number, step * n
        return slice(first, None, step)

    def part_size(self, n: int) -> int:
        """Return how many of `n` elements are given."""
        step = self.step
        n_parts: int = step.step
        if self.even:
            return n // n_parts if self.even == "drop" else -(-n // n_parts)
        return len(range(n)[step])

    @property
    def is_shared(self) -> bool:
        """Whether ranks share the order of the elements."""
        return self.n_parts > 1 or self.ranks != (1, 0)

    def worker_part(self, n_workers: int, worker: int, *, repeats: bool) -> Self:
        """Return a node that gives one worker's part of the elements, divided the fastest way.

        If the plan `repeats` them, parts have equal sizes, so that no worker begins its epochs much earlier
        than others.
        """
        return self.part(n_workers, worker)


class Stage(PlanNode):
    """Node that takes its elements from another."""

    input: PlanNode
    is_one_to_one: ClassVar[bool] = False
    """Whether it gives one element for each of its input."""

    @property
    def content(self) -> Content:
        """Which chunks it gives: by default its input's; only batches of records are batches."""
        is_other = self.gives == "batches" and self.input.content != "records"
        return "objects" if is_other else self.gives or self.input.content

    def size(self) -> int | None:
        """Return the number of elements; None if it is not known."""
        return self.input.size() if self.is_one_to_one else None

    def feed(self, run: Run, state: State, demand: Demand | None = None) -> Feed:
        """Start the input from where a state of this stage says.

        Without a `demand` it reads as many elements at once as are fast: what is wanted after a stage that takes
        them one by one says little about that.
        """
        run = replace(run, demand=demand or Demand())
        return feed_of(self.input, run, state["feed"] if state else None)

    def with_input(self, node: PlanNode) -> Stage:
        """Return the same stage on another input."""
        return replace(self, input=node)


def feed_of(node: PlanNode, run: Run, state: State) -> Feed:
    """Start a node from a state."""
    return Feed(functools.partial(node.chunks, run), state)


def plan_of(dataset: Any) -> PlanNode:
    """Return the plan of a data set."""
    return dataset._plan  # type: ignore[no-any-return]  # noqa: SLF001 - the package's own


def chain(node: PlanNode) -> list[PlanNode]:
    """List the nodes of a plan, from the one without input on."""
    nodes = [node]
    while isinstance(node, Stage):
        node = node.input
        nodes.append(node)
    return nodes[::-1]


def sources_of(plan: PlanNode) -> list[PlanNode]:
    """List the nodes without input that a plan begins with."""
    first = chain(plan)[0]
    inputs: tuple[PlanNode, ...] = getattr(first, "inputs", ())
    sources = [source for node_input in inputs for source in sources_of(node_input)]
    return sources if inputs else [first]


def summary(plan: PlanNode) -> str:
    """Write a plan as the calls that make it, in short."""
    text = ".".join(node.call for node in chain(plan))
    half = _MOST_CHARS // 2
    return text if len(text) <= _MOST_CHARS else f"{text[:half]} ... {text[-half:]}"


def describe(plan: PlanNode) -> list[dict[str, Any]]:
    """List the nodes of a plan, with their settings, as plain data."""
    return [{"stage": node.stage, **node.settings()} for node in chain(plan)]


def difference(here: list[dict[str, Any]], other: list[dict[str, Any]]) -> str:
    """Return how a plan differs from another, both as described; empty if they are alike."""
    n_here, n_other = (sum(stage.get("num_workers", 0) for stage in plan) for plan in (here, other))
    if n_here != n_other:
        return f"num_workers: {n_here} now, {n_other} in the state"
    calls, other_calls = ([stage["stage"] for stage in plan] for plan in (here, other))
    if calls != other_calls:
        return f"stages: {'.'.join(calls)} now, {'.'.join(other_calls)} in the state"
    differences = []
    for stage, of_state in zip(here, other, strict=True):
        for word in sorted({*stage, *of_state} - {"drawn", "inputs"}):
            if (ours := stage.get(word)) != (theirs := of_state.get(word)):
                what = f"{word} of {stage['stage']}"
                differences.append(f"{what}: {ours!r} now, {theirs!r} in the state")
    inputs, other_inputs = here[0].get("inputs", []), other[0].get("inputs", [])
    if len(inputs) != len(other_inputs):
        differences.append(f"data sets: {len(inputs)} now, {len(other_inputs)} in the state")
    differences += filter(None, map(difference, inputs, other_inputs))
    return "; ".join(differences)


def with_drawn_seeds(plan: PlanNode, stages: list[dict[str, Any]]) -> PlanNode:
    """Return a plan with the seeds that another one has drawn."""
    nodes: list[Any] = chain(plan)
    whole: Any = None
    for node, settings in zip(nodes, stages, strict=True):
        is_new = isinstance(node, Stage) and node.input is not whole
        whole = node.with_input(whole) if is_new else node
        if settings.get("drawn") not in (None, getattr(node, "seed", None)):
            whole = replace(whole, seed=settings["drawn"])
        if inputs := settings.get("inputs"):
            adopted = tuple(map(with_drawn_seeds, whole.inputs, inputs))
            same = all(a is b for a, b in zip(adopted, whole.inputs, strict=True))
            whole = whole if same else replace(whole, inputs=adopted)
    return whole  # type: ignore[no-any-return]


# ---------------------------------------------------------------------- plans of workers


class Worker(NamedTuple):
    """One of the processes that share an epoch."""

    number: int
    n_workers: int
    salt: int
    """A number that all workers of an epoch share, another one in each epoch."""


def current_worker() -> Worker | None:
    """Return which worker of a ``DataLoader`` this process is, if any."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data is not None else None
    if info is None:
        return None
    return Worker(info.id, info.num_workers, (info.seed - info.id) % 2**64)


def register_with_torch(cls: type) -> None:
    """Make a class count as an ``IterableDataset``, if torch is imported."""
    data = sys.modules.get("torch.utils.data")
    if data is not None:
        data.IterableDataset.register(cls)


def worker_part(plan: PlanNode, n_workers: int, number: int) -> PlanNode:
    """Return the plan of one worker."""
    nodes: list[Any] = chain(plan)
    last = last_that_counts(nodes)
    if last == 0:
        repeats = any(node.stage == "repeat" for node in nodes)
        part = nodes[0].worker_part(n_workers, number, repeats=repeats)
    else:
        from tfrecord_lite.dataset.stages import Shard  # noqa: PLC0415 - for workers alone

        part = Shard(input=nodes[last], n_parts=n_workers, number=number)
    for stage in nodes[last + 1 :]:
        part = stage.with_input(part)
    return part  # type: ignore[no-any-return]


def part_of(dataset: Any, n_workers: int, number: int) -> Any:
    """Return what one worker reads of a data set, in the same epoch."""
    from copy import copy  # noqa: PLC0415 - for workers alone

    part = copy(dataset)
    part._plan = worker_part(part._plan, n_workers, number)  # noqa: SLF001 - the package's own
    return part


def last_that_counts(nodes: list[PlanNode]) -> int:
    """Return the index of the last node that counts elements, or 0."""
    return max((i for i, node in enumerate(nodes) if node.counts), default=0)


def _is_shuffle(node: PlanNode) -> bool:
    below = (inner for plan in getattr(node, "inputs", ()) for inner in chain(plan))
    return getattr(node, "seed", None) is not None or any(map(_is_shuffle, below))


def has_unseeded_shuffle(plan: PlanNode) -> bool:
    """Whether any node of a plan has a random order whose seed was drawn."""
    return any(
        not getattr(node, "is_seeded", True)
        or any(map(has_unseeded_shuffle, getattr(node, "inputs", ())))
        for node in chain(plan)
    )


def is_rank_bound(plan: PlanNode) -> bool:
    """Whether ranks share the order of a shuffle before a shard."""
    nodes = chain(plan)
    shuffles = [i for i, node in enumerate(nodes) if _is_shuffle(node)]
    shards = [i for i, node in enumerate(nodes) if node.stage == "shard"]
    return bool(shuffles and shards and min(shuffles) < max(shards))
