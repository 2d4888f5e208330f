"""Files to tables and back, side by side with others: ``python -m benchmarks.tables``.

Measures TFRecord to Arrow and to Parquet against tf.data and tfx-bsl, both with pyarrow;
``tfrecord convert`` against our own batches and pyarrow's writer, with one process and two;
Parquet to TFRecord against ``tf.train.Example`` in a loop; and peak memory on a file and on
one ten times larger. README.md in this folder explains the figures, and has the latest.

Each contender has a process of its own, in an environment of its own (``--python-tensorflow``,
``--python-tfx-bsl``); it imports once, then contenders take turns. Each runs with its best
setting, which a sweep before the rounds finds. The values that a contender makes are compared
with ours. What is not installed is left out, and named at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks.columns import RATE_HEAD, Rate, print_table, rate_cells
from benchmarks.data import data_set
from benchmarks.records import measure, say, setting

if TYPE_CHECKING:
    from types import TracebackType

    Request = dict[str, Any]

_BYTECODE = "bytecode"
_ROOT = Path(__file__).resolve().parent.parent
_SWEEPS = 2
_SECTIONS = ("arrow", "parquet", "convert", "jobs", "rows", "memory")
_DATA = ("tabular", "images", "embeddings", "tokens", "sequences", "tabular_gz")
_FASTER = 1.0
_OF_OWN_WRITER = 0.8
_OF_TWO_JOBS = 1.5
_OF_LOOP = 20.0
_MOST_GROWTH = 1.1
"""Peak memory for a file ten times larger, at most so many times that for the file."""
_SHARDS = 4
_SHARD_BYTES = 100_000_000
"""Least size of a shard: starting a process takes a third of a second."""
_ROWS = 20_000
"""Rows of Parquet for the loop, which takes 60 us for each."""
_JOBS = ("tabular", "images")
_MEMORY = ("tabular", "images", "embeddings")
_MEMORY_BYTES = 150_000_000
"""Least size of the smaller file, so that several row groups are in it."""
_PACKAGES = ("numpy", "pyarrow", "tensorflow", "tensorflow-cpu", "tfx-bsl", "protobuf")


class Worker:
    """A process that measures what it is asked for, one request at a time."""

    def __init__(
        self, python: str, *, bytecode: Path | None = None, n_cores: int | None = None
    ) -> None:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        if bytecode is not None:  # compiled once, as that of installed packages is
            environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.measure"],
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        if n_cores == 1:
            self.measure(what="use_one_core")

    def measure(self, **request: Any) -> dict[str, Any]:
        """Return the answer to a request; exit if there is none."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(json.dumps(request) + "\n")
        requests.flush()
        for line in answers:
            if line.startswith("{"):  # libraries may print, too
                answer: dict[str, Any] = json.loads(line)
                return answer
        self._errors.seek(0)
        sys.exit(f"{request['what']} failed:\n{self._errors.read()[-4000:]}")

    def __enter__(self) -> Self:
        """Return the worker."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the process."""
        self._process.communicate()
        self._errors.close()


@dataclass(frozen=True, slots=True)
class Side:
    """A contender: where it is measured, what is asked, and the setting in words."""

    name: str
    worker: Worker
    request: Request
    setting: str = ""

    def measure(self) -> dict[str, Any]:
        """Measure once."""
        return self.worker.measure(**self.request)


@dataclass(frozen=True, slots=True)
class Growth:
    """Peak memory of a process over a file, and over one ten times larger."""

    case: str
    what: str
    file_bytes: int
    peak_bytes: float
    large_peak_bytes: float

    @property
    def ratio(self) -> float:
        """The peak of the larger file relative to that of the other."""
        return self.large_peak_bytes / self.peak_bytes

    @property
    def met(self) -> bool:
        """Whether memory does not grow with the file."""
        return self.ratio <= _MOST_GROWTH


def fastest(name: str, worker: Worker, requests: dict[str, Request]) -> Side:
    """Return the side with the setting that takes the least time, each measured in turns."""
    seconds = dict.fromkeys(requests, float("inf"))
    for _ in range(_SWEEPS):
        for label, request in requests.items():
            seconds[label] = min(seconds[label], worker.measure(**request)["seconds"])
    label = min(seconds, key=seconds.__getitem__)
    return Side(name, worker, requests[label], label)


