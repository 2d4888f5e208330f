"""Raw records, this package side by side with TensorFlow: ``python -m benchmarks.records``.

Measures reading with every CRC checked, writing to fresh files, peak memory on
a large file, and the time to import. README.md in this folder explains the
figures, and has the latest.

Each measurement is a process of its own (:mod:`benchmarks.measure`). The
contenders of a case take turns, round by round, so that other work on the
machine affects all of them. Figures are medians over the rounds; ratios are
ratios of medians, with the lowest and highest ratio of a single round in
parentheses. TensorFlow is measured if this interpreter can import it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.data import data_set

_ROOT = Path(__file__).resolve().parent.parent
_LARGE_FILE_BYTES = 2_000_000_000
_IMPORT_ROUNDS = 9

# The targets: smallest ratio to TensorFlow, largest memory and time.
_READING = {"tabular": 0.8, "embeddings": 1.8, "images": 2.4, "tabular_gz": 1.2}
_WRITING = {300: 0.8, 2_000: None, 100_000: 2.0}
_WRITTEN = {300: 1_000_000, 2_000: 150_000, 100_000: 5_000}
_MOST_BYTES = 60_000_000
_MOST_SECONDS = 0.15


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report: a contender in a case."""

    section: str
    case: str
    contender: str
    value: float
    """The median, in `unit`."""
    unit: str
    best: float | None = None
    """The best of the rounds, least disturbed by other work."""
    ratio: float | None = None
    """Ratio to TensorFlow, above 1 if better."""
    ratios: tuple[float, float] | None = None
    """The lowest and the highest ratio of a round."""
    target: str = ""
    met: bool | None = None


def measure(what: str, **arguments: Any) -> dict[str, float]:
    """Run one measurement in a process of its own."""
    request = json.dumps({"what": what, **arguments})
    command = [sys.executable, "-m", "benchmarks.measure", request]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{what} failed:\n{done.stderr}")
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _rates(
    section: str,
    case: str,
    contenders: dict[str, dict[str, Any]],
    rounds: int,
    target: float | None,
) -> list[Row]:
    """Let contenders take turns; return their records per second and their ratios to TensorFlow."""
    say(f"{section}: {case}")
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, request in contenders.items():
            result = measure(**request)
            rates[name].append(result["n_records"] / result["seconds"])
    rows = []
    for name, values in rates.items():
        ratio = ratios = met = None
        if name != "TensorFlow" and "TensorFlow" in rates:
            theirs = rates["TensorFlow"]
            ratio = statistics.median(values) / statistics.median(theirs)
            each = [ours / other for ours, other in zip(values, theirs, strict=True)]
            ratios = (min(each), max(each))
        is_judged = target is not None and name in {"TFRecordReader", "TFRecordWriter"}
        if is_judged and ratio is not None and target is not None:
            met = ratio >= target
        text = f"{target} x" if is_judged else ""
        median = statistics.median(values)
        rows.append(
            Row(section, case, name, median, "records/s", max(values), ratio, ratios, text, met)
        )
    return rows


def reading(cache: Path, scale: float, rounds: int, *, with_tensorflow: bool) -> list[Row]:
    """Compare readers on files in the page cache."""
    rows = []
    for name, target in _READING.items():
        path = data_set(name, cache, scale)
        measure("read_ours_blocks", path=str(path))  # brings the file into the page cache
        contenders = {"TensorFlow": {"what": "read_tensorflow", "path": str(path)}}
        if not with_tensorflow:
            contenders.clear()
        for label, what in [
            ("TFRecordReader", "read_ours"),
            ("tf_record_iterator", "read_ours_iterator"),
            ("blocks()", "read_ours_blocks"),
            ("verify=False", "read_ours_unverified"),
        ]:
            contenders[label] = {"what": what, "path": str(path)}
        rows += _rates("reading", name, contenders, rounds, target)
    return rows


def writing(folder: Path, scale: float, rounds: int, *, with_tensorflow: bool) -> list[Row]:
    """Compare writers, and the kernel's own time for the same bytes."""
    rows = []
    path = folder / "written.tfrecord"
    section = f"writing to {_file_system(folder)}"
    for size, target in _WRITING.items():
        arguments = {"path": str(path), "size": size, "n_records": int(_WRITTEN[size] * scale) or 1}
        contenders: dict[str, dict[str, Any]] = {}
        if with_tensorflow:
            contenders["TensorFlow"] = {"what": "write_tensorflow", **arguments}
        contenders["TFRecordWriter"] = {"what": "write_ours", **arguments}
        contenders["os.write alone"] = {"what": "write_kernel", **arguments}
        rows += _rates(section, f"{size:,} bytes", contenders, rounds, target)
    path.unlink(missing_ok=True)
    return rows


