"""TFRecords as plain Python dictionaries: an Example, a SequenceExample, and files of each.

Run ``python examples/dictionaries.py``; ``--output`` names a folder to keep the files in.
A file may hold both types of message, but does not say which record is which, so it is better
to keep them apart.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from tfrecord_lite import (
    TFRecordReader,
    TFRecordWriter,
    decode_example,
    decode_sequence_example,
    encode_example,
    encode_sequence_example,
)

EXAMPLE: dict[str, Any] = {"my_ints": [5, 6], "my_float": [2.75], "my_bytes": [b"data"]}
SEQUENCE: dict[str, Any] = {
    "context": EXAMPLE,
    "feature_lists": {"my_ints": [[5, 6], [7, 8, 9]]},
}


def plain(value: Any) -> Any:
    """Return arrays inside lists and dictionaries as lists."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.tolist()


def run(folder: Path) -> None:
    """Encode, decode, write and read; print the results."""
    example = plain(decode_example(encode_example(EXAMPLE)))
    print("an Example:         ", example)
    sequence = plain(decode_sequence_example(encode_sequence_example(SEQUENCE)))
    print("a SequenceExample:  ", sequence)

    with TFRecordWriter(folder / "examples.tfrecord") as writer:
        writer.write_examples([EXAMPLE, EXAMPLE])
    with TFRecordWriter(folder / "sequences.tfrecord") as writer:
        writer.write_sequence_examples([SEQUENCE, SEQUENCE])
    examples = list(map(plain, TFRecordReader(folder / "examples.tfrecord").examples()))
    sequences = list(map(plain, TFRecordReader(folder / "sequences.tfrecord").sequence_examples()))

    if [example, *examples] != [EXAMPLE] * 3 or [sequence, *sequences] != [SEQUENCE] * 3:
        sys.exit("What was read differs from what was written.")
    print(
        f"Read {len(examples)} Examples and {len(sequences)} SequenceExamples, equal to those written."
    )


def main() -> None:
    """Run in a given or temporary folder."""
    parser = argparse.ArgumentParser(description="TFRecords as plain Python dictionaries.")
    parser.add_argument("--output", type=Path, help="folder for files; default: a temporary one")
    arguments = parser.parse_args()
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
        run(arguments.output)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))


if __name__ == "__main__":
    main()
