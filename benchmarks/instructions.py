"""A guard against slow-downs that time does not decide: ``python -m benchmarks.instructions``.

Counts the instructions of the main tasks on small data with valgrind (cachegrind without a cache), and
compares them with those stored in ``results/instructions.json``. A task runs ``n`` and ``2 n``
times, each in a new process with one thread and a fixed seed of hashes; the difference is what ``n``
runs take, without Python's start, imports, preparation and the first run. So counts are the same within
half a percent from run to run, however busy the machine is. They depend on the versions of
Python, NumPy and crc32c, and on the kind of processor (NumPy chooses its code by it), so counts
of other versions are not compared. More than `TOLERANCE` above the stored count is a failure.
Waiting, page faults and caches are not seen: ``python -m benchmarks`` is for these.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.data import data_set

TOLERANCE = 0.03
"""How many more instructions are let pass, as a share."""
STORED = Path(__file__).parent / "results" / "instructions.json"
_ROOT = Path(__file__).resolve().parent.parent
_RECORDS = {
    "tabular": 2_000,
    "any_order": 2_000,
    "embeddings": 500,
    "tokens": 200,
    "sequences": 200,
    "images": 20,
    "tabular_gz": 2_000,
}
_REPEATS = 4

TASKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    **{f"read: {name}": ("read", name, {}) for name in ("tabular", "images", "tabular_gz")},
    **{
        f"columns: {name}": ("columns", name, {"data": name, "batch": 256})
        for name in ("tabular", "any_order", "embeddings", "tokens", "sequences", "images")
    },
    "columns: 1 of 17": ("columns", "tabular", {"data": "tabular", "batch": 256, "select": ["f3"]}),
    **{
        f"dicts: {name}": ("dicts", name, {"data": name})
        for name in ("tabular", "tokens", "sequences", "images")
    },
    **{
        f"write dicts: {name}": ("write_dicts", "", {"data": name, "form": "values"})
        for name in ("tabular", "tokens", "sequences", "images")
    },
    "write columns: tabular": ("write_columns", "", {"data": "tabular"}),
}
"""Operations of this package: the name, the data set that is read, and arguments."""


def run(task: str, repeats: int, folder: str) -> None:
    """Run a task once to warm up, then that many times; the process that is counted."""
    from benchmarks.contenders.tfrecord_lite import OPERATIONS
    from benchmarks.worker import _run_through

    op, name, args = TASKS[task]
    where: dict[str, Any] = (
        {"target": os.devnull, "n_records": _RECORDS[args["data"]]}
        if not name
        else {"path": str(data_set(name, _RECORDS[name], Path(folder)))}
    )
    work = OPERATIONS[op](**where, **args)
    gc.disable()
    for _ in range(repeats + 1):
        _run_through(work())


def count(task: str, folder: str) -> int:
    """Return the instructions of one run of a task."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
    counts = []
    for repeats in (_REPEATS, 2 * _REPEATS):
        command = [
            "valgrind",
            "--tool=cachegrind",
            "--cache-sim=no",
            f"--cachegrind-out-file={os.devnull}",
        ]
        command += [
            sys.executable,
            "-m",
            "benchmarks.instructions",
            "--run",
            task,
            str(repeats),
            folder,
        ]
        done = subprocess.run(
            command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False
        )
        found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
        if done.returncode or not found:
            sys.exit(f"{task} failed:\n{done.stderr[-2000:]}")
        counts.append(int(found.group(1).replace(",", "")))
    return (counts[1] - counts[0]) // _REPEATS


def versions() -> dict[str, str]:
    """Return what the counts depend on."""
    found = {"Python": ".".join(platform.python_version_tuple()[:2]), "machine": platform.machine()}
    return found | {name: metadata.version(name) for name in ("numpy", "crc32c")}


def compare(stored: dict[str, int], found: dict[str, int]) -> list[str]:
    """Return a line for each task that takes more instructions than it may."""
    return [
        f"{task}: {found[task]:,} instructions, {found[task] / stored[task] - 1:+.1%} of {stored[task]:,}"
        for task in found
        if task in stored and found[task] > stored[task] * (1 + TOLERANCE)
    ]


def main(given: list[str] | None = None) -> int:
    """Count, and compare or store."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--store", action="store_true", help="keep these counts from now on")
    parser.add_argument(
        "--only", nargs="+", choices=list(TASKS), default=list(TASKS), metavar="TASK"
    )
    parser.add_argument("--run", nargs=3, metavar=("TASK", "N", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    if arguments.run:
        run(arguments.run[0], int(arguments.run[1]), arguments.run[2])
        return 0
    if shutil.which("valgrind") is None:
        print("valgrind is not there: apt-get install valgrind, or brew install valgrind on Linux")
        return 2
    kept = json.loads(STORED.read_text()) if STORED.exists() else {"counts": {}, "versions": {}}
    if not arguments.store and kept["versions"] != versions():
        print(f"counts are stored for {kept['versions']}, this is {versions()}: nothing to compare")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        for name, n_records in _RECORDS.items():
            data_set(name, n_records, Path(folder))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            counts = list(pool.map(lambda task: count(task, folder), arguments.only))
    found = dict(zip(arguments.only, counts, strict=True))
    for task, n in found.items():
        before = kept["counts"].get(task)
        print(f"{task:26} {n:15,} {f'{n / before - 1:+.2%}' if before else 'new':>8}")
    if arguments.store:
        STORED.parent.mkdir(exist_ok=True)
        both = {**kept["counts"], **found}
        STORED.write_text(json.dumps({"versions": versions(), "counts": both}, indent=1) + "\n")
        return 0
    slower = compare(kept["counts"], found)
    print(*(f"slower: {line}" for line in slower), sep="\n")
    return int(bool(slower))


if __name__ == "__main__":
    sys.exit(main())
