"""One rule for floats of 64 bits: rounded by all that write Examples, kept by schema_of and save."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecord_lite as tfr

ROUNDED, EXACT = float(np.float32(0.1)), 0.1
LONG_LISTS = 70
"""As many values as take the way of large arrays, and of long lists."""

# What a record may hold; each has one number, or some of it alone.
VALUES: dict[str, Callable[[float], Any]] = {
    "a float": float, "np.float64": np.float64, "a list": lambda x: [x],
    "a tuple": lambda x: (np.float64(x), x), "a long list": lambda x: [0.5] * LONG_LISTS + [x],
    "a list of np.float64": lambda x: [np.float64(x)] * 20, "ints among floats": lambda x: [1, x],
    "np.float32 and np.float64": lambda x: [np.float32(1), np.float64(x)],
    "an array": lambda x: np.array([x]),
    "an array of the other byte order": lambda x: np.array([x], ">f8"),
    "a large array": lambda x: np.array([0.5] * LONG_LISTS + [x]),
    "a matrix": lambda x: np.full((2, 2), x), "an array without dimensions": np.array,
    "an object array": lambda x: np.array([x, np.float64(x)], object),
}  # fmt: skip


def last(values: Any) -> float:
    return float(np.asarray(values).ravel()[-1])


def example_of(value: Any, schema: Any = None) -> bytes:
    return tfr.encode_example({"x": value}, schema)


def column_of(value: Any, schema: Any = None) -> bytes:
    return tfr.encode_examples({"x": [value] * 3}, schema)[2]


SCHEMA = {"x": tfr.VarLenFeature("float32")}
WRITERS: dict[str, Callable[[Any], bytes]] = {
    "encode_example": example_of,
    "encode_examples": column_of,
    "encode_example with a schema": lambda value: example_of(value, SCHEMA),
    "encode_examples with a schema": lambda value: column_of(value, SCHEMA),
}


@pytest.mark.parametrize("form", VALUES)
@pytest.mark.parametrize("write", WRITERS)
def test_the_lenient_policy_rounds_a_float_wherever_it_comes_from(write: str, form: str) -> None:
    record = WRITERS[write](VALUES[form](0.1))
    found = tfr.decode_example(record)["x"]
    assert found.dtype == np.float32
    assert last(found) == ROUNDED
    for special in (np.inf, -np.inf, 1e-300, 3.4028235e38):
        found = tfr.decode_example(WRITERS[write](VALUES[form](special)))["x"]
        assert last(found) == float(np.float32(special))


@pytest.mark.parametrize("number", [1e300, -3.5e38])
@pytest.mark.parametrize("form", VALUES)
@pytest.mark.parametrize("write", WRITERS)
def test_a_finite_number_never_becomes_infinite(write: str, form: str, number: float) -> None:
    with pytest.raises(tfr.errors.InvalidArgumentError, match="beyond float32") as caught:
        WRITERS[write](VALUES[form](number))
    assert (caught.value.reason, caught.value.key) == (tfr.errors.Reason.UNREPRESENTABLE, "x")
    assert caught.value.index is not None


COLUMNS: dict[str, Callable[[Any], Any]] = {
    "array": lambda x: {"x": x},
    "list": lambda x: {"x": x.tolist()},
    "list of scalars": lambda x: {"x": list(x)},
    "masked": lambda x: {"x": np.ma.MaskedArray(x, [True, False])},
    "ragged": lambda x: {"x": tfr.RaggedTensor(x, [0, 1, 2])},
    "sparse": lambda x: {"x": tfr.SparseTensor([[0, 0], [1, 0]], x, [2, 1])},
    "pandas": lambda x: importlib.import_module("pandas").DataFrame({"x": x}),
    "polars": lambda x: importlib.import_module("polars").DataFrame({"x": x}),
    "arrow": lambda x: importlib.import_module("pyarrow").table({"x": x}),
}
FRAMES = ("pandas", "polars", "arrow")


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(form, marks=pytest.mark.needs("dataframes") if form in FRAMES else ())
        for form in COLUMNS
    ],
)
def test_columns_of_any_form_are_rounded_or_kept(tmp_path: Path, form: str) -> None:
    columns = COLUMNS[form](np.array([0.1, 0.1]))
    rounded = tfr.decode_example(tfr.encode_examples(columns)[1])["x"]
    tfr.save(tmp_path / "x.tfrecord", columns, lossless=True)
    kept: Any = tfr.load(tmp_path / "x.tfrecord")["x"]
    assert last(rounded) == ROUNDED
    assert last(getattr(kept, "flat_values", getattr(kept, "values", kept))) == EXACT
    with pytest.raises(tfr.errors.InvalidArgumentError, match="beyond float32") as caught:
        tfr.encode_examples(COLUMNS[form](np.array([0.1, 1e300])))
    assert (caught.value.key, caught.value.index) == ("x", 1)
