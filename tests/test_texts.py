"""What files, readers, writers and their like show of themselves: one short line."""

import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecord_lite
import tfrecord_lite as tl
from tests.support.errors import raised
from tfrecord_lite import (
    save,
    scan,
    summarize,
)
from tfrecord_lite.apps.statistics import compare, compute_statistics
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.files.compression import TFRecordOptions
from tfrecord_lite.index.file import tf_record_random_reader
from tfrecord_lite.reader import tf_record_iterator
from tfrecord_lite.records.framing import frame

MOST = 200
MANY = {f"feature_{i}": tl.FixedLenFeature([], "int64") for i in range(60)}


def test_no_instance_takes_more_than_a_line(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    paths = [folder / f"{i}.tfrecord" for i in range(50)]
    for path in paths:
        with tl.TFRecordWriter(path) as closed:
            closed.write(tl.encode_examples({key: np.arange(100) for key in MANY}))
    options = TFRecordOptions("ZLIB", zlib.Z_FULL_FLUSH, 1 << 20, 1 << 20, 15, 9, 8, 9, 2)
    file, reader = tl.TFRecordFile(paths), tl.TFRecordReader(paths)
    data = tl.TFRecordDataset(paths).shuffle(1000, seed=7).repeat(3).batch(10)
    with (
        tl.ShardedTFRecordWriter(folder / "a@9") as sharded,
        tl.TFRecordWriter(folder / "a", options) as writer,
    ):
        things = [
            next(reader.blocks()), reader, iter(reader), reader.blocks(), reader.examples(), closed,
            writer, sharded, options, TFRecordOptions(options), file, file.indexes[0],
            tf_record_iterator(paths[0]), tf_record_random_reader(paths[0]), data, iter(data),
            file.block([0, 4999]), iter(file),
            tl.ExampleParser(MANY), tl.verify(paths), tl.verify(paths).files[0],
        ]  # fmt: skip
        shown = {repr(thing): len(repr(thing)) for thing in things}

    assert {text: length for text, length in shown.items() if length > MOST or "\n" in text} == {}


def test_they_say_what_they_are_of_and_what_they_have_done(tmp_path: Path) -> None:
    with tl.TFRecordWriter(tmp_path / "a.gz") as writer:
        writer.write(tl.Block.from_records([bytes(100)] * 1000))
        assert repr(writer).endswith("a.gz: 1,000 records, GZIP, open>")
    assert repr(writer).endswith("a.gz: 1,000 records, GZIP, closed>")
    reader = tl.TFRecordReader(["x" * 300 + "a", "b", io.BytesIO()])
    assert repr(reader) == f"TFRecordReader(...{'x' * 56}a, b, ... (3 files))"
    options = "TFRecordOptions('ZLIB', flush_mode=3, window_bits=-15)"
    assert repr(TFRecordOptions("ZLIB", 3, window_bits=-15)) == options


def test_a_report_is_true_if_all_is_sound(tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(data := bytes(frame([b"one", b"two"])))
    (tmp_path / "bad").write_bytes(data[:15] + b"." + data[16:])
    good = tl.verify(tmp_path / "good", messages=False)
    bad = tl.verify([tmp_path / "good", tmp_path / "bad", tmp_path / "none"])
    assert good
    assert repr(good) == "<DamageReport of 1 file: 2 records, sound>"
    assert not bad
    assert repr(bad) == (
        "<DamageReport of 3 files: 3 records, 1 damaged place (19 bytes), 1 file not read to the end>"
    )
    assert [bool(file) for file in bad.files] == [True, False, False]


def test_a_mode_is_not_a_compression(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="a mode is a keyword: mode='a'"):
        tl.TFRecordWriter(tmp_path / "a", "a")
    assert not list(tmp_path.iterdir())


@pytest.mark.needs("arrow")
@pytest.mark.parametrize("n_features", [20, 800])
def test_a_table_is_shown_without_its_middle(tmp_path: Path, n_features: int) -> None:
    for name in ("a", "b"):
        columns = {f"{name} feature {i}": np.arange(3) for i in range(n_features)}
        save(tmp_path / name, {**columns, "x" * 2000: np.arange(3)})
    first = tmp_path / "a"
    things = [
        summarize(first), compute_statistics(first), scan(first), compare(first, tmp_path / "b"),
    ]  # fmt: skip
    for thing in things:
        assert len(repr(thing)) < 5000
        assert "a feature 0" in repr(thing)
        assert f"a feature {n_features - 1}" in str(thing if n_features < 99 else things[0])


@given(
    rank=st.integers(2, 5),
    inner=st.lists(st.integers(0, 40), max_size=2),
    kind=st.sampled_from("biS"),
)
def test_a_ragged_tensor_is_short_whatever_it_holds(rank: int, inner: list[int], kind: str) -> None:
    n_values = 15 ** (rank - 1) if rank < 4 else 4 ** (rank - 1)
    values: Any = np.arange(n_values * int(np.prod(inner, dtype=int)))
    if kind == "S":
        values = np.array([*(b"%d" % i * 100 for i in values), None], object)[:-1]
    values = values.reshape(n_values, *inner)
    for _ in range(rank - 1):
        length = round(n_values ** (1 / (rank - 1)))
        values = tl.RaggedTensor.from_row_splits(values, np.arange(0, len(values) + 1, length))
    assert len(repr(values)) < 8000
    assert (
        len(
            repr(
                tl.SparseTensor(np.zeros((900, 1), int), np.array([b"x" * 99] * 900, object), [900])
            )
        )
        < 4000
    )


def test_long_byte_strings_are_shown_by_what_they_are() -> None:
    gif = b"GIF89a\x80\x02\xe0\x01" + bytes(50)
    rows = tl.RaggedTensor.from_row_splits(np.array([gif, b"a", b"x" * 40], object), [0, 2, 3])
    assert (
        repr(rows)
        == f"<RaggedTensor [[<GIF 640 x 480, 60 bytes>, b'a'], [{b'x' * 32!r}... (40 bytes)]]>"
    )


@pytest.mark.parametrize(("call", "keyword", "hint"), [
    ("read_batches('a', {'x': int}, 2, epochs=2)", "epochs", "read_batches() got an unexpected keyword argument 'epochs': did you mean num_epochs?"),
    ("read_batches('a', drop_last=True)", "drop_last", "did you mean drop_remainder?"),
    ("load('a', n_rows=2)", "n_rows", "load() got an unexpected keyword argument 'n_rows': did you mean num_records?"),
    ("load('a', batch_size=2)", "batch_size", "read_batches(paths, schema, batch_size) gives batches"),
    ("verify('a', workers=2)", "workers", "did you mean num_threads?"),
    ("infer_schema('a', workers=2)", "workers", "read_batches, scan and Dataset.in_processes take num_workers"),
    ("summarize('a', compresion='GZIP')", "compresion", "did you mean compression?"),
    ("save('a', {}, compression_type='GZIP')", "compression_type", "save() got an unexpected keyword argument 'compression_type': did you mean compression?"),
    ("save('a', {}, zzz=1)", "zzz", "its keywords are path, data, "),
    ("TFRecordDataset('a', usecols=['x'])", "usecols", "load, scan and read_batches take columns"),
    ("TFRecordFile('a', zzz=1)", "zzz", "TFRecordFile() got an unexpected keyword argument 'zzz': its keywords are paths, "),
    ("TFRecordReader('a', compresion='GZIP')", "compresion", "TFRecordReader() got an unexpected keyword argument 'compresion': did you mean compression?"),
    ("TFRecordWriter('a', compression_type='GZIP')", "compression_type", "did you mean compression?"),
    ("ShardedTFRecordWriter('a', shards=2)", "shards", "did you mean num_shards?"),
    ("TFRecordWriter.write_example(None, {}, zzz=1)", "zzz", "TFRecordWriter.write_example() got an unexpected keyword argument"),
    ("ShardedTFRecordWriter.write(None, b'', zzz=1)", "zzz", "ShardedTFRecordWriter.write() got an unexpected keyword argument"),
    ("TFRecordDataset('a').batch(4, drop_last=True)", "drop_last", "Dataset.batch() got an unexpected keyword argument 'drop_last': did you mean drop_remainder?"),
    ("TFRecordDataset('a').repeat(epochs=2)", "epochs", "Dataset.repeat() got an unexpected keyword argument 'epochs': did you mean count?"),
    ("TFRecordDataset('a').skip(2).map(len, workers=2)", "workers", "read_batches, scan and Dataset.in_processes take num_workers"),
    ("TFRecordDataset.zip('a', workers=2)", "workers", "read_batches, scan and Dataset.in_processes"),
    ("TFRecordReader('a').blocks(epochs=2)", "epochs", "read_batches repeats"),
    pytest.param(
        "scan('a', where='x > 1')", "where", "Dataset.filter, and sql of ",
        marks=pytest.mark.needs("arrow"),
    ),
    ("load('a', shuffle=True)", "shuffle", "read_batches(paths, shuffle=True, seed=0) shuffles"),
    ("load('a', num_workers=2)", "num_workers", "did you mean num_processors?"),
    ("parse_example([], {}, batch=2)", "batch", "read_batches(paths, schema, batch_size) gives batches"),
    ("FixedLenFeature([], int, default=0)", "default", "FixedLenFeature() got an unexpected keyword argument 'default': did you mean default_value?"),
    ("count_records('a', zzz=1)", "zzz", "its keywords are paths, those of ReadOptions"),
    ("read_batches('a', rank=0)", "rank", "did you mean shard=(world_size, rank)?"),
    ("load('a', num_replicas=2)", "num_replicas", "read_batches takes shard=(world_size, rank)"),
    ("read_batches('a', label_column='y')", "label_column", "did you mean label_key?"),
    ("TFRecordDataset('a', label='y')", "label", "Dataset.parse_example take label_key"),
    ("read_batches('a', reader_num_threads=2)", "reader_num_threads", "did you mean num_workers?"),
    ("read_batches('a', persistent_workers=True)", "persistent_workers", "a DataLoader around IterableTensors"),
    ("read_batches('a', collate_fn=len)", "collate_fn", "read_batches(paths).map(function)"),
    ("load('a', transform=len)", "transform", "read_batches(paths).map(function)"),
    ("load('a', split='train')", "split", "load_tfds(folder, split)"),
    ("load_schema('a', dtype=2)", "dtype", "load, scan and read_batches take a schema"),
])  # fmt: skip
def test_a_keyword_of_another_library_leads_to_ours(call: str, keyword: str, hint: str) -> None:
    with pytest.raises(TypeError) as caught:
        eval(call, {name: getattr(tfrecord_lite, name) for name in tfrecord_lite.__all__})  # noqa: S307
    assert repr(keyword) in str(caught.value)
    assert hint in str(caught.value)
    assert not str(caught.value).startswith("_")


def test_errors_about_names_say_what_to_name(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    save(path, {"label": [1, 2], "steps/action": [3, 4], "steps/reward": [5, 6]}, num_shards=2)
    shards = tmp_path / "a@2.tfrecord"
    calls: list[tuple[Any, str]] = [
        (lambda: tl.read_batches(shards, label_key="label", columns=["steps/action"]), "add it to columns$"),
        (lambda: tl.load(shards, columns=["steps"]), "below it: 'steps/action', 'steps/reward'$"),
        (lambda: tl.load(shards, schema={"lable": int}), "no default; the record has 3 features: 'label', .*; pass"),
        (lambda: tl.load(f"{path}.schema.json"), "name them .*a@2.tfrecord': "),
        (lambda: tl.load(shards, as_="torch"), "as_tensors of"),  # type: ignore[arg-type]
    ]  # fmt: skip
    for call, text in calls:
        raised((InvalidArgumentError, FileNotFoundError), call, match=text)
