"""Inferring a schema compared with parsing: ``python -m benchmarks.inference --cache FOLDER``.

Each round reads the file once for :func:`tfrecord_lite.summarize`, and once for parsing every
feature into columns, byte strings without objects; they take turns, CRCs are checked, the
file is in the page cache. Medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from benchmarks.data import data_set
from tfrecord_lite import ExampleParser, TFRecordReader, infer_schema, summarize

_ROUNDS = 5
_USUAL = ("tabular", "embeddings", "tokens", "images")


def measure(path: str) -> tuple[int, float, float]:
    """Return the number of records, and the seconds of inferring and of parsing."""
    parser = ExampleParser(infer_schema(path), strings="BytesColumn")
    inferring, parsing = [], []
    n_records = 0
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        n_records = summarize(path).n_records
        inferring.append(time.perf_counter() - start)
        start = time.perf_counter()
        for block in TFRecordReader(path).blocks():
            parser(block)
        parsing.append(time.perf_counter() - start)
    return n_records, statistics.median(inferring), statistics.median(parsing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=_USUAL, help="data sets")
    parser.add_argument("--cache", type=Path, required=True, help="folder for the data sets")
    parser.add_argument("--scale", type=float, default=1.0, help="records, times this")
    args = parser.parse_args()
    for name in args.names:
        path = str(data_set(name, args.cache, args.scale))
        n_records, inferring, parsing = measure(path)
        print(
            f"{name}: {n_records:,} records; inferring {n_records / inferring:,.0f} records/s, "
            f"parsing {n_records / parsing:,.0f} records/s, {inferring / parsing:.2f} x its time"
        )


if __name__ == "__main__":
    main()
