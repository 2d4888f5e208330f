"""Files of Examples of any schema, and the values of tables in a form that compares bit by bit."""

import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from tests.support.small_files import write
from tests.support.specifications import feature_specs
from tfrecord_lite import Schema
from tfrecord_lite.messages import Example
from tfrecord_lite.testing import examples_for

__all__ = ["damaged", "exact", "files", "on_disk", "record", "with_a_bad_feature"]


@st.composite
def files(draw: st.DrawFn, max_records: int = 6) -> tuple[Schema, list[bytes]]:
    specs = draw(feature_specs(max_size=3))
    assume("\\u0000" not in Schema(specs).to_json())  # at which Arrow's interface in C cuts names
    examples = draw(st.lists(examples_for(specs), max_size=max_records))
    return Schema(specs), [example.SerializeToString() for example in examples]


@contextmanager
def on_disk(records: list[bytes]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield write(Path(folder) / "data.tfrecord", records)


def exact(value: Any) -> Any:
    """Return a value with its floats as bytes, so that any NaN equals itself and no other."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    return struct.pack("<d", value) if isinstance(value, float) else value


def record(**lists: list[Any]) -> bytes:
    example = Example()
    for name, values in lists.items():
        feature = example.features.feature[name]
        if any(isinstance(value, bytes) for value in values):
            feature.bytes_list.value.extend(values)
        elif any(isinstance(value, float) for value in values):
            feature.float_list.value.extend(values)
        else:
            feature.int64_list.value.extend(values)
    return example.SerializeToString(deterministic=True)


def with_a_bad_feature(n_good: int, n_after: int = 0) -> list[bytes]:
    """Return records with a label and a name; after some, the name is a number in one."""
    good = [record(label=[i], name=[b"n%d" % i]) for i in range(n_good + n_after)]
    return [*good[:n_good], record(label=[n_good], name=[7]), *good[n_good:]]


def damaged(folder: Path) -> Path:
    path = folder / "damaged"
    records = [record(label=[i], name=[bytes(1000)]) for i in range(3000)]
    data = bytearray(Path(write(path, records)).read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)
    return path
