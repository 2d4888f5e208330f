"""How files of records are read and written: the keywords that every reader and writer shares.

:class:`ReadOptions` and :class:`WriteOptions` are the keywords as users write them, :class:`ReadSettings` the
same bundle, checked once. The limits bound memory and time on hostile input.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import update_wrapper, wraps
from types import CodeType, FunctionType
from typing import Any, Literal, NoReturn, TypeAlias, TypedDict, TypeVar, cast

from tfrecord_lite.errors import DamagedSpan, InvalidArgumentError, argument_error, require_int
from tfrecord_lite.files.compression import INFER, CompressionType, compression_to_read
from tfrecord_lite.files.inflate import InflationLimits

_Callable = TypeVar("_Callable", bound=Callable[..., Any])

MAX_RECORD_BYTES = 2**31
"""The default limit on one record: no protobuf message is larger."""

OnError: TypeAlias = "Literal['raise', 'skip'] | Callable[[DamagedSpan], object]"
"""What an `on_error` argument may be; see :class:`TFRecordReader`."""

OnMisfit: TypeAlias = "Literal['raise', 'drop'] | Callable[[InvalidArgumentError], object]"
"""What an `on_misfit` argument may be; see :class:`TFRecordReader`."""


class ReadOptions(TypedDict, total=False):
    """How to read files of records: the keywords of :class:`TFRecordReader`."""

    compression: CompressionType
    verify: bool
    max_record_bytes: int
    on_error: OnError
    on_misfit: OnMisfit
    max_errors: int | None
    max_inflated_bytes: int | None
    max_inflated_ratio: float | None
    read_ahead: int | None
    storage_options: Mapping[str, Any] | None


class WriteOptions(TypedDict, total=False):
    """How to write files of records: keywords of :class:`TFRecordWriter`."""

    compression: CompressionType
    storage_options: Mapping[str, Any] | None


def num_processors() -> int:
    """Return how many processors this process may use; Python's own count from 3.13 on."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def num_files_in_turns() -> int:
    """Return among how many files TensorFlow takes turns if it may choose."""
    return math.ceil(num_processors() / 3)


SOME_COLUMNS = "infer_schema(paths).select(names)"
_MEANT = {
    "num_records": ("n", "n_rows", "nrows", "num_rows", "limit", "take", "n_records"),
    "num_epochs": ("epochs", "repeat"),
    "drop_remainder": ("drop_last",),
    "overwrite": ("force", "exist_ok", "replace", "clobber"),
    "num_shards": ("shards", "n_shards", "num_files", "nshards"),
    "num_workers": ("workers", "n_jobs", "num_parallel_calls", "num_parallel_reads", "num_threads", "reader_num_threads"),
    "num_threads": ("workers", "n_jobs", "num_workers"),
    "num_processors": ("workers", "n_jobs", "num_workers", "num_threads"),
    "batch_size": ("batch", "batchsize", "chunksize"),
    "compression": ("compression_type", "codec"),
    "schema": ("dtype", "dtypes", "features", "description", "feature_description"),
    "columns": ("cols", "usecols", "names", "feature_names", "fields", "keys", "select", "feature_keys"),
    "seed": ("random_state", "shuffle_seed"),
    "shuffle": ("shuffle_buffer_size", "buffer_size"),
    "count": ("epochs", "num_epochs", "n", "num_records", "limit"),
    "n": ("num_records", "n_rows", "limit", "size"),
    "where": ("filter", "filters", "predicate", "query"),
    "prefetch": ("prefetch_factor", "prefetch_buffer_size", "buffer_size"),
    "as_": ("format", "engine", "library"),
    "directory": ("data_dir", "folder"),
    "with_info": ("as_supervised",),
    "on_error": ("errors", "ignore_errors", "skip_errors"),
    "shard": ("rank", "world_size", "num_replicas"),
    "label_key": ("label_column", "label_name", "label", "labels", "target"),
    "label_column": ("label_key", "label_name", "label"),
    "split": ("splits", "subset"),
    "map": ("transform", "transforms", "collate_fn", "map_fn", "preprocess"),
    "persistent_workers": ("pin_memory",),
}  # fmt: skip
"""What other libraries call the keywords of this package."""
_SHUFFLED = "read_batches(paths, shuffle=True, seed=0) shuffles; shuffle_records of tfrecord_lite.apps.rearrange, files"
_ELSEWHERE = {
    "batch_size": "read_batches(paths, schema, batch_size) gives batches",
    "columns": f"load, scan and read_batches take columns; elsewhere the schema chooses them: schema={SOME_COLUMNS}",
    "num_records": "the number of records is num_records of load, or scan(paths).head(n)",
    "num_epochs": "read_batches repeats the records num_epochs times",
    "drop_remainder": "read_batches and Dataset.batch take drop_remainder",
    "overwrite": "a file that exists is replaced, without a keyword",
    "num_shards": "save, ShardedTFRecordWriter and split_files take num_shards",
    "compression": "readers find out the compression; save and TFRecordWriter take compression",
    "schema": "load, scan and read_batches take a schema",
    "num_workers": "read_batches, scan and Dataset.in_processes take num_workers",
    "shuffle": _SHUFFLED,
    "seed": _SHUFFLED,
    "with_info": "tfds_info(directory) of tfrecord_lite.apps.tfds has the splits and supervised_keys",
    "where": "Dataset.filter, and sql of tfrecord_lite.integrations.duckdb, choose records by their values",
    "shard": "read_batches takes shard=(world_size, rank)",
    "label_key": "read_batches and Dataset.parse_example take label_key",
    "split": "load_tfds(folder, split) reads a split of TensorFlow Datasets; split_records of tfrecord_lite.apps.rearrange makes splits",
    "map": "read_batches(paths).map(function) calls a function with each batch",
    "persistent_workers": "leave it out, or give it to a DataLoader around IterableTensors of tfrecord_lite.integrations.torch",
    "prefetch": "read_batches(paths, num_workers=2) and Dataset.prefetch(n) read ahead",
}
"""Where a keyword is that a call has not."""


