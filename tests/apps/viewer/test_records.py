"""Records of any content become cells, whatever they hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.viewer.shown_records import check_cell, plain, shown
from tests.apps.viewer.view_files import HOSTILE
from tests.support.corpus import CorpusFile, corpus_files
from tfrecord_lite import TFRecordReader, encode_example
from tfrecord_lite.apps.markup.cells import Budget
from tfrecord_lite.example.content import ContentType
from tfrecord_lite.messages import SequenceExample
from tfrecord_lite.wire.scalar import varint

pytestmark = pytest.mark.needs("view")


@pytest.mark.parametrize("sample", corpus_files())
def test_every_record_of_the_corpus(sample: CorpusFile) -> None:
    for record in TFRecordReader(sample.path):
        view = shown(record)
        assert view.cells
        assert view.n_hidden == 0


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_values(text: str) -> None:
    cells = shown(encode_example({text: text.encode(), "n": [text.encode()] * 3})).cells
    for cell in cells if text.isprintable() and len(text) < 100 else ():
        # Of several, 40 characters each.
        assert "".join(text[:40].split()) in "".join(plain(cell.html).split())


@given(st.binary(max_size=300))
def test_any_bytes(record: bytes) -> None:
    view = shown(record)
    assert (view.type is ContentType.EMPTY) <= (not view.cells)


def test_text_and_unknown_bytes() -> None:
    (text,) = shown("Grüße, <b>Welt</b>".encode()).cells
    (other,) = shown(bytes(range(200, 256)) * 100).cells
    assert plain(text.html) == "Grüße, <b>Welt</b>"
    assert plain(other.html) == f"{bytes(range(200, 216)).hex(' ')} … 5,600 bytes"
    assert "and 4,576 more bytes" in plain(other.details)


def test_empty_records_and_features() -> None:
    assert not shown(b"").cells
    cells = shown(
        encode_example({"none": b"", "some": 1}) + b"\x0a\x07\x0a\x05\x0a\x01x\x12\x00"
    ).cells
    kinds = {cell.name: (cell.kind, plain(cell.html)) for cell in cells}
    assert kinds == {
        "none": ("string", "(empty)"),
        "some": ("int64", "1"),
        "x": ("unset", "no values"),
    }


def test_large_strings_are_bounded() -> None:
    record = encode_example({"text": b"long text " * 1_000_000, "bytes": bytes(10_000_000)})
    for cell in shown(record).cells:
        assert len(cell.html) < 1000
        assert len(cell.details) < 50_000
        assert "more bytes" in cell.details


def test_the_budget_bounds_all_records_together() -> None:
    budget = Budget(characters=50_000)
    record = encode_example({f"feature {i}": b"text " * 100 for i in range(50)})
    views = [shown(record, budget) for _ in range(20)]
    size = sum(len(cell.html + cell.details) for view in views for cell in view.cells)
    assert size < 60_000
    assert views[0].n_hidden == 0
    assert views[-1].cells == ()
    assert views[-1].n_hidden == 50


def test_many_features_are_counted() -> None:
    view = shown(encode_example({f"{i}": i for i in range(2_500)}), Budget(characters=10**9))
    assert (len(view.cells), view.n_hidden) == (2_000, 500)
    fields = b"".join(varint(n << 3) + b"\1" for n in range(1, 1251))
    part = varint(len(fields)) + fields
    view = shown(b"\x08\1\x1a" + part + b"\x22" + part, Budget(characters=10**9))
    assert (len(view.cells), view.n_hidden) == (2_000, 501)


def test_steps_of_feature_lists() -> None:
    message = SequenceExample()
    steps = message.feature_lists.feature_list["n"].feature
    for i in range(100):
        steps.add().int64_list.value[:] = [i, -i]
    (cell,) = shown(message.SerializeToString()).cells
    assert (cell.section, cell.name, cell.count) == ("feature_lists", "n", "100 x 2")
    check_cell(cell)
