"""Folders of tf.data.Dataset.save: what is written comes back, through every reader."""

import importlib.util
import tempfile
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecord_lite as tl
from tests.saved.written import assert_same, data_sets
from tests.support.errors import raised
from tests.support.small_files import write_records
from tfrecord_lite.cli import main
from tfrecord_lite.described.structure import flatten
from tfrecord_lite.saved.spec import Component, fields, message, spec_of
from tfrecord_lite.tf.data import Dataset

COLUMNS: dict[str, Any] = {
    "x": np.arange(10, dtype=np.float64).reshape(5, 2),
    "name": np.array([b"a", b"bb", b"", b"d", b"e"], object),
    "tags": tl.RaggedTensor.from_row_lengths(np.arange(6, dtype=np.int16), [1, 0, 2, 0, 3]),
}


X = Component("x", "tensor", "float64", (2,))


@pytest.fixture
def folder(tmp_path: Path) -> str:
    tl.save(tmp_path / "saved", COLUMNS, format="tf.data", num_shards=2)
    return str(tmp_path / "saved")


@given(data_sets(), st.integers(1, 3), st.sampled_from(["", "GZIP", "ZLIB"]))
def test_columns_come_back(data: dict[str, Any], n_shards: int, compression: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        tl.save(place, data, format="tf.data", num_shards=n_shards, compression=compression)
        assert_same(tl.load(place), data)
        # As Examples, with the schema of the spec, each column is what it was.
        flat = flatten(data)[1]
        rows = list(tl.read_batches(place, batch_size=100))
        if rows:
            assert_same(rows[0], {name: flat[name] for name in sorted(flat)})


@pytest.mark.needs("arrow")
@pytest.mark.parametrize("verb", ["convert", "merge", "unique"])
def test_files_made_of_the_folder_load_as_it_does(folder: str, tmp_path: Path, verb: str) -> None:
    assert main([verb, folder, str(tmp_path / "one.tfrecord")]) == 0
    assert_same(tl.load(tmp_path / "one.tfrecord"), COLUMNS)


@pytest.mark.needs("arrow")
def test_every_reader_takes_the_folder(folder: str) -> None:
    table = tl.scan(folder)
    assert table.column_names == sorted(COLUMNS)
    assert [row["tags"] for row in table.to_arrow().to_pylist()] == COLUMNS["tags"].to_list()
    records = tl.TFRecordFile(folder)
    assert len(records) == len(list(tl.TFRecordReader(folder))) == 5
    assert tl.decode_example(records[3])["name"] == [b"d"]
    assert_same(tl.load(folder, ["x"], num_records=3), {"x": COLUMNS["x"][:3]})
    assert tl.summarize(folder).n_records == 5


def test_the_run_that_is_named_counts(folder: str) -> None:
    tl.save(folder, {"y": np.arange(3)}, format="tf.data")
    assert_same(tl.load(folder), {"y": np.arange(3)})
    assert len([place for place in Path(folder).iterdir() if place.is_dir()]) == 2


def test_a_data_set_goes_through_tf(tmp_path: Path) -> None:
    data = Dataset.from_tensor_slices({"x": np.arange(5), "s": np.array([b"a"] * 5, object)})
    data.save(tmp_path / "saved", compression="GZIP")
    loaded = list(Dataset.load(tmp_path / "saved").as_numpy_iterator())
    assert [int(row["x"]) for row in loaded] == [0, 1, 2, 3, 4]
    assert loaded[0]["s"] == b"a"


def test_shards_by_a_function_are_read_in_any_order(tmp_path: Path) -> None:
    """In turns a shard that ends has one without an element before the next takes its place."""
    data = Dataset.from_tensor_slices((np.arange(9), np.array([0, 0, 0, 0, 1, 2, 2, -1, -1])))
    data.save(tmp_path, shard_func=lambda _, shard: shard)
    names = sorted(path.name for path in tmp_path.glob("*/*.shard"))
    assert names == sorted(f"{i:08}.shard" for i in (0, 1, 2, 2**64 - 1))
    turns = [0, 4, 1, 2, 5, 3, 6, 7, 8]

    def reader(shards: Any) -> Any:
        return shards.interleave(lambda shard: shard, cycle_length=2)

    assert tl.load(tmp_path)[0].tolist() == list(range(9))
    assert tl.load(tmp_path, order="tensorflow", num_processors=2)[0].tolist() == turns
    rows = Dataset.load(tmp_path, reader_func=reader).as_numpy_iterator()
    assert [int(number) for number, _ in rows] == turns
    with pytest.raises(TypeError, match="must return a Dataset, not int"):
        Dataset.load(tmp_path, reader_func=lambda _: 1)
    tl.save(tmp_path / "a.tfrecord", {"x": [1]})
    for path, order in ((tmp_path, "random"), (tmp_path / "a.tfrecord", "tensorflow")):
        raised(tl.errors.InvalidArgumentError, tl.load, path, order=order, match="order")


@pytest.mark.needs("remote")
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_a_data_set_in_a_store(compression: str) -> None:
    url = f"memory://{uuid4().hex}"
    tl.save(url, COLUMNS, format="tf.data", num_shards=2, compression=compression)
    assert_same(tl.load(url), COLUMNS)
    turns = tl.load(url, ["x"], order="tensorflow", num_processors=2)["x"].tolist()
    assert [b["x"].tolist() for b in tl.read_batches(url, batch_size=9)] == [COLUMNS["x"].tolist()]
    assert len(list(tl.TFRecordReader(url))) == 5
    by_two = Dataset.load(
        url, reader_func=lambda shards: shards.interleave(lambda shard: shard, cycle_length=2)
    )
    assert [row["x"].tolist() for row in by_two.as_numpy_iterator()] == turns


def test_rows_are_elements(tmp_path: Path) -> None:
    rows = [{"x": 1, "tags": ["a"]}, {"x": 2, "tags": []}]
    schema = tl.save(tmp_path / "saved", rows, format="tf.data")
    loaded = tl.load(tmp_path / "saved")
    assert list(schema) == ["tags", "x"]
    assert loaded["x"].tolist() == [1, 2]
    assert loaded["tags"].to_list() == [[b"a"], []]


def test_a_snapshot_has_dtypes_alone(folder: str) -> None:
    Path(folder, "dataset_spec.pb").unlink()
    name, tags, x = tl.load(folder)
    assert_same({"name": name, "tags": tags, "x": x}, COLUMNS)


@pytest.mark.parametrize(("name", "content", "text"), [
    ("snapshot.metadata", b"\xff\xff", "not the description"),
    ("snapshot.metadata", message((2, b"../other"), (4, 2)), "does not name the folder"),
    ("snapshot.metadata", message((2, b"1"), (4, 9)), "version 9"),
    ("dataset_spec.pb", b"\xff\xff", "not the spec"),
    ("dataset_spec.pb", message((34, message((1, 5), (3, b"DatasetSpec")))), "DatasetSpec"),
])  # fmt: skip
def test_descriptions_not_to_be_read(folder: str, name: str, content: bytes, text: str) -> None:
    Path(folder, name).write_bytes(content)
    error = raised(tl.errors.InvalidArgumentError, tl.load, folder, match=text)
    assert error.source == f"{folder}/snapshot.metadata"


def test_what_cannot_be_read_is_refused_if_it_is_asked_for(folder: str) -> None:
    other = message((34, message((1, 5), (3, b"DatasetSpec"))))
    leaves = {"name": other, "tags": other, "x": spec_of("x", {"x": X})}
    pairs = [(1, message((1, name.encode()), (2, leaf))) for name, leaf in leaves.items()]
    Path(folder, "dataset_spec.pb").write_bytes(message((53, message(*pairs))))
    for read in (tl.load, tl.read_batches):
        with pytest.raises(
            tl.errors.InvalidArgumentError, match=r"DatasetSpec.*columns="
        ) as caught:
            list(read(folder))
        assert caught.value.key == "name"
    assert_same(tl.load(folder, ["x"]), {"x": COLUMNS["x"]})
    (batch,) = tl.read_batches(folder, batch_size=9, columns=["x"])
    assert_same(batch, {"x": COLUMNS["x"]})


def test_records_of_another_spec_are_an_error(folder: str, tmp_path: Path) -> None:
    tl.save(tmp_path / "other", {**COLUMNS, "x": np.arange(5)}, format="tf.data")
    spec = Path(tmp_path, "other", "dataset_spec.pb").read_bytes()
    Path(folder, "dataset_spec.pb").write_bytes(spec)
    error = raised(tl.errors.InvalidArgumentError, tl.load, folder, match="float64, expected int64")
    assert (error.key, error.reason) == ("x", tl.errors.Reason.WRONG_DTYPE)


def test_elements_that_are_cut_are_damage(folder: str) -> None:
    (file,) = Path(folder).glob("*/00000001.shard/*")
    records = list(tl.TFRecordReader(file))
    write_records(file, records[:-1])
    raised(tl.errors.DataLossError, tl.load, folder, match="ends after 2 records of an element")


def test_snappy_is_inflated_or_named(folder: str) -> None:
    """Literals are written without any library."""
    for file in Path(folder).glob("*/*/*.snapshot"):
        content = file.read_bytes()
        pieces = [content[i : i + 60] for i in range(0, len(content), 60)]
        blocks = [bytes([len(piece), len(piece) - 1 << 2]) + piece for piece in pieces]
        file.write_bytes(b"".join(len(block).to_bytes(4, "big") + block for block in blocks))
    if importlib.util.find_spec("cramjam") is None:
        raised(tl.errors.DataLossError, tl.load, folder, match="pip install cramjam")
    else:
        assert_same(tl.load(folder), COLUMNS)


def test_fields_are_what_was_written() -> None:
    assert list(fields(message((1, b"x"), (1000, -1)))) == [(1, b"x"), (1000, 2**64 - 1)]
