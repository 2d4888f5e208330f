"""Comparisons: the same data are the same, whatever their order in bytes; others differ in what was changed."""

import io
import math
import os
import pickle
import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.samples import JPEG, sequence
from tests.support.errors import raised
from tests.support.small_files import write_records
from tfrecord_lite import Block, TFRecordReader, encode_example, encode_examples
from tfrecord_lite.apps.statistics import (
    Comparison,
    Distribution,
    RecordDifferences,
    compare,
    compute_statistics,
)
from tfrecord_lite.apps.statistics.comparison import divergence
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.messages import Example
from tfrecord_lite.records.framing import frame
from tfrecord_lite.testing import examples as example_strategy
from tfrecord_lite.wire.scalar import varint


def rows_of(n: int, seed: int = 0, **changes: Any) -> list[bytes]:
    rng = np.random.default_rng(seed)
    rows: dict[str, Any] = {
        "float": rng.normal(size=(n, 3)).astype(np.float32), "digit": rng.integers(0, 10, n),
        "word": rng.choice(np.array([b"a", b"b", b"c"], object), n),
        "key": [b"%d" % number for number in rng.integers(0, 10**9, n)], "count": rng.poisson(2, n),
        "ragged": [list(range(k)) for k in rng.integers(0, 5, n)],
    }  # fmt: skip
    for name, change in changes.items():
        rows[name] = change(rows[name], rng)
    return list(encode_examples({name: rows[name] for name in rows if rows[name] is not None}))


def found(comparison: Comparison) -> set[tuple[str, str | None]]:
    return {(finding.what, finding.feature) for finding in comparison.findings}


def reordered(record: bytes, seed: int) -> bytes:
    features = list(Example.FromString(record).features.feature.items())
    random.Random(seed).shuffle(features)
    parts = []
    for name, feature in features:
        one = Example()
        one.features.feature[name].CopyFrom(feature)
        parts.append(one.features.SerializeToString())
    body = b"".join(parts)
    return b"\x0a" + varint(len(body)) + body


def some(share: float, value: Any) -> Any:
    """Return a change that puts a value in place of some."""
    return lambda x, rng: [value if rng.random() < share else each for each in x]


def farther(share: float) -> Any:
    return lambda x, rng: np.where(rng.random(x.shape) < share, 99, x)


