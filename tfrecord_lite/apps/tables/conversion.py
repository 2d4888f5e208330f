"""Convert files of one format to files of another: plan, run in processes, resume.

::

    sources, target, Settings ──_plan──> Plan: outputs, each made of pieces of sources
                                           │
         _Maker: open source ── batches ── condition ── open target ──> output, one future each
                                           │
                              _Log: what is complete, for `resume`

An output appears when it is complete. What makes outputs keeps the last source open, so that those with rows
that follow each other read it once.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import numpy as np

from tfrecord_lite import extension as ext
from tfrecord_lite.apps import endings
from tfrecord_lite.apps.tables import formats
from tfrecord_lite.apps.tables.formats import undone_by
from tfrecord_lite.apps.tables.record_format import RecordSource, RecordTarget
from tfrecord_lite.apps.tables.table import NO_RECORDS, TFRecordTable, check_columns, hint_of, scan
from tfrecord_lite.errors import DamageReport, FileReport, TFRecordError, argument_error, warn_user
from tfrecord_lite.extension import SchemaLike, Source
from tfrecord_lite.options import ReadOptions, ReadSettings
from tfrecord_lite.progress import SILENT, Meter, Progress, check_progress, metered, title_of
from tfrecord_lite.schema import Schema

_Damage: TypeAlias = tuple[FileReport, ...]
_Made: TypeAlias = "tuple[Output, _Damage]"
"""What was written, and the damage in all sources so far."""

__all__ = ["Settings", "Summary", "convert"]

_KILLED = "a process that converted files has ended without an error; was it killed?"


@dataclass(frozen=True)
class Settings:
    """What becomes of rows, wherever they are; picklable."""

    from_: str | None = None
    """Format of all sources; None: by their names."""
    to: str | None = None
    schema: SchemaLike | None = None
    text: bool | Sequence[str] = False
    sample: int | None = 10_000
    """These three as for ``scan``."""
    options: ReadSettings = field(default_factory=ReadSettings)
    columns: tuple[str, ...] | None = None
    """Those that are written; None for all."""
    condition: str | None = None
    make_condition: Callable[[str, Sequence[str], str], Any] | None = None
    """Makes an object with ``columns`` and ``mask(batch)`` of the condition, the columns, and what ends errors."""
    limit: int | None = None
    compression: str | None = None
    lossless: bool = False
    """Whether to store float64 in TFRecords as its bytes, and not as float32."""


@dataclass(frozen=True)
class _Piece:
    """Rows of one source that follow each other; None for all to its end."""

    source: Source
    kind: str
    first: int = 0
    stop: int | None = None
    mark: tuple[int, int] | None = None
    """The number and the offset of a record before the first."""


@dataclass(frozen=True)
class _Plan:
    """Which outputs to make of what; other processes get it whole."""

    settings: Settings
    kind: str
    is_per_source: bool
    as_records: bool = False
    """Whether records are written as they are."""
    outputs: list[tuple[Source, list[_Piece]]] = field(default_factory=list)
    table: TFRecordTable | None = None
    """Its schema serves for all TFRecords; None if each has its own."""
    types: Any = None
    """The pyarrow.Schema that was given, for text."""
    schema: Any = None
    """The pyarrow.Schema of all outputs; None if each has its source's."""

    def open(self, piece: _Piece) -> tuple[Any, Any]:
        """Open the source of a piece, to read what is written or tested; return it, and the condition."""
        settings, table = self.settings, self.table
        if piece.kind == "tfrecord" and table is None and not self.as_records:
            table = _table_of([piece.source], settings)
        types = self.types if self.schema is None else self.schema
        options = settings.options if table is None else table.options
        if self.as_records:
            options = ext.dropping(None, [piece.source], options)
        source: Any = formats.open_source(piece.source, piece.kind, options, table, types)
        with undone_by(source.close):
            chosen = source.names if settings.columns is None else settings.columns
            if table is not None and settings.columns is not None:
                table.select(settings.columns)  # whose error says that columns come from a sample
            check_columns(chosen, source.names)
            condition = None
            make = settings.make_condition if source.names else None  # not if nothing is known
            if settings.condition is not None and make is not None:
                hint = "" if table is None else hint_of(table)
                condition = make(settings.condition, source.names, hint)
                chosen = [*chosen, *condition.columns]
            if condition is not None or settings.columns is not None:
                source.columns = list(dict.fromkeys(chosen))
        return source, condition


