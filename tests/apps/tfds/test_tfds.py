"""Directories of TensorFlow Datasets: of today's form and of older ones, their splits and slices."""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tfrecord_lite import (
    FixedLenFeature,
    TFRecordWriter,
    load,
    load_schema,
    load_tfds,
    read_batches,
)
from tfrecord_lite.apps.tfds import parts_of, tfds_info
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason

LENGTHS = {"train": [4, 0, 5, 3], "test": [2], "validation": [2, 1]}
LABELS = ["cat", "dog", "bird"]


def of_class(name: str, content: str, **values: Any) -> dict[str, Any]:
    return {"pythonClassName": f"tensorflow_datasets.core.features.{name}", content: values}


def label_of(number: str) -> dict[str, Any]:
    return of_class("ClassLabel", "classLabel", numClasses=number)


OBJECT = of_class("FeaturesDict", "featuresDict", features={"label": label_of("2")})
MEMBERS = {
    "image": of_class("Image", "image", dtype="uint8"),
    "label": label_of("3"),
    "n": of_class("Tensor", "tensor", dtype="int32", shape={}),
    "pixels": of_class("Tensor", "tensor", dtype="uint8", shape={"dimensions": ["2", "2"]}),
    "objects": of_class("Sequence", "sequence", length="-1", feature=OBJECT),
}
FEATURES = of_class("FeaturesDict", "featuresDict", features=MEMBERS)


def row(n: int) -> dict[str, Any]:
    return {
        "image": b"PNG %d" % n, "label": n % 3, "n": n, "pixels": np.full(4, n),
        "objects/label": np.arange(n % 3),
    }  # fmt: skip


def write_shards(folder: Path, template: str = "flowers-{}.tfrecord-{:05}-of-{:05}") -> None:
    for split, lengths in LENGTHS.items():
        number = 0
        for shard, length in enumerate(lengths):
            path = folder / template.format(split, shard, len(lengths))
            path.parent.mkdir(parents=True, exist_ok=True)
            if not length:
                continue  # never opened
            with TFRecordWriter(path) as writer:
                for n in range(number, number + length):
                    writer.write_example(row(n))
            number += length


def write_info(folder: Path, **more: Any) -> None:
    splits = [
        {"name": name, "shardLengths": [str(n) for n in lengths], "numBytes": "99"}
        for name, lengths in LENGTHS.items()
    ]
    info = {"name": "flowers", "version": "1.0.0", "splits": splits, **more}
    (folder / "dataset_info.json").write_text(json.dumps(info))


def numbers_of(directory: Path | str, split: str) -> list[int]:
    found: Any = load_tfds(directory, split)
    numbers: list[int] = found["n"].tolist()
    return numbers


@pytest.fixture
def today(tmp_path: Path) -> Path:
    folder = tmp_path / "flowers" / "1.0.0"
    folder.mkdir(parents=True)
    write_shards(folder)
    write_info(folder, fileFormat="tfrecord")
    (folder / "features.json").write_text(json.dumps(FEATURES))
    (folder / "label.labels.txt").write_text("\n".join(LABELS) + "\n")
    (folder / "objects-label.labels.txt").write_text("leaf\nstem\n")
    return folder


@pytest.fixture
def old(today: Path) -> Path:
    """Return the same directory as releases before 4.0 wrote it, without features.json."""
    (today / "features.json").unlink()
    return today


SLICES = {
    "train[:10%]": range(1),
    "train[-25%:]": range(9, 12),
    "train[2:11]": range(2, 11),
    "train[:1_0]": range(10),
    "train[0shard]": range(4),
    "train[2shard:]": range(4, 12),
    "train[-1shard]": range(9, 12),
    "train[:-1shard]": range(9),
    "train[:]": range(12),
    "test + train[:75%]": [0, 1, *range(9)],
    "all": [*range(12), *range(2), *range(3)],
    "validation[34%:]": range(1, 3),
    "train[12.5%:87.5%]": range(2, 10),  # 1.5 and 10.5: to the even one
    "train[:5.%]+test": [0, 0, 1],
}


@pytest.mark.parametrize("expression", SLICES)
def test_a_slice_is_what_its_numbers_say(today: Path, expression: str) -> None:
    assert numbers_of(today, expression) == [*SLICES[expression]]


