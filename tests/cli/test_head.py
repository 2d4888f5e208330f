"""``tfrecord head``: records by number, some features, what values are, and images to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.samples import damage, flower, write
from tfrecord_lite import TFRecordFile, encode_example

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
