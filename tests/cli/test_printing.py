"""``tfrecord head`` and ``tfrecord cat``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.samples import (
    JPEG,
    damage,
    event,
    feature,
    features,
    flower,
    odd,
    ranking,
    sequence,
    write,
)
from tests.support.corpus import CorpusFile, corpus_files
from tfrecord_lite import TFRecordReader
from tfrecord_lite.messages import Example

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]


def titles(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("record ")]


class TestHead:
    def test_three_records_are_the_default(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", map(flower, range(5)))

        assert [title.split(":")[0] for title in titles(run("head", path).out)] == [
            "record 0",
            "record 1",
            "record 2",
        ]

    @pytest.mark.parametrize(("n", "printed"), [(0, 0), (1, 1), (5, 5), (6, 5)])
    def test_as_many_as_asked_for_of_each_file(
        self, run: Run, tmp_path: Path, n: int, printed: int
    ) -> None:
        paths = [write(tmp_path / name, map(flower, range(5)), "ZLIB") for name in "ab"]

        done = run("head", "-n", n, *paths)

        assert done.status == 0
        assert len(titles(done.out)) == 2 * printed

    def test_damage_after_the_records_asked_for_is_not_met(self, run: Run, tmp_path: Path) -> None:
        path = damage(write(tmp_path / "a", [b"one", b"two", b"three"]), 19 + 12)

        assert run("head", "-n", 1, path).status == 0
        assert run("head", "-n", 2, path).status == 1

    @pytest.mark.parametrize("n", ["-1", "x", "1.5"])
    def test_a_count_is_a_number(self, run: Run, n: str) -> None:
        done = run("head", f"-n={n}", "a")

        assert done.status == 2
        assert len(done.err) == 1


class TestText:
    def test_the_first_event_says_what_reads_events(self, run: Run, tmp_path: Path) -> None:
        done = run("head", write(tmp_path / "a", [event(1), event(2)]))

        heads = [line for line in done.out if line.startswith("record")]
        assert heads == [
            f"record 0: TensorBoard event, {len(event(1))} bytes (tfrecord_lite.read_events reads these)",
            f"record 1: TensorBoard event, {len(event(2))} bytes",
        ]

    def test_an_example_shows_its_features_in_columns(self, run: Run, tmp_path: Path) -> None:
        record = flower(2)
        done = run("cat", write(tmp_path / "a", [record]))

        assert done.out == [
            f"record 0: tf.train.Example, {len(record):,} bytes",
            "  image   string    1  <JPEG 640 x 480, 1.6 KiB>",
            "  label   int64     1  2",
            "  name    string    1  'Löwenzahn'",
            "  petals  float32  20  " + ", ".join(f"{i / 10}" for i in range(25, 39)) + ", ...",
        ]

    def test_a_sequence_example_shows_its_steps(self, run: Run, tmp_path: Path) -> None:
        done = run("cat", write(tmp_path / "a", [sequence(3)]))

        assert done.out[1:] == [
            "  context",
            "    id  int64  1  7",
            "  feature_lists",
            "    ragged  float32  3 x 1-3  [1.5], [1.5, 1.5], [1.5, 1.5, 1.5]",
            "    word    string     3 x 1  ['w0'], ['w1'], ['w2']",
        ]

    def test_a_ranking_list_shows_context_and_examples(self, run: Run, tmp_path: Path) -> None:
        done = run("cat", write(tmp_path / "a", [ranking(2)]))

        assert done.out[1:] == [
            "  context",
            "    query  string  1  'tulip'",
            "  example 0 of 2",
            "    relevance  int64  1  0",
            "  example 1 of 2",
            "    relevance  int64  1  1",
        ]

    def test_features_without_values_and_without_kind(self, run: Run, tmp_path: Path) -> None:
        done = run("cat", write(tmp_path / "a", [odd(), b""]))

        assert done.out == [
            f"record 0: tf.train.Example, {len(odd())} bytes",
            "  key    string   2  <2 bytes: 00 ff>, 'text'",
            "  none   unset    0",
            "  ratio  float32  3  0.1, nan, 3.0",
            "  zero   int64    0",
            "",
            "record 1: tf.train.Example, 0 bytes",
            "  (no features)",
        ]

    def test_other_records_are_shown_as_text_or_hex(self, run: Run, tmp_path: Path) -> None:
        done = run("cat", write(tmp_path / "a", [b"two\nlines", b"\x00\x01AB" * 5, b""]))

        assert done.out == [
            "record 0: text, 9 bytes",
            "  two",
            "  lines",
            "",
            "record 1: unknown, 20 bytes",
            "  00000000  00 01 41 42 00 01 41 42  00 01 41 42 00 01 41 42  ..AB..AB..AB..AB",
            "  00000010  00 01 41 42                                       ..AB",
            "",
            "record 2: empty, 0 bytes",
        ]

    def test_long_records_are_cut_to_a_few_lines_that_fit(self, run: Run, tmp_path: Path) -> None:
        records = [b"\xff" * 100_000, b"x" * 10_000, b"line\n" * 1000, flower(0), ranking(50)]
        path = write(tmp_path / "a", records)

        done = run("cat", path)

        assert max(map(len, done.out)) <= 100
        assert len(done.out) < 60
        assert "  ... 99,872 bytes more" in done.out
        assert "  ... 988 lines more" in done.out

    def test_in_full_nothing_is_cut(self, run: Run, tmp_path: Path) -> None:
        records = [b"\xff" * 1000, b"x" * 1000, b"line\n" * 1000, flower(0)]

        done = run("cat", "--full", write(tmp_path / "a", records))

        assert not [line for line in done.out if "..." in line and ".." not in line[-16:]]
        assert "  " + "x" * 1000 in done.out
        assert done.out.count("  line") == 1000
        assert any(JPEG.hex(" ") in line for line in done.out)

    def test_long_text_values_say_how_long(self, run: Run, tmp_path: Path) -> None:
        values = feature(b"a\nb" * 1000), feature(*[b"word" * 100] * 9)
        record = Example(features=features(one=values[0], many=values[1])).SerializeToString()

        _, many, one = run("cat", write(tmp_path / "a", [record])).out

        assert len(one) <= 100
        assert one.startswith("  one   string  1  'a\\nba\\nb")
        assert one.endswith("'... (3,000 bytes)")
        assert "'wordwordword" in many
        assert many.endswith("(400 bytes), ...")

    def test_nothing_reaches_the_terminal_that_it_could_act_on(
        self, run: Run, tmp_path: Path
    ) -> None:
        value = "\u202eevil\u200b".encode()
        record = Example(features=features(**{"a\x7fb": feature(1), "c": feature(value)}))
        path = write(
            tmp_path / "a", [record.SerializeToString(), value, b"\x1b[2J", flower(0), odd()]
        )

        out = "".join(run("cat", path).out)

        assert [c for c in out if not c.isprintable()] == []

    def test_of_several_files_each_record_names_its_own(self, run: Run, tmp_path: Path) -> None:
        paths = [write(tmp_path / name, [b"x"]) for name in "ab"]

        out = run("cat", tmp_path / "?").out

        assert titles(out) == [f"record 0 of {path}: text, 1 byte" for path in paths]


class TestJson:
    def test_every_line_is_an_object(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "a", [odd(), b"text", b"\xff", b"", "ü".encode()])

        done = run("cat", "--json", path)

        assert [json.loads(line) for line in done.out] == [
            {
                "key": [{"base64": "AP8="}, "text"],
                "none": None,
                "ratio": [0.1, {"float": "NaN"}, 3.0],
                "zero": [],
            },
            {"text": "text"},
            {"base64": "/w=="},
            {"text": ""},
            {"text": "ü"},
        ]

    def test_an_empty_record_among_examples_is_an_empty_example(
        self, run: Run, tmp_path: Path
    ) -> None:
        assert run("cat", "--json", write(tmp_path / "a", [odd(), b""])).out[1] == "{}"

    def test_json_and_full_exclude_each_other(self, run: Run) -> None:
        assert run("cat", "--json", "--full", "a").status == 2


@pytest.mark.parametrize("sample", corpus_files())
class TestCorpus:
    def test_cat_prints_every_record(self, run: Run, sample: CorpusFile) -> None:
        done = run("cat", sample.path)

        assert done.status == 0
        assert len(titles(done.out)) == sample.truth["records"]
        assert max(map(len, done.out)) <= 100

    def test_the_lines_hold_the_values_tensorflow_saw(self, run: Run, sample: CorpusFile) -> None:
        done = run("cat", "--json", sample.path)
        lines: list[dict[str, Any]] = [json.loads(line) for line in done.out]

        assert len(lines) == sample.truth["records"]
        for key, kinds in sample.truth.get("keys", {}).items():
            part, _, name = key.rpartition(":")
            section = {"": None, "context": "context", "sequence": "feature_lists"}[part]
            found = [(line if section is None else line[section])[name] for line in lines]
            if part == "sequence":
                found = [step for steps in found for step in steps]
            ((n_with, least, most),) = kinds.values()
            counts = [len(values) for values in found]
            assert (len(counts), min(counts), max(counts)) == (n_with, least, most)

    def test_head_prints_what_cat_prints_first(self, run: Run, sample: CorpusFile) -> None:
        n_records = min(2, sample.truth["records"])
        whole, head = run("cat", sample.path), run("head", "-n", 2, sample.path)

        assert titles(head.out) == titles(whole.out)[:n_records]
        assert whole.out[: len(head.out)] == head.out


def test_records_come_in_the_order_of_the_file(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b"%d" % i for i in range(3000)], "GZIP")

    lines = run("cat", "--json", path).out

    assert [json.loads(line)["text"].encode() for line in lines] == list(TFRecordReader(path))


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("\x1b[31m", "'\\x1b[31m'"),
        ("a\x00b", "'a\\x00b'"),
        (" ", "' '"),
        (" a", "' a'"),
        ("a ", "'a '"),
        ("a b", "a b"),
        ("", "''"),
        ("\u3000", "'\\u3000'"),
    ],
)
def test_keys_that_could_not_be_seen_are_quoted(
    run: Run, tmp_path: Path, key: str, shown: str
) -> None:
    example = Example(features=features(**{key: feature(7), "other": feature(8)}))
    path = write(tmp_path / "a", [example.SerializeToString()])

    out = run("cat", path).out

    assert out[0].startswith("record 0: tf.train.Example, ")
    assert any(line.startswith(f"  {shown} ") and line.endswith("  7") for line in out[1:])
    assert json.loads(run("cat", "--json", path).out[0]) == {key: [7], "other": [8]}
    assert any(line.startswith(f"  {shown} ") for line in run("info", path).out)
