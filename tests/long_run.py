"""Many random messages, through the engine and the protobuf runtime: do they agree?

    python -m tests.long_run --messages 1000000 --seed 1

Messages are made at random, in any legal encoding, some of them damaged. Both must
reject the same, and read the same out of the others. Prints how many there were of
what kind, and ends with status 1 at the first batch on which they differ.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
from google.protobuf.message import DecodeError

from tests.support import reference_example as reference
from tests.support.example_messages import RUNTIME
from tfrecord_lite import Block
from tfrecord_lite.arrays import ByteRanges
from tfrecord_lite.example.decode import batch as engine_batch
from tfrecord_lite.example.decode.batch import LayoutMemory, MessageBatch
from tfrecord_lite.messages import Example
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.scalar import WireError

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = ["", "a", "b", "label", "longer/name", "käse", "x" * 9]
NAMES = {Kind.BYTES: "bytes_list", Kind.FLOAT: "float_list", Kind.INT64: "int64_list"}
Row = dict[str, tuple[int, list[Any]]]


class Maker:
    """Makes messages; `wild` is how often it chooses an unusual encoding."""

    def __init__(self, seed: int, wild: float) -> None:
        self.random = random.Random(seed)
        self.wild = wild

    def odd(self) -> bool:
        return self.random.random() < self.wild

    def varint(self, value: int, most: int = 10) -> bytes:
        value &= 2**64 - 1
        out = bytearray()
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
        if self.odd() and len(out) < most:  # over-long
            out[-1] |= 0x80
            out += b"\x80" * self.random.randrange(most - len(out)) + b"\x00"
        return bytes(out)

    def tag(self, number: int, wire_type: int) -> bytes:
        return self.varint(number << 3 | wire_type, 5)

    def len_field(self, number: int, content: bytes) -> bytes:
        return self.tag(number, 2) + self.varint(len(content), 5) + content

    def unknown(self, depth: int = 0) -> bytes:
        number = self.random.randrange(4, 3000)
        match self.random.randrange(5 if depth < 3 else 4):
            case 0:
                return self.tag(number, 0) + self.varint(self.random.getrandbits(64))
            case 1:
                return self.tag(number, 1) + self.random.randbytes(8)
            case 2:
                return self.tag(number, 5) + self.random.randbytes(4)
            case 3:
                return self.len_field(number, self.random.randbytes(self.random.randrange(9)))
            case _:
                return self.tag(number, 3) + self.unknown(depth + 1) + self.tag(number, 4)

    def message(self, parts: list[bytes]) -> bytes:
        """Join fields, with an unknown one between now and then."""
        if self.odd():
            parts.insert(self.random.randrange(len(parts) + 1), self.unknown())
        return b"".join(parts)

    def values(self, kind: Kind) -> bytes:
        n_values = self.random.choice((0, 1, 1, 1, 2, 3, 20))
        make = self.random
        if kind is Kind.BYTES:
            sizes = [make.choice((0, 1, 5, 130)) for _ in range(n_values)]
            return self.message([self.len_field(1, make.randbytes(size)) for size in sizes])
        if kind is Kind.INT64:
            values = [
                self.varint(make.getrandbits(64) >> make.randrange(64)) for _ in range(n_values)
            ]
        else:
            values = [make.randbytes(4) for _ in range(n_values)]
        if not self.odd():
            return self.len_field(1, b"".join(values)) if values else b""
        cut = make.randrange(len(values) + 1)
        alone = self.tag(1, 0 if kind is Kind.INT64 else 5)
        parts = [self.len_field(1, b"".join(values[:cut])), *(alone + v for v in values[cut:])]
        make.shuffle(parts)
        return self.message(parts)

    def feature(self) -> bytes:
        kinds = [self.random.choice(list(Kind)) for _ in range(1 + self.odd() + self.odd())]
        if self.odd():
            kinds.pop()
        return self.message([self.len_field(kind, self.values(kind)) for kind in kinds])

    def entry(self, key: str) -> bytes:
        parts = [self.len_field(1, key.encode()), self.len_field(2, self.feature())]
        if self.odd():
            parts += [self.len_field(2, self.feature())]
        if self.odd():
            self.random.shuffle(parts)
        if self.odd():
            parts.pop()
        return self.len_field(1, self.message(parts))

    def example(self) -> bytes:
        keys = self.random.sample(KEYS, self.random.randrange(len(KEYS)))
        if self.odd() and keys:
            keys.append(keys[0])
        entries = [self.entry(key) for key in keys]
        if not self.odd():
            return self.message([self.len_field(1, self.message(entries))])
        cut = self.random.randrange(len(entries) + 1)
        return self.message(
            [self.len_field(1, b"".join(e)) for e in (entries[:cut], entries[cut:])]
        )

    def damaged(self, message: bytes) -> bytes:
        data = bytearray(message)
        at = self.random.randrange(len(data) + 1)
        match self.random.randrange(4):
            case 0 if data:
                data[at - 1] ^= 1 << self.random.randrange(8)
            case 1:
                del data[at:]
            case 2:
                data[at:at] = self.random.randbytes(self.random.randrange(1, 5))
            case _:
                del data[at : at + self.random.randrange(1, 5)]
        return bytes(data)


def by_runtime(message: bytes) -> Row | None:
    """Read a message with the runtime; None if it rejects."""
    try:
        features = Example.FromString(message).features.feature
    except DecodeError:
        return None
    row: Row = {}
    for kind, name in NAMES.items():
        for key, feature in features.items():
            if feature.WhichOneof("kind") == name:
                row[key] = (kind, list(getattr(feature, name).value))
    return row


def by_engine(messages: list[bytes], memory: LayoutMemory) -> list[Row]:
    """Read a batch with the engine.

    Raises
    ------
    WireError
    """
    block = Block.from_records(messages)
    stops = block.offsets + block.lengths
    keys = [key.encode() for key in KEYS]
    while True:  # ask for every key there is, those that damage has made included
        batch = MessageBatch(block.data, block.offsets, stops, KeyTable(keys), memory)
        unknown = batch.unknown_keys(1000)
        if not unknown:
            break
        keys, memory = [*keys, *unknown], LayoutMemory()
    rows: list[Row] = [{} for _ in messages]
    for number, key in enumerate(name.decode() for name in keys):
        for kind in Kind:
            lists = batch.lists(number, kind)
            flat = lists.flat
            if isinstance(flat, ByteRanges):
                view, ends = block.data, flat.starts + flat.lengths
                values = [view[a:b].tobytes() for a, b in zip(flat.starts, ends, strict=True)]
            else:
                values = flat.tolist()
            stop = 0
            for row, count, found in zip(rows, lists.counts.tolist(), lists.kind, strict=True):
                start, stop = stop, stop + count
                if found == kind:
                    row[key] = (kind, values[start:stop])
    return rows


def same(one: Row, other: Row) -> bool:
    """Compare; a NaN is a NaN, since the runtime's Python floats do not keep its bits."""
    if one.keys() != other.keys():
        return False
    for key, (kind, values) in one.items():
        if kind != other[key][0]:
            return False
        if values != other[key][1]:
            ours, theirs = (np.array(v, np.float32) for v in (values, other[key][1]))
            if kind != Kind.FLOAT or not np.array_equal(ours, theirs, equal_nan=True):
                return False
    return True


