"""What notebooks show: objects, batches and rows as tables; bounded, and without markup from the data."""

import io
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecord_lite as tl
from tests.apps.events.event_messages import event
from tests.apps.markup.test_tables import HOSTILE
from tests.support.errors import raised
from tests.support.shown_html import parsed
from tfrecord_lite.apps import notebook
from tfrecord_lite.apps.events import read_events
from tfrecord_lite.apps.notebook import show
from tfrecord_lite.apps.statistics import compare, compute_statistics
from tfrecord_lite.errors import DamagedSpan, DamageReport, FileReport, InvalidArgumentError, Reason
from tfrecord_lite.messages import Summary
from tfrecord_lite.records.framing import frame

OURS = {
    *("div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "img", "span"),
    *("svg", "path", "rect", "title", "bdi", "code", "ul", "ol", "li"),
}
MOST = 90_000


def page_of(thing: Any) -> Any:
    """Parse what a notebook shows, and check that nothing in it comes from data."""
    text = thing._repr_html_()
    page = parsed(text)
    assert set(page.tags) <= OURS
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert all(source.startswith("data:image/") for source in page.sources)
    assert len(text) < MOST
    assert text.encode()
    return page


def body(page: Any, n_columns: int) -> list[list[str]]:
    """Return the rows of a page with one table, below its header."""
    cells = page.cells[n_columns:]
    return [cells[i : i + n_columns] for i in range(0, len(cells), n_columns)]


def scalar(tag: str, value: float) -> Summary.Value:
    return Summary.Value(tag=tag, simple_value=value)


def png(width: int = 3, height: int = 2) -> bytes:
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes((width + 1) * height))),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def in_memory(name: str, value: bytes) -> list[Any]:
    """Things with a hostile name and value that no file is needed for."""
    column = tl.BytesColumn.from_list([value, name.encode("utf-8", "surrogatepass"), png()])
    key = name.encode("utf-8", "replace").decode()
    events = read_events(io.BytesIO(frame([
        event(1, scalar(key or "-", 0.5)), event(2, scalar(key or "-", 1.5)),
    ])))  # fmt: skip
    span = DamagedSpan(name, 24, 19, Reason.DATA_CRC, name, 1, 1, 8)
    error = InvalidArgumentError(Reason.MALFORMED, detail=name)
    damage = DamageReport(
        (FileReport(name, 9, 72, (span,), 1, 19), FileReport(name, 1, 1, (), 0, 0, (error,), 1),
         FileReport(name, 1, 1, failure=OSError(name)))
    )  # fmt: skip
    columns = {key: tl.BytesColumn.from_list([value, value])}
    rows = [{key: np.array([value], object)}] * 2
    return [
        tl.Schema({key: tl.FixedLenFeature([], "string", value), "b-": tl.RaggedFeature("int64", key or "-")}),
        tl.SequenceSchema({key: tl.FixedLenFeature([], "string", value)}, {key: tl.RaggedFeature("string")}),
        column, tl.RaggedTensor(column, [0, 2, 3]),
        tl.RaggedTensor(np.array([name, value], object), [0, 2]),
        tl.SparseTensor([[0], [1], [2]], column, [3]), damage, events, events.scalars(),
        compute_statistics([tl.encode_example({key: value}), tl.encode_example({key: [value, b"x" * 99]})]),
        tl.summarize([tl.encode_example({key: value})]),
        tl.summarize(tl.encode_sequence_examples({key: [1]}, {key: [[[value]]]})),
        compare([tl.encode_example({key: value})], [tl.encode_example({key: value + b"!"})]),
        *map(show, (columns, rows, rows[0], (columns, columns), {"a": columns}, {"s": {key: [name]}})),
    ]  # fmt: skip


@given(
    HOSTILE.filter(lambda name: not set("*?[@") & set(name)),
    st.one_of(st.binary(max_size=40), HOSTILE.map(lambda s: s.encode("utf-8", "replace"))),
)
def test_names_and_values_are_never_markup(name: str, value: bytes) -> None:
    for thing in in_memory(name, value):
        page_of(thing)
        if isinstance(thing, notebook.Shown):
            assert repr(thing).replace("\n", "").isprintable()


