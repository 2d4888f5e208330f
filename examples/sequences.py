"""Store sequences of tokens and labels as SequenceExamples, and read them back in three ways.

Run ``python examples/sequences.py``; ``--output`` names a folder to keep the file in.

Each sequence is one record: its length is in the context, its tokens and labels are feature
lists with one number per step. The file is read as dictionaries, one record as arrays, and all
records as a batch padded to the longest sequence.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from tfrecord_lite import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    TFRecordReader,
    TFRecordWriter,
    parse_sequence_example,
    parse_single_sequence_example,
)

SEQUENCES = [[1, 2, 3], [4, 5, 1], [1, 2]]
LABELS = [[0, 1, 0], [1, 0, 0], [1, 1]]

CONTEXT = {"length": FixedLenFeature([], np.int64)}
LISTS = {
    "tokens": FixedLenSequenceFeature([], np.int64),
    "labels": FixedLenSequenceFeature([], np.int64),
}


def write(path: Path) -> None:
    """Write one record per sequence."""
    with TFRecordWriter(path) as writer:
        for tokens, labels in zip(SEQUENCES, LABELS, strict=True):
            writer.write_sequence_example(
                {
                    "context": {"length": len(tokens)},
                    "feature_lists": {"tokens": tokens, "labels": labels},
                }
            )


def run(path: Path) -> None:
    """Write, read in three ways, and print the results."""
    write(path)

    print("dictionaries:")
    for row in TFRecordReader(path).sequence_examples():
        steps = [values.tolist() for values in row["feature_lists"]["tokens"]]
        print(f"  length {row['context']['length'].tolist()}, tokens {steps}")

    print("one record:")
    records = list(TFRecordReader(path))
    context, lists = parse_single_sequence_example(records[0], CONTEXT, LISTS)
    print(f"  length {context['length']}, tokens {lists['tokens']}, labels {lists['labels']}")

    print("a batch:")
    context, lists, lengths = parse_sequence_example(records, CONTEXT, LISTS)
    print(f"  lengths {lengths['tokens']}")
    print(f"  tokens\n{lists['tokens']}")

    for name, expected in (("tokens", SEQUENCES), ("labels", LABELS)):
        rows = np.asarray(lists[name])
        cut = [row[:n].tolist() for row, n in zip(rows, lengths[name], strict=True)]
        if cut != expected:
            sys.exit("What was read differs from what was written.")
    print("Every sequence is equal to the one written.")


def main() -> None:
    """Run in a given or temporary folder."""
    parser = argparse.ArgumentParser(description="Store sequences in a TFRecord file.")
    parser.add_argument("--output", type=Path, help="folder for the file; default: a temporary one")
    arguments = parser.parse_args()
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
        run(arguments.output / "sequences.tfrecord")
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder) / "sequences.tfrecord")


if __name__ == "__main__":
    main()
