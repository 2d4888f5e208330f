"""Saved data sets: TensorFlow's are read as it loads them, and it loads ours."""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import tfrecord_lite as tl
from tests.saved.written import DTYPES, data_sets
from tfrecord_lite.convert.lists import row_of
from tfrecord_lite.described.structure import flatten
from tfrecord_lite.tf.data import Dataset

tf = pytest.importorskip("tensorflow")

_RAGGED = [[[1, 2], [3]], [], [[4]]]


def _ragged(rank: int) -> Any:
    rows = tf.ragged.constant([_RAGGED, [], [[[5]]]], dtype=tf.int64)
    return tf.data.Dataset.from_tensor_slices(rows if rank == 2 else rows.merge_dims(1, 2))


def _sparse(number: Any) -> Any:
    return tf.sparse.SparseTensor([[0, number]], [number], [2, 4])


def _data_sets() -> dict[str, Any]:
    dataset = tf.data.Dataset
    nested = {"b": np.arange(4), "a": (np.arange(4.0), {"c": np.arange(8).reshape(4, 2)})}
    numbers = dataset.range(5)
    return {
        "nested": dataset.from_tensor_slices(nested),
        "batched": dataset.range(10).batch(4),
        "batched strings": dataset.from_tensor_slices([b"a", b"", b"b" * 300]).batch(2),
        "ragged 0": numbers.map(lambda number: tf.range(number)).ragged_batch(2),  # noqa: PLW0108
        "ragged 1": _ragged(1),
        "ragged 2": _ragged(2),
        "ragged 1 batched": _ragged(1).batch(2),
        "ragged 2 batched": _ragged(2).batch(2),
        "sparse": numbers.take(4).map(_sparse),
        "sparse batched": numbers.take(4).map(_sparse).batch(3),
        "several lengths": numbers.map(lambda n: tf.ones([2, n], tf.float16)),
        "empty": numbers.take(0),
        "one": dataset.from_tensors({"x": [[b"a", b"b"]]}),
        "optional": numbers.map(lambda n: tf.experimental.Optional.from_value(n)),  # noqa: PLW0108
        **{
            dtype: dataset.from_tensors(tf.cast([[0, 1], [2, 3]], dtype)).unbatch()
            for dtype in DTYPES
            if dtype != "string"
        },
    }


def _plain(value: Any) -> Any:
    """Return one element's value, ours or TensorFlow's, as lists."""
    if hasattr(value, "has_value"):
        value = value.get_value() if value.has_value() else None
    if isinstance(value, np.ma.MaskedArray):
        value = None if np.ma.getmaskarray(value).any() else np.ma.getdata(value)
    if hasattr(value, "indices"):
        return [
            np.asarray(part).tolist() for part in (value.indices, value.values)
        ]  # one column has one dense shape
    if hasattr(value, "to_list"):
        return value.to_list()
    value = value.numpy() if hasattr(value, "numpy") else value
    return value.tolist() if hasattr(value, "tolist") else value


def _elements(data: Any) -> list[dict[str, Any]]:
    return [{name: _plain(leaf) for name, leaf in flatten(element)[1].items()} for element in data]


def _rows(data: Any) -> list[dict[str, Any]]:
    """Return what `load` gave as elements."""
    columns = flatten(data)[1]
    column = next(iter(columns.values()))
    n = column.shape[0] if hasattr(column, "shape") else len(column)
    return [{name: _plain(row_of(c, i)) for name, c in columns.items()} for i in range(n)]


@pytest.mark.parametrize("compression", [None, "GZIP"])
@pytest.mark.parametrize("name", list(_data_sets()))
def test_read_as_tensorflow_loads(name: str, compression: str | None, tmp_path: Path) -> None:
    data = _data_sets()[name]
    data.take(2).save(str(tmp_path))  # a run that the next save leaves behind
    data.save(str(tmp_path), compression=compression)
    wanted = _elements(tf.data.Dataset.load(str(tmp_path), compression=compression))
    got = tl.load(tmp_path)
    assert _rows(got) == wanted
    (column, *_), (spec, *_) = flatten(got)[1].values(), tf.nest.flatten(data.element_spec)
    if hasattr(spec, "dtype") and spec.dtype != tf.string:
        assert column.dtype == spec.dtype.as_numpy_dtype
    if isinstance(spec, tf.TensorSpec):
        assert list(column.shape[1:]) == spec.shape.as_list()
    if name != "optional":
        assert _elements(Dataset.load(tmp_path)) == wanted
    records = [row for batch in tl.read_batches(tmp_path, batch_size=3) for row in _rows(batch)]
    assert records == wanted


