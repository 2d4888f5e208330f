"""Blocks go from readers to writers, and one thread at a time uses a writer."""

import copy
import io
import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import reference
from tests.support.errors import raised
from tfrecord_lite import Block, ShardedTFRecordWriter, TFRecordReader, TFRecordWriter
from tfrecord_lite.errors import DataLossError, FailedPreconditionError, Reason

Writer = TFRecordWriter | ShardedTFRecordWriter

MANY = [b"%d" % i * (i % 97) for i in range(2_000)]
LARGE = [bytes([i]) * 20_000 for i in range(50)]


def block_of(items: list[bytes], *, from_file: bool = True) -> Block:
    """Return the items as one block, read from a file or made in memory."""
    if not from_file:
        return Block.from_records(items)
    return Block.concat(list(TFRecordReader(io.BytesIO(reference.encode(items))).blocks()))


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["", "GZIP"])
@pytest.mark.parametrize("from_file", [True, False])
@pytest.mark.parametrize("items", [MANY, LARGE, [b"one"], []], ids=["many", "large", "one", "none"])
def test_blocks_are_written_as_their_records_are(
    items: list[bytes], from_file: bool, compression: str, tmp_path: Path
) -> None:
    block = block_of(items, from_file=from_file)
    mask = np.array([i % 7 in (0, 1, 4) for i in range(len(items))], bool)
    kept = list(itertools.compress(items, mask))
    before = block.data.tobytes()
    path = tmp_path / "a"
    with TFRecordWriter(path, compression) as writer:
        writer.write(b"first")
        writer.write(block)
        writer.write_example({"n": 1})
        writer.write_blocks([block[mask], block[::-1], block[:0], block[1:]])
        writer.write(b"last")
    expected = [b"first", *items, *kept, *reversed(items), *items[1:], b"last"]
    written = list(TFRecordReader(path, compression))
    del written[1 + len(items)]  # the Example
    assert written == expected
    assert f"{len(expected) + 1:,} records" in repr(writer)
    assert block.data.tobytes() == before


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 20_000), max_size=30),
    st.integers(1, 5),
    st.sampled_from([None, 1, 5_000, 100_000]),
    st.data(),
)
def test_shards_get_of_blocks_what_they_get_of_records(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    num_shards: int,
    bytes_per_shard: int | None,
    data: st.DataObject,
) -> None:
    items = [bytes([i]) * size for i, size in enumerate(sizes)]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(items)), max_size=3)))
    contents = []
    for by_block in (False, True):
        folder = tmp_path_factory.mktemp("shards")
        size: Any = (
            {"bytes_per_shard": bytes_per_shard} if bytes_per_shard else {"num_shards": num_shards}
        )
        whole, edges = block_of(items), [0, *cuts, len(items)]
        with ShardedTFRecordWriter(folder / "a-{shard:03d}", **size) as writer:
            writer.write(b"first")
            if by_block:
                writer.write_blocks(whole[a:b] for a, b in itertools.pairwise(edges))
            for item in items * (not by_block):
                writer.write(item)
            writer.write(b"last")
        contents.append([path.read_bytes() for path in sorted(folder.iterdir())])
    assert contents[0] == contents[1]


def damaged_blocks(tmp_path: Path, items: list[bytes]) -> list[Block]:
    """Read records, of which the one before the last is damaged, without a check, in many ways."""
    stream = bytearray(reference.encode(items))
    stream[-(len(items[-1]) + 16) - 5] ^= 1
    (tmp_path / "damaged").write_bytes(stream)
    reader = TFRecordReader(tmp_path / "damaged", verify=False)
    whole = Block.concat(list(reader.blocks()))
    n_records = len(items)
    mask = np.arange(n_records) != 0
    joined = Block.concat([whole[:0], whole[-2:], Block.from_records([b"memory"])])
    return [whole, whole[::-1], whole[mask], whole[-2:-1], whole[-2:-1].copy(), joined]


@pytest.mark.slow
@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("items", [MANY[:400], LARGE[:3], [b"one", b"two", b"three"]])
def test_a_damaged_record_has_no_new_crc(tmp_path: Path, items: list[bytes], sharded: bool) -> None:
    for block in damaged_blocks(tmp_path, items):
        with (ShardedTFRecordWriter if sharded else TFRecordWriter)(tmp_path / "new@2") as writer:
            writer.write(b"first")
            with pytest.raises(DataLossError) as caught:
                writer.write(block)
            raised(DataLossError, writer.write_blocks, [block[:0], block])
            writer.write(b"last")
        error = caught.value
        offset = len(reference.encode(items[:-2]))
        assert (error.reason, error.source) == (Reason.DATA_CRC, str(tmp_path / "damaged"))
        assert (error.index, error.offset) == (len(items) - 2, offset)
        pattern = "new@2" if sharded else "new@2*"
        assert sorted(TFRecordReader(tmp_path / pattern)) == [b"first", b"last"]


@pytest.mark.parametrize(("call", "text"), [
    (lambda writer: writer.write_blocks([b"one"]), "not bytes"),
    (lambda writer: writer.write_blocks(block_of([b"one"])), "not Block"),
    (lambda writer: writer.write([b"one"]), "not list"),
    (lambda writer: writer.write_blocks(None), "not NoneType"),
])  # fmt: skip
def test_no_block_is_a_type_error(tmp_path: Path, call: Callable[[Any], None], text: str) -> None:
    for writer in (TFRecordWriter(tmp_path / "a"), ShardedTFRecordWriter(tmp_path / "b@2")):
        raised(TypeError, call, writer, match=text)
        writer.close()
        for blocks in ([Block.from_records([b"late"])], []):
            error = raised(FailedPreconditionError, writer.write_blocks, blocks)
            assert error.reason is Reason.CLOSED


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_writer_is_not_copied(tmp_path: Path, copied: Callable[[Any], Any]) -> None:
    for writer in (TFRecordWriter(io.BytesIO()), ShardedTFRecordWriter(tmp_path / "b@2")):
        raised(TypeError, copied, writer, match="cannot be pickled or copied")
        writer.close()
