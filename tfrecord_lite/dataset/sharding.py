"""Divide a plan among workers, so that each record is returned exactly once.

A plan is divided at its first node; if stages count elements, after the last of those, whose output is the
same in every worker. Workers of torch's ``DataLoader`` are recognised, without importing torch.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from tfrecord_lite.dataset.batching import Batch
from tfrecord_lite.dataset.plan import PlanNode, chain


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
    last = _last_that_counts(nodes)
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


def _last_that_counts(nodes: list[PlanNode]) -> int:
    return max((i for i, node in enumerate(nodes) if node.counts), default=0)


def has_own_batches(plan: PlanNode) -> bool:
    """Whether each worker batches its own part."""
    nodes = chain(plan)
    return any(isinstance(node, Batch) for node in nodes[_last_that_counts(nodes) + 1 :])


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
