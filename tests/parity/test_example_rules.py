"""Rules E, X, S, V, Z, G and W as data: messages, features, and what either side makes of them."""

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from tests.parity.answers import Answer, ask
from tests.parity.building import (
    NO_KIND,
    chunk,
    entry,
    example,
    field,
    floats,
    ints,
    ints_one_by_one,
    key_of,
    list_of,
    packed_floats,
    packed_ints,
    sequence,
    strings,
    value_of,
    varint,
)
from tests.parity.parsing import COPIES, Parsing, agree, error_name
from tests.parity.rules import deviation, parameters, rule
from tests.support.errors import raised
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.parse import parse_example, parse_single_example
from tfrecord_lite.messages import Example
from tfrecord_lite.schema import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)

RowSplits = RaggedFeature.RowSplits
RowLengths = RaggedFeature.RowLengths
RowStarts = RaggedFeature.RowStarts
RowLimits = RaggedFeature.RowLimits
ValueRowIds = RaggedFeature.ValueRowIds
Uniform = RaggedFeature.UniformRowLength

DTYPES = ["float32", "int64", "string"]
OTHERS = [(one, other) for one, other in product(DTYPES, DTYPES) if one != other]
MAKE: dict[str, Any] = {"float32": floats, "int64": ints, "string": strings}
SOME: dict[str, list[Any]] = {
    "float32": [1.5, -2.0, 0.0, 3.0, 4.0, 5.0],
    "int64": [1, -2, 0, 2**63 - 1, -(2**63), 5],
    "string": [b"x", b"", b"\xff\0", b"yy", b"z" * 300, b"w"],
}
NOTHING = example()
FLOAT, INT, STRING = map(VarLenFeature, DTYPES)
REJECTS = "InvalidArgumentError"
IGNORED = b"\x5a\x00"  # an unknown field: number 11, of no bytes
UNKNOWN = [
    field(11, 0, varint(300)), field(11, 1, bytes(8)), field(11, 2, varint(3) + b"abc"),
    field(11, 5, bytes(4)),
]  # fmt: skip
GROUP = field(11, 3) + field(1, 0, b"\x05") + field(11, 4)


@dataclass(frozen=True)
class Single:
    """A message that is asked about by itself only."""

    record: bytes


def record(dtype: str, n_values: int | None) -> bytes:
    """Return an Example whose feature "a" has that many values, or is missing if None."""
    return NOTHING if n_values is None else of(MAKE[dtype](*SOME[dtype][:n_values]))


def of(feature: bytes) -> bytes:
    return example(entry("a", feature))


def dense(shape: Any, dtype: str = "float32", default: Any = None) -> FixedLenFeature:
    return FixedLenFeature(shape, dtype, default)


def padded(shape: Any = (), dtype: str = "float32", default: Any = None) -> FixedLenSequenceFeature:
    return FixedLenSequenceFeature(list(shape), dtype, allow_missing=True, default_value=default)


def any_of(dtype: str, n_values: int = 1) -> list[Any]:
    """Return features of every class that read the key "a"."""
    var, ragged = VarLenFeature(dtype), RaggedFeature(dtype)
    return [FixedLenFeature([n_values], dtype), padded([], dtype), var, ragged]


def points(values: Sequence[float], *indices: Sequence[int]) -> bytes:
    """Return an Example of values "v" and their indices "i", "j", "k"."""
    keys = zip("ijk", indices, strict=False)
    return example(entry("v", floats(*values)), *(entry(key, ints(*at)) for key, at in keys))


def sparse(size: Any = 10, keys: Any = "i", *, is_sorted: bool = False) -> dict[str, Any]:
    return {"s": SparseFeature(keys, "v", "float32", size, already_sorted=is_sorted)}


IJ: dict[str, Any] = {"keys": ["i", "j"], "size": [10, 20]}


def rows(n_values: int, *partitions: Sequence[int]) -> bytes:
    """Return an Example of values 1, 2, ... "v", and partitions "n", "m"."""
    keyed = zip("nm", partitions, strict=False)
    values = floats(*range(1, n_values + 1))
    return example(entry("v", values), *(entry(key, ints(*part)) for key, part in keyed))


def ragged(*partitions: Any, **named: Any) -> dict[str, Any]:
    return {"r": RaggedFeature("float32", "v", partitions, **named)}


SAME: dict[Any, list[int]] = {
    RowSplits: [0, 1, 1, 3], RowLengths: [1, 0, 2], RowStarts: [0, 1, 1], RowLimits: [1, 1, 3],
    ValueRowIds: [0, 2, 2],
}  # fmt: skip
"""The rows [[1], [], [2, 3]], said in each way."""
INCONSISTENT: list[tuple[Any, list[int]]] = [
    *((RowSplits, numbers) for numbers in ([0, 1], [0, 2, 1, 3], [0, 9])),
    *((RowLengths, numbers) for numbers in ([1, 1], [4], [5, -2])),
    *((RowStarts, numbers) for numbers in ([1, 2], [0, 2, 1], [0, 9])),
    *((RowLimits, numbers) for numbers in ([1, 2], [4], [2, 1, 3])),
    (ValueRowIds, [0, 1, 0]),
]


