"""Folders and lists of images, packed into records and unpacked again."""

import csv
import datetime as dt
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.errors import raised
from tfrecord_lite import TFRecordReader, TFRecordWriter, decode_examples, encode_example, load
from tfrecord_lite.apps.images import decode_image, encode_image, pack_images, unpack_images
from tfrecord_lite.apps.images.image import image_features
from tfrecord_lite.errors import DataLossError, DataLossWarning, InvalidArgumentError, Reason

pytest.importorskip("PIL.Image", reason="needs the extra image")


def picture(seed: int = 0, format_name: str = "png") -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (6, 9, 3), np.uint8)
    return encode_image(pixels, format_name)


PNG, JPEG = picture(), picture(1, "jpeg")
GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,"
    b"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def listed() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


def rows_of(path: Path | str) -> list[dict[str, Any]]:
    rows = decode_examples(list(TFRecordReader(path)))
    return [{k: v.tolist()[0] if len(v) == 1 else v.tolist() for k, v in r.items()} for r in rows]


def pets(folder: Path) -> Path:
    files = {f"{name}/{i}.png": picture(i) for name in ("cat", "dog") for i in range(6)}
    return write(folder / "pets", files | {"cat/one.jpeg": JPEG, "cat/below/two.gif": GIF})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestPack:
    def test_the_features_of_a_record(self, here: Path) -> None:
        grey = encode_image(np.zeros((2, 3), np.uint8))
        write(here, {"in/cat/a.jpg": JPEG, "in/dog/below/b.png": grey, "grey/a.png": grey})

        report = pack_images("in", "out.tfrecord", shuffle=False)

        first, second = rows_of("out.tfrecord")
        assert first == {
            "image/encoded": JPEG,
            "image/format": b"jpeg",
            "image/height": 6,
            "image/width": 9,
            "image/channels": 3,
            "image/colorspace": b"RGB",
            "image/filename": b"a.jpg",
            "image/class/label": 0,
            "image/class/text": b"cat",
        }
        assert second["image/filename"] == b"below/b.png"
        assert second["image/class/label"] == 1
        assert (second["image/channels"], second["image/colorspace"]) == (1, b"grayscale")
        assert (report.num_images, report.num_bytes) == (2, len(JPEG) + len(grey))
        assert report.classes == ["cat", "dog"]
        assert report.paths == ["out.tfrecord"]
        assert report.labels_path == "labels.txt"
        assert Path("labels.txt").read_text() == "cat\ndog\n"
        loaded: Any = load("out.tfrecord")
        assert loaded["image/class/text"].tolist() == ["cat", "dog"]
        assert type(loaded["image/encoded"][0]) is bytes
        # Without folders there are no classes.
        report = pack_images("grey", "grey.tfrecord")
        assert not any("class" in name for name in rows_of("grey.tfrecord")[0])
        assert (report.classes, report.labels_path) == ([], None)

    def test_files_are_the_same_whatever_the_number_of_threads(self, here: Path) -> None:
        source = pets(here)
        write(here, {"pets/cat/bad.png": PNG[:40]})
        for number in (1, 2, 5):
            (here / str(number)).mkdir()
            target = here / str(number) / "a@3.tfrecord"
            pack_images(source, target, num_threads=number, on_error="skip")
        assert len(tree(here / "1")) == 7
        assert tree(here / "1") == tree(here / "2") == tree(here / "5")

    def test_the_seed_decides_the_order(self, here: Path) -> None:
        def names(path: str, **options: Any) -> list[tuple[str, str]]:
            pack_images(source, path, **options)
            columns: Any = load(path)
            keys = ("image/class/text", "image/filename")
            return list(zip(*(columns[key].tolist() for key in keys), strict=True))

        source = pets(here)
        plain = names("plain", shuffle=False)
        assert plain == sorted(plain)
        assert names("a") == names("b") != plain
        assert names("c", seed=1) not in (names("d"), plain)
        assert sorted(names("e", seed=1)) == plain

    def test_images_that_cannot_be_packed(self, here: Path) -> None:
        sound = {"in/a/png named.jpg": PNG, "in/a/no-ending": JPEG, "in/b/UPPER.JPEG": JPEG}
        bad = {
            "in/a/cut.jpg": JPEG[:-40], "in/a/empty.png": b"",
            "in/b/garbage.png": bytes(range(256)), "in/b/text.jpg": b"no picture",
            "in/b/cut.png": PNG[:-4], "in/b/other.tif": b"II*\0", "in/of no class.png": PNG,
        }  # fmt: skip
        other = {"in/a/notes.txt": b"", "in/README": b"", "in/b/.DS_Store": b"", "in/.x/a.png": PNG}
        write(here, sound | bad | other)
        Path("in/b/link.png").symlink_to("nowhere")
        os.mkfifo("in/b/pipe.png")

        report = pack_images("in", "out.tfrecord", on_error="skip")

        assert report.num_images == len(rows_of("out.tfrecord")) == 3
        formats = {row["image/filename"]: row["image/format"] for row in rows_of("out.tfrecord")}
        assert formats[b"png named.jpg"] == b"png"
        wrong = [path for path, _ in report.problems]
        assert wrong == sorted([*bad, "in/b/link.png", "in/b/pipe.png"])
        details = dict(report.problems)
        assert details["in/a/empty.png"] == "the file is empty"
        assert details["in/b/link.png"] == "No such file or directory"
        assert "damaged" in details["in/a/cut.jpg"]
        assert "not an image" in details["in/b/text.jpg"]
        assert (report.num_hidden, report.num_other) == (2, 2)

    def test_without_a_sound_image_nothing_is_written(self, here: Path) -> None:
        write(here, {"in/a/bad.jpg": JPEG[:-40], "in/a/bad.png": b"", "none/readme.txt": b""})
        error = raised(InvalidArgumentError, pack_images, "in", "out.tfrecord", on_error="skip")
        assert (error.reason, error.source) == (Reason.MALFORMED, "in/a/bad.jpg")
        write(here, {"in/a/good.png": PNG})
        caught = raised(InvalidArgumentError, pack_images, "in", "out.tfrecord")
        assert (caught.reason, caught.source) == (Reason.MALFORMED, "in/a/bad.jpg")
        with pytest.raises(InvalidArgumentError, match="no image was found"):
            pack_images("none", "out.tfrecord")
        assert listed() == ["in", "none"]
        Path("in/a/bad.png").unlink()
        assert pack_images("in", "out.tfrecord", check=False).num_images == 2

    def test_links_to_folders(self, here: Path) -> None:
        write(here, {"store/cat/a.png": PNG})
        Path("in").mkdir()
        Path("in/cat").symlink_to("../store/cat")
        Path("store/cat/circle").symlink_to("../../in")
        report = pack_images("in", "out.tfrecord", on_error="skip")
        assert report.num_images == 1
        assert [detail for _, detail in report.problems] == ["a link to a folder that it is in"]

    def test_what_is_there_is_kept(self, here: Path) -> None:
        source = pets(here)
        pack_images(source, "a@2.tfrecord")
        before = tree(here)
        error = raised(FileExistsError, pack_images, source, "a@2.tfrecord", seed=1)
        assert error.filename == "a-00000-of-00002.tfrecord"
        assert tree(here) == before
        pack_images(source, "a@2.tfrecord", seed=1, overwrite=True)
        assert tree(here) != before
        # The same names of classes are no conflict, others are.
        pack_images(source, "b.tfrecord")
        write(here, {"pets/ant/a.png": PNG})
        raised(FileExistsError, pack_images, source, "c.tfrecord", match="other classes")
        assert not Path("c.tfrecord").exists()

    def test_an_interrupt_leaves_nothing(self, here: Path) -> None:
        source = pets(here)

        def stop(done: int, _: int | None) -> None:
            if done:
                raise KeyboardInterrupt

        raised(KeyboardInterrupt, pack_images, source, "a@2", progress=stop)
        assert listed() == ["pets"]
        pack_images(source, "b")
        before = listed()
        raised(KeyboardInterrupt, unpack_images, "b", "out", progress=stop)
        assert listed() == before

    def test_images_that_are_too_large(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(here, {"in/long.png": b"", "in/wide.png": PNG})
        os.truncate("in/long.png", 3 << 30)
        monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 50)
        raised(InvalidArgumentError, pack_images, "in", "out", match="2 images")
        monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 54)
        report = pack_images("in", "out", on_error="skip")
        assert report.problems == [("in/long.png", "larger than a record can be (2 GB)")]

    def test_wrong_arguments(self, here: Path) -> None:
        pets(here)
        for wrong in (
            *({"num_shards": 0}, {"num_threads": 0}),
            *({"on_error": "warn"}, {"labels": ["a", "a"]}, {"labels": ["cat", "dogs"]}),
            {"labels": ["cat", "dog", "line\nbreak"]},
        ):
            options: Any = wrong
            if "line\nbreak" in options.get("labels", ""):
                write(here, {"pets/line\nbreak/x.png": PNG})
            error = raised(InvalidArgumentError, pack_images, "pets", "out", **options)
            assert error.reason is Reason.BAD_ARGUMENT
        assert listed() == ["pets"]

    def test_a_file_decides_the_order_of_labels(self, here: Path) -> None:
        for name, text in {"one": "dog\nbird\ncat\n", "slim": "0:dog\n1:bird\n2:cat"}.items():
            Path(name).write_text(text)
            report = pack_images(pets(here), f"{name}.tfrecord", labels=name)
            columns: Any = load(f"{name}.tfrecord")
            pairs = {*zip(columns["image/class/label"], columns["image/class/text"], strict=True)}
            assert pairs == {(0, "dog"), (2, "cat")}
            assert report.classes == ["dog", "bird", "cat"]
            assert Path("labels.txt").read_text() == "dog\nbird\ncat\n"


