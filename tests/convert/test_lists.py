"""Lists: what is true of their arrays, and each method against Python's nested lists."""

from itertools import chain, pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.support.columns import columns_of
from tests.support.errors import raised
from tfrecord_lite import encode_examples, encode_sequence_examples
from tfrecord_lite.arrays import AnyArray, ByteItems, ByteRanges, Int64Array
from tfrecord_lite.convert.lists import Joiner, Lists
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.decode.batch import DiscoveredKeys
from tfrecord_lite.example.encode.columns import encode_lists
from tfrecord_lite.example.sequence.batch import read_sequences
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import WIRE


def values_of(flat: Any) -> list[Any]:
    """The values of an array, or of byte strings in either form."""
    if isinstance(flat, ByteItems):
        return list(map(bytes, flat.items))
    if isinstance(flat, ByteRanges):
        extents = zip(flat.starts.tolist(), flat.lengths.tolist(), strict=True)
        return [flat.data[a : a + n].tobytes() for a, n in extents]
    return list(flat.tolist())


def as_array(level: Any, n_rows: int) -> Int64Array:
    return np.full(n_rows, level) if isinstance(level, int) else level


def nested(lists: Lists) -> list[Any]:
    rows = values_of(lists.flat)
    sizes = [lists.n]  # rows of each level
    for level in lists.levels:
        sizes.append(int(as_array(level, sizes[-1]).sum()))
    for level, n_rows in zip(reversed(lists.levels), reversed(sizes[:-1]), strict=True):
        ends = np.cumsum([0, *as_array(level, n_rows)]).tolist()
        rows = [rows[a:b] for a, b in pairwise(ends)]
    return rows


def flattened(value: Any) -> list[Any]:
    return list(chain.from_iterable(map(flattened, value))) if isinstance(value, list) else [value]


def are_lists(lists: Lists) -> None:
    """Check that the lengths of each level are the rows of the next."""
    rows = lists.n
    for level in lists.levels:
        if isinstance(level, int):
            rows *= level
            continue
        assert level.dtype == np.int64
        assert level.shape == (rows,)
        rows = int(level.sum())
    assert rows == len(lists.flat)
    assert lists.present is None or lists.present.shape == (lists.n,)


def memory_of(lists: Lists) -> list[AnyArray]:
    flat = lists.flat
    arrays: list[AnyArray] = [level for level in lists.levels if not isinstance(level, int)]
    arrays += [] if lists.present is None else [lists.present]
    if isinstance(flat, ByteRanges):
        return [*arrays, flat.data, flat.lengths]
    return [*arrays, flat.lengths] if isinstance(flat, ByteItems) else [*arrays, flat]


def share_memory(one: Lists, other: Lists) -> bool:
    return any(np.shares_memory(a, b) for a in memory_of(one) for b in memory_of(other))


@st.composite
def some_levels(draw: DrawFn, n: int, most: int = 3) -> list[Any]:
    levels: list[Any] = []
    for _ in range(draw(st.integers(0, most))):
        if draw(st.booleans()):
            levels.append(draw(st.integers(0, 3)))
            n *= levels[-1]
        else:
            lengths = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
            levels.append(np.array(lengths, np.int64))
            n = sum(lengths)
    return levels


@st.composite
def some_flat(draw: DrawFn, n_values: int, form: str) -> Any:
    if form == "numbers":
        return np.arange(n_values) + draw(st.integers(0, 100))
    items = [bytes([65 + i % 26]) * (i % 4) for i in range(n_values)]
    lengths = np.array([len(item) for item in items], np.int64)
    if form == "items":
        return ByteItems(items, lengths)
    # A buffer with the strings in any order, and other bytes between them.
    order = draw(st.permutations(range(n_values)))
    data, starts = b"..", np.zeros(n_values, np.int64)
    for i in order:
        starts[i] = len(data)
        data += items[i] + b"."
    return ByteRanges(np.frombuffer(data, np.uint8), starts, lengths)


FORMS = st.sampled_from(["numbers", "ranges", "items"])


