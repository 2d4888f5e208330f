"""A feature store's data: raw records, rows of a table, and batches to fit a model.

    python examples/feature_store.py [--csv TABLE.csv --label COLUMN] [--output FOLDER]

A table is written to GZIP shards, one Example per row and one feature per column; some rows lack
a value. ``make_batched_features_dataset`` reads the shards, shuffled, in batches of 64 rows, fills
in the missing values, and returns the label next to the features. NumPy fits a linear model to
them. The label is read with VarLenFeature to show how that works: it becomes a SparseTensor.

Numbers in a CSV file become float features, anything else byte strings; the label must be a number.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite import (
    FixedLenFeature,
    ShardedTFRecordWriter,
    TFRecordError,
    TFRecordReader,
    TFRecordWriter,
    VarLenFeature,
    tf,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    Row = dict[str, Any]

N_SHARDS = 3
N_EPOCHS = 2
MISSING = -1


def raw_records(path: Path) -> None:
    """Write records of any bytes, and read them back."""
    with TFRecordWriter(path) as writer:
        writer.write(b"Record A")
        writer.write(b"Record B")
    print("raw records:", list(TFRecordReader(path)))


def made_rows() -> Iterator[Row]:
    """Yield a thousand rows; every tenth lacks ``int_col``."""
    rng = np.random.default_rng(0)
    for i in range(1000):
        number, real = int(rng.integers(0, 10)), float(rng.normal())
        row = {"byte_col": b"row %d" % i, "float_col": real, "label": 3 * number - 2 * real + 1}
        if i % 10:
            row["int_col"] = number
        else:
            row["label"] = 3 * MISSING - 2 * real + 1  # the value that a missing one is read as
        yield row


def rows_of_csv(path: Path, label: str) -> Iterator[Row]:
    """Yield the rows of a table, with numbers as floats and without empty cells."""
    with path.open(newline="", encoding="utf-8") as file:
        for i, row in enumerate(csv.DictReader(file), 2):
            out = {name: _value(text) for name, text in row.items() if name and text}
            if isinstance(out.get(label, b""), bytes):
                raise ValueError(  # noqa: TRY004 - wrong data, not a wrong argument
                    f"{path}, line {i}: the label {label!r} is {row.get(label)!r}"
                )
            yield {"label" if name == label else name: value for name, value in out.items()}


def _value(text: str) -> float | bytes:
    try:
        return float(text)
    except ValueError:
        return text.encode()


def write(folder: Path, rows: Iterator[Row]) -> dict[str, type]:
    """Write rows to shards; return the type of each column."""
    types: dict[str, type] = {}
    with ShardedTFRecordWriter(folder / f"part@{N_SHARDS}.tfrecord.gz") as writer:
        for i, row in enumerate(rows):
            for name, value in row.items():
                if types.setdefault(name, type(value)) is not type(value):
                    raise ValueError(
                        f"row {i}: {name!r} is a number in some rows and text in others"
                    )
            writer.write_example(row)
    return types


def batches(folder: Path, types: dict[str, type]) -> Any:
    """Return batches of 64 rows: a dictionary of columns, and the label."""
    features: dict[str, Any] = {"label": VarLenFeature(float)}
    for name, type_ in types.items():
        if name != "label":
            default = b"" if type_ is bytes else MISSING
            features[name] = FixedLenFeature([], type_, default_value=default)
    return tf.data.experimental.make_batched_features_dataset(
        str(folder / "part-*.tfrecord.gz"),
        batch_size=64,
        features=features,
        label_key="label",
        reader_args=["GZIP"],
        num_epochs=N_EPOCHS,
        shuffle_seed=0,
    )


def train(folder: Path, types: dict[str, type]) -> None:
    """Fit a linear model to the numbers: sum the normal equations over batches, and solve them."""
    names = sorted(name for name, type_ in types.items() if type_ is not bytes and name != "label")
    square, moment, n_rows, sum_y, sum_yy = 0.0, 0.0, 0, 0.0, 0.0
    for columns, label in batches(folder, types):
        y = tf.sparse.to_dense(label).numpy()[:, 0].astype(np.float64)
        x = np.column_stack([*(columns[name] for name in names), np.ones(len(y))]).astype(float)
        square, moment = square + x.T @ x, moment + x.T @ y
        n_rows, sum_y, sum_yy = n_rows + len(y), sum_y + y.sum(), sum_yy + y @ y
    weights = np.linalg.lstsq(square, moment, rcond=None)[0]
    left = max(float(sum_yy - weights @ moment), 0.0)
    spread = max(float(sum_yy - sum_y**2 / n_rows), 1e-12)
    print(f"{n_rows} rows in {N_EPOCHS} epochs, missing numbers read as {MISSING}")
    for name, weight in zip([*names, "1"], weights, strict=True):
        print(f"  {weight:+.3f} x {name}")
    print(f"explains {100 * (1 - left / spread):.1f} % of the label's variance")


def run(folder: Path, table: Path | None, label: str) -> None:
    """Write, read and fit."""
    raw_records(folder / "raw.tfrecord")
    types = write(folder, made_rows() if table is None else rows_of_csv(table, label))
    if not types:
        raise ValueError(f"{table} has no rows")
    first = next(iter(batches(folder, types)))
    print("columns of a batch:", {name: column.shape for name, column in sorted(first[0].items())})
    train(folder, types)


def main() -> None:
    """Run with the given table, or with a generated one."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--csv", type=Path, help="a table with names in its first line")
    parser.add_argument("--label", default="label", help="the column to predict; default: label")
    parser.add_argument(
        "--output", type=Path, help="folder for the files; default: a temporary one"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.output or Path(temporary)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            run(folder, given.csv, given.label)
        except (OSError, ValueError, TFRecordError) as error:
            sys.exit(f"{error}")


if __name__ == "__main__":
    main()
