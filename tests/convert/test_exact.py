"""Numbers and times in lists and rows come back exactly equal, or there is an error about them."""

import enum
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.errors import raised
from tfrecord_lite import (
    decode_example,
    decode_examples,
    decode_sequence_example,
    encode_example,
    encode_examples,
    encode_sequence_example,
    load,
    save,
)
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.errors import InvalidArgumentError, Reason

# Of durations without a unit among other values.
pytestmark = pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")

SECONDS = {
    "W": Fraction(604800), "D": Fraction(86400), "h": Fraction(3600), "m": Fraction(60),
    "s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9),
    "ps": Fraction(1, 10**12), "fs": Fraction(1, 10**15), "as": Fraction(1, 10**18),
}  # fmt: skip


def meaning(value: Any) -> Any:
    """Return what a value is: its kind, and a Fraction, a pair of them, or a word."""
    if isinstance(value, date | timedelta):
        value = np.timedelta64(value) if isinstance(value, timedelta) else np.datetime64(value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return meaning_of_time(value)
    if isinstance(value, complex | np.complexfloating):
        return "complex", (meaning(value.real)[1], meaning(value.imag)[1])
    if isinstance(value, bool | np.bool):
        return "bool", int(value)
    if isinstance(value, int | np.integer):
        return "number", Fraction(int(value))
    if math.isnan(value) or math.isinf(value):
        return "number", str(float(value))
    return "number", Fraction(*value.as_integer_ratio())


def meaning_of_time(value: Any) -> Any:
    kind = type(value).__name__
    if np.isnat(value):
        return kind, "NaT"
    unit, step = np.datetime_data(value.dtype)
    if unit in ("Y", "M") and isinstance(value, np.datetime64):
        value, unit, step = value.astype("M8[D]"), "D", 1  # of years that days can tell
    count = int(value.astype(np.int64)) * step
    if unit in ("Y", "M"):
        return f"{kind} of months", count * (12 if unit == "Y" else 1)
    return (kind, count * SECONDS[unit]) if unit in SECONDS else (f"{kind} without unit", count)


def same(found: Any, given: Any) -> bool:
    """Say whether a value came back; a number may have become complex, if it is the same."""
    one, other = meaning(found), meaning(given)
    if one[0] == "complex" and other[0] == "number":
        other = ("complex", (other[1], Fraction(0)))
    return bool(one == other)


EDGES = [2**24, 2**53, 2**62, 2**63, 2**64, 2**11, 0, 127, 10**30]
whole = st.one_of(
    st.builds(lambda edge, more, sign: sign * (edge + more), st.sampled_from(EDGES),
              st.integers(-2, 2), st.sampled_from([1, -1])),
    st.integers(-300, 300),
)  # fmt: skip
real = st.one_of(
    st.floats(), st.floats(width=16), st.floats(width=32), st.sampled_from([0.5, 2.0**53, 2.0**63])
)


def numpy_integer(name: str, number: int) -> Any:
    info = np.iinfo(name)
    return np.dtype(name).type(min(max(number, int(info.min)), int(info.max)))


def numpy_float(name: str, number: float) -> Any:
    with np.errstate(all="ignore"):
        return np.dtype(name).type(number)


INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "q", "Q", "l", "L"]
UNITS = [*SECONDS, "Y", "M", "25s", "7D"]
integers = st.one_of(whole, st.builds(numpy_integer, st.sampled_from(INTEGERS), whole))
floats = st.one_of(
    real,
    st.builds(numpy_float, st.sampled_from(["f2", "f4", "f8", "g"]), real),
    st.builds(lambda a, b: np.longdouble(a) + np.longdouble(b), st.sampled_from([1, 2**60]), real),
)
complexes = st.one_of(
    st.complex_numbers(),
    st.builds(numpy_float, st.sampled_from(["c8", "c16"]), st.complex_numbers()),
)
bools = st.one_of(st.booleans(), st.builds(np.bool, st.booleans()))
counts = st.one_of(st.integers(-3000, 3000), st.integers(-(2**63) + 1, 2**63 - 1))