def flat(answer: Answer) -> list[Any]:
    """Return the values of the first feature in an answer of either side."""
    assert answer.error is None, answer
    found = next(iter(answer.value.values()))
    found = getattr(found, "flat_values", getattr(found, "values", found))
    return np.asarray(found).ravel().tolist()


ONE = entry("a", floats(1))
BODY = example(ONE)


POWERS = [n for e in range(64) for n in (2**e - 1, 2**e, -(2**e)) if n < 2**63]
KEYS = ["a", "a\0", "A", "b", "", "ä", "a" * 40, "a" * 39 + "b", "a" * 8, "a" * 9, "\0"]
BY_KEY = [entry(key, ints(number)) for number, key in enumerate(KEYS)]
WORDS = [0x7FA12345, 0xFFA12345, 0x7FC00001, 0x80000000, 0, 1, 0x007FFFFF, 0x7F800000]
BROKEN = {
    "float32": chunk(2, chunk(1, bytes(3), length=8)),
    "int64": chunk(3, b"\x0a\x02\x80\x80"),
    "string": chunk(1, b"\x0a\x05abc"),
}


def read_alike() -> Iterator[tuple[str, Any, Any, Any]]:  # noqa: PLR0912, PLR0915 - a case for each rule
    """Give rule, messages, features, and values of the first feature (None: as TensorFlow)."""
    one: Any
    spec: Any
    for dtype in DTYPES:
        some = SOME[dtype]
        default = dense([2], dtype, some[1:3])
        yield "X1", record(dtype, 6), dense([2, 3], dtype), some
        for missing in (NOTHING, of(NO_KIND), b""):
            yield "X3", [record(dtype, 2), missing], default, some[:2] + some[1:3]
        none = np.empty([2, 0], "S1" if dtype == "string" else dtype)
        yield "X4", record(dtype, 0), dense([2, 0], dtype), []
        yield "X8", record(dtype, 0), dense([2, 0], dtype, none), []
        batch = [record(dtype, 2), NOTHING, record(dtype, 4), of(NO_KIND), record(dtype, 0)]
        yield "S2", batch, padded([2], dtype), None
        yield "S2", Single(batch[2]), padded([2], dtype), some[:4]
        values = some[:4] + some[:1] * 4
        yield "S4", [record(dtype, 4), NOTHING], padded([2], dtype, [[some[0]]]), values
        yield "V1", batch, VarLenFeature(dtype), some[:2] + some[:4]
        three = entry("i", ints(0, 9)) + entry("j", ints(19, 0)) + entry("k", ints(1, 1))
        given = example(entry("v", MAKE[dtype](*some[:2])), three)
        spec = {"s": SparseFeature(["k", "i", "j"], "v", dtype, [2, 10, 20])}
        yield "Z1", [given, NOTHING, given], spec, None
        values_of_v = example(entry("v", MAKE[dtype](*some[:2])))
        spec = {"r": RaggedFeature(dtype, "v")}
        yield "G1", [values_of_v, NOTHING, example(entry("v", NO_KIND))], spec, some[:2]
    for index, order in product(([7, 0, 3], [2, 0, 1]), permutations(range(3))):
        yield "Z2", points([1, 2, 3], [index[n] for n in order]), sparse(), None
    yield "Z6", points([1, 2], [3, 0]), {"s": SparseFeature("i", "i", "int64", 10)}, None

    for kind, numbers in SAME.items():
        whole = rows(3, numbers)
        yield "G2", [whole, NOTHING, whole], ragged(kind("n"), validate=True), [1, 2, 3, 1, 2, 3]
        yield "G8", [NOTHING] * 2, ragged(kind("n")), []
        yield "G3", rows(6, numbers), ragged(kind("n"), Uniform(2)), None
        yield "G3", whole, ragged(Uniform(1), Uniform(3), kind("n")), [1, 2, 3]
        far = [number + 2**32 for number in numbers]  # they wrap around in 32 bits
        yield "G2", rows(3, far), ragged(kind("n")), [1, 2, 3]
    yield "G3", Single(rows(0)), ragged(Uniform(0)), []
    # The first split of a message in a batch is not looked at.
    batch = [rows(3, [1, 3]), rows(2, [9, 1, 2]), rows(3, [0, 1, 3])]
    yield "G5", batch, ragged(RowSplits("n"), validate=True), None
    ids = ragged(ValueRowIds("n"))
    yield "G5", [rows(2, [1, 4]), NOTHING, rows(1, [0]), rows(2, [2, 2])], ids, [1, 2, 1, 1, 2]
    yield "G5", Single(rows(2, [0, 10**5])), ids, [1, 2]

    yield "W1", BODY + IGNORED + example() + example(entry("b", ints(2))), FLOAT, [1]
    yield "W1", BODY + example(entry("b", ints(2))), {"b": INT, "a": FLOAT}, [2]
    yield "W1", BODY + of(floats(2, 3)), FLOAT, [2, 3]
    for earlier in (floats(9), ints(1, 2), floats(), NO_KIND):
        twice_a = example(entry("a", earlier), entry("b", ints(7)), entry("a", floats(1, 2)))
        for one in any_of("float32", 2):
            yield "W2", twice_a, one, [1, 2]
    for unknown in UNKNOWN:
        for one in (unknown + BODY, BODY + unknown, unknown * 2 + BODY + unknown):
            yield "W4", one, FLOAT, [1]
    yield "W4", field(1, 0, b"\x05") + BODY, FLOAT, [1]
    for n_bytes in (1, 2, 5, 10):
        loose = field(1, 0, varint(5, n_bytes)) + field(1, 0, varint(-1))
        yield "W6", of(chunk(3, loose)), INT, [5, -1]
    backwards = chunk(1, value_of(floats(1)) + key_of("a"))
    yield "W7", example(backwards), FLOAT, [1]
    yield "W7", example(backwards, entry("a", floats(2))), FLOAT, [2]
    by_key = {key: FixedLenFeature([], "int64", -1) for key in KEYS}
    yield "W8", example(*BY_KEY), by_key, [0]
    yield "W8", example(*BY_KEY[1:]), by_key, [-1]
    yield "W10", of(NO_KIND), INT, []
    yield "W10", of(NO_KIND), dense([1], "string", [b"d"]), [b"d"]
    yield "W11", of(floats(1.5)), FLOAT, [1.5]
    for other in (UNKNOWN[0], UNKNOWN[2], GROUP):
        yield "W12", example(entry("b", other), ONE), FLOAT, [1]
    unpacked = chunk(2, b"".join(field(1, 5, struct.pack("<f", x)) for x in (1, 2, 3)))
    yield "W13", of(unpacked), FLOAT, [1, 2, 3]
    yield "W13", of(ints_one_by_one(*POWERS)), INT, POWERS
    yield "W13", of(chunk(3, chunk(1, b""))), INT, []
    yield "W16", of(ints(*POWERS)), INT, POWERS
    yield "W16", of(chunk(3, chunk(1, b"\xff" * 9 + b"\x7f"))), INT, [-1]  # excess bits
    yield "W16", of(chunk(3, chunk(1, b"\x80" * 9 + b"\x7e"))), INT, [0]
    for words in ([], [b""], [b"", b"a", b""], [bytes(range(256)) * 9]):
        yield "W17", of(strings(*words)), STRING, words
    for broken in (b"\xff", b"\x12\xff", chunk(2, b"\x0a\x03abc"), b"\x08\x01", b"\x0b"):
        yield "W19", example(entry("b", broken), ONE, entry("a\0", broken)), FLOAT, [1]
    bits = of(chunk(2, chunk(1, struct.pack(f"<{len(WORDS)}I", *WORDS))))
    for spec in any_of("float32", len(WORDS)):
        yield "W21", bits, spec, None


