"""Feature specifications, their checks, and schemas."""

import contextlib
import json
import math
import pickle
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import golden
from tests.support.errors import raised
from tests.support.parameter_ids import named
from tests.support.specifications import feature_specs
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.schema import (
    FeatureSpec,
    FixedLenFeature,
    FixedLenSequenceFeature,
    Kind,
    Original,
    RaggedFeature,
    Schema,
    SequenceSchema,
    SparseFeature,
    VarLenFeature,
)
from tfrecord_lite.schema.kinds import kind_of, numpy_dtype
from tfrecord_lite.schema.prepare import canonical, keys_to_read, prepare, prepare_sequence


def one(spec: Any) -> Any:
    return prepare({"a": spec})["a"]


class TensorFlowDType:
    """The attributes of a TensorFlow dtype that are used here."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def as_numpy_dtype(self) -> Any:
        """Fail, as for a dtype that NumPy lacks."""
        raise KeyError


STRING_DTYPES: list[Any] = [
    np.bytes_, np.str_, np.object_, np.dtype("S3"), np.dtype("U"), np.dtypes.StringDType(),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "names"), [
    (Kind.FLOAT, [np.float32, "float32", float, "float", "f4", ">f4", np.dtype("float32")]),
    (Kind.INT64, [np.int64, "int64", int, "int", "i8", np.dtype(">i8"), np.longlong]),
    (
        Kind.BYTES,
        [bytes, str, object, "string", "bytes", "str", "object", "S", "O", *STRING_DTYPES],
    ),
])  # fmt: skip
def test_a_kind_has_many_names(kind: Kind, names: list[Any]) -> None:
    for name in names:
        assert kind_of(name) is kind, name
    assert kind_of(kind.dtype) is kind
    assert kind_of(kind.label) is kind
    assert kind_of(TensorFlowDType(kind.label)) is kind


def test_kinds_are_the_field_numbers_of_a_feature() -> None:
    assert [(kind.name, int(kind)) for kind in Kind] == [("BYTES", 1), ("FLOAT", 2), ("INT64", 3)]


KEYED = ("RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds")
PARTITIONS: list[Any] = [getattr(RaggedFeature, name)(name[3:]) for name in KEYED]
PARTITIONS.append(RaggedFeature.UniformRowLength(2))
SPECS: list[FeatureSpec] = [
    FixedLenFeature([], np.float32),
    FixedLenFeature([2, 1], "int64", [1, 2]),
    FixedLenFeature((2,), bytes, [b"a\0", b"\xff"]),
    FixedLenFeature([2], float, np.array([math.nan, -math.inf])),
    FixedLenFeature([0], float, []),
    VarLenFeature("int64"),
    FixedLenSequenceFeature([3], float, allow_missing=True),
    FixedLenSequenceFeature([], bytes, allow_missing=True, default_value="é"),
    SparseFeature("i", "v", float, 10),
    SparseFeature(["i", "j"], "v", bytes, [10, 20], already_sorted=True),
    RaggedFeature(float),
    RaggedFeature(bytes, "v", PARTITIONS, np.int64, validate=True),
]


@pytest.mark.parametrize("spec", SPECS, ids=named)
def test_specifications_compare_hash_pickle_and_cannot_change(spec: FeatureSpec) -> None:
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert hash(again) == hash(spec)
    assert repr(again) == repr(spec)
    assert [other == spec for other in SPECS].count(True) == 1
    assert spec != "spec"
    with pytest.raises(AttributeError):
        spec.dtype = int  # type: ignore[attr-defined]
    with pytest.raises((AttributeError, TypeError)):
        spec.other = 1  # type: ignore[attr-defined]


def test_specifications_are_equal_when_they_mean_the_same() -> None:
    assert FixedLenFeature([2], np.float32) == FixedLenFeature((2,), "float32")
    assert hash(FixedLenFeature([2], np.float32)) == hash(FixedLenFeature((2,), "float32"))
    assert FixedLenFeature([2], float) != FixedLenFeature([2], int)
    assert VarLenFeature(bytes) != FixedLenFeature([], bytes)
    assert RaggedFeature(float, row_splits_dtype="int32") == RaggedFeature(np.float32)
    assert VarLenFeature("junk") != VarLenFeature("trash")


def test_the_text_of_a_specification_makes_an_equal_one() -> None:
    for spec in SPECS:
        if "array" not in repr(spec):
            assert eval(repr(spec)) == spec  # noqa: S307 - that is what repr is for


def test_an_empty_name_is_a_name_and_a_default_of_no_values_is_none() -> None:
    assert keys_to_read(prepare({"": VarLenFeature(int)})) == {"": Kind.INT64}
    assert one(FixedLenFeature([2, 0], float, [])).default is None


def test_a_default_is_a_copy() -> None:
    array = np.zeros(2, np.float32)
    prepared = one(FixedLenFeature([2], float, array))
    array[:] = 7
    assert prepared.default.tolist() == [0, 0]


def default_of(shape: Any, dtype: Any, default: Any) -> Any:
    prepared = one(FixedLenFeature(shape, dtype, default))
    assert prepared.default.dtype == prepared.kind.dtype
    assert prepared.default.shape == prepared.shape
    return prepared.default.tolist()


def test_what_is_refused_and_what_is_taken() -> None:
    golden.check(Path(__file__).with_name("errors.txt"), globals())


originals = st.builds(
    Original,
    st.sampled_from(["uint8", "float64", "bool", "bfloat16", "string", np.float16, np.complex64]),
    st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3),
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    features = draw(feature_specs(min_size=0))
    kept = {name: draw(originals) for name in features if draw(st.booleans())}
    for name, original in kept.items():
        if isinstance(features[name], FixedLenFeature | RaggedFeature):  # which tell the shape
            kept[name] = Original(original.dtype)
    return Schema(features, kept)


ZONED = [
    Original("datetime64[us]", (), zone="Europe/Berlin"), Original("string", [None], "U7"),
    Original("timedelta64[25s]", [2], missing=True),
    Original("string", (), "str", missing=True, categories=["b", "a", ""]),
    Original("string", (), categories=[b"b", b"\xff"]),
    Original("int8", (None,), categories=[3, -1], ordered=True),
    Original("float64", (), categories=[0.5, float("inf"), -0.0]),
    Original("bool", (), categories=[True]), Original("string", (), "U5", categories=[]),
]  # fmt: skip


def of_original(original: Original) -> Schema:
    kind = {"s": "string", "f": "float32"}.get(original.dtype[0], "int64")
    return Schema({"x": VarLenFeature(kind)}, {"x": original})


EVERY = Schema({str(i): spec for i, spec in enumerate(SPECS)})


@given(schemas() | st.sampled_from(ZONED).map(of_original), st.sampled_from([None, 2]))
@example(EVERY, 2)
def test_schemas_come_back_from_json_as_they_were(schema: Schema, indent: int | None) -> None:
    document = schema.to_json(indent)
    again = Schema.from_json(document)
    assert again == schema
    assert hash(again) == hash(schema)
    assert list(again) == list(schema)
    assert again.originals == schema.originals
    assert again.to_json(indent) == document
    assert document.isascii()
    assert repr(again) == repr(schema)
    assert Schema.from_json(document.encode()) == schema


@pytest.mark.parametrize("original", ZONED, ids=repr)
def test_zones_and_categories_are_kept(original: Original) -> None:
    document = of_original(original).to_json()
    assert Schema.from_json(document).originals["x"] == original
    assert eval(repr(original), {"Original": Original, "inf": float("inf")}) == original  # noqa: S307


@given(schemas() | st.sampled_from(ZONED).map(of_original))
def test_schemas_pickle_and_are_made_of_themselves(schema: Schema) -> None:
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert Schema(schema) == schema
    assert Schema(schema.features, schema.originals) == schema
    assert schema | schema == schema
    assert schema.select(schema) == schema


SCHEMA = Schema(
    {
        "image": FixedLenFeature([], bytes, b"\xff\0"),
        "label": FixedLenFeature([], int, 0),
        "tags": VarLenFeature(bytes),
        "cells": SparseFeature(["row", "column"], "value", float, [100, 3]),
        "words": RaggedFeature(
            bytes, "w", [RaggedFeature.RowLengths("n"), RaggedFeature.UniformRowLength(2)]
        ),
    },
    {"image": Original(np.uint8, [None, 28]), "label": Original(bool)},
)


def test_a_long_schema_is_cut_by_repr_and_not_by_str() -> None:
    schema = Schema({f"feature {i}": VarLenFeature(int) for i in range(1000)})
    lines = repr(schema).split("\n")
    assert (len(str(schema).split("\n")), len(lines)) == (1003, 44)
    assert (lines[32][:10], lines[33], lines[34][:11]) == (
        "feature 29",
        "... 960 more ...",
        "feature 990",
    )


def test_a_feature_leaves_comparing_to_what_is_none() -> None:
    assert VarLenFeature(int) == mock.ANY
    assert VarLenFeature(int) not in (5, FixedLenFeature([], int))


def test_a_schema_is_a_mapping_that_does_not_change() -> None:
    assert SCHEMA["label"] == FixedLenFeature((), "int64", 0)
    assert len(SCHEMA) == 5
    assert "image" in SCHEMA
    assert SCHEMA.get("none") is None
    SCHEMA.features.clear()
    SCHEMA.originals.clear()
    assert len(SCHEMA) == len(SCHEMA.features) == 5
    assert SCHEMA.originals["label"] == Original("bool")
    with pytest.raises(TypeError):
        SCHEMA["label"] = VarLenFeature(int)  # type: ignore[index]
    assert SCHEMA.features != SCHEMA
    assert Schema(SCHEMA.features, {}) != SCHEMA


def test_schemas_merge_as_dicts_do() -> None:
    other = Schema({"label": VarLenFeature(float), "new": VarLenFeature(int)})
    merged = SCHEMA | other
    assert list(merged) == [*SCHEMA, "new"]
    assert merged["label"] == VarLenFeature(float)
    assert merged.originals == {"image": Original("uint8", [None, 28])}
    assert list(SCHEMA.select(["tags", "image"])) == ["tags", "image"]
    assert SCHEMA.select(["tags", "image"]).originals == merged.originals
    with pytest.raises(TypeError):
        SCHEMA | {"label": VarLenFeature(float)}  # type: ignore[operator]


def test_originals_take_dtypes_of_other_libraries_by_name() -> None:
    assert Original(TensorFlowDType("bfloat16")).dtype == "bfloat16"
    assert Original(bytes).dtype == Original(np.str_).dtype == "string"
    assert Original(">f8").dtype == "float64"
    assert Original("datetime64[s]").dtype == "datetime64[s]"


FROZEN = """{"format": "tfrecord_lite.Schema", "version": 1, "features": {
 "image": {"specification": "FixedLenFeature", "shape": [], "dtype": "string",
  "default_value": {"base64": "/wA="}, "original": {"dtype": "uint8", "shape": [null, 28]}},
 "label": {"specification": "FixedLenFeature", "shape": [], "dtype": "int64",
  "default_value": 0, "original": {"dtype": "bool"}},
 "tags": {"specification": "VarLenFeature", "dtype": "string"},
 "cells": {"specification": "SparseFeature", "index_key": ["row", "column"],
  "value_key": "value", "dtype": "float32", "size": [100, 3], "already_sorted": false},
 "words": {"specification": "RaggedFeature", "dtype": "string", "value_key": "w",
  "partitions": [{"partition": "RowLengths", "key": "n"},
   {"partition": "UniformRowLength", "length": 2}]}}}"""


def test_the_first_version_of_the_json_stays_readable() -> None:
    assert Schema.from_json(FROZEN) == SCHEMA


def feature(**members: Any) -> str:
    given = {"specification": "FixedLenFeature", "shape": [], "dtype": "int64"} | members
    features = {"a": {name: value for name, value in given.items() if value is not ...}}
    return json.dumps({"format": "tfrecord_lite.Schema", "version": 1, "features": features})


@given(schemas(), st.data())
def test_any_changed_json_is_a_schema_or_an_error(schema: Schema, data: st.DataObject) -> None:
    text = schema.to_json(None)
    at = data.draw(st.integers(0, len(text) - 1))
    piece = data.draw(st.text(max_size=3) | st.sampled_from(["null", "-1", "[]", "{}", '"', "1e9"]))
    cut = data.draw(st.integers(0, 3))
    with contextlib.suppress(InvalidArgumentError):
        Schema.from_json(text[:at] + piece + text[at + cut :])


def test_without_ml_dtypes_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "bfloat16"
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert Original(name).dtype == name
    raised(InvalidArgumentError, kind_of, name, "x", match=f"not {name}")
    raised(ImportError, numpy_dtype, name, match=f"{name} needs .*: pip install ml_dtypes")


SHORTHANDS: list[tuple[Any, FixedLenFeature]] = [
    (int, FixedLenFeature([], "int64")), (float, FixedLenFeature([], "float32")),
    (bytes, FixedLenFeature([], "string")),
    (TensorFlowDType("int64"), FixedLenFeature([], "int64")),
    ((np.float32, (28, 28)), FixedLenFeature([28, 28], "float32")),
    (("string", [3]), FixedLenFeature([3], "string")), ((">i8", 2), FixedLenFeature([2], "int64")),
]  # fmt: skip


@pytest.mark.parametrize(("given", "spec"), SHORTHANDS, ids=lambda item: str(item)[:30])
def test_a_dtype_stands_for_a_fixed_length_feature(given: Any, spec: FixedLenFeature) -> None:
    features = {"x": given, "y": VarLenFeature(int)}
    steps = FixedLenSequenceFeature(spec.shape, spec.dtype)
    assert canonical("x", given) == spec
    assert Schema(features) == Schema({"x": spec, "y": VarLenFeature(int)})
    assert repr(prepare(features)["x"]) == repr(prepare({"x": spec})["x"])
    found = prepare_sequence({"x": given}, {"x": given})
    assert repr(found) == repr(prepare_sequence({"x": spec}, {"x": steps}))
    assert SequenceSchema({"x": given}, {"x": given}) == SequenceSchema({"x": spec}, {"x": steps})


@given(feature_specs())
def test_items_of_a_schema_are_not_checked_again(features: dict[str, Any]) -> None:
    schema = Schema(features)
    with mock.patch("tfrecord_lite.schema.schema.canonical", side_effect=AssertionError):
        assert Schema(schema) == Schema.of_items(schema.to_items()) == schema
        assert schema | schema == schema.select(list(schema)) == schema
        assert Schema(schema).originals == schema.originals
    assert pickle.loads(pickle.dumps(schema.to_items())) == schema.to_items()
    for item in schema.to_items().values():
        assert repr(item).startswith("SchemaItem(spec=")


@pytest.mark.parametrize(("name", "changes"), [
    ("a", {"original": Original("int64", [3])}), ("a", {"spec": FixedLenFeature([-1], int)}),
    ("a", {"spec": 7}), (7, {}), ("\udc80", {}),
])  # fmt: skip
def test_a_changed_item_of_a_schema_is_checked(name: Any, changes: Any) -> None:
    item = Schema({"a": int}).to_items()["a"]
    raised((InvalidArgumentError, TypeError), Schema.of_items, {name: item._replace(**changes)})
