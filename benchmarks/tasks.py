"""What is measured: tasks in sections, their data, sides and floors; and the targets.

A task is measured for every library that has its operation, and for the sides that it names in
addition: other ways of a library, for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DROP = "(drop)"
"""In a side's arguments: without this argument of the task."""
OURS, THEIRS = "tfrecord_lite", "TensorFlow"

SIZES: dict[str, dict[str, int]] = {
    "full": {
        "tabular": 200_000,
        "images": 1_000,
        "embeddings": 40_000,
        "tokens": 20_000,
        "sequences": 20_000,
        "any_order": 60_000,
        "features-2000": 1_000,
        "rows": 10_000,
        "small": 10_000_000,
    },
    "quick": {
        "tabular": 60_000,
        "images": 400,
        "embeddings": 12_000,
        "tokens": 6_000,
        "sequences": 6_000,
        "any_order": 20_000,
        "features-2000": 200,
        "rows": 3_000,
        "small": 100_000,
    },
    "tiny": {
        "tabular": 600,
        "images": 4,
        "embeddings": 200,
        "tokens": 100,
        "sequences": 100,
        "any_order": 200,
        "features-2000": 4,
        "rows": 50,
        "small": 1_000,
    },
}
"""Number of records of each data set; of those for a dictionary a record a part, see `_ROWS`."""

_ROWS = {"tabular": 1.0, "images": 0.05, "embeddings": 0.5, "tokens": 0.25, "sequences": 0.15}
"""Records that are read or written as dictionaries, as a share of `rows`."""


@dataclass(frozen=True, slots=True)
class Side:
    """One way to do a task."""

    title: str
    contender: str
    op: str
    args: dict[str, Any] = field(default_factory=dict)
    is_checked: bool = True
    """Whether its values are those of the others."""
    share: float = 1.0
    """The part of the items that it does."""


