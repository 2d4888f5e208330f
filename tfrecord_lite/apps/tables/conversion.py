"""Convert files of one format to files of another: plan, run in processes, resume.

::

    sources, target ──plan──> Plan: outputs, each made of pieces of sources
                                │
           _Rows (one open file) ── batches ── condition ── RowTarget ──> output
                                │
                 manifest: what is complete, for `resume`

An output appears when it is complete. The outputs of a plan are divided among processes in runs that
follow each other, so that each of them reads on where its last output ended.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import io
import json
import math
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import warnings
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tfrecord_lite.apps.tables import formats
from tfrecord_lite.apps.tables.byte_files import Reading
from tfrecord_lite.errors import TFRecordError, argument_error
from tfrecord_lite.files.names import (
    INDEX_SUFFIX,
    SIDECAR_SUFFIX,
    expand,
    is_file_object,
    is_same_file,
    is_url,
    local_size,
    name_of,
)
from tfrecord_lite.files.output import open_output
from tfrecord_lite.progress import SILENT, check_progress, metered, title_of, total_bytes
from tfrecord_lite.records.damage import DamageReport
from tfrecord_lite.schema import Schema
from tfrecord_lite.schema.text import nearest
from tfrecord_lite.storage.data_files import data_names
from tfrecord_lite.storage.loading import described_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfrecord_lite.files.names import Source
    from tfrecord_lite.progress import Meter, Progress

_Outputs: TypeAlias = "list[tuple[Source, tuple[Piece, ...]]]"

__all__ = ["Request", "Summary", "convert"]

_MANIFEST = "tfrecord_lite.conversion"
_SAMPLE_ROWS = 20_000
"""Rows that are converted to estimate how large shards become."""
_OTHER_SETTINGS = (
    "the conversion that was interrupted here, and has completed this file, had other sources or "
    "settings; repeat it with them, or begin anew with --overwrite"
)


@dataclass(frozen=True)
class Request:
    """What to convert to what."""

    sources: tuple[Source, ...]
    target: Source
    from_: str | None = None
    """Format of all sources; None: by their names."""
    to: str | None = None
    columns: tuple[str, ...] | None = None
    features: Any = None
    """A Schema, or the path of a schema file."""
    text: Any = False
    sample: int | None = 10_000
    condition: str | None = None
    make_condition: Callable[[str, Sequence[str]], Any] | None = None
    """Makes an object with ``columns`` and ``mask(batch)`` of the condition and the columns."""
    num_shards: int | None = None
    shard_bytes: int | None = None
    compression: str | None = None
    limit: int | None = None
    is_exact: bool = False
    """Whether to store float64 in TFRecords as its bytes, and not as float32."""
    num_jobs: int = 1
    overwrite: bool = False
    resume: bool = False
    reading: Reading = field(default_factory=Reading)


@dataclass(frozen=True)
class Piece:
    """Rows of one source that follow each other; None for all to its end."""

    source: Source
    kind: str
    first: int = 0
    stop: int | None = None
    mark: tuple[int, int] | None = None


@dataclass(frozen=True)
class Plan:
    """Which outputs to make of what; other processes get it whole."""

    outputs: tuple[tuple[Source, tuple[Piece, ...]], ...]
    kind: str
    reading: Reading
    schema: Any
    """Of all outputs; None if each has that of its source, or takes records as they are."""
    request: Request
    described: Any = None
    """The sidecar of records that are written as they are; if `is_per_source`, one for each output."""
    is_per_source: bool = False
    damage: DamageReport = field(default_factory=lambda: DamageReport(()))
    """What was skipped when rows were counted; the pieces may end before some of it."""


@dataclass
class Output:
    """A file that was written, or found complete."""

    name: str
    rows: int
    n_bytes: int
    rounded: tuple[str, ...] = ()
    """Columns of which a float64 was not exact in float32."""


@dataclass
class Summary:
    """What a conversion did."""

    n_sources: int
    outputs: list[Output] = field(default_factory=list)
    kept: list[Output] = field(default_factory=list)
    """Complete before, and so not written anew."""
    failures: list[tuple[str, Exception]] = field(default_factory=list)
    damage: DamageReport = field(default_factory=lambda: DamageReport(()))
    seconds: float = 0.0

    @property
    def rows(self) -> int:
        """Rows in all outputs."""
        return sum(output.rows for output in [*self.kept, *self.outputs])

    @property
    def rounded(self) -> list[str]:
        """Columns of the new outputs of which a float64 was not exact in float32."""
        return list(dict.fromkeys(name for output in self.outputs for name in output.rounded))


def convert(request: Request, progress: Progress = None) -> Summary:
    """Convert files, and show the progress in bytes of the sources.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the request is not possible.
    FileExistsError
        If an output is there, and neither `overwrite` nor `resume` is asked for.
    OSError, ImportError
        As for reading and writing. What fails for one output is in `Summary.failures`.
    """
    check_progress(progress)
    processes = _Processes(_number_of_processes(request), may_fork=request.condition is None)
    try:
        names = [source for source in request.sources if not is_file_object(source)]
        title = title_of(names) if len(names) == len(request.sources) else "<stdin>"
        with metered(progress, title, "bytes") as meter:
            return _converted(request, meter, processes)
    finally:
        processes.end()


def _converted(request: Request, meter: Meter, processes: _Processes) -> Summary:
    started = monotonic()
    plan = _plan(request)
    manifest = _Manifest.of(plan)
    done = _begin(plan, manifest)
    summary = Summary(len({name_of(p.source) for _, pieces in plan.outputs for p in pieces}))
    summary.kept = list(done.values())
    pending = [i for i in range(len(plan.outputs)) if i not in done]
    runs = _divided(plan, pending)

    def finished(index: int, output: Output) -> None:
        summary.outputs.append(output)
        if manifest is not None:
            manifest.add(index, output)

    def failed(index: int, error: Exception) -> None:
        summary.failures.append((name_of(plan.outputs[index][0]), error))

    damage: dict[str, Any] = {}

    def damaged(report: DamageReport) -> None:
        for file in report.files:  # which several processes may have read
            most = damage.get(file.source)
            if most is None or (file.records, file.n_damaged) > (most.records, most.n_damaged):
                damage[file.source] = file

    damaged(plan.damage)
    if meter.is_on:
        meter.expect(total_bytes(_sources_of(plan, pending)))
    report = _Report(meter.advance, finished, failed, damaged, meter)
    if len(runs) <= 1:
        _run(plan, pending, report, sum(output.rows for output in done.values()))
    else:
        processes.run(plan, runs, report)
    if manifest is not None and len(done) + len(summary.outputs) == len(plan.outputs):
        manifest.forget()
    meter.finish()
    summary.damage = DamageReport(tuple(damage.values()))
    summary.seconds = monotonic() - started
    return summary


def _sources_of(plan: Plan, pending: list[int]) -> list[Source]:
    """Return the files that outputs are made of, each once."""
    pieces = [piece for index in pending for piece in plan.outputs[index][1]]
    return list({name_of(piece.source): piece.source for piece in pieces}.values())


# --------------------------------------------------------------------------------------- plan


def _plan(request: Request) -> Plan:
    kind = _target_kind(request)
    formats.check_compression(kind, request.compression)
    sources = [piece for source in request.sources for piece in _pieces(source, request)]
    if not sources:
        raise argument_error("there are no files to convert")
    is_per_source = _is_per_source(request)
    reading, described = _reading(request, sources, kind, is_per_source=is_per_source)
    first = None if reading.as_records else _schema_of_first(request, sources[0], reading)
    plan = Plan((), kind, reading, first, request, described, is_per_source)
    outputs, damage = _outputs(plan, sources)
    names = [name_of(target) for target, _ in outputs]
    _check_names(names, [s.source for s in sources])
    schema = None if is_per_source else first
    return replace(plan, outputs=tuple(outputs), schema=schema, damage=damage)


def _is_per_source(request: Request) -> bool:
    """Return whether each source becomes a file of its own in a directory."""
    if is_file_object(request.target) or not _is_directory(name_of(request.target)):
        return False
    return request.num_shards is None and request.shard_bytes is None


def _target_kind(request: Request) -> str:
    target = request.target
    if request.to is not None:
        return formats.format_named(request.to)
    if is_file_object(target):
        raise argument_error("standard output has no name that tells a format; --to names it")
    name = name_of(target)
    if _is_directory(name):
        detail = "the target is a directory; --to names the format of the files in it"
        raise argument_error(detail, source=name)
    found = formats.format_of(name)
    if found is None:
        formats.check_not_of_loader(name)
        known = ", ".join(ending for endings in formats.ENDINGS.values() for ending in endings[:1])
        detail = f"the name tells no format; --to names it, or an ending such as {known}"
        raise argument_error(detail, source=name)
    return found


def _is_directory(name: str) -> bool:
    return name.endswith(("/", os.sep)) or (not is_url(name) and os.path.isdir(name))  # noqa: PTH112


def _pieces(source: Source, request: Request) -> Iterator[Piece]:
    """Yield the files that a source names, each as a whole."""
    if not is_file_object(source) and os.path.isdir(name_of(source)):  # noqa: PTH112
        found: list[Source] = [*_files_in(name_of(source), request.from_)]
        if not found:
            detail = "no file of a known format is in this directory"
            raise argument_error(detail, source=name_of(source))
    else:
        found = expand(source)
    for each in found:
        name = name_of(each)
        if request.from_ is not None:
            kind: str | None = formats.format_named(request.from_)
        else:
            kind = formats.format_of_file(each)
        if kind is None:
            formats.check_not_of_loader(name)
            raise argument_error(
                "neither name nor content tells a format; --from names it", source=name
            )
        yield Piece(each, kind)


def _files_in(folder: str, from_: str | None) -> list[str]:
    """Return the data files of a directory: no sidecars, indexes and hidden files."""
    wanted = None if from_ is None else formats.format_named(from_)
    found = []
    for name in sorted(glob.glob(os.path.join(glob.escape(folder), "*"))):  # noqa: PTH118, PTH207
        if name.endswith((SIDECAR_SUFFIX, INDEX_SUFFIX)) or not os.path.isfile(name):  # noqa: PTH113
            continue
        look = formats.format_of_file if formats.is_numbered(name) else formats.format_of
        kind = look(name)
        if kind is not None and wanted in (None, kind):
            found.append(name)
    return found


def _reading(
    request: Request, sources: list[Piece], kind: str, *, is_per_source: bool
) -> tuple[Reading, Any]:
    """Return how to read all sources, and the sidecars of records that are taken as they are."""
    reading = replace(request.reading, text=request.text, sample=request.sample)
    are_records = all(piece.kind == "tfrecord" for piece in sources)
    is_plain = request.columns is None and request.features is None and request.text is False
    if are_records and kind == "tfrecord" and is_plain and request.condition is None:
        reading = replace(reading, as_records=True)
        if is_per_source:
            return reading, tuple(_described([piece.source], reading) for piece in sources)
        return reading, _described([piece.source for piece in sources], reading)
    _require_pyarrow(request, sources, kind)
    files = [piece.source for piece in sources if piece.kind == "tfrecord"]
    if request.features is not None:
        reading = replace(reading, features=request.features, types=_arrow_types(request.features))
    elif is_per_source and any(_described([file], reading) for file in files):
        return reading, None  # each has the schema of its own sidecar
    if files:
        reading = replace(reading, table=_table(request, files, reading))
    return reading, None


def _require_pyarrow(request: Request, sources: list[Piece], kind: str) -> None:
    """Raise ImportError without pyarrow; it names the extra for all that is asked for."""
    from tfrecord_lite.convert.dataframes.arrow import imported  # noqa: PLC0415 - needs pyarrow

    try:
        imported()
    except ImportError:
        old, new = formats.TITLES[sources[0].kind], formats.TITLES[kind]
        what = f"converting {old} to {new}" if old != new else f"reading the values of {old}"
        extra = "arrow" if request.condition is None else "sql"
        detail = f"{what} needs pyarrow: pip install 'tfrecord-numpy[{extra}]'"
        raise ImportError(detail) from None


def _described(sources: list[Source], reading: Reading) -> Any:
    """Return the sidecar of records that are written as they are."""
    files = [source for source in sources if not is_file_object(source)]
    described = described_by(None, files, reading.options) if files else None
    if described is not None and (described.dataframe or {}).get("library") == "pandas":
        return described._replace(dataframe=None)
    return described


def _table(request: Request, files: list[Source], reading: Reading) -> Any:
    from tfrecord_lite.apps.tables.record_format import table_of  # noqa: PLC0415 - needs pyarrow

    if any(map(is_file_object, files)) and request.features is None:
        detail = "standard input is read once, so its schema cannot be inferred; give --schema or "
        raise argument_error(f"{detail}--features, or save it to a file")
    if any(map(is_file_object, files)):
        files = [os.devnull]
    return table_of(files, reading)


def _arrow_types(features: Any) -> Any:
    """Return the Arrow schema of features, or of a schema file."""
    from tfrecord_lite.apps.tables.table import scan  # noqa: PLC0415 - needs pyarrow

    return scan(os.devnull, schema=features).arrow_schema


def _schema_of_first(request: Request, piece: Piece, reading: Reading) -> Any:
    """Return the schema of all outputs, by the first source."""
    if is_file_object(piece.source) and piece.kind != "tfrecord":
        return None
    with contextlib.closing(formats.open_source(piece.source, piece.kind, reading)) as source:
        whole = source.schema
    _check_columns(_needed(request, list(whole.names)), list(whole.names))
    return whole


def _check_columns(chosen: Sequence[str], names: list[str]) -> None:
    for name in chosen:
        if name not in names:
            raise argument_error(f"there is no column {name!r}{nearest(name, names)}")


def _needed(request: Request, names: list[str]) -> list[str]:
    """Return the columns to read: those that are written, and those of the condition."""
    chosen = names if request.columns is None else list(request.columns)
    if request.condition is None or request.make_condition is None:
        return chosen
    condition = request.make_condition(request.condition, names)
    return list(dict.fromkeys([*chosen, *condition.columns]))


def _outputs(plan: Plan, sources: list[Piece]) -> tuple[_Outputs, DamageReport]:
    """Return the outputs with their pieces, and the damage that counting has skipped."""
    none = DamageReport(())
    request, target = plan.request, plan.request.target
    is_sharded = request.num_shards is not None or request.shard_bytes is not None
    if is_file_object(target):
        if is_sharded:
            raise argument_error("standard output is one file; shards need a name")
        return [(target, tuple(sources))], none
    name = name_of(target)
    if not is_sharded and not _is_directory(name) and "@" not in os.path.basename(name):  # noqa: PTH119
        return [(name, tuple(sources))], none
    if plan.is_per_source:
        return [(_name_in(name, piece, plan), (piece,)) for piece in sources], none
    n_shards = len(data_names(name, None)) if not is_sharded else request.num_shards
    if n_shards is not None and len(sources) == n_shards and request.limit is None:
        return _shards(plan, [(piece,) for piece in sources]), none
    counted = _counted(plan, sources)
    if n_shards is None:
        n_shards = _estimated_shards(plan, sources[0], sum(map(len, counted)))
    damage = DamageReport(tuple(file for count in counted for file in count.damage.files))
    return _shards(plan, _evenly(sources, counted, n_shards, request)), damage


def _name_in(folder: str, piece: Piece, plan: Plan) -> str:
    ending = formats.ENDINGS[plan.kind][0]
    if plan.kind == "arrow" and (plan.request.to or "").lower().endswith("feather"):
        ending = ".feather"
    is_whole = plan.kind in (*formats.UNTYPED, "tfrecord") and plan.request.compression not in (
        None,
        "none",
    )
    codec = f".{plan.request.compression}" if is_whole else ""
    codec = {".gzip": ".gz", ".zstd": ".zst"}.get(codec, codec)
    stem = "stdin" if is_file_object(piece.source) else formats.stem_of(name_of(piece.source))
    return os.path.join(folder, f"{stem}{ending}{codec}")  # noqa: PTH118


def _shards(plan: Plan, pieces: list[tuple[Piece, ...]]) -> _Outputs:
    name, count = name_of(plan.request.target), len(pieces)
    if _is_directory(name):
        whole = Piece("part", plan.kind)
        names = data_names(_name_in(name, whole, plan), count)
    elif "@" in os.path.basename(name) and "{shard" not in name:  # noqa: PTH119
        names = data_names(name, None if plan.request.num_shards is None else count)
    else:
        names = data_names(name, count)
    return list(zip(cast("list[Source]", names), pieces, strict=True))


class _Count:
    """The rows of a source, and where some of them are."""

    def __init__(
        self, n_rows: int, marks: list[tuple[int, int]], damage: DamageReport | None
    ) -> None:
        self.n_rows, self.marks = n_rows, marks
        self.damage = DamageReport(()) if damage is None else damage

    def __len__(self) -> int:
        return self.n_rows

    def before(self, row: int) -> tuple[int, int] | None:
        """Return the last mark that is not after a row."""
        found = [mark for mark in self.marks if mark[0] <= row]
        return found[-1] if found else None


def _counted(plan: Plan, sources: list[Piece]) -> list[_Count]:
    if any(is_file_object(piece.source) for piece in sources):
        detail = (
            "standard input is read once, and shards need the number of rows; save it to a file"
        )
        raise argument_error(detail)
    found = []
    for piece in sources:
        reading = plan.reading
        if piece.kind in formats.UNTYPED and reading.types is None:
            reading = replace(reading, types=plan.schema)
        with contextlib.closing(formats.open_source(piece.source, piece.kind, reading)) as source:
            n_rows = source.count()
            marks, damage = getattr(source, "marks", []), getattr(source, "damage", None)
            found.append(_Count(n_rows, marks, damage))
    return found


def _estimated_shards(plan: Plan, piece: Piece, n_rows: int) -> int:
    """Return how many shards have about the size asked for, by what the first rows become."""
    size = plan.request.shard_bytes or 1
    sample = replace(piece, stop=_SAMPLE_ROWS)
    buffer = io.BytesIO()
    rows, taken = _Rows(plan), 0
    try:
        target = None
        for _, batch in rows.of(sample):
            taken += rows.n_taken
            target = target or _open_target(plan, buffer, batch)
            target.write(batch)
        if target is None:
            return 1
        target.finish()
    finally:
        rows.close()
    return max(1, math.ceil(len(buffer.getvalue()) * n_rows / max(taken, 1) / size))


def _evenly(
    sources: list[Piece], counted: list[_Count], n_shards: int, request: Request
) -> list[tuple[Piece, ...]]:
    """Divide all rows into shards, as even as can be, in their order."""
    total = sum(map(len, counted))
    if request.limit is not None and request.condition is None:
        total = min(total, request.limit)
    shards: list[list[Piece]] = [[] for _ in range(n_shards)]
    for shard, pieces in enumerate(shards):
        first, last = total * shard // n_shards, total * (shard + 1) // n_shards
        base = 0
        for piece, count in zip(sources, counted, strict=True):
            start, stop = max(first - base, 0), min(last - base, len(count))
            if start < stop:
                mark = count.before(start)
                pieces.append(replace(piece, first=start, stop=stop, mark=mark))
            base += len(count)
        if not pieces:  # without rows, but with columns
            pieces.append(replace(sources[0], stop=0))
    return [tuple(pieces) for pieces in shards]


def _check_names(names: list[str], sources: list[Source]) -> None:
    repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if repeated is not None:
        detail = "two sources would become this file; convert them in two calls"
        raise argument_error(detail, source=repeated)
    given = [name_of(source) for source in sources if not is_file_object(source)]
    for name in names:
        if any(is_same_file(name, source) for source in given):
            raise argument_error("the target is one of the sources", source=name)


# ------------------------------------------------------------------------------------- resume


class _Manifest:
    """The file beside the outputs that tells which are complete, and of what they were made."""

    def __init__(self, path: str, identity: dict[str, Any], names: list[str]) -> None:
        self._path, self._identity, self._names = path, identity, names
        self._done: dict[str, dict[str, int]] = {}

    @classmethod
    def of(cls, plan: Plan) -> _Manifest | None:
        """Return the manifest of a plan with several outputs, or that may be resumed."""
        request = plan.request
        names = [name_of(target) for target, _ in plan.outputs]
        if is_file_object(request.target) or any(map(is_url, names)):
            return None
        if not (request.resume or len(names) > 1):
            return None
        name = name_of(request.target)
        folder, base = (name, "") if _is_directory(name) else os.path.split(name)
        path = os.path.join(folder, f".{base}{'.' if base else ''}convert.json")  # noqa: PTH118
        return cls(path, _identity(plan), names)

    def complete(self) -> dict[int, Output]:
        """Return the outputs that an interrupted conversion has completed, by number."""
        found = self._read()
        if found is None:
            return {}
        folder = os.path.dirname(self._path)  # noqa: PTH120
        places = {os.path.join(folder, base): each for base, each in found["outputs"].items()}  # noqa: PTH118
        intact = {name: each for name, each in places.items() if local_size(name) == each["bytes"]}
        if found["identity"] != self._identity:
            if intact:
                raise FileExistsError(errno.EEXIST, _OTHER_SETTINGS, min(intact))
            return {}
        kept = {name: each for name, each in intact.items() if name in self._names}
        self._done = {os.path.basename(name): each for name, each in kept.items()}  # noqa: PTH119
        return {
            self._names.index(name): Output(name, each["rows"], each["bytes"])
            for name, each in kept.items()
        }

    def _read(self) -> dict[str, Any] | None:
        try:
            with open(self._path, encoding="utf-8") as file:  # noqa: PTH123
                found = json.load(file)
            outputs = dict(found["outputs"])
            is_ours = found["format"] == _MANIFEST
            identity = found["identity"]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, KeyError, TypeError):
            detail = "not a manifest of a conversion; remove it"
            raise argument_error(detail, source=self._path) from None
        return {"outputs": outputs, "identity": identity} if is_ours else None

    @property
    def is_there(self) -> bool:
        """Whether an earlier conversion was interrupted."""
        return os.path.exists(self._path)  # noqa: PTH110

    def add(self, index: int, output: Output) -> None:
        """Note that an output is complete."""
        base = os.path.basename(self._names[index])  # noqa: PTH119
        self._done[base] = {"rows": output.rows, "bytes": output.n_bytes}
        document = {
            "format": _MANIFEST,
            "version": 1,
            "identity": self._identity,
            "outputs": self._done,
        }
        file = open_output(self._path, atomic=True)
        try:
            file.write([json.dumps(document, indent=1).encode()])
            file.finish()
            file.commit()
        finally:
            file.abandon()

    def forget(self) -> None:
        """Remove the manifest: of an earlier conversion, or of one that is complete."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.remove(self._path)  # noqa: PTH107


