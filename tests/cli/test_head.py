"""``tfrecord head``: records by number, some features, what values are, and images to files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.samples import JPEG, damage, feature, features, flower, write
from tfrecord_lite import TFRecordFile, encode_example
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

    def test_an_old_index_of_a_damaged_file_is_not_used(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [encode_example({"a": i}) for i in range(9)])
        TFRecordFile(path).save_index()
        data = bytearray(path.read_bytes() * 2)
        data[len(data) // 2 - 20] ^= 1
        path.write_bytes(data)

        done = run("head", "--record=0", path)

        assert (done.status, numbers(done.out), done.err) == (0, [0], [])

    def test_by_index_damage_before_it_is_not_met(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", map(flower, range(5)))
        TFRecordFile(path).save_index()
        damage(path, 40)
        TFRecordFile(path).save_index()

        assert numbers(run("head", "--record", -1, path).out) == [4]
        assert run("head", "--record", 0, path).status == 1


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

    @pytest.mark.parametrize("name", ["..%2f..\x1b[31m.tfrecord", ".tfrecord", "-", "a b?.tfr"])
    def test_names_of_files_stay_in_the_folder(self, run: Run, tmp_path: Path, name: str) -> None:
        folder = tmp_path / "in"
        folder.mkdir()
        path = write(folder / name, [flower(1)])

        assert run("head", "--image=image", "-o", tmp_path / "out", path).status == 0
        (file,) = (tmp_path / "out").iterdir()
        assert file.name.endswith("-000000.jpg")
        assert file.name.isprintable()