@pytest.mark.slow
def test_no_representation_grows_with_what_it_shows() -> None:
    name, value = "long" * 5_000, b"long" * 500_000
    many = {f"{i}{name}": tl.FixedLenFeature([], "int64") for i in range(2_000)}
    numbers = np.arange(1_000_000)
    column = tl.BytesColumn.from_list([value] * 3 + [b"x"] * 100_000)
    spans = tuple(DamagedSpan(name, i, 1, Reason.DATA_CRC, None, i, 0) for i in range(10_000))
    wide = tl.SparseTensor(np.stack([numbers, numbers], 1), numbers, [1_000_000, 1_000_000])
    for thing in [
        tl.Schema(many), tl.SequenceSchema(many), column,
        tl.RaggedTensor(numbers, [0, 500_000, 1_000_000]), tl.RaggedTensor(column, [0, 100_003]),
        tl.RaggedTensor(numbers, np.arange(1_000_001)), wide,
        DamageReport((FileReport(name, 1, 1, spans, 20_000, 20_000),) * 100),
    ]:  # fmt: skip
        page_of(thing)


def test_the_text_of_a_batch_says_what_byte_strings_are() -> None:
    images = np.array([png()] * 9, object)
    ages = np.ma.MaskedArray(np.arange(9), [True] + [False] * 8)
    lines = repr(show({"image": images, "age": ages, "list": images[:, None]})).splitlines()
    assert "[<PNG 3 x 2, " in lines[3]
    assert lines[4].endswith("[--, 1, 2, 3, 4, 5, 6, 7, ...]")
    assert "[[<PNG 3 x 2, " in lines[5]
    assert "[[<PNG 3 x 2, " in repr(show({"steps": [images[:1]] * 9}))


def test_comparisons_and_summaries_have_the_cells_of_their_text() -> None:
    comparison = compare(tl.encode_examples({"x": [1, 2]}), tl.encode_examples({"x": [1, 300]}))
    page = page_of(comparison)
    assert page.cells[-4:] == ["1", "x", "2", "300"]
    assert ["x", "range", "1 .. 2", "1 .. 300", "0.5", "0.01"] in body(page, 6)
    assert "no difference" in page_of(compare(SEQUENCES, SEQUENCES)).text
    for summary in (
        tl.summarize(SEQUENCES), tl.summarize(tl.encode_examples({"x": [1, 2]})),
        tl.summarize([b""]),
    ):  # fmt: skip
        words = set(str(summary).replace("context feature", "").split())
        assert {word for cell in page_of(summary).cells for word in cell.split()} <= words


@pytest.mark.needs("image")
def test_why_pictures_are_left_out_is_said_once() -> None:
    images = {"a": tl.BytesColumn.from_list([png(i, 9) for i in range(1, 100)])}
    page = page_of(show(images, num_records=99))
    assert page.text.count("enough pictures") == 1
    assert page.text.count("PNG ") == 99 - page.tags.count("img")


@pytest.mark.needs("image")
def test_images_are_pictures_and_other_values_what_they_are() -> None:
    tensor = tl.serialize_tensor(np.ones((2, 3), np.float32))
    column = tl.BytesColumn.from_list(
        [png(), b"text", b"", b"\xff\x00" * 20, "ä".encode() * 1_000, b"RIFF\x24\0\0\0WAVE", tensor]
    )
    page = page_of(column)
    shown = [row[2] for row in body(page, 3)]
    assert page.sources[0].startswith("data:image/png;base64,")
    assert ("img", "alt", f"PNG 3 x 2, {len(png())} bytes") in page.attributes
    assert shown[1:5] == ["text", "(empty)", "ff 00 " * 8 + "… 40 bytes", "ä" * 160 + "…"]
    assert shown[5].startswith("WAV")
    assert shown[6] == "float32 tensor [2, 3], 24 bytes"


def test_rows_are_those_of_the_column() -> None:
    ragged = page_of(tl.RaggedTensor(np.arange(100), [0, 0, 2, 100])).cells
    sparse = page_of(
        tl.SparseTensor([[0, 1], [2, 0]], np.array([0.5, 8], np.float32), [3, 2])
    ).cells
    assert ragged[:9] == ["row", "length", "values", "0", "0", "no values", "1", "2", "0, 1"]
    assert ragged[11] == "2, 3, 4, 5, 6, 7, 8, 9 … 98 values"
    assert sparse[2:] == ["[0, 1]", "0.5", "[2, 0]", "8"]


