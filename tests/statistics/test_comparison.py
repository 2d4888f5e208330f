"""Comparisons: the same data are the same, whatever their order in bytes; others differ in what was changed."""

from __future__ import annotations

import io
import math
import pickle
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.samples import flower, sequence
from tests.support.effort import at_most, pick
from tfrecord_lite import (
    Block,
    TFRecordReader,
    TFRecordWriter,
    compute_statistics,
    encode_example,
    encode_examples,
)
from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason
from tfrecord_lite.messages import Example
from tfrecord_lite.statistics import Comparison, Distribution, Finding, compare
from tfrecord_lite.statistics.drift import divergence
from tfrecord_lite.testing import examples as example_strategy

if TYPE_CHECKING:
    from pathlib import Path


def rows_of(n: int, seed: int = 0, **changes: Any) -> list[bytes]:
    """Return Examples of random values, some of them changed."""
    rng = np.random.default_rng(seed)
    rows: dict[str, Any] = {
        "float": rng.normal(size=(n, 3)).astype(np.float32),
        "digit": rng.integers(0, 10, n),
        "word": rng.choice(np.array([b"a", b"b", b"c"], object), n),
        "key": [b"%d" % number for number in rng.integers(0, 10**9, n)],
        "count": rng.poisson(2, n),
        "ragged": [list(range(k)) for k in rng.integers(0, 5, n)],
    }
    for name, change in changes.items():
        rows[name] = change(rows[name], rng)
    return list(encode_examples({name: rows[name] for name in rows if rows[name] is not None}))


def found(comparison: Comparison) -> set[tuple[str, str | None]]:
    return {(finding.what, finding.feature) for finding in comparison.findings}


def reordered(record: bytes, seed: int) -> bytes:
    """Return an Example with its features in another order."""
    features = list(Example.FromString(record).features.feature.items())
    random.Random(seed).shuffle(features)
    parts = []
    for name, feature in features:
        one = Example()
        one.features.feature[name].CopyFrom(feature)
        parts.append(one.features.SerializeToString())
    body = b"".join(parts)
    return b"\x0a" + _varint(len(body)) + body


