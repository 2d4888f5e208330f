"""The data sets, which are made once and kept in a cache folder, and rows and records to write.

==========  =======================================================================
name        each record
==========  =======================================================================
tabular     297 bytes on average: 10 float, 5 int64, 2 strings of 7 to 19 bytes
images      100 KB of image bytes, height, width, label
embeddings  float32[512] and an id, 2 KB
tokens      int64[256..1024], each value below 50,000
sequences   a SequenceExample: 20..60 steps of an int64 and a float32[8], and a
            context of an id, the length and a name
any_order   as tabular, but the features of each record in another order
small       two numbers
features-N  N floats, each a feature of its own
list-N      N int64 below 1,000 in a list
bytes-N     a string of N bytes
==========  =======================================================================

The same name and number of records give the same values on every machine, as long as NumPy's
random numbers stay the same. ``name_gz`` is the data set in one GZIP stream. This module runs in
the processes of all contenders, so it imports this package only to make files.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Table = dict[str, Any]

_BATCH = 1_000
"""Number of records for which random numbers are drawn at a time."""
_IMAGE_BYTES = 100_000

_TABULAR: dict[str, tuple[str, int | None]] = {f"f{k}": ("float", 1) for k in range(10)}
_TABULAR |= {f"i{k}": ("int", 1) for k in range(5)}
_TABULAR |= {"s0": ("bytes", 1), "s1": ("bytes", 1)}

FEATURES: dict[str, dict[str, tuple[str, int | None]]] = {
    "tabular": dict(_TABULAR),
    "any_order": dict(_TABULAR),
    "images": {
        "image": ("bytes", 1),
        "height": ("int", 1),
        "width": ("int", 1),
        "label": ("int", 1),
    },
    "embeddings": {"embedding": ("float", 512), "id": ("int", 1)},
    "tokens": {"tokens": ("int", None)},
    "small": {"x": ("float", 1), "y": ("int", 1)},
}
"""Of each data set the features: kind, and number of values (None: it varies)."""

CONTEXT = {"id": ("int", 1), "length": ("int", 1), "name": ("bytes", 1)}
STEPS = {"tokens": ("int", 1), "vectors": ("float", 8)}
"""The features of sequences."""


def features_of(data: str, select: list[str] | None = None) -> dict[str, tuple[str, int | None]]:
    """Return the features of a data set, or some of them."""
    kind, _, size = data.partition("-")
    features: dict[str, tuple[str, int | None]]
    if kind == "features":
        features = {f"x{k:04d}": ("float", 1) for k in range(int(size))}
    else:
        sized: dict[str, dict[str, tuple[str, int | None]]]
        sized = {"list": {"values": ("int", None)}, "bytes": {"data": ("bytes", 1)}}
        features = sized.get(kind) or FEATURES[data.removesuffix("_gz")]
    return features if select is None else {name: features[name] for name in select}


# ------------------------------------------------------------------------------- columns


def _strings(random: np.random.Generator, n: int) -> list[bytes]:
    sizes = random.integers(7, 20, n).tolist()
    letters = random.integers(ord("a"), ord("z") + 1, (n, 19), np.uint8)
    return [letters[i, :size].tobytes() for i, size in enumerate(sizes)]


def _tabular(random: np.random.Generator, n: int) -> Table:
    table: Table = {f"f{k}": random.standard_normal(n, np.float32) for k in range(10)}
    table |= {f"i{k}": random.integers(0, 2**31, n) for k in range(5)}
    return table | {f"s{k}": _strings(random, n) for k in range(2)}


def _images(random: np.random.Generator, n: int) -> Table:
    return {
        "image": [random.bytes(_IMAGE_BYTES) for _ in range(n)],
        "height": np.full(n, 480),
        "width": np.full(n, 640),
        "label": random.integers(0, 1_000, n),
    }


def _embeddings(random: np.random.Generator, n: int) -> Table:
    vectors = random.standard_normal((n, 512), np.float32)
    return {"embedding": vectors, "id": random.integers(0, 2**31, n)}


def _tokens(random: np.random.Generator, n: int) -> Table:
    sizes = random.integers(256, 1_025, n).tolist()
    return {"tokens": [random.integers(0, 50_000, size) for size in sizes]}


def _sized(data: str, random: np.random.Generator, n: int) -> Table:
    kind, _, text = data.partition("-")
    size = int(text)
    if kind == "list":
        return {"values": random.integers(0, 1_000, (n, size))}
    if kind == "bytes":
        return {"data": [random.bytes(size) for _ in range(n)]}
    return dict(zip(features_of(data), random.standard_normal((size, n), np.float32), strict=True))


def _small(random: np.random.Generator, n: int) -> Table:
    return {"x": random.standard_normal(n, np.float32), "y": random.integers(0, 2**31, n)}


def _sequences(random: np.random.Generator, n: int) -> Table:
    lengths = random.integers(20, 61, n)
    return {
        "id": random.integers(0, 2**31, n),
        "length": lengths,
        "name": [b"user%d" % i for i in range(n)],
        "tokens": random.integers(0, 50_000, (n, 60)),
        "vectors": random.standard_normal((n, 60, 8), np.float32),
    }


_MAKERS: dict[str, Callable[[np.random.Generator, int], Table]] = {
    "tabular": _tabular,
    "any_order": _tabular,
    "images": _images,
    "embeddings": _embeddings,
    "tokens": _tokens,
    "small": _small,
    "sequences": _sequences,
}


def tables(data: str, n_records: int) -> Iterator[Table]:
    """Yield the columns of a data set, a batch at a time."""
    for start in range(0, n_records, _BATCH):
        random = np.random.default_rng([20_240, start])
        n = min(_BATCH, n_records - start)
        yield _sized(data, random, n) if "-" in data else _MAKERS[data](random, n)


def rows(data: str, n_records: int, form: str = "values") -> list[dict[str, Any]]:
    """Return a dictionary per record: of single values and arrays, or (`form` "lists") of lists only."""
    found = []
    for table in tables(data, n_records):
        if data == "sequences":
            found += _sequence_rows(table)
            continue
        columns = [
            column.tolist() if isinstance(column, np.ndarray) and column.ndim == 1 else column
            for column in table.values()
        ]
        found += [dict(zip(table, values)) for values in zip(*columns)]  # noqa: B905 - as long
    return [{k: as_list(v) for k, v in row.items()} for row in found] if form == "lists" else found


def as_list(value: Any) -> list[Any]:
    """Return the values of a feature as a list of Python numbers or bytes."""
    if isinstance(value, np.ndarray):
        return value.tolist()  # type: ignore[no-any-return]
    return value if isinstance(value, list) else [value]


def _sequence_rows(table: Table) -> list[dict[str, Any]]:
    columns = [c.tolist() if isinstance(c, np.ndarray) else c for c in table.values()]
    return [
        {
            "context": {"id": number, "length": size, "name": name},
            "feature_lists": {"tokens": tokens[:size], "vectors": vectors[:size]},
        }
        for number, size, name, tokens, vectors in zip(*columns)  # noqa: B905 - as long
    ]


def raw_records(size: int) -> list[bytes]:
    """Return different records of one size, eight megabytes of them."""
    random = np.random.default_rng(size)
    return [random.bytes(size) for _ in range(max((8 << 20) // size, 1))]


def arrays(shape: list[int], n: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return that many arrays of a shape, in one."""
    return np.random.default_rng(0).standard_normal((n, *shape), np.float32)