def duration_without_a_unit(count: int) -> np.timedelta64:
    """Return what NumPy 2.5 warns of if it is made in another way."""
    duration: np.timedelta64 = np.array([count], np.int64).view("m8")[0]
    return duration


durations = st.one_of(
    st.builds(np.timedelta64, counts, st.sampled_from(UNITS)),
    st.builds(duration_without_a_unit, counts),
)
instants = st.one_of(
    st.builds(np.datetime64, counts, st.sampled_from([*SECONDS, "25s"])),
    st.builds(np.datetime64, st.integers(-9000, 9000), st.sampled_from(["Y", "M"])),
    st.builds(lambda unit: np.datetime64("NaT", unit), st.sampled_from(UNITS)),
)
LONGEST = timedelta(days=2**63 // (86_400 * 10**6) - 1)
python_times = st.datetimes(), st.dates(), st.timedeltas(-LONGEST, LONGEST)
of_a_family = st.sampled_from(
    [integers, floats, complexes, bools, durations, instants, *python_times,
     st.one_of(integers, floats), st.one_of(integers, floats, complexes)]
)  # fmt: skip
scalars = st.one_of(integers, floats, complexes, bools, durations, instants, *python_times)
values_of_rows = st.one_of(
    of_a_family.flatmap(lambda some: st.lists(some, min_size=1, max_size=4)),
    st.lists(scalars, min_size=1, max_size=4),
)


def error_of(call: Callable[[], Any]) -> InvalidArgumentError | None:
    try:
        call()
    except InvalidArgumentError as error:
        return error
    return None


def as_column(values: list[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
    return {"x": values}, lambda found: list(found["x"])


def as_object_array(values: list[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
    column = np.empty(len(values), object)
    column[:] = values
    return {"x": column}, lambda found: list(found["x"])


def as_rows_of_lists(values: list[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
    column = [[], *([value] * (1 + i % 2) for i, value in enumerate(values))]

    def back(found: Any) -> list[Any]:
        return [row[0] for row in list(found["x"])[1:]]

    return {"x": column}, back


def as_stream(values: list[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
    return ({"x": value} for value in values), lambda found: list(found["x"])


FORMS = [as_column, as_object_array, as_rows_of_lists, as_stream]
NS = np.datetime64("2020-01-01T00:00:00.000000001")
WITHOUT_A_UNIT = duration_without_a_unit(5)
NOON = datetime.fromisoformat("2020-02-29T12:00:00.000001")


class Finer(datetime):
    """A subclass may know more than microseconds, as that of pandas does."""


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@given(values=values_of_rows)
@example(values=[NS, np.datetime64("9999-01-01")])
@example(values=[np.uint64(2**63 + 1), np.int64(-1)])
@example(values=[np.uint64(2**63 - 1), np.int64(-1)])
@example(values=[np.int64(2**53 + 1), 0.5])
@example(values=[0.5, np.uint64(2**53 + 1)])
@example(values=[-1, 2**63])
@example(values=[np.timedelta64(1, "s"), np.timedelta64(2**62, "ms")])
@example(values=[np.timedelta64(1, "Y"), np.timedelta64(2, "D")])
@example(values=[WITHOUT_A_UNIT, np.timedelta64(2, "D")])
@example(values=[np.longdouble(1) + np.longdouble(2) ** -60, 0.5])
@example(values=[np.longdouble("inf"), 0.5])
@example(values=[np.complex64(1), 2**53 + 1])
@example(values=[np.float16(0.5), 10**30])
@example(values=[np.float32(0.1), np.float16(0.1)])
@example(values=[NOON, NOON.replace(tzinfo=UTC)])
@example(values=[timedelta.max])
@example(values=[Finer(2020, 1, 1)])
def test_all_comes_back(tmp_path_factory: pytest.TempPathFactory, form: Any, values: Any) -> None:
    path = tmp_path_factory.mktemp("exact") / "x.tfrecord"
    data, back = form(values)
    error = error_of(lambda: save(path, data, lossless=True))
    if error is not None:
        assert str(error.key).endswith("x")
        # A dtype that cannot be stored at all is no record's fault.
        assert error.index is not None or error.reason is Reason.UNSUPPORTED
        assert not path.exists()
        return
    found = back(load(path))
    assert len(found) == len(values)
    for one, own in zip(found, values, strict=True):
        assert same(one, own), (one, own)


def is_nearest(found: Any, given: Any) -> bool:
    """Say whether a float32 is the nearest to a number, of any type of floats."""
    kind, value = meaning(given)
    if kind != "number":
        return False
    if isinstance(value, str) or isinstance(given, int | np.integer):
        return bool(meaning(found)[1] == value)
    if not np.isfinite(found):
        return False
    distance = abs(meaning(found)[1] - value)
    with np.errstate(over="ignore", under="ignore"):  # next to the largest is infinity
        beside = [np.nextafter(found, np.float32(side)) for side in (-np.inf, np.inf)]
    return all(not np.isfinite(one) or distance <= abs(meaning(one)[1] - value) for one in beside)


def is_kept(found: Any, given: Any) -> bool:
    """Say whether a value in an Example's list is the one given."""
    if found.dtype == np.float32:
        return is_nearest(found, given)
    if isinstance(given, np.datetime64 | np.timedelta64):
        return bool(int(found) == int(given.astype(np.int64)))
    return bool(int(found) == given)


def one_list(values: list[Any]) -> list[Any]:
    return list(decode_example(encode_example({"x": values}))["x"])


def one_by_one(values: list[Any]) -> list[Any]:
    return [decode_example(encode_example({"x": value}))["x"][0] for value in values]


def one_column(values: list[Any]) -> list[Any]:
    return [row["x"][0] for row in decode_examples(encode_examples({"x": values}))]


def one_step_each(values: list[Any]) -> list[Any]:
    record = encode_sequence_example({"feature_lists": {"x": values}})
    return [step[0] for step in decode_sequence_example(record)["feature_lists"]["x"]]


@pytest.mark.parametrize("path", [one_list, one_by_one, one_column, one_step_each])
@given(values=values_of_rows)
@example(values=[np.int64(2**53 + 1), 0.5])
@example(values=[np.int64(2**24 + 1), np.float32(0.5)])
@example(values=[np.float64(0.1), np.float32(0.1), 0.1])
@example(values=[np.longdouble(1) + np.longdouble(2) ** -24 + np.longdouble(2) ** -60])
@example(values=[np.uint64(2**63 + 1)])
@example(values=[1e300])
def test_the_lenient_policy_only_rounds_floats_to_the_nearest(path: Any, values: list[Any]) -> None:
    error = error_of(lambda: path(values))
    if error is not None:
        assert error.key == "x"
        return
    found = path(values)
    assert len(found) == len(values)
    for one, own in zip(found, values, strict=True):
        assert is_kept(one, own), (one, own)


class Celsius(float):
    """A float of one's own."""


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2**53 + 1


@pytest.mark.parametrize(
    "values", [[Celsius(0.1)], [Celsius(0.1), 1], [Level.HIGH], [Level.LOW, 0.5]]
)
def test_subclasses_of_pythons_numbers_are_numbers(tmp_path: Path, values: list[Any]) -> None:
    save(tmp_path / "x.tfrecord", {"x": values}, lossless=True)
    found = np.asarray(load(tmp_path / "x.tfrecord")["x"])
    assert found.dtype.kind in "if"
    assert found.tolist() == values


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(NOON, "datetime64[us]"), (date.max, "datetime64[D]"), (LONGEST, "timedelta64[us]")],
)
def test_times_of_pythons_have_the_unit_that_they_count(value: Any, dtype: str) -> None:
    assert schema_of({"t": [value, None]}).originals["t"].dtype == dtype
    with pytest.raises(InvalidArgumentError, match=r"np\.datetime64 .*the count of its unit"):
        encode_example({"t": value})


def test_a_fraction_is_not_a_number_for_an_example() -> None:
    for make in (schema_of, encode_examples):
        error = raised(InvalidArgumentError, make, {"x": [Fraction(1, 2)]}, match="Fraction")
        assert (error.key, error.index) == ("x", 0)
