"""Train a small classifier from TFRecords with torch: ``python examples/train_torch.py [FILE ...]``.

The inputs are all features that are numbers of fixed length; the class is the feature ``--label``,
an integer from 0 on. ``infer_schema`` finds them in the files. A fifth of the records is kept
for testing. Each epoch reads the others in random order, in batches that worker processes
parse to tensors.

Without arguments, the 1,797 handwritten digits of scikit-learn are written first. Needs the extra
``examples``, or only ``torch`` for files of your own: ``pip install '.[examples]'``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tfrecord_lite import (
    FixedLenFeature,
    ShardedTFRecordWriter,
    TFRecordError,
    TFRecordFile,
    infer_schema,
)


def write_digits(folder: Path) -> str:
    """Write scikit-learn's digits to four shards."""
    from sklearn.datasets import load_digits  # noqa: PLC0415 - an extra

    images, labels = load_digits(return_X_y=True)
    with ShardedTFRecordWriter(folder / "digits@4.tfrecord") as writer:
        writer.write_examples({"image": images.astype(np.float32) / 16, "label": labels})
    return str(folder / "digits-*.tfrecord")


def inputs_and_label(files: list[str], label: str) -> dict[str, FixedLenFeature]:
    """Return the features to read: the label, and all other numbers of fixed length."""
    schema = infer_schema(files)
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


def train(files: list[str], label: str, n_epochs: int, n_workers: int) -> None:
    """Train, and print the accuracy after each epoch."""
    import torch  # noqa: PLC0415 - an extra
    from torch.utils.data import BatchSampler, DataLoader, SubsetRandomSampler  # noqa: PLC0415

    from tfrecord_lite.integrations.torch import IndexedTensors  # noqa: PLC0415

    torch.manual_seed(0)
    features = inputs_and_label(files, label)
    dataset: Any = IndexedTensors(TFRecordFile(files), features)
    order = torch.randperm(len(dataset)).tolist()
    n_test = len(order) // 5
    if not n_test:
        raise ValueError(f"{len(order)} records; at least 5 are needed")
    names = sorted(set(features) - {label})

    def joined(batch: dict[str, Any]) -> tuple[Any, Any]:
        columns = [batch[name].float().reshape(len(batch[name]), -1) for name in names]
        return torch.cat(columns, 1), batch[label]

    classes: Any = dataset.file.parse(range(len(dataset)), {label: features[label]})[label]
    if classes.ndim != 1 or classes.min() < 0:
        raise ValueError(f"{label!r} is not a class: expected one number from 0 on per record")
    n_classes = int(classes.max()) + 1
    test_x, test_y = joined(dataset[order[:n_test]])
    some_x, _ = joined(dataset[order[n_test:][:4096]])
    mean, spread = some_x.mean(0), some_x.std(0)
    spread[spread < 1e-3] = 1  # nearly constant inputs are not scaled
    model = torch.nn.Sequential(
        torch.nn.Linear(test_x.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, n_classes)
    )
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    loader: Any = DataLoader(
        dataset,
        batch_size=None,  # the sampler makes the batches, so that each is parsed as one
        sampler=BatchSampler(SubsetRandomSampler(order[n_test:]), 64, drop_last=False),
        num_workers=n_workers,
        persistent_workers=n_workers > 0,
    )
    print(f"{len(order)} records, {test_x.shape[1]} numbers each, {n_classes} classes")
    for epoch in range(n_epochs):
        start, losses = time.perf_counter(), []
        for batch in loader:
            x, y = joined(batch)
            loss = torch.nn.functional.cross_entropy(model((x - mean) / spread), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            is_right = model((test_x - mean) / spread).argmax(1) == test_y
        seconds = time.perf_counter() - start
        accuracy = 100 * is_right.float().mean().item()
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, {accuracy:.1f} % right, {seconds:.2f} s")


def main() -> None:
    """Train on the given files, or on the digits."""
    parser = argparse.ArgumentParser(description="Train a small classifier with torch.")
    parser.add_argument("files", nargs="*", help="uncompressed files or patterns; default: digits")
    parser.add_argument("--label", default="label", help="the feature to predict; default: label")
    parser.add_argument("--epochs", type=int, default=5, help="default: 5")
    parser.add_argument(
        "--workers", type=int, default=0, help="number of reading processes; default: 0"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            files = given.files or [write_digits(Path(folder))]
            train(files, given.label, given.epochs, given.workers)
        except ModuleNotFoundError as error:
            sys.exit(f"{error}: pip install '.[examples]'")
        except (OSError, ValueError, TFRecordError) as error:
            sys.exit(f"{error}")


if __name__ == "__main__":
    main()