def test_columns_have_their_original_types(today: Path) -> None:
    found: Any = load_tfds(today, "train[3:6]")
    assert list(found) == ["image", "label", "n", "pixels", "objects/label"]
    assert found["n"].dtype == np.int32
    assert found["pixels"].dtype == np.uint8
    assert found["pixels"].shape == (3, 2, 2)
    assert found["image"].tolist() == [b"PNG 3", b"PNG 4", b"PNG 5"]
    assert found["objects/label"].to_list() == [[], [0], [0, 1]]
    assert list(load_tfds(today, "test", columns=["label"])) == ["label"]
    with pytest.raises(InvalidArgumentError, match="no column 'lable'"):
        load_tfds(today, "test", columns=["lable"])


def test_only_the_files_of_a_slice_are_read(today: Path) -> None:
    for shard in (0, 3):
        (today / f"flowers-train.tfrecord-0000{shard}-of-00004").unlink()
    assert numbers_of(today, "train[4:9]") == [4, 5, 6, 7, 8]
    with pytest.raises(FileNotFoundError, match=r"flowers-train.tfrecord-00000-of-00004"):
        load_tfds(today, "train[3:9]")


def test_what_comes_after_a_slice_is_not_read(today: Path) -> None:
    path = today / "flowers-train.tfrecord-00000-of-00004"
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    assert load_tfds(today, "train[0:1]")["n"].tolist() == [0]
    with pytest.raises(DataLossError, match=r"flowers-train.tfrecord-00000-of-00004: record 3"):
        load_tfds(today, "train[-1:]+train[:4]")


def test_info_tells_splits_labels_and_files(today: Path) -> None:
    info = tfds_info(today)
    assert (info.name, info.config, info.version) == ("flowers", None, "1.0.0")
    assert info.splits == {"train": 12, "test": 2, "validation": 3}
    assert info.label_names == {"label": LABELS, "objects/label": ["leaf", "stem"]}
    assert info.schema == load_schema(today)
    assert info.files("test") == [f"{today}/flowers-test.tfrecord-00000-of-00001"]
    assert len(info.files("train+test")) == 4  # without the empty one
    batches = list(read_batches(info.files("validation"), info.schema, 2, shuffle=True))
    assert sorted(n for batch in batches for n in np.asarray(batch["n"]).tolist()) == [0, 1, 2]
    with pytest.raises(InvalidArgumentError, match="is a slice, but files hold whole splits"):
        info.files("train[:1]")
    assert len(repr(info)) < 2000
    assert "\n" not in repr(info)
    html = info._repr_html_()
    assert str(today) not in html
    for words in ("flowers 1.0.0", "cat, dog, bird", "pixels"):
        assert words in html


@pytest.mark.parametrize("template", [
    "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}", "data-{SPLIT}-{SHARD_INDEX}.{FILEFORMAT}",
    "{SPLIT}-{SHARD_INDEX}of{NUM_SHARDS}",
])  # fmt: skip
def test_files_may_have_other_names(tmp_path: Path, template: str) -> None:
    named = {"DATASET": "flowers", "SPLIT": "{0}", "FILEFORMAT": "tfrecord"}
    numbers = {"SHARD_X_OF_Y": "{1:05}-of-{2:05}", "SHARD_INDEX": "{1:05}", "NUM_SHARDS": "{2:05}"}
    write_shards(tmp_path, template.format(**named, **numbers))
    splits = [
        {"name": name, "shardLengths": lengths, "filepathTemplate": template}
        for name, lengths in LENGTHS.items()
    ]
    write_info(tmp_path, splits=splits)
    (tmp_path / "features.json").write_text(json.dumps(FEATURES))
    assert numbers_of(tmp_path, "train[-2:]+test") == [10, 11, 0, 1]


OUTSIDE = [
    "../x", "/x", "{SPLIT}/x", "a\\b", "..", "{SHARD_INDEX.real}", "{FOO}", "", "{DATASET}-{SPLIT}",
]  # fmt: skip


@pytest.mark.parametrize("template", OUTSIDE)
def test_metadata_name_files_of_their_folder_only(today: Path, template: str) -> None:
    split = {"name": "train", "shardLengths": [1], "filepathTemplate": template}
    write_info(today, name="a/../b" if "DATASET" in template else "flowers", splits=[split])
    if template:
        error = raised(InvalidArgumentError, tfds_info, today, match="filepathTemplate")
        assert error.reason is Reason.BAD_ARGUMENT
    else:  # the usual one
        assert tfds_info(today).files("train") == [f"{today}/flowers-train.tfrecord-00000-of-00001"]
    raised(InvalidArgumentError, load_tfds, "", "train", match="the name of a directory is empty")