def _varint(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


@pytest.mark.parametrize("n", [20, 300, 3000])
@pytest.mark.parametrize("seed", range(pick(4, 20)))
def test_random_samples_of_the_same_data_are_alike(n: int, seed: int) -> None:
    comparison = compare(rows_of(n, 2 * seed), rows_of(n, 2 * seed + 1), records=False)

    # Both follow from extremes: of few records, and of a number that has no largest one.
    may_be = {"range", "specification"} if n < 300 else set()
    rest = found(comparison) - {("new values", "count")}
    assert {what for what, _ in rest} <= may_be
    assert n < 300 or len(comparison.findings) <= 1


def test_the_same_data_are_the_same() -> None:
    records = rows_of(100)

    comparison = compare(records, Block.from_records(records))

    assert comparison
    assert comparison.is_same
    assert comparison.records is not None
    assert (comparison.records.n_records, comparison.records.n_different) == (100, 0)
    assert str(comparison) == (
        "the first (100 records) and the second (100 records): no difference"
    )


CHANGES: dict[str, tuple[dict[str, Any], set[tuple[str, str]]]] = {
    "shifted": ({"float": lambda x, _: x + 1}, {("numbers", "float")}),
    "wider": (
        {"float": lambda x, _: x * 4},
        {("numbers", "float"), ("range", "float")},
    ),
    "one far off": (
        {"float": lambda x, _: np.where(np.arange(x.size).reshape(x.shape) == 5, 99, x)},
        {("range", "float")},
    ),
    "NaN": (
        {"float": lambda x, _: np.where(np.arange(x.size).reshape(x.shape) == 5, math.nan, x)},
        {("not finite", "float")},
    ),
    "new digit": (
        {"digit": lambda x, rng: np.where(rng.random(x.size) < 0.01, 10, x)},
        {("new values", "digit")},
    ),
    "other digits": (
        {"digit": lambda x, _: x // 2},
        {("numbers", "digit")},
    ),
    "new word": (
        {"word": lambda x, rng: [b"d" if rng.random() < 0.02 else word for word in x]},
        {("new values", "word")},
    ),
    "often": (
        {"word": lambda x, rng: [b"a" if rng.random() < 0.3 else word for word in x]},
        {("strings", "word")},
    ),
    "longer": (
        {"key": lambda x, _: [word * 2 for word in x]},
        {("string lengths", "key")},
    ),
    "more values": (
        {"ragged": lambda x, _: [values * 2 for values in x]},
        {("lengths", "ragged")},
    ),
    "missing": ({"word": lambda *_: None}, {("missing feature", "word")}),
    "another kind": ({"digit": lambda x, _: x.astype(np.float32)}, {("kind", "digit")}),
    "another length": (
        {"float": lambda x, _: x[:, :2]},
        {("specification", "float"), ("lengths", "float")},
    ),
}


@pytest.mark.parametrize(("changes", "expected"), CHANGES.values(), ids=CHANGES)
def test_what_was_changed_is_found(changes: dict[str, Any], expected: set[tuple[str, str]]) -> None:
    comparison = compare(rows_of(2000), rows_of(1500, 1, **changes))

    assert found(comparison) == expected
    assert not comparison
    assert comparison.records is None
    assert len(str(comparison).splitlines()) == 1 + len(expected)


def test_a_new_feature_is_found() -> None:
    comparison = compare(rows_of(9, word=lambda *_: None), rows_of(9), records=False)

    assert found(comparison) == {("new feature", "word")}
    assert (
        str(comparison.findings[0])
        == "word: new feature: string, in all records of the second only"
    )


def test_presence_is_compared() -> None:
    def examples(n: int, part: float) -> list[bytes]:
        rows = [{"a": 1, "b": 2} if i < part * n else {"a": 1} for i in range(n)]
        return [encode_example(row) for row in rows]

    assert found(compare(examples(2000, 0.5), examples(1000, 0.9))) == {("presence", "b")}
    assert found(compare(examples(2000, 0.5), examples(1000, 0.52))) == set()
    assert found(compare(examples(2000, 1), examples(1000, 0.999))) == {("specification", "b")}
    assert found(compare(examples(2000, 0.999), examples(1000, 1))) == set()


def test_thresholds() -> None:
    a, b = rows_of(2000), rows_of(1000, 1, float=lambda x, _: x + 1)

    (finding,) = compare(a, b).findings

    assert finding.threshold == 0.05
    assert finding.distance is not None
    distance = finding.distance
    limit = {"jensen_shannon_divergence": distance + 0.001}
    assert compare(a, b, thresholds=limit)
    fewer = {**limit, "min_fraction_threshold": 0.6}
    assert found(compare(a, b, thresholds=fewer)) == {("number of records", None)}
    more = {**limit, "max_fraction_threshold": 0.4}
    assert found(compare(a, b, thresholds=more)) == {("number of records", None)}


@pytest.mark.parametrize("wrong", [{"infinity": 1}, {"range": -1}, {"range": math.nan}])
def test_wrong_thresholds(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidArgumentError):
        compare([], [], thresholds=wrong)
    with pytest.raises(TypeError):
        compare([], [], thresholds={"range": "1"})  # type: ignore[dict-item]


@given(st.lists(example_strategy(), min_size=1, max_size=20), st.integers(0, 99))
@at_most(100)
def test_the_order_of_features_does_not_matter(examples: list[Any], seed: int) -> None:
    records = [one if isinstance(one, bytes) else one.SerializeToString() for one in examples]
    others = [reordered(record, seed) for record in records]

    comparison = compare(records, others)

    assert comparison, str(comparison)


@given(st.integers(0, 10**6))
@at_most(100)
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
        thresholds=dict.fromkeys(("jensen_shannon_divergence", "range", "new_values"), 10**9),
    )

    differences = comparison.records
    assert differences is not None
    assert differences.n_different == len(changed)
    first = sorted(changed.items())[:10]
    assert [(one.number, *one.features) for one in differences.first] == first
    assert differences.by_feature == {
        name: list(changed.values()).count(name) for name in set(changed.values())
    }


def test_the_first_records_that_differ_are_named() -> None:
    records = [flower(number) for number in range(60)]
    others = [*records]
    others[7] = flower(8)

    comparison = compare(records, others)

    assert [finding.what for finding in comparison.findings] == ["records"]
    assert str(comparison).splitlines()[1:] == [
        "records: 1 of 60 records differ: label in 1, name in 1, petals in 1",
        "  record 7: label, name, petals",
    ]
    assert comparison.describe()["records"]["first"] == [
        {"record": 7, "features": ["label", "name", "petals"]}
    ]


def test_sequences() -> None:
    records = [sequence(number) for number in range(9)]

    same, other = compare(records, records), compare(records, [sequence(n + 1) for n in range(9)])

    assert same
    assert other.records is not None
    assert other.records.by_feature == {"ragged": 9, "word": 9}
    kinds = compare(records, rows_of(9), records=False)
    assert str(kinds.findings[0]) == "kind: the records are SequenceExamples and Examples"


def test_blocks_need_not_be_of_the_same_size(tmp_path: Path) -> None:
    records = rows_of(5000)
    for name, compression in (("a", ""), ("b", "GZIP")):
        with TFRecordWriter(tmp_path / name, compression) as writer:
            for record in records:
                writer.write(record)
    with TFRecordWriter(tmp_path / "c") as writer:
        for record in [*records[:4000], records[0], *records[4001:]]:
            writer.write(record)

    assert compare(tmp_path / "a", tmp_path / "b")
    assert compare([tmp_path / "a"], TFRecordReader(tmp_path / "b"))
    differences = compare(str(tmp_path / "a"), tmp_path / "c").records
    assert differences is not None
    assert [one.number for one in differences.first] == [4000]


def test_a_file_object_is_read_twice_from_where_it_stands() -> None:
    from tfrecord_lite.records.framing import frame

    records = rows_of(10)
    file = io.BytesIO(b"before" + frame(records))
    file.seek(6)
    pipe = io.BytesIO(bytes(frame(records)))
    pipe.seekable = lambda: False  # type: ignore[method-assign]

    assert compare(file, records)
    with pytest.raises(FailedPreconditionError) as caught:
        compare(records, pipe)
    assert caught.value.reason is Reason.NOT_SEEKABLE
    with pytest.raises(FailedPreconditionError):
        compare(records, iter(records))


def test_statistics_have_no_records() -> None:
    records = rows_of(100)

    comparison = compare(compute_statistics(records), records)

    assert comparison
    assert comparison.records is None


def test_nothing_is_compared_with_something() -> None:
    assert compare([], [])
    assert {what for what, _ in found(compare(rows_of(9), []))} == {"missing feature"}


def test_it_is_data() -> None:
    comparison = compare(rows_of(100), rows_of(100, 1, digit=lambda x, _: x + 10))

    again = pickle.loads(pickle.dumps(comparison))

    assert again.findings == comparison.findings
    assert again.describe() == comparison.describe()
    assert repr(again) == str(comparison)
    assert Finding("range", "x", "far").describe()["distance"] is None


def test_html_is_escaped() -> None:
    a, b = ([encode_example({"<script>": value})] for value in (1, b"<b>"))

    html = compare(a, b)._repr_html_()

    assert "&lt;script&gt;" in html
    assert "<script>" not in html


def test_control_characters_are_escaped() -> None:
    a = [encode_example({"\x1b[2J": b"\x1b[31m"})] * 30
    b = [encode_example({"\x1b[2J": b"\x9b\xff"})] * 30

    assert all(line.isprintable() for line in str(compare(a, b)).splitlines())


numbers = st.lists(st.floats(width=32) | st.integers(-5, 5).map(float), min_size=1, max_size=40)


@given(numbers, numbers)
@at_most(200)
def test_the_divergence_is_a_distance(a: list[float], b: list[float]) -> None:
    ours, theirs = (Distribution.of(np.array(one, np.float32)) for one in (a, b))

    distance, n_bins = divergence(ours, theirs)

    assert 0 <= distance <= 1 + 1e-9
    assert distance == pytest.approx(divergence(theirs, ours)[0], abs=1e-9)
    assert divergence(ours, ours)[0] == pytest.approx(0, abs=1e-9)
    assert 1 <= n_bins <= 12
    assert divergence(ours, ours + ours)[0] == pytest.approx(0, abs=1e-9)


def test_the_divergence_of_what_is_apart_is_one() -> None:
    low, high = Distribution.of(np.arange(1000)), Distribution.of(np.arange(10**6, 10**6 + 9))

    assert divergence(low, high)[0] == pytest.approx(1)
