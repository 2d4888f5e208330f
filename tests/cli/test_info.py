"""``tfrecord info``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.samples import damage, event, flower, ranking, sequence, write
from tests.support.corpus import CorpusFile, corpus_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

CONTENT = {
    "example": "tf.train.Example",
    "sequence_example": "tf.train.SequenceExample",
    "elwc": "ExampleListWithContext",
    "tfevents": "TensorBoard event",
}


def info(run: Run, *arguments: object) -> dict[str, Any]:
    (line,) = run("info", "--json", *arguments).out
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.mark.parametrize("sample", corpus_files())
def test_the_corpus_is_as_tensorflow_found_it(run: Run, sample: CorpusFile) -> None:
    truth, found = sample.truth, info(run, sample.path)

    assert found["records"] == truth["records"]
    assert (found["min"], found["max"]) == (truth["min_len"], truth["max_len"])
    assert (found["compression"] or "NONE") == truth["compression"]
    assert found["content"] == [CONTENT[truth["kind"]]]
    assert found["file_bytes"] == sample.path.stat().st_size
    assert found["damage"] is None
    if truth["kind"] == "example":
        assert [row["name"] for row in found["features"]] == sorted(truth["keys"])


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB", "BZ2"])
def test_sizes_and_compression(run: Run, tmp_path: Path, compression: str) -> None:
    sizes = [7, 1, 5, 900, 3, 8]
    found = info(run, write(tmp_path / "a", [b"x" * size for size in sizes], compression))

    assert found["records"] == 6
    assert found["record_bytes"] == sum(sizes)
    assert (found["min"], found["median"], found["max"]) == (1, 5, 900)
    assert found["compression"] == compression


def test_no_records_have_no_sizes(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [])
    found = info(run, path)

    assert (found["records"], found["file_bytes"], found["record_bytes"]) == (0, 0, 0)
    assert (found["min"], found["median"], found["max"]) == (None, None, None)
    assert found["content"] == []
    assert "  content       no records" in run("info", path).out


def test_one_file_is_shown_in_full(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [flower(1)] * 10)
    size = len(flower(1))

    assert run("info", path).out == [
        str(path),
        "  records       10",
        f"  file size     {10 * size + 160:,} bytes (17.4 KiB)",
        f"  record bytes  {10 * size:,} bytes (17.2 KiB)",
        f"  record size   {size:,} bytes",
        "  compression   none",
        "  content       tf.train.Example",
        "",
        "features of the first record",
        "  image   string    1",
        "  label   int64     1",
        "  name    string    1",
        "  petals  float32  20",
    ]


def test_features_of_the_other_messages(run: Run, tmp_path: Path) -> None:
    assert info(run, write(tmp_path / "a", [sequence(3)]))["features"] == [
        {"section": "context", "name": "id", "kind": "int64", "count": 1},
        {
            "section": "feature_lists",
            "name": "ragged",
            "kind": "float32",
            "steps": 3,
            "min": 1,
            "max": 3,
        },
        {
            "section": "feature_lists",
            "name": "word",
            "kind": "string",
            "steps": 3,
            "min": 1,
            "max": 1,
        },
    ]
    assert info(run, write(tmp_path / "b", [ranking(9)]))["features"] == [
        {"section": "context", "name": "query", "kind": "string", "count": 1},
        {"section": "example 0 of 9", "name": "relevance", "kind": "int64", "count": 1},
    ]
    assert info(run, write(tmp_path / "c", [event(1)]))["features"] is None


def test_several_files_are_a_table_with_a_total(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a", [b"x" * 10, b"x" * 20])
    write(tmp_path / "b", [])
    write(tmp_path / "c", [flower(0)])

    done = run("info", tmp_path / "?")
    rows = [line.split() for line in done.out]

    assert done.status == 0
    assert len(done.out) == 5
    assert done.out[0].startswith("records  on disk")
    assert rows[1] == f"2 62 B 30 B 10 B 10 B 20 B none text {tmp_path / 'a'}".split()
    assert rows[2] == f"0 0 B 0 B - - - none no records {tmp_path / 'b'}".split()
    assert done.out[4].split(maxsplit=9)[-1] == "total of 3 files"
    ends = {line.rindex(str(tmp_path)) for line in done.out[1:4]} | {done.out[4].rindex("total")}
    assert len(ends) == 1


def test_a_damaged_file_counts_up_to_the_damage(run: Run, tmp_path: Path) -> None:
    good = write(tmp_path / "a", [b"one"])
    bad = damage(write(tmp_path / "b", [b"one", b"two", b"three"]), 19 + 12)

    done = run("info", good, bad)

    assert done.status == 1
    assert done.out[2].endswith(f"{bad} (DAMAGED)")
    assert done.out[3].split()[0] == "2"
    assert len(done.err) == 1
    assert info(run, bad)["damage"] == {
        "index": 1,
        "offset": 19,
        "reason": "DATA_CRC",
        "detail": info(run, bad)["damage"]["detail"],
    }
    assert "  records       1 (before the damage)" in run("info", bad).out


def test_json_has_a_line_for_each_file(run: Run, tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path / name, [b"x"])

    lines = [json.loads(line) for line in run("info", "--json", tmp_path / "?").out]

    assert [line["file"] for line in lines] == [str(tmp_path / name) for name in "abc"]


@pytest.mark.parametrize("others", [0, 1])
def test_of_a_file_without_an_intact_record_only_what_is_known_is_shown(
    run: Run, tmp_path: Path, others: int
) -> None:
    junk = tmp_path / "junk"
    junk.write_bytes(b"\0 this is no file of records at all")

    done = run("info", junk, *[junk] * others)

    assert done.status == 1
    assert len(done.err) == 1 + others
    assert not any("no records" in line for line in done.out)
    if not others:
        assert done.out == [
            str(junk),
            "  records    0 (before the damage)",
            "  file size  35 bytes",
        ]
