"""A data set of many shards, with few files open at a time: made, indexed, read by number and in order, checked and merged.

``python -m benchmarks.shards --shards 2000 --shard-bytes 5000000 --open-files 256`` prints a table: seconds, bytes read and
written by the process, as the operating system counts them (Linux), and its peak memory so far.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tfrecord_lite import ShardedTFRecordWriter, TFRecordDataset, TFRecordFile, verify
from tfrecord_lite.apps.rearrange import merge_files


def bytes_passed() -> tuple[int, int]:
    """Return how many bytes this process has read and written, page cache included."""
    lines = Path("/proc/self/io").read_text().splitlines()
    counts = dict(line.split(": ") for line in lines)
    return int(counts["rchar"]), int(counts["wchar"])


def measure(title: str, work: Callable[[], int]) -> None:
    """Run a step and print its row."""
    before, start = bytes_passed(), time.perf_counter()
    n_records = work()
    seconds, after = time.perf_counter() - start, bytes_passed()
    n_read, n_written = (b - a for a, b in zip(before, after, strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cells = [f"{n_records:,}", f"{seconds:.1f}", f"{n_read / 1e6:,.0f}", f"{n_written / 1e6:,.0f}"]
    print(f"| {title} | {' | '.join(cells)} | {peak:.0f} |", flush=True)


def write(name: str, num_shards: int, shard_bytes: int, record_bytes: int) -> int:
    """Write random records to the shards in turn; return their number."""
    n_records = num_shards * max(shard_bytes // (record_bytes + 16), 1)
    data = os.urandom(record_bytes + n_records % 65_536 + 65_536)
    with ShardedTFRecordWriter(name, compression="") as writer:
        for i in range(n_records):
            start = i % 65_536
            writer.write(data[start : start + record_bytes])
    return n_records


def index(name: str) -> int:
    """Write an index beside each shard; return the number of records."""
    with TFRecordFile(name) as file:
        file.save_index()
        return len(file)


def main() -> None:
    """Run all steps."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shards", description=__doc__)
    parser.add_argument("--shards", type=int, default=2000)
    parser.add_argument("--shard-bytes", type=int, default=1_000_000)
    parser.add_argument("--record-bytes", type=int, default=2000)
    parser.add_argument("--open-files", type=int, default=256)
    parser.add_argument("--folder", help="where the files are made, and removed at the end")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (args.open_files, args.open_files))
    print("| step | records | seconds | MB read | MB written | peak MiB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        name, merged = f"{folder}/s@{args.shards}", f"{folder}/m@100"
        measure("write", lambda: write(name, args.shards, args.shard_bytes, args.record_bytes))
        measure("index", lambda: index(name))
        measure("shuffled epoch", lambda: sum(1 for _ in TFRecordDataset(name).shuffle_all(1)))
        measure("verify", lambda: verify(name).records)
        measure("merge to 100", lambda: merge_files(name, merged).num_records)


if __name__ == "__main__":
    main()