@st.composite
def some_lists(draw: DrawFn, form: str | None = None, n_levels: int | None = None) -> Lists:
    n = draw(st.integers(0, 4))
    levels = draw(some_levels(n))
    if n_levels is not None:
        levels = [*levels, 1, 1, 1][:n_levels]
    n_values = n
    for level in levels:
        n_values = int(as_array(level, n_values).sum())
    form = draw(FORMS) if form is None else form
    kind = Kind.INT64 if form == "numbers" else Kind.BYTES
    mask = draw(st.lists(st.booleans(), min_size=n, max_size=n)) if draw(st.booleans()) else None
    present = None if mask is None else np.array(mask, np.bool_)
    return Lists(n, WIRE[kind], tuple(levels), draw(some_flat(n_values, form)), present)


def mask_of(lists: Lists) -> list[bool]:
    return [True] * lists.n if lists.present is None else lists.present.tolist()


@given(some_lists(), st.data())
def test_the_lengths_of_a_level_are_the_rows_of_the_next(lists: Lists, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, lists.n))
    last = data.draw(st.integers(first, lists.n))
    of_one_form = [lists, lists.part(first, last), *lists.copies([0, first, last, lists.n])]
    for some in (*of_one_form, lists.one_level(), lists.owned(), Lists.join(of_one_form)):
        are_lists(some)
    if lists.levels:
        are_lists(lists.below())


@given(some_lists(), st.data())
def test_a_number_is_the_same_as_equal_lengths(lists: Lists, data: st.DataObject) -> None:
    sizes = [lists.n]
    for level in lists.levels:
        sizes.append(int(as_array(level, sizes[-1]).sum()))
    other = lists.with_(
        levels=tuple(as_array(level, n) for level, n in zip(lists.levels, sizes, strict=False))
    )
    splits = sorted(data.draw(st.lists(st.integers(0, lists.n), max_size=3)))
    assert lists.splits().tolist() == other.splits().tolist()
    assert lists.lengths.tolist() == other.lengths.tolist()
    assert nested(Lists.join([lists, other])) == 2 * nested(lists)
    pairs = zip(lists.copies([0, *splits]), other.copies([0, *splits]), strict=True)
    assert all(nested(one) == nested(another) for one, another in pairs)
    assert list(encode_lists({"x": lists.one_level()})) == list(
        encode_lists({"x": other.one_level()})
    )


@given(some_lists(n_levels=1), st.data())
def test_values_of_absent_records_mean_nothing(lists: Lists, data: st.DataObject) -> None:
    absent = np.repeat(~np.array(mask_of(lists), np.bool_), lists.lengths)
    flat: Any = np.array([*values_of(lists.flat), None], object)[:-1]
    filler: Any = b"another" if lists.kind is Kind.BYTES else data.draw(st.integers(-9, 9))
    flat[absent] = filler
    items = flat.tolist()
    other: Any = np.array(items, np.int64) if lists.kind is Kind.INT64 else ByteItems.of(items)
    assert list(encode_lists({"x": lists})) == list(encode_lists({"x": lists.with_(flat=other)}))


@given(st.integers(0, 40).flatmap(columns_of))
def test_stored_lists_have_one_level(column: Any) -> None:
    try:
        block = encode_examples({"x": column})
    except InvalidArgumentError:
        return
    batch = DiscoveredKeys().read_examples(block)
    kinds: Any = set() if batch is None or not len(block) else np.unique(batch.kinds(0)).tolist()
    for kind in {*kinds} - {0}:
        assert batch is not None
        are_wire_lists(batch.lists(0, Kind(kind)), 1)


@given(st.lists(st.lists(st.lists(st.integers(0, 300), max_size=3), max_size=3), max_size=20))
def test_feature_lists_have_two_levels(steps: list[list[list[int]]]) -> None:
    block = encode_sequence_examples({}, {"x": steps})
    batch = read_sequences(DiscoveredKeys(), block) if len(block) else None
    if batch is not None:
        lists = batch.lists(0, Kind.INT64)
        are_wire_lists(lists, 2)
        assert nested(lists) == steps
        assert nested(lists.below()) == list(chain.from_iterable(steps))


def are_wire_lists(lists: Lists, n_levels: int) -> None:
    are_lists(lists)
    assert len(lists.levels) == n_levels
    assert lists.type is WIRE[lists.kind]
    flat = lists.flat
    if lists.kind is Kind.BYTES:
        assert isinstance(flat, ByteRanges | ByteItems)
    else:
        assert flat.dtype == (np.int64 if lists.kind is Kind.INT64 else np.float32)
        assert flat.dtype.isnative


