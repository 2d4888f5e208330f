"""``tfrecord recover``, and what ``tfrecord verify`` says of messages."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.samples import damage, flower, write
from tfrecord_lite import TFRecordReader, infer_schema
from tfrecord_lite.records.framing import frame

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

    def test_an_intact_file(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [b"one"], "GZIP")

        done = run("recover", "--strict", path, tmp_path / "new")

        assert done.status == 0
        assert done.out == [
            f"{path}: nothing was lost",
            f"{tmp_path / 'new'}: wrote 1 record, 3 bytes",
        ]
        assert list(TFRecordReader(tmp_path / "new", "GZIP")) == [b"one"]

    def test_the_status_is_1_for_loss_only_if_that_is_asked_for(
        self, run: Run, tmp_path: Path
    ) -> None:
        path = damage(write(tmp_path / "a", [b"one", b"two", b"three"]), 19 + 12)

        assert run("recover", path, tmp_path / "new").status == 0
        assert run("recover", "--overwrite", "--json", path, tmp_path / "new").status == 0
        assert run("recover", "--overwrite", "--strict", path, tmp_path / "new").status == 1
        assert run("verify", tmp_path / "new").status == 0

    def test_a_file_without_an_intact_record(self, run: Run, tmp_path: Path) -> None:
        path = damage(write(tmp_path / "a", [b"one"]), 12)

        done = run("recover", path, tmp_path / "new")

        assert done.status == 1
        assert done.out[-1] == f"{tmp_path / 'new'}: not written, as no intact record was found"
        done = run("recover", "--json", path, tmp_path / "new")
        assert (done.status, json.loads(done.out[-1])["output"]) == (1, None)
        assert [found.name for found in tmp_path.iterdir()] == ["a"]

    @pytest.mark.parametrize("names", [("-", "new"), ("a", "-")])
    def test_standard_input_and_output(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str]
    ) -> None:
        write(tmp_path / "a", [b"one"])
        monkeypatch.chdir(tmp_path)

        done = run("recover", *names)

        assert (done.status, done.out, len(done.err)) == (2, [], 1)
        assert ("standard input" if names[0] == "-" else "standard output") in done.err[0]
        assert [found.name for found in tmp_path.iterdir()] == ["a"]

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

    def test_as_json(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(frame([b"one", b"two"]))[:-8] + bytes(8))

        done = run("recover", "--json", path, tmp_path / "new")

        place, summary = map(json.loads, done.out)
        assert place["reason"] == "COMPRESSED_CORRUPT"
        assert summary["records"] == 2

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

    def test_what_cannot_be_read(self, run: Run, tmp_path: Path) -> None:
        missing = tmp_path / "missing"

        assert run("recover", missing, tmp_path / "new").err == [
            f"tfrecord: {missing}: No such file or directory"
        ]
        path = write(tmp_path / "a", [b"one"])
        assert run("recover", "--compression", "gzip", path, tmp_path / "new").status == 2
        assert sorted(found.name for found in tmp_path.iterdir()) == ["a"]

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

    @pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
    @pytest.mark.parametrize("limit", ["bytes", "ratio"])
    def test_limits_on_what_is_inflated(
        self, run: Run, tmp_path: Path, limit: str, compression: str
    ) -> None:
        path, new = write(tmp_path / "a", [bytes(2_000_000)], compression), tmp_path / "new"

        done = run("recover", f"--max-inflated-{limit}", 20, path, new)

        assert done.status == 2
        (line,) = done.err
        assert f"; raise max_inflated_{limit} to read more" in line
        assert not new.exists()
        assert run("recover", f"--max-inflated-{limit}", 10_000_000, path, new).status == 0

    @pytest.mark.parametrize("is_source", [True, False])
    def test_an_error_as_json(self, run: Run, tmp_path: Path, is_source: bool) -> None:
        path = write(tmp_path / "a", [b"one"])
        missing = tmp_path / "missing" / "file"

        done = run("recover", "--json", *((missing, path) if is_source else (path, missing)))

        (found,) = map(json.loads, done.out)
        assert found["file"] == str(missing if is_source else path)
        assert (found["sound"], found["records"]) == (False, 0)
        assert done.err == [f"tfrecord: {found['error']}"]
        assert found["error"] == f"{missing}: No such file or directory"
        run("recover", path, tmp_path / "new")
        intact = json.loads(run("recover", "--json", path, tmp_path / "newer").out[0])
        assert intact["error"] is None
        assert list(intact) == list(found)
        assert (found["output"], intact["output"]) == (None, str(tmp_path / "newer"))


class TestMessages:
    def test_records_that_are_no_examples(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [flower(0), b"\xff", flower(1)])

        assert run("verify", path).status == 0
        done = run("verify", "--messages", path)

        assert done.status == 1
        assert done.out[0].startswith(f"{path}: record 1, byte ")
        assert "1 record that cannot be parsed; 3 intact records" in done.out[1]

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

    def test_a_schema_that_is_none(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [flower(0)])

        assert run("verify", "--schema", tmp_path / "missing", path).status == 2
        assert run("verify", "--schema", path, path).status == 2


@pytest.mark.parametrize("jobs", ["1", "2", "9"])
def test_files_are_named_in_order_whatever_the_jobs(run: Run, tmp_path: Path, jobs: str) -> None:
    paths = [write(tmp_path / f"{i}", [b"x" * i * 9999]) for i in range(9)]

    done = run("verify", "--jobs", jobs, *paths)

    assert [line.split(": ")[0] for line in done.out[:-1]] == list(map(str, paths))


@pytest.mark.parametrize("jobs", ["0", "-1", "x"])
def test_jobs_are_a_number(run: Run, jobs: str) -> None:
    assert run("verify", f"--jobs={jobs}", "a").status == 2
