"""Records of other people's protobufs: some fields of the messages, with the numbers of the originals.

::

    Frame           Waymo Open Dataset      waymo_open_dataset/dataset.proto
    PredictionLog   TensorFlow Serving      tensorflow_serving/apis/prediction_log.proto
    NoteSequence    Magenta                 note_seq/protobuf/music.proto
    Read            Nucleus, DeepVariant    nucleus/protos/reads.proto

The classes are attributes of the module, as ``tests.support.foreign_messages:Frame``.
"""

import struct
import sys
import types
from pathlib import Path

from tests.cli.samples import JPEG, write
from tests.support.made_messages import classes_of

_FIELDS = {
    "Frame": "context=1 Context, timestamp_micros=2 int64, pose=3 Transform, images=4* CameraImage",
    "Context": "name=1 string, stats=4 Stats",
    "Stats": "time_of_day=2 string, location=3 string, weather=4 string",
    "Transform": "transform=1* double",
    "CameraImage": "name=1 Camera, image=2 bytes, pose=3 Transform, shutter=6 float",
    "PredictionLog": "log_metadata=1 LogMetadata, predict_log=6 PredictLog",
    "LogMetadata": "model_spec=1 ModelSpec", "PredictLog": "request=1 PredictRequest",
    "PredictRequest": "model_spec=1 ModelSpec, inputs=2* Input, output_filter=3* string",
    "ModelSpec": "name=1 string, version=2 Version, signature_name=3 string",
    "Version": "value=1 int64", "Input": "key=1 string, value=2 Tensor",
    "Tensor": "dtype=1 int32, tensor_shape=2 Shape, tensor_content=4 bytes", "Shape": "dim=2* Dim",
    "Dim": "size=1 int64",
    "NoteSequence": "id=1 string, filename=2 string, ticks_per_quarter=4 int32, notes=8* Note, total_time=9 double",
    "Note": "pitch=1 int32, velocity=2 int32, start_time=3 double, end_time=4 double",
    "Read": "fragment_name=4 string, aligned_sequence=10 string, aligned_quality=11+ int32",
}  # fmt: skip


CLASSES = classes_of(_FIELDS, {"Camera": ["UNKNOWN", "FRONT", "FRONT_LEFT"]})
Frame, PredictionLog = CLASSES["Frame"], CLASSES["PredictionLog"]
NoteSequence, Read = CLASSES["NoteSequence"], CLASSES["Read"]


def _pose(x: float) -> dict[str, list[float]]:
    return {"transform": [1.0, 0.0, 0.0, x]}


def frame(number: int) -> bytes:
    """Return a frame of a drive, with the pictures of two cameras."""
    stats = {"time_of_day": "Day", "location": "location_sf", "weather": "sunny"}
    images = [{"name": name, "image": JPEG, "pose": _pose(0.5), "shutter": 0.25} for name in (1, 2)]
    made = Frame(
        context={"name": "10017090168044687777_6380_000_6400_000", "stats": stats},
        timestamp_micros=1550083467346370 + 100_000 * number,
        pose=_pose(number / 4),
        images=images,
    )
    return bytes(made.SerializeToString())


def prediction_log(number: int) -> bytes:
    shape = {"dim": [{"size": 1}, {"size": 2}]}
    content = struct.pack("<2f", number, 0.5)
    tensor = {"dtype": 1, "tensor_shape": shape, "tensor_content": content}
    model = {"name": "flowers", "version": {"value": 3}, "signature_name": "serving_default"}
    inputs = [{"key": "x", "value": tensor}]
    request = {"model_spec": model, "inputs": inputs, "output_filter": ["scores"]}
    made = PredictionLog(
        log_metadata={"model_spec": {"name": "flowers"}}, predict_log={"request": request}
    )
    return bytes(made.SerializeToString())


def note_sequence(number: int) -> bytes:
    notes = [
        {"pitch": 60 + i, "velocity": 80, "start_time": i / 2, "end_time": i / 2 + 0.5}
        for i in range(4 + 4 * number)
    ]
    made = NoteSequence(
        id=f"/id/maestro/{number}",
        filename="2018/a.midi",
        ticks_per_quarter=220,
        notes=notes,
        total_time=4.5,
    )
    return bytes(made.SerializeToString())


def read(number: int) -> bytes:
    made = Read(
        fragment_name=f"read{number}", aligned_sequence="ACGTTG", aligned_quality=[30, 31, 2, 40]
    )
    return bytes(made.SerializeToString())


RECORDS = {
    "Frame": frame, "PredictionLog": prediction_log, "NoteSequence": note_sequence, "Read": read,
}  # fmt: skip
"""For each class, what makes a record of it."""


def write_documented(folder: Path) -> None:
    """Write the files of docs/how-to/protobufs.md, and make the modules that it imports."""
    for name, cls in ("segment", Frame), ("predictions", PredictionLog):
        write(folder / f"{name}.tfrecord", map(RECORDS[cls.__name__], range(2)))
        path = MODULES[cls.__name__].split(".")
        for i in range(1, len(path) + 1):
            module = types.ModuleType(".".join(path[:i]))
            sys.modules.setdefault(module.__name__, module)
        setattr(sys.modules[module.__name__], cls.__name__, cls)


MODULES = {
    "Frame": "waymo_open_dataset.dataset_pb2",
    "PredictionLog": "tensorflow_serving.apis.prediction_log_pb2",
}