@dataclass
class Output:
    """A file that was written, or found complete."""

    name: str
    rows: int
    n_bytes: int
    rounded: tuple[str, ...] = ()
    """Columns with a float64 that was not exact in float32."""


@dataclass
class Summary:
    """What a conversion did."""

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
        """Columns of the new outputs with a float64 that was not exact in float32."""
        return list(dict.fromkeys(name for output in self.outputs for name in output.rounded))


def convert(
    sources: Sequence[Source],
    target: Source,
    settings: Settings,
    *,
    num_shards: int | None = None,
    shard_bytes: int | None = None,
    num_jobs: int = 1,
    overwrite: bool = False,
    resume: bool = False,
    progress: Progress = None,
) -> Summary:
    """Convert files, and show how many rows are done.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if this is not possible.
    FileExistsError
        If an output exists, and neither `overwrite` nor `resume` is asked for.
    OSError, ImportError
        As for reading and writing. What fails for one output is in `Summary.failures`.
    """
    started = monotonic()
    check_progress(progress)
    is_named = not any(map(ext.is_file_object, sources))
    with metered(progress, title_of(sources) if is_named else "<stdin>", "rows") as meter:
        plan, damage = _plan(sources, target, settings, num_shards, shard_bytes)
        log = _log_of(plan, target, resume=resume)
        done = _begin(plan, target, log, overwrite=overwrite, resume=resume)
        summary = Summary(kept=list(done.values()))
        pending = [i for i in range(len(plan.outputs)) if i not in done]
        left = None if settings.limit is None else max(settings.limit - summary.rows, 0)
        is_exact = all(piece.stop is not None for i in pending for piece in plan.outputs[i][1])
        if ext.is_file_object(target) or (left is not None and not is_exact):
            num_jobs = 1
        reports = {file.source: file for file in damage}
        with contextlib.closing(_made(plan, log, pending, num_jobs, left, meter)) as outputs:
            for index, make in outputs:
                try:
                    output, damage = make()
                except BrokenExecutor:
                    raise ChildProcessError(_KILLED) from None
                except (TFRecordError, OSError, ValueError) as error:
                    if error is meter.error:
                        raise
                    summary.failures.append((ext.name_of(plan.outputs[index][0]), error))
                    if not plan.is_per_source:
                        break
                    continue
                summary.outputs.append(output)
                meter.update(sum(output.rows for output in summary.outputs))
                for file in damage:  # which several outputs may have read
                    most = reports.get(file.source, file)
                    reports[file.source] = max(file, most, key=lambda f: (f.records, f.num_damaged))
        if log is not None and len(done) + len(summary.outputs) == len(plan.outputs):
            log.forget()
        meter.finish()
    summary.damage = DamageReport(tuple(reports.values()))
    summary.seconds = monotonic() - started
    return summary


# --------------------------------------------------------------------------------------- plan


