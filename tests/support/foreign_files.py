"""A file of each format that is not TFRecord, as its own library writes it where one is at hand."""

import bz2
import gzip
import io
import json
import lzma
import pickle
import sqlite3
import struct
import tarfile
import tempfile
import zipfile
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.cli.samples import event, flower, sequence
from tfrecord_lite import encode_example
from tfrecord_lite.records.framing import frame

ROWS = [{"id": i, "name": f"row {i}", "score": i / 4} for i in range(50)]
LONG_TEXT = "Not much of a file but all of it can be read.\n" * 40


class Foreign(NamedTuple):
    """The content of a file, and what it has to be called."""

    data: bytes
    name: str


def _zip(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name in names:
            file.writestr(name, LONG_TEXT)
    return out.getvalue()


def _tar(style: int, name: str = "a") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=style) as file:
        info = tarfile.TarInfo(name)
        info.size = len(LONG_TEXT)
        file.addfile(info, io.BytesIO(LONG_TEXT.encode()))
    return out.getvalue()


def _numpy(*, is_archive: bool) -> bytes:
    out = io.BytesIO()
    if is_archive:
        np.savez(out, x=np.arange(100))
    else:
        np.save(out, np.arange(100))
    return out.getvalue()


def _varint(number: int) -> bytes:
    digits = (number.bit_length() + 6) // 7
    return bytes(number >> 7 * i & 127 | 128 * (i + 1 < digits) for i in range(digits))


def image(data: bytes) -> bytes:
    return encode_example({"image": data})


def _sqlite() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        connection = sqlite3.connect(path)
        connection.execute("create table a (x integer)")
        connection.commit()
        connection.close()
        return path.read_bytes()