def take_turns(
    section: str, case: str, ours: Side, rivals: list[Side], rounds: int, target: float | None
) -> list[Rate]:
    """Let the sides take turns; return the rate of each rival, and ours relative to each."""
    rates: dict[str, list[float]] = {side.name: [] for side in (ours, *rivals)}
    cpu: dict[str, list[float]] = {side.name: [] for side in (ours, *rivals)}
    for _ in range(rounds):
        for side in (ours, *rivals):
            found = side.measure()
            rates[side.name].append(found["n_records"] / found["seconds"])
            cpu[side.name].append(1e6 * found["cpu_seconds"] / found["n_records"])

    def row(side: Side, **compared: Any) -> Rate:
        mine, time = rates[side.name], statistics.median(cpu[side.name])
        median = statistics.median(mine)
        return Rate(section, case, side.name, side.setting, median, max(mine), time, **compared)

    rows = [row(side) for side in rivals]
    for side in rivals:
        theirs, pairs = rates[side.name], zip(rates[ours.name], rates[side.name], strict=True)
        each = [one / other for one, other in pairs]
        ratio = statistics.median(rates[ours.name]) / statistics.median(theirs)
        own = statistics.median(cpu[side.name]) / statistics.median(cpu[ours.name])
        rows.append(
            row(
                ours,
                rival=side.name,
                ratio=ratio,
                ratios=(min(each), max(each)),
                cpu_ratio=own,
                target=target,
            )
        )
    return rows if rivals else [row(ours)]


