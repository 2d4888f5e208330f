"""``tfrecord verify``."""

from __future__ import annotations

import gzip
import json
import zlib
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.samples import damage, flower, write
from tests.support.corpus import CorpusFile, corpus_files
from tfrecord_lite import TFRecordReader
from tfrecord_lite.errors import DataLossWarning
from tfrecord_lite.records.framing import frame

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]


def verify(run: Run, *arguments: object) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    """Return the damaged places, the summary, and the exit status."""
    done = run("verify", "--json", *arguments)
    *places, summary = [json.loads(line) for line in done.out]
    return places, summary, done.status


@pytest.mark.parametrize("sample", corpus_files())
def test_the_corpus_is_intact(run: Run, sample: CorpusFile) -> None:
    done = run("verify", sample.path)

    assert done.status == 0
    assert len(done.out) == 1
    assert done.out[0].startswith(f"{sample.path}: ok: {sample.truth['records']} intact record")


def test_every_damaged_place_is_named_and_the_check_goes_on(run: Run, tmp_path: Path) -> None:
    records = [b"%03d" % i * 100 for i in range(50)]
    size = len(records[0]) + 16
    path = write(tmp_path / "a", records)
    damage(path, 3 * size + 20, 10 * size + 2, 11 * size + 9, 49 * size + size - 1)

    places, summary, status = verify(run, path)

    assert status == 1
    assert [place["reason"] for place in places] == ["DATA_CRC", "LENGTH_CRC", "DATA_CRC"]
    assert [place["offset"] for place in places] == [3 * size, 10 * size, 49 * size]
    assert [place["index"] for place in places][:2] == [3, 10]
    # Two neighbouring headers are gone, so that the damage of the first reaches to the third.
    assert [place["length"] for place in places] == [size, 2 * size, size]
    assert [place["records_before"] for place in places] == [3, 9, 46]
    assert [place["records_after"] for place in places] == [43, 37, 0]
    assert summary["sound"] is False
    assert summary["records"] == 46
    assert summary["record_bytes"] == 46 * len(records[0])
    assert summary["damaged_places"] == 3


def test_the_same_for_people(run: Run, tmp_path: Path) -> None:
    path = damage(write(tmp_path / "a", [b"one", b"two", b"three"]), 19 + 12)

    done = run("verify", path)

    assert done.status == 1
    assert done.out[0].startswith(f"{path}: record 1, byte 19: data CRC mismatch: stored 0x")
    assert done.out[0].endswith("; 19 bytes lost")
    assert (
        done.out[1] == f"{path}: DAMAGED: 1 damaged place, 19 bytes lost; 2 intact records, 8 bytes"
    )
    assert done.err == []


def test_the_last_line_sums_up_several_files(run: Run, tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    one, two, three = (write(tmp_path / name, [b"one", b"two"]) for name in names)
    (tmp_path / "d").write_bytes(b"no records here\n" * 1000)

    assert run("verify", one, two).out[-1] == "total of 2 files: ok: 4 intact records, 12 bytes"
    assert "total" not in run("verify", one).out[-1]
    damage(two, 12)
    three.write_bytes(three.read_bytes()[:-1])
    done = run("verify", tmp_path / "missing", one, two, three, tmp_path / "d")
    assert done.out[-1] == (
        "total of 3 files: DAMAGED: 2 damaged places, at least 37 bytes lost; 4 intact records, 12 bytes"
    )
    assert len(run("verify", "--json", one, two).out) == 3


@pytest.mark.parametrize("n_bytes", [1, 11, 12, 15, 18])
def test_a_cut_file_is_truncated_rules_r2_and_r3(run: Run, tmp_path: Path, n_bytes: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(frame([b"one"])) * 2 + bytes(frame([b"two"]))[:n_bytes])

    (place,), summary, status = verify(run, path)

    assert status == 1
    assert (place["reason"], place["index"], place["offset"]) == ("TRUNCATED", 2, 38)
    assert (place["length"], place["records_before"], place["records_after"]) == (n_bytes, 2, 0)
    assert summary["records"] == 2


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "BZ2"])
def test_a_cut_compressed_stream_rule_c3(run: Run, tmp_path: Path, compression: str) -> None:
    path = write(tmp_path / "a", map(flower, range(10)), compression)
    path.write_bytes(path.read_bytes()[:-3])

    (place,), summary, status = verify(run, path)

    assert status == 1
    assert place["reason"] == "COMPRESSED_TRUNCATED"
    assert summary["records"] <= 10


