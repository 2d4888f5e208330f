"""What is measured, one measurement a process: ``python -m benchmarks.measure '{...}'``.

A process of its own keeps one measurement's memory, imports and caches out of
the next. The request is a JSON object on the command line, ``{"what": ...}`` and
the arguments of the function of that name; the answer is a JSON object on
standard output. :mod:`benchmarks.records` asks and compares.

Each side runs the loop a user would write, the same on both sides. Imports are
inside the functions, so that nothing is loaded that is not measured, and
outside what is timed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Result = dict[str, float]

_PIECE_BYTES = 1024 * 1024


def read_ours(path: str) -> Result:
    """Iterate over a TFRecordReader, which finds the compression out."""
    from tfrecord_lite import TFRecordReader

    return _timed_count(lambda: TFRecordReader(path))


def read_ours_unverified(path: str) -> Result:
    """Iterate without checking the data's CRCs."""
    from tfrecord_lite import TFRecordReader

    return _timed_count(lambda: TFRecordReader(path, verify=False))


def read_ours_iterator(path: str) -> Result:
    """Iterate with the function that has TensorFlow's name."""
    from tfrecord_lite import tf_record_iterator

    return _timed_count(lambda: tf_record_iterator(path, _compression_of(path)))


def read_ours_blocks(path: str) -> Result:
    """Take blocks; the records in them are checked but not made into objects."""
    from tfrecord_lite import TFRecordReader

    start = time.perf_counter()
    n_records = 0
    for block in TFRecordReader(path).blocks():
        n_records += len(block)
    return {"seconds": time.perf_counter() - start, "n_records": n_records}


def read_tensorflow(path: str) -> Result:
    """Iterate with TensorFlow's compiled iterator."""
    from tensorflow import compat

    options = compat.v1.io.TFRecordOptions(_compression_of(path))
    return _timed_count(lambda: compat.v1.io.tf_record_iterator(path, options))


def _compression_of(path: str) -> str:
    return "GZIP" if path.endswith(".gz") else ""


def _timed_count(open_it: Callable[[], Iterable[bytes]]) -> Result:
    start = time.perf_counter()
    n_records = 0
    for _ in open_it():
        n_records += 1
    return {"seconds": time.perf_counter() - start, "n_records": n_records}


def _records(size: int) -> list[bytes]:
    """Return different records of one size, several megabytes of them."""
    import numpy as np

    random = np.random.default_rng(size)
    return [random.bytes(size) for _ in range(max(8 * _PIECE_BYTES // size, 1))]


def write_ours(path: str, size: int, n_records: int) -> Result:
    """Write with this package's TFRecordWriter."""
    from tfrecord_lite import TFRecordWriter

    return _timed_write(lambda: TFRecordWriter(path), path, size, n_records)


def write_tensorflow(path: str, size: int, n_records: int) -> Result:
    """Write with TensorFlow's."""
    from tensorflow import io

    return _timed_write(lambda: io.TFRecordWriter(path), path, size, n_records)


def _timed_write(open_it: Callable[[], Any], path: str, size: int, n_records: int) -> Result:
    records = _records(size)
    rounds, rest = divmod(n_records, len(records))
    _make_room(path, n_records * (size + 16))
    start = time.perf_counter()
    with open_it() as writer:
        for _ in range(rounds):
            for record in records:
                writer.write(record)
        for record in records[:rest]:
            writer.write(record)
    return {"seconds": time.perf_counter() - start, "n_records": n_records}


def write_kernel(path: str, size: int, n_records: int) -> Result:
    """Write as many bytes, framed beforehand, by os.write alone: no writer can be faster."""
    from tfrecord_lite.framing import frame

    frames = bytes(frame(_records(size)))
    pieces = [frames[i : i + _PIECE_BYTES] for i in range(0, len(frames), _PIECE_BYTES)]
    left = n_records * (size + 16)
    _make_room(path, left)
    start = time.perf_counter()
    _write_pieces(path, pieces, left)
    return {"seconds": time.perf_counter() - start, "n_records": n_records}


def _write_pieces(path: str, pieces: list[bytes], n_bytes: int) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    left = n_bytes
    while left:
        for piece in pieces:
            left -= os.write(file, piece[:left])
    os.close(file)


def _make_room(path: str, n_bytes: int) -> None:
    """Write a file of so many bytes and remove it, so that every contender finds the same.

    Two things would otherwise decide: emptying an old file makes some file
    systems wait for the disk; and in a virtual machine memory that the kernel
    has not used lately can cost ten times as much as memory that it has.
    """
    Path(path).unlink(missing_ok=True)
    _write_pieces(path, [bytes(_PIECE_BYTES)], n_bytes)
    Path(path).unlink()


def make_large(path: str, size: int, n_bytes: int) -> Result:
    """Write a file of so many bytes, more or less, of records of one size."""
    n_records = n_bytes // (size + 16)
    return write_ours(path, size, n_records)


def memory_ours(path: str) -> Result:
    """Iterate over a file; return the peak of the whole process."""
    return {**read_ours(path), "peak_bytes": _peak_bytes()}


def memory_ours_blocks(path: str) -> Result:
    """Take a file's blocks; return the peak of the whole process."""
    return {**read_ours_blocks(path), "peak_bytes": _peak_bytes()}


def memory_tensorflow(path: str) -> Result:
    """Iterate with TensorFlow; return the peak of the whole process."""
    return {**read_tensorflow(path), "peak_bytes": _peak_bytes()}


def _peak_bytes() -> int:
    """Return the most memory this process had resident.

    On Linux not from getrusage: its figure outlives exec, so that it would
    include the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def import_ours() -> Result:
    """Import this package in an interpreter that has loaded nothing else."""
    start = time.perf_counter()
    import tfrecord_lite  # noqa: F401

    return {"seconds": time.perf_counter() - start}


def import_numpy() -> Result:
    """Import NumPy alone, the largest part of it."""
    start = time.perf_counter()
    import numpy as np  # noqa: F401

    return {"seconds": time.perf_counter() - start}


def import_tensorflow() -> Result:
    """Import TensorFlow."""
    start = time.perf_counter()
    import tensorflow as tf  # noqa: F401

    return {"seconds": time.perf_counter() - start}


MEASUREMENTS: dict[str, Callable[..., Result]] = {
    "read_ours": read_ours,
    "read_ours_unverified": read_ours_unverified,
    "read_ours_iterator": read_ours_iterator,
    "read_ours_blocks": read_ours_blocks,
    "read_tensorflow": read_tensorflow,
    "write_ours": write_ours,
    "write_tensorflow": write_tensorflow,
    "write_kernel": write_kernel,
    "make_large": make_large,
    "memory_ours": memory_ours,
    "memory_ours_blocks": memory_ours_blocks,
    "memory_tensorflow": memory_tensorflow,
    "import_ours": import_ours,
    "import_numpy": import_numpy,
    "import_tensorflow": import_tensorflow,
}


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    print(json.dumps(MEASUREMENTS[request.pop("what")](**request)))