def test_events_have_a_curve_per_scalar() -> None:
    events = read_events(io.BytesIO(frame([event(i, scalar("loss", 1 / i)) for i in range(1, 9)])))
    page = page_of(events)
    assert page.tags.count("svg") == 1
    assert page.cells[6:11] == ["loss", "scalars", "8", "1 .. 8", "0.125"]


FEATURES = {
    "image": tl.FixedLenFeature([], "string"), "label": tl.FixedLenFeature([], "int64"),
    "box": tl.FixedLenFeature([2], "float32"), "tags": tl.RaggedFeature("string"),
    "ids": tl.VarLenFeature("int64"),
}  # fmt: skip
ROWS = [
    {"image": png(), "label": 7, "box": [0.5, 2.0], "tags": ["a", "b"], "ids": [1, 2]},
    {"image": png(4, 4), "label": 1234, "box": [1.0, 0.1], "tags": [], "ids": []},
]
BLOCK = tl.Block.from_records([tl.encode_example(row) for row in ROWS])
SEQUENCES = tl.encode_sequence_examples({"id": [3, 4]}, {"tokens": [[[5, 6], [7]], [[8]]]})


@pytest.mark.needs("image")
@pytest.mark.parametrize("strings", ["ndarray", "BytesColumn"])
def test_a_batch_is_a_row_per_record_and_a_column_per_feature(strings: Any) -> None:
    page = page_of(show(tl.ExampleParser(FEATURES, strings=strings)(BLOCK)))
    assert page.text.split(" #")[0].endswith("2 records, 5 features")
    assert page.cells[1:6] == [
        "imagestring", "labelint64", "boxfloat32 [2]", "tagsragged string", "idssparse int64",
    ]  # fmt: skip
    assert body(page, 6) == [
        ["0", "", "7", "0.5, 2", "ab", "1, 2"],
        ["1", "", "1,234", "1, 0.1", "no values", "no values"],
    ]
    assert len(page.sources) == 2


def test_parsed_sequence_examples_are_a_table_each() -> None:
    parts = tl.parse_sequence_example(
        tl.encode_sequence_examples({"id": [3, 4]}, {"n": [[[5], [7]], [[8]]]}),
        {"id": tl.FixedLenFeature([], "int64")},
        {"n": tl.FixedLenSequenceFeature([], "int64")},
    )
    page = page_of(show(parts))
    assert page.tags.count("table") == 3
    assert "context" in page.text and "feature lists" in page.text  # noqa: PT018
    assert page.cells[-4:] == ["0", "2", "1", "1"]  # the lengths of the padded list


def test_columns_are_named_by_their_path() -> None:
    class Tensor:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.arange(2)

    batch = {"a": {"x": np.arange(2), "y": Tensor()}, "b": (np.arange(2), np.ones(2, bool))}
    page = page_of(show(batch))
    rows = page_of(show(tl.decode_sequence_examples(SEQUENCES)))
    assert page.cells[:5] == ["#", "a/xint64", "a/yint64", "b/0int64", "b/1bool"]
    assert rows.cells[:3] == ["#", "context/id", "feature_lists/tokens"]
    assert body(rows, 3) == [["0", "3", "5, 67"], ["1", "4", "8"]]


@pytest.mark.needs("image")
def test_a_single_record_is_a_row_per_feature() -> None:
    for record in (tl.parse_single_example(BLOCK[0], FEATURES), tl.decode_example(BLOCK[0])):
        page = page_of(show(record))
        assert page.cells[:3] == ["feature", "type", "value"]
        assert len(page.sources) == 1
        assert "0.5, 2" in page.cells


@pytest.mark.needs("image")
def test_pixels_are_pictures_and_masked_values_missing() -> None:
    pixels = np.zeros((3, 28, 28), np.uint8)
    masked = np.ma.MaskedArray([1, 2, 3], [False, True, False])
    page = page_of(
        show({"pixels": pixels, "rgb": np.zeros((3, 400, 300, 3), np.uint8), "n": masked})
    )
    assert len(page.sources) == 6
    assert [row[3] for row in body(page, 4)] == ["1", "missing", "3"]