def test_of_what_breaks_off_the_least_that_is_lost_is_told(run: Run, tmp_path: Path) -> None:
    frames, packer = frame([flower(i) for i in range(4)]), zlib.compressobj(wbits=31)
    size = len(frame([flower(i) for i in range(3)]))
    path = tmp_path / "a.gz"
    path.write_bytes(packer.compress(frames[: size + 38]) + packer.flush(zlib.Z_SYNC_FLUSH))
    at_end = tmp_path / "b.gz"
    packer = zlib.compressobj(wbits=31)
    at_end.write_bytes(packer.compress(frames[:size]) + packer.flush(zlib.Z_SYNC_FLUSH))

    for verb in (["verify", path], ["recover", path, tmp_path / "new"]):
        done = run(*verb)
        assert done.out[0].endswith("; at least 38 bytes lost, and whatever came after")
        assert "1 damaged place, at least 38 bytes lost" in done.out[1]
    done = run("verify", at_end)
    assert "1 damaged place, an unknown number of bytes lost; 3 intact" in done.out[1]
    assert verify(run, at_end)[1]["breaks_off"] is True
    with pytest.warns(DataLossWarning, match=r"1 damaged place \(at least 38 bytes\)"):
        list(TFRecordReader(path, on_error="skip"))


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


def test_data_after_a_compressed_stream_rule_c5(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b"one"], "ZLIB")
    path.write_bytes(path.read_bytes() + b"junk")

    (place,), summary, status = verify(run, path)

    assert status == 1
    assert place["reason"] == "TRAILING_DATA"
    assert summary["records"] == 1


def test_a_file_of_something_else_is_one_damaged_place(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"no records here\n" * 1000)

    (place,), summary, status = verify(run, path)

    assert status == 2
    assert (place["reason"], place["offset"]) == ("NOT_A_TFRECORD", 0)
    assert place["length"] == path.stat().st_size
    assert summary["records"] == 0


def test_damage_in_records_and_in_the_stream_are_both_named(run: Run, tmp_path: Path) -> None:
    frames = bytearray(frame([b"one", b"two"]))
    frames[19] ^= 1
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(frames))[:-4])

    places, summary, status = verify(run, path)

    assert status == 1
    assert [place["reason"] for place in places] == ["LENGTH_CRC", "COMPRESSED_TRUNCATED"]
    assert summary["records"] == 1


def test_records_beyond_the_limit(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b"x" * 10, b"x" * 5000, b"x" * 10])

    assert run("verify", path).status == 0
    assert run("verify", "--max-record-bytes", "5000", path).status == 0
    places, summary, status = verify(run, "--max-record-bytes", "4KiB", path)

    assert status == 1
    assert [(place["reason"], place["offset"]) for place in places] == [("RECORD_TOO_LARGE", 26)]
    assert places[0]["length"] == 5016
    assert summary["records"] == 2


def test_a_wrong_compression_is_no_damage(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b"one"])

    for verb in ("verify", "info", "head", "cat"):
        done = run(verb, "--compression", "gzip", path)
        assert done.status == 2
        assert len(done.err) == 1
        assert done.out == []


def test_a_file_that_cannot_be_read_has_an_object_too(run: Run, tmp_path: Path) -> None:
    intact = write(tmp_path / "a", [b"one"])
    missing, bomb = tmp_path / "missing", write(tmp_path / "b", [bytes(9), bytes(9999)], "GZIP")

    done = run("verify", "--json", "--max-inflated-bytes", 100, missing, intact, bomb)

    objects = [json.loads(line) for line in done.out]
    assert done.status == 2
    assert [found["file"] for found in objects] == list(map(str, [missing, intact, bomb]))
    assert [found["sound"] for found in objects] == [False, True, False]
    assert [found["records"] for found in objects] == [0, 1, 1]
    assert len({tuple(found) for found in objects}) == 1
    errors = [found["error"] for found in objects]
    assert errors[1] is None
    assert done.err == [f"tfrecord: {error}" for error in errors if error]
    assert errors[0] == f"{missing}: No such file or directory"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=20), st.data())
def test_a_flipped_bit_costs_one_record_and_no_other(
    run: Run, tmp_path: Path, records: list[bytes], data: st.DataObject
) -> None:
    stream = bytearray(frame(records))
    starts = list(accumulate((len(record) + 16 for record in records), initial=0))
    bit = data.draw(st.integers(0, 8 * len(stream) - 1))
    stream[bit // 8] ^= 1 << (bit % 8)
    hit = max(i for i, start in enumerate(starts) if start <= bit // 8)
    path = tmp_path / "a"
    path.write_bytes(stream)

    (place,), summary, status = verify(run, "--compression", "none", path)

    assert status == 1
    assert (place["index"], place["offset"]) == (hit, starts[hit])
    assert summary["records"] == len(records) - 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_are_intact_or_damaged(run: Run, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)

    done = run("verify", path)

    # Hypothesis also tries the first bytes of other formats, for it finds them in the source.
    is_foreign = any("not a TFRecord file" in line for line in done.out)
    assert done.status == (2 if is_foreign else 1 if data else 0)
    assert done.err == []


def test_what_a_shell_makes_of_a_pattern_is_data_only(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b"one"])
    run("index", path)
    (tmp_path / "a.schema.json").write_text("{}")

    for files in ([path, f"{path}.idx", f"{path}.schema.json"], [f"{tmp_path}/a*"]):
        done = run("verify", *files)
        assert (done.status, len(done.out)) == (0, 1)
