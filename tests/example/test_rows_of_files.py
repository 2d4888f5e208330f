"""Dictionaries of the records of a file own their values: the memory of blocks is written again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfrecord_lite import (
    Block,
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

FORMS: dict[str, Any] = {
    "numbers": (lambda i: {"n": i, "f": [i / 2, i / 3]}, 60_000),
    "vectors": (lambda i: {"v": np.full(512, i, np.float32)}, 2_500),
    "tokens": (lambda i: {"t": np.arange(i % 300) * i}, 6_000),
    "image": (lambda i: {"label": i, "image": bytes([i % 251]) * 30_000}, 350),
    "images": (lambda i: {"images": [bytes([i % 251, k]) * 3_000 for k in range(i % 7)]}, 400),
    "some": (
        lambda i: {"a": i} if i % 3 else {"b": [b"x%d" % i] * (i % 5), "c": b"%d" % i * 9_000},
        900,
    ),
    "mixed": (lambda i: FORMS[[*FORMS][i % 6]][0](i), 1_500),
}


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


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_rows_that_are_kept_stay_as_they_are(
    tmp_path: Path, form: str, overwriting: list[int]
) -> None:
    row, n_rows = FORMS[form]
    messages = [encode_example(row(i)) for i in range(n_rows)]
    with TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        writer.write(Block.from_records(messages))
    rows = list(TFRecordReader(tmp_path / "a.tfrecord").examples())
    assert len(overwriting) > 2
    assert_same(rows, list(map(decode_example, messages)))


@pytest.mark.parametrize("n_bytes", [1, 10**5])
@pytest.mark.parametrize("form", ["images", "some", "mixed"])
def test_rows_made_a_few_at_a_time_are_those_made_at_once(
    form: str, n_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, n_rows = FORMS[form]
    messages = [encode_example(row(i)) for i in range(n_rows // 5)]
    at_once = to_dicts.decode_examples(messages)
    monkeypatch.setattr(to_dicts, "_BYTES_AT_ONCE", n_bytes)
    assert_same(to_dicts.decode_examples(messages), at_once)


def test_sequences_that_are_kept_stay_as_they_are(tmp_path: Path, overwriting: list[int]) -> None:
    rows: list[Any] = [
        {
            "context": {"id": i, "image": bytes([i % 251]) * 3_000},
            "feature_lists": {
                "steps": [[i, k] for k in range(i % 9)],
                "frames": [b"%d" % i * 400] * (i % 4),
            },
        }
        for i in range(1_500)
    ]
    with TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        writer.write_sequence_examples(rows)
    found = list(TFRecordReader(tmp_path / "a.tfrecord").sequence_examples())
    assert len(overwriting) > 2
    assert_same(found, [decode_sequence_example(encode_sequence_example(row)) for row in rows])
