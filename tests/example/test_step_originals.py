"""Steps of feature lists come back with the dtypes and shapes that they had before they were stored."""

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.strategies import DrawFn

import tfrecord_lite as tl
from tests.support.errors import raised
from tfrecord_lite.apps.tables.record_format import encoder_of
from tfrecord_lite.convert.lossless import restore
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Original

LISTED = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "M8[s]", "m8[25s]"]
"""Dtypes that are stored as numbers."""
RAW = ["?", "u1", "i8", "f4", "f8", "c8"]


class Case(NamedTuple):
    """A feature list of some records."""

    spec: Any
    original: Original
    steps: list[list[Any]]
    """Of each record its steps, arrays of one dtype."""
    stored: list[list[Any]]
    """The same as it is stored."""


def stored(step: Any, *, raw: bool) -> Any:
    if raw:
        return step.tobytes()
    numbers = step.view(np.int64) if step.dtype.kind in "mM" or step.dtype == np.uint64 else step
    return numbers.ravel()


@st.composite
def cases(draw: DrawFn) -> Case:
    raw = draw(st.booleans())
    dtype = np.dtype(draw(st.sampled_from(RAW if raw else LISTED)))
    inner = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    varies = draw(st.booleans())
    shapes = st.integers(0, 3).map(lambda n: (n, *inner)) if varies else st.just(inner)
    step = shapes.flatmap(lambda shape: hnp.arrays(dtype, shape))
    steps = draw(st.lists(st.lists(step, max_size=3), max_size=4))
    kind = "float32" if dtype.kind == "f" else "int64"
    shape = (None, *inner) if varies else inner
    spec: Any = tl.RaggedFeature(kind) if varies else tl.FixedLenSequenceFeature(inner, kind)
    if raw:
        spec = tl.FixedLenSequenceFeature([], bytes)
    if raw and varies and draw(st.booleans()):
        spec = tl.RawFeature(shape, dtype)
    kept = [[stored(one, raw=raw) for one in record] for record in steps]
    return Case(spec, Original(dtype, shape), steps, kept)


def schema_of(case: Case) -> tl.SequenceSchema:
    return tl.SequenceSchema(None, tl.Schema({"x": case.spec}, {"x": case.original}))


def block_of(case: Case) -> tl.Block:
    rows = [{"context": {"n": i}, "feature_lists": {"x": x}} for i, x in enumerate(case.stored)]
    return tl.encode_sequence_examples(rows)


def same(column: Any, case: Case, records: slice = slice(None)) -> None:
    """Assert that a RaggedTensor has the steps of some records, and their dtype."""
    assert column.dtype == np.dtype(case.original.dtype)
    assert column.shape[2:] == case.original.shape
    rows = case.steps[records]
    assert len(column) == len(rows)
    for steps, arrays in zip(column, rows, strict=True):
        assert len(steps) == len(arrays)
        for step, array in zip(steps, arrays, strict=True):
            assert np.asarray(step).shape == array.shape
            assert np.asarray(step).tobytes() == array.tobytes()


@given(cases(), st.data())
def test_steps_come_back_as_they_were(case: Case, data: st.DataObject) -> None:
    schema, block = schema_of(case), block_of(case)
    parser = tl.SequenceExampleParser(*schema, pad=data.draw(st.booleans()))
    _, lists, lengths = parser(block)
    same(lists["x"], case)
    assert lengths == {}
    splits = [0, *sorted(data.draw(st.lists(st.integers(0, len(block)), max_size=2))), len(block)]
    parts = pickle.loads(pickle.dumps(parser)).parse_batches(block, splits)
    for (_, part, _), first, last in zip(parts, splits[:-1], splits[1:], strict=True):
        same(part["x"], case, slice(first, last))
    for number, message in enumerate(block):
        single: Any = parser.parse_single(bytes(message))[1]["x"]
        assert len(single) == len(case.steps[number])
        for step, array in zip(single, case.steps[number], strict=True):
            assert np.asarray(step).tobytes() == array.tobytes()
    assert tl.SequenceSchema.from_json(schema.to_json()) == schema


def particles(*sizes: int) -> Case:
    steps = [[np.full((n, 2), step, np.float32) for step in range(3)] for n in sizes]
    kept = [[step.tobytes() for step in record] for record in steps]
    return Case(tl.FixedLenSequenceFeature([], bytes), Original("float32", [None, 2]), steps, kept)


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    names = [tmp_path / "a.tfrecord", tmp_path / "b.tfrecord"]
    for path, case in zip(names, (particles(3, 4), particles(5)), strict=True):
        with tl.TFRecordWriter(path) as writer:
            for record in case.stored:
                writer.write_sequence_example({"feature_lists": {"x": record}})
    return names


def test_files_give_steps_of_any_size(paths: list[Path]) -> None:
    case = particles(3, 4, 5)
    schema = schema_of(case)
    same(tl.load(paths, schema=schema)["feature_lists"]["x"], case)
    same(tl.load(paths, ["feature_lists/x"], schema=schema)["feature_lists/x"], case)
    ((_, lists, lengths),) = tl.read_batches(paths, schema, 3)
    same(lists["x"], case)
    assert lengths == {}


@pytest.mark.needs("arrow")
def test_tables_have_steps_of_any_size(paths: list[Path]) -> None:
    table = tl.scan(paths, schema=schema_of(particles())).to_arrow()
    found = table["feature_lists/x"]
    assert str(found.type) == "list<item: list<item: fixed_size_list<item: float>[2]>>"
    expected = [[step.tolist() for step in record] for record in particles(3, 4, 5).steps]
    assert found.to_pylist() == expected
    encoder = encoder_of(table.schema, lossless=True, has_sidecar=True)
    records = [r for batch in table.to_batches() for block in encoder.blocks(batch) for r in block]
    back = tl.parse_sequence_example(list(map(bytes, records)), *schema_of(particles()))[1]
    same(back["x"], particles(3, 4, 5))


