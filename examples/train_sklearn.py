"""Train a classifier from TFRecords with scikit-learn, batch by batch, in constant memory.

    python examples/train_sklearn.py [FILE ...] [--label NAME] [--epochs N]

The input is all features that are numbers of fixed length; the class is the feature ``--label``,
an integer. ``infer_schema`` finds them in the files, of any compression. Every fifth record is
kept for testing. The others are read in shuffled batches for ``SGDClassifier.partial_fit``, so files
of any size will do.

Without arguments, the 1,797 handwritten digits of scikit-learn are written first. Needs the extra
``examples``: ``pip install '.[examples]'``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite import (
    Dataset,
    FixedLenFeature,
    ShardedTFRecordWriter,
    TFRecordDataset,
    TFRecordError,
    infer_schema,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

N_PARTS = 5


def write_digits(folder: Path) -> str:
    """Write scikit-learn's digits to four GZIP shards."""
    from sklearn.datasets import load_digits  # noqa: PLC0415 - an extra

    images, labels = load_digits(return_X_y=True)
    with ShardedTFRecordWriter(folder / "digits@4.tfrecord.gz") as writer:
        writer.write_examples({"image": images.astype(np.float32) / 16, "label": labels})
    return str(folder / "digits-*.tfrecord.gz")


def inputs_and_label(files: list[str], label: str) -> dict[str, FixedLenFeature]:
    """Return the features to read: the label, and all other numbers of fixed length."""
    schema: Mapping[str, Any] = infer_schema(files)
    found = {
        name: spec
        for name, spec in schema.items()
        if isinstance(spec, FixedLenFeature) and np.dtype(spec.dtype).kind in "if"
    }
    if label not in found or np.dtype(found[label].dtype).kind != "i":
        raise ValueError(f"{label!r} is not an integer in every record; features: {sorted(schema)}")
    if len(found) == 1:
        raise ValueError(f"no numbers of fixed length except {label!r}; features: {sorted(schema)}")
    return found


def joined(columns: dict[str, Any], label: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the inputs of a batch as one matrix, and its labels."""
    names = sorted(set(columns) - {label})
    x = [columns[name].reshape(len(columns[name]), -1) for name in names]
    return np.concatenate(x, axis=1, dtype=np.float64), columns[label]


def train(files: list[str], label: str, n_epochs: int) -> None:
    """Train, and print the accuracy after each epoch."""
    from sklearn.linear_model import SGDClassifier  # noqa: PLC0415 - an extra
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    features = inputs_and_label(files, label)
    records = TFRecordDataset(files)

    def part(*, test: bool) -> Dataset:
        numbered = records.enumerate().filter(lambda i, _: (i % N_PARTS == 0) == test)
        return numbered.map(lambda _, record: record)

    test = part(test=True).batch(1024).parse_example(features)
    train_on = part(test=False).shuffle(2048, seed=0).batch(64).parse_example(features)

    scaler, classes, n_records = StandardScaler(), set(), 0
    for columns in records.batch(1024).parse_example(features):
        x, y = joined(columns, label)
        scaler.partial_fit(x)
        classes.update(y.tolist())
        n_records += len(y)
    if n_records < N_PARTS or len(classes) < 2:
        raise ValueError(f"{n_records} records of {len(classes)} classes are too few")
    print(f"{n_records} records, {x.shape[1]} numbers each, {len(classes)} classes")
    model = SGDClassifier(random_state=0)
    for epoch in range(n_epochs):
        for columns in train_on:
            x, y = joined(columns, label)
            model.partial_fit(scaler.transform(x), y, classes=sorted(classes))
        is_right = [
            model.predict(scaler.transform(x)) == y
            for x, y in (joined(columns, label) for columns in test)
        ]
        print(f"epoch {epoch}: {100 * np.concatenate(is_right).mean():.1f} % right")


def main() -> None:
    """Train on the given files, or on the digits."""
    parser = argparse.ArgumentParser(description="Train a classifier with scikit-learn.")
    parser.add_argument("files", nargs="*", help="files or patterns; default: digits")
    parser.add_argument("--label", default="label", help="the feature to predict; default: label")
    parser.add_argument("--epochs", type=int, default=3, help="default: 3")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            train(given.files or [write_digits(Path(folder))], given.label, given.epochs)
        except ImportError as error:
            sys.exit(f"{error}: pip install '.[examples]'")
        except (OSError, ValueError, TFRecordError) as error:
            sys.exit(f"{error}")


if __name__ == "__main__":
    main()
