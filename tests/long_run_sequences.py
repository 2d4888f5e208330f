"""Many random SequenceExamples, through the engine and the protobuf runtime: do they agree?

    python -m tests.long_run_sequences --messages 100000 --seed 1

As :mod:`tests.long_run`: messages in any legal encoding, some of them damaged, and batches
of look-alikes with odd ones among them. Ends with status 1 at the first disagreement.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from tests import long_run
from tests.support import reference_example as reference
from tests.support.example_messages import KEYS, mutate
from tests.support.reference_example import BYTES, FLOAT, INT64, Feature, RejectedError, Sequence
from tests.support.sequence_messages import (
    SequenceReencoder,
    look_alike_list,
    plain_sequence,
    read_sequences,
    runtime_sequence,
    seen,
    some_sequence,
)
from tfrecord_lite.wire.scalar import WireError

BATCH = 50


def some_batch(rng: random.Random, count: Counter[str]) -> list[bytes]:
    """Return messages: of all sorts, or look-alikes with some others."""
    below = rng.randrange
    oddity = rng.choice((3, 6, 20, 100))
    others = [SequenceReencoder(below, oddity).sequence(some_sequence(below)) for _ in range(BATCH)]
    batch = others
    if rng.random() < 0.6:
        names = rng.sample(KEYS, rng.randrange(1, 4))
        kinds = [rng.choice((BYTES, FLOAT, INT64)) for _ in names]
        counts = [rng.choice((None, 0, 1, 1, 2, 8, 33)) for _ in names]
        longest = rng.choice((1, 5, 60))
        batch = [
            plain_sequence(
                Sequence(
                    {b"id": Feature(INT64, (number,))},
                    {
                        name: look_alike_list(below, kind, n, longest)
                        for name, kind, n in zip(names, kinds, counts, strict=True)
                    },
                )
            )
            for number in range(BATCH)
        ]
        for place in rng.sample(range(BATCH), rng.choice((0, 0, 1, 5))):
            batch[place] = others[place]
        count["look-alikes"] += BATCH
    damaged = rng.sample(range(BATCH), rng.choice((0, 0, 3, 15)))
    for place in damaged:
        batch[place] = mutate(below, batch[place], rng.choice(others))
    count["damaged"] += len(damaged)
    return batch


def compare(batch: list[bytes], count: Counter[str]) -> None:
    """Read a batch in both ways.

    Raises
    ------
    AssertionError
        If they differ.
    """
    valid: list[tuple[bytes, Sequence]] = []
    for message in batch:
        try:
            expected = runtime_sequence(message)
        except RejectedError:
            expected = None
        if is_rejected(message) == (expected is None):
            count["rejected"] += expected is None
            if expected is not None:
                valid.append((message, expected))
        elif runtimes_differ(message):
            count["rejected by some versions of the runtime"] += 1
        else:
            msg = f"the engine and the runtime differ on whether to reject {message!r}"
            raise AssertionError(msg)
    context = sorted({key for _, sequence in valid for key in sequence.context})
    lists = sorted({key for _, sequence in valid for key in sequence.lists})
    found = read_sequences([message for message, _ in valid], context, lists)
    for (message, expected), row in zip(valid, found, strict=True):
        if row != seen(expected, context, lists):
            msg = f"{message!r}: the runtime reads {expected}, the engine {row}"
            raise AssertionError(msg)
    count["accepted"] += len(valid)


def is_rejected(message: bytes) -> bool:
    """Whether the engine rejects a message, asked for all it has."""
    keys = []
    for number in (1, 2):
        try:
            entries = reference.entries(message, number=number)
        except RejectedError:
            entries = []
        keys.append(sorted({entry.key for entry in entries}))
    try:
        read_sequences([message], *keys)
    except WireError:
        return True
    return False


def runtimes_differ(message: bytes) -> bool:
    """Whether versions of the runtime differ on a message, so that the engine may."""
    return long_run.runtimes_differ(message, reference.parse_sequence)


def run(n_messages: int, seed: int) -> Counter[str]:
    """Make and compare so many messages; return how many there were of what kind."""
    count: Counter[str] = Counter()
    rng = random.Random(seed)
    while count["messages"] < n_messages:
        compare(some_batch(rng, count), count)
        count["messages"] += BATCH
    return count


if __name__ == "__main__":
    sys.exit(long_run.main(run, __doc__, 100_000))