def _plan(
    sources: Sequence[Source],
    target: Source,
    settings: Settings,
    num_shards: int | None,
    shard_bytes: int | None,
) -> tuple[_Plan, _Damage]:
    kind = _target_kind(target, settings)
    formats.check_compression(kind, settings.compression)
    pieces = [piece for source in sources for piece in _pieces(source, settings.from_)]
    if not pieces:
        raise argument_error("there are no files to convert")
    if shard_bytes is not None:
        sizes = [ext.local_size(piece.source) for piece in pieces]
        if None in sizes:
            raise argument_error("the size of a source is not known; give --num-shards")
        num_shards = max(1, -(-sum(filter(None, sizes)) // shard_bytes))
    elif num_shards is None and not ext.is_file_object(target):
        name = ext.name_of(target)
        num_shards = len(ext.data_names(name, None)) if "@" in os.path.basename(name) else None
    is_per_source = num_shards is None and _is_folder(target)
    plan = _with_schemas(_Plan(settings, kind, is_per_source), pieces)
    outputs, damage = _outputs(plan, pieces, target, num_shards)
    _check_places([ext.name_of(place) for place, _ in outputs], pieces)
    return replace(plan, outputs=outputs), damage


def _with_schemas(plan: _Plan, pieces: list[_Piece]) -> _Plan:
    """Return a plan that knows whether records stay as they are, or else what schemas rows have."""
    settings = plan.settings
    records = [piece.source for piece in pieces if piece.kind == "tfrecord"]
    is_plain = settings.schema is None and settings.columns is None and settings.text is False
    all_records = len(records) == len(pieces) and plan.kind == "tfrecord"
    if all_records and is_plain and not settings.condition:
        return replace(plan, as_records=True)
    if settings.schema is not None:
        is_stream = any(ext.is_file_object(piece.source) for piece in pieces)
        table = _table_of([os.devnull] if is_stream or not records else records, settings)
        plan = replace(plan, table=table, types=table.arrow_schema)
    elif records and not (plan.is_per_source and any(_described([r], plan) for r in records)):
        files = [source for source in records if not ext.is_file_object(source)]
        streams: list[Any] = [source for source in records if ext.is_file_object(source)]
        if any(not hasattr(stream, "peek") or stream.peek(1) for stream in streams):
            detail = "standard input is read once, so its schema cannot be inferred; give "
            raise argument_error(f"{detail}--schema or --features, or save it to a file")
        if not files:
            warn_user(f"<stdin>: {NO_RECORDS}")
            settings = replace(settings, schema=Schema({}))
        plan = replace(plan, table=_table_of(files or [os.devnull], settings))
    schema = _common_schema(plan, pieces)
    return replace(plan, schema=None if plan.is_per_source else schema)


def _outputs(
    plan: _Plan, pieces: list[_Piece], target: Source, num_shards: int | None
) -> tuple[list[tuple[Source, list[_Piece]]], _Damage]:
    """Return each file to write and the rows in it, and the damage that was skipped on the way."""
    name = ext.name_of(target)
    if plan.is_per_source:
        return [(_name_in(name, piece, plan), [piece]) for piece in pieces], ()
    if num_shards is None:
        return [(target if ext.is_file_object(target) else name, pieces)], ()
    if ext.is_file_object(target):
        raise argument_error("standard output is one file; shards need a name")
    damage: _Damage = ()
    shards = [[piece] for piece in pieces]
    if len(pieces) != num_shards or plan.settings.limit is not None:
        if any(ext.is_file_object(piece.source) for piece in pieces):
            detail = "standard input is read once, and shards need the number of rows"
            raise argument_error(f"{detail}; save it to a file")
        shards, damage = _evenly(plan, pieces, num_shards)
    whole = _name_in(name, _Piece("part", plan.kind), plan) if _is_folder(target) else name
    return list(zip(ext.data_names(whole, num_shards), shards, strict=True)), damage


def _check_places(names: list[str], pieces: list[_Piece]) -> None:
    places = [piece.source for piece in pieces]
    sources = [ext.name_of(place) for place in places if not ext.is_file_object(place)]
    for i, name in enumerate(names):
        if name in names[:i]:
            detail = "two sources would become this file; convert them in two calls"
            raise argument_error(detail, source=name)
        if any(ext.is_same_file(name, source) for source in sources):
            raise argument_error("the target is one of the sources", source=name)


def _table_of(files: Sequence[Source], settings: Settings) -> TFRecordTable:
    options: Any = {name: getattr(settings.options, name) for name in ReadOptions.__annotations__}
    paths: Any = list(files)
    # The columns of a condition are known only to the table of all.
    columns = settings.columns if settings.condition is None else None
    options |= {"schema": settings.schema, "text": settings.text, "sample": settings.sample}
    return scan(paths, columns, **options)


def _target_kind(target: Source, settings: Settings) -> str:
    if settings.to is not None:
        return endings.format_named(settings.to)
    if ext.is_file_object(target):
        raise argument_error("standard output has no name that tells a format; --to names it")
    name = ext.name_of(target)
    if _is_directory(name):
        detail = "the target is a directory; --to names the format of the files in it"
        raise argument_error(detail, source=name)
    kind = endings.format_of(name)
    if kind is None:
        endings.check_not_of_loader(name)
        known = ", ".join(usual for usual, *_ in endings.ENDINGS.values())
        detail = f"the name has no known format; --to names it, or an ending such as {known}"
        if name.lower().endswith(".json"):
            detail = "JSON is written as one object per line; end the name in .jsonl, or give "
            detail += "--to jsonl"
        raise argument_error(detail, source=name)
    return kind


def _is_folder(target: Source) -> bool:
    return not ext.is_file_object(target) and _is_directory(ext.name_of(target))


def _is_directory(name: str) -> bool:
    return name.endswith(("/", os.sep)) or (not ext.is_url(name) and os.path.isdir(name))


def _pieces(source: Source, from_: str | None) -> Iterator[_Piece]:
    """Yield the files that a source names, each as a whole."""
    named = None if from_ is None else endings.format_named(from_)
    if ext.is_file_object(source) or not ext.is_folder(ext.name_of(source)):
        for file in ext.expand(source):
            kind = named or formats.format_of_file(file)
            if kind is None:
                endings.check_not_of_loader(ext.name_of(file))
                detail = "neither name nor content tells a format; --from names it, such as jsonl for JSON lines"
                raise argument_error(detail, source=ext.name_of(file))
            yield _Piece(file, kind)
        return
    is_empty, names = True, ext.listing(ext.name_of(source)).files
    for name in names:
        if ext.is_saved(name):  # the other files belong to it
            yield _Piece(name, "tfrecord")
            return
    for name in names:
        if ext.is_companion(name) or ext.is_hidden(name):
            continue
        kind = (formats.format_of_file if endings.is_numbered(name) else endings.format_of)(name)
        if kind is not None and named in (None, kind):
            is_empty = False
            yield _Piece(name, kind)
    if is_empty:
        detail = "no file of a known format is in this directory"
        if any("tfevents" in name for name in names):
            detail += "; tfrecord events prints the scalars of event files"
        raise argument_error(detail, source=ext.name_of(source))


def _described(sources: list[Source], plan: _Plan) -> Any:
    files = [source for source in sources if not ext.is_file_object(source)]
    described = ext.carried_by(files, plan.settings.options) if files else None
    if described is not None and (described.dataframe or {}).get("library") == "pandas":
        return described._replace(dataframe=None)
    return described


def _common_schema(plan: _Plan, pieces: list[_Piece]) -> Any:
    """Return the schema of all outputs, from the first source that has rows to decide types."""
    schema = None
    for piece in pieces:
        if ext.is_file_object(piece.source) and piece.kind != "tfrecord":
            break
        source, _ = plan.open(piece)
        with contextlib.closing(source):
            schema = source.schema
        if piece.kind not in endings.UNTYPED or set(map(ext.form_of, schema.types)) - {"null"}:
            break
    return schema


def _name_in(folder: str, piece: _Piece, plan: _Plan) -> str:
    ending = endings.ENDINGS[plan.kind][0]
    if plan.kind == "arrow" and (plan.settings.to or "").lower().endswith("feather"):
        ending = ".feather"
    is_whole = plan.kind in (*endings.UNTYPED, "tfrecord")
    word = plan.settings.compression or "none"
    codec = ext.CODECS.get(ext.COMPRESSION_WORDS[word] if is_whole else "")
    source = piece.source
    stem = "stdin" if ext.is_file_object(source) else endings.stem_of(ext.name_of(source))
    return os.path.join(folder, f"{stem}{ending}{codec.endings[0] if codec else ''}")


def _evenly(plan: _Plan, pieces: list[_Piece], n_shards: int) -> tuple[list[list[_Piece]], _Damage]:
    parts: list[tuple[_Piece, Sequence[int], list[Any]]] = []  # with the numbers of these rows
    damage: _Damage = ()
    for piece in pieces:
        source, condition = plan.open(piece)
        with contextlib.closing(source):
            rows = range(source.count()) if condition is None else _chosen(source, condition)
            parts.append((piece, rows, getattr(source, "marks", [])))
            damage += getattr(source, "damage", ())
    total = sum(len(rows) for _, rows, _ in parts)
    if plan.settings.limit is not None:
        total = min(total, plan.settings.limit)
    shards: list[list[_Piece]] = [[] for _ in range(n_shards)]
    for i, shard in enumerate(shards):
        first, last = total * i // n_shards, total * (i + 1) // n_shards
        base = 0
        for piece, rows, marks in parts:
            low, high = max(first - base, 0), min(last - base, len(rows))
            if low < high:
                start, stop = int(rows[low]), int(rows[high - 1]) + 1
                mark = max((mark for mark in marks if mark[0] <= start), default=None)
                shard.append(replace(piece, first=start, stop=stop, mark=mark))
            base += len(rows)
        if not shard:  # without rows, but with columns
            shard.append(replace(pieces[0], stop=0))
    return shards, damage


def _chosen(source: Any, condition: Any) -> Any:
    if condition.columns:
        source.columns = list(condition.columns)
    masks = [np.asarray(condition.mask(batch), np.bool_) for batch in source.batches()]
    return np.flatnonzero(np.concatenate([np.zeros(0, np.bool_), *masks]))


# ------------------------------------------------------------------------------------- resume


class _Log:
    """The hidden file beside the outputs: a hash of what they are made of, and which are complete."""

    def __init__(self, path: str, plan: _Plan) -> None:
        self._path = Path(path)
        settings, schema = plan.settings, plan.settings.schema
        names = [ext.name_of(piece.source) for _, pieces in plan.outputs for piece in pieces]
        files = [*names, *(ext.companion(name, ext.SIDECAR_SUFFIX) for name in names)]
        files += [str(schema)] if isinstance(schema, str | os.PathLike) else []
        parts = [
            replace(settings, make_condition=None, schema=None, options=None),  # type: ignore[arg-type]
            schema.to_json(None) if isinstance(schema, Schema) else None,
            settings.options.on_error != "raise",
            settings.options.on_misfit != "raise",
            [ext.name_of(place) for place, _ in plan.outputs],
            [(name, _stamp(name)) for name in dict.fromkeys(files)],
        ]
        self._digest = hashlib.sha256(repr(parts).encode()).hexdigest()
        lines = self._path.read_text().split("\n") if self._path.exists() else []
        self.is_there = bool(lines)
        """Whether there is one of an earlier conversion."""
        self.complete: dict[str, Output] = {}
        """Its outputs, by name, that are complete and as they were then, if it was the same conversion."""
        for line in lines[1:] if lines[:1] == [self._digest] else []:
            with contextlib.suppress(ValueError):  # of a line that was cut short
                base, rows, n_bytes = json.loads(line)
                name = os.path.join(os.path.dirname(path), base)
                size = ext.local_size(name)
                self.complete.pop(name, None)
                if size is not None and n_bytes in (size, None):
                    self.complete[name] = Output(name, rows, size)

    def add(self, name: str, rows: int, n_bytes: int | None) -> None:
        """Note that an output is complete, or, without its size, that it is complete if it exists."""
        line = json.dumps([os.path.basename(name), rows, n_bytes])
        with self._path.open("a") as file:
            file.write(f"\n{line}" if file.tell() else f"{self._digest}\n{line}")

    def forget(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)


def _stamp(name: str) -> tuple[int, int] | None:
    if ext.is_url(name) or not os.path.exists(name):
        return None
    status = os.stat(name)
    return status.st_size, status.st_mtime_ns


def _log_of(plan: _Plan, target: Source, *, resume: bool) -> _Log | None:
    """Return the log of a plan with several outputs, or that may be resumed."""
    name = ext.name_of(target)
    if ext.is_file_object(target) or ext.is_url(name) or not (resume or len(plan.outputs) > 1):
        return None
    folder, base = (name, "") if _is_directory(name) else os.path.split(name)
    return _Log(os.path.join(folder, f".{base}{'.' if base else ''}convert"), plan)


def _begin(
    plan: _Plan, target: Source, log: _Log | None, *, overwrite: bool, resume: bool
) -> dict[int, Output]:
    """Return the outputs that are complete; raise if others exist."""
    has_log = log is not None and log.is_there
    names = {i: ext.name_of(place) for i, (place, _) in enumerate(plan.outputs)}
    complete = log.complete if log is not None and resume else {}
    done = {i: complete[name] for i, name in names.items() if name in complete}
    others = [name for i, name in names.items() if i not in done]
    for name in () if overwrite or ext.is_file_object(target) else others:
        is_there = os.path.isfile(name) or (os.path.islink(name) and not os.path.exists(name))
        if is_there and not ext.is_url(name):
            hint = "; --overwrite replaces it"
            if resume and not has_log:
                hint = f", and nothing is left to resume{hint}"
            elif resume:
                hint = f", not completed by an interrupted conversion with these arguments{hint}"
            elif has_log:
                hint += ", --resume keeps what an interrupted conversion has completed"
            raise FileExistsError(errno.EEXIST, f"{os.strerror(errno.EEXIST)}{hint}", name)
    if has_log and resume:
        _remove_leftovers(others)
    if log is not None and not done:
        log.forget()
    if _is_folder(target) and not ext.is_url(ext.name_of(target)):
        os.makedirs(ext.name_of(target), exist_ok=True)
    return done


def _remove_leftovers(names: list[str]) -> None:
    """Remove what a conversion that was killed had begun to write for these outputs."""
    for name in names:
        folder, base = os.path.split(name)
        for ending in ("", ext.SIDECAR_SUFFIX):
            for path in Path(folder or ".").glob(f".{glob.escape(base + ending)}.*.tmp"):
                path.unlink(missing_ok=True)


# ---------------------------------------------------------------------------------------- run


class _Maker:
    """Makes outputs; the source of the last one stays open for rows that follow."""

    def __init__(
        self, plan: _Plan, log: _Log | None, left: int | None = None, meter: Meter = SILENT
    ) -> None:
        self._plan, self._log, self._left, self._meter = plan, log, left, meter
        self._piece: _Piece | None = None
        self._source: Any = None
        self._condition: Any = None
        self._batches: Any = None
        self._schema: Any = None  # of batches as they are written; None for records as they are
        self._row = 0  # of the source, the next one
        self._rest: Any = None  # of a batch
        self._damage: _Damage = ()

    def make(self, index: int) -> _Made:
        """Make one output."""
        place, pieces = self._plan.outputs[index]
        target: Any = None
        n_rows = 0
        try:
            for piece in pieces:
                if self._left == 0 and target is not None:
                    break
                self._go_to(piece)
                target = target or self._open_target(place, pieces)
                for batch in self._rows(piece) if self._left != 0 else ():
                    taken = batch if self._left is None else batch[: self._left]
                    if len(taken):
                        target.write_batch(taken)
                    n_rows += len(taken)
                    self._meter.advance(len(taken))
                    if self._left is not None:
                        self._left -= len(taken)
                        if not self._left:
                            break
            target.finish()
            rounded = getattr(target, "rounded", ())
            name = ext.name_of(place)
            if self._log is not None and ext.local_size(name) is None:
                self._log.add(name, n_rows, None)  # what exists from now on is complete
            target.commit()
            output = Output(name, n_rows, ext.local_size(place) or 0, rounded)
            if self._log is not None:
                self._log.add(name, n_rows, output.n_bytes)
        except BaseException:
            if target is not None:
                target.abandon()
            self.close()
            raise
        return output, (*self._damage, *getattr(self._source, "damage", ()))

    def _go_to(self, piece: _Piece) -> None:
        """Open the source of a piece, unless it is open and the rows follow."""
        last = self._piece
        if last is not None and (last.source is piece.source or last.source == piece.source):
            can_read_on = piece.mark is None and piece.kind not in ("parquet", "arrow")
            if self._row == piece.first or (can_read_on and self._row < piece.first):
                return
        self.close()
        self._source, self._condition = self._plan.open(piece)
        self._piece, self._row = piece, piece.first
        columns = self._plan.settings.columns
        whole = self._schema = self._source.schema
        if whole is not None:
            whole = self._plan.schema or whole
            names = whole.names if columns is None else columns
            fields = [whole.field(name) for name in names]
            self._schema = ext.imported().schema(fields, whole.metadata)
        mark = [piece.mark] if piece.kind == "tfrecord" else []
        self._batches = self._source.batches(piece.first, *mark)

    def _rows(self, piece: _Piece) -> Iterator[Any]:
        """Yield the batches of a piece, as they are written."""
        while piece.stop is None or self._row < piece.stop:
            batch = self._rest if self._rest is not None else next(self._batches, None)
            self._rest = None
            if batch is None:
                return
            skipped = min(max(piece.first - self._row, 0), len(batch))
            stop = len(batch) if piece.stop is None else piece.stop - self._row
            if stop < len(batch):
                self._rest = batch[stop:]
            taken = batch[skipped:stop] if skipped or stop < len(batch) else batch
            self._row += skipped + len(taken)
            if len(taken):
                yield taken if self._schema is None else self._formed(taken)

    def _formed(self, batch: Any) -> Any:
        pa = ext.imported()
        if self._condition is not None:
            mask = pa.array(self._condition.mask(batch))
            if any(column.offset for column in batch.columns):
                # Of slices with nested lists of fixed sizes, Arrow's filter takes other values; two chunks are copied.
                batch = pa.Table.from_batches([batch[:0], batch]).combine_chunks().to_batches()[0]
            batch = batch.filter(mask)
        if batch.schema.equals(self._schema, check_metadata=True):
            return batch
        name = ext.name_of(self._piece.source) if self._piece is not None else ""
        arrays = []
        for item in self._schema:
            if item.name not in batch.schema.names:
                detail = f"there is no column {item.name!r}, which the first file has"
                raise argument_error(detail, source=name)
            column = batch.column(item.name)
            try:
                arrays.append(column if column.type == item.type else column.cast(item.type))
            except pa.ArrowException as error:
                detail = f"a {column.type}, but the first file has {item.type}: {error}"
                raise argument_error(detail, source=name, key=item.name) from None
        return pa.record_batch(arrays, schema=self._schema)

    def _open_target(self, place: Source, pieces: list[_Piece]) -> Any:
        plan, settings = self._plan, self._plan.settings
        if plan.as_records:
            # Of shards each has what all sources say.
            every = [piece for _, shard in plan.outputs for piece in shard]
            used = pieces if plan.is_per_source else every
            files = list({ext.name_of(piece.source): piece.source for piece in used}.values())
            return RecordTarget(place, None, settings.compression, _described(files, plan))
        schema = self._schema
        if plan.kind in ("parquet", "arrow") and isinstance(self._source, RecordSource):
            schema = self._source.with_pandas(schema)
        codec, lossless = settings.compression, settings.lossless
        return formats.open_target(place, plan.kind, schema, codec, lossless=lossless)

    def close(self) -> None:
        """Close the open source."""
        if self._source is not None:
            self._damage += getattr(self._source, "damage", ())
            if self._batches is not None:
                self._batches.close()
            self._source.close()
        self._source = self._batches = self._piece = self._rest = self._condition = None


def _made(
    plan: _Plan, log: _Log | None, pending: list[int], num_jobs: int, left: int | None, meter: Meter
) -> Generator[tuple[int, Callable[[], _Made]]]:
    """Yield the number of each output, with what makes it, or returns or raises what has."""
    num_jobs = min(num_jobs, len(pending))
    if num_jobs <= 1:
        with contextlib.closing(_Maker(plan, log, left, meter)) as maker:
            for index in pending:
                yield index, partial(maker.make, index)
        return
    others = multiprocessing.active_children()
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(num_jobs, context, _begin_process, (plan, log))
    try:
        with _interrupts_blocked():  # and so they are in the processes, which this one ends
            futures = {pool.submit(_make_in_process, index): index for index in pending}
        for future in as_completed(futures):
            yield futures[future], future.result
    except BaseException:
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()
        pool.shutdown(cancel_futures=True)
        _remove_leftovers([ext.name_of(plan.outputs[index][0]) for index in pending])
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_maker: _Maker
"""The maker in a process that was started for outputs."""


def _begin_process(plan: _Plan, log: _Log | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends this one
    global _maker  # noqa: PLW0603 - set once, before anything is made
    _maker = _Maker(plan, log)


def _make_in_process(index: int) -> _Made:
    return _maker.make(index)