@dataclass(frozen=True, slots=True)
class Task:
    """Something to do, as many ways as there are sides."""

    section: str
    name: str
    op: str
    n_items: int
    args: dict[str, Any]
    also: tuple[Side, ...] = ()
    """Ways of comparison, measured where their library is there."""
    unit: str = "record"
    is_checked: bool = True
    what: str = "time"
    """What is measured: time, peak (memory), both, first (with imports) or size (on disk)."""
    only: tuple[str, ...] = ()
    """The libraries that take part; all by default."""
    sample: str = ""
    """A file of the first records, of which the values are compared, where the task's file is large."""
    axis: tuple[str, int] | None = None
    """Of a task that shows how time grows: with what, and how much of it there is."""

    def sides(self, operations: dict[str, list[str]], titles: dict[str, str]) -> Iterator[Side]:
        """Yield the sides, given the operations that each contender has."""
        for contender, known in operations.items():
            if self.only and contender not in self.only:
                continue
            if self.op in known:
                yield Side(titles[contender], contender, self.op)
        yield from (side for side in self.also if side.op in operations.get(side.contender, []))

    def args_of(self, side: Side) -> dict[str, Any]:
        """Return the arguments of a side; of those that write, the name of a file of its own."""
        args = {key: value for key, value in {**self.args, **side.args}.items() if value != DROP}
        if "target" in args:
            args["target"] += f".{side.contender}"
        return args

    def read_back(self, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the operation that reads what was written."""
        if self.op == "to_parquet":
            return "read_parquet", {"path": args["target"]}
        if self.op == "write":
            return "read", {"path": args["target"]}
        return "dicts", {"path": args["target"], "data": args["data"]}


@dataclass(frozen=True, slots=True)
class Target:
    """How many times as fast one side of a task is to be as another."""

    task: str
    ratio: float
    side: str = OURS
    rival: str = THEIRS
    by_cpu: bool = False
    """Whether by processor time."""


_COLUMNS = {
    "tabular": ((2.3, 2.0, 2.0), (3.2, 3.2)),
    "tabular_gz": ((2.0, 1.8, 2.0), (2.8, 2.6)),
    "any order": ((1.6, 1.6, 1.6), (2.3, 2.5)),
    "tokens": ((1.1, 1.5, 1.4), (1.4, 1.8)),
    "sequences": ((1.5, 1.7, 1.8), (1.6, 1.8)),
    "embeddings": ((2.4, 2.3, 2.3), (2.7, 2.2)),
    "images": ((2.7, 2.3, 2.7), (2.6, 2.1)),
}
"""Targets of columns: by the clock at 256, 1,024 (images: 64, 256) and best; by processor time."""

TARGETS = [
    *(Target(f"columns: {name}, {batch}", ratio, by_cpu=by_cpu)
      for name, (elapsed, by_processor) in _COLUMNS.items()
      for by_cpu, ratios in ((False, elapsed), (True, by_processor))
      for batch, ratio in zip(
          (*(("64", "256") if name == "images" else ("256", "1,024")), "best"), ratios, strict=False
      )),
    *(
        Target(f"remote: {task} ms", ratio, rival="tfrecord_lite, before")
        for task, ratio in {
            "embeddings, 50": 7.0, "embeddings, 20": 5.0, "embeddings, 0": 1.0, "tabular, 50": 2.5,
        }.items()
    ),
    Target("projection: 1 of 17", 2.5),
    Target("projection: 1 of 17", 4.0, by_cpu=True),
    Target("projection: 1 of 17, any order", 1.2),
    Target("projection: 1 of 17, any order", 2.0, by_cpu=True),
    Target("read: tabular", 1.5),
    Target("read: images", 3.0),
    Target("projection: 1 of 2,000", 20.0, rival="tfrecord_lite, all 2,000"),
    Target("dicts: images", 0.8, rival="tfrecord_lite, raw records"),
    Target("dicts: tokens", 1.0, rival="tfrecord"),
    Target("dicts: tabular", 1.0, rival="rustfrecord"),
    Target("dicts: embeddings", 1.0, rival="rustfrecord"),
    Target("write dicts: tabular", 6.0),
    Target("write dicts: tokens", 2.0),
    Target("write dicts: images", 1.4),
    Target("write dicts: sequences", 4.0),
    Target("pipeline: 2 processes", 1.5, rival="tfrecord_lite, 1 process"),
]  # fmt: skip


class Data:
    """The data of a run: names of files, which `make` makes, and where to write."""

    def __init__(self, size: str, cache: Path, folder: Path) -> None:
        self.sizes, self.cache, self.folder = SIZES[size], cache, folder
        self._makers: dict[str, Callable[[], object]] = {}

    def make(self, task: Task) -> None:
        """Make the files that a task reads, unless they are there."""
        for name in (task.args.get("path"), task.sample, *task.args.get("files", ())[:1]):
            self._makers.get(str(name), int)()

    def n_records(self, name: str) -> int:
        """Return the number of records of a data set."""
        return self.sizes[name.removesuffix("_gz")]

    def n_rows(self, name: str) -> int:
        """Return the number of records that are read or written as dictionaries."""
        return max(int(_ROWS[name] * self.sizes["rows"]), 1)

    def path(self, name: str, n_records: int | None = None) -> str:
        """Return the file of a data set."""
        n_records = n_records or self.n_records(name)
        path = str(data.file_of(name, n_records, self.cache))
        self._makers[path] = partial(data.data_set, name, n_records, self.cache)
        return path

    def shards(self, name: str, n_files: int, n_records: int | None = None) -> list[str]:
        """Return a data set split into that many files."""
        n_records = n_records or self.n_records(name)
        source = data.file_of(name, n_records, self.cache)
        folder = self.cache / f"{source.stem}-in-{n_files}"
        paths = [folder / f"{i:05d}.tfrecord" for i in range(n_files)]
        make = partial(data.data_set, name, n_records, self.cache)
        self._makers[str(paths[0])] = lambda: data.split(make(), paths)
        return list(map(str, paths))

    def events(self, n_events: int) -> str:
        """Return an event file, by a name that TensorBoard knows."""
        path = self.cache / f"events.out.tfevents.{n_events}"
        self._makers[str(path)] = partial(data.write_events, path, n_events)
        return str(path)

    def sample(self, name: str) -> str:
        """Return a file of the first tenth of a data set."""
        return self.path(name, max(self.n_records(name) // 10, 1))

    @cached_property
    def target(self) -> str:
        """Where to write."""
        return str(self.folder / "written.tfrecord")


# ------------------------------------------------------------------------------ sections


def raw(given: Data) -> Iterator[Task]:
    """Yield records as bytes, every checksum verified."""
    for name in ("tabular", "embeddings", "images", "tabular_gz"):
        also = [Side("tfrecord_lite, blocks()", OURS, "blocks")]
        also.append(Side("tfrecord_lite, verify=False", OURS, "read_unverified"))
        args: dict[str, Any] = {"path": given.path(name)}
        n_records, sample = given.n_records(name), given.sample(name)
        yield Task("raw", f"read: {name}", "read", n_records, args, tuple(also), sample=sample)
    for size, name in ((300, "tabular"), (100_000, "images")):
        n_records = given.n_records(name)
        args = {"target": given.target, "size": size, "n_records": n_records}
        floor = Side("os.write alone", "floor", "write")
        yield Task("raw", f"write: {size:,} bytes", "write", n_records, args, (floor,))


def dicts(given: Data) -> Iterator[Task]:
    """Yield a dictionary of arrays a record, without a schema."""
    for name in _ROWS:
        n_records = given.n_rows(name)
        args = {"path": given.path(name, n_records), "data": name}
        raw = Side("tfrecord_lite, raw records", OURS, "read", {"data": DROP}, is_checked=False)
        lists = Side("TensorFlow, lists", "tensorflow", "dicts", {"lists": True})
        yield Task("dicts", f"dicts: {name}", "dicts", n_records, args, (raw, lists))


def columns(given: Data) -> Iterator[Task]:
    """Yield files to columns, byte strings without objects."""
    for name in (
        "tabular",
        "embeddings",
        "sequences",
        "tokens",
        "images",
        "any_order",
        "tabular_gz",
    ):
        title = name.replace("any_order", "any order")
        for batch in (64, 256, None) if name == "images" else (256, 1024, None):
            args = {"path": given.path(name), "data": name, "batch": batch}
            also = []
            if name in {"tabular", "images"} and batch is None:
                also = [
                    Side("tfrecord_lite, bytes objects", OURS, "columns", {"strings": "ndarray"})
                ]
                also += [Side("TensorFlow, .numpy()", "tensorflow", "columns", {"as_numpy": True})]
            label = f"columns: {title}, {f'{batch:,}' if batch else 'best'}"
            n_records, sample = given.n_records(name), given.sample(name)
            yield Task("columns", label, "columns", n_records, args, tuple(also), sample=sample)


def projection(given: Data) -> Iterator[Task]:
    """Yield one feature of many; parsing alone, of records in memory."""
    for name, n_features in (("tabular", 17), ("any_order", 17), ("features-2000", 2_000)):
        some = {"select": [sorted(data.features_of(name))[n_features // 3]]}
        args = {
            "path": given.path(name),
            "data": name,
            "batch": 64 if n_features == 2_000 else 4096,
        }
        whole = Side(
            f"tfrecord_lite, all {n_features:,}", OURS, "parse", {"select": None}, is_checked=False
        )
        order = ", any order" * (name == "any_order")
        title = f"projection: 1 of {n_features:,}{order}"
        yield Task("projection", title, "parse", given.n_records(name), args | some, (whole,))


def reads(given: Data) -> Iterator[Task]:
    """Yield random access."""
    n_records = given.n_records("tabular")
    path = given.path("tabular")
    yield Task("reads", "random access: index", "index", n_records, {"path": path})
    n_reads = min(1_000, n_records)
    numbers = np.random.default_rng(0).integers(0, n_records, n_reads).tolist()
    args = {"path": path, "numbers": numbers}
    yield Task("reads", "random access: 1,000 records", "random_reads", n_reads, args)


def write(given: Data) -> Iterator[Task]:
    """Yield dictionaries and columns to files; into memory, where there is such a folder."""
    for name in _ROWS:
        forms = ("values", "lists") if name in {"tabular", "tokens"} else ("values",)
        n_records = given.n_rows(name)
        for form in forms:
            args = {"target": given.target, "data": name, "n_records": n_records, "form": form}
            each = Side("tfrecord_lite, one by one", OURS, "write_each")
            title = f"write dicts: {name}{', lists' * (form == 'lists')}"
            yield Task("write", title, "write_dicts", n_records, args, (each,))
        args = {"target": given.target, "data": name, "n_records": n_records}
        yield Task("write", f"write columns: {name}", "write_columns", n_records, args)


def pipeline(given: Data) -> Iterator[Task]:
    """Yield eight files interleaved, shuffled through a buffer, in batches of 256, parsed."""
    n_records = given.n_records("tabular")
    files = given.shards("tabular", 8)
    common = {"files": files, "data": "tabular", "batch": 256}
    shuffled = common | {"buffer": 10_000}
    yield Task("pipeline", "pipeline: shuffled", "pipeline", n_records, shuffled, is_checked=False)
    one = Side("tfrecord_lite, 1 process", OURS, "pipeline", {"num_workers": 0})
    n_epochs = 5  # the processes' start is a part
    args = common | {"buffer": 0, "num_workers": 2, "num_epochs": n_epochs}
    n_items = n_epochs * n_records
    name = "pipeline: 2 processes"
    yield Task("pipeline", name, "workers", n_items, args, (one,), is_checked=False)


def tables(given: Data) -> Iterator[Task]:
    """Yield files to Arrow and to Parquet, and back."""
    for name in ("tabular", "images", "embeddings", "tokens", "sequences", "tabular_gz"):
        args: dict[str, Any] = {"path": given.path(name), "data": name, "batch": None}
        n_records = given.n_records(name)
        sample = given.sample(name)
        yield Task("tables", f"Arrow: {name}", "arrow", n_records, args, sample=sample)
        args = args | {"target": f"{given.target}.parquet"}
        if name in {"tabular", "images", "sequences"}:
            yield Task(
                "tables", f"to Parquet: {name}", "to_parquet", n_records, args, sample=sample
            )
    n_records = given.sizes["rows"]
    args = {"target": given.target, "data": "tabular", "n_records": n_records}
    yield Task("tables", "from Parquet: tabular", "from_parquet", n_records, args)


def tensors(given: Data) -> Iterator[Task]:
    """Yield byte strings that hold numbers."""
    n = max(given.sizes["rows"] // 10, 4)
    args: dict[str, Any] = {"shape": [64, 64], "n_records": n}
    yield Task("tensors", "tensors: float32[64, 64]", "parse_tensors", n, args, unit="tensor")
    for n_bytes in (64, 16_384):
        args = {"n_bytes": n_bytes, "n_records": n}
        yield Task("tensors", f"raw: {n_bytes:,} bytes", "decode_raw", n, args, unit="string")
    n = given.sizes["rows"]
    args = {"path": given.events(n)}
    yield Task("tensors", "events: scalars", "events", n, args, unit="event")


def reliability(given: Data) -> Iterator[Task]:
    """Yield what skipping damage, verifying and recovering cost beside plain reading."""
    for name in ("tabular", "images"):
        path, n_records = given.path(name), given.n_records(name)
        args: dict[str, Any] = {"path": path, "by": "blocks", "on_error": "raise"}
        title, also = "tfrecord_lite, ", []
        also.append(Side(f"{title}skip", OURS, "skip", {"on_error": "skip"}, is_checked=False))
        for op in ("verify", "recover", "skip_damage", "infer"):
            drop: dict[str, Any] = {"by": DROP, "on_error": DROP}
            drop |= {"target": given.target} if op == "recover" else {}
            drop |= {"n_damages": 1_000} if op == "skip_damage" else {}
            also.append(Side(f"{title}{op}", OURS, op, drop, is_checked=False))
        sides = tuple(also)
        yield Task(
            "reliability", f"blocks: {name}", "skip", n_records, args, sides, is_checked=False
        )


def engines(given: Data) -> Iterator[Task]:
    """Yield frameworks that run many tasks: their own readers, this package on them and alone."""
    n_records, n_files = given.n_records("tabular"), 16
    files = given.shards("tabular", n_files)
    some: dict[str, Any] = {"files": files[:1]}
    for name in ("ray", "beam", "dask"):
        few, share = (some, 1 / n_files) if name != "beam" else ({}, 1.0)  # the others are slow
        also = (
            Side("the engine's own", name, "engine_itself", few, is_checked=False, share=share),
            Side("tfrecord_lite on it", name, "engine"),
        )
        only = (OURS,)
        args = {"files": files}
        yield Task("engines", f"engine: {name}", "engine", n_records, args, also, only=only)


def cost(given: Data) -> Iterator[Task]:
    """Yield what each library takes: imports, memory, bytes on disk."""
    args: dict[str, Any] = {"path": given.path("small", 1)}
    yield Task("cost", "import, and one record", "read", 1, args, unit="use", what="first")
    yield Task("cost", "on disk", "read", 1, args, unit="bytes", what="size")
    for name in ("tabular", "images"):
        n_records = given.n_records(name)
        args = {"path": given.path(name)}
        peak: dict[str, Any] = {"unit": "bytes", "what": "peak"}
        yield Task("cost", f"memory: read {name}", "read", n_records, args, **peak)
        args = args | {"data": name, "batch": 64 if name == "images" else 1024}
        yield Task("cost", f"memory: columns of {name}", "columns", n_records, args, **peak)


def scaling(given: Data) -> Iterator[Task]:
    """Yield time and memory against the size of the input, one thing at a time."""
    most = given.sizes["small"]
    for n_records in (n for n in (10**4, 10**5, 10**6, 10**7) if n <= most):
        yield _point(given, "records", n_records, "small", n_records, n_records, "record")
    n_bytes = min(64 * most, 64_000_000)
    for size in (10, 100, 1_000, 10_000, 100_000, 1_000_000):
        n_records = min(max(n_bytes // size, 8), 100_000)
        n_items = n_records * size
        yield _point(given, "bytes a record", size, f"bytes-{size}", n_records, n_items, "byte")
    n_values = min(most, 1_000_000)
    for size in (1, 10, 100, 500, 2_000):
        n_records = min(max(n_values // size, 8), 100_000)
        n_items = n_records * size
        yield _point(given, "features", size, f"features-{size}", n_records, n_items, "feature")
    for size in (1, 10, 100, 1_000, 10_000, 100_000):
        n_records = min(max(4 * n_values // size, 8), 100_000)
        n_items = n_records * size
        yield _point(given, "values in a list", size, f"list-{size}", n_records, n_items, "value")
    n_records = given.n_records("tabular")
    for batch in (16, 64, 256, 1_024, 4_096, 16_384, 65_536):
        yield _point(given, "batch", batch, "tabular", n_records, n_records, "record", batch)


def _point(
    given: Data,
    axis: str,
    x: int,
    name: str,
    n_records: int,
    n_items: int,
    unit: str,
    batch: int | None = None,
) -> Task:
    """Return the task of parsing a data set, as a point of an axis."""
    args = {"path": given.path(name, n_records), "data": name, "batch": batch}
    return _alone("scaling", f"{axis}: {x:,}", "columns", n_items, args, unit, (axis, x))


def _alone(
    section: str,
    name: str,
    op: str,
    n_items: int,
    args: dict[str, Any],
    unit: str,
    axis: tuple[str, int] | None = None,
) -> Task:
    """Return a task of this package alone, of which time and memory are measured."""
    ours = (OURS, "before")
    return Task(
        section,
        name,
        op,
        n_items,
        args,
        unit=unit,
        is_checked=False,
        what="both",
        only=ours,
        axis=axis,
    )


def hostile(given: Data) -> Iterator[Task]:
    """Yield input that is made to cost much, each twice as large as the one before."""
    from tests.records.test_hostile import CASES

    for name, case in CASES.items():
        for doubling in range(3 if given.sizes["small"] > 10**4 else 1):
            n = 4 * case.n << doubling
            args = {"case": name, "n": n}
            yield _alone("hostile", f"{name}: {n:,}", "hostile", n, args, "unit", (name, n))


def apps(given: Data) -> Iterator[Task]:
    """Yield the viewer's page of files, and saving rows of a generator."""
    for name in ("tabular", "tabular_gz"):
        args: dict[str, Any] = {"path": given.path(name), "target": f"{given.target}.html"}
        yield _alone("apps", f"viewer's page: {name}", "view", 1, args, "page")
    for n_records in (10**4, 10**5, 10**6):
        if n_records <= given.sizes["small"]:
            args = {"target": given.target, "n_records": n_records}
            axis = ("rows saved", n_records)
            name = f"rows saved: {n_records:,}"
            yield _alone("apps", name, "save_rows", n_records, args, "row", axis)


def remote(given: Data) -> Iterator[Task]:
    """Yield files in a store far away: four of 100 MB with records of 2 KB, eight of 8 MB with 300 bytes."""
    for name, n_files, times in (("embeddings", 4, 5), ("tabular", 8, 1)):
        n_records = times * given.n_records(name)
        files = given.shards(name, n_files, n_records)
        args: dict[str, Any] = {"files": files, "data": name, "batch": 256}
        for latency in (0.05, 0.02, 0.0):
            place = {"latency": latency, "bandwidth": 100e6 if latency else 0, "by": "batches"}
            others = {
                "tfrecord_lite, blocks()": "blocks",
                "tfrecord_lite, shuffled": "shuffled",
                "fsspec alone": "fsspec",
                "webdataset's pipe:curl": "curl",
            }
            also = tuple(Side(title, OURS, "remote", {"by": by}) for title, by in others.items())
            yield Task(
                "remote",
                f"remote: {name}, {1000 * latency:.0f} ms",
                "remote",
                n_records,
                args | place,
                also,
                is_checked=False,
                only=(OURS, "before"),
            )


SECTIONS: dict[str, Callable[[Data], Iterator[Task]]] = {
    "columns": columns,
    "raw": raw,
    "dicts": dicts,
    "write": write,
    "projection": projection,
    "reads": reads,
    "pipeline": pipeline,
    "cost": cost,
    "scaling": scaling,
    "tables": tables,
    "tensors": tensors,
    "reliability": reliability,
    "hostile": hostile,
    "apps": apps,
    "engines": engines,
    "remote": remote,
}
ASKED = ("reliability", "hostile", "apps", "engines", "remote")
"""Sections that are measured only when they are asked for."""
NOT_QUICK = (*ASKED, "scaling", "tables", "tensors")
"""The same of a quick run."""
