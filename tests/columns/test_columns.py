"""Columns: byte strings, ragged and sparse tensors, against plain Python."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import golden
from tests.support.errors import raised
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor, to_dense
from tfrecord_lite.errors import InvalidArgumentError

int64s = st.integers(-(2**63), 2**63 - 1)
strings = st.binary(max_size=12)
rows = st.lists(st.lists(int64s, max_size=5), max_size=6)
deep_rows = st.lists(st.lists(st.lists(int64s, max_size=4), max_size=3), max_size=4)
bounds = st.none() | st.integers(-7, 7)
slices = st.builds(slice, bounds, bounds, bounds.filter(lambda step: step != 0))
splits_dtypes = st.sampled_from([np.int32, np.int64])


def flat(nested: list[list[Any]]) -> list[Any]:
    return [value for row in nested for value in row]


def ragged(nested: list[list[Any]], dtype: Any = np.int64) -> RaggedTensor:
    """Make a tensor of one level, or of two, by the depth of what is given."""
    lengths = np.array([len(row) for row in nested], dtype)
    return RaggedTensor.from_row_lengths(np.array(flat(nested), np.int64), lengths)


def ragged_deep(nested: list[list[list[int]]], dtype: Any = np.int64) -> RaggedTensor:
    lengths = np.array([len(row) for row in nested], dtype)
    return RaggedTensor.from_row_lengths(ragged(flat(nested), dtype), lengths)


@given(st.lists(strings))
def test_byte_strings_come_back_as_they_were(values: list[bytes]) -> None:
    column = BytesColumn.from_list(values)
    assert column.to_list() == values
    assert list(column) == values
    assert [column[i] for i in range(len(values))] == values
    assert [column[i - len(values)] for i in range(len(values))] == values
    for array in (column.to_numpy(), np.asarray(column), np.array(column, object)):
        assert array.dtype == object
        assert array.tolist() == values
    assert column.lengths.tolist() == [len(value) for value in values]
    assert column.nbytes == sum(map(len, values))
    assert column.shape == (len(values),)
    assert pickle.loads(pickle.dumps(column)) == column


def test_fixed_widths_are_given_when_asked_for_and_nothing_is_cut() -> None:
    column: Any = BytesColumn.from_list([b"one", b"", b"a\0b"])
    assert np.asarray(column, "S").dtype == "S3"
    assert np.asarray(column, "S5").tolist() == [b"one", b"", b"a\0b"]
    assert np.asarray(column, np.dtypes.StringDType()).tolist() == ["one", "", "a\0b"]
    assert np.asarray(column[:0], "S").size == 0
    nul: Any = BytesColumn.from_list([b"", b"a\0"])
    alone: Any = BytesColumn.from_list([b"\0", b"a"])
    for strings_given, dtype, words in (
        (column[1:], "S2", "value 1 is longer than S2"), (nul, "S9", "value 1 ends in a NUL"),
        (alone, "S9", "value 0 ends in a NUL"), (column, float, "not float64"),
    ):  # fmt: skip
        raised(InvalidArgumentError, np.asarray, strings_given, dtype, match=words)
    raised(InvalidArgumentError, nul.__array__, "S", match="value 1 ends in a NUL")
    raised(ValueError, np.array, column, copy=False, match="copy")


@given(st.lists(strings), slices)
def test_slices_of_a_column_are_slices_of_the_list(values: list[bytes], key: slice) -> None:
    part = BytesColumn.from_list(values)[key]
    assert part.to_list() == values[key]
    assert part == BytesColumn.from_list(values[key])
    assert part[1:].to_list() == values[key][1:]


@given(st.lists(strings), st.lists(strings))
def test_columns_are_equal_when_their_lists_are(one: list[bytes], other: list[bytes]) -> None:
    assert (BytesColumn.from_list(one) == BytesColumn.from_list(other)) is (one == other)


@given(st.lists(strings, min_size=1), st.data())
def test_take_chooses_values(values: list[bytes], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(values) - 1)))
    taken = BytesColumn.from_list(values).take(np.array(chosen, np.int64))
    assert taken.to_list() == [values[i] for i in chosen]


@pytest.mark.slow
@given(st.lists(st.text()))
def test_text_becomes_numpys_string_dtype(texts: list[str]) -> None:
    array = BytesColumn.from_list([text.encode() for text in texts]).to_string_dtype()
    assert array.tolist() == texts
    assert array.dtype == np.dtypes.StringDType()


def test_a_column_holds_bytes_and_nothing_else() -> None:
    raised(TypeError, BytesColumn.from_list, ["text"])
    with pytest.raises(IndexError):
        BytesColumn.from_list([b"one"])[1]
    raised(TypeError, hash, BytesColumn.from_list([]))
    assert BytesColumn.from_list([]) != []


def test_offsets_may_begin_and_end_inside_of_the_data() -> None:
    column = BytesColumn(np.array([1, 3, 4], np.int64), np.frombuffer(b"_abc_", np.uint8))
    assert column.to_list() == [b"ab", b"c"]
    assert column == BytesColumn.from_list([b"ab", b"c"])
    assert column[1:].to_list() == [b"c"]
    assert column.take(np.array([1, 0])).to_list() == [b"c", b"ab"]


@given(rows, splits_dtypes)
def test_every_partition_makes_the_same_tensor(nested: list[list[int]], dtype: Any) -> None:
    values = np.array(flat(nested), np.int64)
    splits = np.cumsum([0, *map(len, nested)], dtype=dtype)
    rowids = np.array([i for i, row in enumerate(nested) for _ in row], dtype)

    made = RaggedTensor.from_row_splits(values, splits)
    others = [
        RaggedTensor.from_row_lengths(values, np.diff(splits)),
        RaggedTensor.from_row_limits(values, splits[1:]),
        RaggedTensor.from_row_starts(values, splits[:-1]),
        RaggedTensor.from_value_rowids(values, rowids, len(nested)),
        RaggedTensor.from_nested_row_splits(values, [splits]),
        RaggedTensor(values, splits),
    ]

    assert made.to_list() == nested
    assert made.row_splits.dtype == dtype
    for other in others:
        assert other.to_list() == nested
        assert other.row_splits.tolist() == splits.tolist()
        assert other.row_splits.dtype == dtype
        assert other == made
    assert made.value_rowids().tolist() == rowids.tolist()
    assert made.row_starts().tolist() == splits[:-1].tolist()
    assert made.row_limits().tolist() == splits[1:].tolist()
    assert made.row_lengths().tolist() == [len(row) for row in nested]
    assert made.value_rowids().dtype == made.row_lengths().dtype == dtype


@given(deep_rows, splits_dtypes)
def test_two_levels_come_back_as_they_were(nested: list[list[list[int]]], dtype: Any) -> None:
    made = ragged_deep(nested, dtype)
    assert made.to_list() == nested
    assert [row.to_list() for row in made] == nested
    assert made.ragged_rank == 2
    assert made.shape == (len(nested), None, None)
    assert made.nrows() == len(made) == len(nested)
    assert made.flat_values.tolist() == flat(flat(nested))  # type: ignore[union-attr]
    assert made.row_lengths(2).to_list() == [[len(row) for row in rows] for rows in nested]
    assert made.row_lengths(-1) == made.row_lengths(2)
    assert made.row_lengths(0) == len(nested)
    assert [lengths.tolist() for lengths in made.nested_row_lengths()] == [
        [len(row) for row in nested],
        [len(row) for row in flat(nested)],
    ]
    assert RaggedTensor.from_nested_row_splits(made.flat_values, made.nested_row_splits) == made
    assert pickle.loads(pickle.dumps(made)) == made


@given(st.lists(st.lists(strings, max_size=3)))
def test_strings_may_be_objects_or_a_column(nested: list[list[bytes]]) -> None:
    lengths = [len(row) for row in nested]
    objects = RaggedTensor.from_row_lengths(flat(nested), lengths)
    if not flat(nested):
        objects = RaggedTensor.from_row_lengths(np.empty(0, object), lengths)
    column = RaggedTensor.from_row_lengths(BytesColumn.from_list(flat(nested)), lengths)
    assert objects == column
    assert column == objects
    assert objects.to_list() == column.to_list() == nested
    assert objects.dtype == column.dtype == object
    assert objects.to_tensor().tolist() == column.to_tensor().tolist()
    width = max(lengths, default=0)
    padded = [row + [b"x\0"] * (width - len(row)) for row in nested]
    assert objects.to_tensor("x\0").tolist() == column.to_tensor(b"x\0").tolist() == padded
    assert repr(objects) == repr(column)
    assert column[:, ::-1].to_list() == [row[::-1] for row in nested]
    assert pickle.loads(pickle.dumps(column)) == column


def test_strings_in_lists_keep_their_last_zeros() -> None:
    made = RaggedTensor.from_row_lengths([b"a\0", "é"], [2])
    assert made.to_list() == [[b"a\0", "é".encode()]]


def test_values_may_be_arrays_themselves() -> None:
    made = RaggedTensor.from_row_lengths(np.arange(8).reshape(4, 2), [1, 3])
    assert made.shape == (2, None, 2)
    assert made.to_list() == [[[0, 1]], [[2, 3], [4, 5], [6, 7]]]
    assert made.row_lengths(2).to_list() == [[2], [2, 2, 2]]
    assert made.bounding_shape().tolist() == [2, 3, 2]
    assert made.bounding_shape(1) == 3
    deep = RaggedTensor.from_nested_row_splits(made, [[0, 1, 2], [0, 0, 2]])
    assert deep.bounding_shape().tolist() == [2, 1, 2, 3, 2]
    assert made.to_tensor(np.iinfo(made.dtype).max)[0, 1, 0] == np.iinfo(made.dtype).max
    assert made[:, :, 0].to_list() == [[0], [2, 4, 6]]
    assert made[..., 0] == made[:, :, 0]
    assert made.to_tensor([7, 8]).tolist()[0] == [[0, 1], [7, 8], [7, 8]]


def test_uniform_rows_know_their_length() -> None:
    made = RaggedTensor.from_uniform_row_length(np.arange(6), 2)
    assert made.shape == (3, 2)
    assert made[:, 1].tolist() == [1, 3, 5]
    assert made[:, -1].tolist() == [1, 3, 5]
    assert made[1:].shape == (2, 2)
    assert made[:, 1:].shape == (3, 1)
    assert made.numpy().tolist() == made.to_list()
    assert made[:, -2].tolist() == [0, 2, 4]
    for i in (2, -3):
        with pytest.raises(IndexError):
            made[:, i]
    assert RaggedTensor.from_uniform_row_length([], 0, 3).to_list() == [[], [], []]
    assert RaggedTensor.from_uniform_row_length([], 0).to_list() == []
    narrow = RaggedTensor.from_uniform_row_length([1, 2], 1, row_splits_dtype=np.int32)
    outer = RaggedTensor.from_uniform_row_length(narrow, 2)
    assert outer.row_splits.dtype == narrow.row_splits.dtype == np.int32
    assert outer.shape == (1, 2, 1)
    assert outer[:, 1, 0].tolist() == [outer[0, 1, 0]] == [2]


def exercise(tensor: RaggedTensor) -> None:
    """Do all that can be done with a tensor; rows must be the same everywhere."""
    nested = tensor.to_list()
    assert [row.tolist() for row in tensor] == nested
    assert [tensor[i].tolist() for i in range(len(tensor))] == nested
    assert tensor[1:].to_list() == nested[1:]
    assert tensor[::-1].to_list() == nested[::-1]
    assert tensor[:, 1:].to_list() == [row[1:] for row in nested]
    assert tensor == ragged(nested)
    assert ragged(nested) == tensor
    assert tensor.to_tensor().tolist() == ragged(nested).to_tensor().tolist()
    assert tensor.value_rowids().size == sum(map(len, nested))
    assert repr(tensor) == repr(ragged(nested))
    tensor.numpy(), tensor.row_lengths(), tensor.bounding_shape(), tensor.shape


@given(
    st.lists(st.integers(-3, 9) | int64s, min_size=1, max_size=6), st.integers(0, 6), splits_dtypes
)
def test_no_splits_at_all_can_break_a_tensor(splits: list[int], n_values: int, dtype: Any) -> None:
    given_splits = np.array(splits, np.int64).astype(dtype)
    tensor = RaggedTensor.from_row_splits(np.arange(n_values), given_splits, validate=False)
    assert tensor.row_splits.tolist() == given_splits.tolist()
    assert tensor.flat_values.size == n_values  # type: ignore[union-attr]
    if np.abs(given_splits.astype(np.float64)).max() < 2**40:  # or lengths are too large
        exercise(tensor)
    else:
        assert tensor.to_list() == [row.tolist() for row in tensor]
        assert tensor == tensor[:]


@given(rows, slices, slices)
def test_slices_are_as_of_lists(nested: list[list[int]], outer: slice, inner: slice) -> None:
    tensor = ragged(nested, np.int32)
    assert tensor[outer].to_list() == nested[outer]
    assert tensor[outer, inner].to_list() == [row[inner] for row in nested[outer]]
    assert tensor[:, inner].row_splits.dtype == np.int32
    assert tensor[...] == tensor
    assert tensor[()] == tensor
    for i, row in enumerate(nested):
        assert tensor[i].tolist() == tensor[i - len(nested)].tolist() == row
        assert tensor[i, inner].tolist() == row[inner]
        for j, value in enumerate(row):
            assert tensor[i, j] == tensor[i, j - len(row)] == value


@given(deep_rows, slices, slices, slices)
def test_slices_of_two_levels_are_those_of_nested_lists(
    nested: list[list[list[int]]], outer: slice, middle: slice, inner: slice
) -> None:
    tensor = ragged_deep(nested)
    assert tensor[outer].to_list() == nested[outer]
    assert tensor[outer, middle].to_list() == [rows[middle] for rows in nested[outer]]
    assert tensor[outer, middle, inner].to_list() == [
        [row[inner] for row in rows[middle]] for rows in nested[outer]
    ]
    assert tensor[..., inner] == tensor[:, :, inner]
    for i, inner_rows in enumerate(nested):
        assert tensor[i].to_list() == inner_rows
        assert tensor[i, middle].to_list() == inner_rows[middle]
        for j, row in enumerate(inner_rows):
            assert tensor[i, j].tolist() == row


def test_rows_in_order_are_views() -> None:
    values = np.arange(6)
    tensor = RaggedTensor(values, [0, 2, 2, 6])
    assert np.shares_memory(tensor[1:].values, values)
    assert np.shares_memory(tensor[2], values)
    assert not np.shares_memory(tensor[::-1].values, values)


def slow_dense(nested: list[Any], shape: tuple[int | None, ...], fill: int) -> Any:
    """Pad nested lists to a shape, sizes that are None as large as needed."""

    def longest(level: int, rows: Any) -> int:
        if level == 0:
            return len(rows)
        return max((longest(level - 1, row) for row in rows), default=0)

    sizes = [longest(i, nested) if n is None else n for i, n in enumerate(shape)]
    out = np.full(sizes, fill, np.int64)
    for where in np.ndindex(*sizes):
        item: Any = nested
        for i in where:
            item = item[i] if item is not None and i < len(item) else None
        if item is not None:
            out[where] = item
    return out


sizes = st.none() | st.integers(0, 6)


@pytest.mark.parametrize("depth", [1, 2])
@given(st.data(), int64s)
def test_padding_equals_a_slow_reference(depth: int, data: st.DataObject, fill: int) -> None:
    nested: Any = data.draw(rows if depth == 1 else deep_rows)
    shape = data.draw(st.none() | st.tuples(*[sizes] * (depth + 1)))
    dense = (ragged if depth == 1 else ragged_deep)(nested).to_tensor(fill, shape=shape)
    expected = slow_dense(nested, shape or (None,) * (depth + 1), fill)
    assert dense.shape == expected.shape
    assert dense.tolist() == expected.tolist()
    assert dense.flags.owndata


def test_the_shape_of_values_below_the_rows_is_fixed() -> None:
    tensor = RaggedTensor(np.zeros((2, 3)), [0, 2])
    assert tensor.to_tensor(shape=[None, 4, 3]).shape == (1, 4, 3)
    raised(InvalidArgumentError, tensor.to_tensor, shape=[None, None, 4])


@given(rows, rows)
def test_equal_tensors_have_equal_rows(one: list[list[int]], other: list[list[int]]) -> None:
    assert (ragged(one) == ragged(other, np.int32)) is (one == other)
    assert (ragged(one) != ragged(other)) is (one != other)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "M8[ns]", "m8[s]"])
def test_padding_is_zero_or_no_time_for_every_dtype(name: str) -> None:
    is_time = name[1:2] == "8"
    dtype = np.dtype(name if is_time else getattr(pytest.importorskip("ml_dtypes"), name))
    one = np.ones((), dtype)
    rows = RaggedTensor.from_row_lengths(np.ones(3, dtype), [2, 1])
    places = SparseTensor([[0, 0], [0, 1], [1, 0]], np.ones(3, dtype), [2, 2])
    for dense in (rows.to_tensor, places.to_dense):
        padded, filled = dense(), dense(default_value=one)
        assert padded.dtype == filled.dtype == dtype
        assert np.array_equal(filled, np.ones((2, 2), dtype))
        assert np.isnat(padded[1, 1]) if is_time else padded[1, 1] == 0
        assert padded[0, 1] == one
        raised(TypeError, dense, default_value="x", match="default_value must be")
        if is_time:
            raised(TypeError, dense, default_value=1, match="not int64")


def test_a_tensor_is_not_its_list_and_has_no_hash() -> None:
    tensor = RaggedTensor([1], [0, 1])
    assert tensor != [[1]]
    assert tensor != RaggedTensor(tensor, [0, 1])
    assert RaggedTensor(tensor, [0, 1]) != tensor
    raised(TypeError, hash, tensor)


def test_the_text_shows_rows_and_leaves_out_the_middle() -> None:
    assert repr(BytesColumn.from_list([b"a", b"\xff"])) == r"<BytesColumn [b'a', b'\xff']>"
    assert repr(RaggedTensor([b"a", b"b"], [0, 1, 1, 2])) == "<RaggedTensor [[b'a'], [], [b'b']]>"
    long = RaggedTensor(np.arange(10**6), np.arange(0, 10**6 + 1, 10**3))
    deep: Any = np.array([b"\xff" * 31, "text" * 99, "t" * 9, ["o" * 999]] * 1024, object)
    wide = RaggedTensor(deep, np.arange(0, 4097, 512))
    for _ in range(12):
        deep = RaggedTensor(deep, np.arange(0, len(deep) + 1, 2))
    floats = RaggedTensor(np.arange(10**6).reshape(1000, 1000) / 7, np.arange(0, 1001, 10))
    places = np.zeros((4096, 30), int)
    sparse = SparseTensor(places, wide.values, [1] * 30)
    for value in (long, BytesColumn.from_list([bytes(10_000)] * 1000), wide, deep, floats, sparse):
        assert len(repr(value)) < 2100
    assert "(396 characters)" in repr(deep)


def test_numpy_gives_an_array_of_arrays_unless_all_rows_are_alike() -> None:
    mixed = RaggedTensor([1, 2, 3], [0, 2, 3]).numpy()
    assert mixed.dtype == object
    assert [row.tolist() for row in mixed] == [[1, 2], [3]]
    assert RaggedTensor([1, 2], [0, 1, 2]).numpy().tolist() == [[1], [2]]
    assert RaggedTensor([], [0]).numpy().shape == (0, 0)


@st.composite
def sparse_tensors(draw: st.DrawFn) -> SparseTensor:
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    places = draw(st.sets(st.integers(0, int(np.prod(shape)) - 1)))
    flat_indices = np.array(sorted(places), np.int64)
    indices = np.array(np.unravel_index(flat_indices, shape), np.int64).T
    values = draw(st.lists(int64s, min_size=len(places), max_size=len(places)))
    return SparseTensor(indices.reshape(-1, len(shape)), np.array(values, np.int64), shape)


@given(sparse_tensors(), int64s)
def test_dense_arrays_hold_the_values_in_their_places(tensor: SparseTensor, fill: int) -> None:
    dense = tensor.to_dense(fill)
    expected = np.full(tensor.shape, fill, np.int64)
    for where, value in zip(tensor.indices.tolist(), tensor.values, strict=True):
        expected[tuple(where)] = value
    assert np.array_equal(dense, expected)
    assert dense.dtype == tensor.dtype == np.int64
    assert tensor.rank == len(tensor.shape)
    assert pickle.loads(pickle.dumps(tensor)) == tensor
    assert tensor == SparseTensor(tensor.indices, tensor.values, tensor.dense_shape)


def test_strings_are_filled_up_with_nothing() -> None:
    for values in ([b"a"], BytesColumn.from_list([b"a"])):
        tensor = SparseTensor(
            [[0, 1]], np.array(values, object) if values == [b"a"] else values, [1, 2]
        )
        assert tensor.to_dense().tolist() == [[b"", b"a"]]
        assert tensor.to_dense("x\0").tolist() == [[b"x\0", b"a"]]
        raised(TypeError, tensor.to_dense, 0)


def test_sparse_tensors_compare_as_a_whole() -> None:
    tensor = SparseTensor([[0, 1]], [1], [1, 2])
    assert tensor != SparseTensor([[0, 1]], [2], [1, 2])
    assert tensor != SparseTensor([[0, 0]], [1], [1, 2])
    assert tensor != SparseTensor([[0, 1]], [1], [1, 3])
    assert tensor != "tensor"
    assert repr(tensor) == "SparseTensor(indices=[[0, 1]], values=[1], dense_shape=[1, 2])"
    raised(TypeError, hash, tensor)


def test_byte_strings_become_dense_as_objects() -> None:
    assert to_dense(BytesColumn.from_list([b"a\0", b""])).tolist() == [b"a\0", b""]
    column = np.arange(3)
    assert to_dense(column) is column


def kept(tensor: RaggedTensor) -> Any:
    """Use a tensor whose splits do not fit, and return them."""
    exercise(tensor)
    return tensor.row_splits.tolist()


def test_what_is_refused_and_what_is_taken() -> None:
    golden.check(Path(__file__).with_name("errors.txt"), globals())