@pytest.mark.parametrize(("records", "specs", "expected"), parameters(read_alike()))
def test_both_read_the_same(parsing: Parsing, records: Any, specs: Any, expected: Any) -> None:
    specs = specs if isinstance(specs, dict) else {"a": specs}
    if isinstance(records, bytes | Single):
        found = parsing.single(getattr(records, "record", records), specs)
    if not isinstance(records, Single):
        found = parsing.batch(records if isinstance(records, list) else [records], specs)
    if expected is not None:
        assert flat(Answer(found)) == expected


def rejected() -> Iterator[tuple[Any, ...]]:  # noqa: C901, PLR0912 - a case for each rule
    """Give rule, messages of which the last is wrong, features, reason, TensorFlow's class."""
    spec: Any
    for dtype in DTYPES:
        some, one = SOME[dtype], record(dtype, 1)
        for missing in (NOTHING, of(NO_KIND), b""):
            yield "X3", missing, dense([2], dtype), Reason.MISSING
        for default in (None, some[:1]):
            yield "X4", record(dtype, 0), dense([1], dtype, default), Reason.WRONG_COUNT
        for n_values, shape in ((3, [2]), (1, [2]), (2, []), (5, [2, 3]), (1, [0])):
            bad, good = record(dtype, n_values), record(dtype, int(np.prod(shape)))
            yield "X5", [good] * 35 + [bad], dense(shape, dtype), Reason.WRONG_COUNT
        none = np.empty([2, 0], "S1" if dtype == "string" else dtype)
        yield "X8", NOTHING, dense([2, 0], dtype, none), Reason.MISSING
        for batch in ([record(dtype, 1)], [record(dtype, 4)] * 36 + [record(dtype, 5)]):
            yield "S3", batch, padded([2], dtype), Reason.WRONG_COUNT
        for spec in any_of(dtype):
            yield "W18", [one] * 33 + [of(BROKEN[dtype])], spec, Reason.MALFORMED
        broken = example(entry("a", BROKEN[dtype]), entry("i", ints(0)))
        yield "W18", broken, {"s": SparseFeature("i", "a", dtype, 10)}, Reason.MALFORMED
    for (dtype, other), n_values in product(OTHERS, (0, 1)):
        bad = record(other, n_values)
        for spec in (*any_of(dtype)[:2], dense([1], dtype, SOME[dtype][:1])):
            yield "X6", [record(dtype, 1)] * 35 + [bad], spec, Reason.WRONG_KIND
        for spec in any_of(dtype)[2:]:
            yield "V2", [record(dtype, 1)] * 35 + [bad], spec, Reason.WRONG_KIND
    yield "S1", record("float32", 2), FixedLenSequenceFeature([], "float32"), Reason.UNSUPPORTED, "ValueError"  # fmt: skip

    for values, index in (([1, 2, 3], [1, 1]), ([], [1]), ([1, 2], [0, 1, 2])):
        yield "Z4", points(values, index), sparse(), Reason.BAD_INDEX, "ValueError"
    yield "Z4", points([1, 2], [1, 2], [1]), sparse(**IJ), Reason.BAD_INDEX

    yield "G3", rows(3), ragged(Uniform(0)), Reason.BAD_PARTITION
    yield "G4", rows(2), ragged(Uniform(-1)), Reason.BAD_ARGUMENT
    for ids in ([], [0], [0, 0, 1, 1]):
        yield "G6", rows(3, ids), ragged(ValueRowIds("n")), Reason.BAD_PARTITION, "ValueError"
    yield "G6", rows(3, [0, -1, 2]), ragged(ValueRowIds("n")), Reason.BAD_PARTITION
    for kind, numbers in INCONSISTENT:
        yield "G7", rows(3, numbers), ragged(kind("n"), validate=True), Reason.BAD_PARTITION
    for kind in (RowSplits, RowLengths, RowLimits):
        yield "G8", rows(3), ragged(kind("n"), validate=True), Reason.BAD_PARTITION

    for junk in (b"\0", field(11, 4), field(11, 6), field(11, 7), b"\x80", b"\x5a", b"\x59\0"):
        yield "W4", BODY + junk, FLOAT, Reason.MALFORMED
    yield "W6", b"\x0a" + b"\x80" * 10 + b"\x01" + ONE, FLOAT, Reason.MALFORMED
    yield "W6", chunk(1, ONE, length=len(ONE) - 1), FLOAT, Reason.MALFORMED
    for wrong in (2**31, 2**63, 2**64 - 1, 200):
        key, value = chunk(1, b"a", length=wrong), chunk(2, floats(1), length=wrong)
        yield "W6", example(chunk(1, key + value_of(floats(1)))), FLOAT, Reason.MALFORMED
        yield "W6", example(chunk(1, key_of("a") + value)), FLOAT, Reason.MALFORMED
    yield "W10", of(NO_KIND), dense([1]), Reason.MISSING
    for length in (8, 100, 10**6):
        for spec in (FLOAT, dense([1])):
            bad = of(chunk(2, chunk(1, bytes(4), length=length)))
            yield "W15", bad, spec, Reason.MALFORMED
    for data in (b"\x80", b"\x01\xff\xff", b"\x80" * 10 + b"\x01", b"\xff" * 11):
        yield "W16", of(chunk(3, chunk(1, data))), INT, Reason.MALFORMED
        yield "W16", of(chunk(3, b"\x08" + data)), INT, Reason.MALFORMED
    for cut in (b"\x0a", b"\x0a\x02x", b"\x0a\x01x\x0a\x05"):
        yield "W17", of(chunk(1, cut)), STRING, Reason.MALFORMED


