"""``tfrecord filter``."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.samples import flower, write
from tests.support.small_files import write_records
from tfrecord_lite import (
    FixedLenFeature,
    Schema,
    TFRecordReader,
    TFRecordWriter,
    encode_example,
    encode_sequence_example,
    save,
)

pytestmark = pytest.mark.needs("sql")


@pytest.mark.parametrize(("condition", "kept"), [
    ("label = 1", range(1, 30, 3)), ("name like 'ro%'", range(1, 30, 3)),
    ("petals[1] >= 20.5", range(20, 30)), ("len(petals) = 21 or label is null", []),
    ("1 = 1", range(30)),
])  # fmt: skip
def test_conditions(run: Run, tmp_path: Path, condition: str, kept: range | list[int]) -> None:
    path = write(tmp_path / "a", map(flower, range(30)), "GZIP")
    done = run("filter", "--where", condition, path, tmp_path / "x")
    assert (done.status, done.err) == (0, [])
    assert list(TFRecordReader(tmp_path / "x")) == [flower(i) for i in kept]
    assert f"wrote {len(kept)} of 30 records" in done.out[0]


def test_other_features_are_not_parsed(run: Run, tmp_path: Path) -> None:
    save(tmp_path / "a", {"x": [1, 2], "label/of": [3, 4], "y": ["a", "b"]})
    (tmp_path / "a.schema.json").rename(tmp_path / "schema")
    with TFRecordWriter(tmp_path / "a", mode="a") as writer:
        writer.write_example({"x": 1, "label/of": 2, "y": 0.5})
    arguments = ("--where", 'x = 1 and "label/of" > 1', "--schema", tmp_path / "schema")
    assert "wrote 2 of 3" in run("filter", *arguments, tmp_path / "a", tmp_path / "x").out[0]


def test_bad_records_are_left_out_and_listed(run: Run, tmp_path: Path) -> None:
    rows = [{"n": i} if i % 3 else {"n": "x"} for i in range(90)]
    write_records(tmp_path / "a", (encode_example(row) for row in rows))
    schema = tmp_path / "s.json"
    schema.write_text(Schema({"n": FixedLenFeature([], int)}).to_json())
    arguments = ("--drop-bad", "--schema", schema, tmp_path / "a")

    outcomes = [
        run(verb, *more, *arguments, tmp_path / f"{verb}{len(more)}.tfrecord")
        for verb, more in [
            ("filter", ()),
            ("filter", ("--where", "n >= 0")),
            ("merge", ()),
            ("shuffle", ()),
            ("convert", ()),
        ]
    ]
    outcomes.append(
        run("sql", *arguments[:-1], f"select count(n) as c from '{tmp_path / 'a'}'", "--json")
    )

    for path in tmp_path.glob("*.tfrecord"):
        numbers = sorted(int(row["n"][0]) for row in TFRecordReader(path).examples())
        assert numbers == [i for i in range(90) if i % 3]
    assert outcomes[-1].out == ['{"c": 60}']
    for done in outcomes:
        assert done.status == 1
        assert "dropped 30 records that do not fit" in done.err[0]
        assert "record 3, byte 90, feature 'n': found string" in "".join(done.err)
        assert "more records were dropped" in done.err[-1]
        assert len(done.err) == 22
    assert run("filter", tmp_path / "a", tmp_path / "x").status == 2


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ('"context/id" > 2', [3, 4]),
        ('len("feature_lists/x") = 2 and "context/name" like \'n%\'', [1]),
        ("\"feature_lists/words\"[3][1] = 'é'", [2, 3, 4]),
    ],
)
def test_columns_of_sequences(run: Run, tmp_path: Path, condition: str, kept: list[int]) -> None:
    records = [
        encode_sequence_example(
            {
                "context": {"id": i, "name": f"n{i}"},
                "feature_lists": {"x": [[1.5]] * (i + 1), "words": [[], ["a"], ["é"]][: i + 1]},
            }
        )
        for i in range(5)
    ]
    path = write(tmp_path / "a", records)
    assert run("filter", "--where", condition, path, tmp_path / "x").err == []
    assert list(TFRecordReader(tmp_path / "x")) == [records[i] for i in kept]


def test_an_error_names_the_file_that_does_not_fit(run: Run, tmp_path: Path) -> None:
    for name, value in (("a", "1"), ("b", "one")):
        save(tmp_path / name, {"x": [value]})
    both = ("filter", "--where", "x::int = 1", tmp_path / "a", tmp_path / "b", tmp_path / "x")
    done = run(*both)
    assert done.err[0].startswith(f"tfrecord: {tmp_path / 'b'}: the condition cannot be evaluated")
