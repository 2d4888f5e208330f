"""Spread a plan over workers, so that each record comes exactly once.

A plan is split at its source, or, if a stage counts elements (``take``, ``skip``,
``enumerate``, ``shard`` behind others), behind the last such stage: what that gives is the
same in every worker, and each takes every n-th of it.

Workers of torch's ``DataLoader`` are recognised, without importing torch.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tfrecord_lite.dataset.batching import Batch
from tfrecord_lite.dataset.cache import Cache
from tfrecord_lite.dataset.plan import Source, Stage, chain
from tfrecord_lite.dataset.records import Files, ShuffledFiles
from tfrecord_lite.dataset.shuffle import Shuffle
from tfrecord_lite.dataset.stages import Repeat, Shard


@dataclass(frozen=True, slots=True)
class Worker:
    """One of the processes that share an epoch."""

    number: int
    n_workers: int
    salt: int
    """The same in all workers of an epoch, another in the next."""


def current_worker() -> Worker | None:
    """Return which of a ``DataLoader``'s workers this process is; None if it is none."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data is not None else None
    if info is None:
        return None
    return Worker(info.id, info.num_workers, (info.seed - info.id) % 2**64)


def register_with_torch(kind: type) -> None:
    """Make instances of a class what torch takes for an ``IterableDataset``, if torch is there."""
    data = sys.modules.get("torch.utils.data")
    if data is not None:
        data.IterableDataset.register(kind)


def worker_part(plan: Source, n_workers: int, number: int) -> Source:
    """Return the plan of one worker."""
    stages = chain(plan)
    last = max((i for i, stage in enumerate(stages) if stage.counts), default=0)
    part: Source
    if last == 0 and any(isinstance(stage, Repeat) for stage in stages):
        # Parts of one size, so that no worker begins its epochs much earlier than others.
        part = stages[0].part(n_workers, number)
    elif last == 0:
        part = stages[0].worker_part(n_workers, number)
    else:
        part = Shard(input=stages[last], n_parts=n_workers, number=number)
    for stage in stages[last + 1 :]:
        if isinstance(stage, Stage):
            part = stage.with_input(part)
    return part


def is_torch_there() -> bool:
    """Whether torch's data loaders are imported, so that one may be given a data set."""
    return "torch.utils.data" in sys.modules


def has_own_batches(plan: Source) -> bool:
    """Whether each worker makes batches of its own part: their number depends on the workers'."""
    stages = chain(plan)
    last = max((i for i, stage in enumerate(stages) if stage.counts), default=0)
    return any(isinstance(stage, Batch) for stage in stages[last + 1 :])


def has_idle_cache(plan: Source) -> bool:
    """Whether a cache would give nothing again in a process that ends with the epoch."""
    stages = chain(plan)
    last = max((i for i, stage in enumerate(stages) if isinstance(stage, Repeat)), default=0)
    return any(isinstance(stage, Cache) for stage in stages[last + 1 :])


def is_shuffle(stage: Source) -> bool:
    """Whether a stage has a random order of its own."""
    if isinstance(stage, Files):
        return stage.seed is not None
    return isinstance(stage, (Shuffle, ShuffledFiles))


def is_rank_bound(plan: Source) -> bool:
    """Whether ranks share a random order: it must be drawn by the seed and epoch alone."""
    stages = chain(plan)
    source = stages[0]
    if is_shuffle(source) and getattr(source, "n_parts", 1) > 1:
        return True
    shuffles = [i for i, stage in enumerate(stages) if is_shuffle(stage)]
    shards = [i for i, stage in enumerate(stages) if isinstance(stage, Shard)]
    return bool(shuffles and shards and min(shuffles) < max(shards))
