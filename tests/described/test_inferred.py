"""A schema is inferred from what is asked for, and from all records alike."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.small_files import write
from tests.support.untyped import infer_schema, load, summarize
from tfrecord_lite.cli.app import main
from tfrecord_lite.described.inferred import FOR_BATCHES, blocks_ahead
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.framing import frame

STEPS = st.lists(st.lists(st.integers(-9, 9), max_size=3), min_size=1, max_size=40)


def sequence(number: int, steps: list[int]) -> bytes:
    """Return a record whose list is left out if it has no steps, which then is an Example's bytes."""
    if not steps:
        return tl.encode_example({"n": number})
    return tl.encode_sequence_example({"context": {"n": number}, "feature_lists": {"x": steps}})


@given(STEPS, st.integers(1, 40), st.sampled_from(["load", "summary", "shards", "batches"]))
def test_lists_make_all_sequence_examples(steps: list[list[int]], cut: int, reading: str) -> None:
    records = [sequence(i, each) for i, each in enumerate(steps)]
    file = io.BytesIO(frame(records))
    if not any(steps):
        assert list(infer_schema(records)) == ["n"]
        assert load(file)["n"].tolist() == list(range(len(steps)))
        return
    if reading == "load":
        loaded = load(file)
        assert loaded["context"]["n"].tolist() == list(range(len(steps)))
        assert loaded["feature_lists"]["x"].to_list() == steps
    elif reading == "batches":
        (batch,) = tl.TFRecordReader(file).batches(batch_size=len(steps))
        context, lists, lengths = batch
        assert context["n"].tolist() == list(range(len(steps)))
        assert lengths["x"].tolist() == list(map(len, steps))
        assert lists["x"].shape[0] == len(steps)
    else:
        shards = [records[:cut], records[cut:]] if reading == "shards" else [records]
        summary = sum(map(summarize, shards), start=0)
        assert isinstance(summary.schema(), tl.SequenceSchema)
        assert summary.n_records == len(steps)
        assert summary.feature_lists["x"].n_records == sum(map(bool, steps))
        assert summary.feature_lists["x"].n_steps == sum(map(len, steps))


@pytest.mark.needs("arrow")
def test_the_shell_and_scan_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write(tmp_path / "s.tfrecord", [sequence(0, []), sequence(1, [5, 6])]))
    assert main(["schema", "--json", path]) == 0
    assert "feature_lists" in json.loads(capsys.readouterr().out)
    assert tl.scan(path).to_arrow()["feature_lists/x"].to_pylist() == [[], [5, 6]]
    assert tl.scan(path, ["context/n"]).to_arrow().to_pydict() == {"context/n": [0, 1]}
    ((context, _, lengths),) = tl.read_batches(path)
    assert (context["n"].tolist(), lengths["x"].tolist()) == ([0, 1], [0, 2])


def test_lists_only_after_a_sample_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_two = FOR_BATCHES._replace(num_records=2)
    monkeypatch.setattr("tfrecord_lite.described.inferred.FOR_BATCHES", of_two)
    path = write(tmp_path / "s", [sequence(i, [7] * (i == 5)) for i in range(9)])
    for batches in (
        tl.read_batches(path, batch_size=2),
        tl.TFRecordReader(path).batches(batch_size=2),
    ):
        error = raised(InvalidArgumentError, list, batches, match="SequenceSchema")
        assert (error.source, error.index) == (str(path), 5)


READINGS: dict[str, Callable[..., Any]] = {
    "load": load, "load the first": lambda path, names: load(path, names, num_records=9),
    "load for arrow": lambda path, names: load(path, names, as_="arrow").to_pydict(),
    "scan": lambda path, names: tl.scan(path, names).to_arrow().to_pydict(),
    "scan all": lambda path, names: tl.scan(path, names, sample=None).to_arrow().to_pydict(),
    "scan in workers": lambda path, names: tl.scan(path, names).partitions()[0].read().__next__().to_pydict(),
    "text": lambda path, names: tl.scan(path, names, text=True).to_arrow().to_pydict(),
}  # fmt: skip
TWO_KINDS = [tl.encode_example({"id": i, "s": b"a", "price": [1, 1.5][i]}) for i in range(2)]
TWO_KINDS_OF_STEPS = [
    tl.encode_sequence_example({"context": {"id": i}, "feature_lists": {"x": [[1], [1.5]][i]}})
    for i in range(2)
]


