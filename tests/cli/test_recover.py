"""``tfrecord recover``, and what ``tfrecord verify`` says of messages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.samples import damage, flower, write
from tfrecord_lite import TFRecordReader, infer_schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]


class TestRecover:
    def test_what_is_intact_is_saved_and_the_rest_named(self, run: Run, tmp_path: Path) -> None:
        path = damage(write(tmp_path / "a", [b"one", b"two", b"three"]), 19 + 12)

        done = run("recover", path, tmp_path / "new")

        assert done.status == 0
        assert done.out[0].startswith(f"{path}: record 1, byte 19: data CRC mismatch")
        assert done.out[1:] == [
            f"{path}: 1 damaged place, 19 bytes lost",
            f"{tmp_path / 'new'}: wrote 2 records, 8 bytes",
        ]
        assert list(TFRecordReader(tmp_path / "new")) == [b"one", b"three"]

    @pytest.mark.parametrize("codec", ["GZIP", "ZLIB", "ZSTD", "BZ2"])
    @pytest.mark.parametrize("place", [slice(20, 60), slice(-1, None)])
    def test_no_words_of_a_library_about_a_corrupt_stream(
        self, run: Run, tmp_path: Path, codec: str, place: slice
    ) -> None:
        path = write(tmp_path / "a", [bytes([i]) * 99 for i in range(99)], codec)
        data = bytearray(path.read_bytes())
        data[place] = bytes(0xFF ^ byte for byte in data[place])
        path.write_bytes(data)

        for verb in ("info", "verify", "recover"):
            done = run(verb, path, *[tmp_path / "new"] * (verb == "recover"))
            said = " ".join([*done.out, *done.err])
            if codec != "ZSTD":  # which has a checksum only at its end
                assert f"the {codec} stream is corrupt: " in said
            assert not re.search(r"[Ee]rror -?\d|invalid|incorrect|unsupported", said)

    def test_what_is_there_is_kept(self, run: Run, tmp_path: Path) -> None:
        path, new = write(tmp_path / "a", [b"one"]), write(tmp_path / "new", [b"two"])

        done = run("recover", path, new)

        assert done.status == 2
        assert done.err == [f"tfrecord: {new}: File exists; --overwrite replaces it"]
        assert run("recover", path, path).status == 2
        assert run("recover", "--overwrite", path, path).status == 2
        assert list(TFRecordReader(new)) == [b"two"]
        assert run("recover", "--overwrite", path, new).status == 0
        assert list(TFRecordReader(new)) == [b"one"]

    @pytest.mark.parametrize("place", ["missing/new", "folder", "file/new", "/dev/full"])
    def test_what_cannot_be_written_is_named(self, run: Run, tmp_path: Path, place: str) -> None:
        path = write(tmp_path / "a", [b"one"])
        (tmp_path / "folder").mkdir()
        write(tmp_path / "file", [b"two"])
        target = tmp_path / place

        done = run("recover", path, target)

        assert done.status == 2
        (line,) = done.err
        assert str(target) in line
        assert str(path) not in line

    def test_a_disk_that_takes_no_more_is_named(self, tmp_path: Path) -> None:
        path, target = write(tmp_path / "a", [bytes(5_000_000)]), tmp_path / "new"
        code = (
            "import resource, sys\n"
            "from tfrecord_lite.cli import main\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            f"sys.exit(main(['recover', {str(path)!r}, {str(target)!r}]))"
        )

        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )

        assert done.stderr == f"tfrecord: {target}: File too large\n"
        assert done.returncode == 2
        assert [found.name for found in tmp_path.iterdir()] == ["a"]


class TestMessages:
    def test_records_that_do_not_fit_a_schema(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [flower(0), flower(1)])
        schema = tmp_path / "flowers.schema.json"
        schema.write_text(infer_schema(path).to_json())

        assert run("verify", "--schema", schema, path).status == 0
        write(path, [flower(0), b""])
        error, summary = map(json.loads, run("verify", "--json", "--schema", schema, path).out)

        assert (error["index"], error["reason"]) == (1, "MISSING")
        assert error["key"] in ("image", "label", "name", "petals")
        assert (summary["sound"], summary["message_errors"]) == (False, 1)


@pytest.mark.parametrize("jobs", ["1", "2", "9"])
def test_files_are_named_in_order_whatever_the_jobs(run: Run, tmp_path: Path, jobs: str) -> None:
    paths = [write(tmp_path / f"{i}", [b"x" * i * 9999]) for i in range(9)]

    done = run("verify", "--jobs", jobs, *paths)

    assert [line.split(": ")[0] for line in done.out[:-1]] == list(map(str, paths))
