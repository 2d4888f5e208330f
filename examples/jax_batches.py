"""Batches of TFRecords on jax's devices: ``python examples/jax_batches.py [FILE ...]``.

Columns are plain NumPy arrays, so ``jax.device_put`` accepts a batch as it is. A thread reads
the next batch while a compiled function works on this one; here it sums each column of
numbers. Strings are not read, since devices cannot hold them.

Without arguments, some records are written first. Needs jax: ``pip install jax``, or the extra
``examples``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tfrecord_lite import (
    FixedLenFeature,
    TFRecordError,
    TFRecordWriter,
    infer_schema,
    read_batches,
)


def make(folder: Path) -> str:
    """Write ten thousand records."""
    path = folder / "numbers.tfrecord"
    with TFRecordWriter(path) as writer:
        n = np.arange(10_000)
        writer.write_examples({"n": n % 10, "x": np.ones((len(n), 3), np.float32)})
    return str(path)


def run(files: list[str], batch_size: int) -> None:
    """Sum all columns of numbers on a device."""
    try:
        import jax  # noqa: PLC0415 - optional
    except ImportError:
        print("jax is not installed, so there is nothing to show: pip install jax")
        return
    schema = infer_schema(files)
    features = {
        name: spec
        for name, spec in schema.items()
        if isinstance(spec, FixedLenFeature) and np.dtype(spec.dtype).kind in "if"
    }
    if not features:
        raise ValueError(f"no feature is numbers of fixed length, of {sorted(schema)}")

    def add_up(columns: dict[str, Any]) -> dict[str, Any]:
        return {name: column.sum() for name, column in columns.items()}

    total = jax.jit(add_up)
    sums = dict.fromkeys(features, 0.0)
    n_records = 0
    for batch in read_batches(files, features, batch_size).prefetch(2):
        on_device = jax.device_put(batch)
        n_records += len(next(iter(batch.values())))
        for name, value in total(on_device).items():
            sums[name] += float(value)
    print(f"{n_records} records on {jax.devices()[0]}")
    for name, value in sorted(sums.items()):
        print(f"  sum of {name}: {value:,.1f}")


def main() -> None:
    """Run over the given files, or over generated ones."""
    parser = argparse.ArgumentParser(description="Put batches of TFRecords on jax's devices.")
    parser.add_argument("files", nargs="*", help="files or patterns; default: generated ones")
    parser.add_argument("--batch", type=int, default=256, help="records per batch; default: 256")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(given.files or [make(Path(folder))], given.batch)
        except (OSError, ValueError, TFRecordError) as error:
            sys.exit(f"{error}")


if __name__ == "__main__":
    main()