def _files() -> dict[str, Foreign]:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    table = "id,name,score\n" + "".join(f"{r['id']},{r['name']},{r['score']}\n" for r in ROWS)
    text_example = (
        'features {\n  feature {\n    key: "x"\n    value { int64_list { value: 1 } }\n  }\n}\n'
    )
    records = [flower(i) for i in range(9)]
    stream, twice = bytes(frame(records)), "records compressed twice, with"
    # Literals of 50 bytes, after the length of all.
    literals = (bytes([4 * 49]) + stream[i : i + 50] for i in range(0, len(stream) // 50 * 50, 50))
    snappy = _varint(len(stream) // 50 * 50) + b"".join(literals)
    blocks = len(snappy).to_bytes(4, "big") + snappy
    found: dict[str, tuple[bytes, str]] = {
        "Git LFS pointer": (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:"
            + b"4d7a" * 16
            + b"\nsize 9\n",
            "a Git LFS pointer (fetch the real file with git lfs pull)",
        ),
        "JSON object": (json.dumps(ROWS[0], indent=1).encode(), "JSON"),
        "JSON array": (json.dumps(ROWS).encode(), "JSON"),
        "JSON with a BOM": (b"\xef\xbb\xbf" + json.dumps(ROWS).encode(), "JSON"),
        "JSON lines": (lines.encode(), "JSON lines"),
        "text Example": (text_example.encode(), "a tf.train.Example in text form"),
        "YAML": (b"a: 1\nb:\n  - x\n  - y\n", "plain text"),
        "text protobuf": (b'item {\n  id: 1\n  name: "cat"\n}\n', "plain text"),
        "TFX schema": (
            b'# proto-message: Schema\nfeature {\n  name: "x"\n  type: FLOAT\n}\n',
            "a schema of TFX in text form (load_schema reads it)",
        ),
        "FeatureStats.pb": (
            b"\n\x1c\n\x05train\x10\xac\x02\x1a\x10\x1a\t\x11\0\0\0\0\0\0\xf8?B\x03\n\x01x",
            "statistics of TFX, as in FeatureStats.pb",
        ),
        "SchemaDiff.pb": (
            b"\n\x14\n\x12\n\x03age0\x02r\t\t\0\0\0\0\0\0\xf0?",
            "anomalies of TFX, as in SchemaDiff.pb",
        ),
        "graph_schema.pbtxt": (
            b'context {\n  features { key: "x" value { } }\n}\nnode_sets { key: "user" value { } }\n',
            "a graph_schema.pbtxt of TF-GNN",
        ),
        "features.json": (
            b'{\n  "type": "tensorflow_datasets.core.features.Tensor",\n  "content": {}\n}\n',
            "a features.json of TFDS (load_schema reads it, load_tfds its directory)",
        ),
        "CSV with texts": (b"text,label\nA text of some words.,1\nAnother one of them.,0\n", "CSV"),
        "wrapped prose": (
            b"of all the files that were there, one\nwas left over and nobody knew, why it was\n",
            "plain text",
        ),
        "CSV": (table.encode(), "CSV"),
        "TSV": (table.replace(",", "\t").encode(), "CSV"),
        "plain text": (LONG_TEXT.encode(), "plain text"),
        "text of another language": ("Übergrößenträger, schön\nJa!\n".encode(), "plain text"),
        "text like ZLIB": (b"x^2 + y^2 = z^2\nhas solutions\n", "plain text"),
        "text like BZ2": (b"BZh was the name of the program\n", "plain text"),
        "XML without a head": (b"<Error><Code>NoSuchKey</Code></Error>\n", "XML"),
        "HTML": (b"<!DOCTYPE html>\n<html><body>404</body></html>\n", "an HTML page"),
        "XML": (b'<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code></Error>\n', "XML"),
        "zip": (_zip("a.txt"), "a zip archive"),
        "tar": (_tar(tarfile.USTAR_FORMAT), "a tar archive (unpack it first)"),
        "GNU tar": (_tar(tarfile.GNU_FORMAT, "data/long name"), "a tar archive"),
        "tar.gz": (
            gzip.compress(_tar(tarfile.USTAR_FORMAT)),
            "a tar archive (unpack it first), compressed with GZIP",
        ),
        "json.gz": (gzip.compress(json.dumps(ROWS).encode()), "JSON, compressed with GZIP"),
        "xz": (lzma.compress(LONG_TEXT.encode()), "an xz file"),
        "7z": (b"7z\xbc\xaf\x27\x1c\0\4" + bytes(range(100)), "a 7z archive"),
        "RAR": (b"Rar!\x1a\x07\x01\0" + bytes(range(100)), "a RAR archive"),
        "LZ4": (b"\x04\x22\x4d\x18\x64\x40\xa7" + bytes(range(100)), "an LZ4 file"),
        "npy": (_numpy(is_archive=False), "a NumPy .npy file"),
        "npz": (_numpy(is_archive=True), "a NumPy .npz archive"),
        "SQLite": (_sqlite(), "an SQLite database"),
        "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file"),
        "ArrayRecord": (
            bytes.fromhex("83af70d10d884a3f 0000000000000000 4000000000000000") + bytes(100),
            "an ArrayRecord or Riegeli file",
        ),
        "RecordIO": (b"\n#\xd7\xce\x31\0\0\0" + bytes(100), "an MXNet RecordIO file"),
        "LMDB": (
            bytes(10) + b"\x08" + bytes(5) + b"\xde\xc0\xef\xbe\x01\0\0\0" + bytes(100),
            "an LMDB database",
        ),
        "Avro": (b"Obj\x01\x04\x16avro.schema" + bytes(100), "an Avro file"),
        "PNG": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100), "a PNG image"),
        "WebP": (b"RIFF\x24\0\0\0WEBPVP8 " + bytes(100), "a WebP image"),
        "MP4": (b"\0\0\0\x18ftypisom" + bytes(100), "an MP4 video"),
        "WAV": (b"RIFF\x24\0\0\0WAVEfmt " + bytes(100), "a WAV sound"),
        "JPEG": (b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01" + bytes(100), "a JPEG image"),
        "PDF": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(100), "a PDF document"),
        "unframed Example": (flower(1), "serialized tf.train.Examples without the framing"),
        "unframed SequenceExample": (
            sequence(3),
            "serialized tf.train.Examples without the framing",
        ),
        "Examples after varints": (
            b"".join(_varint(len(record)) + record for record in records),
            "tf.train.Examples after varint lengths",
        ),
        "messages after varints": (
            b"".join(bytes([len(record)]) + record for record in map(event, range(90))),
            "protobuf messages after varint lengths",
        ),
        "bzip2 in gzip": (gzip.compress(bz2.compress(stream)), f"{twice} BZ2, then with GZIP;"),
        "raw deflate": (
            zlib.compress(stream, wbits=-15),
            "records compressed with DEFLATE, without a header",
        ),
        # With cramjam it is a compression that is read.
        **({} if find_spec("cramjam") else {"Snappy": (blocks, "blocks compressed with Snappy")}),
        "Snappy of Hadoop": (len(stream).to_bytes(4, "big") + blocks, "Snappy blocks of Hadoop"),
        "framed Snappy": (b"\xff\x06\0\0sNaPpY" + bytes(100), "a Snappy file"),
        "index": (b"0 309\n309 311\n620 304\n", "the index of a TFRecord file"),
        "sidecar": (
            b'{\n  "format": "tfrecord_lite.Schema",\n  "version": 1\n}',
            "a schema file of this package",
        ),
    }
    for form in ("<q", ">q", "<i", ">i"):
        n_bytes = struct.calcsize(form)
        sizes = {"large": [image(bytes(200_000))] * 2, "small": records, "many": records * 9}
        for size, items in sizes.items():
            found[f"{size} Examples after {form}"] = (
                b"".join(struct.pack(form, len(item)) + item for item in items),
                f"tf.train.Examples after plain lengths of {n_bytes} bytes",
            )
    for protocol in (4, 5):
        found[f"pickle {protocol}"] = (pickle.dumps(ROWS, protocol), "a pickle")
    return {kind: Foreign(*of) for kind, of in found.items()}


FOREIGN = _files()


def arrow_files() -> dict[str, Foreign]:
    """Return the files that pyarrow writes; skips the test if it is not installed."""
    pyarrow = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.Table.from_pylist(ROWS)
    outs = {name: io.BytesIO() for name in ("Parquet", "Feather", "stream")}
    parquet.write_table(table, outs["Parquet"])
    feather.write_feather(table, outs["Feather"])
    with pyarrow.ipc.new_stream(outs["stream"], table.schema) as writer:
        writer.write_table(table)
    names = {
        "Parquet": "a Parquet file (pandas.read_parquet reads it)",
        "Feather": "an Arrow (Feather) file",
        "stream": "an Arrow stream",
    }
    return {name: Foreign(outs[name].getvalue(), names[name]) for name in names}
