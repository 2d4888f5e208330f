"""Dask, in two processes of a local cluster: a bag of parsed records, and this package's frames."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from distributed import Client, LocalCluster

from benchmarks import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[[], Any]

DISTRIBUTION = "dask"


@functools.cache
def _client() -> Any:
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    return Client(cluster)


def engine_itself(files: list[str]) -> Run:
    """Read records, and parse them one by one, as there is nothing else."""
    from tfrecord_lite.integrations.dask import read_records
    from tfrecord_lite.messages import Example

    _client()
    return lambda: iter([int(read_records(files).map(Example.FromString).count().compute())])


def engine(files: list[str]) -> Run:
    """Read frames."""
    from tfrecord_lite.integrations.dask import read_tfrecord

    _client()

    def run() -> Any:
        frame = read_tfrecord(files)
        return iter([int(frame.map_partitions(len, meta=("n", "int64")).sum().compute())])

    return run


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield how many records there are."""
    return check.counts(items)


OPERATIONS = {"engine": engine, "engine_itself": engine_itself}
