"""The memory that saving a stream takes: ``python -m benchmarks.streaming``.

A generator yields ten million rows (``--rows``) of an int, a float, a string and a list of
varying length to :func:`tfrecord_lite.save`, and the process's memory is measured on the way.
If it is flat, the peak after all rows is the peak after the first hundredth.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfrecord_lite import load, save, to_dense

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOKS = (0.01, 0.1, 0.25, 0.5, 0.75)


def peak_bytes() -> int:
    """Return the peak resident size of the process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def rows(n_rows: int, peaks: dict[int, int]) -> Iterator[dict[str, Any]]:
    """Yield rows, and record the peak on the way."""
    looks = {int(share * n_rows) for share in _LOOKS}
    for i in range(n_rows):
        if i in looks:
            peaks[i] = peak_bytes()
        yield {"id": i, "x": i / 7, "name": f"row {i}", "tags": [i, i + 1, i + 2][: i % 4]}
    peaks[n_rows] = peak_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--check", action="store_true", help="load a batch at a time as well")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.tfrecord")
        peaks: dict[int, int] = {}
        start = time.perf_counter()
        save(path, rows(args.rows, peaks))
        seconds = time.perf_counter() - start
        size = path.stat().st_size
        print(f"{args.rows:,} rows, {size / 1e6:,.0f} MB, {seconds:,.1f} s")
        for n_rows, peak in sorted(peaks.items()):
            print(f"  {n_rows:>12,} rows  peak {peak / 1e6:8,.1f} MB")
        print(f"  when closed         peak {peak_bytes() / 1e6:8,.1f} MB")
        if args.check:
            n_rows = total = 0
            for batch in load(path, batch_size=4096):
                ids = to_dense(batch["id"])
                n_rows += len(ids)
                total += int(ids.sum())
            assert (n_rows, total) == (args.rows, args.rows * (args.rows - 1) // 2)
            print(f"  loaded in batches   peak {peak_bytes() / 1e6:8,.1f} MB")


if __name__ == "__main__":
    main()
