"""The cost of skipping damage, verifying and recovering: ``python -m benchmarks.reliability``.

On intact files, "skip" and verify are compared with plain reading of the same file in the same
run. On a file with 1,000 damaged places, "skip" shows the cost of searching for the next record,
and recover that of copying. As in :mod:`benchmarks.records`, each measurement is a process of its
own, and contenders take turns; figures are medians, and ratios are ratios of medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.data import data_set
from benchmarks.records import measure, say, setting

_MOST = 1.2
_DAMAGES = 1000
_DATA_SETS = ("tabular", "images", "tabular_gz")


def contenders(path: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the measurements on a file: by name, the rival and the request."""
    plain, blocks = "records, raise", "blocks, raise"
    source = {"path": str(path)}
    cases: dict[str, tuple[str, dict[str, Any]]] = {
        plain: (plain, {"what": "skipping_records", "on_error": "raise"}),
        "records, skip": (plain, {"what": "skipping_records", "on_error": "skip"}),
        blocks: (blocks, {"what": "skipping_blocks", "on_error": "raise"}),
        "blocks, skip": (blocks, {"what": "skipping_blocks", "on_error": "skip"}),
        "verify": (blocks, {"what": "verify_file"}),
        "verify, to records": (plain, {"what": "verify_file"}),
        "recover": (blocks, {"what": "recover_file", "new": f"{path}.recovered"}),
    }
    if path.suffix != ".gz":
        damaged: dict[str, Any] = {"damaged": f"{path}.damaged", "n_damages": _DAMAGES}
        cases["blocks, skip 1,000 damages"] = (blocks, {"what": "skip_damages", **damaged})
    one = "verify 4 files, 1 thread"
    for num_threads, name in ((1, one), (2, "verify 4 files, 2 threads")):
        cases[name] = (one, {"what": "verify_shards", "num_threads": num_threads})
    return {name: (base, source | request) for name, (base, request) in cases.items()}


def rows_of(case: str, path: Path, rounds: int) -> list[dict[str, Any]]:
    """Measure everything on one file."""
    asked = contenders(path)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in asked}
    for number in range(rounds):
        say(f"{case}: round {number + 1} of {rounds}")
        for name, (_, request) in asked.items():
            found[name].append(measure(**request))
    Path(f"{path}.damaged").unlink(missing_ok=True)
    medians = {
        name: {
            field: statistics.median(result[field] for result in results)
            for field in ("seconds", "cpu_seconds", "n_records")
        }
        for name, results in found.items()
    }
    return [
        {
            "case": case,
            "contender": name,
            "compared with": base,
            **medians[name],
            "times": medians[name]["seconds"] / medians[base]["seconds"],
            "cpu_times": medians[name]["cpu_seconds"] / medians[base]["cpu_seconds"],
        }
        for name, (base, _) in asked.items()
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder for the data sets")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of records")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender")
    parser.add_argument("--data", nargs="+", choices=_DATA_SETS, default=_DATA_SETS)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    cache, scale, rounds = arguments.cache.resolve(), arguments.scale, arguments.rounds
    cache.mkdir(parents=True, exist_ok=True)

    rows = [
        row
        for case in arguments.data
        for row in rows_of(case, data_set(case, cache, scale), rounds)
    ]
    conditions = setting(rounds, scale)
    if arguments.json:
        print(json.dumps({"setting": conditions, "rows": rows}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    print(f"\n'skip' and 'verify' should take at most {_MOST} times as long as plain reading\n")
    print("| data set | what | seconds | times | processor, times |")
    print("| --- | --- | ---: | ---: | ---: |")
    for row in rows:
        cells = (row["case"], row["contender"], f"{row['seconds']:.3f}")
        print(f"| {' | '.join(cells)} | {row['times']:.2f} | {row['cpu_times']:.2f} |")


if __name__ == "__main__":
    main()
