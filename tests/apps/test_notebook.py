"""Batches and rows as tables, by a call or by the extension of IPython."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apps.markup.test_tables import HOSTILE
from tests.support.effort import at_most
from tests.support.shown_html import parsed
from tests.test_shown_html import OURS, page_of, png
from tfrecord_lite import (
    Block,
    BytesColumn,
    ExampleParser,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RaggedTensor,
    SparseTensor,
    VarLenFeature,
    decode_example,
    decode_examples,
    decode_sequence_examples,
    encode_example,
    encode_sequence_examples,
    parse_example,
    parse_sequence_example,
    parse_single_example,
    serialize_tensor,
)
from tfrecord_lite.apps import notebook
from tfrecord_lite.apps.notebook import show
from tfrecord_lite.errors import InvalidArgumentError

FEATURES = {
    "image": FixedLenFeature([], "string"),
    "label": FixedLenFeature([], "int64"),
    "box": FixedLenFeature([2], "float32"),
    "tags": RaggedFeature("string"),
    "ids": VarLenFeature("int64"),
}
ROWS = [
    {"image": png(), "label": 7, "box": [0.5, 2.0], "tags": ["a", "b"], "ids": [1, 2]},
    {"image": png(4, 4), "label": 1234, "box": [1.0, 0.1], "tags": [], "ids": []},
]
BLOCK = Block.from_records([encode_example(row) for row in ROWS])
SEQUENCES = encode_sequence_examples({"id": [3, 4]}, {"tokens": [[[5, 6], [7]], [[8]]]})


def body(page: Any, n_columns: int) -> list[list[str]]:
    """Return the rows of a page with one table, below its header."""
    cells = page.cells[n_columns:]
    return [cells[i : i + n_columns] for i in range(0, len(cells), n_columns)]


@pytest.mark.needs("image")
@pytest.mark.parametrize("strings", ["ndarray", "BytesColumn"])
def test_a_batch_is_a_row_per_record_and_a_column_per_feature(strings: Any) -> None:
    page = page_of(show(ExampleParser(FEATURES, strings=strings)(BLOCK)))

    assert page.text.split(" #")[0].endswith("2 records, 5 features")
    assert body(page, 6) == [
        ["0", "", "7", "0.5, 2", "ab", "1, 2"],
        ["1", "", "1,234", "1, 0.1", "no values", "no values"],
    ]
    assert len(page.sources) == 2


def test_the_header_names_features_and_their_types() -> None:
    page = page_of(show(parse_example(BLOCK, FEATURES)))

    assert page.cells[1:6] == [
        "imagestring", "labelint64", "boxfloat32 [2]", "tagsragged string", "idssparse int64",
    ]  # fmt: skip


def test_rows_of_examples_have_the_same_table_without_types() -> None:
    rows = decode_examples(
        [encode_example({"a": 1, "b": [b"x", b"y"]}), encode_example({"b": [b"z"]})]
    )

    assert body(page_of(show(rows)), 3) == [["0", "1", "xy"], ["1", "missing", "z"]]


def test_parsed_sequence_examples_are_a_table_each() -> None:
    parts = parse_sequence_example(
        encode_sequence_examples({"id": [3, 4]}, {"n": [[[5], [7]], [[8]]]}),
        {"id": FixedLenFeature([], "int64")},
        {"n": FixedLenSequenceFeature([], "int64")},
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
    rows = page_of(show(decode_sequence_examples(SEQUENCES)))

    assert page.cells[:5] == ["#", "a/xint64", "a/yint64", "b/0int64", "b/1bool"]
    assert rows.cells[:3] == ["#", "context/id", "feature_lists/tokens"]
    assert body(rows, 3) == [["0", "3", "5, 67"], ["1", "4", "8"]]


@pytest.mark.needs("image")
def test_a_single_record_is_a_row_per_feature() -> None:
    for record in (parse_single_example(BLOCK[0], FEATURES), decode_example(BLOCK[0])):
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


def test_serialised_tensors_are_named_by_dtype_and_shape() -> None:
    tensors = BytesColumn.from_list([serialize_tensor(np.ones((2, 3), np.float32)), b"\xff\0"])

    assert body(page_of(show({"t": tensors})), 2) == [
        ["0", "float32 tensor [2, 3], 24 bytes"],
        ["1", "ff 00"],
    ]


def test_only_some_records_and_features_are_shown() -> None:
    batch = {f"f{i}": np.arange(1000) for i in range(100)}
    page = page_of(show(batch, 5))

    assert "... and 995 more records" in page.text
    assert "... and 85 more" in page.text
    assert "... and 84 more features" in repr(show(batch))
    assert len(repr(show(batch))) < 4_000


@settings(at_most(40))
@given(st.dictionaries(HOSTILE, st.lists(HOSTILE, min_size=2, max_size=2), min_size=1, max_size=2))
def test_names_and_values_are_never_markup(texts: dict[str, list[str]]) -> None:
    values = {k: [v.encode("utf-8", "replace") for v in vs] for k, vs in texts.items()}
    columns = {name: BytesColumn.from_list(v) for name, v in values.items()}
    rows = [{name: np.array([v[i]], object) for name, v in values.items()} for i in range(2)]
    for data in (columns, rows, rows[0], (columns, columns), {"a": columns}, {"s": texts}):
        page_of(show(data))
        assert repr(show(data)).replace("\n", "").isprintable()


@pytest.mark.parametrize("data", [[1], {}, (), "text", b"bytes", 5, None])
def test_what_is_not_a_batch_is_a_clear_error(data: Any) -> None:
    with pytest.raises(TypeError, match="a parsed batch"):
        show(data)


def test_no_records_are_an_error_in_the_argument_only() -> None:
    with pytest.raises(InvalidArgumentError, match="num_records"):
        show({"a": np.arange(3)}, 0)

    assert "0 records" in page_of(show({f"a{i}": np.arange(0) for i in range(99)})).text
    assert "0 records" in page_of(show([])).text


# --- IPython

BATCHES: list[dict[str, Any]] = [
    {"a": np.arange(3)},
    {"a": BytesColumn.from_list([b"<b>"]), "b": RaggedTensor([1], [0, 1])},
    {"s": SparseTensor([[0, 0]], [5], [4, 4]), "n": np.zeros((4, 2))},
]
OTHERS: list[dict[Any, Any]] = [
    {}, {"a": 1}, {"a": [1, 2]}, {"a": np.arange(3), "b": np.arange(4)}, {1: np.arange(3)},
    {"a": np.float32(1)}, {"a": np.array(5)}, {"a": np.arange(2), "b": "text"}, {"a": {"b": np.arange(2)}},
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
    assert "text/html" not in show_it(BATCHES[0])[0]
    notebook.unload_ipython_extension(shell)


@pytest.mark.needs("notebook")
def test_the_extension_is_found_by_its_name() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell()  # type: ignore[no-untyped-call]
    shell.run_line_magic("load_ext", "tfrecord_lite")

    assert "text/html" in shell.display_formatter.format({"a": np.arange(3)})[0]
