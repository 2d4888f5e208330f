"""``tfrecord verify``, ``recover`` and ``--skip-damage``."""

import gzip
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.samples import damage, flower, write
from tfrecord_lite import save
from tfrecord_lite.records.framing import frame


def verify(run: Run, *arguments: object) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    """Return the damaged places, the summary, and the exit status."""
    done = run("verify", "--json", *arguments)
    *places, summary = [json.loads(line) for line in done.out]
    return places, summary, done.status


def test_damage_is_no_flood_of_lines(run: Run, tmp_path: Path) -> None:
    """Neighbours are one line, and of many places 20 are shown."""
    size, n = len(frame([bytes(9)])), 1_200
    path, saved = write(tmp_path / "a", [bytes(9)] * (n + 100)), tmp_path / "saved"
    damage(path, *(i * size + 15 for i in [*range(n), *range(n + 1, n + 100, 2)]))
    done, full = run("verify", path), run("verify", "--all", path)
    (place, *_), summary, _ = verify(run, path)
    assert (len(done.out), len(full.out)) == (22, 52)
    assert done.out[:20] == full.out[:20]
    text = f"{path}: records 0 to {n - 1}, byte 0: data CRC mismatch; {n * size:,} bytes lost"
    assert done.out[0] == text
    assert done.out[20] == f"{path}: 31 more lines like these; --all shows them"
    assert (place["num_records"], summary["damaged_places"]) == (n, n + 50)
    recovered = run("recover", path, saved)
    assert recovered.out[:21] == done.out[:21]
    assert len(run("recover", "--all", "--overwrite", path, saved).out) == 53
    malformed = write(tmp_path / "b", [b"\xff"] * 99)
    assert len(run("verify", "--messages", malformed).out) == 22
    assert len(run("verify", "--messages", "--all", malformed).out) == 100


@pytest.mark.parametrize("n_records", [0, 3])
def test_every_verb_says_the_same_of_a_cut_stream(run: Run, tmp_path: Path, n_records: int) -> None:
    path = tmp_path / "a.gz"
    frames = frame([flower(i) for i in range(4)])
    offset = len(frame([flower(i) for i in range(n_records)]))
    packer = zlib.compressobj(wbits=31)
    path.write_bytes(packer.compress(frames[: offset + 38]) + packer.flush(zlib.Z_SYNC_FLUSH))
    said = f"{path}: record {n_records}, byte {offset}: the file ends before its"
    for verb in ("info", "head", "cat", "schema", "verify", "recover"):
        done = run(
            verb, *["-n", "9"] * (verb == "head"), path, *[tmp_path / "b"] * (verb == "recover")
        )
        assert any(said in line for line in [*done.out, *done.err]), (verb, done)


def test_a_missing_shard_is_damage(run: Run, tmp_path: Path) -> None:
    save(tmp_path / "id@3.x", {"x": [1, 2, 3]})
    (tmp_path / "id-00001-of-00003.x").unlink()
    for name, status in (("id-*.x", 1), ("", 1), ("id-00000*x", 0)):
        text = "1 shard missing: .*id-00001-of-00003.x; the name '.*id@3.x'" if status else "^$"
        caught = run("verify", f"{tmp_path}/{name}")
        assert caught.status == status
        assert re.search(text, "".join(caught.err))


def test_what_a_shell_makes_of_a_pattern_is_data_only(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b"one"])
    run("index", path)
    (tmp_path / "a.schema.json").write_text("{}")
    for files in ([path, f"{path}.idx", f"{path}.schema.json"], [f"{tmp_path}/a*"]):
        done = run("verify", *files)
        assert (done.status, len(done.out)) == (0, 1)


class TestRecover:
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


VERBS = ["info", "head", "cat", "schema"]


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_damage_is_said_as_ever(run: Run, tmp_path: Path, verb: str) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(frame([flower(0)]) + b"damage" + frame([flower(1)] * 1000)))
    done = run(
        verb, "--skip-damage", "--max-inflated-bytes", 20_000, *["-n", 99] * (verb == "head"), path
    )
    assert done.status == 2
    assert any("--max-inflated-bytes" in line for line in done.err)
    assert any("skipped" in line for line in done.err)
    assert run(verb, "--skip-damage", tmp_path / "missing").status == 2
