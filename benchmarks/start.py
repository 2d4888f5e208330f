"""How long a start takes: ``python -m benchmarks.start [ROUNDS]``.

Each round runs ``import numpy``, the import of this package up to a first batch, and ``tfrecord FILE``, in new processes one
after the other. Figures are medians of processor time, and of its ratio to that of ``import numpy`` in the same round, with cached bytecode.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

import tfrecord_lite

_ROUNDS = 15


def starts(path: Path) -> dict[str, str]:
    """Return the programs by name; the first is the measure of the others."""
    return {
        "import numpy": "import numpy",
        "to the first batch": (
            "from tfrecord_lite import read_batches\n"
            f"next(iter(read_batches({str(path)!r}, {{'id': int}}, 8)))"
        ),
        "tfrecord FILE": f"from tfrecord_lite.cli import main\nmain([{str(path)!r}])",
    }


def seconds(program: str) -> float:
    """Return the processor time of a new process that runs a program."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(
        sys.executable, [sys.executable, "-c", program], environment, file_actions=silent
    )
    _, status, usage = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"this program failed: {program}")
    return usage.ru_utime + usage.ru_stime


def main(rounds: int = _ROUNDS) -> None:
    """Print the time of each start, and how many times that of ``import numpy`` it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.tfrecord"
        tfrecord_lite.save(path, {"id": list(range(100)), "name": ["x"] * 100})
        programs = starts(path)
        times = [[seconds(program) for program in programs.values()] for _ in range(rounds + 1)]
    for number, name in enumerate(programs):  # the first round fills caches
        middle = statistics.median(row[number] for row in times[1:])
        ratio = statistics.median(row[number] / row[0] for row in times[1:])
        print(f"{name:20} {1000 * middle:6.1f} ms {ratio:6.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