@pytest.mark.parametrize("processors", [1, 2, 3, 8])
def test_shards_are_read_in_order_or_in_turns(
    processors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = np.random.default_rng(processors).integers(-1, 6, 90) ** 2 % 17 - 1
    data = tf.data.Dataset.from_tensor_slices((np.arange(90), shards))
    data.save(str(tmp_path), shard_func=lambda _, shard: shard)
    as_text = [f"{shard % 2**64:08}" for shard in shards.tolist()]
    by_shard = sorted(range(90), key=as_text.__getitem__)
    assert tl.load(tmp_path)[0].tolist() == by_shard
    monkeypatch.setattr("multiprocessing.cpu_count", lambda: processors)
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    turns = [int(i) for i, _ in tf.data.Dataset.load(str(tmp_path)).as_numpy_iterator()]
    assert [int(i) for i, _ in Dataset.load(tmp_path).as_numpy_iterator()] == turns
    assert tl.load(tmp_path, order="tensorflow")[0].tolist() == turns
    named = tl.load(tmp_path, ["0"], order="tensorflow", num_processors=processors, num_records=50)
    assert named["0"].tolist() == turns[:50]

    def reader(datasets: Any) -> Any:
        return datasets.interleave(lambda shard: shard, cycle_length=processors)

    (tmp_path / "ours").mkdir()
    ours = Dataset.load(tmp_path, reader_func=reader)
    ours.save(tmp_path / "ours", shard_func=lambda _, shard: shard)
    theirs = tf.data.Dataset.load(str(tmp_path), reader_func=reader)
    wanted = _elements(theirs)
    assert _elements(ours) == wanted
    assert sorted(
        i for i, _ in map(dict.values, _elements(tf.data.Dataset.load(str(tmp_path / "ours"))))
    ) == list(range(90))
    names = [sorted(p.name for p in f.glob("*/*.shard")) for f in (tmp_path, tmp_path / "ours")]
    assert names[0] == names[1]


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_chunks_of_distributed_save_are_read(compression: str | None, tmp_path: Path) -> None:
    service, folder = tf.data.experimental.service, tmp_path / "saved"
    settings = service.DispatcherConfig(fault_tolerant_mode=True, work_dir=str(tmp_path / "work"))
    dispatcher = service.DispatchServer(settings)
    address = dispatcher.target.split("://")[1]
    workers = [
        service.WorkerServer(service.WorkerConfig(address, heartbeat_interval_ms=100))
        for _ in range(2)
    ]
    columns = {"x": np.arange(40), "s": [b"a"] * 40, "r": tf.ragged.range(np.arange(40))}
    data = tf.data.Dataset.from_tensor_slices(columns)
    tf.data.experimental.distributed_save(data, str(folder), address, compression=compression)
    end = time.monotonic() + 60
    while not (folder / "DONE").exists():
        assert time.monotonic() < end
        assert not (folder / "ERROR").exists()
        time.sleep(0.1)
    # TensorFlow reads the chunks as the file system lists them.
    wanted = sorted(_elements(tf.data.Dataset.load(str(folder))), key=lambda row: row["x"])
    loaded = _rows(tl.load(folder))
    for rows in (loaded, _elements(Dataset.load(folder))):
        assert sorted(rows, key=lambda row: row["x"]) == wanted
    assert [row for b in tl.read_batches(folder, batch_size=7) for row in _rows(b)] == loaded
    del workers


def test_what_cannot_be_read_is_refused_if_it_is_asked_for(tmp_path: Path) -> None:
    windows = tf.data.Dataset.range(4).window(2)
    tf.data.Dataset.zip({"w": windows, "x": tf.data.Dataset.range(2)}).save(str(tmp_path))
    with pytest.raises(tl.errors.InvalidArgumentError, match=r"DatasetSpec.*columns=") as caught:
        tl.load(tmp_path)
    assert caught.value.key == "w"
    assert tl.load(tmp_path, ["x"])["x"].tolist() == [0, 1]
    (batch,) = tl.read_batches(tmp_path, batch_size=9, columns=["x"])
    assert batch["x"].tolist() == [0, 1]


def test_snapshots_are_read(tmp_path: Path) -> None:
    data = tf.data.Dataset.from_tensor_slices(
        {"x": np.arange(6.0), "y": np.arange(12).reshape(6, 2)}
    )
    list(data.snapshot(str(tmp_path), compression="GZIP"))
    columns = tl.load(tmp_path)
    assert sorted(columns[-2].tolist()) == list(range(6))
    assert sorted(columns[-1].tolist()) == np.arange(12).reshape(6, 2).tolist()


@given(data_sets())
def test_tensorflow_loads_what_is_written(data: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as place:
        tl.save(place, data, format="tf.data", num_shards=1, compression="GZIP")
        loaded = tf.data.Dataset.load(place, compression="GZIP")
        assert _elements(loaded) == _rows(data)
        assert int(loaded.cardinality()) == len(_rows(data))