def _identity(plan: Plan) -> dict[str, Any]:
    """Return what a conversion is made of: a change of it starts anew."""
    request = plan.request
    features = request.features
    if isinstance(features, Schema):
        features = features.to_json(None)
    elif features is not None:
        features = _stamp(str(features))
    names = dict.fromkeys(name_of(piece.source) for _, pieces in plan.outputs for piece in pieces)
    return {
        "sources": [_stamp(name) for name in names],
        "sidecars": [_stamp(f"{name}{SIDECAR_SUFFIX}") for name in names],
        "from": request.from_,
        "outputs": [os.path.basename(name_of(target)) for target, _ in plan.outputs],  # noqa: PTH119
        "to": plan.kind,
        "columns": None if request.columns is None else list(request.columns),
        "features": features,
        "text": request.text if isinstance(request.text, bool) else list(request.text),
        "sample": request.sample,
        "condition": request.condition,
        "limit": request.limit,
        "compression": request.compression,
        "float64": request.is_exact,
        "skip": request.reading.options.on_error != "raise",
    }


def _stamp(name: str) -> list[Any]:
    """Return what ties a plan to the content of a file."""
    if is_url(name) or not os.path.exists(name):  # noqa: PTH110
        return [name, None, None]
    status = os.stat(name)  # noqa: PTH116
    return [os.path.abspath(name), status.st_size, status.st_mtime_ns]  # noqa: PTH100


