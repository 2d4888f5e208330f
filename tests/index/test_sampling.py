"""Samples: every record is one of the file's, and they stand for all of them."""

import io
import os
import random
import threading
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.http_files import FileServer, serving
from tests.support.small_files import write_records as write
from tfrecord_lite import TFRecordReader
from tfrecord_lite.errors import Reason
from tfrecord_lite.index.sampling import Sample, draw_sample
from tfrecord_lite.records.framing import frame


def records_of(n: int, mean: float, seed: int = 0, spread: float = 1.0) -> list[bytes]:
    rng = np.random.default_rng(seed)
    lengths = rng.lognormal(np.log(mean) - spread**2 / 2, spread, n).astype(int)
    return [rng.bytes(int(length)) for length in lengths]


def check_places(sample: Sample, records: list[bytes], name: str) -> None:
    offsets = list(accumulate((len(record) + 16 for record in records), initial=0))
    numbers = {offset: number for number, offset in enumerate(offsets)}
    for block in sample.blocks:
        for i, record in enumerate(block):
            place = block.place(i)
            assert place.source == name
            assert place.offset is not None
            number = numbers[place.offset]
            assert record == records[number]
            assert place.index in (number, None)


def taken(sample: Sample) -> list[bytes]:
    return [record for block in sample.blocks for record in block]


@pytest.fixture(scope="module")
def many() -> list[bytes]:
    return records_of(20_000, 300)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, many: list[bytes]) -> Path:
    return write(tmp_path_factory.mktemp("large") / "data", many)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as server:
        yield server


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_small_files_are_read_whole(tmp_path: Path, compression: str) -> None:
    records = records_of(500, 40)
    parts = enumerate((records[:200], records[200:]))
    paths = [write(tmp_path / f"{i}", part, compression) for i, part in parts]
    sample = draw_sample(paths, num_records=10)
    assert taken(sample) == records
    assert (sample.num_records, sample.is_whole) == (500, True)
    assert (sample.method, sample.compressions) == ("all records", (compression,))
    assert sample.report.is_sound
    if not compression:
        data = bytearray(paths[0].read_bytes())
        data[5000] ^= 1
        paths[0].write_bytes(data)
        reader = TFRecordReader(paths[0], on_error=print)
        damaged = draw_sample(paths[0])
        assert taken(damaged) == list(reader)
        assert damaged.report == reader.report


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_is_from_all_over_a_large_file(large: Path, many: list[bytes], seed: int) -> None:
    sample = draw_sample(large, num_records=500, max_bytes=1 << 20, seed=seed)
    check_places(sample, many, str(large))
    assert len(taken(sample)) == 500
    assert sample.method == "records at 16 places"
    assert (sample.is_whole, sample.num_records) == (False, None)
    mean = np.mean([len(record) for record in taken(sample)])
    assert 0.75 < mean / np.mean(list(map(len, many))) < 1.3
    offsets = [block.place(0).offset or 0 for block in sample.blocks]
    assert max(offsets) > 0.9 * large.stat().st_size
    assert sample.report.is_sound
    again, other = (
        draw_sample(large, num_records=500, max_bytes=1 << 20, seed=each) for each in (seed, -1)
    )
    assert taken(again) == taken(sample) != taken(other)


def test_regions_and_files_weigh_as_many_records_as_they_have(tmp_path: Path) -> None:
    path = write(tmp_path / "data", [b"s" * 84] * 20_000 + [b"l" * 9984] * 200)
    small, big = (
        write(tmp_path / "0", [b"s" * 84] * 1000),
        write(tmp_path / "1", [b"b" * 84] * 30_000),
    )
    for source, low, high in ((path, 0.98, 1), ([small, big], 0.8 / 31, 1.2 / 31)):
        records = taken(draw_sample(source, num_records=10**9, max_bytes=1 << 20))
        share = sum(record[:1] == b"s" for record in records) / len(records)
        assert low < share < high


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=60),
    st.integers(1, 100_000),
    st.integers(0, 2**32),
)
def test_every_record_is_one_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], max_bytes: int, seed: int
) -> None:
    choose = random.Random(seed)
    records = [choose.randbytes(size) for size in sizes]
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(frame(records))
    sample = draw_sample(path, max_bytes=max_bytes, seed=seed)
    check_places(sample, records, str(path))
    assert sample.report.is_sound
    assert sample.is_whole == (path.stat().st_size <= max_bytes)


