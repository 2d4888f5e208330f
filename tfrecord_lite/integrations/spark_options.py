"""The options of reads and writes, which Spark has as texts: ours, Spark's and those of spark-tfrecord.

Letter case and underscores do not matter. An option that is unknown here is an error.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tfrecord_lite.apps.tables.table import scan
from tfrecord_lite.errors import TFRecordError, argument_error
from tfrecord_lite.files.names import is_url
from tfrecord_lite.index.ranges import RANGE_BYTES
from tfrecord_lite.integrations.spark_types import feature_of, is_nested_array, with_type
from tfrecord_lite.options import MAX_RECORD_BYTES, ReadSettings
from tfrecord_lite.schema import FixedLenSequenceFeature, RaggedFeature, Schema, SequenceSchema
from tfrecord_lite.schema.text import nearest
from tfrecord_lite.storage import sidecar
from tfrecord_lite.storage.widening import schema_of_items

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tfrecord_lite.apps.tables.table import TFRecordTable
    from tfrecord_lite.integrations.spark_files import DataFile
    from tfrecord_lite.storage.widening import SchemaItem

PARTS = ("context/", "feature_lists/")
"""How names of columns begin that say their part of a SequenceExample."""
_RECORD_TYPES = ("Example", "SequenceExample", "ByteArray")
_FEW_RECORDS = 100
"""Records that tell whether they are SequenceExamples, where the schema is given."""


def _names(text: str) -> list[str]:
    """Return names: a list of JSON, or separated by commas."""
    if text.lstrip().startswith("["):
        return [str(name) for name in json.loads(text)]
    return [name.strip() for name in text.split(",") if name.strip()]


def _flag(text: str) -> bool:
    return {"true": True, "false": False, "1": True, "0": False}[text.lower()]


def _number(text: str) -> int | None:
    return None if text.lower() in ("none", "null", "") else int(text)


def _text(text: str) -> bool | list[str]:
    return _flag(text) if text.lower() in ("true", "false") else _names(text)


def _record_type(text: str) -> str:
    return {name.lower(): name for name in _RECORD_TYPES}[text.lower()]


def _codec(text: str) -> tuple[str, str]:
    """Return our name of a compression, and the ending of files; classes of Hadoop are known too."""
    word = text.rpartition(".")[2].lower().removesuffix("codec")
    return _CODECS[word]


_CODECS = {
    **dict.fromkeys(("", "none", "uncompressed"), ("", "")),
    **dict.fromkeys(("gzip", "gz"), ("GZIP", ".gz")),
    **dict.fromkeys(("zlib", "deflate", "default"), ("ZLIB", ".deflate")),
    **dict.fromkeys(("bzip2", "bz2"), ("BZ2", ".bz2")),
    **dict.fromkeys(("zstd", "zstandard"), ("ZSTD", ".zst")),
}
_MODES = {"failfast": "raise", "dropmalformed": "skip"}


def _chosen(
    options: Mapping[str, str], known: Mapping[str, Callable[[str], Any]]
) -> dict[str, Any]:
    """Return the values of options by their names without underscores; raise for unknown ones."""
    found: dict[str, Any] = {}
    usual = {name.lower(): name for name in known}
    for name, text in options.items():
        key = name.lower().replace("_", "")
        if key not in usual:
            raise argument_error(f"unknown option {name!r}{nearest(name, list(known))}")
        try:
            found[key] = known[usual[key]](text)
        except (KeyError, ValueError, TypeError):
            raise argument_error(f"the option {usual[key]} cannot be {text!r}") from None
    return found


_WHERE: dict[str, Callable[[str], Any]] = {
    "path": str,
    "storageOptions": json.loads,
    "recordType": _record_type,
    "codec": _codec,
}
_READ: dict[str, Callable[[str], Any]] = {
    **_WHERE,
    "compression": lambda text: ("infer", "") if text.lower() == "infer" else _codec(text),
    "paths": json.loads,
    "features": str,
    "columns": _names,
    "text": _text,
    "sample": _number,
    "batchSize": int,
    "onError": lambda text: {"raise": "raise", "skip": "skip"}[text.lower()],
    "mode": lambda text: text.lower() if _MODES[text.lower()] else "",
    "maxErrors": _number,
    "maxRecordBytes": int,
    "maxInflatedBytes": _number,
    "maxInflatedRatio": float,
    "numPartitions": int,
    "maxPartitionBytes": _number,
    "basePath": str,
    "pathGlobFilter": str,
    "recursiveFileLookup": _flag,
}
_WRITE: dict[str, Callable[[str], Any]] = {
    **_WHERE,
    "compression": _codec,
    "partitionBy": _names,
    "lossless": _flag,
    "sidecar": _flag,
}


@dataclass(frozen=True)
class SparkReadSettings:
    """The options of a read."""

    paths: tuple[str, ...]
    options: ReadSettings
    record_type: str | None
    features: str | None
    columns: list[str] | None
    text: bool | list[str] | None
    sample: int | None
    batch_size: int | None
    num_partitions: int | None
    max_partition_bytes: int | None
    listing: Mapping[str, Any]

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SparkReadSettings:
        """Return the settings that options of Spark are."""
        get = _chosen(options, _READ)
        paths = (*get.get("paths", ()), *([get["path"]] if get.get("path") else []))
        if not paths:
            raise argument_error("no path: expected .load(path), or .load([path, ...])")
        mode = get.get("mode")
        on_error: Any = get.get("onerror", _MODES.get(mode or "failfast"))
        if mode is not None and on_error != _MODES[mode]:
            raise argument_error(
                f"mode={mode.upper()} and onError={on_error} contradict each other"
            )
        names = {"base_path": "basepath", "name_pattern": "pathglobfilter"}
        return cls(
            paths=paths,
            options=ReadSettings(
                # spark-tfrecord finds out the codec when reading, whatever the option says.
                compression=get.get("compression", ("infer", ""))[0],
                max_record_bytes=get.get("maxrecordbytes", MAX_RECORD_BYTES),
                max_inflated_bytes=get.get("maxinflatedbytes"),
                max_inflated_ratio=get.get("maxinflatedratio"),
                on_error=on_error,
                max_errors=get.get("maxerrors"),
                storage_options=get.get("storageoptions"),
            ),
            record_type=get.get("recordtype"),
            features=get.get("features"),
            columns=get.get("columns"),
            text=get.get("text"),
            sample=get.get("sample", 10_000),
            batch_size=get.get("batchsize"),
            num_partitions=get.get("numpartitions"),
            max_partition_bytes=get.get("maxpartitionbytes", RANGE_BYTES),
            listing={name: get[key] for name, key in names.items() if key in get}
            | {"recursive": get.get("recursivefilelookup", False)},
        )

    def scan(self, files: Sequence[DataFile], features: Any, *, text: Any) -> TFRecordTable:
        """Return the table of files."""
        options = self.options
        return scan(
            [file.name for file in files],
            schema=features,
            text=text,
            sample=self.sample,
            batch_size=self.batch_size,
            compression=options.compression,
            on_error=options.on_error,
            max_errors=options.max_errors,
            max_record_bytes=options.max_record_bytes,
            max_inflated_bytes=options.max_inflated_bytes,
            max_inflated_ratio=options.max_inflated_ratio,
            storage_options=options.storage_options
            if any(is_url(file.name) for file in files)
            else None,
        )

    def features_of(self, files: Sequence[DataFile], fields: Sequence[Any]) -> Any:
        """Return the features that columns of Spark's are read from.

        Those of SequenceExamples are in the part that has them in a sample; in the context if neither has.
        """
        sample: Any = None
        if self.record_type != "Example":
            with contextlib.suppress(
                TFRecordError
            ):  # no records, or damage, which a task will meet
                sample = replace(self, sample=_FEW_RECORDS).scan(files, None, text=False).schema
                if isinstance(sample, SequenceSchema):
                    sample = self.scan(files, None, text=False).schema
        if self.record_type != "SequenceExample" and not isinstance(sample, SequenceSchema):
            return schema_of_items({field.name: feature_of(field) for field in fields})
        known = sample.feature_lists if isinstance(sample, SequenceSchema) else ()
        context: dict[str, SchemaItem] = {}
        lists: dict[str, Any] = {}
        for field in fields:
            part, _, key = field.name.rpartition("/")
            is_named = f"{part}/" in PARTS
            key = key if is_named else field.name
            is_nested = is_nested_array(field.dataType)
            step = with_type(field, field.dataType.elementType) if is_nested else field
            item = feature_of(step, is_step=is_nested)
            if is_nested or (f"{part}/" == PARTS[1] if is_named else key in known):
                stored = item.spec.dtype  # type: ignore[attr-defined]
                lists[key] = (
                    RaggedFeature(stored) if is_nested else FixedLenSequenceFeature([], stored)
                )
            else:
                context[key] = item
        return SequenceSchema(schema_of_items(context), Schema(lists))

    def given_features(self) -> Any:
        """Return the schema or the path of a schema that the option features has."""
        if self.features is None or not self.features.lstrip().startswith("{"):
            return self.features
        return sidecar.parse("features", self.features.encode()).schema


@dataclass(frozen=True)
class WriteSettings:
    """The options of a write."""

    path: str
    record_type: str
    compression: str
    ending: str
    partition_by: list[str]
    lossless: bool
    sidecar: bool
    storage_options: Any

    @classmethod
    def of(cls, options: Mapping[str, str]) -> WriteSettings:
        """Return the settings that options of Spark are."""
        get = _chosen(options, _WRITE)
        if not get.get("path"):
            raise argument_error("no path: expected .save(path)")
        codec = get.get("codec") or get.get("compression", ("", ""))
        lossless = get.get("lossless", False)
        return cls(
            get["path"],
            get.get("recordtype", "Example"),
            codec[0],
            codec[1],
            get.get("partitionby", []),
            lossless,
            get.get("sidecar", lossless),
            get.get("storageoptions") if is_url(get["path"]) else None,
        )
