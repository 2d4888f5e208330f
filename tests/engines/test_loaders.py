"""Files of other loaders, with the loaders themselves: webdataset, Grain, DALI, MosaicML, and the layout of img2dataset."""

from __future__ import annotations

import importlib
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.corpus import ROOT
from tfrecord_lite import (
    TFRecordFile,
    TFRecordReader,
    TFRecordWriter,
    decode_example,
    encode_example,
    load,
)
from tfrecord_lite.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = [
    pytest.mark.needs("arrow"),
    # webdataset leaves its files open
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

JPEG = b"\xff\xd8\xff\xe0 a picture "


def convert(*arguments: str | Path) -> None:
    assert main(["convert", *map(str, arguments)]) == 0


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with TFRecordWriter(path) as writer:
        for row in rows:
            writer.write(encode_example(row))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [
        {name: np.asarray(value).tolist() for name, value in decode_example(record).items()}
        for record in TFRecordReader(path)
    ]


def rows_of(number: int) -> list[dict[str, Any]]:
    return [
        {
            "image": JPEG + bytes([i]),
            "caption": f"text {i}".encode(),
            "label": i,
            "weight": 0.5 * i,
            "box": [1.0, 2.0, 3.0, float(i)],
            "tags": [b"a", b"b"] if i % 2 else [b"c"],
        }
        for i in range(number)
    ]


# ------------------------------------------------------------------------------- webdataset


@pytest.mark.needs("loaders")
def test_webdataset_decodes_what_is_written(tmp_path: Path) -> None:
    import webdataset

    source = write(tmp_path / "a.tfrecord", rows_of(50))
    convert(source, tmp_path / "a.tar", "--text", "all", "--key", "label")
    dataset = webdataset.WebDataset(str(tmp_path / "a.tar"), shardshuffle=False).decode()
    found = list(dataset)
    assert len(found) == 50
    sample = found[7]
    assert sample["__key__"] == "7"
    assert sample["image.jpg"] == JPEG + b"\x07"
    assert sample["caption.txt"] == "text 7"
    assert sample["label.cls"] == 7
    assert sample["weight.npy"] == np.float32(3.5)
    assert sample["box.npy"].tolist() == [1, 2, 3, 7]
    assert sample["tags.json"] == ["a", "b"]


@pytest.mark.needs("loaders")
def test_what_webdataset_writes_is_read(tmp_path: Path) -> None:
    import webdataset

    samples = [
        {
            "__key__": f"folder/{i:04d}",
            "jpg": JPEG,
            "txt": f"text {i}",
            "cls": i,
            "json": {"width": i},
            "x.npy": np.arange(i % 3, dtype=np.float32),
            "raw.bin": b"\xff",
        }
        for i in range(30)
    ]
    with webdataset.ShardWriter(str(tmp_path / "w-%04d.tar"), maxcount=20, verbose=0) as writer:
        for sample in samples:
            writer.write(sample)
    convert(tmp_path / "w-*.tar", tmp_path / "b.tfrecord")
    found = read(tmp_path / "b.tfrecord")
    assert len(found) == 30
    assert found[4] == {
        "__key__": [b"folder/0004"],
        "jpg": [JPEG],
        "txt": [b"text 4"],
        "cls": [4],
        "json": [b'{"width": 4}'],
        "x": [0.0],
        "raw": [b"\xff"],
    }
    convert(tmp_path / "b.tfrecord", tmp_path / "again.tar")
    path = str(tmp_path / "again.tar")
    again = list(webdataset.WebDataset(path, shardshuffle=False).decode())
    assert [sample["__key__"] for sample in again] == [sample["__key__"] for sample in samples]
    assert again[4]["json"] == {"width": 4}
    assert again[4]["jpg"] == JPEG


# ------------------------------------------------------------------------------ ArrayRecord


@pytest.mark.needs("arrayrecord")
def test_grain_reads_the_records_at_random(tmp_path: Path) -> None:
    sources = pytest.importorskip("grain.sources")
    source = write(tmp_path / "a.tfrecord", rows_of(100))
    convert(source, tmp_path / "a.array_record")
    records = sources.ArrayRecordDataSource([str(tmp_path / "a.array_record")])
    assert len(records) == 100
    with TFRecordFile(source) as file:
        for i in (99, 0, 42):
            assert records[i] == file[i]


# ------------------------------------------------------------------------------------- DALI


def as_tfrecord2idx(path: Path) -> str:
    """Return what DALI's script of this name writes: each frame's offset and size."""
    lines, data, offset = [], path.read_bytes(), 0
    while offset < len(data):
        size = 8 + 4 + int.from_bytes(data[offset : offset + 8], "little") + 4
        lines.append(f"{offset} {size}\n")
        offset += size
    return "".join(lines)


def test_an_index_is_what_tfrecord2idx_writes(tmp_path: Path) -> None:
    source = write(tmp_path / "a.tfrecord", [*rows_of(20), {}])
    assert main(["index", str(source)]) == 0
    expected = as_tfrecord2idx(source)
    assert (tmp_path / "a.tfrecord.idx").read_text() == expected
    script = Path(sys.executable).with_name("tfrecord2idx")
    if script.exists():
        other = tmp_path / "dali.idx"
        subprocess.run([sys.executable, script, source, other], check=True)
        assert other.read_text() == expected


@pytest.mark.needs("dali")
def test_dali_reads_with_the_index_and_the_tar_shards(tmp_path: Path) -> None:
    dali: Any = importlib.import_module("nvidia.dali")
    fn: Any = importlib.import_module("nvidia.dali.fn")
    features: Any = importlib.import_module("nvidia.dali.tfrecord")
    source = write(tmp_path / "a.tfrecord", rows_of(16))
    assert main(["index", str(source)]) == 0
    convert(source, tmp_path / "a.tar", "--text", "caption")

    @dali.pipeline_def(batch_size=16, num_threads=1, device_id=None)  # type: ignore[untyped-decorator]
    def pipeline() -> Any:
        label = features.FixedLenFeature((), features.int64, -1)
        index = f"{source}.idx"
        found = fn.readers.tfrecord(
            path=[str(source)], index_path=[index], features={"label": label}
        )
        names = ["caption.txt", "image.jpg"]
        caption, image = fn.readers.webdataset(paths=[str(tmp_path / "a.tar")], ext=names)
        return found["label"], caption, image

    running = pipeline()
    running.build()
    labels, captions, images = running.run()
    assert labels.as_array().ravel().tolist() == list(range(16))
    assert bytes(captions.at(3)) == b"text 3"
    assert bytes(images.at(15)) == JPEG + b"\x0f"


# ------------------------------------------------------------------------------ img2dataset


METADATA = {"url": "http://a/1.jpg", "status": "success", "width": 256, "error_message": None}


def img2dataset_rows() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"00000{i:04d}", {**METADATA, "key": f"00000{i:04d}", "caption": f"a cat {i}"})
        for i in range(0, 12, 3)  # pictures that were not found leave holes
    ]


