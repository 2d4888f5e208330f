"""Ray: its own reader of TFRecord files, which needs TensorFlow, and this package's."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import ray

from benchmarks import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[[], Any]

DISTRIBUTION = "ray"
_CPUS = 2


def _start() -> None:
    if ray.is_initialized():
        return
    ray.init(
        num_cpus=_CPUS,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": os.getcwd()}},  # noqa: PTH109
    )
    logging.getLogger("ray.data").setLevel("CRITICAL")
    ray.data.DataContext.get_current().enable_progress_bars = False


def _count(ds: Any) -> Iterator[int]:
    batches = ds.iter_batches(batch_format="pyarrow", batch_size=None)
    return iter([sum(len(batch) for batch in batches)])


def engine_itself(files: list[str]) -> Run:
    """Read with Ray's reader."""
    _start()
    return lambda: _count(ray.data.read_tfrecords(files))


def engine(files: list[str]) -> Run:
    """Read with this package's."""
    from tfrecord_lite.integrations.ray import read_tfrecords

    _start()
    return lambda: _count(read_tfrecords(files))


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield how many records there are."""
    return check.counts(items)


OPERATIONS = {"engine": engine, "engine_itself": engine_itself}
