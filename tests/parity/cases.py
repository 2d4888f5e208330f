"""Random features, and random Examples that fit them, or nearly.

::

    seed ─> Case: features, messages, whether they are parsed as a batch or as one

Everything follows from the seed. Most messages of most cases fit all features, since a
batch with one that does not is an error and says little; what is wrong with the others
is one of the things named in :data:`FAULTS`. Nothing is generated that TensorFlow dies
of (rules W15, W20 and S5).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.parity import building
from tests.parity.building import NO_KIND, chunk, entry, key_of, value_of, varint
from tfrecord_lite.schema import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

__all__ = ["FAULTS", "Case", "make_case"]

FAULTS = (
    "none", "missing", "no kind", "empty", "other kind", "one more", "one less", "one changed",
    "one far", "twice", "twice, then no kind", "junk",
)  # fmt: skip
"""What may be wrong with a feature of a message; for some features it is not wrong."""

DTYPES = ("float32", "int64", "string")
NAMES = ("a", "b", "feature", "x/y", "ä", "", "a long name of thirty-two bytes..", "a\0")
UNKNOWN = (
    building.field(11, 0, varint(300)),
    building.field(12, 1, bytes(8)),
    building.field(500, 2, b"\x03abc"),
    building.field(13, 5, bytes(4)),
)
GROUP = building.field(11, 3) + building.field(2, 0, b"\x05") + building.field(11, 4)

Lists = dict[str, "tuple[str, list[Any]]"]
"""The features of a message: the dtype and values of each."""


@dataclass(frozen=True, slots=True)
class Case:
    """Something to ask both."""

    features: dict[str, Any]
    records: list[bytes]
    single: bool
    """Whether the only message is to be parsed by itself."""


@dataclass(frozen=True, slots=True)
class Style:
    """How the messages of a case are written."""

    order: str = "same"
    loose: bool = False
    unknown_keys: bool = False
    odd: bool = False
    cut: bool = False
    few_values: bool = False


def make_case(rng: Random) -> Case:
    """Make a case."""
    features = make_features(rng)
    n_messages = rng.choice((0, 1, 1, 1, 2, 3, 5, 8, 33, 36, 40))
    style = Style(
        order=rng.choice(("same", "same", "shuffled")),
        loose=rng.random() < 0.1,
        unknown_keys=rng.random() < 0.4,
        odd=rng.random() < 0.06,
        cut=rng.random() < 0.03,
        few_values=rng.random() < 0.5,
    )
    has_faults = rng.random() < 0.4
    faulty = rng.sample(range(n_messages), min(n_messages, rng.choice((1, 1, 2)) * has_faults))
    layout = lists_of(rng, features)
    records = []
    for number in range(n_messages):
        # Alike messages, of one layout, are what the engine reads differently.
        lists = layout if style.few_values and rng.random() < 0.8 else lists_of(rng, features)
        records.append(write(rng, features, lists, style, faulty=number in faulty))
    return Case(features, records, single=n_messages == 1 and rng.random() < 0.6)


# Features


def make_features(rng: Random) -> dict[str, Any]:
    names = rng.sample(NAMES, rng.choice((1, 2, 3, 5)))
    features = {name: make_feature(rng, f"{number}") for number, name in enumerate(names)}
    for name, spec in list(features.items()):
        if rng.random() < 0.15:
            twin = twin_of(rng, name, spec)
            features[f"{name} twin"] = spec if twin is None else twin
    return features


def twin_of(rng: Random, name: str, spec: Any) -> Any:
    """Return a feature that reads a key of another one."""
    if isinstance(spec, SparseFeature):
        keys = [spec.index_key] if isinstance(spec.index_key, str) else list(spec.index_key)
        sizes = [spec.size] if isinstance(spec.index_key, str) else list(spec.size)
        return SparseFeature(keys[::-1], spec.value_key, spec.dtype, sizes[::-1])
    key = getattr(spec, "value_key", None) or name
    if isinstance(spec, RaggedFeature) and key and rng.random() < 0.8:
        return RaggedFeature(spec.dtype, key, (), spec.row_splits_dtype, rng.random() < 0.5)
    if isinstance(spec, RaggedFeature) and key:
        return RaggedFeature("int64", key)  # a clash, at times
    return None


def make_feature(rng: Random, number: str) -> Any:
    dtype = rng.choice(DTYPES)
    makers = (make_dense, make_dense, make_padded, make_var, make_sparse, make_ragged, make_ragged)
    return rng.choice(makers)(rng, dtype, number)


def make_dense(rng: Random, dtype: str, _number: str) -> Any:
    shape = rng.choice(([], [], [1], [2], [3], [2, 2], [1, 3], [0], [2, 0], 2))
    size = math.prod(shape) if isinstance(shape, list) else shape
    default = None
    if rng.random() < 0.5:
        default = defaults_of(rng, dtype, size)
        if rng.random() < 0.05:
            default = default[1:]
        elif size == 1 and rng.random() < 0.5:
            default = default[0]
    return FixedLenFeature(shape, dtype, default)


def make_padded(rng: Random, dtype: str, _number: str) -> Any:
    default = defaults_of(rng, dtype, 1)[0] if rng.random() < 0.4 else None
    shape = rng.choice(([], [], [1], [2], [2, 2]))
    return FixedLenSequenceFeature(shape, dtype, allow_missing=True, default_value=default)


def make_var(_rng: Random, dtype: str, _number: str) -> Any:
    return VarLenFeature(dtype)


def make_sparse(rng: Random, dtype: str, number: str) -> Any:
    n_keys = rng.choice((1, 1, 2, 3))
    keys = [f"i{number}{key}" for key in range(n_keys)]
    sizes = [rng.choice((1, 5, 1000, 2**40)) for _ in keys]
    is_sorted = rng.random() < 0.3
    if n_keys == 1 and rng.random() < 0.5:
        return SparseFeature(keys[0], f"v{number}", dtype, sizes[0], is_sorted)
    return SparseFeature(keys, f"v{number}", dtype, sizes, is_sorted)


def make_ragged(rng: Random, dtype: str, number: str) -> Any:
    partitions: list[Any] = []
    for level in range(rng.choice((0, 1, 1, 2, 2, 3))):
        kind: Any = rng.choice(
            (
                RaggedFeature.RowSplits, RaggedFeature.RowLengths, RaggedFeature.RowStarts,
                RaggedFeature.RowLimits, RaggedFeature.ValueRowIds, RaggedFeature.UniformRowLength,
            )
        )  # fmt: skip
        if kind is RaggedFeature.UniformRowLength:
            partitions.append(kind(rng.choice((1, 2, 2, 3, 0)) if rng.random() < 0.3 else 2))
        else:
            partitions.append(kind(f"n{number}{level}"))
    value_key = f"v{number}" if rng.random() < 0.5 else None
    splits_dtype = rng.choice(("int32", "int64"))
    return RaggedFeature(dtype, value_key, partitions, splits_dtype, rng.random() < 0.4)


# Values that fit


def values_of(rng: Random, dtype: str, n_values: int) -> list[Any]:
    return [VALUES[dtype](rng) for _ in range(n_values)]


def defaults_of(rng: Random, dtype: str, n_values: int) -> list[Any]:
    # TensorFlow keeps constants by value, and finds -0.0 where 0.0 is asked for.
    return [
        value or 1.0 if dtype == "float32" else value for value in values_of(rng, dtype, n_values)
    ]


def any_float(rng: Random) -> float:
    if rng.random() < 0.7:
        return float(rng.randrange(-4, 5)) / 2
    word = rng.choice((0x7FC00001, 0x80000000, 0x7F800000, 1, rng.getrandbits(31) & 0x7F7FFFFF))
    return float(struct.unpack("<f", struct.pack("<I", word))[0])


def any_int(rng: Random) -> int:
    if rng.random() < 0.7:
        return rng.randrange(100)
    return rng.choice((-1, 2**63 - 1, -(2**63), 1 << rng.randrange(63), -rng.randrange(1000)))


def any_string(rng: Random) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 3, 3, 8, 17)) if rng.random() < 0.95 else 300)


VALUES: dict[str, Any] = {"float32": any_float, "int64": any_int, "string": any_string}


def lists_of(rng: Random, features: dict[str, Any]) -> Lists:
    """Return lists for all features, that fit them."""
    lists: Lists = {}
    for name, spec in features.items():
        for key, found in LISTS[type(spec)](rng, name, spec).items():
            lists.setdefault(key, found)
    return lists


def dense_lists(rng: Random, name: str, spec: Any) -> Lists:
    size = math.prod(spec.shape) if isinstance(spec.shape, list) else spec.shape
    if spec.default_value is not None and size and rng.random() < 0.2:
        return {}
    return {name: (spec.dtype, values_of(rng, spec.dtype, size))}


def padded_lists(rng: Random, name: str, spec: Any) -> Lists:
    n_values = math.prod(spec.shape) * rng.choice((0, 1, 1, 2, 5))
    return {} if rng.random() < 0.1 else {name: (spec.dtype, values_of(rng, spec.dtype, n_values))}


def var_lists(rng: Random, name: str, spec: Any) -> Lists:
    n_values = rng.choice((0, 1, 1, 2, 3, 7))
    return {} if rng.random() < 0.1 else {name: (spec.dtype, values_of(rng, spec.dtype, n_values))}


def sparse_lists(rng: Random, _name: str, spec: Any) -> Lists:
    single = isinstance(spec.index_key, str)
    keys = [spec.index_key] if single else spec.index_key
    sizes = [spec.size] if single else spec.size
    n_values = rng.choice((0, 1, 2, 4))
    lists: Lists = {spec.value_key: (spec.dtype, values_of(rng, spec.dtype, n_values))}
    for key, size in zip(keys, sizes, strict=True):
        lists[key] = ("int64", [rng.randrange(min(size, 10**6)) for _ in range(n_values)])
    return {} if n_values == 0 and rng.random() < 0.5 else lists


def ragged_lists(rng: Random, name: str, spec: Any) -> Lists:
    """Return values, and partitions from the innermost outwards."""
    partitions = spec.partitions
    items = multiple_for(partitions, len(partitions)) * rng.choice((0, 1, 1, 2, 3))
    key = name if spec.value_key is None else spec.value_key
    dtype = kind_of(spec.dtype).label
    lists: Lists = {key: (dtype, values_of(rng, dtype, items))}
    is_plain = True
    for level in reversed(range(len(partitions))):
        partition = partitions[level]
        if isinstance(partition, RaggedFeature.UniformRowLength):
            items = items // partition.length if partition.length else int(is_plain)
            continue
        is_plain = False
        rows = multiple_for(partitions, level) * rng.choice((0, 1, 1, 2, 3))
        if items:
            rows = rows or multiple_for(partitions, level) or 1
        elif isinstance(partition, RaggedFeature.ValueRowIds):
            rows = 0  # row ids have no words for empty rows at the end
        lengths = [0] * rows
        for _ in range(items):
            lengths[rng.randrange(rows)] += 1
        if items and isinstance(partition, RaggedFeature.ValueRowIds) and not lengths[-1]:
            full = next(row for row, length in enumerate(lengths) if length)
            lengths[-1], lengths[full] = lengths[full], 0
        lists[partition.key] = ("int64", numbers_of(partition, lengths))
        items = rows
    return lists


def multiple_for(partitions: Any, level: int) -> int:
    """Return what the number of items below a level must be a multiple of."""
    multiple = 1
    for partition in reversed(partitions[:level]):
        if not isinstance(partition, RaggedFeature.UniformRowLength):
            break
        multiple *= partition.length
    return multiple


def numbers_of(partition: Any, lengths: list[int]) -> list[int]:
    """Say lengths of rows in the way of a partition."""
    limits = [sum(lengths[: row + 1]) for row in range(len(lengths))]
    match partition:
        case RaggedFeature.RowLengths():
            return lengths
        case RaggedFeature.RowLimits():
            return limits
        case RaggedFeature.RowSplits():
            return [0, *limits]
        case RaggedFeature.RowStarts():
            return [0, *limits[:-1]] if limits else []
        case _:
            return [row for row, length in enumerate(lengths) for _ in range(length)]


LISTS: dict[type, Any] = {
    FixedLenFeature: dense_lists,
    FixedLenSequenceFeature: padded_lists,
    VarLenFeature: var_lists,
    SparseFeature: sparse_lists,
    RaggedFeature: ragged_lists,
}


# Messages


def write(
    rng: Random, features: dict[str, Any], lists: Lists, style: Style, *, faulty: bool
) -> bytes:
    """Write a message; a faulty one has a fault or two."""
    at_fault = rng.sample(sorted(lists), min(len(lists), rng.choice((1, 1, 2)))) if faulty else []
    row_ids = {
        part.key
        for spec in features.values()
        for part in getattr(spec, "partitions", ())
        if isinstance(part, RaggedFeature.ValueRowIds)
    }
    entries: list[bytes] = []
    for key, (dtype, values) in lists.items():
        fault = rng.choice(FAULTS) if key in at_fault else "none"
        if fault == "none":
            # TensorFlow writes past its memory for too many of such floats.
            may_be_loose = not isinstance(features.get(key), FixedLenFeature)
            loose = style.loose and may_be_loose and rng.random() < 0.5
            entries.append(entry(key, feature_of(dtype, values, loose=loose)))
        else:
            if fault == "one far" and key in row_ids:
                fault = "one changed"  # a far one would need memory for all rows before it
            entries += faulty_entries(rng, key, dtype, values, fault)
    if style.unknown_keys:
        entries.append(entry("unknown", building.ints(1, 2)))
        entries.insert(0, entry("un", rng.choice((building.strings(b"x"), NO_KIND))))
    if style.order == "shuffled":
        rng.shuffle(entries)
    odd = rng.choice(ODD) if style.odd and rng.random() < 0.3 else None
    data: bytes = building.example(*entries) if odd is None else odd(entries)
    return data[: rng.randrange(len(data) + 1)] if style.cut and rng.random() < 0.3 else data


def feature_of(dtype: str, values: list[Any], *, loose: bool = False) -> bytes:
    if loose and dtype == "int64":
        return building.ints_one_by_one(*values)
    if loose and dtype == "float32":
        fields = (building.field(1, 5, struct.pack("<f", value)) for value in values)
        return chunk(2, b"".join(fields))
    make: dict[str, Callable[..., bytes]] = {
        "float32": building.floats,
        "int64": building.ints,
        "string": building.strings,
    }
    return make[dtype](*values)


def faulty_entries(rng: Random, key: str, dtype: str, values: list[Any], fault: str) -> list[bytes]:
    """Return the entries of one key, with a fault."""
    more = [1] if dtype == "int64" else values_of(rng, dtype, 1)
    other = rng.choice([name for name in DTYPES if name != dtype])
    strange = feature_of(other, values_of(rng, other, rng.randrange(3)))
    broken = rng.choice((b"\xff", b"\x12\x05a", b"\x08", b"\x1a\x02\x0a\x05"))
    good = feature_of(dtype, values)
    features = {
        "missing": [],
        "no kind": [NO_KIND],
        "empty": [feature_of(dtype, [])],
        "other kind": [strange],
        "one more": [feature_of(dtype, values + more)],
        "one less": [feature_of(dtype, values[:-1])],
        "one changed": [feature_of(dtype, with_other(rng, dtype, values, (0, 1, 2, 3, -1)))],
        "one far": [feature_of(dtype, with_other(rng, dtype, values, FAR))],
        "twice": [strange, good],
        "twice, then no kind": [good, NO_KIND],
        "junk": [broken],
    }
    return [entry(key, feature) for feature in features[fault]]


FAR = (2**32, 2**32 + 1, -(2**31), 2**31, 10**15, 2**63 - 1, -(2**63))


def with_other(rng: Random, dtype: str, values: list[Any], numbers: tuple[int, ...]) -> list[Any]:
    """Return values of which one is another, if there are any."""
    other = list(values)
    if other:
        new = rng.choice(numbers) if dtype == "int64" else values_of(rng, dtype, 1)[0]
        other[rng.randrange(len(other))] = new
    return other


ODD: tuple[Any, ...] = (
    lambda entries: building.example(*entries) + UNKNOWN[0],
    lambda entries: UNKNOWN[1] + UNKNOWN[2] + building.example(*entries) + UNKNOWN[3],
    lambda entries: b"".join(building.example(one) for one in entries),
    lambda entries: building.example() + building.example(*entries),
    lambda entries: building.example(*entries) + GROUP,
    lambda entries: building.example(*entries, UNKNOWN[0]),
    lambda entries: building.example(*entries, chunk(1, value_of(NO_KIND) + key_of("back"))),
    lambda entries: building.example(*entries, chunk(1, key_of("only a key"))),
    lambda entries: building.example(*entries, chunk(1, b"")),
    lambda entries: building.example(*entries, entry(b"\xff", NO_KIND)),
    lambda entries: building.example(*entries) + b"\x00",
)
"""Unusual ways to write entries, legal or not."""
