"""Which Python values go into which list, and what to do with tensors.

    python examples/tensor_features.py [ARRAY.npy ...]

A feature is a list of integers, of floats or of byte strings, and nothing else: bool, enum and
all integers go to the first, float and double to the second, str and bytes to the third.
An array of more dimensions, or of a dtype that these lists would lose, is stored as one byte
string with its dtype and shape: ``serialize_tensor`` makes it, ``parse_tensor`` reads it. Arrays
in the arguments are stored that way, read back, and compared.
"""

from __future__ import annotations

import argparse
import enum
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tfrecord_lite import (
    FixedLenFeature,
    TFRecordError,
    TFRecordReader,
    TFRecordWriter,
    parse_single_example,
    parse_tensor,
    serialize_tensor,
)
from tfrecord_lite.messages import BytesList, Example, Feature, Features, FloatList, Int64List


class Size(enum.IntEnum):
    """An enumeration, stored by number."""

    SMALL = 1
    LARGE = 2


VALUES: dict[str, Any] = {
    "bool": True,
    "enum": Size.LARGE,
    "int32": np.int32(-5),
    "uint32": np.uint32(7),
    "int64": 2**40,
    "float": np.float32(0.5),
    "double": 0.25,
    "string": "text",
    "bytes": b"bytes",
}
ARRAYS = {
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "doubles": np.linspace(0, 1, 4),
    "words": np.array([[b"one", b"two"], [b"three", b""]], object),
}


def feature_of(value: Any) -> Feature:
    """Return a value in the list for its type."""
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return Feature(bytes_list=BytesList(value=[value]))
    if isinstance(value, (float, np.floating)):
        return Feature(float_list=FloatList(value=[float(value)]))
    return Feature(int64_list=Int64List(value=[int(value)]))


def run(path: Path, arrays: dict[str, Any]) -> None:
    """Write values and arrays, read them back, and compare."""
    features = {name: feature_of(value) for name, value in VALUES.items()}
    features |= {name: feature_of(serialize_tensor(array)) for name, array in arrays.items()}
    with TFRecordWriter(path) as writer:
        writer.write(Example(features=Features(feature=features)).SerializeToString())

    (record,) = TFRecordReader(path)
    stored = Example.FromString(record).features.feature
    for name, value in VALUES.items():
        kind = stored[name].WhichOneof("kind") or ""
        print(f"{name:8} {value!r:24} -> {kind:10} {list(getattr(stored[name], kind).value)}")
    parsed = parse_single_example(record, {name: FixedLenFeature([], bytes) for name in arrays})
    for name, array in arrays.items():
        serialized = np.asarray(parsed[name]).item()
        back = parse_tensor(serialized)
        if back.dtype != array.dtype or not np.array_equal(back, array):
            sys.exit(f"{name} differs from what was written.")
        print(f"{name:8} {array.dtype} {array.shape} -> {len(serialized)} bytes -> the same")


def main() -> None:
    """Run with the given arrays, or with three small ones."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("arrays", nargs="*", type=Path, help=".npy files; default: three arrays")
    given = parser.parse_args().arrays
    with tempfile.TemporaryDirectory() as folder:
        try:
            arrays = {path.stem: np.load(path, allow_pickle=False) for path in given} or ARRAYS
            run(Path(folder) / "values.tfrecord", arrays)
        except (OSError, ValueError, TFRecordError) as error:
            sys.exit(f"{error}")


if __name__ == "__main__":
    main()