@given(cases(), st.booleans())
def test_examples_have_raw_arrays_of_any_size(case: Case, is_schema: bool) -> None:
    arrays = [step for record in case.steps for step in record]
    dtype = np.dtype(case.original.dtype)
    if not arrays or case.original.shape[:1] != (None,) or dtype.kind in "mM":
        return
    strings = [array.tobytes() for array in arrays]
    features: Any = {"x": tl.RawFeature(case.original.shape, dtype)}
    schema = tl.Schema(features)
    block = tl.encode_examples({"x": strings})
    column: Any = tl.parse_example(block, schema if is_schema else features)["x"]
    assert (column.dtype, column.shape[1:]) == (dtype, case.original.shape)
    assert [np.asarray(row).tobytes() for row in column] == strings
    assert list(tl.encode_examples({"x": column}, schema if is_schema else features)) == list(block)
    assert restore({"x": column}, schema)["x"] is column
    assert tl.Schema.from_json(schema.to_json()) == schema


def test_texts_of_steps_are_decoded() -> None:
    block = tl.encode_sequence_examples({}, {"x": [[["ab"], ["é"]], [], [["c"]]]})
    schema = tl.Schema(
        {"x": tl.FixedLenSequenceFeature([], bytes)}, {"x": Original("string", [], "str")}
    )
    column: Any = tl.parse_sequence_example(block, None, schema)[1]["x"]
    assert column.to_list() == [["ab", "é"], [], ["c"]]


def test_sparse_steps_have_their_dtype() -> None:
    block = tl.encode_sequence_examples({}, {"x": [[[1, 2], [3]], [], [[4]]]})
    schema = tl.Schema({"x": tl.VarLenFeature(int)}, {"x": Original("uint8")})
    column: Any = tl.parse_sequence_example(block, None, schema)[1]["x"]
    assert isinstance(column, tl.SparseTensor)
    assert (column.values.dtype, np.asarray(column.values).tolist()) == (np.uint8, [1, 2, 3, 4])
    assert column.indices.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [2, 0, 0]]


@pytest.mark.parametrize(("steps", "spec", "original", "reason", "detail"), [
    ([b"12345678", b"123"], tl.FixedLenSequenceFeature([], bytes), Original("f4", [None]),
     Reason.WRONG_COUNT, "in step 1 of the list: 3 bytes"),
    ([b"12345678", b"1234"], tl.FixedLenSequenceFeature([], bytes), Original("f4", [None, 2]),
     Reason.WRONG_COUNT, "in step 1 of the list: 1 value"),
    ([b"12345678", b"1234"], tl.FixedLenSequenceFeature([], bytes), Original("f4", [2]),
     Reason.WRONG_COUNT, "in step 1 of the list: 1 value"),
    ([[1], [2], [300]], tl.FixedLenSequenceFeature([1], int), Original("uint8", [1]),
     Reason.UNREPRESENTABLE, "in step 2 of the list: 300 is not a uint8"),
    ([[1], [2, -1]], tl.RaggedFeature(int), Original("uint8", [None]),
     Reason.UNREPRESENTABLE, "in step 1 of the list: -1 is not a uint8"),
    ([[1], [2, -1]], tl.VarLenFeature(int), Original("uint8"),
     Reason.UNREPRESENTABLE, "in step 1 of the list: -1 is not a uint8"),
    ([b"a", b"\xff"], tl.FixedLenSequenceFeature([], bytes), Original("string", [], "str"),
     Reason.BAD_ARGUMENT, "in step 1 of the list: a byte string that is not UTF-8"),
])  # fmt: skip
def test_an_error_names_record_and_step(
    steps: list[Any], spec: Any, original: Original, reason: Reason, detail: str
) -> None:
    rows = [{"feature_lists": {"x": record}} for record in (steps[:1], [], steps)]
    parser = tl.SequenceExampleParser(None, tl.Schema({"x": spec}, {"x": original}))
    error = raised(InvalidArgumentError, parser, tl.encode_sequence_examples(rows))
    assert (error.reason, error.key, error.index) == (reason, "x", 2)
    assert (error.detail or "").startswith(detail)


@pytest.mark.parametrize(("spec", "original", "reason"), [
    (tl.FixedLenSequenceFeature([2], int), Original("u1", [3]), Reason.BAD_ARGUMENT),
    (tl.FixedLenSequenceFeature([2], int), Original("u1", [None]), Reason.BAD_ARGUMENT),
    (tl.FixedLenSequenceFeature([], bytes), Original("f4", [2, None, None]), Reason.BAD_ARGUMENT),
    (tl.FixedLenSequenceFeature([], bytes), Original("f4", [None, None]), Reason.BAD_ARGUMENT),
    (tl.RawFeature([2], "f4"), Original("f4", [3]), Reason.BAD_ARGUMENT),
    (tl.RaggedFeature(int), Original("u1", [None], missing=True), Reason.BAD_ARGUMENT),
    (tl.RaggedFeature(int), Original("u1", [2], missing=True), Reason.UNSUPPORTED),
])  # fmt: skip
def test_an_original_not_for_steps_fails(spec: Any, original: Original, reason: Reason) -> None:
    def make() -> Any:
        return tl.SequenceExampleParser(None, tl.Schema({"x": spec}, {"x": original}))

    for call in (make, lambda: tl.SequenceSchema(None, tl.Schema({"x": spec}, {"x": original}))):
        error = raised(InvalidArgumentError, call)
        assert (error.reason, error.key) == (reason, "x")