@pytest.mark.parametrize(("records", "specs", "reason", "theirs"), parameters(rejected(), None))
def test_both_reject(parsing: Parsing, records: Any, specs: Any, reason: Any, theirs: Any) -> None:
    records = records if isinstance(records, list) else [records]
    specs = specs if isinstance(specs, dict) else {"a": specs}
    if reason is Reason.MALFORMED and len(records) == 1:
        raised(Exception, Example.FromString, records[0], match=r"(?i)pars")
    error = parsing.rejected(records, specs, reason=reason, theirs=theirs)
    assert error.index in {None, len(records) - 1}


def differing() -> Iterator[tuple[str, Any, Any, Any, Any]]:  # noqa: C901, PLR0912, PLR0915 - a case for each rule
    """Give rule, messages, features, and what TensorFlow and we make of them.

    That is the values of the first feature, or the class of an error, or our reason.
    """
    bad = Reason.MALFORMED
    spec: Any
    yield "E2", NOTHING, {b"a": INT}, [], TypeError
    yield "E2", record("float32", 1), {"a": np.float32}, "ValueError", [1.5]
    for dtype, default in (
        ("float32", [1, "x"]), ("float32", np.array(["x"])), ("string", ["x", 1])
    ):  # fmt: skip
        yield "X7", Single(NOTHING), dense([len(default)], dtype, default), "ValueError", TypeError
    number: Any = FixedLenSequenceFeature(2, "float32", allow_missing=True)
    none: Any = FixedLenSequenceFeature(None, "float32", allow_missing=True)
    yield "S2", [record("float32", 2)], number, "TypeError", SOME["float32"][:2]
    yield "S2", [record("float32", 2)], none, "TypeError", InvalidArgumentError

    for index, is_sorted in product((10, 11, -1, 2**61, -(2**62)), (False, True)):
        spec = sparse(is_sorted=is_sorted)
        yield "Z3", points([1], [index]), spec, [1], Reason.BAD_INDEX
        batch = [points([1], [3])] * 40 + [points([1, 1], [4, index])]
        yield "Z3", batch, spec, [1] * 42, Reason.BAD_INDEX
        yield "Z3", points([1], [0], [2 * index]), sparse(**IJ), [1], Reason.BAD_INDEX
    # Numbers are compared message by message here.
    yield "Z4", [points([1], [1, 2]), points([2, 3], [4])], sparse(), [1, 2, 3], Reason.BAD_INDEX

    crossing: list[tuple[str, Any, list[bytes], list[int]]] = [
        ("G4", [Uniform(2)], [rows(1), rows(1)], [1, 1]),
        ("G4", [Uniform(2)], [rows(3), rows(1)], [1, 2, 3, 1]),
        ("G4", [Uniform(2), RowLengths("n")], [rows(3, [1] * 3), rows(1, [1])], [1, 2, 3, 1]),
        ("G6", [RowLengths("n")], [rows(3, [2]), rows(1, [2])], [1, 2, 3, 1]),
        ("G6", [RowStarts("n")], [rows(2, [0]), rows(2, [1])], [1, 2, 1, 2]),
        ("G6", [RowSplits("n")], [rows(2, [0, 1]), rows(2, [0, 2])], [1, 2, 1, 2]),
        ("G6", [RowLimits("n")], [rows(2, [1]), rows(2, [2])], [1, 2, 1, 2]),
    ]
    for (name, parts, batch, values), validate in product(crossing, (False, True)):
        yield name, batch, ragged(*parts, validate=validate), values, Reason.BAD_PARTITION
    for kind, numbers in INCONSISTENT:
        spec = ragged(kind("n"))
        yield "G6", rows(3, numbers), spec, [1, 2, 3], Reason.BAD_PARTITION
        batch = [rows(3, SAME[kind])] * 40 + [rows(3, numbers)]
        yield "G6", batch, spec, [1, 2, 3] * 41, Reason.BAD_PARTITION
    yield "G6", Single(rows(3, [1, 3])), ragged(RowSplits("n")), [1, 2, 3], Reason.BAD_PARTITION
    no_rows = ragged(Uniform(0), RowLengths("n"))
    yield "G6", Single(rows(3, [3])), no_rows, [1, 2, 3], InvalidArgumentError
    yield "G8", Single(NOTHING), ragged(RowSplits("n"), validate=True), REJECTS, []
    for kind in (RowSplits, RowLengths, RowLimits, RowStarts):
        yield "G8", rows(3), ragged(kind("n")), [1, 2, 3], Reason.BAD_PARTITION
    by = ragged(RowStarts("n"), validate=True)  # nor does it help TensorFlow to validate
    yield "G8", rows(3), by, [1, 2, 3], Reason.BAD_PARTITION

    for earlier in (chunk(2, chunk(1, b"\0\0\x80\x3f", length=99)), chunk(3, b"\x0a\x01\xff")):
        twice = example(entry("a", earlier), entry("b", ints(7)), entry("a", floats(1, 2)))
        for spec in any_of("float32", 2):
            yield "W2", twice, spec, [1, 2], bad
    then_none = example(ONE, entry("a", NO_KIND))
    yield "W3", Single(then_none), FLOAT, [1], []
    yield "W3", Single(then_none), RaggedFeature("float32"), [1], []
    yield "W3", then_none, dense([1], "float32", [5]), [1], [5]
    yield "W3", then_none, padded(), [1], []
    yield "W3", [then_none], dense([1]), [1], Reason.MISSING
    yield "W4", b"bogus", FLOAT, [], bad
    yield "W4", BODY + chunk(11, b"abc", length=4), FLOAT, [1], bad
    yield "W4", b"\0\0" + BODY, FLOAT, [1], bad  # there is no field 0
    yield "W4", BODY + GROUP, FLOAT, REJECTS, [1]
    yield "W4", GROUP + BODY, FLOAT, REJECTS, [1]
    yield "W4", b"\x8a\0" + BODY[1:], FLOAT, [], [1]
    for unknown in (*UNKNOWN, GROUP):
        for content in (unknown + ONE, ONE + unknown, ONE + b"\x8a\0" + entry("b", ints(1))[1:]):
            yield "W5", chunk(1, content), FLOAT, REJECTS, [1]
        yield "W12", of(unknown + floats(1)), FLOAT, REJECTS, [1]
        yield "W12", of(unknown), FLOAT, REJECTS, []
        yield "W12", example(entry("a", unknown), ONE), FLOAT, REJECTS, [1]
    yield "W12", of(b"\x92\0" + floats(1)[1:]), FLOAT, REJECTS, [1]
    for too_long in (5, 2**31, 2**63):
        yield "W6", chunk(1, b"", length=too_long), FLOAT, [], bad
        yield "W6", chunk(1, ONE, length=100 + too_long), FLOAT, [1], bad
    a, b, one = key_of("a"), key_of("b"), value_of(floats(1))
    odd_entries: list[tuple[bytes, list[float]]] = [
        (b"", []), (a, []), (one, []), (a + one + IGNORED, []), (IGNORED + a + one, []),
        (b + a + one, [1]), (a + one + value_of(floats(2)), [1, 2]),
        (b + a + value_of(ints(1)) + value_of(floats(2)), [2]),
    ]  # fmt: skip
    for content, values in odd_entries:
        yield "W7", example(chunk(1, content)), FLOAT, REJECTS, values
    yield "W7", example(chunk(1, one + value_of(floats(2)))), {"": FLOAT}, [2], [1, 2]
    for name in (b"\xff", b"a\x80", b"\xed\xa0\x80"):
        yield "W8", example(ONE, entry(name, ints(1))), FLOAT, [1], bad
    two_kinds = of(ints(1) + floats(2))
    yield "W11", of(floats(1) + floats(2, 3)), FLOAT, [1], [1, 2, 3]
    yield "W11", [two_kinds], INT, [1], Reason.WRONG_KIND
    yield "W11", two_kinds, FLOAT, REJECTS, [2]
    yield "W11", of(floats(1) + ints(5) + floats(2)), FLOAT, [1], [2]
    yield "W11", of(floats(1) + GROUP + IGNORED), FLOAT, [1], [1]
    for junk in (b"\0", b"\xff", b"\x0b", b"\x12\x05"):
        yield "W11", of(floats(1) + junk), FLOAT, [1], bad
    first, loose = packed_floats(1), field(1, 5, struct.pack("<f", 4))
    many, single = packed_ints(1, 2), field(1, 0, varint(300))
    in_lists: list[tuple[int, bytes, Any, Any]] = [
        (2, first + packed_floats(2, 3), [1], [1, 2, 3]), (2, first + loose, [1], [1, 4]),
        (2, first + IGNORED, [1], [1]), (2, first + GROUP + first, [1], [1, 1]),
        (2, loose + first, REJECTS, [4, 1]), (2, IGNORED + first, REJECTS, [1]),
        (2, GROUP + first, REJECTS, [1]), (2, first + b"\xff", [1], bad),
        (3, many + many, [1, 2], [1, 2, 1, 2]), (3, many + single, [1, 2], [1, 2, 300]),
        (3, single + many, REJECTS, [300, 1, 2]), (3, IGNORED + single, REJECTS, [300]),
        (3, packed_ints(1) + b"\0", [1], bad),
    ]  # fmt: skip
    for kind, content, theirs, ours in in_lists:
        yield "W13", of(chunk(kind, content)), FLOAT if kind == 2 else INT, theirs, ours
    for n_extra, spec in product((1, 2, 3), (FLOAT, dense([2]))):
        data = struct.pack("<2f", 1, 2) + b"\x7f" * n_extra
        yield "W14", of(chunk(2, chunk(1, data))), spec, [1, 2], bad
    for length in (5, 7):
        yield "W15", of(chunk(2, chunk(1, bytes(4), length=length))), FLOAT, [0], bad
    for length in (3, 100, 2**31):
        yield "W15", of(chunk(3, chunk(1, b"\x01\x02", length=length))), INT, [1, 2], bad
    x = chunk(1, b"x")
    for content, words in (
        (IGNORED + x, [b"x"]), (x + UNKNOWN[0], [b"x"]), (x + GROUP + x, [b"x", b"x"]),
        (field(1, 0, b"\x05") + x, [b"x"]), (x + b"\x8a\0\x01y", [b"x", b"y"]),
    ):  # fmt: skip
        yield "W17", of(chunk(1, content)), STRING, REJECTS, words


