"""Schemas of other programs fit the data of these programs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import golden
from tfrecord_lite import Schema
from tfrecord_lite.described.formats import superserial, tfds, tfx
from tfrecord_lite.errors import InvalidArgumentError


def told(read: Schema | tfds.Features) -> dict[str, Any]:
    """Return the specifications, with the originals of those that have one."""
    items = (read if isinstance(read, Schema) else read.schema).to_items()
    return {n: item.spec if item.original is None else item for n, item in items.items()}


# ------------------------------------------------------------------------------ TFDS and TFX


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


# ------------------------------------------------------------------- what is read, and refused


def refused(read: Callable[..., object], *arguments: Any) -> str:
    with pytest.raises(InvalidArgumentError) as caught:
        read(*arguments)
    error = caught.value
    assert "payload" not in str(error)
    return " ".join(str(each) for each in (error.reason.name, error.key) if each is not None)


@pytest.mark.parametrize(
    "name", [pytest.param("headers", marks=pytest.mark.needs("yaml")), "formats"]
)
def test_schemas_of_other_programs(name: str) -> None:
    names = {"superserial": superserial, "tfds": tfds, "tfx": tfx, **globals()}
    golden.check(Path(__file__).with_name(f"{name}.txt"), names)
