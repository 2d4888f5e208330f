"""Steps that are stored alike are read without a look at each; those that are not, as ever.

Every shortcut is tried on a batch it is right for, and on that batch with one message, or one
step, that is another: at every place.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Many
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.example_messages import len_field, varint
from tfrecord_lite import (
    FixedLenSequenceFeature,
    RaggedFeature,
    SequenceExampleParser,
)
from tfrecord_lite.arrays import lanes, short_lanes
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.example.sequence import batch as sequences
from tfrecord_lite.wire import packed
from tfrecord_lite.wire.varint import read_short, read_varints

FLOATS = SequenceExampleParser({}, {"a": FixedLenSequenceFeature([2], "float32")})
SOME_FLOATS = SequenceExampleParser(
    {}, {"a": FixedLenSequenceFeature([2], "float32", allow_missing=True)}
)
RAGGED_FLOATS = SequenceExampleParser({}, {"a": RaggedFeature("float32")})
INTS = SequenceExampleParser({}, {"a": FixedLenSequenceFeature([], "int64")})

N_STEPS = [3, 0, 5, 1, 4, 4, 2]


def float_step(values: Iterable[float]) -> bytes:
    return len_field(1, len_field(2, len_field(1, np.array(values, "<f4").tobytes())))


def unpacked_step(values: Iterable[float]) -> bytes:
    """Return a step that is not packed; one of two values is as long as if it were."""
    content = b"".join(b"\x0d" + np.array(value, "<f4").tobytes() for value in values)
    return len_field(1, len_field(2, content))


def int_step(value: int) -> bytes:
    return len_field(1, len_field(3, len_field(1, varint(value % 2**64))))


def message(content: bytes) -> bytes:
    return len_field(2, len_field(1, len_field(1, b"a") + len_field(2, content)))


def values_of(i: int, n_steps: int) -> list[list[float]]:
    return [[i + step / 8, -step] for step in range(n_steps)]


def padded(rows: Many[Many[Any]], shape: tuple[int, ...], dtype: str) -> Any:
    """Return what a batch should come to, one step at a time."""
    longest = max(map(len, rows), default=0)
    out = np.zeros((len(rows), longest, *shape), dtype)
    for i, row in enumerate(rows):
        for step, value in enumerate(row):
            out[i, step] = value
    return out


def assert_padded(parser: Any, batch: Any, rows: Many[Many[Any]]) -> None:
    _, lists, lengths = parser(batch)
    shape, dtype = ((2,), "float32") if parser is not INTS else ((), "int64")
    expected = padded(rows, shape, dtype)
    assert lists["a"].dtype == expected.dtype
    assert lists["a"].shape == expected.shape
    assert lists["a"].tobytes() == expected.tobytes()
    assert lengths["a"].tolist() == [len(row) for row in rows]


@pytest.fixture(params=[False, True])
def _pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let batches be read in one piece, or in many."""
    if request.param:
        monkeypatch.setattr(sequences, "_AT_ONCE", 4)
        monkeypatch.setattr(packed, "_GROUP_VALUES", 3)


@pytest.mark.usefixtures("_pieces")
def test_even_floats_are_padded() -> None:
    rows = [values_of(i, n) for i, n in enumerate(N_STEPS)]
    batch = [message(b"".join(map(float_step, row))) for row in rows]
    assert_padded(FLOATS, batch, rows)
    assert_padded(FLOATS, batch[1:2] * 4, [[]] * 4)
    lists: Any = RAGGED_FLOATS(batch)[1]
    assert lists["a"].to_list() == rows


@pytest.mark.parametrize("place", range(len(N_STEPS)))
@pytest.mark.usefixtures("_pieces")
def test_one_message_or_step_of_floats_is_another(place: int) -> None:
    rows = [values_of(i, n) for i, n in enumerate(N_STEPS)]
    batch = [message(b"".join(map(float_step, row))) for row in rows]

    def instead(other: bytes) -> list[bytes]:
        return [*batch[:place], other, *batch[place + 1 :]]

    for missing in (b"", len_field(2, b""), len_field(2, len_field(1, len_field(1, b"b")))):
        assert_padded(SOME_FLOATS, instead(missing), [*rows[:place], [], *rows[place + 1 :]])
        with pytest.raises(InvalidArgumentError, match="the list is missing"):
            FLOATS(instead(missing))
    for step in range(len(rows[place])):
        parts = list(map(float_step, rows[place]))
        parts[step] = unpacked_step(rows[place][step])
        assert len(parts[step]) == len(float_step([0, 0]))
        other = instead(message(b"".join(parts)))
        assert_padded(FLOATS, other, rows)
        fewer = [*rows[place][:step], *rows[place][step + 1 :]]
        unknown = [*parts[:step], b"\x12" + float_step([1, 2])[1:], *parts[step + 1 :]]
        found = [*rows[:place], fewer, *rows[place + 1 :]]
        assert_padded(FLOATS, instead(message(b"".join(unknown))), found)
        for wrong, words in (
            (parts[step][:2] + b"\x1a" + parts[step][3:], "int64"),
            (float_step([1]), "found 1 value"),
            (float_step([1, 2, 3]), "found 3 values"),
        ):
            parts[step] = wrong
            with pytest.raises(InvalidArgumentError, match=words) as caught:
                FLOATS(instead(message(b"".join(parts))))
            assert caught.value.index == place
            assert f"in step {step} of" in str(caught.value)


@given(st.lists(st.integers(0, 2**28 - 1), min_size=1), st.data())
def test_short_varints_of_known_size(numbers: list[int], data: st.DataObject) -> None:
    runs = [bytearray(varint(number)) for number in numbers]
    if data.draw(st.booleans()):
        run = data.draw(st.sampled_from(runs))
        run[data.draw(st.integers(0, len(run) - 1))] ^= 0x80
    joined = np.frombuffer(b"".join(runs) + b"\xff" * 16, np.uint8)
    sizes = np.array([len(run) for run in runs])
    starts = np.cumsum(sizes) - sizes
    found = read_short(short_lanes(joined)[starts], sizes.astype(np.uint32))
    values, true_sizes = read_varints(lanes(joined), starts)
    if (true_sizes == sizes).all():
        assert found is not None
        assert found.tolist() == values.tolist()
    else:
        assert found is None