def assert_is(answer: Answer, wanted: Any) -> None:
    """Check that an answer of either side has these values, or is this error."""
    if isinstance(wanted, list):
        assert flat(answer) == wanted
    elif isinstance(wanted, Reason):
        assert isinstance(answer.error, InvalidArgumentError), answer
        assert answer.error.reason is wanted
    elif isinstance(wanted, str):
        assert error_name(answer) == wanted, answer
    else:
        assert isinstance(answer.error, wanted), answer


@pytest.mark.parametrize(
    ("records", "specs", "theirs", "ours"), parameters(differing(), mark=deviation)
)
def test_we_differ(parsing: Parsing, records: Any, specs: Any, theirs: Any, ours: Any) -> None:
    spec = None if isinstance(specs, dict) else specs
    specs = specs if spec is None else {"a": spec}
    answers = []
    if isinstance(records, bytes | Single):
        one: Any = getattr(records, "record", records)
        answers.append(parsing.ask_single(one, specs))
        if ours is Reason.MALFORMED:
            raised(Exception, Example.FromString, one, match=r"(?i)pars")
        elif isinstance(spec, VarLenFeature) and isinstance(ours, list):
            found = Example.FromString(one).features.feature["a"]
            kind = found.WhichOneof("kind")
            assert ours == (list(getattr(found, kind).value) if kind else [])
        for copies in () if isinstance(records, Single) else COPIES:
            wanted = ours * copies if isinstance(ours, list) else ours
            assert_is(ask(parse_example, [one] * copies, specs), wanted)
    if not isinstance(records, Single):
        batch = records if isinstance(records, list) else [records]
        answers.append(parsing.ask_batch(batch, specs))
    for their_answer, our_answer in answers:
        assert_is(their_answer, theirs)
        assert_is(our_answer, ours)


