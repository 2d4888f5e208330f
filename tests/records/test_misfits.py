"""What users get who ask to drop the records that do not fit: the others, full batches, a report, a warning."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.small_files import write_records
from tests.support.untyped import load
from tfrecord_lite.apps.rearrange import merge_files
from tfrecord_lite.errors import DataLossWarning, InvalidArgumentError, Reason

SCHEMA = tl.Schema({"n": tl.FixedLenFeature([], int), "box": tl.FixedLenFeature([2], float)})
SEQUENCES = tl.SequenceSchema(
    {"n": tl.FixedLenFeature([], int)}, {"steps": tl.FixedLenSequenceFeature([2], int)}
)
GARBAGE = b"\xff\xff garbage"
NOT_EXAMPLES = {
    3: ({"n": "three", "box": [0.0, 1.0]}, Reason.WRONG_KIND, "n"),
    4: ({"n": 4, "box": [0.0]}, Reason.WRONG_COUNT, "box"),
    11: ({"box": [0.0, 1.0]}, Reason.MISSING, "n"),
    12: ({"n": b"", "box": b""}, Reason.WRONG_KIND, None),  # either of them is told
    29: (GARBAGE, Reason.MALFORMED, None),
}
NOT_SEQUENCES = {
    0: (({"n": 0}, {"steps": [[1]]}), Reason.WRONG_COUNT, "steps"),
    7: (({"n": 7}, {"steps": [[b"x", b"y"]]}), Reason.WRONG_KIND, "steps"),
    8: (({}, {"steps": [[1, 2]]}), Reason.MISSING, "n"),
    9: (GARBAGE, Reason.MALFORMED, None),
}


def records(*, are_sequences: bool) -> tuple[list[bytes], dict[int, Any]]:
    misfits: dict[int, Any] = NOT_SEQUENCES if are_sequences else NOT_EXAMPLES

    def record(i: int) -> bytes:
        right: Any = {"n": i, "box": [i, 1.0]}
        right = ({"n": i}, {"steps": [[i, 1]]}) if are_sequences else right
        row = misfits[i][0] if i in misfits else right
        if isinstance(row, bytes):
            return row
        if are_sequences:
            return tl.encode_sequence_example({"context": row[0], "feature_lists": row[1]})
        return tl.encode_example(row)

    return [record(i) for i in range(30)], misfits


def numbers(batch: Any) -> list[int]:
    """Return n of each row, from columns of Examples or SequenceExamples."""
    columns = batch[0] if isinstance(batch, tuple) else batch.get("context", batch)
    return columns["n"].tolist()  # type: ignore[no-any-return]


def arrow_numbers(table: Any) -> list[int]:
    return table.column("n" if "n" in table.schema.names else "context/n").to_pylist()  # type: ignore[no-any-return]


Batches = Callable[[Any, Any, Any], list[list[int]]]
IN_ORDER: dict[str, Batches] = {
    "batches": lambda path, schema, how: [
        numbers(batch) for batch in tl.TFRecordReader(path, on_misfit=how).batches(schema, 4)
    ],
    "read_batches": lambda path, schema, how: [
        numbers(batch) for batch in tl.read_batches(path, schema, 4, on_misfit=how)
    ],
    "load": lambda path, schema, how: [numbers(load(path, schema=schema, on_misfit=how))],
    "to_arrow": lambda path, schema, how: [
        arrow_numbers(tl.scan(path, schema=schema, on_misfit=how).to_arrow())
    ],
    "partitions": lambda path, schema, how: [
        arrow_numbers(batch)
        for part in tl.scan(path, schema=schema, on_misfit=how).partitions(num_partitions=3)
        for batch in pickle.loads(pickle.dumps(part)).read()
    ],
}


@pytest.mark.filterwarnings("ignore::tfrecord_lite.errors.DataLossWarning")
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(
            call, marks=pytest.mark.needs("arrow") if call in ("to_arrow", "partitions") else ()
        )
        for call in IN_ORDER
    ],
)
@pytest.mark.parametrize("compression", ["", "GZIP"])
@pytest.mark.parametrize("are_sequences", [False, True])
def test_the_others_come_in_order_and_batches_are_full(
    tmp_path: Path, call: str, compression: str, are_sequences: bool
) -> None:
    path = tmp_path / "a"
    rows, misfits = records(are_sequences=are_sequences)
    write_records(path, rows, compression)
    schema = SEQUENCES if are_sequences else SCHEMA
    batches = IN_ORDER[call](path, schema, "drop")
    assert sum(batches, []) == [i for i in range(30) if i not in misfits]  # noqa: RUF017 - short
    if "batches" in call:
        assert {len(batch) for batch in batches[:-1]} == {4}
    raised(InvalidArgumentError, IN_ORDER[call], path, schema, "raise")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_records(tmp_path / "a", records(are_sequences=False)[0])
    return tmp_path / "a"


def test_each_is_told_with_its_place_key_and_reason(path: Path) -> None:
    reader = tl.TFRecordReader(path, on_misfit="drop")

    with pytest.warns(
        DataLossWarning, match=r"^dropped 5 records that do not fit .* read 25 rec"
    ) as caught:
        list(reader.batches(SCHEMA))

    assert len(caught) == 1
    assert caught[0].filename == __file__
    report = reader.report
    assert report is not None
    assert not report
    assert (report.records, report.num_message_errors, report.num_damaged) == (25, 5, 0)
    for error, (index, (_, reason, key)) in zip(
        report.message_errors, NOT_EXAMPLES.items(), strict=True
    ):
        assert (error.source, error.index, error.reason) == (str(path), index, reason)
        assert key is None or error.key == key
    lost: list[InvalidArgumentError] = []
    load(path, schema=SCHEMA, on_misfit=lost.append)  # without a warning
    assert list(map(str, lost)) == list(map(str, report.message_errors))


def test_damage_and_a_limit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-6] ^= 1  # of the garbage
    path.write_bytes(data)
    with pytest.warns(DataLossWarning, match="skipped 1 damaged place .* dropped 4 records"):
        assert len(load(path, schema=SCHEMA, on_error="skip", on_misfit="drop")["n"]) == 25
    raised(ValueError, load, path, schema=SCHEMA, on_misfit="drop", match="data CRC mismatch")
    batches = tl.TFRecordReader(path, on_misfit="drop", max_errors=2).batches(SCHEMA, 3)
    taken: list[list[int]] = []
    with pytest.raises(
        InvalidArgumentError, match=r"record 11, .* 2 misfits before it were skipped"
    ):
        taken += map(numbers, batches)
    assert sum(taken, []) == [0, 1, 2, *range(5, 11)]  # noqa: RUF017 - short


@pytest.mark.filterwarnings("ignore::tfrecord_lite.errors.DataLossWarning")
def test_data_sets(path: Path) -> None:
    rest = [i for i in range(30) if i not in NOT_EXAMPLES]
    both = [path, path]
    shuffled = tl.read_batches(both, SCHEMA, 5, shuffle=8, seed=1, num_epochs=2, on_misfit="drop")
    parts = [tl.read_batches(path, SCHEMA, 5, shard=(2, i), on_misfit="drop") for i in (0, 1)]
    workers = tl.read_batches(both, SCHEMA, 5, num_workers=2, on_misfit="drop")
    bare = tl.TFRecordDataset(path, on_misfit="drop")
    for batches, expected in ((shuffled, 4 * rest), (workers, 2 * rest)):
        assert sorted(sum(map(numbers, batches), [])) == sorted(expected)  # noqa: RUF017 - short
    assert sorted(sum((numbers(b) for part in parts for b in part), [])) == rest  # noqa: RUF017
    assert len(list(bare)) == 29  # all but what is no Example
    assert len(list(bare.take(27).batch(2).parse_example(SCHEMA))) == 13  # of what fits
    with pytest.raises(InvalidArgumentError, match="on_misfit"):
        tl.read_batches(path, SCHEMA, shuffle="all", on_misfit="drop")


@pytest.mark.filterwarnings("ignore::tfrecord_lite.errors.DataLossWarning")
def test_without_a_schema_that_of_the_file_decides_or_the_type_of_message(tmp_path: Path) -> None:
    tl.save(tmp_path / "a", {"n": [1, 2]})
    for i, record in enumerate(
        (tl.encode_example({"n": "x"}), GARBAGE, tl.encode_example({"n": 3}))
    ):
        with tl.TFRecordWriter(tmp_path / str(i)) as writer:
            writer.write(record)
    described, bare = tmp_path / "a", [tmp_path / str(i) for i in range(3)]
    (tmp_path / "a").write_bytes(b"".join(path.read_bytes() for path in [described, *bare]))
    schema = tmp_path / "a.schema.json"
    assert load(described, schema=schema, on_misfit="drop")["n"].tolist() == [1, 2, 3]
    assert merge_files(tl.TFRecordReader(bare, on_misfit="drop"), tmp_path / "b").num_records == 2
    assert load(bare[1:], on_misfit="drop")["n"].tolist() == [3]
    assert list(tl.infer_schema(bare[1:], on_misfit="drop")) == ["n"]
    assert len(list(tl.TFRecordReader(bare, on_misfit="drop").examples())) == 2


def test_many_cost_little_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tl.TFRecordWriter(tmp_path / "a") as writer:
        writer.write_examples({"n": ["x"] * 2000})
    reader = tl.TFRecordReader(tmp_path / "a", on_misfit=lambda error: None)  # noqa: ARG005
    call, calls = tl.ExampleParser.__call__, []

    def counted(parser: Any, block: Any, *rest: Any) -> Any:
        calls.append(len(block))
        return call(parser, block, *rest)

    monkeypatch.setattr(tl.ExampleParser, "__call__", counted)
    assert list(reader.batches({"n": int})) == []
    assert len(calls) < 2100
    assert sum(calls) < 8000
