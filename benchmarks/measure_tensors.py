"""Measurements of tensors in bytes, run by :mod:`benchmarks.measure`, one per process.

The data are made before the clock starts: serialised by this package, byte for byte as
TensorFlow writes it. Each call is repeated, after once for warming up, and what it
returned is let go before the next.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Result = dict[str, float]

__all__ = ["MEASUREMENTS"]

_REPEATS = 3


def _timed(call: Callable[[], object], n_records: int) -> Result:
    call()
    start, cpu_start = time.perf_counter(), time.process_time()
    for _ in range(_REPEATS):
        call()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "n_records": _REPEATS * n_records}


def _array(shape: list[int], n: int) -> Any:
    import numpy as np

    return np.random.default_rng(0).standard_normal((n, *shape), np.float32)


def _serialized(shape: list[int], n: int, form: str) -> Any:
    """Return serialised float32 tensors, as objects or as one column."""
    import numpy as np

    from tfrecord_lite import BytesColumn, serialize_tensor
    from tfrecord_lite.messages.tensor_pb2 import TensorProto, TensorShapeProto

    rows = _array(shape, n)
    if form == "listed":  # in the typed field, which no serialize_tensor writes
        dims = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])
        items = [
            TensorProto(
                dtype=1, tensor_shape=dims, float_val=row.ravel().view(np.uint32).tolist()
            ).SerializeToString()
            for row in rows
        ]
    else:
        items = [serialize_tensor(row) for row in rows]
    if form == "column":
        return BytesColumn.from_list(items)
    array = np.empty(n, object)
    array[:] = items
    return array


def tensors_ours(shape: list[int], n: int, form: str) -> Result:
    """Parse many into one array."""
    from tfrecord_lite import parse_tensors

    items = _serialized(shape, n, form)
    return _timed(lambda: parse_tensors(items, "float32"), n)


def tensors_ours_one_by_one(shape: list[int], n: int, form: str) -> Result:
    """Parse one after the other."""
    from tfrecord_lite import parse_tensor

    items = _serialized(shape, n, form)
    return _timed(lambda: [parse_tensor(item, "float32") for item in items], n)


def tensors_tensorflow(shape: list[int], n: int, form: str, *, stacked: bool) -> Result:
    """Parse one after the other with TensorFlow, its only way; stack the arrays."""
    import numpy as np
    import tensorflow as tf

    items = _serialized(shape, n, form)

    def parse() -> object:
        found = [tf.io.parse_tensor(item, tf.float32) for item in items]
        return np.stack([tensor.numpy() for tensor in found]) if stacked else found

    return _timed(parse, n)


def _raw(n_bytes: int, n: int, form: str) -> Any:
    import numpy as np

    from tfrecord_lite import BytesColumn

    items = [row.tobytes() for row in _array([n_bytes // 4], n)]
    if form == "column":
        return BytesColumn.from_list(items)
    array = np.empty(n, object)
    array[:] = items
    return array


def raw_ours(n_bytes: int, n: int, form: str, *, fixed: bool) -> Result:
    """Decode many strings of raw numbers."""
    from tfrecord_lite import decode_raw

    strings = _raw(n_bytes, n, form)
    length = n_bytes if fixed else None
    return _timed(lambda: decode_raw(strings, "float32", fixed_length=length), n)


def raw_tensorflow(n_bytes: int, n: int, form: str, *, fixed: bool) -> Result:
    """Decode with TensorFlow, from an array of objects or a tensor of strings."""
    import tensorflow as tf

    strings = _raw(n_bytes, n, "objects")
    if form == "tensor":
        strings = tf.constant(strings)
    length = n_bytes if fixed else None
    return _timed(lambda: tf.io.decode_raw(strings, tf.float32, fixed_length=length), n)


MEASUREMENTS: dict[str, Callable[..., Result]] = {
    "tensors_ours": tensors_ours,
    "tensors_ours_one_by_one": tensors_ours_one_by_one,
    "tensors_tensorflow": tensors_tensorflow,
    "raw_ours": raw_ours,
    "raw_tensorflow": raw_tensorflow,
}