def never_asked() -> Iterator[tuple[str, bytes, Any, Reason]]:
    """Give what TensorFlow dies of, or takes all memory for."""
    for shape, n_values in product(([0], [2, 0]), (None, 0, 2)):
        yield "S5", record("float32", n_values), padded(shape), Reason.BAD_ARGUMENT
    for far in (2**31 - 2, 2**40, 2**63 - 1):
        spec = ragged(ValueRowIds("n"), row_splits_dtype="int64")
        yield "G5", rows(2, [0, far]), spec, Reason.BAD_PARTITION
    for length in (2**31, 2**32 - 1):
        data = of(chunk(2, chunk(1, bytes(4), length=length)))
        yield "W15", data, FLOAT, Reason.MALFORMED
    for n_values in (2, 10, 200):
        loose = field(1, 5, struct.pack("<f", 1)) * n_values
        yield "W20", of(chunk(2, loose)), dense([1]), Reason.WRONG_COUNT


@pytest.mark.parametrize(("one", "specs", "reason"), parameters(never_asked(), mark=deviation))
def test_we_reject_what_is_not_for_tensorflow(one: bytes, specs: Any, reason: Reason) -> None:
    specs = specs if isinstance(specs, dict) else {"a": specs}
    for copies in (1, *COPIES):
        assert_is(ask(parse_example, [one] * copies, specs), reason)
    assert_is(ask(parse_single_example, one, specs), reason)


