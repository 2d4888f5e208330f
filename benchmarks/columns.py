"""Examples to NumPy columns, side by side with TensorFlow: ``python -m benchmarks.columns``.

Measures, on files in the page cache and with every CRC checked: file to columns, one
dictionary per record, and the peak memory of parsing; with ``--profile``, the time of
each step of parsing. README.md in this folder explains the figures, and has the latest.

As in :mod:`benchmarks.records`, each measurement is a process of its own, and
contenders take turns. Each runs with its best setting, which a sweep before the
rounds finds: for TensorFlow one of {sequential, AUTOTUNE} and several batch
sizes, for this package one of several block sizes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.data import data_set
from benchmarks.records import measure, say, setting

if TYPE_CHECKING:
    from collections.abc import Callable

    Request = dict[str, Any]

_SWEEPS = 2
_TARGET = 2.0
_DICTS_TARGET = 5.0
# Maximum number of records for dictionaries: TensorFlow takes 50 us for each.
_DICTS = {"tabular": 100_000, "images": 5_000, "embeddings": 50_000, "tokens": 25_000}

_HAS_STRINGS = {"tabular": True, "images": True, "embeddings": False, "tokens": False}
_HAS_STRINGS |= {"tabular_gz": True, "any_order": True}
_FOR_COMPARISON = {
    "tabular_gz",
    "any_order",
}  # dominated by inflating; not an order that programs write
_BATCHES = {"images": (64, 256, 1024)}
_USUAL_BATCHES = (256, 1024, 4096, 8192)
_BLOCKS = {"images": (None, 64, 256)}
_USUAL_BLOCKS = (None, 1024, 4096)

_MEMORY = {
    "tabular": (1024, 8192, 65_536),
    "images": (16, 64, 256, 1024),
    "embeddings": (1024, 8192, 32_768),
    "tokens": (1024, 8192, 32_768),
}
_BASE_BYTES = 60_000_000
"""Peak memory is compared with this, plus a factor times the bytes of a batch."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A way to turn a file into columns or dictionaries."""

    name: str
    request: Request
    setting: str = ""
    rival: str = ""
    """The contender to compare with; empty for TensorFlow."""
    is_judged: bool = False


@dataclass(frozen=True, slots=True)
class Rate:
    """The speed of a contender in a case."""

    section: str
    case: str
    contender: str
    setting: str
    median: float
    """Records per second."""
    best: float
    cpu_us: float
    """Median processor time per record in microseconds, of all threads."""
    rival: str = ""
    ratio: float | None = None
    """Speed relative to the rival: ratio of the medians."""
    ratios: tuple[float, float] | None = None
    """The lowest and the highest ratio of a round."""
    cpu_ratio: float | None = None
    """Processor time of the rival relative to this."""
    target: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target."""
        if self.target is None or self.ratio is None:
            return None
        return self.ratio >= self.target


@dataclass(frozen=True, slots=True)
class Peak:
    """Peak memory of a process that parses a file batch by batch."""

    case: str
    batch: int
    batch_bytes: float
    """Records per batch times the mean record size in the file."""
    peak_bytes: float

    @property
    def factor(self) -> float:
        """Bytes per byte of the batch, above the fixed part."""
        return (self.peak_bytes - _BASE_BYTES) / self.batch_bytes


@dataclass(frozen=True, slots=True)
class Step:
    """The time of one step."""

    case: str
    strings: str
    step: str
    us: float
    """Median microseconds per record."""
    share: float


def fastest(requests: dict[str, Request]) -> tuple[str, Request]:
    """Measure each a few times, in turns; return the one with the fastest run, and its label."""
    seconds = dict.fromkeys(requests, float("inf"))
    for _ in range(_SWEEPS):
        for label, request in requests.items():
            seconds[label] = min(seconds[label], measure(**request)["seconds"])
    label = min(seconds, key=seconds.__getitem__)
    return label, requests[label]


def _tensorflow(name: str, common: Request) -> list[Contender]:
    """Find TensorFlow's best setting; return it without and with arrays made of the tensors."""
    requests = {
        f"{'AUTOTUNE' if autotune else 'sequential'}, {batch}": common
        | {"what": "columns_tensorflow", "batch": batch, "autotune": autotune, "as_numpy": False}
        for batch in _BATCHES.get(name, _USUAL_BATCHES)
        for autotune in (False, True)
    }
    label, best = fastest(requests)
    return [
        Contender("TensorFlow", best, label),
        Contender("TensorFlow, .numpy()", best | {"as_numpy": True}, label),
    ]