def _begin(plan: Plan, manifest: _Manifest | None) -> dict[int, Output]:
    """Return the outputs that are complete; raise if others are there."""
    request = plan.request
    done: dict[int, Output] = {}
    if manifest is not None and request.resume:
        try:
            done = manifest.complete()
        except FileExistsError:
            if not request.overwrite:
                raise
    for i, (target, _) in enumerate(plan.outputs):
        if is_file_object(target) or i in done:
            continue
        name = name_of(target)
        is_there = not is_url(name) and os.path.lexists(name) and _is_plain(name)
        if is_there and not request.overwrite:
            hint = "; --overwrite replaces it"
            if manifest is not None and manifest.is_there and not request.resume:
                hint += ", --resume keeps what an interrupted conversion has completed"
            elif request.resume:
                hint = f", not completed by an interrupted conversion with these arguments{hint}"
            raise FileExistsError(errno.EEXIST, f"{os.strerror(errno.EEXIST)}{hint}", name)
    if manifest is not None and not done:
        manifest.forget()
    name = "" if is_file_object(request.target) else name_of(request.target)
    if name and _is_directory(name) and not is_url(name):
        os.makedirs(name, exist_ok=True)  # noqa: PTH103
    return done


def _is_plain(name: str) -> bool:
    return not os.path.exists(name) or os.path.isfile(name)  # noqa: PTH110, PTH113


