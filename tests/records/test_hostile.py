"""Input made to cost too much: what it takes grows with its size, and no faster."""

import bz2
import contextlib
import gzip
import io
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.example_messages import len_field, plain, plain_sequence, varint
from tests.support.reference_example import FLOAT, INT64, Feature, Sequence
from tfrecord_lite.apps.events import read_events
from tfrecord_lite.errors import Reason
from tfrecord_lite.messages import Event, Summary
from tfrecord_lite.records.framing import frame

PARSE = tl.ExampleParser(
    {"a": tl.VarLenFeature("float32"), "b": tl.FixedLenFeature([], "int64", default_value=0)}
)
PARSE_SEQUENCE = tl.SequenceExampleParser(
    {},
    {
        "a": tl.VarLenFeature("float32"),
        "p": tl.FixedLenSequenceFeature([], "int64", allow_missing=True),
    },
)
NUMBER, FLOATS = Feature(INT64, (1,)), Feature(FLOAT, (1,) * 9)


def example(n: int) -> bytes:
    return plain({b"k%d" % i: NUMBER for i in range(n)})


def steps(n: int) -> bytes:
    return plain_sequence(Sequence({}, {b"a": [Feature(FLOAT, ())] * n}))


def lists(n: int) -> bytes:
    return plain_sequence(Sequence({}, {b"k%d" % i: [NUMBER] for i in range(n)}))


def file_of(records: list[bytes]) -> bytes:
    return bytes(frame(records))


def tag(i: int) -> Summary.Value:
    return Summary.Value(tag=f"tag {i}", simple_value=1)


def event(*values: Summary.Value) -> bytes:
    return Event(summary=Summary(value=values)).SerializeToString()


def count_blocks(data: bytes) -> int:
    return sum(len(block) for block in tl.TFRecordReader(io.BytesIO(data)).blocks())


class Case(NamedTuple):
    """An input of a size, and what reads it."""

    make: Callable[[int], Any]
    read: Callable[[Any], object]
    n: int
    most: int = 64
    """Bytes of memory that a byte of input may take."""
    rejected: Reason | None = None
    """Why it is rejected; None if it is read."""
    growth: int = 5
    """By how much four times the input may multiply the work."""