def _ours(name: str, common: Request) -> list[Contender]:
    """Find the best block size for each form of strings, if the data set has any."""
    forms = ("BytesColumn", "ndarray") if _HAS_STRINGS[name] else ("BytesColumn",)
    contenders = []
    for strings in forms:
        requests = {
            f"blocks({batch or ''})": common
            | {"what": "columns_ours", "batch": batch, "strings": strings}
            for batch in _BLOCKS.get(name, _USUAL_BLOCKS)
        }
        label, best = fastest(requests)
        title = f'strings="{strings}"' if _HAS_STRINGS[name] else "ExampleParser"
        rival = "TensorFlow" if strings == "BytesColumn" else "TensorFlow, .numpy()"
        is_judged = name not in _FOR_COMPARISON
        contenders.append(Contender(title, best, label, rival, is_judged))
    return contenders


def take_turns(
    section: str, case: str, contenders: list[Contender], rounds: int, target: float
) -> list[Rate]:
    """Let contenders take turns, and compare each with its rival."""
    rates: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    cpu: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for _ in range(rounds):
        for contender in contenders:
            result = measure(**contender.request)
            rates[contender.name].append(result["n_records"] / result["seconds"])
            cpu[contender.name].append(1e6 * result["cpu_seconds"] / result["n_records"])
    rows = []
    for contender in contenders:
        ours, our_cpu = rates[contender.name], statistics.median(cpu[contender.name])
        median = statistics.median(ours)
        row = (section, case, contender.name, contender.setting, median, max(ours), our_cpu)
        if contender.rival not in rates:
            rows.append(Rate(*row))
            continue
        theirs = rates[contender.rival]
        each = [one / other for one, other in zip(ours, theirs, strict=True)]
        rows.append(
            Rate(
                *row,
                rival=contender.rival,
                ratio=median / statistics.median(theirs),
                ratios=(min(each), max(each)),
                cpu_ratio=statistics.median(cpu[contender.rival]) / our_cpu,
                target=target if contender.is_judged else None,
            )
        )
    return rows


def columns(
    names: list[str], cache: Path, scale: float, rounds: int, *, with_tensorflow: bool
) -> list[Rate]:
    """Compare ways to turn files into columns."""
    rows = []
    for name in names:
        common = {"path": str(data_set(name, cache, scale)), "data_set": name}
        say(f"columns: {name}: finding the best settings")
        contenders = _tensorflow(name, common) if with_tensorflow else []
        contenders += _ours(name, common)
        say(f"columns: {name}: {rounds} rounds")
        rows += take_turns("columns", name, contenders, rounds, _TARGET)
    return rows


def dicts(cache: Path, scale: float, rounds: int, *, with_tensorflow: bool) -> list[Rate]:
    """Compare ways to make one dictionary per record, without a schema."""
    rows = []
    for name, limit in _DICTS.items():
        say(f"a dict a record: {name}")
        common = {"path": str(data_set(name, cache, scale)), "limit": max(int(limit * scale), 1)}
        contenders = []
        if with_tensorflow:
            theirs = {"what": "dicts_tensorflow"} | common
            contenders.append(Contender("TensorFlow", theirs | {"as_numpy": False}))
            contenders.append(Contender("TensorFlow, arrays", theirs | {"as_numpy": True}))
        ours = {"what": "dicts_ours"} | common
        contenders.append(Contender("examples()", ours, "", "TensorFlow", name == "tabular"))
        rows += take_turns("a dict a record", name, contenders, rounds, _DICTS_TARGET)
    return rows


def memory(cache: Path, scale: float) -> list[Peak]:
    """Measure the peak memory of processes that parse a file in batches of several sizes."""
    rows = []
    for name, batches in _MEMORY.items():
        say(f"memory: {name}")
        path = data_set(name, cache, scale)
        for batch in batches:
            request = {
                "path": str(path),
                "data_set": name,
                "batch": batch,
                "strings": "BytesColumn",
            }
            result = measure("memory_columns_ours", **request)
            n_bytes = path.stat().st_size / result["n_records"] * min(batch, result["n_records"])
            rows.append(Peak(name, batch, n_bytes, result["peak_bytes"]))
    return rows