# ---------------------------------------------------------------------------------------- run


@dataclass
class _Report:
    """What is called while outputs are made."""

    read: Callable[[int], object]
    finished: Callable[[int, Output], object]
    failed: Callable[[int, Exception], object]
    damaged: Callable[[DamageReport], object]
    meter: Meter = SILENT


class _Rows:
    """The rows of pieces, filtered; a file stays open for a piece that continues the last."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._piece: Piece | None = None
        self._source: Any = None
        self._batches: Any = None
        self._row = 0
        self._rest: Any = None
        self._condition: Any = None
        self._position = 0
        self._is_fresh = False  # opened, and nothing read
        self.n_taken = 0  # rows of the last batch before the condition
        self.damage: DamageReport = DamageReport(())

    def of(self, piece: Piece) -> Iterator[tuple[int, Any]]:
        """Yield the batches of a piece, each with the bytes of the source read since the last.

        One without rows comes first if the piece has none.
        """
        if not self.continues(piece):
            self.open(piece)
        self._is_fresh = False
        if piece.stop == 0:
            return
        while piece.stop is None or self._row < piece.stop:
            batch = self._rest if self._rest is not None else next(self._batches, None)
            self._rest = None
            if batch is None:
                break
            left = len(batch) if piece.stop is None else piece.stop - self._row
            if left < len(batch):
                batch, self._rest = batch[:left], batch[left:]
            self._row += len(batch)
            self.n_taken = len(batch)
            position = self._source.position
            n_bytes, self._position = position - self._position, position
            yield n_bytes, self._formed(batch)
        if piece.stop is None:
            self.close()

    def continues(self, piece: Piece) -> bool:
        """Return whether a piece begins where the last one ended."""
        if self._is_fresh and self._piece is piece:
            return True
        open_piece = self._piece
        is_same = open_piece is not None and open_piece.source is piece.source
        is_same = is_same or (open_piece is not None and open_piece.source == piece.source)
        return is_same and self._row == piece.first and piece.first > 0

    def open(self, piece: Piece) -> None:
        """Open the source of a piece."""
        self.close()
        reading, request = self._plan.reading, self._plan.request
        names = self._names(piece)
        if names is not None:
            needed = tuple(_needed(request, names))
            # What names no column before its rows tells of new ones, unless they are left out.
            is_chosen = request.columns is not None or request.condition is not None
            is_chosen = is_chosen or request.features is not None
            is_open = piece.kind == "jsonl" and not is_chosen
            reading = replace(reading, columns=None if is_open else needed)
            if piece.kind in formats.UNTYPED and not self._plan.is_per_source:
                reading = replace(reading, types=self._plan.schema)
        self._source = formats.open_source(piece.source, piece.kind, reading)
        self._piece, self._row, self._position, self._rest = piece, piece.first, 0, None
        self._is_fresh = True
        schema = self._source.schema
        if request.condition is not None and request.make_condition is not None:
            self._condition = request.make_condition(request.condition, list(schema.names))
        if piece.kind == "tfrecord":
            self._batches = self._source.batches(piece.first, piece.mark)
        else:
            self._batches = self._source.batches(piece.first)

    def _names(self, piece: Piece) -> list[str] | None:
        """Return the columns that a source has; None if all are read, or it can be opened once."""
        plan = self._plan
        if plan.schema is not None:
            return list(plan.schema.names)
        is_partial = plan.request.columns is not None or plan.request.condition is not None
        if plan.reading.as_records or not is_partial or is_file_object(piece.source):
            return None
        opened = formats.open_source(piece.source, piece.kind, plan.reading)
        with contextlib.closing(opened) as source:
            names = list(source.schema.names)
        _check_columns(_needed(plan.request, names), names)
        return names

    @property
    def schema(self) -> Any:
        """The schema of the batches of the open file, as they are written."""
        whole = self._source.schema
        if whole is None:
            return None
        if self._plan.schema is not None:
            whole = self._plan.schema
        columns = self._plan.request.columns
        if columns is None:
            return whole
        _check_columns(columns, list(whole.names))
        return _subset(whole, columns)

    def _formed(self, batch: Any) -> Any:
        """Return a batch as it is written: the rows and columns asked for."""
        schema = self.schema
        if schema is None:
            return batch
        if self._condition is not None:
            batch = _filtered(batch, self._condition.mask(batch))
        if batch.schema.equals(schema, check_metadata=True):
            return batch
        return _cast(batch, schema, name_of(self._piece.source) if self._piece else "")

    def close(self) -> None:
        """Close the open file."""
        if self._source is not None:
            damage = getattr(self._source, "damage", None)
            if damage is not None:
                self.damage = DamageReport((*self.damage.files, *damage.files))
            if self._batches is not None and hasattr(self._batches, "close"):
                self._batches.close()
            self._source.close()
        self._source = self._batches = self._piece = self._rest = None


def _filtered(batch: Any, mask: Any) -> Any:
    """Return the rows of a batch for which a mask is true."""
    from tfrecord_lite.convert.dataframes.arrow import imported  # noqa: PLC0415 - needs pyarrow

    pa = imported()
    if any(column.offset for column in batch.columns):
        # Of slices with nested lists of fixed sizes, Arrow's filter takes other values; two chunks are copied.
        whole = pa.Table.from_batches([batch[:0], batch]).combine_chunks()
        batch = whole.to_batches()[0] if len(batch) else batch
    return batch.filter(pa.array(mask))


def _subset(schema: Any, columns: Sequence[str]) -> Any:
    from tfrecord_lite.convert.dataframes.arrow import imported  # noqa: PLC0415 - needs pyarrow

    return imported().schema([schema.field(name) for name in columns], schema.metadata)


def _cast(batch: Any, schema: Any, source: str) -> Any:
    """Return a batch with the columns and types of the first source's."""
    from tfrecord_lite.convert.dataframes.arrow import imported  # noqa: PLC0415 - needs pyarrow

    pa = imported()
    missing = [name for name in schema.names if name not in batch.schema.names]
    if missing:
        detail = f"there is no column {missing[0]!r}, which the first file has"
        raise argument_error(detail, source=source)
    arrays = []
    for item in schema:
        column = batch.column(item.name)
        try:
            arrays.append(column if column.type == item.type else column.cast(item.type))
        except pa.ArrowException as error:
            detail = f"a {column.type}, but the first file has {item.type}: {error}"
            raise argument_error(detail, source=source, key=item.name) from None
    return pa.record_batch(arrays, schema=schema)


