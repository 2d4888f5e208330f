"""Schemas of other programs fit the data of these programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import golden
from tfrecord_lite import (
    FixedLenFeature,
    RaggedFeature,
    Schema,
    SparseFeature,
    VarLenFeature,
)
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import FeatureSpec, Original
from tfrecord_lite.storage.formats import superserial, tfds, tfx

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES, FLOAT, INT64 = "string", "float32", "int64"


def ragged(dtype: str, **arguments: Any) -> RaggedFeature:
    return RaggedFeature(dtype, row_splits_dtype="int64", **arguments)


def error_of(read: Callable[..., Schema], *arguments: Any) -> InvalidArgumentError:
    with pytest.raises(InvalidArgumentError) as caught:
        read(*arguments)
    assert "payload" not in str(caught.value)
    return caught.value


# --------------------------------------------------------------------------- Super Serial


HEADER = """\
image:
  dtype: 4
  shape:
  - 28
  - 28
label:
  dtype: 9
  shape: []
name:
  dtype: 7
  shape: []
weight:
  dtype: 2
  shape: [3]
"""


@pytest.mark.needs("yaml")
def test_a_super_serial_header_says_shapes_and_original_dtypes() -> None:
    schema = superserial.from_yaml(HEADER)

    assert schema == Schema(
        {
            "image": FixedLenFeature([28, 28], INT64),
            "label": FixedLenFeature([], INT64),
            "name": FixedLenFeature([], BYTES),
            "weight": FixedLenFeature([3], FLOAT),
        },
        {"image": Original("uint8", [28, 28]), "weight": Original("float64", [3])},
    )


@pytest.mark.parametrize(
    ("number", "kind", "original"),
    [
        (1, FLOAT, None), (2, FLOAT, "float64"), (4, INT64, "uint8"), (7, BYTES, None),
        (9, INT64, None), (10, INT64, "bool"), (14, FLOAT, "bfloat16"), (19, FLOAT, "float16"),
        (23, INT64, "uint64"),
    ],
)  # fmt: skip
def test_every_number_of_a_dtype_is_known(number: int, kind: str, original: str | None) -> None:
    schema = superserial.from_mapping({"x": {"shape": [2], "dtype": number}})

    assert schema["x"] == FixedLenFeature([2], kind)
    assert schema.originals == ({"x": Original(original, [2])} if original else {})


@pytest.mark.needs("yaml")
def test_a_first_dimension_that_varies_is_ragged() -> None:
    schema = superserial.from_yaml("x: {dtype: 4, shape: [null, 3]}")

    assert schema["x"] == ragged(INT64)
    assert schema.originals["x"] == Original("uint8", [None, 3])


@pytest.mark.needs("yaml")
def test_a_shape_may_be_a_tuple() -> None:
    schema = superserial.from_yaml("x: {dtype: 4, shape: !!python/tuple [28, 28]}")

    assert schema == superserial.from_yaml("x: {dtype: 4, shape: [28, 28]}")


# ----------------------------------------------------------------------------------- TFDS


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


def lengths(name: str, *levels: int) -> dict[str, Any]:
    keyed = [RaggedFeature.RowLengths(f"{name}/ragged_row_lengths_{k}") for k in levels]
    return {"value_key": f"{name}/ragged_flat_values", "partitions": keyed}


CASES: dict[str, tuple[Any, dict[str, FeatureSpec], dict[str, Original]]] = {
    "image, label, text": (
        {"i": IMAGE, "l": LABEL, "t": TEXT},
        {
            "i": FixedLenFeature([], BYTES),
            "l": FixedLenFeature([], INT64),
            "t": FixedLenFeature([], BYTES),
        },
        {},
    ),
    "tensors": (
        {
            "f": tensor("float32", 2, 3),
            "d": tensor("float64"),
            "b": tensor("bool", 4),
            "u": tensor("uint8", None, 5),
            "s": tensor("string", None),
            "o": tensor("object"),
            "scalar": feature("Scalar", "tensor", {"shape": {}, "dtype": "int32"}),
        },
        {
            "f": FixedLenFeature([2, 3], FLOAT),
            "d": FixedLenFeature([], FLOAT),
            "b": FixedLenFeature([4], INT64),
            "u": ragged(INT64),
            "s": ragged(BYTES),
            "o": FixedLenFeature([], BYTES),
            "scalar": FixedLenFeature([], INT64),
        },
        {
            "d": Original("float64", []),
            "b": Original("bool", [4]),
            "u": Original("uint8", [None, 5]),
            "scalar": Original("int32", []),
        },
    ),
    "encoded tensors": (
        {
            "raw": tensor("float64", 2, 2, encoding="bytes"),
            "zlib": tensor("uint8", 9, encoding="zlib"),
            "any": tensor("uint8", None, None, 3, encoding="zlib"),
        },
        {
            "raw": FixedLenFeature([], BYTES),
            "zlib": FixedLenFeature([], BYTES),
            "any/shape": FixedLenFeature([3], INT64),
            "any/value": FixedLenFeature([], BYTES),
        },
        {"raw": Original("float64", [2, 2]), "any/shape": Original("int32", [3])},
    ),
    "nested": (
        {"a": features_dict(b=features_dict(c=LABEL), d=TEXT)},
        {"a/b/c": FixedLenFeature([], INT64), "a/d": FixedLenFeature([], BYTES)},
        {},
    ),
    "sequences": (
        {
            "of labels": sequence(LABEL),
            "fixed": sequence(tensor("float32", 2), 3),
            "of boxes": sequence(
                features_dict(
                    box=feature("BBoxFeature", "boundingBox", {"shape": {"dimensions": ["4"]}}),
                    label=LABEL,
                    mask=IMAGE,
                )
            ),
            "steps": feature("Dataset", "sequence", {"feature": features_dict(a=tensor("bool"))}),
        },
        {
            "of labels": ragged(INT64),
            "fixed": FixedLenFeature([3, 2], FLOAT),
            "of boxes/box": ragged(FLOAT),
            "of boxes/label": ragged(INT64),
            "of boxes/mask": ragged(BYTES),
            "steps/a": ragged(INT64),
        },
        {"of boxes/box": Original("float32", [None, 4]), "steps/a": Original("bool", [None])},
    ),
    "sequences in sequences": (
        {"s": sequence(sequence(tensor("int32"))), "t": sequence(sequence(sequence(TEXT)))},
        {"s": ragged(INT64, **lengths("s", 0)), "t": ragged(BYTES, **lengths("t", 0, 1))},
        {"s": Original("int32", [None, None])},
    ),
    "others": (
        {
            "audio": feature("Audio", "audio", {"shape": {"dimensions": ["-1"]}, "dtype": "int64"}),
            "lazy": feature("Audio", "audio", {"lazyDecode": True}),
            "video": feature("Video", "video", {"shape": {"dimensions": ["-1", "64", "64", "3"]}}),
            "tr": feature("Translation", "translation", {"languages": ["de", "en"]}),
            "opt": tensor("int64", optional=True),
            "mine": {"pythonClassName": "my.module.OwnLabel", "classLabel": {"numClasses": "3"}},
        },
        {
            "audio": ragged(INT64),
            "lazy": FixedLenFeature([], BYTES),
            "video": ragged(BYTES),
            "tr/de": FixedLenFeature([], BYTES),
            "tr/en": FixedLenFeature([], BYTES),
            "opt": ragged(INT64),
            "mine": FixedLenFeature([], INT64),
        },
        {"opt": Original("int64", [], missing=True)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_features_json_says_how_tensors_are_stored(case: str) -> None:
    features, specs, originals = CASES[case]

    schema = tfds.from_json(json.dumps(features_dict(**features)))

    assert schema.features == specs
    assert schema.originals == originals


def test_the_forms_of_older_releases_are_read() -> None:
    base = "tensorflow_datasets.core.features"
    oldest = {
        "type": f"{base}.features_dict.FeaturesDict",
        "content": {
            "x": {"type": f"{base}.feature.Tensor", "content": {"shape": [None], "dtype": "int64"}},
            "y": {"type": f"{base}.class_label_feature.ClassLabel", "content": {"num_classes": 3}},
            "z": {
                "type": f"{base}.sequence_feature.Sequence",
                "content": {"feature": {"type": f"{base}.text_feature.Text", "content": {}}},
            },
        },
    }
    middle = {
        "type": f"{base}.features_dict.FeaturesDict",
        "content": json.dumps({"features": {"x": tensor("int64", None), "y": LABEL}}),
        "proto_cls": "tensorflow_datasets.FeaturesDict",
    }

    assert tfds.from_json(json.dumps(oldest)).features == {
        "x": ragged(INT64),
        "y": FixedLenFeature([], INT64),
        "z": ragged(BYTES),
    }
    assert tfds.from_json(json.dumps(middle)).features == {
        "x": ragged(INT64),
        "y": FixedLenFeature([], INT64),
    }


def test_data_in_another_file_format_are_rejected() -> None:
    features = json.dumps(features_dict(x=LABEL))

    assert list(tfds.from_json(features, '{"name": "d"}')) == ["x"]
    assert list(tfds.from_json(features, '{"fileFormat": "tfrecord"}')) == ["x"]
    error = error_of(tfds.from_json, features, '{"fileFormat": "array_record"}')
    assert error.reason is Reason.UNSUPPORTED


# ------------------------------------------------------------------------------------ TFX


def test_a_shape_is_dense_only_if_every_example_has_it() -> None:
    schema = tfx.from_text(
        """
        feature { name: "always" type: FLOAT presence { min_fraction: 1.0 }
                  shape { dim { size: 2 } dim { size: 3 } } }
        feature { name: "often" type: INT presence { min_fraction: 0.9 } shape { dim { size: 1 } } }
        feature { name: "never said" type: INT shape { dim { size: 1 } } }
        feature { name: "some" type: BYTES value_count { min: 1 max: 1 }
                  presence { min_fraction: 1.0 } }
        """
    )

    assert schema.features == {
        "always": FixedLenFeature([2, 3], FLOAT),
        "often": VarLenFeature(INT64),
        "never said": VarLenFeature(INT64),
        "some": VarLenFeature(BYTES),
    }


def test_a_schema_may_ask_for_ragged_features() -> None:
    text = 'represent_variable_length_as_ragged: true feature { name: "x" type: INT }'

    assert tfx.from_text(text)["x"] == ragged(INT64)


def test_a_sparse_feature_takes_the_place_of_its_parts() -> None:
    schema = tfx.from_text(
        """
        feature { name: "i" type: INT int_domain { min: 0 max: 99 } }
        feature { name: "j" type: INT int_domain { min: 0 max: 9 } }
        feature { name: "v" type: FLOAT }
        feature { name: "other" type: INT }
        sparse_feature { name: "s" index_feature { name: "i" } index_feature { name: "j" }
                         value_feature { name: "v" } is_sorted: true }
        """
    )

    assert schema.features == {
        "other": VarLenFeature(INT64),
        "s": SparseFeature(["i", "j"], "v", FLOAT, [100, 10], already_sorted=True),
    }


def test_representations_decide_for_the_columns_they_name() -> None:
    schema = tfx.from_text(
        """
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
    )

    assert schema.features == {
        "d": FixedLenFeature([2], FLOAT, [0.5, 0.5]),
        "v": VarLenFeature(BYTES),
        "s": SparseFeature(["i"], "w", FLOAT, [7]),
        "r": RaggedFeature(
            INT64, "r", [RaggedFeature.RowLengths("n"), RaggedFeature.UniformRowLength(2)]
        ),
        "rest": VarLenFeature(INT64),
    }


