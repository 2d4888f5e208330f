"""Dictionaries that are made a few at a time are those made at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfrecord_lite import (
    encode_example,
)
from tfrecord_lite.example import to_dicts
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