def _open_target(
    plan: Plan, target: Source, batch: Any = None, rows: _Rows | None = None, index: int = 0
) -> Any:
    schema = rows.schema if rows is not None else getattr(batch, "schema", None)
    if plan.reading.as_records:
        schema = None
    request = plan.request
    if plan.kind == "tfrecord":
        from tfrecord_lite.apps.tables.record_format import RecordTarget  # noqa: PLC0415

        described = plan.described
        if plan.is_per_source and described is not None:
            described = described[index]
        compression, is_exact = request.compression, request.is_exact
        return RecordTarget(target, schema, compression, described, is_exact=is_exact)
    return formats.open_target(
        target, plan.kind, schema, request.compression, is_exact=request.is_exact
    )


def _run(plan: Plan, indices: Sequence[int], report: _Report, n_rows: int = 0) -> None:
    """Make outputs one after the other, until one fails; after `n_rows` of those before."""
    rows = _Rows(plan)
    left = None if plan.request.limit is None else max(plan.request.limit - n_rows, 0)
    try:
        for index in indices:
            try:
                output = _make(plan, index, rows, report, left)
            except (TFRecordError, OSError, ValueError) as error:
                rows.close()
                if error is report.meter.error:
                    raise
                report.failed(index, error)
                if not plan.is_per_source:
                    return
                continue
            left = None if left is None else left - output.rows
            report.finished(index, output)
    finally:
        rows.close()
        if rows.damage.files:
            report.damaged(rows.damage)


