"""Records and files that the tests of the command line, and its documentation, look at."""

import json
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tfrecord_lite import TFRecordWriter, encode_example, encode_sequence_example, infer_schema
from tfrecord_lite.messages import BytesList, Example, Feature, Features, FloatList, Int64List
from tfrecord_lite.records.framing import frame
from tfrecord_lite.wire.scalar import varint

JPEG = bytes.fromhex(
    "ffd8 ffe0 0010 4a46494600 0101 01 0048 0048 0000"
    "ffc0 0011 08 01e0 0280 03 012200 021101 031101"  # 640 x 480
)
JPEG += (bytes(range(200)) * 8)[: 1614 - len(JPEG)]


TENSOR = bytes.fromhex("0801 1208 1202 0803 1202 0804 2230") + bytes(48)
"""A TensorProto of 3 x 4 float32."""


def feature(*values: Any) -> Feature:
    if isinstance(values[0], bytes):
        return Feature(bytes_list=BytesList(value=values))
    if isinstance(values[0], float):
        return Feature(float_list=FloatList(value=values))
    return Feature(int64_list=Int64List(value=values))


def features(**named: Feature) -> Features:
    return Features(feature=named)


def flower(number: int) -> bytes:
    name = ("daisy", "rose", "Löwenzahn")[number % 3]
    petals = [0.5 + number + i / 10 for i in range(20)]
    row = {"image": JPEG, "label": number % 3, "name": name, "petals": petals}
    return encode_example(row)


def sequence(n_steps: int) -> bytes:
    steps = range(n_steps)
    lists: Any = {"word": [[b"w%d" % i] for i in steps], "ragged": [[1.5] * (i + 1) for i in steps]}
    return encode_sequence_example({"context": {"id": 7}, "feature_lists": lists})


def ranking(n_examples: int) -> bytes:
    """Return an ExampleListWithContext, put together by hand."""
    context = encode_example({"query": "tulip"})
    examples = [encode_example({"relevance": i}) for i in range(n_examples)]
    parts = [bytes([0x0A, len(example)]) + example for example in examples]
    return b"".join(parts) + bytes([0x12, len(context)]) + context


def event(step: int) -> bytes:
    """Return the start of a TensorBoard event: its wall time and step."""
    return b"\x09" + struct.pack("<d", 1.6e9 + step) + b"\x10" + bytes([step])


def tiny_png(number: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes([0, number]), 0))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b"")


def image_example(number: int) -> bytes:
    name = ("daisy", "rose")[number % 2]
    return encode_example({"image/encoded": tiny_png(number), "image/class/text": name})


def draw_images(folder: Path) -> None:
    for number in range(5):
        path = folder / ("daisy", "rose")[number % 2] / f"{number // 2}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tiny_png(number))
    (folder / "rose" / "cut.png").write_bytes(tiny_png(9)[:-4])
    (folder / "notes.txt").write_text("two classes\n")


def write(path: Path, records: Iterable[bytes], compression: str = "") -> Path:
    with TFRecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
    return path


def damage(path: Path, *offsets: int) -> Path:
    data = bytearray(path.read_bytes())
    for offset in offsets:
        data[offset] ^= 0x10
    path.write_bytes(data)
    return path


def write_documented(folder: Path) -> None:
    """Write the files that docs/reference/cli.md shows."""
    write(folder / "train-00000-of-00002.tfrecord", map(flower, range(40)))
    write(folder / "train-00001-of-00002.tfrecord", map(flower, range(40, 60)))
    write(folder / "train.tfrecord.gz", map(flower, range(60)), "GZIP")
    write(folder / "notes.tfrecord", [b"plain text\nof two lines", bytes(range(40))])
    write(folder / "odd.tfrecord", [odd()])
    write(folder / "flowers.tfrecord", map(image_example, range(2)))
    draw_images(folder / "photos")
    (folder / "pointer.tfrecord").write_bytes(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n"
    )
    size = len(flower(0)) + 16
    damage(write(folder / "damaged.tfrecord", [flower(0)] * 9), size + 100, 5 * size + 2)


def odd() -> bytes:
    """Return an Example with what JSON has no words for."""
    example = Example(
        features=features(
            key=feature(b"\x00\xff", b"text"),
            none=Feature(),
            ratio=feature(0.1, float("nan"), 3.0),
            zero=Feature(int64_list=Int64List()),
        )
    )
    return example.SerializeToString(deterministic=True)


def write_samples(folder: Path) -> None:
    """Write the files that the commands of ``outputs/*.txt`` are about, those of the documentation too."""
    write_documented(folder)
    write(folder / "sequence", map(sequence, (3, 1)))
    write(folder / "list", [ranking(2), ranking(30)])
    write(folder / "event", [event(1), event(2)])
    write(folder / "mixed", [b"two\nlines", b"\x00\x01AB" * 5, b"", odd(), b""])
    write(folder / "long", [b"\xff" * 300, b"x" * 200, b"line\n" * 20])
    values = {"jpeg": JPEG, "tensor": TENSOR, "other": b"\xff\x00"}
    write(folder / "values", [encode_example(values)])
    write(folder / "words", [encode_example({"one": "a\nb" * 1000, "many": ["word" * 100] * 9})])
    write(folder / "parts", [JPEG, TENSOR])
    names = ["\x1b[31m", "a\x00b", " ", " a", "a b", "", "\u3000"]
    write(folder / "names", [encode_example(dict.fromkeys(names, 7))])
    write(folder / "malformed", [flower(0), b"\x0a\xff", flower(1)])
    write(folder / "none", [])
    write(folder / "lacking", [flower(1), odd()])
    schema = infer_schema(folder / "train.tfrecord.gz")
    (folder / "train.schema.json").write_text(schema.to_json())
    (folder / "junk").write_bytes(b"\0 this is no file of records at all")
    (folder / "tiny").write_bytes(b"{")
    stream = zlib.compressobj(wbits=31)
    cut = stream.compress(bytes(frame([flower(i) for i in range(4)]))[: 3 * (len(flower(0)) + 16)])
    (folder / "cut.gz").write_bytes(cut + stream.flush(zlib.Z_SYNC_FLUSH))
    write(folder / "one", [b"one"])
    people = folder / "people" / "1.0.0"
    people.mkdir(parents=True)
    splits = [{"name": name, "shardLengths": ["2"]} for name in ("train", "test")]
    info = {"name": "people", "version": "1.0.0", "splits": splits}
    (people / "dataset_info.json").write_text(json.dumps(info))
    for split in ("train", "test"):
        write(people / f"people-{split}.tfrecord-00000-of-00001", map(flower, range(2)))
    (folder / "empty folder").mkdir()
    from tests.support.foreign_messages import RECORDS

    write(folder / "fields", [b"".join(varint(n << 3) + b"\1" for n in range(1, 70))])
    for name, make in RECORDS.items():
        write(folder / f"{name}.tfrecord", [make(0), make(1)])