def test_a_long_record_at_the_end_of_a_window_is_taken_or_damaged(tmp_path: Path) -> None:
    records = [os.urandom(150_000) for _ in range(100)]
    data = bytearray(frame(records))
    path = tmp_path / "data"
    path.write_bytes(data)
    sound = draw_sample(path, max_bytes=1 << 20)
    for number in range(100):
        data[number * 150_016 + 149_000] ^= 1
    path.write_bytes(data)
    damaged = draw_sample(path, max_bytes=1 << 20)
    check_places(sound, records, str(path))
    assert 3 < len(taken(sound)) <= 20
    assert taken(damaged) == []
    assert len(damaged.report.spans) >= len(taken(sound)) // 2


HEADER = bytes(frame([bytes(50_000)]))[:12]


@pytest.mark.parametrize("max_bytes", [1 << 20, 1 << 26])
@pytest.mark.parametrize("is_forged", [False, True])
def test_damage_or_forged_headers_take_seconds(
    tmp_path: Path, max_bytes: int, is_forged: bool
) -> None:
    path = tmp_path / "data"
    if is_forged:
        path.write_bytes(frame([b"x" * 84] * 100) + HEADER * 500_000)
    else:
        data = np.frombuffer(bytes(frame([os.urandom(84)] * 100_000)), np.uint8).copy()
        data[50::100] ^= 1
        path.write_bytes(data.tobytes())
    start = time.perf_counter()
    sample = draw_sample(path, max_bytes=max_bytes)
    assert time.perf_counter() - start < 20
    assert set(taken(sample)) <= ({b"x" * 84} if is_forged else set())
    assert is_forged or (not sample.is_whole and sample.report.num_damaged >= 10)


def test_a_cut_record_and_another_format_are_one_damaged_place(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(frame([b"x" * 84] * 1000)[:-3])
    (span,) = draw_sample(path).report.spans
    seen = [draw_sample(path, max_bytes=90_000, seed=seed).report.spans for seed in range(20)]
    assert (span.reason, span.length) == (Reason.TRUNCATED, 97)
    assert all(found == () or found[0].offset == 99_900 for found in seen)
    path.write_bytes(b"PAR1" + os.urandom(3_000_000))
    for max_bytes in (1 << 20, 1 << 23):
        sample = draw_sample(path, max_bytes=max_bytes)
        assert taken(sample) == []
        assert [span.reason for span in sample.report.spans] == [Reason.NOT_A_TFRECORD]


@pytest.mark.parametrize("kind", ["pipe", "gz", "gz file"])
def test_first_records_are_taken_where_places_cannot_be_read(tmp_path: Path, kind: str) -> None:
    records = [os.urandom(50) * 4 for _ in range(20_000)]
    path = write(tmp_path / "data", records, "GZIP" if "gz" in kind else "")
    for num_records in (500,) if kind == "gz file" else (500, 9_000):
        source: Any = path if kind == "gz" else io.BytesIO(path.read_bytes())
        if kind == "pipe":
            source.seekable = lambda: False
        sample = draw_sample(source, num_records=num_records, max_bytes=2_000_000)
        assert taken(sample) == records[:num_records]
        assert sample.method == f"the first {num_records:,} records"
        assert (sample.is_whole, sample.num_records) == (False, None)
        assert sample.report.is_sound


def test_what_can_be_read_only_once_and_ends_is_whole(tmp_path: Path, server: FileServer) -> None:
    data = bytes(frame([b"one", b"two"]))
    server.files, server.ignores_ranges = {"/d": data}, True
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_bytes, args=(data,))
    thread.start()
    for source in (io.BytesIO(data), pipe, server.url + "/d"):
        sample = draw_sample(source)
        assert (taken(sample), sample.is_whole) == ([b"one", b"two"], True)
    thread.join()
    torn = draw_sample(io.BytesIO(data[:-1]))
    assert (taken(torn), torn.report.spans[0].reason) == ([b"one"], Reason.TRUNCATED)


def test_of_many_large_files_some_are_opened(tmp_path: Path) -> None:
    for i in range(100):
        write(tmp_path / f"{i:03}", [b"%03d" % i * 50] * 200)
    sample = draw_sample(str(tmp_path / "*"), num_records=1000, max_bytes=500_000)
    assert sample.method == "records at 128 places of 64 of 100 files"
    assert len({file.source for file in sample.report.files}) == len(sample.report.files) == 64
    assert len({record[:3] for record in taken(sample)}) > 50
    assert sample.num_records is None
    assert sum(map(len, taken(sample))) < 800_000