def _make(plan: Plan, index: int, rows: _Rows, report: _Report, left: int | None) -> Output:
    """Make one output, with `left` rows at most."""
    place, pieces = plan.outputs[index]
    target: Any = None
    n_rows = 0
    try:
        for piece in pieces:
            if left is not None and n_rows >= left and target is not None:
                break
            if target is None:
                if not rows.continues(piece):
                    rows.open(piece)
                target = _open_target(plan, place, rows=rows, index=index)
            for n_bytes, batch in rows.of(piece) if left is None or n_rows < left else ():
                taken = batch if left is None else batch[: left - n_rows]
                report.read(n_bytes)
                if len(taken):
                    target.write(taken)
                n_rows += len(taken)
                if left is not None and n_rows >= left:
                    rows.close()
                    break
        if len(pieces) and pieces[-1].stop is None:
            rows.close()
        target.finish()
        target.commit()
    except BaseException:
        if target is not None:
            target.abandon()
        raise
    name = name_of(place)
    return Output(name, n_rows, local_size(place) or 0, getattr(target, "rounded", ()))


# ---------------------------------------------------------------------------------- processes


def _divided(plan: Plan, pending: list[int]) -> list[list[int]]:
    """Divide outputs among processes, in runs of about the same size."""
    n_jobs = min(plan.request.num_jobs, _number_of_processes(plan.request), len(pending))
    if n_jobs <= 1 or (plan.request.limit is not None and not _is_exact(plan)):
        return [pending] if pending else []
    sizes = [_size(plan, index) for index in pending]
    total, done = sum(sizes), 0
    runs: list[list[int]] = [[] for _ in range(n_jobs)]
    for index, size in zip(pending, sizes, strict=True):
        runs[min(n_jobs - 1, int((done + size / 2) * n_jobs / max(total, 1)))].append(index)
        done += size
    return [run for run in runs if run]


