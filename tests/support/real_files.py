"""Small files in the form of data sets that are published as TFRecord files, with their names.

`write` makes those that docs/how-to/real-data.md reads."""

import json
import sys
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.drawings import encoded, landscape
from tests.support.made_messages import classes_of
from tfrecord_lite import TFRecordWriter
from tfrecord_lite.messages import Event, ExampleListWithContext, Summary

__all__ = ["write"]

rng = np.random.default_rng(0)


def write(folder: Path) -> None:
    """Write all of them into a folder."""
    _rlds(folder)
    _youtube8m(folder)
    _waymo(folder)
    _tfds(folder)
    _kaggle(folder)
    _deepmind(folder)
    _particles(folder)
    _genomics(folder)
    _ranking(folder)
    _frameworks(folder)
    _events(folder)


def _rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with TFRecordWriter(path) as writer:
        for row in rows:
            writer.write_example(row)


def _tfds_folder(folder: Path, name: str, splits: Mapping[str, int], features: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    template = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
    parts = [
        {"name": split, "shardLengths": [str(length)], "filepathTemplate": template}
        for split, length in splits.items()
    ]
    info = {"name": name, "version": folder.name, "fileFormat": "tfrecord", "splits": parts}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    (folder / "features.json").write_text(json.dumps(_feature("FeaturesDict", features=features)))


def _feature(kind: str, **content: Any) -> dict[str, Any]:
    member = {"FeaturesDict": "featuresDict", "Dataset": "sequence", "ClassLabel": "classLabel"}
    name = f"tensorflow_datasets.core.features.{kind}"
    return {"pythonClassName": name, member.get(kind, kind.lower()): content}


def _tensor(dtype: str, *shape: int) -> dict[str, Any]:
    return _feature("Tensor", shape={"dimensions": [str(n) for n in shape]}, dtype=dtype)


TEXT, IMAGE = _feature("Text"), _feature("Image", shape={"dimensions": ["-1", "-1", "3"]})


def _rlds(folder: Path) -> None:
    folder = folder / "fractal20220817_data" / "0.1.0"
    instruction = "natural_language_instruction"
    observation = _feature("FeaturesDict", features={"image": IMAGE, instruction: TEXT})
    action = _feature("FeaturesDict", features={"world_vector": _tensor("float32", 3)})
    step = {"observation": observation, "action": action, "is_last": _tensor("bool")}
    steps = _feature("Dataset", feature=_feature("FeaturesDict", features=step))
    _tfds_folder(folder, "fractal20220817_data", {"train": 6}, {"steps": steps})
    rows = []
    for episode in range(6):
        n_steps = 5 + episode
        vectors = np.arange(3 * n_steps, dtype=np.float32) + 100 * episode
        rows.append(
            {
                "steps/observation/image": [encoded(landscape(episode)[0], "JPEG")] * n_steps,
                f"steps/observation/{instruction}": [f"task {episode}"] * n_steps,
                "steps/action/world_vector": vectors,
                "steps/is_last": [0] * (n_steps - 1) + [1],
            }
        )
    _rows(folder / "fractal20220817_data-train.tfrecord-00000-of-00001", rows)


def _youtube8m(folder: Path) -> None:
    (folder / "yt8m").mkdir()
    with TFRecordWriter(folder / "yt8m" / "train0000.tfrecord") as writer:
        for video in range(3):
            rgb, audio = ([[rng.bytes(n)] for _ in range(120 + video)] for n in (1024, 128))
            context = {"id": f"video{video}", "labels": [video, 1522]}
            lists = {"rgb": rgb, "audio": audio}
            writer.write_sequence_example({"context": context, "feature_lists": lists})


_FIELDS = "timestamps_seconds=1* double, tracks=2* Track, scenario_id=5 string"
SCENARIO = classes_of({"Track": "id=1 int32", "Scenario": _FIELDS})["Scenario"]
"""Waymo's message, of which the fields that the page reads."""


def _waymo(folder: Path) -> None:
    roads = np.zeros((20000, 3), np.float32)
    row: dict[str, Any] = {"scenario/id": "f1a2", "roadgraph_samples/xyz": roads}
    for when, steps in ("past", 10), ("current", 1), ("future", 80):
        for name in "xy":
            row[f"state/{when}/{name}"] = np.full((128, steps), steps, np.float32)
    _rows(folder / "training_tfexample.tfrecord-00000-of-00001", [row] * 2)
    with TFRecordWriter(folder / "training.tfrecord-00000-of-00001") as writer:
        message = SCENARIO(scenario_id="f1a2", timestamps_seconds=np.arange(91) / 10)
        message.tracks.add(id=7)
        writer.write(message.SerializeToString())
    for name in ("waymo_open_dataset", "waymo_open_dataset.protos"):
        sys.modules.setdefault(name, types.ModuleType(name))
    module = types.ModuleType("waymo_open_dataset.protos.scenario_pb2")
    module.Scenario = SCENARIO  # type: ignore[attr-defined]
    sys.modules.setdefault(module.__name__, module)


def _tfds(folder: Path) -> None:
    folder = folder / "imagenet2012" / "5.1.0"
    label = _feature("ClassLabel", numClasses="1000")
    features = {"image": IMAGE, "label": label, "file_name": TEXT}
    _tfds_folder(folder, "imagenet2012", {"validation": 20}, features)
    (folder / "label.labels.txt").write_text("".join(f"n{i:08}\n" for i in range(1000)))
    rows = (
        {"image": encoded(landscape(i)[0], "JPEG"), "label": 50 * i, "file_name": f"{i}.JPEG"}
        for i in range(20)
    )
    _rows(folder / "imagenet2012-validation.tfrecord-00000-of-00001", rows)


def _kaggle(folder: Path) -> None:
    rows = [
        {"id": f"{i:09x}", "image": encoded(landscape(i)[0], "JPEG"), "class": i} for i in range(8)
    ]
    _rows(folder / "tfrecords-jpeg-224x224" / "train" / "00-224x224-8.tfrec", rows)


def _deepmind(folder: Path) -> None:
    fields: dict[str, dict[str, Any]] = {
        "cells": {"type": "static", "shape": [1, -1, 3], "dtype": "int32"},
        "mesh_pos": {"type": "static", "shape": [1, -1, 2], "dtype": "float32"},
        "node_type": {"type": "static", "shape": [1, -1, 1], "dtype": "int32"},
        "velocity": {"type": "dynamic", "shape": [600, -1, 2], "dtype": "float32"},
        "pressure": {"type": "dynamic", "shape": [600, -1, 1], "dtype": "float32"},
    }
    meta = {"trajectory_length": 600, "field_names": list(fields), "features": fields}
    (folder / "cylinder_flow").mkdir()
    (folder / "cylinder_flow" / "meta.json").write_text(json.dumps(meta))
    row = {
        name: np.zeros((each["shape"][0], 50, each["shape"][2]), each["dtype"]).tobytes()
        for name, each in fields.items()
    }
    _rows(folder / "cylinder_flow" / "train.tfrecord", [row] * 2)
    sizes = {"image": 35 * 35 * 3, "mask": 4 * 35 * 35}
    scene: dict[str, Any] = {name: [b"\1"] * n for name, n in sizes.items()}
    scene["color"] = np.ones((4, 3), np.float32)
    with TFRecordWriter(folder / "tetrominoes_train.tfrecords", compression="GZIP") as writer:
        writer.write_examples([scene] * 4)


def _particles(folder: Path) -> None:
    (folder / "WaterDrop").mkdir()
    meta = {"bounds": [[0.1, 0.9]] * 2, "sequence_length": 4, "dim": 2, "dt": 0.0025}
    (folder / "WaterDrop" / "metadata.json").write_text(json.dumps(meta))
    with TFRecordWriter(folder / "WaterDrop" / "train.tfrecord") as writer:
        for key, n_particles in enumerate((3, 4)):
            kinds = np.full(n_particles, 5).tobytes()
            steps = [np.full((n_particles, 2), step, "f4").tobytes() for step in range(5)]
            context = {"key": key, "particle_type": kinds}
            writer.write_sequence_example(
                {"context": context, "feature_lists": {"position": steps}}
            )


def _genomics(folder: Path) -> None:
    row = {"sequence": rng.integers(0, 4, 131072, np.uint8).tobytes(), "target": bytes(131072)}
    (folder / "tfrecords").mkdir()
    with TFRecordWriter(folder / "tfrecords" / "test-3.tfr", compression="ZLIB") as writer:
        writer.write_example(row)
    image = rng.bytes(100 * 221 * 7)
    pileup = {"image/encoded": image, "locus": "chr20:10001-10002", "label": 2}
    _rows(folder / "examples.tfrecord-00000-of-00001.gz", [pileup] * 3)


def _ranking(folder: Path) -> None:
    message = ExampleListWithContext()
    words = b"this is a relevant question".split()
    message.context.features.feature["query_tokens"].bytes_list.value.extend(words)
    for relevance in (1, 0):
        document = message.examples.add().features.feature
        document["document_tokens"].bytes_list.value.extend([b"an", b"answer"])
        document["relevance"].int64_list.value.append(relevance)
    with TFRecordWriter(folder / "eval_elwc.tfrecord") as writer:
        writer.write(message.SerializeToString())


TRANSFORMED = """
feature { name: "age_scaled" type: FLOAT presence { min_fraction: 1 } shape { } }
feature { name: "words$ragged_values" type: INT }
feature { name: "words$row_lengths_1" type: INT }
tensor_representation_group { key: "" value { tensor_representation { key: "words" value {
  ragged_tensor { feature_path { step: "words$ragged_values" }
                  partition { row_length: "words$row_lengths_1" } } } } } }
"""
"""A schema.pbtxt of TensorFlow Transform."""


def _frameworks(folder: Path) -> None:
    """Write what seqio caches, TF-Agents observes, and TF-GNN and TFX write."""
    shapes = {"inputs": ([None], "int32"), "targets": ([None], "int32")}
    features = {name: {"shape": shape, "dtype": dtype} for name, (shape, dtype) in shapes.items()}
    tokens = [{"inputs": list(range(n)), "targets": [n]} for n in range(3)]
    _rows(folder / "my_task" / "train.tfrecord-00000-of-00002", [])
    _rows(folder / "my_task" / "train.tfrecord-00001-of-00002", tokens)
    info = {"num_shards": 2, "features": features, "seqio_version": "0.0.20"}
    (folder / "my_task" / "info.train.json").write_text(json.dumps(info))
    (folder / "my_task" / "COMPLETED").touch()
    numbers = {name: np.int32(1).tobytes() for name in ("step_type", "next_step_type", "action")}
    step = {"observation/pos": [0.5, 1.0, 1.5], "reward": 1.0, "discount": 1.0, **numbers}
    _rows(folder / "replay.tfrecord", [step] * 4)
    graph = {
        "context/label": 1, "nodes/user.#size": 2, "nodes/user.age": [36, 41],
        "nodes/user.tags": ["a", "b", "c"], "nodes/user.tags.d1": [2, 1], "edges/buys.#size": 1,
        "edges/buys.#source": [0], "edges/buys.#target": [1],
    }  # fmt: skip
    _rows(folder / "graphs.tfrecord", [graph] * 2)
    metadata = folder / "transform_graph" / "transformed_metadata"
    metadata.mkdir(parents=True)
    (metadata / "schema.pbtxt").write_text(TRANSFORMED)
    row = {"age_scaled": 0.5, "words$ragged_values": [7, 8, 9], "words$row_lengths_1": [2, 0, 1]}
    _rows(folder / "Split-train" / "transformed_examples-00000-of-00001.gz", [row] * 2)


def _events(folder: Path) -> None:
    (folder / "logs" / "run1").mkdir(parents=True)
    with TFRecordWriter(folder / "logs" / "run1" / "events.out.tfevents.1") as writer:
        writer.write(Event(wall_time=1.5e9, file_version="brain.Event:2").SerializeToString())
        for step in range(5):
            value = Summary.Value(tag="loss", simple_value=1 / (1 + step))
            event = Event(wall_time=1.5e9 + step, step=step, summary=Summary(value=[value]))
            writer.write(event.SerializeToString())