@pytest.mark.parametrize(
    "stage", ["PLANNED", "ALPHA", "DEPRECATED", "DEBUG_ONLY", "DISABLED", "VALIDATION_DERIVED"]
)
def test_features_that_data_need_not_have_are_left_out(stage: str) -> None:
    schema = tfx.from_text(
        f"""
        feature {{ name: "gone" type: INT lifecycle_stage: {stage} }}
        feature {{ name: "old" type: INT deprecated: true }}
        feature {{ name: "x" type: INT lifecycle_stage: PRODUCTION }}
        """
    )

    assert list(schema) == ["x"]


def test_unknown_parts_are_skipped() -> None:
    schema = tfx.from_text(
        """
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
    )

    assert schema.features == {"x": VarLenFeature(INT64)}


def dense(kind: str, shape: str, default: str) -> str:
    return (
        f'feature {{ name: "x" type: {kind} }} tensor_representation_group {{ value {{'
        ' tensor_representation { key: "t" value { dense_tensor { column_name: "x"'
        f" shape {{ {shape} }} {default} }} }} }} }} }}"
    )


@pytest.mark.parametrize(
    ("kind", "default", "value"),
    [
        ("BYTES", 'bytes_value: "\\001\\000"', b"\1\0"),
        ("INT", "uint_value: 9223372036854775807", 2**63 - 1),
        ("FLOAT", "int_value: 2", 2.0),
    ],
)
def test_a_default_is_there_for_each_value(kind: str, default: str, value: Any) -> None:
    schema = tfx.from_text(dense(kind, "dim { size: 2 }", f"default_value {{ {default} }}"))

    dtype = {"BYTES": BYTES, "INT": INT64, "FLOAT": FLOAT}[kind]
    assert schema["x"] == FixedLenFeature([2], dtype, [value] * 2)


# ------------------------------------------------------------------------------ what is refused


def refused(read: Callable[..., Schema], *arguments: Any) -> str:
    error = error_of(read, *arguments)
    return " ".join(str(each) for each in (error.reason.name, error.key) if each is not None)


@pytest.mark.parametrize(
    "name", [pytest.param("headers", marks=pytest.mark.needs("yaml")), "formats"]
)
def test_what_is_not_a_schema_of_its_format_is_refused(name: str) -> None:
    golden.check(Path(__file__).with_name(f"{name}.txt"), globals())
