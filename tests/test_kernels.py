"""The compiled kernels do what the NumPy code does, are sure of nothing else, and load when asked.

In CI the tests of the rooms that use them run a second time with ``TFRECORD_LITE_JIT=1``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from tests.support.subprocesses import run_fresh
from tfrecord_lite import FixedLenSequenceFeature, jit, kernels, parse_sequence_example
from tfrecord_lite.arrays import ByteRanges, lanes
from tfrecord_lite.errors import DataLossError
from tfrecord_lite.example.sequence import batch as steps
from tfrecord_lite.example.sequence.encode import encode_sequence_examples
from tfrecord_lite.messages import Feature
from tfrecord_lite.records import crc32c
from tfrecord_lite.records.decoder import FrameDecoder
from tfrecord_lite.records.framing import frame
from tfrecord_lite.wire.packed import varint_runs
from tfrecord_lite.wire.scalar import WireError
from tfrecord_lite.wire.varint import varint_run

if TYPE_CHECKING:
    from collections.abc import Callable

INT64 = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300) | st.integers(0, 2**40)


def both(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> list[Any]:
    """Call without the kernels, then with them."""
    found = []
    for each in (None, kernels):
        monkeypatch.setattr(jit, "kernels", each)
        found.append(call())
    return found


# ------------------------------------------------------------------------------- frames


def decoded(stream: bytes, cut: int, n_records: int | None, most: int) -> list[Any]:
    """Read a stream in two pieces: the records of each block, and in the end the error."""
    decoder = FrameDecoder(max_record_bytes=most)
    found: list[Any] = []
    try:
        for piece in (stream[:cut], stream[cut:]):
            room = decoder.writable()
            room[: len(piece)] = piece
            decoder.advance(len(piece))
            while (block := decoder.next_block(n_records)) is not None:
                found.append((list(block), block.offsets.tolist()))
        decoder.close()
    except DataLossError as error:
        found.append((error.reason, error.offset, error.index, error.detail))
    return found


@given(
    st.lists(st.binary(max_size=40), max_size=9),
    st.integers(0, 500),
    st.none() | st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 255)), max_size=2),
    st.sampled_from([20, 2**31, 2**64]),
)
def test_frames_are_found_alike(
    records: list[bytes], cut: int, n_records: int | None, flips: list[tuple[int, int]], most: int
) -> None:
    stream = bytearray(frame(records))
    for place, bits in flips:
        if stream:
            stream[place % len(stream)] ^= bits
    with pytest.MonkeyPatch.context() as patch:
        today, compiled = both(
            patch, lambda: decoded(bytes(stream), cut % (len(stream) + 1), n_records, most)
        )

    assert compiled == today


@pytest.mark.parametrize("length", [2**63, 2**63 - 1, 2**64 - 1, 2**64 - 16, 2**62 + 1])
def test_a_forged_length_of_a_frame_is_for_the_numpy_code(length: int) -> None:
    header = length.to_bytes(8, "little")
    header += int(crc32c.length_crcs(np.array([length], np.uint64))[0]).to_bytes(4, "little")
    data = np.frombuffer(bytes(frame([b"one"])) + header + bytes(64), np.uint8)
    found = np.empty(10, np.int64)

    n_found, _, _ = kernels.scan(lanes(data), 0, data.size, 2**62, crc32c.LENGTH_TABLES, found)

    assert n_found == kernels.UNSURE


# ------------------------------------------------------------------------------ varints


def runs_of(chunks: list[bytes]) -> ByteRanges:
    lengths = np.array([len(chunk) for chunk in chunks], np.int64)
    data = np.frombuffer(b"".join(chunks) + bytes(64), np.uint8)
    return ByteRanges(data, np.cumsum(lengths) - lengths, lengths)


def decoded_runs(runs: ByteRanges) -> Any:
    try:
        counts, values = varint_runs(runs)
    except WireError as error:
        return error.args
    return counts.tolist(), values.tolist()


@given(st.lists(st.lists(INT64, max_size=5), max_size=6))
@example([[2**63 - 1, -1], [], [0]])
def test_numbers_become_the_same_bytes_and_come_back(rows: list[list[int]]) -> None:
    flat = np.array([number for row in rows for number in row], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        (today, today_sizes), (compiled, sizes) = both(patch, lambda: varint_run(flat))
        chunks = [varint_run(np.array(row, np.int64))[0].tobytes() for row in rows]
        counts, values = varint_runs(runs_of(chunks))

    assert compiled.tobytes() == today.tobytes()
    assert (np.asarray(sizes) == today_sizes).all()
    assert counts.tolist() == [len(row) for row in rows]
    assert values.tolist() == flat.tolist()


@given(st.lists(st.lists(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]), max_size=14), max_size=5))
@example([[0x80] * 9 + [1]])
@example([[0x80] * 10 + [1]])
@example([[1], [0x80]])
def test_any_bytes_are_numbers_or_wrong_alike(chunks: list[list[int]]) -> None:
    runs = runs_of([bytes(chunk) for chunk in chunks])
    with pytest.MonkeyPatch.context() as patch:
        today, compiled = both(patch, lambda: decoded_runs(runs))

    assert compiled == today


@pytest.mark.parametrize(("start", "length"), [(-1, 4), (0, -1), (8, 1), (0, 9), (2**62, 2**62)])
def test_a_run_outside_the_buffer_is_not_read(start: int, length: int) -> None:
    data = np.zeros(8, np.uint8)
    at, size = np.array([start], np.int64), np.array([length], np.int64)

    assert kernels.count_varints(data, at, size, np.empty(1, np.int64)) == kernels.UNSURE


# -------------------------------------------------------------------------------- steps


@given(
    st.lists(st.lists(st.lists(INT64, max_size=3), max_size=5), min_size=1, max_size=6)
    | st.lists(st.lists(st.just([1.5, 2.5]), max_size=5), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), max_size=1),
)
def test_steps_are_found_alike(rows: list[list[list[Any]]], flips: list[tuple[int, int]]) -> None:
    has_floats = any(step == [1.5, 2.5] for row in rows for step in row)
    kind = "float_list" if has_floats else "int64_list"
    lists = []
    for row in rows:
        message = bytearray()
        for step in row:
            content = Feature(**{kind: {"value": step}}).SerializeToString()  # type: ignore[arg-type]
            message += b"\x0a" + bytes([len(content)]) + content
        lists.append(message)
    for place, bits in flips:
        message = lists[place % len(lists)]
        if message:
            message[place % len(message)] ^= bits
    runs = runs_of([bytes(message) for message in lists])
    stops = runs.starts + runs.lengths
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "kernels", kernels)
        found = steps.find_plain(runs.data, runs.starts, stops)
        if found is None:
            return
        patch.setattr(jit, "kernels", None)
        chosen = np.flatnonzero(found.is_plain)
        counts, fields = steps.find_steps(runs.data, runs.starts[chosen], stops[chosen])
        contents = found.contents
        starts = (
            contents.starts if isinstance(contents, ByteRanges) else contents.starts(found.counts)
        )

    assert found.counts.tolist() == counts.tolist()
    assert set(fields.number.tolist()) <= {int(found.kind)}
    # A content starts after the tag and the length of its chunk.
    assert starts.tolist() == (fields.start + 2).tolist()


@pytest.mark.parametrize(
    ("start", "stop"), [(-1, 4), (0, 9), (2**63 - 1, 8), (2**63 - 2, 2**63 - 1), (-(2**63), 8)]
)
def test_a_list_outside_the_buffer_has_no_steps(start: int, stop: int) -> None:
    data = np.zeros(8, np.uint8)
    counts = np.full(1, 7, np.int64)

    found = kernels.count_steps(data, np.array([start]), np.array([stop]), 0x1A, counts)

    assert found[0] == 0
    assert counts.tolist() == [0]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(1, 9))
def test_steps_are_padded_alike(lengths: list[int], width: int) -> None:
    values = np.arange(sum(lengths) * width, dtype=np.float32).reshape(-1, width)
    cells = np.zeros((len(lengths), max(lengths), width), np.float32)
    for number, length in enumerate(lengths):
        first = sum(lengths[:number])
        cells[number, :length] = values[first : first + length]
    block = encode_sequence_examples({}, {"v": cells}, {"v": lengths})
    with pytest.MonkeyPatch.context() as patch:
        today, compiled = both(
            patch,
            lambda: parse_sequence_example(
                block, sequence_features={"v": FixedLenSequenceFeature([width], "float32")}
            )[1]["v"],
        )

    assert (compiled == today).all()
    assert (compiled == cells).all()


# ------------------------------------------------------------------------------ loading

READ = """
import json, sys, tempfile, os
import numpy as np
from tfrecord_lite import jit
from tfrecord_lite import TFRecordReader, TFRecordWriter, FixedLenFeature, RaggedFeature
path = os.path.join(tempfile.mkdtemp(), "a")
with TFRecordWriter(path) as writer:
    writer.write_examples({"a": np.arange(200), "b": np.arange(600).reshape(200, 3) * 1000})