def write_table(path: str, columns: dict[str, list[Any]]) -> str:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if path.endswith(".jsonl"):
        Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    elif path.endswith(".parquet"):
        arrow: Any = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), path)
    else:
        delimiter = "\t" if path.endswith(".tsv") else ";" if "semicolon" in path else ","
        with Path(path).open("w", newline="", encoding="utf-8-sig") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerows([columns, *(row.values() for row in rows)])
    return path


MANIFESTS = ["a.csv", "semicolon.csv", "a.tsv", "a.jsonl", "a.parquet"]


@pytest.mark.needs("arrow")
class TestManifests:
    @pytest.mark.parametrize("name", MANIFESTS)
    def test_paths_labels_and_other_columns(self, here: Path, name: str) -> None:
        write(here, {"x/1.png": PNG, "x/2.png": JPEG, "3.png": GIF})
        columns: dict[str, list[Any]] = {
            "path": ["x/1.png", "x/2.png", str(here / "3.png")],
            "age": [1, None, 3],
            "size": [0.1, 2.0, -3e-9],
            "label": ["Löwe", "a,b", "Löwe"],
            "note": ['"x"\ny', None, "007"],
            "nothing": [None] * 3,
        }

        pack_images(write_table(name, columns), "out.tfrecord", shuffle=False)

        rows = rows_of("out.tfrecord")
        assert [row["image/encoded"] for row in rows] == [PNG, JPEG, GIF]
        assert [row["image/filename"] for row in rows] == [b"1.png", b"2.png", b"3.png"]
        assert [row["image/class/label"] for row in rows] == [0, 1, 0]
        assert [row["image/class/text"].decode() for row in rows] == ["Löwe", "a,b", "Löwe"]
        assert [row.get("age") for row in rows] == [1, None, 3]
        assert [row["size"] for row in rows] == [np.float32(v) for v in columns["size"]]
        assert [row.get("note") for row in rows] == [b'"x"\ny', None, b"007"]
        assert "nothing" not in rows[0]
        loaded: Any = load("out.tfrecord")
        assert loaded["age"].tolist() == [1, None, 3]
        assert loaded["note"].tolist() == ['"x"\ny', None, "007"]
        assert loaded["size"].tolist() == pytest.approx(columns["size"])

    @pytest.mark.parametrize("name", MANIFESTS)
    def test_labels_that_are_numbers_are_kept(self, here: Path, name: str) -> None:
        write(here, {"1.png": PNG, "2.png": PNG})
        path = write_table(name, {"path": ["1.png", "2.png"], "label": [10, 2]})
        report = pack_images(path, "out.tfrecord", shuffle=False)
        rows = rows_of("out.tfrecord")
        assert [row["image/class/label"] for row in rows] == [10, 2]
        assert "image/class/text" not in rows[0]
        assert report.classes == []
        pack_images(path, "b", shuffle=False, labels=[f"n{i}" for i in range(11)])
        assert [row["image/class/text"] for row in rows_of("b")] == [b"n10", b"n2"]
        with pytest.raises(InvalidArgumentError, match="label 10 of"):
            pack_images(path, "c", labels=["a", "b", "c"])

    def test_lists(self, here: Path) -> None:
        write(here, {"1.png": PNG, "2.png": PNG})
        columns: dict[str, list[Any]] = {
            "path": ["1.png", "2.png"],
            "image/object/bbox/xmin": [[0.5, 0.25], None],
            "image/object/class/text": [["a"], ["b", "c"]],
        }
        pack_images(write_table("a.jsonl", columns), "out.tfrecord", shuffle=False)
        first, second = rows_of("out.tfrecord")
        assert first["image/object/bbox/xmin"] == [0.5, 0.25]
        assert second.get("image/object/bbox/xmin", []) == []
        assert second["image/object/class/text"] == [b"b", b"c"]

    def test_columns_have_the_types_that_convert_gives_them(self, here: Path) -> None:
        write(here, {"1.png": PNG, "a.csv": b"path,day,is_good\n1.png,2026-01-02,true\n"})
        write(here, {"a.jsonl": b'{"path": "1.png", "box": {"x": 1, "y": 2}}\n'})
        pack_images("a.csv", "a")
        with pytest.warns(UserWarning, match="'box/x', 'box/y'"):
            pack_images("a.jsonl", "b")
        loaded: Any = load("a")
        assert loaded["day"].tolist() == [dt.date(2026, 1, 2)]
        assert loaded["is_good"].tolist() == [True]
        (row,) = rows_of("b")
        assert (row["box/x"], row["box/y"]) == (1, 2)

    def test_columns_of_other_names(self, here: Path) -> None:
        write(here, {"below/1.png": PNG})
        columns: dict[str, list[Any]] = {
            "id": ["1.png"], "breed": ["pug"], "image/height": [100], "y": [2],
        }  # fmt: skip
        path = write_table("a.csv", columns)
        pack_images(path, "a", path_column="id", label_column="breed", root="below")
        (row,) = rows_of("a")
        assert row["image/class/text"] == b"pug"
        assert row["image/height"] == 6  # as the image has it
        assert row["y"] == 2
        wrong: list[dict[str, Any]] = [
            {"path_column": "ID"}, {"path_column": "id", "label_column": "z"}, {},
        ]  # fmt: skip
        for options in wrong:
            raised(InvalidArgumentError, pack_images, path, "b", **options, match="column")

    def test_rows_without_a_path_or_a_label(self, here: Path) -> None:
        write(here, {"1.png": PNG})
        columns: dict[str, list[Any]] = {
            "path": ["1.png", None, "1.png", "2.png"],
            "label": ["a", "a", None, "a"],
        }
        path = write_table("a.jsonl", columns)
        report = pack_images(path, "out.tfrecord", on_error="skip")
        assert report.num_images == 1
        assert report.problems == [
            ("2.png", "No such file or directory"),
            ("a.jsonl: row 2", "the path is missing, or not a text"),
            ("a.jsonl: row 3", "the label of 1.png is missing"),
        ]

    @pytest.mark.parametrize(("name", "content"), [
        ("a.csv", b"path,label\nx.png\n"), ("a.csv", b"path\n\xff.png\n"), ("a.jsonl", b"{path"),
        ("a.jsonl", b'{"path": "1.png", "label": [1]}'), ("a.txt", b"1.png"),
    ])  # fmt: skip
    def test_what_is_no_manifest(self, here: Path, name: str, content: bytes) -> None:
        write(here, {name: content, "1.png": PNG})
        assert str(raised(InvalidArgumentError, pack_images, name, "out")).startswith(name)
        assert listed() == ["1.png", name]


