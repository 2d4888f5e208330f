"""Real Examples, through the batch decoder: keys, kinds, counts and values are TensorFlow's."""

import hashlib
import struct
from typing import Any

import pytest

from tests.support.corpus import CorpusFile, corpus_files
from tfrecord_lite import Block, TFRecordReader, decode_example
from tfrecord_lite.example.decode import batch as engine_batch
from tfrecord_lite.example.to_dicts import Decoder

Row = dict[str, Any]
KINDS = {"O": (1, "bytes"), "f": (2, "float"), "i": (3, "int64")}
NAN = struct.pack("<I", 0x7FC00000)


def canonical(row: Row) -> bytes:
    """Encode a decoded Example the way the corpus's digests were made."""
    out = [struct.pack("<Q", len(row))]
    for name in sorted(row, key=str.encode):
        values = row[name]
        key, kind = name.encode(), KINDS[values.dtype.kind][0]
        out += [struct.pack("<Q", len(key)), key, bytes([kind]), struct.pack("<Q", values.size)]
        for value in values.tolist():
            if kind == 1:
                out += [struct.pack("<Q", len(value)), value]
            elif kind == 2:
                out.append(NAN if value != value else struct.pack("<f", value))  # noqa: PLR0124
            else:
                out.append(struct.pack("<q", value))
    return b"".join(out)


def rows_one_by_one(block: Block) -> list[Row]:
    return [decode_example(record) for record in block]


def rows_by_batch(block: Block) -> list[Row]:
    return Decoder()(block)


def rows_by_a_large_batch(block: Block) -> list[Row]:
    """Decode the records many times over, so that layouts are learnt."""
    times = 40 // len(block) + 1
    rows = Decoder()(Block.concat([block] * times))
    return rows[-len(block) :]


@pytest.mark.parametrize("decode", [rows_one_by_one, rows_by_batch, rows_by_a_large_batch])
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("file", corpus_files(kind="example"))
def test_every_value_is_what_tensorflow_reads(
    file: CorpusFile, decode: Any, general: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if general:
        monkeypatch.setattr(engine_batch, "_MAX_LAYOUTS", 0)
        monkeypatch.setattr(engine_batch, "FEW", 0)
    block = Block.concat(list(TFRecordReader(file.path).blocks()))
    rows = decode(block)
    digest = hashlib.sha256(b"".join(map(canonical, rows))).hexdigest()
    assert digest == file.truth["values_sha256"]
