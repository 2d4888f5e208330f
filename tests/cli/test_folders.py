"""A folder names the same files for every verb."""

import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run
from tests.cli.samples import write
from tfrecord_lite import TFRecordReader, encode_example, load, save
from tfrecord_lite.convert.arrow import imported

pytestmark = pytest.mark.needs("sql")


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    records = [encode_example({"x": x}) for x in range(5)]
    splits = [{"name": name, "shardLengths": [n]} for name, n in (("train", "3"), ("test", "1"))]
    info = json.dumps({"name": "d", "version": "1.0.0", "splits": [*splits, {"name": "no"}]})
    for folder in ("tfds/1.0.0", "beside/1.0.0"):
        Path(folder).mkdir(parents=True)
        Path(folder, "dataset_info.json").write_text(info)
        write(Path(folder, "d-train.tfrecord-00000-of-00001"), records[:3])
        write(Path(folder, "d-test.tfrecord-00000-of-00001"), records[3:4])
        write(Path(folder, "d-no.tfrecord-00000-of-00001"), [])
    write(Path("tfds/1.0.0/more.tfrecord"), records[4:])
    write(Path("beside/all.tfrecord"), records)
    save("saved", {"x": np.arange(5)}, format="tf.data")
    return tmp_path


@pytest.mark.parametrize("name", ["tfds", "tfds/1.0.0", "tfds/*", "beside", "saved"])
def test_a_folder_means_the_same_to_every_verb(run: Run, folders: Path, name: str) -> None:
    assert run("convert", name, "x.csv").err == []
    assert Path("x.csv").read_text().split() == ["x", *"01234"]
    assert run("sql", "--csv", f"select x from '{name}' order by x").out == ["x", *"01234"]
    assert run("cat", "--json", name).out == [f'{{"x": [{x}]}}' for x in range(5)]
    assert run("diff", name, "x.csv").status == 2
    for verb in (["merge"], ["filter", "--where", "x >= 0"], ["split", "--num-shards", "1"]):
        assert run(*verb, name, f"{verb[0]}.tfrecord", "--overwrite").err == []
        (path,) = folders.glob(f"{verb[0]}*.tfrecord")
        assert [e["x"][0] for e in TFRecordReader(path).examples()] == [*range(5)]
        assert run("diff", name, path).status == 0
    for verb in (["count"], ["stats"], ["schema"], ["verify"], ["head", "-n1"], ["info"], []):
        assert run(*verb, name).status == 0, verb


@pytest.mark.usefixtures("folders")
def test_a_shard_of_a_split_that_is_not_there_is_an_error(run: Run) -> None:
    Path("tfds/1.0.0/d-test.tfrecord-00000-of-00001").unlink()
    for verb in (["convert", "tfds", "x.csv"], ["sql", "from 'tfds'"], ["count", "tfds"]):
        done = run(*verb)
        assert done.status == 2
        assert "d-test" in done.err[0]


@pytest.mark.usefixtures("folders")
def test_files_made_of_a_folder_have_the_types_that_its_features_have(run: Run) -> None:
    features = {"x": {"tensor": {"shape": {}, "dtype": "uint8"}}}
    Path("tfds/1.0.0/features.json").write_text(
        json.dumps({"featuresDict": {"features": features}})
    )
    for verb in ("convert", "merge", "shuffle"):
        assert run(verb, "tfds", f"{verb}.tfrecord").err == []
        assert load(f"{verb}.tfrecord")["x"].dtype == np.uint8


@pytest.mark.usefixtures("folders")
def test_texts_are_what_the_features_of_a_folder_say(run: Run) -> None:
    Path("tfds/1.0.0/features.json").write_text(
        json.dumps(
            {
                "featuresDict": {
                    "features": {"x": {"text": {}}, "y": {"tensor": {"dtype": "string"}}}
                }
            }
        )
    )
    for name in ("train", "test", "no"):
        write(Path(f"tfds/1.0.0/d-{name}.tfrecord-00000-of-00001"), [])
    write(Path("tfds/1.0.0/more.tfrecord"), [encode_example({"x": "é", "y": "z"})] * 4)
    for options in ((), ("--text", "x")):
        assert run("convert", "tfds", "x.parquet", "--overwrite", *options).status == 0
        found = imported("pyarrow.parquet").read_table("x.parquet")
        assert found.to_pylist() == [{"x": "é", "y": b"z"}] * 4
    assert load("tfds/1.0.0/more.tfrecord", as_="arrow")["x"][0].as_py() == "é"
    assert load("tfds/1.0.0/more.tfrecord")["x"][0] == "é".encode()


def test_nested_lists_of_tfds_are_explained(run: Run, tmp_path: Path) -> None:
    row = {"a/ragged_flat_values": [1, 2], "a/ragged_row_lengths_0": [2]}
    write(tmp_path / "x", [encode_example(row)] * 2)
    for verb in ("head", "stats", "schema"):
        lines = [line for line in run(verb, tmp_path / "x").out if "a: nested lists" in line]
        assert len(lines) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once_or_refused(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.tfrecord", [encode_example({"x": x}) for x in range(3)])
    pipe, target = tmp_path / "pipe", tmp_path / "b.tfrecord"
    os.mkfifo(pipe)
    for verb in (["sql", f"from '{pipe}'"], [str(pipe)]):  # which never open it
        done = run(*verb)
        assert done.status == 2
        assert "read only once" in done.err[0]
    data = (tmp_path / "a.tfrecord").read_bytes()
    for args in (["count", str(pipe)], ["merge", str(pipe), str(target)]):
        writer = threading.Thread(target=pipe.write_bytes, args=(data,))
        writer.start()
        assert run(*args).status == 0
        writer.join()
    assert len(list(TFRecordReader(target))) == 3