def check_keywords(options: Mapping[str, Any], known: type = object) -> None:
    """Raise TypeError about a keyword that is not of the TypedDict `known`."""
    known_names = getattr(known, "__annotations__", {})
    if options.keys() - known_names:
        call, parameters = _public_call()
        _refuse(call, parameters, next(iter(options.keys() - known_names)), known)


def hinted(target: _Callable) -> _Callable:
    """Make a function, or the public methods of a class, suggest other keywords in errors."""
    if not isinstance(target, type):
        return cast("_Callable", _hinted(cast("FunctionType", target)))
    for name, method in list(vars(target).items()):
        function = getattr(method, "__func__", method)  # of static methods too
        is_public = name == "__init__" or not name.startswith("_")
        if is_public and isinstance(function, FunctionType) and not function.__code__.co_flags & 8:
            call = _hinted(function)  # one without **options, which flag 8 tells
            setattr(target, name, call if function is method else type(method)(call))
    return target


def _hinted(function: FunctionType) -> Callable[..., Any]:
    code = function.__code__
    names = _parameters(code)
    own = frozenset(names)

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:  # costs calls less than a look at their keywords
            return function(*args, **keywords)
        except TypeError:
            if keywords.keys() <= own:
                raise
        name = code.co_qualname
        if code.co_varnames[:1] == ("self",):  # of which a subclass may inherit the method
            name = f"{type(args[0]).__name__}.{code.co_name}".removesuffix(".__init__")
        _refuse(name, names, next(iter(keywords.keys() - own)))

    return call


def take_over(cls: type, *names: str) -> None:
    """Give a class copies of methods that it inherits, so that errors about arguments name it."""
    for name in names:
        method = getattr(cls, name)
        code = method.__code__.replace(co_qualname=f"{cls.__qualname__}.{name}")
        copy = FunctionType(code, method.__globals__, name, method.__defaults__, method.__closure__)
        update_wrapper(copy, method, ("__annotations__", "__doc__", "__kwdefaults__"))
        setattr(cls, name, copy)