CASES = {
    "an Example of many features": Case(lambda n: [example(n)], PARSE, 5000),
    "many features, decoded": Case(lambda n: [example(n)], tl.decode_examples, 1000),
    "many features in a batch": Case(lambda n: [example(n // 40)] * 40, tl.decode_examples, 800),
    "a key of its own in each record": Case(
        lambda n: [plain({b"k%d" % i: NUMBER}) for i in range(n)], tl.decode_examples, 1000
    ),
    "keys nobody asked for": Case(
        lambda n: [plain({b"k%d" % i: NUMBER}) for i in range(n)], PARSE, 1000
    ),
    "keys to infer": Case(
        lambda n: file_of([plain({b"k%d" % i: NUMBER}) for i in range(n)]),
        lambda data: tl.infer_schema(io.BytesIO(data)),
        150,
        most=100,
    ),
    "one feature again and again": Case(
        lambda n: [plain({b"a": FLOATS}) * (n // 40)] * 40, PARSE, 10_000
    ),
    "floats that are not packed": Case(
        lambda n: [plain({b"a": Feature(FLOAT, ())}) + unpacked(n)], PARSE, 50_000
    ),
    "groups in groups": Case(
        lambda n: [b"\xa3\x06" * n + b"\xa4\x06" * n], PARSE, 10_000, rejected=Reason.MALFORMED
    ),
    "many groups": Case(
        lambda n: [(b"\xa3\x06" * 50 + b"\xa4\x06" * 50) * (n // 50)] * 40, PARSE, 100
    ),
    "long keys": Case(lambda n: [plain({b"k" * n: NUMBER})] * 20, tl.decode_examples, 100_000),
    "unknown fields": Case(lambda n: [b"\x20\x01" * (n // 40)] * 40, PARSE, 10_000),
    "empty records": Case(lambda n: file_of([b""] * n), count_blocks, 10_000),
    "many steps": Case(lambda n: [steps(n // 40)] * 40, PARSE_SEQUENCE, 10_000),
    "many steps of one record": Case(lambda n: [steps(n)], PARSE_SEQUENCE, 2000, most=80),
    "many lists": Case(lambda n: [lists(n // 40)] * 40, tl.decode_sequence_examples, 2000),
    "many tags": Case(
        lambda n: file_of([event(tag(i)) for i in range(n)]),
        lambda data: read_events(io.BytesIO(data)),
        1500,
    ),
    "many values of one event": Case(
        lambda n: file_of([event(*map(tag, range(n)))]),
        lambda data: read_events(io.BytesIO(data)),
        1000,
        most=100,
    ),
    "many dimensions": Case(
        lambda n: tl.serialize_tensor(1)[:2] + len_field(2, b"\x12\x02\x08\x01" * n),
        tl.parse_tensor,
        2000,
        rejected=Reason.BAD_SHAPE,
    ),
    "JSON in JSON": Case(
        lambda n: '{"features":' + "[" * n + "]" * n + "}",
        tl.Schema.from_json,
        10_000,
        rejected=Reason.BAD_ARGUMENT,
    ),
}


def unpacked(n: int) -> bytes:
    feature = len_field(2, len_field(2, b"\x0d\0\0\0\0" * n))
    return len_field(1, len_field(1, len_field(1, b"a") + feature))


class Work(NamedTuple):
    """What it takes to read an input."""

    steps: int
    """Lines of Python, and calls of C."""
    allocated: int
    """Bytes, those included that were freed meanwhile."""


def work_of(read: Callable[[Any], object], data: Any) -> Work:
    """Count the work; what one call of C allocates counts at its peak."""
    steps = allocated = held = 0

    def trace(_frame: object, event: str, _argument: object) -> Any:
        nonlocal steps
        steps += event == "line"
        return trace

    def profile(_frame: object, event: str, _argument: object) -> None:
        nonlocal steps, allocated, held
        steps += event == "c_call"
        now, peak = tracemalloc.get_traced_memory()
        allocated += peak - held
        held = now
        tracemalloc.reset_peak()

    tracemalloc.start()
    before = sys.getprofile(), sys.gettrace()  # coverage's
    sys.setprofile(profile)
    sys.settrace(trace)
    try:
        with contextlib.suppress(tl.TFRecordError):
            read(data)
    finally:
        sys.setprofile(before[0])
        sys.settrace(before[1])
        tracemalloc.stop()
    return Work(steps, allocated)


def outcome(read: Callable[[Any], object], data: Any) -> Reason | None:
    try:
        read(data)
    except tl.TFRecordError as error:
        return error.reason
    return None


def peak_of(read: Callable[[Any], object], data: Any) -> int:
    tracemalloc.start()
    try:
        with contextlib.suppress(tl.TFRecordError):
            read(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_an_input_takes_grows_with_its_size(name: str) -> None:
    case = CASES[name]
    small, large = case.make(case.n), case.make(4 * case.n)
    for data in (small, large):  # what is loaded on first use is not counted
        assert outcome(case.read, data) is case.rejected
    n_bytes = len(large) if isinstance(large, bytes | str) else sum(map(len, large))
    less, more = work_of(case.read, small), work_of(case.read, large)
    assert more.steps <= case.growth * less.steps + 1000
    assert more.allocated <= case.growth * less.allocated + 2**20
    peak = peak_of(case.read, large)
    assert peak <= 5 * peak_of(case.read, small) + 2**20
    assert peak <= case.most * n_bytes + 2**20


@pytest.mark.parametrize("length", [2**31, 2**32 + 7, 2**62, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("field", [b"\x0a", b"\x0a\xff\x01\x0a", b"\x0a\x14\x0a\x0a\x0a\x01a\x12"])
def test_a_length_that_lies_takes_nothing(length: int, field: bytes) -> None:
    message = field + varint(length) + bytes(40)
    raised(tl.TFRecordError, PARSE, [message])
    assert peak_of(PARSE, [message] * 40) < 2**20


@pytest.mark.slow
@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_a_compressed_record_takes_what_options_allow(compress: Callable[[bytes], bytes]) -> None:
    n_bytes = 2**26
    data = compress(file_of([bytes(n_bytes)]))

    def peak(**limits: Any) -> int:
        return peak_of(lambda data: list(tl.TFRecordReader(io.BytesIO(data), **limits)), data)

    assert len(data) < n_bytes / 1000
    assert n_bytes < peak() < 2.1 * n_bytes
    for limits in ({"max_record_bytes": 2**20}, {"max_inflated_ratio": 100}):
        assert peak(**limits) < n_bytes / 4
