"""Save and load data sets without knowing how TFRecord files work, and without TensorFlow.

    python examples/super_serial.py [--output FOLDER]

``save`` and ``load`` do for any data what the gist "Super Serial" does for TensorFlow's data
sets, and what its users asked for: dtypes are restored, lengths may vary, data may be nested or
a tuple, samples may be a stream, and loading returns batches if asked to. Headers written by
Super Serial itself are read too, with the extra ``yaml``: ``pip install '.[yaml]'``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite import TFRecordWriter, load, save

if TYPE_CHECKING:
    from collections.abc import Iterator


def samples(n_samples: int) -> Iterator[dict[str, Any]]:
    """Yield samples one at a time, so they are never all in memory."""
    rng = np.random.default_rng(0)
    for i in range(n_samples):
        yield {
            "image": rng.integers(0, 256, (10, 10, 3), np.uint8),
            "weights": rng.random(4),  # float64
            "tokens": rng.integers(0, 1000, i % 7),  # of any length
            "meta": {"name": f"sample {i}", "ok": i % 2 == 0},
        }


def save_and_load(folder: Path) -> None:
    """Save a stream of samples; load it again."""
    path = folder / "samples.tfrecord"
    schema = save(path, samples(1000), lossless=True)
    print(schema, "\n")

    columns: dict[str, Any] = load(path)  # nested: "meta" is a dictionary again
    for i, sample in enumerate(samples(1000)):
        assert np.array_equal(columns["image"][i], sample["image"])
        assert np.array_equal(columns["weights"][i], sample["weights"])
        assert np.array_equal(columns["tokens"][i], sample["tokens"])
        assert columns["meta"]["name"][i] == sample["meta"]["name"]
    assert columns["image"].dtype == np.uint8
    assert columns["weights"].dtype == np.float64
    assert columns["meta"]["ok"].dtype == np.bool_
    print("1,000 samples were restored: values, dtypes, shapes, names")


def tuples(folder: Path) -> None:
    """Save and load a tuple of arrays."""
    x, y = np.linspace(0, 1, 30).reshape(10, 3), np.arange(10, dtype=np.int32)
    save(folder / "pair.tfrecord", (x, y), lossless=True)

    pair: Any = load(folder / "pair.tfrecord")  # typed as a dictionary, the usual case
    x_again, y_again = pair

    assert np.array_equal(x, x_again)
    assert y_again.dtype == np.int32
    print("a tuple was restored as a tuple")


def a_header_of_super_serial(folder: Path) -> None:
    """Read a file of Super Serial: floats as float lists, integers as int64 lists, a header."""
    path, header = folder / "old.tfrecord", folder / "old.header"
    with TFRecordWriter(path) as writer:
        for i in range(3):
            image = np.arange(12, dtype=np.float32) * i
            writer.write_example({"image": image, "label": i})
    header.write_text(
        "image:\n  dtype: 2\n  shape:\n  - 2\n  - 2\n  - 3\nlabel:\n  dtype: 3\n  shape: []\n"
    )

    columns = load(path, schema=header)

    assert (columns["image"].dtype, columns["image"].shape) == (np.float64, (3, 2, 2, 3))
    assert columns["label"].dtype == np.int32
    print("a file of Super Serial's was read by its header")


def main() -> None:
    """Run all of it in a folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--output", type=Path, help="where to keep the files")
    output = parser.parse_args().output
    with tempfile.TemporaryDirectory() as temporary:
        folder = output or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        save_and_load(folder)
        tuples(folder)
        try:
            a_header_of_super_serial(folder)
        except ImportError as error:
            sys.exit(f"{error}")


if __name__ == "__main__":
    main()