features = {"a": FixedLenFeature([], "int64"), "b": RaggedFeature("int64")}
(batch,) = TFRecordReader(path).batches(features, 200)
assert batch["b"].values.tolist() == (np.arange(600) * 1000).tolist()
"""


@pytest.mark.parametrize("value", ["", "0", "False", "off"])
def test_numba_is_loaded_only_when_it_is_asked_for(value: str) -> None:
    out = run_fresh(READ + "print(json.dumps(sorted(sys.modules)))", TFRECORD_LITE_JIT=value)

    assert not {"numba", "llvmlite", "tfrecord_lite.kernels"} & set(json.loads(out))


def test_the_environment_asks_for_it_and_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    script = READ + (
        "from tfrecord_lite import jit, kernels\n"
        "assert jit.kernels is kernels\n"
        "used = [k for k in vars(kernels).values() if getattr(k, 'signatures', None)]\n"
        "print(json.dumps([len(used), sum(sum(k.stats.cache_misses.values()) for k in used)]))\n"
    )
    first, second = (
        json.loads(run_fresh(script, TFRECORD_LITE_JIT="1", NUMBA_CACHE_DIR=str(tmp_path)))
        for _ in range(2)
    )

    assert first[0] >= 4
    assert first[1] > 0
    assert second == [first[0], 0]


def test_without_numba_the_error_says_what_to_install() -> None:
    out = run_fresh(
        "import sys; sys.modules['numba'] = None\n"
        "from tfrecord_lite import jit\n"
        "try:\n"
        "    jit.enable_jit()\n"
        "except ImportError as error:\n"
        "    print(error)\n",
        TFRECORD_LITE_JIT="",
    )

    assert 'pip install "tfrecord-numpy[jit]"' in out


def test_without_a_place_for_the_cache_the_error_says_where_to_set_one() -> None:
    out = run_fresh(
        "import numba\n"
        "def refuse(**options):\n"
        "    raise RuntimeError('cannot cache function: no locator available')\n"
        "numba.njit = refuse\n"
        "from tfrecord_lite import jit\n"
        "try:\n"
        "    jit.enable_jit()\n"
        "except RuntimeError as error:\n"
        "    print(error)\n",
        TFRECORD_LITE_JIT="",
    )

    assert "no locator available; set NUMBA_CACHE_DIR" in out


def test_the_kernels_stay_small() -> None:
    assert len(Path(os.fspath(kernels.__file__)).read_text().splitlines()) <= 400
