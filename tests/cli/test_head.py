"""``tfrecord head``: records by number, some features, what values are, and images to files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.samples import JPEG, damage, feature, features, flower, odd, ranking, sequence, write
from tfrecord_lite import TFRecordFile, encode_example, serialize_tensor
from tfrecord_lite.messages import Example, FeatureList, FeatureLists, SequenceExample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10" + bytes(20)


def numbers(lines: list[str]) -> list[int]:
    return [int(line.split()[1].rstrip(":")) for line in lines if line.startswith("record ")]


class TestRecord:
    @pytest.mark.parametrize("way", ["read", "index", "compressed", "--skip-damage", "stdin"])
    @given(asked=st.lists(st.integers(-90, 90), min_size=1, max_size=5))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_the_records_of_these_numbers_are_printed(
        self, run: Run, tmp_path: Path, way: str, asked: list[int]
    ) -> None:
        compression = "GZIP" if way == "compressed" else ""
        path = write(tmp_path / "a", (flower(i) for i in range(70)), compression)
        if way == "index":
            TFRecordFile(path).save_index()
        more = [way] if way.startswith("--") else []

        done = run("head", *more, *(f"--record={n}" for n in asked), path)

        there = {n % 70 for n in asked if -70 <= n < 70}
        missing = {n for n in asked if not -70 <= n < 70}
        from_start = sorted({n for n in asked if 0 <= n < 70})
        assert numbers(done.out) == from_start + sorted(there.difference(from_start))
        assert len(done.err) == len(missing)
        assert all("there is no record" in line and "70 records" in line for line in done.err)
        assert done.status == (2 if missing else 0)

    def test_a_list_of_numbers_of_each_file(self, run: Run, tmp_path: Path) -> None:
        paths = [write(tmp_path / name, map(flower, range(5))) for name in "ab"]

        assert numbers(run("head", "--record=1,-1", *paths).out) == [1, 4, 1, 4]

    def test_records_that_damage_is_between_are_counted_from_the_end(
        self, run: Run, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "a", [encode_example({"a": i}) for i in range(9)])
        data = bytearray(path.read_bytes())
        data[-20] ^= 1  # the last record
        path.write_bytes(data)

        assert numbers(run("head", "--skip-damage", "--record=7,-1", path).out) == [7]

    def test_an_old_index_of_a_damaged_file_is_not_used(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [encode_example({"a": i}) for i in range(9)])
        TFRecordFile(path).save_index()
        data = bytearray(path.read_bytes() * 2)
        data[len(data) // 2 - 20] ^= 1
        path.write_bytes(data)

        done = run("head", "--record=0", path)

        assert (done.status, numbers(done.out), done.err) == (0, [0], [])

    def test_an_image_of_two_numbers_is_written_once(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [encode_example({"i": PNG})] * 9)

        done = run("head", "--image", "i", "-o", tmp_path / "out", "--record=8,-1", path)

        assert (done.status, done.err) == (0, [])
        assert len(list((tmp_path / "out").iterdir())) == 1

    def test_the_folder_of_images_is_one(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [encode_example({"i": PNG})])

        done = run("head", "--image", "i", "-o", path, path)

        assert done.status == 2
        assert done.err == [f"tfrecord: {path}: is not a folder; name one with -o"]

    def test_the_record_is_the_one_of_that_number(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", map(flower, range(5)))

        (line,) = run("head", "--json", "--record", 4, path).out

        assert json.loads(line)["petals"][0] == 4.5

    def test_by_index_damage_before_it_is_not_met(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", map(flower, range(5)))
        TFRecordFile(path).save_index()
        damage(path, 40)
        TFRecordFile(path).save_index()

        assert numbers(run("head", "--record", -1, path).out) == [4]
        assert run("head", "--record", 0, path).status == 1

    @pytest.mark.parametrize("text", ["x", "1,", "1.5", ""])
    def test_what_is_not_a_number_is_an_error(self, run: Run, text: str) -> None:
        done = run("head", f"--record={text}", "file")

        assert done.status == 2
        assert "is not the number of a record" in done.err[-1]

    def test_n_and_record_exclude_each_other(self, run: Run) -> None:
        assert run("head", "-n", 1, "--record", 1, "file").status == 2


class TestFeatures:
    def test_others_are_left_out_everywhere(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [flower(1)])
        many = write(tmp_path / "b", [sequence(2)])
        lists = write(tmp_path / "c", [ranking(2)])

        for lines in (["label", "name"], ["name,label"]):
            given = [part for line in lines for part in ("--columns", line)]
            (line,) = run("head", "--json", *given, path).out
            assert json.loads(line) == {"label": [1], "name": ["rose"]}
        (line,) = run("head", "--json", "--columns", "word", many).out
        assert json.loads(line) == {"context": {}, "feature_lists": {"word": [["w0"], ["w1"]]}}
        (line,) = run("head", "--json", "--columns", "relevance", lists).out
        assert json.loads(line)["examples"] == [{"relevance": [0]}, {"relevance": [1]}]

    def test_text_shows_them_only(self, run: Run, tmp_path: Path) -> None:
        done = run("head", "--columns", "label", write(tmp_path / "a", [flower(1)]))

        assert done.out[1:] == ["  label  int64  1  1"]

    def test_a_name_that_no_record_has_is_an_error_with_the_nearest(
        self, run: Run, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "a", [flower(1), odd()])

        done = run("head", "--columns", "labl,key", path)

        assert done.status == 2
        assert done.err == [
            f"tfrecord: {path}: no record printed has a feature 'labl'; the nearest: 'label'"
        ]

    def test_an_empty_file_lacks_nothing(self, run: Run, tmp_path: Path) -> None:
        assert run("head", "--columns", "x", write(tmp_path / "a", [])) == (0, [], [])


class TestWhatValuesAre:
    def test_in_place_of_hex(self, run: Run, tmp_path: Path) -> None:
        values = features(
            image=feature(JPEG),
            tensor=feature(serialize_tensor(np.zeros((3, 4), np.float32))),
            other=feature(b"\xff\x00"),
        )
        path = write(tmp_path / "a", [Example(features=values).SerializeToString()])

        lines = run("head", path).out[1:]

        assert [line.split("  ")[-1] for line in lines] == [
            "<JPEG 640 x 480, 1.6 KiB>",
            "<2 bytes: ff 00>",
            "<float32 tensor [3, 4], 48 bytes>",
        ]
        full = "\n".join(run("head", "--full", path).out)
        assert f"<JPEG 640 x 480, 1.6 KiB: {JPEG.hex(' ')}>" in full

    def test_of_whole_records(self, run: Run, tmp_path: Path) -> None:
        tensor = serialize_tensor(np.zeros((2, 2), np.int16))
        path = write(tmp_path / "a", [JPEG, tensor])

        lines = run("head", path).out

        assert [line for line in lines if line.startswith("  ")] == [
            "  JPEG 640 x 480, 1.6 KiB",
            "  int16 tensor [2, 2], 8 bytes",
        ]


class TestImageFiles:
    def test_images_are_written_as_they_are(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "train.tfrecord.gz", map(flower, range(5)), "GZIP")

        done = run("head", "-n", 4, "--image", "image", "-o", tmp_path / "out" / "x", path)

        written = sorted((tmp_path / "out" / "x").iterdir())
        assert done.status == 0
        assert [file.name for file in written] == [f"train-{i:06d}.jpg" for i in range(4)]
        assert [file.read_bytes() for file in written] == [JPEG] * 4
        assert done.out == [f"{file}  JPEG 640 x 480, 1.6 KiB" for file in written]

    def test_frames_and_several_values_have_numbers(self, run: Run, tmp_path: Path) -> None:
        frames = FeatureList(feature=[feature(JPEG), feature(PNG, JPEG)])
        record = SequenceExample(feature_lists=FeatureLists(feature_list={"frames": frames}))
        path = write(tmp_path / "a.tfrecords", [flower(0), record.SerializeToString()])

        done = run("head", "--json", "--record=1", "--image=frames", "-o", tmp_path / "out", path)

        assert [json.loads(line)["width"] for line in done.out] == [640, 32, 640]
        assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
            "a-000001-0000.jpg",
            "a-000001-0001-0000.png",
            "a-000001-0001-0001.jpg",
        ]

    def test_lists_of_examples(self, run: Run, tmp_path: Path) -> None:
        example = Example(features=features(image=feature(PNG))).SerializeToString()
        record = 2 * (bytes([0x0A, len(example)]) + example)
        path = write(tmp_path / "a", [record])

        assert run("head", "--image=image", "-o", tmp_path / "out", path).status == 0
        assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
            "a-000000-0001.png",
            "a-000000-0002.png",
        ]

    def test_a_file_that_exists_is_kept(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", map(flower, range(2)))
        (tmp_path / "a-000001.jpg").write_text("mine")

        done = run("head", "--image", "image", "-o", tmp_path, path)

        assert done.status == 2
        assert "a-000001.jpg: exists; remove it, or name another folder" in done.err[0]
        assert (tmp_path / "a-000001.jpg").read_text() == "mine"
        assert sorted(file.name for file in tmp_path.iterdir()) == [
            "a",
            "a-000000.jpg",
            "a-000001.jpg",
        ]

    def test_values_that_are_not_images_are_errors(self, run: Run, tmp_path: Path) -> None:
        done = run(
            "head", "--image=name", "-o", tmp_path / "out", write(tmp_path / "a", [flower(1)])
        )

        assert done.status == 2
        assert (
            "record 0, feature 'name': expected an encoded image, found text, 4 bytes"
            in done.err[0]
        )
        assert not (tmp_path / "out").exists()

    def test_a_feature_that_is_missing(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [flower(1), odd()])

        some = run("head", "--image=image", "-o", tmp_path / "out", path)
        none = run("head", "--image=imag", "-o", tmp_path / "out", path)

        assert (some.status, none.status) == (0, 2)
        assert "1 of 2 records without byte strings in a feature 'image'" in some.err[0]
        assert none.err[0].endswith("'imag'; the nearest: 'image'")

    @pytest.mark.parametrize("name", ["..%2f..\x1b[31m.tfrecord", ".tfrecord", "-", "a b?.tfr"])
    def test_names_of_files_stay_in_the_folder(self, run: Run, tmp_path: Path, name: str) -> None:
        folder = tmp_path / "in"
        folder.mkdir()
        path = write(folder / name, [flower(1)])

        assert run("head", "--image=image", "-o", tmp_path / "out", path).status == 0
        (file,) = (tmp_path / "out").iterdir()
        assert file.name.endswith("-000000.jpg")
        assert file.name.isprintable()

    @pytest.mark.parametrize("only", [["--image", "x"], ["-o", "x"]])
    def test_the_feature_and_the_folder_need_each_other(self, run: Run, only: list[str]) -> None:
        assert run("head", *only, "file").status == 2
