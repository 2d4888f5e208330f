"""Dictionaries of the records of a file own their values: the memory of blocks is written again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfrecord_lite import (
    TFRecordReader,
    TFRecordWriter,
    decode_example,
    decode_sequence_example,
    encode_example,
    encode_sequence_example,
)
from tfrecord_lite.example import to_dicts
from tfrecord_lite.records.decoder import FrameDecoder
from tfrecord_lite.testing import assert_same


def _number(i: int) -> dict[str, Any]:
    return {"n": i, "f": [i / 2, i / 3]}


def _vector(i: int) -> dict[str, Any]:
    return {"v": np.full(512, i, np.float32)}


def _tokens(i: int) -> dict[str, Any]:
    return {"t": np.arange(i % 300) * i}


def _image(i: int) -> dict[str, Any]:
    return {"label": i, "image": bytes([i % 251]) * 30_000}


def _images(i: int) -> dict[str, Any]:
    return {"images": [bytes([i % 251, k]) * 3_000 for k in range(i % 7)]}


def _some(i: int) -> dict[str, Any]:
    return {"a": i} if i % 3 else {"b": [b"x%d" % i] * (i % 5), "image": b"%d" % i * 9_000}


def _mixed(i: int) -> dict[str, Any]:
    return [_number, _vector, _tokens, _images, _some][i % 5](i)


_FORMS: dict[str, tuple[Callable[[int], dict[str, Any]], int]] = {
    "numbers": (_number, 60_000),
    "vectors": (_vector, 2_500),
    "tokens": (_tokens, 6_000),
    "images": (_image, 350),
    "lists of images": (_images, 400),
    "some": (_some, 900),
    "mixed": (_mixed, 1_500),
}


def _write(path: Path, messages: list[bytes]) -> None:
    with TFRecordWriter(path) as writer:
        for message in messages:
            writer.write(message)


def _same(found: list[Any], messages: list[bytes]) -> None:
    for row, message in zip(found, messages, strict=True):
        expected = decode_example(message)
        assert row.keys() == expected.keys()
        for name, values in expected.items():
            assert row[name].dtype == values.dtype
            assert row[name].tobytes() == values.tobytes() or row[name].tolist() == values.tolist()


@pytest.fixture
def overwriting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Overwrite the memory of earlier blocks at once; returns how often."""
    sizes: list[int] = []
    recycle = FrameDecoder.recycle

    def recycle_and_fill(self: Any, n_records: int = 0) -> None:
        self._buffer[: self._start] = 255
        recycle(self, n_records)
        self._buffer[self._stop :] = 255
        sizes.append(self._buffer.size)

    monkeypatch.setattr(FrameDecoder, "recycle", recycle_and_fill)
    return sizes


@pytest.mark.full
@pytest.mark.parametrize("form", _FORMS)
def test_rows_that_are_kept_stay_as_they_are(
    tmp_path: Path, form: str, overwriting: list[int]
) -> None:
    row, n_rows = _FORMS[form]
    messages = [encode_example(row(i)) for i in range(n_rows)]
    path = tmp_path / "a.tfrecord"
    _write(path, messages)
    rows = list(TFRecordReader(path).examples())
    assert len(overwriting) > 2
    _same(rows, messages)


@pytest.mark.parametrize("n_bytes", [1, 10**5])
@pytest.mark.parametrize("form", ["lists of images", "some", "mixed"])
def test_rows_made_a_few_at_a_time_are_those_made_at_once(
    form: str, n_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, n_rows = _FORMS[form]
    messages = [encode_example(row(i)) for i in range(n_rows // 5)]
    at_once = to_dicts.decode_examples(messages)
    monkeypatch.setattr(to_dicts, "_BYTES_AT_ONCE", n_bytes)
    _same(to_dicts.decode_examples(messages), messages)
    _same(at_once, messages)


def test_sequences_that_are_kept_stay_as_they_are(tmp_path: Path, overwriting: list[int]) -> None:
    messages = [
        encode_sequence_example(
            {
                "context": {"id": i, "image": bytes([i % 251]) * 3_000},
                "feature_lists": {
                    "steps": [[i, k] for k in range(i % 9)],
                    "frames": [b"%d" % i * 400] * (i % 4),
                },
            }
        )
        for i in range(1_500)
    ]
    path = tmp_path / "a.tfrecord"
    _write(path, messages)
    rows = list(TFRecordReader(path).sequence_examples())
    assert len(overwriting) > 2
    for found, message in zip(rows, messages, strict=True):
        assert_same(found, decode_sequence_example(message))