def test_the_tar_shards_of_img2dataset_become_records(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "00000.tar", "w") as archive:
        for key, metadata in img2dataset_rows():
            parts = {"jpg": JPEG, "json": json.dumps(metadata, indent=4).encode()}
            parts["txt"] = metadata["caption"].encode()
            for extension, data in parts.items():
                info = tarfile.TarInfo(f"{key}.{extension}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    convert(tmp_path / "00000.tar", tmp_path / "00000.tfrecord")
    table: Any = load(tmp_path / "00000.tfrecord")
    assert list(table["__key__"]) == ["000000000", "000000003", "000000006", "000000009"]
    assert list(table["txt"]) == ["a cat 0", "a cat 3", "a cat 6", "a cat 9"]
    assert json.loads(table["json"][1])["width"] == 256
    convert(tmp_path / "00000.tfrecord", tmp_path / "back.tar")
    with tarfile.open(tmp_path / "00000.tar") as old, tarfile.open(tmp_path / "back.tar") as new:
        names = old.getnames()
        assert sorted(new.getnames()) == sorted(names)
        for name in names:
            assert new.extractfile(name).read() == old.extractfile(name).read()  # type: ignore[union-attr]


def test_the_records_of_img2dataset_become_tar_shards(tmp_path: Path) -> None:
    rows = [
        {
            "key": key.encode(),
            "jpg": JPEG,
            "caption": metadata["caption"].encode(),
            "url": metadata["url"].encode(),
            "width": metadata["width"],
        }
        for key, metadata in img2dataset_rows()
    ]
    source = write(tmp_path / "00000.tfrecord", rows)
    convert(source, tmp_path / "00000.tar", "--key", "key", "--text", "all")
    with tarfile.open(tmp_path / "00000.tar") as archive:
        names = archive.getnames()
    assert "000000003.jpg" in names
    assert "000000003.caption.txt" in names
    assert len(names) == 4 * 5


def test_the_parquet_files_of_img2dataset_become_records(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{**metadata, "jpg": JPEG} for _, metadata in img2dataset_rows()]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "00000.parquet")
    convert(tmp_path / "00000.parquet", tmp_path / "00000.tfrecord")
    found = read(tmp_path / "00000.tfrecord")
    assert found[1]["jpg"] == [JPEG]
    assert found[1]["width"] == [256]
    assert "error_message" not in found[1]  # no row has one


# --------------------------------------------------------------------------------- MosaicML


@pytest.mark.needs("mds")
def test_the_recipe_for_mosaicml(tmp_path: Path) -> None:
    """The blocks of the guide run as they are, in one folder."""
    text = (ROOT / "docs" / "how-to" / "loaders.md").read_text("utf-8")
    section = text.split("## MosaicML streaming", 1)[1].split("\n## ", 1)[0]
    blocks = [part.split("```", 1)[0] for part in section.split("```python")[1:]]
    assert len(blocks) == 2
    rows = rows_of(40)
    source = write(tmp_path / "train.tfrecord", rows)
    program = "\n".join(["from pathlib import Path", *blocks])
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    kept = ("image", "caption", "label", "box")
    expected = [{name: row[name] for name in kept} for row in read(source)]
    assert read(tmp_path / "back.tfrecord") == expected
