"""Run the benchmark: ``python -m benchmarks --quick``, ``--full``; see README.md in this folder."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.contenders import LIBRARIES
from benchmarks.measure import FailedError, Turns
from benchmarks.report import Results, put_table
from benchmarks.tasks import ASKED, NOT_QUICK, SECTIONS, Data, Task

_HERE = Path(__file__).resolve().parent
_QUICK = ("tfrecord_lite", "tensorflow", "floor", "before")
_ROUNDS = {"full": 5, "quick": 3, "tiny": 1}
_MINUTES = {"full": 20.0, "quick": 1.7, "tiny": 1.0}


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument(
        "--quick",
        dest="size",
        action="store_const",
        const="quick",
        default="quick",
        help="this package and TensorFlow on small data, two minutes (the default)",
    )
    sizes.add_argument(
        "--full",
        dest="size",
        action="store_const",
        const="full",
        help="every library that is there, in 25 minutes",
    )
    sizes.add_argument(
        "--tiny",
        dest="size",
        action="store_const",
        const="tiny",
        help="to see that everything runs; figures mean nothing",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        default=[],
        help=f"sections ({', '.join(SECTIONS)}) or beginnings of tasks",
    )
    parser.add_argument("--libraries", nargs="+", choices=sorted(LIBRARIES), help="only these")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="the interpreter that has a library; as often as there are some",
    )
    parser.add_argument("--cores", type=int, help="bind the whole run to so many cores, on Linux")
    parser.add_argument(
        "--before",
        metavar="FOLDER",
        help="another checkout of this package, which takes part as 'before'",
    )
    parser.add_argument("--rounds", type=int, help="turns of each side")
    parser.add_argument(
        "--budget",
        type=float,
        metavar="MINUTES",
        help="rounds after the third are left out when it gets late",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        help="folder for the data sets, 1 GB",
        default=Path("~/.cache/tfrecord-benchmarks").expanduser(),
    )
    parser.add_argument("--write-to", type=Path, help="folder to write to; /dev/shm if it exists")
    parser.add_argument(
        "--out", type=Path, default=_HERE / "results", help="folder for the figures"
    )
    parser.add_argument("--readme", action="store_true", help="put the table into README.md")
    parser.add_argument("--list", action="store_true", help="print the names of all tasks")
    return parser.parse_args(given)  # fmt: skip


def say(text: str) -> None:
    """Print to standard error."""
    print(text, file=sys.stderr, flush=True)


def find_libraries(turns: Turns, names: list[str], results: Results) -> dict[str, list[str]]:
    """Return the operations of each library that is there; note the versions, and who is not."""
    found: dict[str, list[str]] = {}
    for name in names:
        library = LIBRARIES[name]
        try:
            about = turns.worker(name).ask("about")
        except FailedError as error:
            if name == "tfrecord_lite":
                raise
            results.absent[library.title] = library.install
            say(f"{library.title}: not there ({str(error).strip().splitlines()[-1][:120]})")
            continue
        found[name] = about["operations"]
        if name == "tfrecord_lite":
            results.setting |= {key: text for key, text in about["uses"].items() if text}
        if about["version"] and name != "floor":
            results.setting[library.title] = about["version"]
    return found


def setting(size: str, rounds: int) -> dict[str, Any]:
    """Return what the figures depend on, without naming the machine."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "run": size,
        "date": time.strftime("%Y-%m-%d"),
        "processor": models[0] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "system": platform.system(),
        "Python": platform.python_version(),
        "rounds": rounds,
    }


def wanted(data: Data, only: list[str], left_out: tuple[str, ...]) -> list[Task]:
    """Return the tasks to measure; makes the files that they need."""
    found = []
    for name, section in SECTIONS.items():
        if name in left_out and not only:
            continue
        found += [
            task for task in section(data)
            if not only or name in only or task.name.startswith(tuple(only))
        ]  # fmt: skip
    for task in found:
        data.make(task)
    return found


def main(given: list[str] | None = None) -> int:
    """Measure, and write the figures."""
    arguments = _arguments(given)
    size = arguments.size
    left_out = NOT_QUICK if size == "quick" else ASKED
    if arguments.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.cores])
    rounds = arguments.rounds or _ROUNDS[size]
    minutes = arguments.budget or _MINUTES[size]
    names = arguments.libraries or [n for n in LIBRARIES if size == "full" or n in _QUICK]
    pythons = dict.fromkeys([*LIBRARIES, "before"], sys.executable)
    pythons |= dict(text.split("=", 1) for text in arguments.python)
    folders = {"before": arguments.before} if arguments.before else {}
    names = [name for name in names if name != "before" or folders]
    memory = Path("/dev/shm")  # noqa: S108 - a file system in memory
    write_to = arguments.write_to or (memory if memory.is_dir() else Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(dir=write_to))
    arguments.cache.mkdir(parents=True, exist_ok=True)
    results = Results(setting(size, rounds))
    turns = Turns(pythons, folders, rounds)
    start = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # to remove what was written
    try:
        say("data sets")
        tasks = wanted(Data(size, arguments.cache.resolve(), folder), arguments.only, left_out)
        if arguments.list:
            print("\n".join(task.name for task in tasks))
            return 0
        operations = find_libraries(turns, names, results)
        titles = {name: library.title for name, library in LIBRARIES.items()}
        section = ""
        for number, task in enumerate(tasks):
            if task.section != section:
                turns.close()
                section = task.section
            left = 60 * minutes - (time.monotonic() - start)
            say(f"[{time.monotonic() - start:4.0f} s, {number + 1} of {len(tasks)}] {task.name}")
            results.rows += turns.run(
                task, list(task.sides(operations, titles)), left / (len(tasks) - number)
            )
            results.write(arguments.out, size)
    finally:
        turns.close()
        shutil.rmtree(folder, ignore_errors=True)
    if arguments.readme:
        put_table(_HERE / "README.md", results)
    print(results.summary())
    print(results.targets())
    say(f"{time.monotonic() - start:.0f} s; figures in {arguments.out}/{size}.md")
    wrong = [row for row in results.rows if row.error]
    for row in wrong:
        say(f"{row.task}, {row.side}: {row.error.strip().splitlines()[-1]}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
