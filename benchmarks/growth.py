"""Growth of the time to read hostile input with its size.

    python -m benchmarks.growth [CASE ...]

Each input of ``tests/records/test_hostile.py`` in four sizes, each twice the one before. A factor
of 2 is linear growth, of 4 quadratic; small inputs, and limits that are reached, grow less.
"""

from __future__ import annotations

import contextlib
import sys
import time
from itertools import pairwise
from statistics import median

from tests.records.test_hostile import CASES, Case
from tfrecord_lite import TFRecordError

ROUNDS = 5
DOUBLINGS = 3


def seconds_of(case: Case, n: int) -> float:
    """Return the median time of reading an input of a size."""
    data = case.make(n)
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        with contextlib.suppress(TFRecordError):
            case.read(data)
        times.append(time.process_time() - start)
    return median(times)


def main(names: list[str]) -> None:
    """Measure the selected cases, or all, and print a line for each."""
    print(f"{'input':<34} {'ms':>9}   factor of each doubling")
    for name in names or CASES:
        case = CASES[name]
        sizes = [4 * case.n << i for i in range(DOUBLINGS + 1)]
        times = [seconds_of(case, n) for n in sizes]
        factors = "  ".join(
            f"{after / max(before, 1e-9):4.1f}" for before, after in pairwise(times)
        )
        print(f"{name:<34} {times[-1] * 1e3:>9.1f}   {factors}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
