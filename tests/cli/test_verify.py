"""``tfrecord verify``."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.samples import damage, flower, write
from tests.support.corpus import CorpusFile, corpus_files
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