CHANGES: list[tuple[str, Any, set[str]]] = [
    ("float", lambda x, _: x + 0.7, {"numbers"}),
    ("float", lambda x, _: x * 4, {"numbers", "range"}), ("float", farther(0.02), {"range"}),
    ("float", farther(0.0005), set()),
    ("float", lambda x, rng: np.where(rng.random(x.shape) < 0.02, math.nan, x), {"not finite"}),
    ("float", lambda x, _: x[:, :2], {"specification", "lengths"}),
    ("digit", some(0.01, 10), {"new values"}), ("digit", lambda x, _: x // 2, {"numbers"}),
    ("digit", lambda x, _: x.astype(np.float32), {"kind"}),
    ("word", some(0.02, b"d"), {"new values"}), ("word", some(0.3, b"a"), {"strings"}),
    ("word", lambda *_: None, {"missing feature"}),
    ("key", lambda x, _: [word * 2 for word in x], {"string lengths"}),
    ("ragged", lambda x, _: [values * 2 for values in x], {"lengths"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "expected"), CHANGES)
def test_what_was_changed_is_found(name: str, change: Any, expected: set[str]) -> None:
    a, b = rows_of(2000), rows_of(1500, 1, **{name: change})
    comparison = compare(a, b, records=False)
    assert found(comparison) == {(what, name) for what in expected}
    assert bool(comparison) is not bool(expected)
    assert comparison.records is None
    assert len(str(comparison).splitlines()) == 1 + len(expected)


def test_the_same_data_are_the_same() -> None:
    records = rows_of(100)
    comparison = compare(records, Block.from_records(records))
    assert comparison
    assert comparison.records == RecordDifferences(100, 0)
    assert len(str(comparison).splitlines()) == 1
    assert compare([], [])
    of_statistics = compare(compute_statistics(records), records)
    assert of_statistics
    assert of_statistics.records is None


@pytest.mark.parametrize(("a", "b", "expected"), [
    (rows_of(9, word=lambda *_: None), rows_of(9), {("new feature", "word")}),
    (rows_of(9), [], {("missing feature", "word")}),
    (
        encode_examples({"id": [2**60] * 9}),
        encode_examples({"id": [2**60 + 1] * 9}),
        {("range", "id")},
    ),
    ([sequence(3)], rows_of(9), {("kind", None)}),
])  # fmt: skip
def test_differences_of_schemas(a: Any, b: Any, expected: set[tuple[str, str | None]]) -> None:
    assert expected <= found(compare(a, b, records=False))


@pytest.mark.parametrize(("a", "b", "expected"), [
    (0.5, 0.9, {("presence", "b")}), (0.5, 0.52, set()), (1, 0.999, {("specification", "b")}),
    (0.999, 1, set()),
])  # fmt: skip
def test_presence_is_compared(a: float, b: float, expected: Any) -> None:
    def examples(n: int, part: float) -> list[bytes]:
        rows = [{"a": 1, "b": 2} if i < part * n else {"a": 1} for i in range(n)]
        return [encode_example(row) for row in rows]

    comparison = compare(examples(2000, a), examples(1000, b))
    assert found(comparison) == {*expected, ("records", None)}
    assert comparison.findings[-1].sides == ("2,000 records", "1,000 records")


def test_thresholds() -> None:
    a, b = rows_of(3000), rows_of(3000, 1, float=lambda x, _: x * 0.6)
    (finding,) = compare(a, b, records=False).findings
    assert finding.threshold == 0.05
    assert finding.distance is not None
    for change in (0.001, -0.001):
        limits = {"distance": finding.distance + change}
        assert bool(compare(a, b, records=False, thresholds=limits)) is (change > 0)
    for wrong in {"infinity": 1}, {"range": -1}, {"range": math.nan}:
        raised(InvalidArgumentError, compare, [], [], thresholds=wrong)
    raised(TypeError, compare, [], [], thresholds={"range": "1"})


@given(st.lists(example_strategy(), min_size=1, max_size=20), st.integers(0, 99))
def test_the_order_of_features_does_not_matter(examples: list[Any], seed: int) -> None:
    records = [one if isinstance(one, bytes) else one.SerializeToString() for one in examples]
    comparison = compare(records, [reordered(record, seed) for record in records])
    assert comparison, str(comparison)


@given(st.integers(0, 10**6))
def test_each_changed_record_is_found(seed: int) -> None:
    choose = random.Random(seed)
    rows = [{"a": i, "b": b"x" * (i % 3), "c": [0.5, math.nan]} for i in range(50)]
    changed: dict[int, str] = {}
    others = [dict(row) for row in rows]
    for number in choose.sample(range(50), choose.randint(0, 12)):
        name = changed[number] = choose.choice("abc")
        others[number][name] = {"a": -1, "b": b"yy", "c": [0.5]}[name]

    comparison = compare(
        [encode_example(row) for row in rows],
        [reordered(encode_example(row), seed) for row in others],
        thresholds=dict.fromkeys(("distance", "range", "new_values"), 10**9),
    )

    differences = comparison.records
    assert differences is not None
    assert (differences.num_records, differences.num_different) == (50, len(changed))
    first = sorted(changed.items())[:10]
    assert [(one.number, *one.features) for one in differences.first] == first
    counts = Counter(changed.values())
    assert list(differences.by_feature.items()) == sorted(
        counts.items(), key=lambda one: (-one[1], one[0])
    )


def test_sequences() -> None:
    records = [sequence(number) for number in range(9)]
    same, other = compare(records, records), compare(records, [sequence(n + 1) for n in range(9)])
    assert same
    assert other.records is not None
    assert other.records.by_feature == {"ragged": 9, "word": 9}
    assert other.records.first[2].values[1] == ("... (2 values)", "..., 'w2' (3 values)")
    for pair in (records, rows_of(9)), (rows_of(9), records):
        differences = compare(*pair).records
        assert differences is not None
        assert differences.num_different == 9


def test_blocks_need_not_be_of_the_same_size(tmp_path: Path) -> None:
    records = rows_of(5000)
    for name, compression in (("a", ""), ("b", "GZIP")):
        write_records(tmp_path / name, records, compression)
    assert compare(tmp_path / "a", tmp_path / "b")
    assert compare([tmp_path / "a"], TFRecordReader(tmp_path / "b"))
    others = [*records[:4000], records[0], *records[4001:]]
    differences = compare(str(tmp_path / "a"), others).records
    assert differences is not None
    assert [one.number for one in differences.first] == [4000]


def test_what_can_be_read_only_once_is_compared_too(tmp_path: Path) -> None:
    records = rows_of(10)
    file = io.BytesIO(b"before" + frame(records))
    file.seek(6)
    os.mkfifo(tmp_path / "pipe")
    data = bytes(frame(records))
    thread = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
    thread.start()
    for once in (file, iter(records), tmp_path / "pipe"):
        assert compare(once, records).records == RecordDifferences(10, 0)
    thread.join()
    assert compare(iter(records), records[:-1]).records is None


def of_values(a: Any, b: Any, what: str) -> Any:
    """Return a finding about two columns."""
    findings = compare(encode_examples({"x": a}), encode_examples({"x": b}), records=False).findings
    return next(one for one in findings if one.what == what)


def test_the_share_outside_of_the_range_is_measured() -> None:
    inside = np.linspace(0, 1, 4000, dtype=np.float32)
    outside = np.concatenate([inside[:3600], np.full(300, 5), np.full(100, -5)]).astype(np.float32)
    finding = of_values(inside, outside, "range")
    assert finding.distance == pytest.approx(0.1, abs=0.01)
    assert finding.sides == ("0 .. 1", "-5 .. 5")


@pytest.mark.parametrize(("n_old", "n_new"), [(0, 100_000), (50_000, 50_000), (90_000, 15_000)])
def test_new_values_are_counted_when_most_are_dropped(n_old: int, n_new: int) -> None:
    strings = [b"x", b"y"] * (n_old // 2) + [b"%d" % i for i in range(n_new)]
    finding = of_values([b"x", b"y"] * 5000, strings, "new values")
    assert finding.distance == pytest.approx(n_new / (n_old + n_new), abs=0.001)


def test_the_formats_of_long_strings_are_compared() -> None:
    texts = [(b"hello, world. " * 115)[: len(JPEG)]] * 1000
    assert of_values([JPEG] * 1000, texts, "contents").sides == ("JPEG 100 %", "JPEG 0 %")
    # Beyond 64 bytes, nothing else is known of texts of the same length.
    a, b = ([encode_example({"s": letter * 100})] * 9 for letter in (b"a", b"b"))
    assert compare(a, b, records=False)


JPEG_CHANGED = JPEG[:1000] + bytes([JPEG[1000] ^ 0xFF]) + JPEG[1001:]


@pytest.mark.parametrize(("one", "other", "expected"), [
    ([1] * 9, [*[1] * 7, 2, 3], ("..., 1, 1 (9 values)", "..., 2, 3 (9 values)")),
    (b"", b"y", ("''", "'y'")),
    (
        b"x" * 3000,
        b"x" * 2000 + b"y" * 1000,
        tuple(f"...'xxxxxxxx{c * 16}'... (3,000 bytes)" for c in "xy"),
    ),
    (
        JPEG,
        JPEG_CHANGED,
        tuple(
            f"JPEG 640 x 480, 1.6 KiB; byte 1,000: {data[1000:1006].hex(' ')}"
            for data in (JPEG, JPEG_CHANGED)
        ),
    ),
    ([1, 2], [1, 2, 3], ("... (2 values)", "..., 3 (3 values)")),
    (1, None, ("1", "missing")),
    ([math.nan, 0.0], [math.nan, -0.0], ("..., 0.0 (2 values)", "..., -0.0 (2 values)")),
])  # fmt: skip
def test_values_are_shown_from_where_they_differ(one: Any, other: Any, expected: Any) -> None:
    records = [encode_example({} if value is None else {"f": value}) for value in (one, other)]
    differences = compare(records[:1], records[1:]).records
    assert differences is not None
    assert differences.first[0].values == (expected,)


def test_it_is_data_and_names_and_values_are_escaped() -> None:
    a = [encode_example({"<i>\x1b[2J": b"\x1b[31m", "kind": 1})] * 30
    b = [encode_example({"<i>\x1b[2J": b"\x9b\xff", "kind": b"<b>"})] * 30
    comparison = compare(a, b)
    assert all(line.isprintable() for line in str(comparison).splitlines())
    again = pickle.loads(pickle.dumps(comparison))
    assert again.describe() == comparison.describe()
    assert repr(again) == str(comparison)


numbers = st.lists(st.floats(width=32) | st.integers(-5, 5).map(float), min_size=1, max_size=40)


@given(numbers, numbers)
def test_the_divergence_is_a_distance(a: list[float], b: list[float]) -> None:
    ours, theirs = (Distribution.of(np.array(one, np.float32)) for one in (a, b))
    distance = divergence(ours, theirs)
    assert 0 <= distance <= 1 + 1e-9
    assert distance == pytest.approx(divergence(theirs, ours), abs=1e-9)
    assert divergence(ours, ours) == pytest.approx(0, abs=1e-9)
    assert divergence(ours, ours + ours) == pytest.approx(0, abs=1e-9)
    far = Distribution.of(np.linspace(1e40, 9e40, 9))
    finite = Distribution.of(np.array([n for n in a if np.isfinite(n)] or [0.0], np.float32))
    assert divergence(finite, far) == pytest.approx(1)


def test_the_divergence_is_that_of_the_shares() -> None:
    def of(*counts: int) -> Distribution:
        return Distribution.of(np.repeat(np.arange(len(counts)), counts))

    p, q = np.array([50, 30, 20]) / 100, np.array([10, 10, 20]) / 40
    both = (p + q) / 2
    expected = (p * np.log2(p / both) + q * np.log2(q / both)).sum() / 2
    assert divergence(of(50, 30, 20), of(10, 10, 20)) == pytest.approx(expected)
