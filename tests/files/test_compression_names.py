"""Which compression a file has: as it is named, or inferred from content or name."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.parameter_ids import named
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.files.compression import CODECS, TFRecordOptions, detect
from tfrecord_lite.records.framing import frame

FEATURES = {"x": tl.FixedLenFeature([], "int64")}
ENDINGS = {
    "": ["a", "a.tfrecord", "gz", "a.gz.tfrecord"],
    "GZIP": ["a.gz", "a.tfrecord.gz", "a.TFRECORD.GZ", "a.gzip"], "ZLIB": ["a.zlib", "a.zz"],
    "ZSTD": ["a.zst", "a.Zstd"], "BZ2": ["a.bz2"],
}  # fmt: skip


def skip_without(compression: str) -> None:
    if compression == "ZSTD":
        pytest.importorskip("backports.zstd")


def write(path: Path, **keywords: Any) -> list[str]:
    with tl.TFRecordWriter(path, **keywords) as writer:
        writer.write(b"record")
    return [str(path)]


def write_shards(path: Path, **keywords: Any) -> list[str]:
    with tl.ShardedTFRecordWriter(path.parent / f"{{shard}}{path.name}", 2, **keywords) as writer:
        writer.write(b"record")
        writer.write(b"record")
    return writer.paths


def save_columns(path: Path, **keywords: Any) -> list[str]:
    tl.save(path, {"x": np.arange(3)}, **keywords)
    return [str(path)]


def recover_to(path: Path, compression: Any = "infer") -> list[str]:
    source = path.parent / "source"
    source.write_bytes(frame([b"record"]))
    tl.recover(source, path, output_compression=compression)
    return [str(path)]


WRITERS: dict[str, Callable[..., list[str]]] = {
    "writer": write, "atomic": lambda path, **keywords: write(path, atomic=True, **keywords),
    "append": lambda path, **keywords: write(path, mode="a", **keywords), "shards": write_shards,
    "save": save_columns, "recover": recover_to,
}  # fmt: skip
each_writer = pytest.mark.parametrize("writer", WRITERS)


def compressions_of(paths: list[str]) -> set[str]:
    found = set()
    for path in paths:
        found.add(detect(Path(path).read_bytes()[:4]))
        assert list(tl.TFRecordReader(path))
    return found


@each_writer
@pytest.mark.parametrize(
    ("name", "compression"), [(name, each) for each in ENDINGS for name in ENDINGS[each]]
)
def test_the_ending_decides(tmp_path: Path, writer: str, name: str, compression: str) -> None:
    skip_without(compression)
    assert compressions_of(WRITERS[writer](tmp_path / name)) == {compression}


@each_writer
@pytest.mark.parametrize("ending", [".deflate", ".xz", ".snappy", ".lz4", ".br", ".XZ"])
def test_an_ending_that_is_not_written_is_refused(tmp_path: Path, writer: str, ending: str) -> None:
    path = tmp_path / f"a.tfrecord{ending}"
    with pytest.raises(InvalidArgumentError, match=re.escape(f"cannot compress as {ending} says")):
        WRITERS[writer](path)
    assert {file.name for file in tmp_path.iterdir()} <= {"source"}
    assert compressions_of(WRITERS[writer](path, compression="none")) == {""}


@each_writer
@pytest.mark.parametrize(("given", "compression"), [
    ("GZIP", "GZIP"), ("gzip", "GZIP"), ("Zlib", "ZLIB"), ("bz2", "BZ2"), (2, "GZIP"),
    (TFRecordOptions("ZLIB", compression_level=1), "ZLIB"), (TFRecordOptions(), ""), ("", ""),
    (0, ""), (None, ""), ("INFER", "GZIP"), ("gz", "GZIP"), ("deflate", "ZLIB"), ("None", ""),
    ("bzip2", "BZ2"),
], ids=named)  # fmt: skip
def test_a_name_comes_first(tmp_path: Path, writer: str, given: Any, compression: str) -> None:
    assert compressions_of(WRITERS[writer](tmp_path / "a.gz", compression=given)) == {compression}


@each_writer
@pytest.mark.parametrize("given", ["lzma", "LZ4", b"GZIP", 3, 5, -1, [1]])
def test_an_unknown_name_fails_before_any_writing(tmp_path: Path, writer: str, given: Any) -> None:
    error = raised(InvalidArgumentError, WRITERS[writer], tmp_path / "a.gz", compression=given)
    assert error.reason is Reason.BAD_ARGUMENT
    assert not (tmp_path / "a.gz").exists()


def test_recovered_records_keep_their_compression_without_an_ending(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(gzip.compress(frame([b"record"])))
    for name, compression in {"a": "GZIP", "a.bz2": "BZ2", "a.tfrecord": "GZIP"}.items():
        tl.recover(tmp_path / "source", tmp_path / name)
        assert compressions_of([str(tmp_path / name)]) == {compression}
    tl.recover(tmp_path / "source", tmp_path / "b", output_compression=None)
    assert compressions_of([str(tmp_path / "b")]) == {""}


def test_a_file_object_is_not_compressed_whatever_its_name(tmp_path: Path) -> None:
    with (tmp_path / "a.gz").open("wb") as file, tl.TFRecordWriter(file) as writer:
        writer.write(b"record")
    assert (tmp_path / "a.gz").read_bytes() == frame([b"record"])


@pytest.mark.parametrize("compression", ["", "GZIP", "BZ2"])
def test_appending_goes_by_the_content(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "a.gz"
    write(path, compression=compression)
    write(path, mode="a")
    assert list(tl.TFRecordReader(path, compression)) == [b"record"] * 2
    with pytest.raises(InvalidArgumentError, match="first bytes"):
        write(path, mode="a", compression="BZ2" if compression != "BZ2" else None)


class TestTensorFlowsOptions:
    """The second argument of a writer is TensorFlow's, and decides if it is given."""

    @pytest.mark.parametrize(("options", "compression"), [
        ("ZLIB", "ZLIB"), ("", ""), (TFRecordOptions(), ""), (0, ""), (None, "GZIP"),
    ], ids=named)  # fmt: skip
    def test_they_precede_the_ending(self, tmp_path: Path, options: Any, compression: str) -> None:
        with tl.TFRecordWriter(tmp_path / "a.gz", options) as writer:
            writer.write(b"record")
        assert compressions_of([str(tmp_path / "a.gz")]) == {compression}

    @pytest.mark.parametrize("compression", ["GZIP", "", None, "ZLIB"])
    def test_both_are_an_error(self, tmp_path: Path, compression: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="both") as caught:
            tl.TFRecordWriter(tmp_path / "a", "GZIP", compression=compression)
        raised(InvalidArgumentError, tl.TFRecordWriter, tmp_path / "a", "infer")  # never inferred
        assert caught.value.reason is Reason.BAD_ARGUMENT
        assert not (tmp_path / "a").exists()


READERS: dict[str, Callable[..., Any]] = {
    "reader": lambda path, **keywords: list(tl.TFRecordReader(path, **keywords)),
    "load": tl.load,
    "batches": lambda path, **keywords: list(tl.read_batches(path, FEATURES, 1, **keywords)),
    "summarize": tl.summarize,
    "verify": lambda path, **keywords: [f.failure for f in tl.verify(path, **keywords).files],
    "recover": lambda path, **keywords: tl.recover(path, f"{path}.new", overwrite=True, **keywords),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", CODECS)
def test_readers_take_names_in_any_case(tmp_path: Path, reader: str, name: str) -> None:
    skip_without(name)
    path = tmp_path / "a.tfrecord"
    tl.save(path, {"x": np.arange(3)}, compression=name)
    for compression in (name, name.lower(), name.title(), "infer", "Infer", None):
        READERS[reader](path, compression=compression)
    raised(InvalidArgumentError, READERS[reader], path, compression="lzma")
