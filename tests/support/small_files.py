"""Small files of numbered Examples, and plain forms of the elements data sets yield."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tfrecord_lite import Dataset, FixedLenFeature, TFRecordWriter
from tfrecord_lite.messages import Example
from tfrecord_lite.records.framing import frame

FEATURES = {"n": FixedLenFeature([], "int64"), "s": FixedLenFeature([], "string")}


def example(number: int) -> bytes:
    """Return an Example that holds its number, and a string made of it."""
    message = Example()
    message.features.feature["n"].int64_list.value.append(number)
    message.features.feature["s"].bytes_list.value.append(b"%d" % number * (number % 4))
    return message.SerializeToString(deterministic=True)


def write(path: Path, records: Iterable[bytes]) -> str:
    path.write_bytes(bytes(frame(list(records))))
    return str(path)


def write_records(path: Path, records: Iterable[bytes], compression: str | None = None) -> Path:
    with TFRecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
    return path


def write_files(folder: Path, counts: Iterable[int]) -> list[str]:
    names, first = [], 0
    for i, count in enumerate(counts):
        names.append(write(folder / f"{i:02}", [example(first + k) for k in range(count)]))
        first += count
    return names


def plain(element: Any) -> Any:
    """Return an element as numbers, lists, dictionaries and tuples, which compare with ``==``."""
    if isinstance(element, dict):
        return {key: plain(value) for key, value in element.items()}
    if isinstance(element, (tuple, list)):
        return tuple(map(plain, element))
    return element.tolist() if isinstance(element, (np.ndarray, np.generic)) else element


def number_of(record: bytes) -> int:
    return int(Example.FromString(record).features.feature["n"].int64_list.value[0])


def numbers(elements: Iterable[Any]) -> list[int]:
    """Return the numbers of all Examples in records, batches of them, or columns."""
    out: list[int] = []
    for element in elements:
        if isinstance(element, bytes):
            out.append(number_of(element))
        elif isinstance(element, dict):
            out += np.atleast_1d(element["n"]).tolist()
        else:
            out += numbers(element)
    return out


def rest_after(make: Callable[[], Dataset], n_given: int, epoch: int = 0) -> list[Any]:
    """Stop a run after `n_given` elements, and go on from its state in another."""
    run = iter(make().set_epoch(epoch))
    for _ in range(n_given):
        next(run)
    state = json.loads(json.dumps(run.state_dict()))
    run.close()
    again = iter(make())
    again.load_state_dict(state)
    return list(map(plain, again))