def _is_exact(plan: Plan) -> bool:
    """Whether the pieces of a plan have as many rows as were asked for."""
    return plan.request.condition is None and all(
        piece.stop is not None for _, pieces in plan.outputs for piece in pieces
    )


def _size(plan: Plan, index: int) -> int:
    pieces = plan.outputs[index][1]
    if all(piece.stop is not None for piece in pieces):
        return sum((piece.stop or 0) - piece.first for piece in pieces)
    return sum(local_size(piece.source) or 1 for piece in pieces)


def _number_of_processes(request: Request) -> int:
    """Return how many processes a request can use; one is this one."""
    if request.num_jobs <= 1 or is_file_object(request.target):
        return 0
    name = name_of(request.target)
    is_sharded = request.num_shards is not None or request.shard_bytes is not None
    is_one = not (is_sharded or _is_directory(name) or "@" in name)
    return 0 if is_one else min(request.num_jobs, request.num_shards or request.num_jobs)


class _Processes:
    """Processes that make outputs.

    Forked ones have everything loaded, and so are started when the plan is made; others are started
    early, since it takes them a moment.
    """

    def __init__(self, number: int, *, may_fork: bool) -> None:
        self._processes: dict[Any, Any] = {}
        self._may_fork = may_fork  # no library has threads that a process would miss
        if number > 1 and not self._is_forking():
            self._start(number, "spawn")

    def _is_forking(self) -> bool:
        """Return whether processes can be forked: there are no threads but the progress bar's."""
        threads = [t for t in threading.enumerate() if type(t).__name__ != "TMonitor"]
        return sys.platform == "linux" and self._may_fork and len(threads) == 1

    def _start(self, number: int, method: str) -> None:
        context: Any = multiprocessing.get_context(method)
        with _without_interrupts(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of NumPy, which bear it
            for _ in range(number):
                ours, theirs = context.Pipe()
                inherited = [*self._processes, ours] if method == "fork" else []
                process = context.Process(target=_work, args=(theirs, inherited), daemon=True)
                process.start()
                theirs.close()
                self._processes[ours] = process

    def run(self, plan: Plan, runs: list[list[int]], report: _Report) -> None:
        """Make outputs, a run in each process, until all are made or one fails."""
        if not self._processes:
            self._start(len(runs), "fork" if self._is_forking() else "spawn")
        connections = list(self._processes)[: len(runs)]
        for connection, run in zip(connections, runs, strict=True):
            connection.send((plan, run))
        _listen(connections, report, may_go_on=plan.is_per_source)

    def end(self) -> None:
        """End all processes, which remove what they have begun."""
        for process in self._processes.values():
            if process.is_alive():
                process.terminate()
        for connection, process in self._processes.items():
            process.join()
            connection.close()
        self._processes.clear()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let processes that are started ignore Ctrl-C: the one that starts them ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _listen(connections: list[Any], report: _Report, *, may_go_on: bool) -> None:
    """Pass on what the processes tell, until all have ended, or one fails."""
    listening = list(connections)
    while listening:
        for connection in multiprocessing.connection.wait(listening):
            try:
                word, *details = cast("Any", connection).recv()
            except EOFError:
                detail = "a process that converted files has ended without a word; was it killed?"
                raise ChildProcessError(detail) from None
            if word == "end":
                listening.remove(connection)
            else:
                getattr(report, word)(*details)
                if word == "failed" and not may_go_on:
                    return


class _Ended(BaseException):
    """The process that started this one asked it to end."""


def _work(connection: Any, inherited: Sequence[Any] = ()) -> None:
    """Wait for a plan, make outputs in a process of their own, and tell of them."""

    def end(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # which may come twice
        raise _Ended

    for other in inherited:  # which would keep this process from seeing that the other end is gone
        other.close()

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides
    signal.signal(signal.SIGTERM, end)
    with contextlib.suppress(_Ended, BrokenPipeError, EOFError):
        # Loaded while the plan is made.
        from tfrecord_lite.apps.tables import record_format  # noqa: F401, PLC0415

        plan, run = connection.recv()
        report = _Report(
            lambda n_bytes: connection.send(("read", n_bytes)),
            lambda *details: connection.send(("finished", *details)),
            lambda *details: connection.send(("failed", *details)),
            lambda report: connection.send(("damaged", report)),
        )
        _run(plan, run, report)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # nothing is left to be removed
        connection.send(("end",))
    connection.close()