@rule("E1", "Q1")
def test_one_message_or_a_vector_of_them(parsing: Parsing, sequences: Parsing) -> None:
    steps = list_of("s", floats(1), floats(2))
    lists = {"s": FixedLenSequenceFeature([1], "float32")}
    specs: Any
    for asked, one, specs, key in (
        (parsing, record("float32", 1), ({"a": dense([1])},), "a"),
        (sequences, sequence(b"", steps), (None, lists), "list s"),
    ):
        for given in (one, np.array(one, object), np.bytes_(one)):
            shape = asked.single(given, *specs)[key].shape
            assert asked.batch(given, *specs)[key].shape == shape  # a scalar gives single results
        for many in ([one, one], (one, one), np.array([one, one], object)):
            assert asked.batch(many, *specs)[key].shape == (2, *shape)
            theirs, ours = asked.ask_single(many, *specs)
            assert type(theirs.error) is ValueError
            agree(theirs, ours)
        for deep in ([[one]], np.array([[one]], object)):
            theirs, ours = asked.ask_batch(deep, *specs)
            assert error_name(theirs) == REJECTS
            agree(theirs, ours)
        for text in ("", [""]):
            asked.batch(text, {"a": INT})


@deviation("E1")
def test_bytes_in_any_object_are_taken_here_and_others_are_type_errors(parsing: Parsing) -> None:
    given, specs = bytearray(record("float32", 1)), {"a": dense([1])}
    for answers in (parsing.ask_single(given, specs), parsing.ask_batch(given, specs)):
        assert [type(answer.error) for answer in answers] == [ValueError, type(None)]
    for wrong in (5, None, [5], [None]):
        theirs, ours = parsing.ask_batch(wrong, specs)
        assert type(theirs.error) in {ValueError, TypeError}
        assert type(ours.error) is TypeError


