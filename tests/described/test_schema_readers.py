"""Schemas of other programs fit the data of these programs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import golden
from tfrecord_lite import Schema, SequenceSchema, TFRecordWriter, load, load_schema
from tfrecord_lite.described.formats import superserial, tfds, tfx
from tfrecord_lite.errors import InvalidArgumentError


def told(read: Any) -> dict[str, Any]:
    """Return the specifications, with the originals of those that have one."""
    schema = read[0] if type(read) is tuple else getattr(read, "schema", read)
    if isinstance(schema, SequenceSchema):
        return {name: told(part) for name, part in schema._asdict().items()}
    items = schema.to_items()
    return {n: item.spec if item.original is None else item for n, item in items.items()}


def feature(word: str, member: str, content: Any) -> dict[str, Any]:
    return {"pythonClassName": f"tensorflow_datasets.core.features.m.{word}", member: content}


def tensor(dtype: str, *dims: int | None, **more: Any) -> dict[str, Any]:
    shape = {"dimensions": ["-1" if d is None else str(d) for d in dims]} if dims else {}
    return feature("Tensor", "tensor", {"shape": shape, "dtype": dtype, "encoding": "none", **more})


def sequence(inner: Any, length: int = -1) -> dict[str, Any]:
    return feature("Sequence", "sequence", {"feature": inner, "length": str(length)})


def features_dict(**features: Any) -> dict[str, Any]:
    return feature("FeaturesDict", "featuresDict", {"features": features})


TEXT = feature("Text", "text", {})
IMAGE = feature("Image", "image", {"shape": {"dimensions": ["-1", "-1", "3"]}, "dtype": "uint8"})
LABEL = feature("ClassLabel", "classLabel", {"numClasses": "10"})


BASE = "tensorflow_datasets.core.features"
OLDEST = {
    "type": f"{BASE}.features_dict.FeaturesDict",
    "content": {
        "x": {"type": f"{BASE}.feature.Tensor", "content": {"shape": [None], "dtype": "int64"}},
        "y": {"type": f"{BASE}.class_label_feature.ClassLabel", "content": {"num_classes": 3}},
        "z": {
            "type": f"{BASE}.sequence_feature.Sequence",
            "content": {"feature": {"type": f"{BASE}.text_feature.Text", "content": {}}},
        },
    },
}
MIDDLE = {
    "type": f"{BASE}.features_dict.FeaturesDict",
    "content": json.dumps({"features": {"x": tensor("int64", None), "y": LABEL}}),
    "proto_cls": "tensorflow_datasets.FeaturesDict",
}
GROUP = """
feature { name: "d" type: FLOAT } feature { name: "v" type: BYTES }
feature { name: "i" type: INT } feature { name: "w" type: FLOAT }
feature { name: "r" type: INT } feature { name: "n" type: INT }
feature { name: "rest" type: INT }
tensor_representation_group { key: "" value {
  tensor_representation { key: "d" value { dense_tensor {
    column_name: "d" shape { dim { size: 2 } } default_value { float_value: 0.5 } } } }
  tensor_representation { key: "v" value { varlen_sparse_tensor { column_name: "v" } } }
  tensor_representation { key: "s" value { sparse_tensor {
    dense_shape { dim { size: 7 } } index_column_names: "i" value_column_name: "w" } } }
  tensor_representation { key: "r" value { ragged_tensor {
    feature_path { step: "r" } row_partition_dtype: INT32
    partition { row_length: "n" } partition { uniform_row_length: 2 } } } }
} }
tensor_representation_group { key: "another" value { } }
"""
SPARSE = """
feature { name: "i" type: INT int_domain { min: 0 max: 99 } }
feature { name: "j" type: INT int_domain { min: 0 max: 9 } }
feature { name: "v" type: FLOAT }
feature { name: "other" type: INT }
sparse_feature { name: "s" index_feature { name: "i" } index_feature { name: "j" }
                 value_feature { name: "v" } is_sorted: true }
"""
TWO_OF_ONE_COLUMN = """
feature { name: "x" type: INT } feature { name: "y" type: FLOAT } feature { name: "odd" type: STRUCT }
tensor_representation_group { key: "" value {
  tensor_representation { key: "one" value { dense_tensor { column_name: "x" shape { } } } }
  tensor_representation { key: "two" value { dense_tensor {
    column_name: "x" shape { dim { size: 1 } } default_value { int_value: 7 } } } }
  tensor_representation { key: "all" value { varlen_sparse_tensor { column_name: "y" } } }
} }
"""
STEPS = """
feature { name: "id" type: INT presence { min_fraction: 1 } shape { } }
feature { name: "##SEQUENCE##" type: STRUCT struct_domain {
  feature { name: "r" type: INT } feature { name: "f" type: FLOAT } feature { name: "n" type: INT }
  feature { name: "old" type: BYTES deprecated: true } } }
tensor_representation_group { key: "" value {
  tensor_representation { key: "own" value { ragged_tensor {
    feature_path { step: "##SEQUENCE##" step: "r" } row_partition_dtype: INT32 } } } } }
