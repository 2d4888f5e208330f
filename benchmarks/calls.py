"""How many functions of this package small tasks call: ``python -m benchmarks.calls [--functions N]``.

A small ``save`` or ``load`` takes as long as the Python functions that it calls. They are counted in the
second run of a task, by ``sys.setprofile``, so the counts are the same on every machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import tfrecord_lite

_PACKAGE = Path(tfrecord_lite.__file__).parent
_ROWS = [{"id": i, "name": f"row {i}", "weight": i / 8} for i in range(10)]


def tasks(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the tasks by name, which read and write in a folder."""
    path, saved = folder / "rows.tfrecord", folder / "columns.tfrecord"
    columns = {"x": [i / 8 for i in range(100)], "name": [f"row {i}" for i in range(100)]}
    tfrecord_lite.save(saved, columns)
    return {
        "save 10 rows of 3 features": lambda: tfrecord_lite.save(path, _ROWS),
        "load 2 columns with a sidecar": lambda: tfrecord_lite.load(saved),
    }


def calls_of(task: Callable[[], object]) -> Counter[str]:
    """Return how often the second run of a task calls each function of the package."""
    task()
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(_PACKAGE):
            calls[f"{path.relative_to(_PACKAGE)} {frame.f_code.co_qualname}"] += 1

    sys.setprofile(count)
    try:
        task()
    finally:
        sys.setprofile(None)
    return calls


def main(arguments: list[str] | None = None) -> None:
    """Print the number of calls of each task, and the functions that are called most."""
    parser = argparse.ArgumentParser("python -m benchmarks.calls", description=__doc__)
    parser.add_argument("--functions", type=int, default=0, help="list the N most called ones")
    most = parser.parse_args(arguments).functions
    with tempfile.TemporaryDirectory() as folder:
        for name, task in tasks(Path(folder)).items():
            calls = calls_of(task)
            print(f"{calls.total():6} {name}")
            for function, count in calls.most_common(most):
                print(f"{count:14} {function}")


if __name__ == "__main__":
    main()