class Bench:
    """The processes, the folder for what they write, and the settings of a run."""

    def __init__(
        self, cache: Path, write_to: Path, scale: float, rounds: int, workers: dict[str, Worker]
    ) -> None:
        self.cache, self.scale, self.rounds = cache, scale, rounds
        self.workers = workers
        self.folder = Path(tempfile.mkdtemp(dir=write_to))
        self._best: dict[str, list[Side]] = {}

    def path(self, name: str) -> Path:
        """Return the file of a data set."""
        return data_set(name, self.cache, self.scale)

    # ---------------------------------------------------------------------- to Arrow, to Parquet

    def sides(self, name: str) -> list[Side]:
        """Return ours and each rival for one data set, with the best settings; checked."""
        if name not in self._best:
            say(f"{name}: finding the best settings")
            found = [
                fastest(_TITLES[side], self.workers[side], self._settings(name, side))
                for side in _TITLES
                if side in self.workers
            ]
            sums = [
                side.worker.measure(**{**side.request, "what": "tables_sums"}) for side in found
            ]
            for side, values in zip(found, sums, strict=True):
                _check(name, side.name, sums[0], values)
            self._best[name] = found
        return self._best[name]

    def _settings(self, name: str, side: str) -> dict[str, Request]:
        common = {"what": "tables_arrow", "side": side, "path": str(self.path(name))}
        common |= {"data_set": name.removesuffix("_gz")}
        sizes = (64, 256) if name == "images" else (1024, 4096)
        if side == "ours":
            return {f"to_batches({size or ''})": common | {"size": size} for size in (None, *sizes)}
        if side == "tfx_bsl":
            return {
                f"{reader}, {size}": common | {"size": size, "reader": reader}
                for size in sizes
                for reader in ("dataset", "iterator")
            }
        forms = (False, True) if name not in {"embeddings", "tokens"} else (False,)
        return {
            f"{'AUTOTUNE' if autotune else 'sequential'}, {size}{', joined' * joined}": common
            | {"size": size, "autotune": autotune, "joined": joined}
            for size in sizes
            for autotune in (False, True)
            for joined in forms
        }

    def arrow(self, name: str) -> list[Rate]:
        """Compare ways to make record batches of a file."""
        ours, *rivals = self.sides(name)
        say(f"{name} to Arrow: {self.rounds} rounds")
        return take_turns("to Arrow", name, ours, rivals, self.rounds, _FASTER)

    def parquet(self, name: str) -> list[Rate]:
        """Compare ways to make Parquet of a file: ours is the command line's."""
        own, *rivals = self.sides(name)
        say(f"{name} to Parquet: {self.rounds} rounds")
        target = str(self.folder / f"{name}.parquet")
        writes = {"what": "tables_parquet", "target": target}
        rivals = [
            Side(side.name, side.worker, {**side.request, **writes}, side.setting)
            for side in rivals
        ]
        ours = Side("convert", own.worker, self._convert(name, target))
        sums = own.worker.measure(**{**own.request, "what": "tables_sums"})
        for side in (ours, *rivals):
            side.measure()
            written = own.worker.measure(what="tables_sums_parquet", path=target)
            _check(name, f"{side.name}, in Parquet", sums, written)
        return take_turns("to Parquet", name, ours, rivals, self.rounds, _FASTER)

    def _convert(self, name: str, target: str) -> Request:
        """Return the request to convert a data set, its features given as they are to the others."""
        schema = self.folder / f"{name}.schema.json"
        self.workers["ours"].measure(
            what="tables_schema", data_set=name.removesuffix("_gz"), target=str(schema)
        )
        return {
            "what": "tables_convert",
            "sources": [str(self.path(name))],
            "target": target,
            "options": ["--schema", str(schema)],
            "n_records": self.n_records(name),
        }

    def n_records(self, name: str) -> int:
        """Return the number of records of a data set, which the name of its file has."""
        return int(self.path(name).name.split("-")[1].split(".")[0])

    # ----------------------------------------------------------------------------------- convert

    def convert(self, name: str) -> list[Rate]:
        """Compare convert with our batches and pyarrow's writer, both on one core."""
        target = str(self.folder / "one-core.parquet")
        say(f"convert {name}, one core: {self.rounds} rounds")
        with Worker(sys.executable, bytecode=self.cache / _BYTECODE, n_cores=1) as worker:
            common = {"side": "ours", "path": str(self.path(name)), "data_set": name, "size": None}
            common["data_set"] = name.removesuffix("_gz")
            request = {"what": "tables_parquet", "target": target, **common}
            rival = Side("batches, ParquetWriter", worker, request)
            ours = Side("convert", worker, self._convert(name, target))
            for side in (ours, rival):
                side.measure()  # imports, and memory from the system
            return take_turns("convert, one core", name, ours, [rival], self.rounds, _OF_OWN_WRITER)

    def jobs(self, name: str) -> list[Rate]:
        """Compare convert with two processes and with one, on several files."""
        say(f"convert {name}, {_SHARDS} files: {self.rounds} rounds")
        path = self.path(name)
        times = -(-_SHARD_BYTES // path.stat().st_size)
        files = [str(self.folder / f"{name}-{i}.tfrecord") for i in range(_SHARDS)]
        for file in files:
            self.workers["ours"].measure(
                what="repeat_file", path=str(path), target=file, times=times
            )
        sides, sums = [], []
        for n_jobs in (2, 1):
            target = self.folder / f"{name}-jobs-{n_jobs}"
            target.mkdir()
            request = self._convert(name, f"{target}/")
            request["sources"] = files
            request["options"] += ["--jobs", str(n_jobs), "--to", "parquet"]
            request["n_records"] *= _SHARDS * times
            setting = f"{_SHARDS} files of {path.stat().st_size * times / 1e6:,.0f} MB"
            sides.append(Side(f"--jobs {n_jobs}", self.workers["ours"], request, setting))
            sides[-1].measure()
            sums.append(self.workers["ours"].measure(what="tables_sums_parquet", path=str(target)))
        _check(name, "--jobs 2", *sums)
        rates = take_turns(
            "convert, processes", name, sides[0], sides[1:], self.rounds, _OF_TWO_JOBS
        )
        for made in [*files, *(side.request["target"] for side in sides)]:
            shutil.rmtree(made) if made.endswith("/") else Path(made).unlink()
        return rates

    def rows(self) -> list[Rate]:
        """Compare Parquet to TFRecord with a loop over rows."""
        say(f"Parquet to TFRecord: {self.rounds} rounds")
        ours = self.workers["ours"]
        n_small = min(_ROWS, self.n_records("tabular"))
        large, small = str(self.folder / "large.parquet"), str(self.folder / "small.parquet")
        ours.measure(**self._convert("tabular", large))
        ours.measure(what="first_rows", path=large, target=small, n_rows=n_small)
        sides, sums = [], []
        for title, path, n_records in (
            ("convert", large, self.n_records("tabular")),
            ("the same rows", small, n_small),
        ):
            request: Request = {"what": "tables_convert", "sources": [path], "options": []}
            request |= {"target": str(self.folder / "ours.tfrecord"), "n_records": n_records}
            sides.append(Side(title, ours, request, f"{n_records:,} rows"))
        if "tensorflow" in self.workers:
            target = str(self.folder / "loop.tfrecord")
            request = {"what": "tables_rows_tensorflow", "path": small, "target": target}
            side = Side(
                "tf.train.Example", self.workers["tensorflow"], request, f"{n_small:,} rows"
            )
            sides.append(side)
        for side in sides[1:]:
            side.measure()
            common = {"what": "tables_sums", "side": "ours", "data_set": "tabular"}
            sums.append(ours.measure(**common, path=side.request["target"]))
            _check("Parquet to TFRecord", side.name, sums[0], sums[-1])
        whole, same, *loop = sides
        rates = take_turns("to TFRecord", "tabular", whole, loop, self.rounds, _OF_LOOP)
        if loop:  # of few rows, most of the time is opening files
            rates += take_turns("to TFRecord", "tabular, few", same, loop, self.rounds, None)
        return rates

    # ------------------------------------------------------------------------------------ memory

    def memory(self, name: str, *, with_convert: bool) -> list[Growth]:
        """Measure the peak memory over a file and over one ten times larger."""
        say(f"memory: {name}")
        path = self.path(name)
        times = -(-_MEMORY_BYTES // path.stat().st_size)
        folder = Path(tempfile.mkdtemp(dir=self.cache))  # some gigabytes, for a while
        target = str(folder / "memory.parquet")
        requests: dict[str, Request] = {
            "batches": {"what": "tables_arrow", "side": "ours", "data_set": name}
        }
        if with_convert:
            requests["convert"] = self._convert(name, target)
        peaks: dict[str, list[float]] = {what: [] for what in requests}
        file = folder / "memory.tfrecord"
        for factor in (times, 10 * times):
            measure("repeat_file", path=str(path), target=str(file), times=factor)
            for what, request in requests.items():
                given = dict(request)
                inner = given.pop("what")
                given |= {"path": str(file)} if what == "batches" else {"sources": [str(file)]}
                found = measure("memory_tables", inner=inner, arguments=given)
                peaks[what].append(found["peak_bytes"])
        shutil.rmtree(folder)
        size = path.stat().st_size * times
        return [Growth(name, what, size, *found) for what, found in peaks.items()]


_TITLES = {"ours": "scan", "tensorflow": "tf.data", "tfx_bsl": "tfx-bsl"}


def _check(case: str, name: str, expected: dict[str, Any], found: dict[str, Any]) -> None:
    """Exit if a contender has other values than ours."""
    differing = [key for key in {*expected, *found} if expected.get(key) != found.get(key)]
    if differing:
        sys.exit(f"{case}: {name} has other values of {', '.join(sorted(differing))}")


def _growth_cells(row: Growth) -> list[str]:
    return [
        row.case,
        row.what,
        f"{row.file_bytes / 1e6:,.0f}",
        f"{row.peak_bytes / 1e6:,.0f}",
        f"{row.large_peak_bytes / 1e6:,.0f}",
        f"{row.ratio:.2f} x",
        f"{_MOST_GROWTH} x",
        "met" if row.met else "MISSED",
    ]


_GROWTH_HEAD = "case | | file, MB >| peak MB >| of ten times the file >| ratio >| at most >|"


def _python_with(packages: list[str], given: str | None) -> str | None:
    """Return the interpreter given, or this one, if it has all packages."""
    python = given or sys.executable
    code = f"import importlib.util as u; exit(not all(u.find_spec(p) for p in {packages}))"
    command = [python, "-c", code]
    try:
        found = subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        found = False
    if given is not None and not found:
        sys.exit(f"{given} does not have {' and '.join(packages)}")
    return python if found else None


def run(bench: Bench, only: list[str], names: list[str]) -> tuple[list[Rate], list[Growth]]:
    """Run the selected parts."""
    rates: list[Rate] = []
    peaks: list[Growth] = []
    has_convert = bench.workers["ours"].measure(what="has_convert")["found"]
    if not has_convert:
        say("there is no tfrecord convert; only Arrow and memory are measured")
    for name in names:
        if "arrow" in only:
            rates += bench.arrow(name)
        if "parquet" in only and has_convert:
            rates += bench.parquet(name)
        if "convert" in only and has_convert:
            rates += bench.convert(name)
    if "jobs" in only and has_convert:
        for name in _JOBS:
            rates += bench.jobs(name) if name in names else []
    if "rows" in only and has_convert:
        rates += bench.rows()
    if "memory" in only:
        for name in _MEMORY:
            peaks += bench.memory(name, with_convert=has_convert) if name in names else []
    return sorted(rates, key=lambda row: _ORDER.index(row.section)), peaks


_ORDER = ["to Arrow", "to Parquet", "convert, one core", "convert, processes", "to TFRecord"]


def main() -> None:
    """Run the selected parts and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder for the data sets")
    parser.add_argument(
        "--write-to", type=Path, help="folder to write to; default: /dev/shm, else the cache folder"
    )
    parser.add_argument("--scale", type=float, default=0.2, help="times the number of records")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender")
    parser.add_argument("--only", nargs="+", choices=_SECTIONS, default=_SECTIONS)
    parser.add_argument("--data", nargs="+", choices=_DATA, default=_DATA)
    with_it = "interpreter that has %s and pyarrow; default: this one, if it has"
    parser.add_argument("--python-tensorflow", help=with_it % "TensorFlow")
    parser.add_argument("--python-tfx-bsl", help=with_it % "tfx-bsl")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    cache, scale, rounds = arguments.cache.resolve(), arguments.scale, arguments.rounds
    cache.mkdir(parents=True, exist_ok=True)
    in_memory = Path("/dev/shm")  # noqa: S108
    write_to = arguments.write_to or (in_memory if in_memory.is_dir() else cache)
    pythons = {
        "ours": _python_with(["pyarrow"], None),
        "tensorflow": _python_with(["tensorflow", "pyarrow"], arguments.python_tensorflow),
        "tfx_bsl": _python_with(["tfx_bsl", "pyarrow"], arguments.python_tfx_bsl),
    }
    if pythons["ours"] is None:
        sys.exit("pyarrow is not installed: pip install 'tfrecord-numpy[arrow]'")

    with ExitStack() as stack:
        workers = {
            side: stack.enter_context(
                Worker(python, bytecode=cache / _BYTECODE if side == "ours" else None)
            )
            for side, python in pythons.items()
            if python is not None
        }
        versions = {
            _TITLES[side]: worker.measure(what="versions", packages=_PACKAGES)
            for side, worker in workers.items()
        }
        bench = Bench(cache, write_to, scale, rounds, workers)
        stack.callback(shutil.rmtree, bench.folder, ignore_errors=True)
        rates, peaks = run(bench, arguments.only, arguments.data)

    conditions = setting(rounds, scale)
    left_out = [_TITLES[side] for side, python in pythons.items() if python is None]
    if arguments.json:
        rows = {
            "rates": [asdict(row) | {"met": row.met} for row in rates],
            "memory": [asdict(row) | {"ratio": row.ratio, "met": row.met} for row in peaks],
        }
        found = {"setting": conditions, "versions": versions, "left_out": left_out, **rows}
        print(json.dumps(found, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    for name, packages in versions.items():
        print(f"{name}: " + ", ".join(f"{package} {found}" for package, found in packages.items()))
    print_table(RATE_HEAD, rates, rate_cells)
    print_table(_GROWTH_HEAD, peaks, _growth_cells)
    if left_out:
        print(f"Not installed, so left out: {', '.join(left_out)}")


if __name__ == "__main__":
    main()