def test_a_data_set_needs_no_name(today: Path) -> None:
    write_info(today, name=None)
    raised(InvalidArgumentError, tfds_info, today, match="names no data set")
    write_shards(today, "{}-{:05}-of-{:05}.tfrecord")
    template = "{SPLIT}-{SHARD_X_OF_Y}.{FILEFORMAT}"
    splits = [{"name": "test", "shardLengths": ["2"], "filepathTemplate": template}]
    write_info(today, name=None, splits=splits)
    assert tfds_info(today).name is None
    assert numbers_of(today, "test") == [0, 1]


@pytest.mark.needs("arrow")
def test_a_feature_that_cannot_be_read_refuses_only_itself(today: Path) -> None:
    own = {"pythonClassName": "mine.Own", "jsonFeature": {"json": "{}"}}
    nested = of_class("FeaturesDict", "featuresDict", features={"own": own})
    members = {**MEMBERS, "objects": of_class("Sequence", "sequence", feature=nested), "own": own}
    features = of_class("FeaturesDict", "featuresDict", features=members)
    (today / "features.json").write_text(json.dumps(features))
    info = tfds_info(today)
    path = info.files("test")[0]

    assert list(info.schema) == list(load_schema(today)) == ["image", "label", "n", "pixels"]
    assert list(info.refused) == ["objects/own", "own"]
    assert info.num_classes == {"label": 3}
    reads: list[Any] = [
        lambda names: load_tfds(today, "test", names)["n"],
        lambda names: load(path, names)["n"],
        lambda names: next(iter(read_batches(path, batch_size=2, columns=names)))["n"],
        lambda names: load(path, names, as_="arrow")["n"],
    ]
    for read in reads:
        assert np.asarray(read(["label", "n"])).tolist() == [0, 1]
        for names, key in ((None, "objects/own"), (["n", "own"], "own")):
            with pytest.raises(
                InvalidArgumentError, match="the class 'Own' is not known"
            ) as caught:
                read(names)
            assert (caught.value.reason, caught.value.key) == (Reason.UNSUPPORTED, key)


TEXT = of_class("Text", "text")
WORDS = of_class("Sequence", "sequence", feature=TEXT)
TEXTS = {"t": TEXT, "words": WORDS, "lists": of_class("Sequence", "sequence", feature=WORDS)}


@pytest.mark.needs("arrow")
def test_texts_are_str_where_asked_for(tmp_path: Path) -> None:
    members = {**TEXTS, "id": of_class("Tensor", "tensor", dtype="string", shape={})}
    features = of_class("FeaturesDict", "featuresDict", features=members)
    (tmp_path / "features.json").write_text(json.dumps(features))
    write_info(tmp_path, splits=[{"name": "train", "shardLengths": [2]}])
    lists = {"lists/ragged_flat_values": ["x", "y"], "lists/ragged_row_lengths_0": [0, 2]}
    with TFRecordWriter(tmp_path / "flowers-train.tfrecord-00000-of-00001") as writer:
        for t in ("ü", "b"):
            writer.write_example({"t": t, "words": [t, t], "id": "n", **lists})

    def types(**how: Any) -> list[type]:
        found: Any = load_tfds(tmp_path, "train", **how)
        flat = [getattr(found[name], "flat_values", found[name])[0] for name in members]
        return list(map(type, flat))

    assert tfds_info(tmp_path).texts == list(TEXTS)
    assert types() == types(text=False) == [bytes] * 4
    assert types(text=True) == [str] * 3 + [bytes]
    assert types(text=["t", "id"]) == [str, bytes, bytes, str]
    table: Any = load_tfds(tmp_path, "train", as_="arrow")
    assert table.to_pylist()[0] == {
        "t": "ü",
        "words": ["ü"] * 2,
        "lists": [[], ["x", "y"]],
        "id": b"n",
    }
    with pytest.raises(InvalidArgumentError, match="'n' in text is not a column of byte strings"):
        load_tfds(tmp_path, "train", text=["n"])


def test_without_features_json_the_schema_is_inferred(old: Path) -> None:
    info = tfds_info(old)
    assert info.schema["pixels"] == FixedLenFeature([4], "int64")
    assert info.label_names["objects/label"] == ["leaf", "stem"]
    assert numbers_of(old, "train[-1:]") == [11]
    error = raised(InvalidArgumentError, load_schema, old, match=r"no features\.json; infer_schema")
    assert error.source == str(old)
    for path in old.glob("flowers-*"):
        path.unlink()
    raised(InvalidArgumentError, tfds_info, old, match="there are no data files to look at")