# A folder or file as any Linux has it, but for what stands for a folder or is changed on purpose.
names = st.text(
    st.characters(exclude_characters="\0/\\\n\r", codec="utf-8"), min_size=1, max_size=60
)
plain_names = names.filter(
    lambda name: (
        not name.startswith(".")
        and len(name.encode()) < 200
        and name.split(".")[0].rstrip().lower() not in {"con", "prn", "aux", "nul"}
        and not name.lower().startswith(("com", "lpt"))
    )
)


@pytest.mark.needs("arrow")
class TestRoundTrip:
    @given(st.dictionaries(plain_names, st.sets(plain_names, min_size=1), min_size=1, max_size=3))
    @example({"1.50": {"01"}, "2": {"1"}})  # which stay names
    def test_names_return(self, tmp_path_factory: pytest.TempPathFactory, classes: Any) -> None:
        folder = tmp_path_factory.mktemp("names")
        files = {
            f"{name}/{file}.png": picture(i)
            for name, names in classes.items()
            for i, file in enumerate(sorted(names))
        }
        source = write(folder / "in", files)
        pack_images(source, folder / "a", num_threads=1)
        unpack_images(folder / "a", folder / "out")
        assert tree(folder / "out") == files
        pack_images(folder / "out", folder / "b", num_threads=1)
        assert (folder / "b").read_bytes() == (folder / "a").read_bytes()