def profile(cache: Path, scale: float, rounds: int) -> list[Step]:
    """Measure the time of each step, for both forms of strings."""
    rows = []
    path = str(data_set("tabular", cache, scale))
    for strings in ("BytesColumn", "ndarray"):
        say(f'steps: tabular, strings="{strings}"')
        request = {"path": path, "data_set": "tabular", "batch": None, "strings": strings}
        results = [measure("steps_ours", **request) for _ in range(rounds)]
        n_records = results[0].pop("n_records")
        seconds = {step: statistics.median(r[step] for r in results) for step in results[0]}
        total = sum(seconds.values())
        for step, value in [*seconds.items(), ("all", total)]:
            rows.append(Step("tabular", strings, step, 1e6 * value / n_records, value / total))
    return rows


def rate_cells(row: Rate) -> list[str]:
    has_rival = row.ratio is not None and row.ratios is not None and row.cpu_ratio is not None
    return [
        row.section,
        row.case,
        row.contender,
        row.setting,
        f"{row.median:,.0f}",
        f"{row.best:,.0f}",
        f"{row.cpu_us:,.2f}",
        f"{row.ratio:.2f} x" if has_rival else "",
        f"{row.ratios[0]:.2f} to {row.ratios[1]:.2f}" if has_rival and row.ratios else "",
        f"{row.cpu_ratio:.2f} x" if has_rival else "",
        row.rival,
        f"{row.target:g} x" if row.target is not None else "",
        {True: "met", False: "MISSED", None: ""}[row.met],
    ]


RATE_HEAD = "| case | contender | setting | records/s >| best >| CPU us >| ratio >|"
RATE_HEAD += " of rounds | CPU ratio >| to | target >|"
_PEAK_HEAD = "case | | batch >| MB of records >| peak MB >| factor above 60 MB >"
_STEP_HEAD = "case | strings | step | us a record >| share >"


def _peak_cells(row: Peak) -> list[str]:
    n_bytes, peak = row.batch_bytes / 1e6, row.peak_bytes / 1e6
    factor = f"{row.factor:.1f}" if row.factor > 0 else ""  # nothing is above the fixed part
    return [row.case, "", f"{row.batch:,}", f"{n_bytes:.1f}", f"{peak:.0f}", factor]


def _step_cells(row: Step) -> list[str]:
    return [row.case, row.strings, row.step, f"{row.us:.3f}", f"{row.share:.0%}"]


def print_table(head: str, rows: list[Any], cells_of: Callable[[Any], list[str]]) -> None:
    """Print rows under a head, in which ``>|`` ends a column that is set to the right.

    An empty line goes before each run of rows that begin with the same text.
    """
    if not rows:
        return
    titles = head.split("|")
    is_right = [title.endswith(">") for title in titles]
    n_texts = min(is_right.index(True) - 1, 2)
    lines = [[title.rstrip(">").strip() for title in titles], *map(cells_of, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for previous, line in zip([lines[0], *lines], lines, strict=False):
        if line[:n_texts] != previous[:n_texts]:
            print()
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, is_right, strict=True)
        ]
        print("  ".join(cells).rstrip())
    print()


def main() -> None:
    """Run the selected parts and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder for the data sets")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of records")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender")
    sections = ["columns", "dicts", "memory"]
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    names = list(_HAS_STRINGS)
    parser.add_argument("--data", nargs="+", choices=names, default=names, help="of columns")
    parser.add_argument("--profile", action="store_true", help="only where the time goes")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    cache, scale, rounds = arguments.cache.resolve(), arguments.scale, arguments.rounds
    cache.mkdir(parents=True, exist_ok=True)
    with_tensorflow = importlib.util.find_spec("tensorflow") is not None
    if not with_tensorflow:
        say("TensorFlow is not installed here; measuring this package alone")

    rates: list[Rate] = []
    peaks: list[Peak] = []
    steps: list[Step] = []
    only = [] if arguments.profile else arguments.only
    if arguments.profile:
        steps = profile(cache, scale, rounds)
    if "columns" in only:
        rates += columns(arguments.data, cache, scale, rounds, with_tensorflow=with_tensorflow)
    if "dicts" in only:
        rates += dicts(cache, scale, rounds, with_tensorflow=with_tensorflow)
    if "memory" in only:
        peaks = memory(cache, scale)

    conditions = setting(rounds, scale)
    if arguments.json:
        rows = {
            "rates": [asdict(row) | {"met": row.met} for row in rates],
            "peaks": [asdict(row) | {"factor": row.factor} for row in peaks],
            "steps": [asdict(row) for row in steps],
        }
        print(json.dumps({"setting": conditions, **rows}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    print_table(RATE_HEAD, rates, rate_cells)
    print_table(_PEAK_HEAD, peaks, _peak_cells)
    print_table(_STEP_HEAD, steps, _step_cells)


if __name__ == "__main__":
    main()
