"""The measurements of :mod:`benchmarks.events`, run by :mod:`benchmarks.measure`.

Both sides go from a file to three arrays a tag: steps, times and values.
"""

from __future__ import annotations

import sys
import time
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Result = dict[str, float]

_TAGS = 10


def make_events(path: str, n_events: int, style: str) -> Result:
    """Write scalars of ten tags, one per event, unless the file exists."""
    from tfrecord_lite import TFRecordWriter, serialize_tensor
    from tfrecord_lite.messages import Event, Summary, SummaryMetadata
    from tfrecord_lite.messages.tensor_pb2 import TensorProto

    if Path(path).exists():
        return {}
    plugin = SummaryMetadata.PluginData(plugin_name="scalars")
    with TFRecordWriter(path, atomic=True) as writer:
        version = Event(wall_time=1.5e9, file_version="brain.Event:2")
        writer.write(version.SerializeToString())
        for i in range(n_events):
            value = Summary.Value(tag=f"train/metric_{i % _TAGS}")
            number = 1 / (1 + i)
            if style == "simple_value":
                value.simple_value = number
            else:
                import numpy as np

                tensor = TensorProto.FromString(serialize_tensor(np.float32(number)))
                value.tensor.CopyFrom(tensor)
                value.metadata.plugin_data.CopyFrom(plugin)
            event = Event(wall_time=1.5e9 + i / 8, step=i // _TAGS, summary=Summary(value=[value]))
            writer.write(event.SerializeToString())
    return {}


def events_ours(path: str) -> Result:
    """Read with read_events."""
    from tfrecord_lite import read_events

    def read() -> int:
        events = read_events(path)
        return sum(len(events.scalars(tag).value) for tag in events.tags["scalars"])

    return _timed(read)


def events_tensorboard(path: str, style: str, *, with_tensorflow: bool) -> Result:
    """Read with TensorBoard's EventAccumulator, with its own record reader or TensorFlow's."""
    if not with_tensorflow:  # TensorBoard's own switch
        sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")
    import numpy as np
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.util.tensor_util import make_ndarray

    keep_all = event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE

    def value_of(event: Any) -> Any:
        return event.value if style == "simple_value" else make_ndarray(event.tensor_proto).item()

    def read() -> int:
        events = event_accumulator.EventAccumulator(path, size_guidance=keep_all)
        events.Reload()
        of_tag = events.Scalars if style == "simple_value" else events.Tensors
        n_values = 0
        for tag in events.Tags()["scalars" if style == "simple_value" else "tensors"]:
            found = of_tag(tag)
            np.array([event.step for event in found])
            np.array([event.wall_time for event in found])
            n_values += len(np.array([value_of(event) for event in found]))
        return n_values

    return _timed(read)


def _timed(read: Callable[[], int]) -> Result:
    start, cpu_start = time.perf_counter(), time.process_time()
    n_records = read()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "n_records": n_records}


MEASUREMENTS: dict[str, Callable[..., Result]] = {
    "make_events": make_events,
    "events_ours": events_ours,
    "events_tensorboard": events_tensorboard,
}