def write_records(path: Path, *rows: dict[str, Any]) -> Path:
    with TFRecordWriter(path) as writer:
        for row in rows:
            writer.write(encode_example(row))
    return path


HOSTILE = [
    *("../../x.png", "/etc/x.png", "..", ".", "", "a/../../x.png", "C:\\windows\\x.png"),
    *("..\\..\\x.png", "\\\\host\\x.png", "nul\0l.png", "CON.png", "aux", "a//b///c.png"),
    *(".hidden.png", "x" * 5000 + ".png", "d/" * 400 + "x.png", "folder.png", "folder.png/x.png"),
    *("\ud800.png".encode("utf-8", "surrogatepass"), b"\xff\xfe.png", "~/x.png", "-rf"),
]


class TestUnpack:
    @pytest.mark.parametrize("key", ["image/filename", "image/class/text"])
    def test_nothing_is_written_outside_of_the_folder(self, here: Path, key: str) -> None:
        rows: list[Any] = [{"image/encoded": picture(i), key: n} for i, n in enumerate(HOSTILE)]
        write_records(here / "a", *rows)
        inner = here / "deep" / "inner"
        inner.mkdir(parents=True)
        unpack_images("a", inner / "out")
        found = tree(inner / "out")
        assert sorted(found.values()) == sorted(row["image/encoded"] for row in rows)
        assert [path.name for path in inner.iterdir()] == ["out"]
        assert listed() == ["a", "deep"]
        assert not any(path.startswith("a/_") for path in found)  # of a/../../x.png the last part
        for path in found:
            for part in path.split("/"):
                assert not part.startswith(".")
                assert part.split(".")[0].lower() not in {"con", "aux", ""}

    def test_equal_names_get_numbers(self, here: Path) -> None:
        long = "ä" * 120 + ".jpg"
        same = [{"image/encoded": picture(i), "image/filename": "a.png"} for i in range(4)]
        nested = {"image/encoded": PNG, "image/filename": "a.png/b.png"}
        longs = [{"image/encoded": picture(i), "image/filename": long} for i in range(2)]
        write_records(here / "a", *same, nested, *longs)
        unpack_images("a", "out")
        found = tree(here / "out")
        assert {"a.png", "a-1.png", "a-2.png", "a-3.png", "a.png_/b.png", long} < {*found}
        assert len(found) == 7
        assert found["a-2.png"] == picture(2)

    @pytest.mark.parametrize(("row", "options", "expected"), [
        ({"image/encoded": GIF, "image/filename": "n0144.10026"}, {}, "n0144.10026.gif"),
        ({"image/encoded": PNG, "image/filename": "kept.JPG"}, {}, "kept.JPG"),
        ({"image/encoded": b"?", "image/format": "tif"}, {}, "00000000.tif"),
        ({"image": PNG, "label": 3}, {}, "3/00000000.png"),
        ({"jpg": JPEG, "label": "cat", "filename": "x"}, {}, "cat/x.jpg"),
        ({"a": PNG, "b": JPEG, "c": 7}, {"image_key": "b", "label_key": "c"}, "7/00000000.jpg"),
        ({"a": PNG, "b": "n", "c": "k"}, {"filename_key": "b", "text_key": "c"}, "k/n.png"),
        ({"image/encoded": PNG, "image/class/label": [1, 2]}, {}, "00000000.png"),
        ({"image/encoded": PNG, "image/class/text": "a/b"}, {}, "a_b/00000000.png"),
        ({"frames": [PNG, JPEG, PNG]}, {}, "00000000.png 00000000.jpg 00000000-1.png"),
    ])  # fmt: skip
    def test_other_keys_and_endings(
        self, here: Path, row: dict[str, Any], options: dict[str, Any], expected: str
    ) -> None:
        write_records(here / "a", row)
        unpack_images("a", "out", **options)
        assert {*tree(here / "out")} == {*expected.split()}

    def test_records_without_an_image(self, here: Path) -> None:
        good = {"image/encoded": PNG}
        write_records(here / "a", good, {"x": 1}, {"image/encoded": b"?"}, good)
        error = raised(InvalidArgumentError, unpack_images, "a", "out")
        assert (error.reason, error.index) == (Reason.MISSING, 1)
        assert listed() == ["a"]
        report = unpack_images("a", "out", on_error="skip")
        assert report.num_images == 2
        assert report.problems == [
            ("a: record 1", "the feature 'image/encoded' is missing"),
            ("a: record 2", "the feature 'image/encoded' is not an image of a known format"),
        ]
        write_records(here / "none", {"x": b"?", "y": 1, "z": 0.5})
        with pytest.raises(InvalidArgumentError, match=r"give image_key, one of: 'x'$"):
            unpack_images("none", "out2", on_error="skip")
        with TFRecordWriter("frames") as writer:
            writer.write_sequence_example({"context": {"x": b"?"}, "feature_lists": {"i": [PNG]}})
        with pytest.raises(InvalidArgumentError, match=r"read_batches and decode_images"):
            unpack_images("frames", "out2")

    def test_damaged_records(self, here: Path) -> None:
        path = write_records(here / "a", *[{"image/encoded": picture(i)} for i in range(5)])
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        raised(DataLossError, unpack_images, "a", "out")
        assert listed() == ["a"]
        with pytest.warns(DataLossWarning):
            report = unpack_images("a", "out", on_error="skip")
        assert report.num_images == 4
        assert report.damage is not None
        assert report.damage.num_damaged == 1

    def test_a_folder_that_is_not_empty(self, here: Path) -> None:
        write_records(here / "a", {"image/encoded": PNG})
        write(here, {"full/x": b"", "file": b""})
        Path("empty").mkdir()
        for name, error in {"full": OSError, "file": FileExistsError}.items():
            raised(error, unpack_images, "a", name)
        unpack_images("a", "empty")
        assert [*tree(here / "empty")] == ["00000000.png"]
        assert listed() == ["a", "empty", "file", "full"]


def is_sound(check: Callable[[bytes], object], content: bytes) -> bool:
    try:
        check(content)
    except InvalidArgumentError:
        return False
    return True


@given(
    st.sampled_from([PNG, JPEG, GIF, picture(2, "bmp"), picture(3, "webp")]),
    st.integers(0, 2000),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=3),
)
def test_the_check_is_decoding(content: bytes, size: int, changes: list[tuple[int, int]]) -> None:
    changed = bytearray(content[: size or None])
    for place, byte in changes:
        if place < len(changed):
            changed[place] = byte
    damaged = bytes(changed)
    assert is_sound(lambda data: image_features(data, is_checked=True), damaged) == is_sound(
        decode_image, damaged
    )