@given(some_lists(), st.data())
def test_owned_lists_share_no_memory(lists: Lists, data: st.DataObject) -> None:
    split = data.draw(st.integers(0, lists.n))
    pieces = [lists.owned(), *lists.copies([0, split, lists.n])]
    assert not any(share_memory(lists, piece) for piece in pieces)
    assert not any(share_memory(one, other) for one, other in pairwise(pieces))


@given(st.integers(0, 3).flatmap(columns_of))
def test_only_lists_without_values_have_no_kind(column: Any) -> None:
    try:
        lists = opened("x", column)
    except InvalidArgumentError:
        return
    assert lists.kind is not None or not len(lists.flat)


@given(some_lists(), st.data())
def test_parts_and_cuts_are_slices_of_the_records(lists: Lists, data: st.DataObject) -> None:
    splits = sorted(data.draw(st.lists(st.integers(0, lists.n), min_size=1, max_size=4)))
    records, mask = nested(lists), mask_of(lists)
    pieces = zip(lists.copies(splits), lists.views(splits), pairwise(splits), strict=True)
    for piece, part, (a, b) in pieces:
        assert nested(piece) == nested(part) == records[a:b]
        assert mask_of(piece) == mask_of(part) == mask[a:b]


@given(
    st.tuples(FORMS, st.integers(0, 3)).flatmap(
        lambda form: st.lists(some_lists(*form), min_size=1, max_size=4)
    )
)
def test_joined_lists_have_the_records_of_all(parts: list[Lists]) -> None:
    whole = Lists.join(parts)
    are_lists(whole)
    assert nested(whole) == list(chain.from_iterable(map(nested, parts)))
    assert mask_of(whole) == list(chain.from_iterable(map(mask_of, parts)))
    joiner = Joiner()
    for part in parts:
        joiner.add(part)
    one_by_one = joiner.joined()
    are_lists(one_by_one)
    assert nested(one_by_one) == nested(whole)
    assert mask_of(one_by_one) == mask_of(whole)


@given(st.lists(some_lists("ranges", 1), max_size=2), st.lists(some_lists("items", 1), min_size=1))
def test_byte_strings_of_both_forms_are_joined(some: list[Lists], others: list[Lists]) -> None:
    parts = [*others, *some, *others]
    assert nested(Lists.join(parts)) == list(chain.from_iterable(map(nested, parts)))


@given(some_lists(n_levels=1))
def test_a_part_without_a_kind_has_no_part_in_the_type(lists: Lists) -> None:
    empty = Lists(2, WIRE[None], (0,), np.zeros(0, np.float32))
    whole = Lists.join([empty, lists, empty])
    are_lists(whole)
    assert whole.type is lists.type
    assert nested(whole) == [[], [], *nested(lists), [], []]


@given(some_lists())
def test_counts_are_values_over_all_levels(lists: Lists) -> None:
    records = nested(lists)
    sizes = [len(flattened([record])) for record in records]
    assert as_array(lists.counts(), lists.n).tolist() == sizes
    assert nested(lists.one_level()) == [flattened([record]) for record in records]
    owners = [number for number, size in enumerate(sizes) for _ in range(size)]
    assert [lists.record_of(value) for value in range(len(lists.flat))] == owners
    assert isinstance(lists.counts(), int) == all(isinstance(n, int) for n in lists.levels)


def test_an_error_names_the_record_of_a_value() -> None:
    lists = Lists(3, WIRE[Kind.INT64], (np.array([1, 0, 2]), np.array([2, 0, 3])), np.arange(5))
    error = lists.error("x", "too large", 2)
    assert (error.key, error.index, error.reason) == ("x", 2, Reason.UNREPRESENTABLE)


def test_rows_below_are_records() -> None:
    lists = Lists(2, WIRE[Kind.INT64], (np.array([2, 1]), 2), np.arange(6))
    assert nested(lists.below()) == [[0, 1], [2, 3], [4, 5]]
    assert nested(lists.below().below()) == [0, 1, 2, 3, 4, 5]


def test_a_changed_copy_leaves_the_lists() -> None:
    lists = Lists(2, WIRE[Kind.INT64], (1,), np.array([1, 2]))
    changed = lists.with_(flat=np.array([3, 4]), present=np.array([True, False]))
    assert (nested(lists), lists.present) == ([[1], [2]], None)
    assert (nested(changed), mask_of(changed)) == ([[3], [4]], [True, False])
    raised(TypeError, lists.with_, counts=1)
