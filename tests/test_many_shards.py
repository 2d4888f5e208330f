"""More shards than a process may have open files."""

import gc
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite import (
    ShardedTFRecordWriter,
    TFRecordDataset,
    TFRecordFile,
    TFRecordReader,
    TFRecordWriter,
    load,
    save,
    verify,
)
from tfrecord_lite.apps.rearrange import merge_files, shuffle_records, split_files
from tfrecord_lite.files.output import OpenFiles, open_output

LIMIT = 256
N_SHARDS = 300


@pytest.fixture
def few_files() -> Iterator[None]:
    gc.collect()  # which closes what other tests have left open
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("many")
    for i in range(N_SHARDS):
        with TFRecordWriter(folder / f"s-{i:05d}-of-{N_SHARDS:05d}") as writer:
            writer.write_example({"id": i})
            writer.write_example({"id": -i})
    return f"{folder}/s@{N_SHARDS}"


def n_open() -> int:
    return len(os.listdir("/dev/fd"))  # noqa: PTH208


def saved(name: str) -> Any:
    save(name, {"id": np.arange(2 * N_SHARDS)})
    return load(name)["id"]


CALLS: dict[str, Callable[[str, Path], Any]] = {
    "by number": lambda name, _: len(list(map(TFRecordFile(name).__getitem__, range(2 * N_SHARDS)))),
    "in one block": lambda name, _: len(TFRecordFile(name).block(range(2 * N_SHARDS))),
    "indexes": lambda name, _: 2 * len(TFRecordFile(name).save_index()),
    "shuffled": lambda name, _: sum(1 for _ in TFRecordDataset(name).shuffle_all(1)),
    "in turns": lambda name, _: sum(1 for _ in TFRecordDataset(name).interleave()),
    "in order": lambda name, _: len(load(name)["id"]),
    "verified": lambda name, _: verify(name).records,
    "merged": lambda name, folder: merge_files(name, folder / "m@10").num_records,
    "split": lambda name, folder: split_files(name, folder / f"p@{N_SHARDS + 1}").num_records,
    "saved": lambda _, folder: len(saved(f"{folder}/v@{N_SHARDS}")),
    "shuffled files": lambda name, folder: shuffle_records(name, folder / f"r@{N_SHARDS}").num_records,
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.usefixtures("few_files")
def test_few_files_are_open(shards: str, tmp_path: Path, call: Callable[[str, Path], int]) -> None:
    before = n_open()
    assert call(shards, tmp_path) == 2 * N_SHARDS
    assert n_open() <= before + 2


@pytest.mark.usefixtures("few_files")
def test_more_files_in_turns_than_may_be_open_name_the_limit(shards: str) -> None:
    before = n_open()
    with pytest.raises(OSError, match=rf"may have {LIMIT} open .*ulimit -n.*fewer files") as caught:
        list(TFRecordDataset(shards).interleave(LIMIT + 1))
    assert "s-00" in caught.value.filename
    assert n_open() <= before + 2


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB", "ZSTD", "BZ2"])
@pytest.mark.usefixtures("few_files")
def test_shards_have_the_bytes_of_files_written_alone(tmp_path: Path, compression: str) -> None:
    if compression == "ZSTD":
        pytest.importorskip("backports.zstd")
    before, record = n_open(), os.urandom(30_000)
    with ShardedTFRecordWriter(f"{tmp_path}/s@150", compression=compression) as writer:
        for i in range(750):
            writer.write(b"%d" % i + record)
            assert i % 100 or n_open() <= before + 130
    for i in (0, 1, 75, 149):
        with TFRecordWriter(tmp_path / "alone", compression) as alone:
            for n in range(i, 750, 150):
                alone.write(b"%d" % n + record)
        shard = tmp_path / f"s-{i:05d}-of-00150"
        assert list(TFRecordReader(shard)) == list(TFRecordReader(tmp_path / "alone"))
        if not compression:
            assert shard.read_bytes() == (tmp_path / "alone").read_bytes()
    assert len(list(tmp_path.iterdir())) == 151


@pytest.mark.usefixtures("few_files")
def test_an_error_removes_resting_files_too(tmp_path: Path) -> None:
    writer = ShardedTFRecordWriter(f"{tmp_path}/s@150")
    for i in range(600):
        writer.write(b"%d" % i * 20_000)
    writer.abandon()
    assert list(tmp_path.iterdir()) == []


@given(
    most=st.integers(1, 3),
    writes=st.lists(st.tuples(st.integers(0, 4), st.binary(max_size=9)), max_size=40),
)
def test_what_is_written_in_any_order_is_in_its_file(
    tmp_path_factory: pytest.TempPathFactory, most: int, writes: list[tuple[int, bytes]]
) -> None:
    folder, before = tmp_path_factory.mktemp("rest"), n_open()
    open_files = OpenFiles(most)
    files = [open_output(folder / str(i), atomic=True, open_files=open_files) for i in range(5)]
    for i, data in writes:
        files[i].write([data])
        assert n_open() <= before + most
    for file in files:
        file.finish()
        file.finish()
        file.commit()
    for i in range(5):
        expected = b"".join(data for number, data in writes if number == i)
        assert (folder / str(i)).read_bytes() == expected
    assert n_open() == before