needs_arrow = pytest.mark.needs("arrow")
every_reading = pytest.mark.parametrize(
    "read",
    [
        pytest.param(read, id=name, marks=[] if name in ("load", "load the first") else needs_arrow)
        for name, read in READINGS.items()
    ],
)


@every_reading
def test_a_feature_of_two_kinds_stops_its_readers(read: Callable[..., Any], tmp_path: Path) -> None:
    path = write(tmp_path / "x", TWO_KINDS)
    assert {name: [*ids] for name, ids in read(path, ["id"]).items()} == {"id": [0, 1]}
    assert list(read(path, [])) == []
    error = raised(InvalidArgumentError, read, path, ["id", "price"])
    assert (error.reason, error.key) == (Reason.WRONG_KIND, "price")
    raised(InvalidArgumentError, read, path, ["idd"], match=r"'idd'.*'id'")


@every_reading
def test_a_list_of_two_kinds_stops_its_readers(read: Callable[..., Any], tmp_path: Path) -> None:
    path = write(tmp_path / "x", TWO_KINDS_OF_STEPS)
    assert [*read(path, ["context/id"])["context/id"]] == [0, 1]
    error = raised(InvalidArgumentError, read, path, ["feature_lists/x"])
    assert (error.reason, error.key) == (Reason.WRONG_KIND, "x")


@every_reading
def test_a_column_arrow_lacks_stops_its_readers(read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "x"
    tl.save(path, {"id": np.arange(2), "wave": np.ones(2, np.complex64)})
    assert [*read(path, ["id"])["id"]] == [0, 1]


def test_text_is_asked_for_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "x", TWO_KINDS)
    assert load(path, ["id"], text=["s"])["id"].tolist() == [0, 1]
    assert load(path, ["s"], text=["s"])["s"].tolist() == ["a", "a"]
    assert load(path, ["s"], text=True)["s"].tolist() == ["a", "a"]
    raised(InvalidArgumentError, load, path, ["id"], text=["price"], match="'price'")


def test_a_query_reads_the_columns_that_it_names(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from tfrecord_lite.integrations.duckdb import sql

    path = write(tmp_path / "x", TWO_KINDS)
    assert sql(f"select id + 1 as n from '{path}'").read_all()["n"].to_pylist() == [1, 2]
    assert sql(f"select count(*) as n from '{path}'").read_all()["n"].to_pylist() == [2]
    for query in ("select *", "select price", "select * exclude (id)"):
        raised(InvalidArgumentError, sql, f"{query} from '{path}'", match="price")


def test_a_summary_has_a_schema_of_some_features() -> None:
    summary = summarize(TWO_KINDS)
    assert list(summary.schema(names=["s", "id"])) == ["s", "id"]
    raised(KeyError, summary.schema, names=["idd"], match="idd")
    lists = summarize(TWO_KINDS_OF_STEPS)
    assert lists.schema(names=["context/id"]) == tl.SequenceSchema(lists.context.schema(), {})


@given(st.integers(0, 5), st.integers(0, 3))
def test_a_first_look_leaves_a_file_object_where_it_stood(n: int, n_read: int) -> None:
    records = [tl.encode_example({"a": i}) for i in range(n)]
    before = b"something else"
    file = io.BytesIO(before + frame(records))
    file.seek(len(before))
    blocks = blocks_ahead([file, file], ReadSettings())
    looked = [record for _, block in zip(range(n_read), blocks, strict=False) for record in block]
    blocks.close()
    assert looked == (records * n_read)[: 2 * n]
    assert file.tell() == len(before)


def test_damage_that_is_skipped_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with tl.TFRecordWriter(path) as writer:
        writer.write(tl.Block.from_records([tl.encode_example({"a": i}) for i in range(9)]))
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    spans: list[Any] = []
    assert load(path, on_error=spans.append)["a"].tolist() == list(range(1, 9))
    assert len(spans) == 1
