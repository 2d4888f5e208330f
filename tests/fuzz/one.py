"""Fuzz one target in this process, and print the outcome as a line of JSON.

    python -m tests.fuzz.one framing --runs 100000 --seconds 20

An input that ends in neither a result nor a TFRecordError is printed, with status 1. With
atheris, inputs are guided by code coverage; otherwise they are randomly damaged seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tfrecord_lite.testing.reencode import mutate

if TYPE_CHECKING:
    from tests.fuzz.targets import Target

HANG_SECONDS = 20
MEMORY_BYTES = 4 * 1024**3
"""Address space of the process; an input that needs more ends in a MemoryError."""


class HangError(Exception):
    """An input takes too long."""


class Run:
    """Checks inputs and counts the outcomes, up to a number or a time."""

    def __init__(self, target: Target, n_runs: int | None, seconds: float | None) -> None:
        self._check = target.check
        self._count: Counter[str] = Counter()
        self._n_runs = n_runs or sys.maxsize
        self._n = 0
        self._start = time.perf_counter()
        self._stop = self._start + (seconds or float("inf"))
        signal.signal(signal.SIGALRM, _hang)

    def __call__(self, data: bytes) -> None:
        """Check an input; end the process after the last one, or at a finding."""
        signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
        try:
            self._count[self._check(data)] += 1
        except Exception:  # noqa: BLE001 - any error is a finding
            self._end(1, failed=data.hex(), error=traceback.format_exc())
        self._n += 1
        if self._n >= self._n_runs or time.perf_counter() >= self._stop:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._end(0)

    def _end(self, status: int, **more: Any) -> NoReturn:
        seconds = time.perf_counter() - self._start
        found = {"inputs": self._n, "seconds": seconds, "count": self._count, **more}
        print("\n" + json.dumps(found), flush=True)  # noqa: T201
        os._exit(status)  # atheris never returns; exit the same way without it


_NUMBERS = (0, 1, 2**7, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)


def mutated(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Return an input damaged one to four times, sometimes by numbers near limits."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if rng.randrange(7):
            data = mutate(rng.randrange, data, other)
            continue
        at, width = rng.randrange(len(data) + 1), rng.choice((4, 8))
        number = (rng.choice(_NUMBERS) + rng.randrange(-1, 2)) % 2 ** (8 * width)
        data = data[:at] + number.to_bytes(width, "little") + data[at + width :]
    return data


def _hang(*_: object) -> NoReturn:
    raise HangError(f"more than {HANG_SECONDS} seconds")


def fuzz_with_damage(run: Run, seeds: list[bytes], seed: int) -> NoReturn:
    """Check the seeds, then damaged ones, forever."""
    rng = random.Random(seed)
    for data in seeds:
        run(data)
    while True:
        run(mutated(rng, rng.choice(seeds), rng.choice(seeds)))


def fuzz_with_coverage(atheris: Any, run: Run, target: Target, seed: int, corpus: str) -> None:
    """Check the inputs that atheris makes of the seeds and the corpus, which it extends."""
    from tests.fuzz.targets import MAX_BYTES

    folder = Path(corpus or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(target.seeds()):
        (folder / f"seed-{i:04}").write_bytes(data)
    options = [f"-seed={seed}", f"-max_len={MAX_BYTES}", "-print_final_stats=0", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, "-rss_limit_mb=4096", str(folder)], run)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="run without atheris")
    parser.add_argument("--corpus", default="", help="folder to keep inputs in, for atheris")
    given = parser.parse_args()
    atheris: Any = None
    if not given.plain:
        import atheris  # type: ignore[import-not-found,import-untyped,no-redef,unused-ignore]

        with atheris.instrument_imports(include=["tfrecord_lite"], enable_loader_override=False):
            from tests.fuzz.targets import TARGETS
    else:
        from tests.fuzz.targets import TARGETS
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    target = TARGETS[given.target]
    run = Run(target, given.runs, given.seconds)
    if atheris is None:
        fuzz_with_damage(run, target.seeds(), given.seed)
    else:
        fuzz_with_coverage(atheris, run, target, given.seed, given.corpus)


if __name__ == "__main__":
    main()
