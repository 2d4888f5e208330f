"""The measurements of :mod:`benchmarks.reliability`, run by :mod:`benchmarks.measure`."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Result = dict[str, float]


def _timed(work: Callable[[], int]) -> Result:
    start, start_cpu = time.perf_counter(), time.process_time()
    n_records = work()
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    return {"seconds": seconds, "cpu_seconds": cpu, "n_records": n_records}


def skipping_records(path: str, on_error: Any) -> Result:
    """Iterate over records."""
    from tfrecord_lite import TFRecordReader

    return _timed(lambda: sum(1 for _ in TFRecordReader(path, on_error=on_error)))


def skipping_blocks(path: str, on_error: Any) -> Result:
    """Iterate over blocks."""
    from tfrecord_lite import TFRecordReader

    return _timed(lambda: sum(map(len, TFRecordReader(path, on_error=on_error).blocks())))


def verify_file(path: str) -> Result:
    """Check a file, or a list of them, every checksum."""
    from tfrecord_lite import verify

    return _timed(lambda: verify(path).records)


def verify_shards(path: str, num_threads: int) -> Result:
    """Verify the same file four times, with that many threads."""
    from tfrecord_lite import verify

    return _timed(lambda: verify([path] * 4, num_threads=num_threads).records)


def recover_file(path: str, new: str) -> Result:
    """Recover a file to a new one, which is removed again."""
    from tfrecord_lite import recover

    result = _timed(lambda: recover(path, new).records)
    Path(new).unlink()
    return result


def skip_damages(path: str, damaged: str, n_damages: int) -> Result:
    """Iterate over blocks of a copy in which that many bits are flipped."""
    from tfrecord_lite import TFRecordReader

    if not Path(damaged).exists():
        data, choose = bytearray(Path(path).read_bytes()), random.Random(1)
        for _ in range(n_damages):
            data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        Path(damaged).write_bytes(data)
    return _timed(lambda: sum(map(len, TFRecordReader(damaged, on_error=str).blocks())))


MEASUREMENTS: dict[str, Callable[..., Result]] = {
    "skipping_records": skipping_records,
    "skipping_blocks": skipping_blocks,
    "verify_file": verify_file,
    "verify_shards": verify_shards,
    "recover_file": recover_file,
    "skip_damages": skip_damages,
}
