"""TensorBoard: its accumulator of events, with its own reader of records."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")  # its own reader is the faster

from tensorboard.backend.event_processing import event_accumulator  # noqa: E402

from benchmarks import check  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DISTRIBUTION = "tensorboard"


def events(path: str) -> Callable[[], Any]:
    """Read steps, times and values of every scalar."""
    import numpy as np

    def run() -> Iterator[Any]:
        found = event_accumulator.EventAccumulator(
            path, size_guidance=event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE
        )
        found.Reload()
        for tag in found.Tags()["scalars"]:
            scalars = found.Scalars(tag)
            np.array([event.step for event in scalars])
            np.array([event.wall_time for event in scalars])
            yield tag, np.array([event.value for event in scalars], np.float32)

    return run


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield the values of each tag."""
    return ({tag: check.flat(values)} for tag, values in items)


OPERATIONS = {"events": events}