def test_only_some_records_and_features_are_shown() -> None:
    batch = {f"f{i}": np.arange(1000) for i in range(100)}
    page = page_of(show(batch, 5))
    assert "... and 995 more records" in page.text
    assert "... and 85 more" in page.text
    assert "... and 84 more features" in repr(show(batch))
    assert len(repr(show(batch))) < 4_000
    assert "0 records" in page_of(show({f"a{i}": np.arange(0) for i in range(99)})).text
    assert "0 records" in page_of(show([])).text
    raised(InvalidArgumentError, show, {"a": np.arange(3)}, 0, match="num_records")
    wrong: list[Any] = [[1], {}, (), "text", b"bytes", 5, None]
    for data in wrong:
        raised(TypeError, show, data, match="a parsed batch")


BATCHES: list[Any] = [
    {"a": np.arange(3)},
    {"a": tl.BytesColumn.from_list([b"<b>"]), "b": tl.RaggedTensor([1], [0, 1])},
    {"s": tl.SparseTensor([[0, 0]], [5], [4, 4]), "n": np.zeros((4, 2))},
    {"context": {"id": np.arange(2)}, "feature_lists": {"x": tl.RaggedTensor([1], [0, 0, 1])}},
    tl.decode_sequence_examples(SEQUENCES)[0],
    ({"id": np.arange(2)}, {"x": tl.RaggedTensor([1], [0, 0, 1])}, {"x": np.arange(2)}),
]
OTHERS: list[Any] = [
    {}, {"a": 1}, {"a": [1, 2]}, {"a": np.arange(3), "b": np.arange(4)}, {1: np.arange(3)},
    {"context": 1, "feature_lists": {}}, ({}, {}), (1, 2), ({"a": np.arange(2)}, np.arange(2)),
    {"a": np.float32(1)}, {"a": np.array(5)}, {"a": np.arange(2), "b": "text"},
    {"a": {"b": np.arange(2)}},
]  # fmt: skip


@pytest.mark.needs("notebook")
def test_the_extension_shows_batches_and_leaves_other_dictionaries_alone() -> None:
    from IPython.core.formatters import DisplayFormatter

    formatter: Any = DisplayFormatter()
    shell = SimpleNamespace(display_formatter=formatter)
    show_it = formatter.format
    assert "text/html" not in show_it(BATCHES[0])[0]
    notebook.load_ipython_extension(shell)
    for batch in BATCHES:
        page = parsed(show_it(batch)[0]["text/html"])
        assert set(page.tags) <= OURS
        assert "table" in page.tags
    for other in OTHERS:
        assert "text/html" not in show_it(other)[0]
    notebook.unload_ipython_extension(shell)
    assert [batch for batch in BATCHES if "text/html" in show_it(batch)[0]] == []
    notebook.unload_ipython_extension(shell)


@pytest.mark.needs("arrow", "notebook")
def test_tables_of_files_and_of_arrow(tmp_path: Path) -> None:
    import pyarrow as pa
    from IPython.core.formatters import DisplayFormatter

    formatter: Any = DisplayFormatter()
    notebook.load_ipython_extension(SimpleNamespace(display_formatter=formatter))
    columns = {"<b>": np.arange(20), "lists": [["x", "y"], []] * 10, "floats": np.ones((20, 2))}
    with tl.TFRecordWriter(tmp_path / "a") as writer:
        writer.write_examples(columns)
    files = tl.scan(tmp_path / "a")
    tables = (
        page_of(files),
        *(
            parsed(formatter.format(thing)[0]["text/html"])
            for thing in (files.to_arrow(), files.head(20).to_batches()[0])
        ),
    )
    for page in tables:
        rows = body(page, 4)
        assert rows[1] == ["1", "1", "1, 1", "no values"]
        assert rows[2] == ["2", "2", "1, 1", "xy"]
    assert tables[0].cells[-4:][0] == "9"
    assert "... and 10 more rows" in tables[1].text
    reader = pa.RecordBatchReader.from_batches(files.arrow_schema, files.to_batches())
    page = parsed(formatter.format(reader)[0]["text/html"])
    assert [row[0] for row in body(page, 2)] == ["<b>", "floats", "lists"]
    assert reader.read_all().num_rows == 20
    (tmp_path / "a").write_bytes(bytes(99))
    assert "length CRC mismatch" in page_of(files).text


@pytest.mark.needs("notebook")
def test_the_extension_is_found_by_its_name() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell()  # type: ignore[no-untyped-call]
    shell.run_line_magic("load_ext", "tfrecord_lite")
    assert "text/html" in shell.display_formatter.format({"a": np.arange(3)})[0]