def _file_system(folder: Path) -> str:
    """Return the type of a folder's file system, if known."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "disk"
    kinds = {line.split()[1]: line.split()[2] for line in mounts.read_text().splitlines()}
    return next((kinds[str(p)] for p in (folder, *folder.parents) if str(p) in kinds), "disk")


def memory(cache: Path, scale: float, *, with_tensorflow: bool) -> list[Row]:
    """Measure the peak memory of processes that read one large file."""
    rows = []
    path = cache / "large.tfrecord"
    for size in (300, 100_000):
        n_bytes = int(_LARGE_FILE_BYTES * scale)
        case = f"{n_bytes / 1e9:g} GB of {size:,} bytes"
        say(f"memory: {case}")
        try:
            measure("make_large", path=str(path), size=size, n_bytes=n_bytes)
            for label, what in [
                ("TensorFlow", "memory_tensorflow"),
                ("TFRecordReader", "memory_ours"),
                ("blocks()", "memory_ours_blocks"),
            ]:
                if label == "TensorFlow" and not with_tensorflow:
                    continue
                peak = measure(what, path=str(path))["peak_bytes"]
                is_judged = label == "TFRecordReader"
                rows.append(
                    Row(
                        "memory",
                        case,
                        label,
                        peak / 1e6,
                        "MB",
                        target=f"< {_MOST_BYTES / 1e6:g} MB" if is_judged else "",
                        met=peak < _MOST_BYTES if is_judged else None,
                    )
                )
        finally:
            path.unlink(missing_ok=True)
    return rows


def importing(*, with_tensorflow: bool) -> list[Row]:
    """Measure the time to import, NumPy included, each time in a fresh interpreter."""
    say("import")
    contenders = {"TensorFlow": "import_tensorflow"} if with_tensorflow else {}
    contenders |= {"tfrecord_lite": "import_ours", "NumPy alone": "import_numpy"}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(_IMPORT_ROUNDS):
        for name, what in contenders.items():
            seconds[name].append(measure(what)["seconds"])
    rows = []
    for name, values in seconds.items():
        median = statistics.median(values)
        is_judged = name == "tfrecord_lite"
        target = f"< {_MOST_SECONDS} s" if is_judged else ""
        met = median < _MOST_SECONDS if is_judged else None
        rows.append(Row("import", "", name, median, "s", target=target, met=met))
    return rows


def setting(rounds: int, scale: float) -> dict[str, str | float]:
    """Describe what the figures depend on, without naming the machine."""
    packages = ["numpy", "crc32c", "isal", "tensorflow", "tensorflow-cpu", "tensorboard"]
    versions: dict[str, str | float] = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": _processor(),
        **versions,
        "rounds": rounds,
        "scale": scale,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cells(row: Row) -> list[str]:
    value = f"{row.value:,.0f}" if row.unit == "records/s" else f"{row.value:.3g}"
    spread = f"{row.ratios[0]:.2f} to {row.ratios[1]:.2f}" if row.ratios else ""
    return [
        row.section,
        row.case,
        row.contender,
        f"{value} {row.unit}",
        f"{row.best:,.0f}" if row.best is not None else "",
        f"{row.ratio:.2f} x" if row.ratio is not None else "",
        spread,
        row.target,
        {True: "met", False: "MISSED", None: ""}[row.met],
    ]


def print_table(rows: list[Row]) -> None:
    head = ["", "case", "contender", "median", "best", "to TF", "of rounds", "target", ""]
    lines = [head, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for previous, line in zip([head, *lines], lines, strict=False):
        if line[:2] != previous[:2]:
            print()
        cells = [
            cell.rjust(width) if place in {3, 4, 5} else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def main() -> None:
    """Run the selected parts and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--cache",
        type=Path,
        required=True,
        help="folder for the data sets; 2 GB more are used for a while",
    )
    parser.add_argument(
        "--write-to",
        type=Path,
        nargs="+",
        help="folders to write to; default: the cache folder and, where there is one, /dev/shm",
    )
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of records")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=["reading", "writing", "memory", "import"],
        default=["reading", "writing", "memory", "import"],
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    cache, scale, rounds = arguments.cache.resolve(), arguments.scale, arguments.rounds
    cache.mkdir(parents=True, exist_ok=True)
    with_tensorflow = importlib.util.find_spec("tensorflow") is not None
    if not with_tensorflow:
        say("TensorFlow is not installed here; measuring this package alone")

    rows: list[Row] = []
    if "reading" in arguments.only:
        rows += reading(cache, scale, rounds, with_tensorflow=with_tensorflow)
    if "writing" in arguments.only:
        in_memory = [path for path in (Path("/dev/shm"),) if path.is_dir()]  # noqa: S108
        for folder in arguments.write_to or [cache, *in_memory]:
            rows += writing(folder.resolve(), scale, rounds, with_tensorflow=with_tensorflow)
    if "memory" in arguments.only:
        rows += memory(cache, scale, with_tensorflow=with_tensorflow)
    if "import" in arguments.only:
        rows += importing(with_tensorflow=with_tensorflow)

    conditions = setting(rounds, scale)
    if arguments.json:
        print(json.dumps({"setting": conditions, "rows": [asdict(row) for row in rows]}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    print_table(rows)


if __name__ == "__main__":
    main()
