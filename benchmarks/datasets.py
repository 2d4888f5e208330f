"""Pipelines and random access, side by side with TensorFlow: ``python -m benchmarks.datasets``.

Measures, on the tabular data in eight files in the page cache and with every CRC
checked: the whole pipeline (interleave, shuffle with a buffer of 10,000, batches of 256,
parse, prefetch) in one process and in two, 1,000 random reads of 1,000,000 records, and
torch's DataLoader, compared with the data set of the package ``tfrecord`` (which checks no
CRC). Packages that are not installed are left out.
README.md in this folder explains the figures, and has the latest.

As in :mod:`benchmarks.columns`, each measurement is a process of its own, and contenders
take turns. TensorFlow runs with AUTOTUNE, and without parallel calls, which is faster on few
processors.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.columns import RATE_HEAD, Contender, Rate, print_table, rate_cells, take_turns
from benchmarks.data import data_set, shards
from benchmarks.records import Row, measure, say, setting

_N_FILES = 8
_BATCH = 256
_BUFFER = 10_000
_TARGET = 2.0
_LOADER_TARGET = 5.0
_N_READS = 1_000
_MOST_READ_SECONDS = 0.015
_MOST_INDEX_SECONDS = 0.5
_MOST_INDEX_BYTES = 40_000_000


def _theirs(common: dict[str, Any]) -> list[Contender]:
    """Return TensorFlow's pipeline, in each of its settings."""
    request = {"what": "pipeline_tensorflow", **common}
    return [
        Contender(
            f"TensorFlow{', AUTOTUNE' * autotune}{', .numpy()' * as_numpy}",
            request | {"autotune": autotune, "as_numpy": as_numpy},
        )
        for as_numpy in (False, True)
        for autotune in (True, False)
    ]


def pipelines(cache: Path, scale: float, rounds: int, *, with_tensorflow: bool) -> list[Rate]:
    """Compare the whole pipeline."""
    files = list(map(str, shards("tabular", cache, scale, _N_FILES)))
    common = {"files": files, "batch": _BATCH, "buffer": _BUFFER}
    contenders = _theirs(common) if with_tensorflow else []
    for strings in ("BytesColumn", "ndarray"):
        rival = "TensorFlow, AUTOTUNE" + ", .numpy()" * (strings == "ndarray")
        for num_workers, prefetch in ((0, 0), (0, 4), (2, 0)):
            way = ", 2 processes" if num_workers else ", prefetch" if prefetch else ""
            ours = {"what": "pipeline_ours", **common, "strings": strings}
            ours |= {"num_workers": num_workers, "prefetch": prefetch}
            name = f'strings="{strings}"{way}'
            contenders.append(Contender(name, ours, "", rival, is_judged=True))
    say(f"pipeline: {rounds} rounds")
    return take_turns("pipeline", "tabular", contenders, rounds, _TARGET)


def reads(cache: Path, scale: float, rounds: int, *, with_tensorflow: bool) -> list[Row]:
    """Measure making an index, and random reads with it."""
    path = str(data_set("tabular", cache, scale))
    say(f"random reads: {rounds} rounds")
    results = [measure("random_ours", path=path, n_reads=_N_READS, rounds=9) for _ in range(rounds)]
    median = {key: statistics.median(result[key] for result in results) for key in results[0]}
    cases = (
        ("index, time", "index_seconds", _MOST_INDEX_SECONDS, "s"),
        ("index, memory", "index_bytes", _MOST_INDEX_BYTES, "bytes"),
        ("1,000 reads, together", "seconds", _MOST_READ_SECONDS, "s"),
        ("1,000 reads, one by one", "singly_seconds", None, "s"),
    )
    rows = [
        Row(
            "random access",
            case,
            "TFRecordFile",
            median[key],
            unit,
            target=f"at most {most:g}" if most else "",
            met=median[key] <= most if most else None,
        )
        for case, key, most, unit in cases
    ]
    if with_tensorflow:
        theirs = [measure("random_tensorflow", path=path, n_reads=_N_READS) for _ in range(2)]
        seconds = min(result["seconds"] for result in theirs)
        rows.append(Row("random access", "1,000 reads, in order", "TensorFlow", seconds, "s"))
    return rows


def loaders(cache: Path, scale: float, rounds: int) -> list[Rate]:
    """Compare this and another package as sources of torch's DataLoader: one file of 125,000."""
    path = str(shards("tabular", cache, scale, _N_FILES)[0])
    measure("make_index", path=path)
    contenders = []
    for num_workers in (0, 2):
        for shuffle in (0, _BUFFER):
            common = {"path": path, "num_workers": num_workers, "shuffle": shuffle}
            way = f"{num_workers} workers{', shuffle' * bool(shuffle)}"
            rival = f"tfrecord, {way}"
            contenders.append(Contender(rival, {"what": "loader_peer", **common}))
            ours = {"what": "loader_ours", **common}
            contenders.append(Contender(f"this package, {way}", ours, "", rival, is_judged=True))
    say(f"loaders: {rounds} rounds")
    return take_turns("DataLoader", "tabular", contenders, rounds, _LOADER_TARGET)


def _row_cells(row: Row) -> list[str]:
    met = {True: "met", False: "MISSED", None: ""}[row.met]
    value = f"{row.value:,.0f}" if row.unit == "bytes" else f"{row.value:,.4f}"
    return [row.case, row.contender, value, row.unit, row.target, met]


def main() -> None:
    """Run the selected parts and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder for the data sets")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of records")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender")
    sections = ["pipelines", "reads", "loaders"]
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    cache, scale, rounds = arguments.cache.resolve(), arguments.scale, arguments.rounds
    cache.mkdir(parents=True, exist_ok=True)
    with_tensorflow = importlib.util.find_spec("tensorflow") is not None
    if not with_tensorflow:
        say("TensorFlow is not installed here; measuring this package alone")
    rates: list[Rate] = []
    rows: list[Row] = []
    if "pipelines" in arguments.only:
        rates = pipelines(cache, scale, rounds, with_tensorflow=with_tensorflow)
    if "reads" in arguments.only:
        rows = reads(cache, scale, rounds, with_tensorflow=with_tensorflow)
    if "loaders" in arguments.only:
        if all(importlib.util.find_spec(name) for name in ("torch", "tfrecord")):
            rates += loaders(cache, scale, rounds)
        else:
            say("torch and tfrecord are not both installed here; loaders are left out")
    conditions = setting(rounds, scale)
    if arguments.json:
        all_rates = [asdict(row) | {"met": row.met} for row in rates]
        found = {"rates": all_rates, "reads": [asdict(row) for row in rows]}
        print(json.dumps({"setting": conditions, **found}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    print_table(RATE_HEAD, rates, rate_cells)
    print_table("case | by | value >| unit >| target >| >", rows, _row_cells)


if __name__ == "__main__":
    main()