def compare(messages: list[bytes], count: Counter[str]) -> None:
    """Read a batch in both ways.

    Raises
    ------
    AssertionError
        If they differ.
    """
    valid, rows = [], []
    for message in messages:
        row = by_runtime(message)
        if is_rejected(message) != (row is None):
            if not runtimes_differ(message):
                msg = f"the engine and the runtime differ on whether to reject {message!r}"
                raise AssertionError(msg)
            count["rejected by some versions of the runtime"] += 1
        elif row is None:
            count["rejected"] += 1
        else:
            valid.append(message)
            rows.append(row)
    for message, row, found in zip(valid, rows, by_engine(valid, LayoutMemory()), strict=True):
        if not same(row, found):
            msg = f"{message!r}: the runtime reads {row}, the engine {found}"
            raise AssertionError(msg)
    count["accepted"] += len(valid)


def runtimes_differ(message: bytes, parse: Callable[..., object] = reference.parse) -> bool:
    """Whether versions of the runtime differ on a message, so that the engine may."""
    outcomes = set()
    for dialect in (reference.PACKAGE, RUNTIME):
        try:
            parse(message, dialect=dialect)
        except reference.RejectedError:
            outcomes.add("rejected")
        else:
            outcomes.add("accepted")
    return len(outcomes) > 1


def is_rejected(message: bytes) -> bool:
    """Whether the engine rejects a message."""
    try:
        with mock.patch.object(engine_batch, "FEW", 0):  # else it is the runtime that is asked
            by_engine([message], LayoutMemory())
    except WireError:
        return True
    return False


def run(n_messages: int, seed: int) -> Counter[str]:
    """Make and compare so many messages; return how many there were of what kind."""
    count: Counter[str] = Counter()
    rng = random.Random(seed)
    while count["messages"] < n_messages:
        maker = Maker(rng.getrandbits(64), rng.choice((0.0, 0.02, 0.2)))
        messages = []
        template = maker.example()
        for _ in range(200):
            message = maker.example() if maker.wild or rng.random() < 0.1 else template
            if rng.random() < 0.1:
                message = maker.damaged(message)
                count["damaged"] += 1
            messages.append(message)
        count["unusual encodings" if maker.wild else "usual encodings"] += len(messages)
        count["messages"] += len(messages)
        compare(messages, count)
    return count


def main(
    run: Callable[[int, int], Counter[str]] = run,
    description: str | None = __doc__,
    n_messages: int = 1_000_000,
) -> int:
    """Read the command line, make and compare messages, and print how many there were."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=n_messages)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.perf_counter()
    count = run(arguments.messages, arguments.seed)
    for name, number in count.items():
        print(f"{number:>10,} {name}")  # noqa: T201
    print(f"no disagreement, {time.perf_counter() - start:.0f} s")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