"""
UNKNOWN_PARTS = """
# a comment
string_domain { name: "d" value: "a" value: "b" }
default_environment: "TRAINING"
generate_legacy_feature_spec: false
feature { name: "x" type: INT
  domain: "d" bool_domain { } not_in_environment: "SERVING"
  annotation { extra_metadata { [type.googleapis.com/a.b.C] { q: 1 } } }
  drift_comparator { jensen_shannon_divergence { threshold: 0.1 } }
  from_the_future: [1, 2.5, "x"] and_this { y: NONE }
}
"""


def dense(kind: str, shape: str, default: str) -> str:
    return (
        f'feature {{ name: "x" type: {kind} }} tensor_representation_group {{ value {{'
        ' tensor_representation { key: "t" value { dense_tensor { column_name: "x"'
        f" shape {{ {shape} }} {default} }} }} }} }} }}"
    )


def refused(read: Callable[..., Any], *arguments: Any) -> str:
    """Return the reason why a file, or one of its features, is refused, and the feature."""
    try:
        (error,) = read(*arguments)[1].values()
    except InvalidArgumentError as raised:
        error = raised
    assert "payload" not in str(error)
    return " ".join(str(each) for each in (error.reason.name, error.key) if each is not None)


@pytest.mark.parametrize(
    "name", [pytest.param("headers", marks=pytest.mark.needs("yaml")), "formats"]
)
def test_schemas_of_other_programs(name: str) -> None:
    names = {"superserial": superserial, "tfds": tfds, "tfx": tfx, **globals()}
    golden.check(Path(__file__).with_name(f"{name}.txt"), names)


@pytest.mark.needs("arrow")
def test_tensors_of_tfx_have_names_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "schema.pbtxt").write_text(TWO_OF_ONE_COLUMN)
    path = tmp_path / "data.tfrecord"
    with TFRecordWriter(path) as writer:
        writer.write_example({"x": 5, "y": [0.5, 1.5]})
        writer.write_example({"y": []})
    schema: Any = load_schema(tmp_path / "schema.pbtxt")
    with pytest.raises(InvalidArgumentError, match="STRUCT"):
        load(path, schema=tmp_path / "schema.pbtxt")
    found: Any = load(path, ["two", "all"], schema=tmp_path / "schema.pbtxt")
    assert found["two"].tolist() == [[5], [7]]
    assert found["all"].values.tolist() == [0.5, 1.5]
    table: Any = load(path, schema=schema.select(["two", "all"]), as_="arrow")
    assert table.to_pylist() == [{"two": [5], "all": [0.5, 1.5]}, {"two": [7], "all": []}]
    assert Schema.from_json(schema.to_json()) == schema


def test_steps_of_tfx_are_feature_lists(tmp_path: Path) -> None:
    (tmp_path / "schema.pbtxt").write_text(STEPS)
    path = tmp_path / "data.tfrecord"
    with TFRecordWriter(path) as writer:
        for number, rows in enumerate([[[1, 2], [], [3]], []]):
            lists = {"r": rows, "f": [[0.5]], "n": []}
            writer.write_sequence_example({"context": {"id": number}, "feature_lists": lists})
    found: Any = load(path, schema=tmp_path / "schema.pbtxt")
    assert found["context"]["id"].tolist() == [0, 1]
    assert found["feature_lists"]["own"].to_list() == [[[1, 2], [], [3]], []]
    assert found["feature_lists"]["f"].to_list() == [[[0.5]], [[0.5]]]
    (tmp_path / "bad.pbtxt").write_text(STEPS.replace('step: "r"', 'step: "r" step: "s"'))
    columns = load(path, ["context/id"], schema=tmp_path / "bad.pbtxt")
    assert columns["context/id"].tolist() == [0, 1]


def test_what_seqio_has_cached(tmp_path: Path) -> None:
    shapes: dict[str, tuple[list[int | None], str]] = {
        "id": ([], "int64"), "inputs": ([None], "int32"), "boxes": ([None, 2], "int32"),
        "rows": ([None, None], "bool"), "text": ([], "string"),
    }  # fmt: skip
    features = {name: {"shape": shape, "dtype": dtype} for name, (shape, dtype) in shapes.items()}
    info = {"num_shards": 3, "features": features, "seqio_version": "0.0.20"}
    for split in ("train", "test"):
        (tmp_path / f"info.{split}.json").write_text(json.dumps(info))
        (tmp_path / f"stats.{split}.json").write_text('{"examples": 2}')
        for shard in range(3):
            (tmp_path / f"{split}.tfrecord-{shard:05}-of-00003").touch()
        with TFRecordWriter(tmp_path / f"{split}.tfrecord-00001-of-00003") as writer:
            for n in range(2):
                row = {"id": n, "inputs": [n] * n, "boxes": [1, 2] * n, "text": "t"}
                writer.write_example({**row, "rows": [1, 0, 1], "_rl:0:rows": [2, 0, 1]})
    (tmp_path / "COMPLETED").touch()

    for path, n_splits in ((f"{tmp_path}/train.tfrecord-*", 1), (str(tmp_path), 2)):
        found: Any = load(path)
        assert list(found) == list(shapes)
        assert found["inputs"].to_list() == [[], [1]] * n_splits
        assert found["boxes"].to_list() == [[], [[1, 2]]] * n_splits
        assert found["rows"].to_list() == [[[True, False], [], [True]]] * 2 * n_splits
        assert (found["boxes"].dtype, found["rows"].dtype) == ("int32", "bool")
    assert load_schema(tmp_path / "info.train.json") == load_schema(tmp_path / "info.test.json")
    (tmp_path / "info.test.json").write_text(json.dumps(info).replace("[null]", '["a"]'))
    with pytest.raises(InvalidArgumentError, match="a feature must have a dtype and a shape"):
        load_schema(tmp_path / "info.test.json")