@rule("E3")
def test_example_names_have_the_shape_of_the_messages(parsing: Parsing) -> None:
    specs = {"a": dense([1])}
    one = record("float32", 1)
    names: Any
    for names in ([], None, "n"):
        parsing.single(one, specs, example_names=names)
    for names in ([], None, ["n", "m"], np.array(["n", "m"])):
        parsing.batch([one, one], specs, example_names=names)
    wrong: list[tuple[Any, Any, Any]] = [
        (parsing.ask_single, one, ["n"]), (parsing.ask_single, one, ["n", "m"]),
        (parsing.ask_batch, one, ["n"]), (parsing.ask_batch, [one], "n"),
        (parsing.ask_batch, [one], [["n"]]), (parsing.ask_batch, [one, one], ["n"]),
        (parsing.ask_batch, [one, one], "nm"), (parsing.ask_batch, [], ["n"]),
    ]  # fmt: skip
    for asking, given, names in wrong:
        theirs, ours = asking(given, specs, example_names=names)
        assert error_name(theirs) == REJECTS
        assert_is(ours, Reason.BAD_ARGUMENT)
    records = [record("float32", n) for n in (1, 2, 1)]
    for answer in parsing.ask_batch(records, specs, example_names=["n0", "n1", "n2"]):
        assert re.search(r"\bn1\b", str(answer.error))
        assert not re.search(r"\bn[02]\b", str(answer.error))


@rule("E5")
@pytest.mark.parametrize("n_messages", [3, 60])
@pytest.mark.parametrize("bad", [None, 2])
@pytest.mark.parametrize("last", [NOTHING, record("float32", 2), of(ints(1)), b"\xff"])
def test_an_error_is_that_of_the_first_message_that_is_wrong(
    parsing: Parsing, n_messages: int, bad: int | None, last: bytes
) -> None:
    records = [record("float32", 1)] * n_messages
    records[n_messages // 2], records[-1] = record("float32", bad), last
    reason = Reason.MISSING if bad is None else Reason.WRONG_COUNT
    error = parsing.rejected(records, {"b": STRING, "a": dense([1])}, reason=reason)
    assert (error.index, error.key) == (n_messages // 2, "a")


@deviation("E5")
def test_of_several_faults_of_a_message_another_may_be_told_here(parsing: Parsing) -> None:
    theirs, ours = parsing.ask_batch(
        [example(entry("b", ints(1)))], {"a": dense([1]), "b": dense([1])}
    )
    assert "Key: b" in str(theirs.error)
    assert_is(ours, Reason.MISSING)


@rule("E4", "E6")
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_batch_of_no_messages(parsing: Parsing, dtype: str) -> None:
    specs = {
        "scalar": FixedLenFeature([], dtype), "dense": FixedLenFeature([2, 3], dtype),
        "padded": padded([2], dtype), "var": VarLenFeature(dtype),
        "sparse": SparseFeature(["i", "j"], "v", dtype, [5, 6]), "ragged": RaggedFeature(dtype),
        "deep": RaggedFeature(dtype, "w", [RowLengths("n"), Uniform(2)]),
    }  # fmt: skip
    found = parsing.batch([], specs)
    assert (type(found), set(found)) == (dict, set(specs))
    assert found["padded"].shape == (0, 0, 2)


@rule("Z2")
@deviation("Z2")
def test_entries_of_one_index_stay_in_their_order_of_many_too_here(parsing: Parsing) -> None:
    for order, is_sorted in product(permutations((0, 0, 3, 1)), (False, True)):
        one = points([1, 2, 3, 4], [5, 2, 2, 0], order)
        for specs in (sparse(is_sorted=is_sorted), sparse(**IJ, is_sorted=is_sorted)):
            agree(*parsing.ask_single(one, specs))
    one = points(list(range(100)), [number % 3 for number in range(100)])
    theirs, ours = map(flat, parsing.ask_single(one, sparse()))
    assert ours == sorted(range(100), key=lambda number: number % 3)
    assert theirs != ours
    assert sorted(theirs) == sorted(ours)


@deviation("W9")
def test_an_error_is_ours_where_tensorflow_fails_to_word_its_own(parsing: Parsing) -> None:
    for bad in (b"\xff", b"\xc3(", b"\xf0" * 5):
        for theirs, ours in (
            parsing.ask_single(bad, {"a": FLOAT}),
            parsing.ask_batch([bad], {"a": FLOAT}),
        ):
            assert type(theirs.error) is UnicodeDecodeError
            assert type(ours.error) is InvalidArgumentError
