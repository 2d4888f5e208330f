"""Many random messages, through the engine and the protobuf runtime: do they agree?

    python -m tests.long_run --messages 1000000 --seed 1
    python -m tests.long_run --messages 100000 --sequences

Examples or SequenceExamples in any legal encoding, some of them damaged, and batches of look-alikes
with odd ones among them. Both must reject the same, and read the same out of the others. Prints how
many there were of what kind, and ends with status 1 at the first batch on which they differ.
"""

import argparse
import random
import sys
import time
from collections import Counter

from tests.support.agreement import EXAMPLES, SEQUENCES, MessageType
from tests.support.example_messages import mutate

BATCH = 50


def some_batch(of: MessageType, rng: random.Random, count: Counter[str]) -> list[bytes]:
    """Return messages: of all sorts, or look-alikes with some others."""
    below = rng.randrange
    oddity = rng.choice((3, 6, 20, 100))
    others = [of.encoding(below, oddity) for _ in range(BATCH)]
    batch = list(others)
    if rng.random() < 0.6:
        write = of.program(rng)
        batch = [write(number) for number in range(BATCH)]
        for place in rng.sample(range(BATCH), rng.choice((0, 0, 1, 5))):
            batch[place] = others[place]
        count["look-alikes"] += BATCH
    damaged = rng.sample(range(BATCH), rng.choice((0, 3, 15, 25)))
    for place in damaged:
        batch[place] = mutate(below, batch[place], rng.choice(others))
    count["damaged"] += len(damaged)
    return batch


def compare(of: MessageType, batch: list[bytes], count: Counter[str]) -> None:
    """Read a batch in both ways.

    Raises
    ------
    AssertionError
        If they differ.
    """
    valid = []
    for message in batch:
        wanted = of.wanted(message)
        if of.is_rejected(message) != (wanted is None):
            if not of.runtimes_differ(message):
                msg = f"the engine and the runtime differ on whether to reject {message!r}"
                raise AssertionError(msg)
            count["rejected by some versions of the runtime"] += 1
        elif wanted is None:
            count["rejected"] += 1
        else:
            valid.append(message)
            of.assert_reference_agrees(message)
    of.assert_engine_agrees(valid)
    count["accepted"] += len(valid)


def run(of: MessageType, n_messages: int, seed: int) -> Counter[str]:
    """Make and compare so many messages; return how many there were of what kind."""
    count: Counter[str] = Counter()
    rng = random.Random(seed)
    while count["messages"] < n_messages:
        compare(of, some_batch(of, rng, count), count)
        count["messages"] += BATCH
    return count


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sequences", action="store_true", help="SequenceExamples")
    arguments = parser.parse_args()
    start = time.perf_counter()
    of = SEQUENCES if arguments.sequences else EXAMPLES
    count = run(of, arguments.messages, arguments.seed)
    for name, number in count.items():
        print(f"{number:>10,} {name}")  # noqa: T201
    print(f"no disagreement, {time.perf_counter() - start:.0f} s")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