# --------------------------------------------------------------------------------- files


def file_of(name: str, n_records: int, cache: Path) -> Path:
    """Return the name of the file of a data set."""
    base = name.removesuffix("_gz")
    return cache / f"{base}-v2-{n_records}.tfrecord{'.gz' * (base != name)}"


def data_set(name: str, n_records: int, cache: Path) -> Path:
    """Return the file of a data set, made first if it is missing."""
    from tfrecord_lite import TFRecordReader, TFRecordWriter

    is_gzip = name.endswith("_gz")
    base = name.removesuffix("_gz")
    path = file_of(name, n_records, cache)
    if path.exists():
        return path
    with TFRecordWriter(path, "GZIP" if is_gzip else None, atomic=True) as writer:
        if is_gzip:
            writer.write_blocks(TFRecordReader(data_set(base, n_records, cache)).blocks())
        elif name == "any_order":
            for record in TFRecordReader(data_set("tabular", n_records, cache)):
                writer.write(_in_another_order(record))
        else:
            writer.write_blocks(_encoded(name, table) for table in tables(name, n_records))
    return path


def _encoded(name: str, table: Table) -> Any:
    """Return the columns of a data set as a block of records."""
    from tfrecord_lite import encode_examples, encode_sequence_examples

    if name == "sequences":
        context = {key: table[key] for key in CONTEXT}
        context["name"] = np.array(table["name"], object)
        steps = {key: table[key] for key in STEPS}
        return encode_sequence_examples(context, steps, dict.fromkeys(STEPS, table["length"]))
    return encode_examples(table)


def _in_another_order(record: bytes) -> bytes:
    """Return an Example with its features in an order that depends on its values."""
    from tfrecord_lite.messages import Example, Features

    features = sorted(Example.FromString(record).features.feature.items())
    random = np.random.default_rng(zlib.crc32(record))
    # The message classes write a map in an order of their own, so the head is made here.
    parts = [
        Features(feature=dict([features[i]])).SerializeToString()
        for i in random.permutation(len(features))
    ]
    n_bytes = sum(map(len, parts))
    return b"".join([bytes([0x0A, n_bytes & 0x7F | 0x80, n_bytes >> 7]), *parts])


def split(source: Path, paths: list[Path]) -> None:
    """Write the records of a file to several, in turn, if they are missing."""
    from tfrecord_lite import TFRecordReader, TFRecordWriter

    if all(path.exists() for path in paths):
        return
    paths[0].parent.mkdir(exist_ok=True)
    writers = [TFRecordWriter(path, atomic=True) for path in paths]
    for number, record in enumerate(TFRecordReader(source)):
        writers[number % len(paths)].write(record)
    for writer in writers:
        writer.close()


def write_events(path: Path, n_events: int) -> None:
    """Write an event file of scalars of ten tags, if it is missing."""
    from tfrecord_lite import TFRecordWriter
    from tfrecord_lite.messages import Event, Summary

    if not path.exists():
        with TFRecordWriter(path, atomic=True) as writer:
            writer.write(Event(wall_time=1.5e9, file_version="brain.Event:2").SerializeToString())
            for i in range(n_events):
                value = Summary.Value(tag=f"train/metric_{i % 10}", simple_value=1 / (1 + i))
                summary = Summary(value=[value])
                event = Event(wall_time=1.5e9 + i / 8, step=i // 10, summary=summary)
                writer.write(event.SerializeToString())