def test_a_directory_above_the_only_version_will_do(today: Path) -> None:
    names = (today, f"{today}/", today.parent, today.parent.parent, today / "dataset_info.json")
    for directory in names:
        assert tfds_info(directory).directory == str(today)
        assert len(load_tfds(directory, "test")["n"]) == 2
    with_config = today.parent.parent / "data" / "flowers" / "small" / "1.0.0"
    shutil.copytree(today, with_config)
    assert tfds_info(with_config.parents[2]).directory == str(with_config)
    shutil.rmtree(with_config)
    shutil.copytree(today, today.parent / "2.0.0")
    with pytest.raises(InvalidArgumentError, match=r"give one of 1\.0\.0, 2\.0\.0$") as caught:
        load_tfds(today.parent, "test")
    assert caught.value.source == str(today.parent)
    with pytest.raises(InvalidArgumentError, match=r"give one of flowers/1\.0\.0, flowers/2.*$"):
        load_schema(today.parent.parent)


def test_a_folder_may_have_the_characters_of_patterns(today: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a[b]*?" / "c"
    shutil.copytree(today, folder)
    info = tfds_info(folder)
    assert info.label_names["label"] == LABELS
    assert numbers_of(folder.parent, "train[-1:]") == [11]


@pytest.mark.needs("remote")
def test_a_directory_behind_a_url(today: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(str(today), "/data/flowers/1.0.0", recursive=True)
    for url in ("memory://data/flowers/1.0.0", "memory://data/flowers"):
        info = tfds_info(url)
        assert info.label_names["label"] == LABELS
        assert numbers_of(url, "train[5:7]") == [5, 6]
    raised(FileNotFoundError, tfds_info, "memory://elsewhere", match=r"dataset_info.json")


def test_what_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    raised(FileNotFoundError, tfds_info, tmp_path / "nowhere", match=r"no directory '.*nowhere'")
    for read in (tfds_info, load_schema):
        with pytest.raises(FileNotFoundError, match=r"no dataset_info.json in .*, nor up to three"):
            read(tmp_path)


@pytest.mark.parametrize(("expression", "text"), [
    ("validtion", "no split 'validtion'; the nearest: 'validation'"),
    ("zzz", "no split 'zzz'; there are 'train', 'test', 'validation'"),
    ("train[13:]", "'train[13:]' is out of range: 'train' has 12 records"),
    ("train[:-13]", "'train[:-13]' is out of range: 'train' has 12 records"),
    ("train[5:5]", "'train[5:5]' has no records: 'train' has 12 records"),
    ("train[7:3]", "'train[7:3]' has no records: 'train' has 12 records"),
    ("test[:1%]", "'test[:1%]' has no records: 'test' has 2 records"),
    ("train[9shard]", "'train[9shard]' has no records: 'train' has 12 records"),
    ("train[:150%]", "the percents of 'train[:150%]' must be between -100 and 100"),
    ("train[10%:20]", "both ends of 'train[10%:20]' must be in the same unit"),
    ("all[:3]", "'all' cannot be sliced; slice each split"),
    *[
        (text, f"{text.strip()!r} is not a split; expected such as ")
        for text in ("", "train[5]", "train[50%]", "train[]", "train[::2]", "train[a:]", "train [:3]", "train[1.5:]")
    ],
    ("train+", "'' is not a split; expected such as "),
])  # fmt: skip
def test_a_split_that_cannot_be_is_named(today: Path, expression: str, text: str) -> None:
    lacking = "split must be a str, not NoneType; there are 'train', 'test', 'validation'"
    with pytest.raises(TypeError, match=lacking):
        load_tfds(today)
    error = raised(InvalidArgumentError, load_tfds, today, expression)
    assert str(error).startswith(text)
    assert error.reason is Reason.BAD_ARGUMENT


@pytest.mark.parametrize(
    ("expression", "difference"),
    [
        *itertools.product(["train", "train[5:9]", "train[-4:]"], [-1, 1]),
        ("train[:8]", -2),  # the end is in the file, which ends before
    ],
)
def test_files_must_hold_the_recorded_counts(today: Path, expression: str, difference: int) -> None:
    path = today / "flowers-train.tfrecord-00002-of-00004"
    with TFRecordWriter(path) as writer:
        for n in range(4, 9 + difference):
            writer.write_example(row(n))
    error = raised(InvalidArgumentError, load_tfds, today, expression)
    assert error.reason is Reason.WRONG_COUNT
    assert str(error) == (
        f"{path}: the file holds {5 + difference} records, but dataset_info.json says 5"
    )


@pytest.mark.parametrize("name", ["array_record", "riegeli", "parquet"])
def test_other_file_formats_are_unsupported(today: Path, name: str) -> None:
    write_info(today, fileFormat=name)
    error = raised(InvalidArgumentError, tfds_info, today, match=f"are '{name}', expected tfrecord")
    assert (error.reason, error.source) == (Reason.UNSUPPORTED, f"{today}/dataset_info.json")


DAMAGED = [
    "", "[]", "{", '{"name": 3}', '{"version": "1.0.0"}', '{"name": "d", "splits": 3}',
    '{"name": "d", "splits": [3]}', '{"name": "d", "splits": [{}]}',
    '{"name": "d", "splits": [{"name": "x", "shardLengths": ["a"]}]}',
    '{"name": "d", "splits": [{"name": "x", "numShards": 2}]}',
    '{"name": "d", "splits": [{"name": "x", "shardLengths": [1], "filepathTemplate": "{FOO}"}]}',
    '{"name": "d", "splits": [{"name": "x", "shardLengths": [1], "filepathTemplate": 3}]}',
]  # fmt: skip


@pytest.mark.parametrize("document", DAMAGED)
def test_a_damaged_description_is_one_clear_error(tmp_path: Path, document: str) -> None:
    (tmp_path / "dataset_info.json").write_text(document)
    error = raised(InvalidArgumentError, tfds_info, tmp_path)
    assert (error.reason, error.source) == (Reason.BAD_ARGUMENT, f"{tmp_path}/dataset_info.json")


@given(
    st.integers(-120, 120), st.integers(-120, 120), st.sampled_from(["", "%"]),
    st.lists(st.integers(0, 7), max_size=4),
)  # fmt: skip
def test_parts_of_splits_are_slices(start: int, stop: int, unit: str, lengths: list[int]) -> None:
    total = sum(lengths)
    numbers = [round(n * total / 100) if unit else n for n in (start, stop)]
    expected = range(total)[slice(*numbers)]
    try:
        text = f"train[{start}{unit}:{stop}{unit}]"
        ((_, first, end),) = parts_of(text, {"train": lengths})
        found = range(first, end)
    except InvalidArgumentError:
        assert not expected or max(map(abs, numbers)) > total or abs(start) > 100 or abs(stop) > 100
    else:
        assert found == expected


def test_the_real_para_crawl(corpus: Path) -> None:
    folder = corpus / "files/google__trax/trax/data/testdata/para_crawl"
    info = tfds_info(folder)
    found: Any = load_tfds(folder, "train[-30%:]")
    assert (info.name, info.config, info.version) == ("para_crawl", "ende", "1.2.0")
    assert info.splits == {"train": 10}
    assert list(found) == ["de", "en"]
    whole: Any = load_tfds(folder, "train")
    assert found["en"].tolist() == whole["en"].tolist()[7:]


def test_a_directory_given_as_a_file_leads_on(today: Path) -> None:
    for directory in (today, today.parent, today.parent.parent):
        with pytest.raises(IsADirectoryError, match=r"load_tfds reads it.*\.files\(") as caught:
            load(directory)
        assert caught.value.filename == str(directory)
    (today / "plain" / "below").mkdir(parents=True)
    raised(FileNotFoundError, load, today / "plain", match=r"only 1 folder \(below\): '.*/plain'")
    raised(FileNotFoundError, load, today / "plain" / "below", match="the folder is empty")


def test_a_tilde_is_the_home_directory(today: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(today.parent.parent))
    monkeypatch.setenv("USERPROFILE", str(today.parent.parent))
    assert numbers_of("~/flowers", "test") == [0, 1]
    assert tfds_info("~/flowers").directory == str(today)


def test_damage_that_is_only_looked_at_is_not_raised(old: Path) -> None:
    path = old / "flowers-train.tfrecord-00002-of-00004"
    path.write_bytes(path.read_bytes()[:-5])
    assert numbers_of(old, "test") == [0, 1]
    assert numbers_of(old, "train[:4]") == [0, 1, 2, 3]
    raised(DataLossError, load_tfds, old, "train", match="00002-of-00004")