def _refuse(call: str, own: Iterable[str], name: str, options: type = object) -> NoReturn:
    """Raise about a keyword that a call does not take, with the one probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - for errors alone

    meant = [keyword for keyword, names in _MEANT.items() if name in (keyword, *names)]
    known = [*own, *getattr(options, "__annotations__", {})]
    elsewhere = [_ELSEWHERE[keyword] for keyword in meant if keyword in _ELSEWHERE]
    own_names = [keyword for keyword in meant if keyword in known]
    near = own_names or ([] if elsewhere else get_close_matches(name, known, 1))
    names = [*own] if options is object else [*own, f"those of {options.__name__}"]
    near = ["shard=(world_size, rank)"] if near == ["shard"] else near
    hint = f"did you mean {near[0]}?" if near else "".join(elsewhere[:1])
    hint = hint or (f"its keywords are {', '.join(names)}" if names else "it takes none")
    raise TypeError(f"{call}() got an unexpected keyword argument {name!r}: {hint}")


def _public_call() -> tuple[str, tuple[str, ...]]:
    """Return the public function that a program called, and its parameters."""
    frame = sys._getframe(1)  # noqa: SLF001 - documented, and what inspect.currentframe returns
    while frame.f_back and frame.f_back.f_globals.get("__name__", "").startswith("tfrecord_lite."):
        frame = frame.f_back
    code = frame.f_code
    name = code.co_qualname
    if name.endswith(".__init__"):  # which a subclass may inherit
        name = type(frame.f_locals["self"]).__name__
    return name, _parameters(code)


def _parameters(code: CodeType) -> tuple[str, ...]:
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(name for name in names if name not in ("self", "cls"))


def read_settings(options: ReadOptions) -> ReadSettings:
    """Return the keywords of a call that reads files, checked."""
    check_keywords(options, ReadOptions)
    return ReadSettings(**options)


def _ignore(_: object) -> None:
    """Do nothing; other processes can load this."""


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """The keywords of :class:`TFRecordReader`; raises ``BAD_ARGUMENT`` or TypeError if wrong."""

    compression: CompressionType = INFER
    verify: bool = True
    max_record_bytes: int = MAX_RECORD_BYTES
    max_inflated_bytes: int | None = None
    max_inflated_ratio: float | None = None
    on_error: OnError = "raise"
    on_misfit: OnMisfit = "raise"
    max_errors: int | None = None
    read_ahead: int | None = None
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)
    check: Callable[[Any], object] | None = field(default=None, repr=False, compare=False)
    """Raises an InvalidArgumentError about the first record of a Block that is to be dropped."""

    def __post_init__(self) -> None:
        """Check all options."""
        name = compression_to_read(self.compression)
        object.__setattr__(self, "compression", INFER if name is None else name)
        if not isinstance(self.storage_options, (Mapping, type(None))):
            actual = type(self.storage_options).__name__
            raise TypeError(f"storage_options must be a dict of options for fsspec, not {actual}")
        n_bytes = require_int("max_record_bytes", self.max_record_bytes, 0)
        if n_bytes >= 2**64:
            raise argument_error(f"max_record_bytes is {n_bytes}, expected less than 2**64")
        ratio = self.max_inflated_ratio
        if ratio is not None and not hasattr(ratio, "__float__"):
            raise TypeError(f"max_inflated_ratio must be a number, not {type(ratio).__name__}")
        if ratio is not None and not ratio > 0:  # NaN is not either
            raise argument_error(f"max_inflated_ratio is {ratio}, expected more than 0, or None")
        for name, word in (("on_error", "skip"), ("on_misfit", "drop")):
            value = getattr(self, name)
            if not callable(value) and value not in ("raise", word):
                detail = f"{name} is {value!r}, expected 'raise', {word!r} or a function"
                raise argument_error(detail)
        for name, least in (("max_inflated_bytes", 1), ("max_errors", 0), ("read_ahead", 0)):
            if getattr(self, name) is not None:
                require_int(name, getattr(self, name), least)
        if self.max_errors is not None and not self.leaves_out:
            detail = f"max_errors is {self.max_errors}, but on_error='raise' skips no damage"
            raise argument_error(detail)

    @property
    def leaves_out(self) -> bool:
        """Whether damage is skipped, or records that do not fit are dropped, rather than raised."""
        return self.on_error != "raise" or self.on_misfit != "raise"

    def quietly(self) -> ReadSettings:
        """Return the settings for reading again what was reported before."""
        words = (self.on_error, self.on_misfit)
        on_error, on_misfit = (word if word == "raise" else _ignore for word in words)
        return replace(self, on_error=on_error, on_misfit=on_misfit, max_errors=None)

    def dropping(self, check: Callable[[Any], object]) -> ReadSettings:
        """Return the settings with which records that fail a check are dropped."""
        return self if self.on_misfit == "raise" else replace(self, check=check)

    @property
    def codec_name(self) -> str | None:
        """The compression by name, "" for none; None to infer it from the first bytes."""
        return compression_to_read(self.compression)

    @property
    def inflation(self) -> InflationLimits:
        """The limits on what a compressed file inflates to."""
        return InflationLimits(self.max_inflated_bytes, self.max_inflated_ratio)
