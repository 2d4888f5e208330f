"""Saved data are loaded as they were: values, dtypes, shapes, structure; files appear whole."""

import gc
import itertools
import json
import os
import tempfile
import tracemalloc
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.support.columns import columns_of, flat_of, rounded, same
from tests.support.errors import raised
from tests.support.foreign_files import FOREIGN
from tests.support.small_files import write
from tests.support.untyped import load
from tfrecord_lite import (
    Block,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedTensor,
    RawFeature,
    Schema,
    SparseTensor,
    TFRecordDataset,
    TFRecordReader,
    TFRecordWriter,
    VarLenFeature,
    encode_example,
    load_schema,
    parse_example,
    read_batches,
    save,
)
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.described.sidecar import FingerprintingFile, fingerprint_of, tfds_directory
from tfrecord_lite.described.structure import flatten
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.messages import Example
from tfrecord_lite.schema import Kind, Original
from tfrecord_lite.storage import builder, saving
from tfrecord_lite.storage.builder import row_batches

keys = st.sampled_from(["a", "b", "image", "", "x/y", "ü", "0", "row_lengths_1"])


@st.composite
def nests(draw: DrawFn) -> Any:
    n_records = draw(st.sampled_from([0, 1, 2, 7]))
    leaf = columns_of(n_records)
    return draw(
        st.one_of(
            leaf,
            st.recursive(
                leaf,
                lambda inner: st.one_of(
                    st.dictionaries(keys, inner, max_size=3), st.lists(inner, max_size=3).map(tuple)
                ),
                max_leaves=4,
            ),
        )
    )


def clashes(data: Any) -> bool:
    """Return whether two flattened columns, or the features they are stored in, share a name."""
    try:
        names = list(flatten(data)[1])
    except InvalidArgumentError:
        return True
    return any(a != b and a.startswith(f"{b}/") for a in names for b in names)


@given(data=nests())
def test_any_columns_come_back(data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    assume(not clashes(data))
    path = tmp_path_factory.mktemp("any") / "data"
    if isinstance(data, np.ndarray) and data.dtype == object and not len(data):
        data = {"x": data}
    schema = save(path, data, lossless=True)
    same(load(path), data)
    assert load_schema(f"{path}.schema.json") == schema


@given(column=st.integers(1, 4).flatmap(columns_of))
def test_a_column_has_its_dtype_and_shape_and_what_float32_holds(
    column: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "data"
    expected = rounded(column)
    before, after = flat_of(column), flat_of(expected)
    changed = before.dtype == np.float64 and not np.array_equal(before, after, equal_nan=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if before.dtype == np.float64 and (np.isinf(after) & np.isfinite(before)).any():
            raised(InvalidArgumentError, save, path, {"x": column}, match="lossless=True")
            return
        schema = save(path, {"x": column})
    texts = [str(each.message) for each in told if "rounded" in str(each.message)]
    assert [text.split("'")[1] for text in texts] == ["x"] * changed
    same(load(path)["x"], expected)
    if before.dtype.kind in "biufmM":
        is_image = before.dtype == np.uint8 and schema.to_items()["x"].is_raw
        assert is_image or schema.to_items()["x"].kind in (Kind.FLOAT, Kind.INT64)
    save(path, {"x": column}, lossless=True)
    same(load(path)["x"], column)


def row_of(data: Any, i: int) -> Any:
    """Return a row as a user would write it, with None for masked values."""
    if isinstance(data, dict):
        return {key: row_of(item, i) for key, item in data.items()}
    if isinstance(data, tuple):
        return tuple(row_of(item, i) for item in data)
    value = data[i]
    if isinstance(data, np.ma.MaskedArray):
        return None if np.ma.getmaskarray(data)[i].all() else np.asarray(value)[()]
    return value


@given(data=nests())
def test_rows_come_back_as_columns(data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    assume(not clashes(data))
    leaves = flatten(data)[1]
    assume(leaves)
    for column in leaves.values():
        assume(not isinstance(column, SparseTensor) and column.shape[0])
        # Rows with several levels are lists; NumPy's texts come out of an array as str.
        assume(not isinstance(column, RaggedTensor) or column.ragged_rank == 1)
        flat: Any = column.flat_values if isinstance(column, RaggedTensor) else column
        assume(flat.dtype.kind in "biufcO" and flat.size and flat.dtype != np.dtype("S"))
        if isinstance(column, np.ma.MaskedArray):
            assume(not np.ma.getmaskarray(column).all() and np.ma.getmaskarray(column).any())
        if isinstance(column, RaggedTensor):  # of one length they are an array
            assume(len({len(row) for row in column}) > 1)
    n_records = next(iter(leaves.values())).shape[0]
    path = tmp_path_factory.mktemp("any") / "data"
    save(path, (row_of(data, i) for i in range(n_records)), lossless=True)
    same(load(path), data)


def test_a_sidecar_is_a_schema_and_a_structure_for_people(tmp_path: Path) -> None:
    save(tmp_path / "d", (np.zeros(2), {"a": np.zeros((2, 3), np.uint8)}))
    text = (tmp_path / "d.schema.json").read_text()
    document = json.loads(text)
    assert document["structure"] == ["0", {"a": "1/a"}]
    assert document["features"]["1/a"]["original"] == {"dtype": "uint8", "shape": [3]}
    assert text.count("\n") > 10
    assert Schema.from_json(text).originals["0"] == Original("float64", [])


def saved(path: Path, rows: Any) -> Any:
    save(path, rows)
    return load(path)


MANY = 3000
"""Rows of more than two batches."""


def test_no_rows_at_all_are_no_columns(tmp_path: Path) -> None:
    assert saved(tmp_path / "d", iter([])) == {}
    assert saved(tmp_path / "e", {}) == {}


GOOD = {"a": 1, "x": 0.5, "s": "t", "v": np.zeros((2, 2)), "l": [1]}


@pytest.mark.parametrize("at", [1, 700, 1024, 2047, 2500])
@pytest.mark.parametrize(("change", "key"), [
    ({"a": "text"}, "a"), ({"a": 2**64}, "a"), ({"a": [1]}, "a"), ({"x": "text"}, "x"),
    ({"s": b"bytes"}, "s"), ({"s": 5}, "s"), ({"v": np.zeros((2, 3))}, "v"),
    ({"v": np.zeros(2)}, "v"), ({"v": np.zeros((2, 2), np.float32)}, "v"), ({"l": None}, "l"),
    ({"l": 5}, "l"), ({"a": object()}, "a"), ({"new": 1}, "new"),
])  # fmt: skip
def test_a_misfit_is_named(tmp_path: Path, at: int, change: dict[str, Any], key: str) -> None:
    rows = [{**GOOD, "l": [1] * (i % 2)} for i in range(2600)]
    rows[at] = {**GOOD, **change}
    error = raised(InvalidArgumentError, save, tmp_path / "d", rows)
    assert (error.key, error.index, error.source) == (key, at, str(tmp_path / "d"))
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize("row", [(1,), (1, 2, 3), 5, {"0": 1, "1": 2}, ((1,), 2)])
def test_a_row_of_another_structure_is_named(tmp_path: Path, row: Any) -> None:
    assert raised(InvalidArgumentError, save, tmp_path / "d", [(1, 2)] * 4 + [row]).index == 4


@pytest.mark.parametrize("data", ["text", b"bytes", 5, None, np.float64(1)])
def test_what_is_not_data_is_a_type_error(tmp_path: Path, data: Any) -> None:
    raised(TypeError, save, tmp_path / "d", data)
    raised(TypeError, save, 5, {"x": [1]})
    raised(TypeError, save, tmp_path / "d", {1: np.zeros(2)})
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize(("data", "key"), [
    ({"a": np.zeros(2), "b": np.zeros(3)}, "b"), ({"a": np.array(5)}, "a"), ({"a": [1, "x"]}, "a"),
    ({"a/b": np.zeros(1), "a": {"b": np.zeros(1)}}, "a/b"), ({"a": np.zeros(2, "longdouble")}, "a"),
    (np.zeros(2, "longdouble"), "value"),
])  # fmt: skip
def test_columns_that_cannot_be_saved_are_named(tmp_path: Path, data: Any, key: str) -> None:
    assert raised(InvalidArgumentError, save, tmp_path / "d", data).key == key
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.slow
def test_rows_are_not_held_in_memory(tmp_path: Path) -> None:
    def peak_of(n_rows: int) -> int:
        gc.collect()
        tracemalloc.start()
        save(tmp_path / "d", ({"i": i, "v": np.arange(i % 200)} for i in range(n_rows)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak_of(3000)  # what is loaded and remembered once
    few = peak_of(12_000)
    assert peak_of(60_000) < 1.1 * few


def test_columns_take_no_memory_for_each_row(tmp_path: Path) -> None:
    column = np.zeros(200_000, np.int8)
    save(tmp_path / "a", {"x": column[:1]})  # what is loaded once
    with mock.patch.object(saving, "encode_column_batches", return_value=()):
        tracemalloc.start()
        save(tmp_path / "b", {"x": column})
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < column.size


def test_rows_come_from_a_data_set_that_does_not_know_its_length(tmp_path: Path) -> None:
    save(tmp_path / "a", {"x": np.arange(5)})
    rows = TFRecordDataset(tmp_path / "a").filter(len).map(lambda r: {"x": len(r)})
    save(tmp_path / "b", rows)
    assert load(tmp_path / "b")["x"].shape == (5,)


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "d"
    save(path, {"x": np.arange(3)})

    def rows() -> Iterator[dict[str, Any]]:
        yield {"x": 1}
        raise KeyboardInterrupt

    raised(KeyboardInterrupt, save, path, rows())
    same(load(path), {"x": np.arange(3)})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["d", "d.schema.json"]


def test_a_sidecar_that_cannot_be_written_stops_the_data(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "d", {"x": np.arange(3)}, tmp_path / "none" / "s.json")
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize("is_link", [False, True])
def test_a_sidecar_never_replaces_its_own_data(tmp_path: Path, is_link: bool) -> None:
    (path := tmp_path / "d").write_bytes(b"what was there")
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(InvalidArgumentError) as caught:
        save(path, {"x": np.arange(3)}, tmp_path / "link" if is_link else path)
    assert caught.value.reason == Reason.BAD_ARGUMENT
    assert path.read_bytes() == b"what was there"


def test_a_sidecar_elsewhere_removes_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "d"
    save(path, {"x": np.zeros(3)})
    save(path, {"x": np.zeros(3, complex)}, tmp_path / "s")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["d", "s"]
    assert load(path, schema=tmp_path / "s")["x"].dtype == np.complex128
    (tmp_path / "link").symlink_to(tmp_path / "d.schema.json")
    save(path, {"x": np.zeros(2)}, tmp_path / "link")
    assert load(path)["x"].dtype == np.float64


@pytest.mark.parametrize("first", [None, np.zeros(3)])
@pytest.mark.parametrize("n_done", [0, 1])
def test_a_crash_between_the_two_files_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Any, n_done: int
) -> None:
    path = tmp_path / "d"
    if first is not None:
        save(path, {"x": first})
    replace = os.replace
    done: list[Any] = []

    def crash(source: Any, place: Any) -> None:
        if len(done) == n_done:
            os._exit(9)
        done.append(place)
        replace(source, place)

    child = os.fork()
    if not child:
        monkeypatch.setattr(os, "replace", crash)
        save(path, {"x": np.ones(3, np.complex64)})
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9

    if first is None:
        raised(FileNotFoundError, load, path)
    elif n_done == 0:
        same(load(path), {"x": first})
    else:
        error = raised(InvalidArgumentError, load, path)
        assert (error.reason, error.source) == (Reason.BAD_ARGUMENT, f"{path}.schema.json")


@pytest.mark.parametrize("n_rows", [3, 20_000])
def test_a_sidecar_beside_other_data_is_rejected(tmp_path: Path, n_rows: int) -> None:
    path = tmp_path / "d"
    save(path, {"x": np.zeros(n_rows)}, lossless=True)
    with path.open("ab") as file, TFRecordWriter(file) as writer:
        writer.write_example({"x": np.ones(1).tobytes()})
    error = raised(InvalidArgumentError, load, path, match="delete the sidecar if the file")
    assert error.reason == Reason.BAD_ARGUMENT
    assert load(path, schema=f"{path}.schema.json")["x"].tolist() == [0.0] * n_rows + [1.0]


def test_lists_that_are_empty_in_all_rows_come_back(tmp_path: Path) -> None:
    schema = save(
        tmp_path / "a", [{"texts": ["a"], "numbers": [1.5]}, {"texts": [], "numbers": []}]
    )
    save(tmp_path / "b", [{"texts": [], "numbers": []}] * 5, schema=schema)
    data = load(tmp_path / "b")
    assert data["texts"].to_list() == data["numbers"].to_list() == [[]] * 5


def test_the_schema_may_be_anywhere(tmp_path: Path) -> None:
    data = {"x": np.arange(3, dtype=np.uint8)}
    schema = save(tmp_path / "d", data, tmp_path / "elsewhere.json")
    same(load(tmp_path / "d", schema=tmp_path / "elsewhere.json"), data)
    same(load(tmp_path / "d", schema=schema), data)
    assert load(tmp_path / "d")["x"].dtype == np.int64  # inferred
    raised(FileNotFoundError, load, tmp_path / "d", schema=tmp_path / "none.json")


def test_without_a_sidecar_it_is_inferred(tmp_path: Path) -> None:
    records = [
        encode_example({"n": i, "l": [0.5] * (i % 3), **({"m": i} if i % 2 else {})})
        for i in range(50)
    ]
    columns = load(write(tmp_path / "d", records))
    assert columns["n"].tolist() == list(range(50))
    assert columns["l"].row_lengths().tolist() == [i % 3 for i in range(50)]
    assert np.ma.getmaskarray(columns["m"]).tolist() == [i % 2 == 0 for i in range(50)]
    assert columns["m"].compressed().tolist() == list(range(1, 50, 2))


def test_one_sidecar_does_not_speak_for_two_files(tmp_path: Path) -> None:
    save(tmp_path / "0", {"x": np.zeros(1, int)})
    save(tmp_path / "1", {"x": np.zeros(1, int)}, tmp_path / "s")
    error = raised(InvalidArgumentError, load, [tmp_path / "0", tmp_path / "1"])
    assert error.source == str(tmp_path / "1")
    assert load([tmp_path / "0", tmp_path / "1"], schema=tmp_path / "s")["x"].tolist() == [0, 0]


@pytest.mark.parametrize(("row", "reason"), [
    ({"x": [1, 2]}, Reason.WRONG_COUNT), ({"x": [1.5]}, Reason.WRONG_KIND),
    ({"z": 1}, Reason.MISSING),
])  # fmt: skip
def test_a_record_that_does_not_fit_is_named(tmp_path: Path, row: Any, reason: Reason) -> None:
    path = write(tmp_path / "d", [encode_example({"x": 1})] * 20 + [encode_example(row)])
    error = raised(InvalidArgumentError, load, path, schema=Schema({"x": FixedLenFeature([], int)}))
    assert (error.reason, error.key, error.index, error.source) == (reason, "x", 20, str(path))
    assert error.offset


@pytest.mark.parametrize("kind", [bytes, int, list])
def test_a_path_must_be_a_str_or_pathlike(tmp_path: Path, kind: Any) -> None:
    path = str(tmp_path / "d")
    other: Any = {bytes: b"s", int: 5, list: ["s"]}[kind]
    save(path, {"x": np.arange(3)})
    with pytest.raises(TypeError, match=r"^path must be a str or PathLike, not"):
        save(other, {"x": np.arange(3)})
    with pytest.raises(TypeError, match=r"^schema_path must be a str or PathLike, not"):
        save(path, {"x": np.arange(3)}, other)
    raised(TypeError, load, path, schema=other, match=r"^schema must be a Schema, a dict of spec")
    assert load(os.fsencode(path))["x"].tolist() == [0, 1, 2]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["d", "d.schema.json"]


def test_real_tfds_and_tfx_data_load_by_their_schemas(corpus: Path) -> None:
    folder = corpus / "files/google__trax/trax/data/testdata/para_crawl/ende/1.2.0"
    columns = load(str(folder / "*.tfrecord-*"), schema=folder)
    assert columns["en"].shape == (10,)
    assert load_schema(folder) == load_schema(folder / "features.json")
    folder = corpus / "files/tensorflow__tfx/tfx/components/testdata/penguin"
    columns = load(str(folder / "data/Split-eval/*"), schema=folder / "schema/schema.pbtxt")
    assert columns["species"].shape == (100, 1)


@pytest.mark.parametrize(("name", "text", "dtype"), [
    ("a.pbtxt", 'feature { name: "x" type: INT }', "int64"),
    ("a", '# hello\nfeature {\n  name: "x"\n  type: INT\n}', "int64"),
    pytest.param(
        "a.yaml", "x: {dtype: 9, shape: []}", "int64", marks=pytest.mark.needs("yaml")
    ),
    ("features.json", '{"featuresDict": {"features": {"x": {"classLabel": {}}}}}', "int64"),
    ("a", '\ufeff{"type": "FeaturesDict", "content": {"x": {"type": "Text"}}}', "string"),
])  # fmt: skip
def test_a_schema_is_known_by_content(tmp_path: Path, name: str, text: str, dtype: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    schema = load_schema(tmp_path / name)
    assert list(schema) == ["x"]
    assert schema["x"].dtype == (object if dtype == "string" else dtype)  # type: ignore[union-attr]


def test_the_file_with_a_bad_schema_is_named(tmp_path: Path) -> None:
    (tmp_path / "features.json").write_text('{"featuresDict": {"features": {"x": {"a": 1}}}}')
    error = raised(InvalidArgumentError, load_schema, tmp_path)
    assert (error.source, error.key) == (str(tmp_path / "features.json"), "x")


@pytest.mark.needs("remote")
def test_a_sidecar_that_a_url_names_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "d"
    save(path, {"x": np.arange(3)}, schema_path=f"file://{path}.schema.json")
    assert (tmp_path / "d.schema.json").exists()


def test_some_columns_come_by_name_in_the_order_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "data.tfrecord"
    data = {"image": np.zeros((3, 2, 2)), "box": {"x": np.arange(3), "y": ["a", "b", "c"]}}
    schema = save(path, data)

    found = load(path, columns=["box/y", "image"])
    assert list(found) == ["box/y", "image"]
    assert found["box/y"].tolist() == ["a", "b", "c"]
    assert found["image"].shape == (3, 2, 2)
    assert load(path, columns=[]) == {}
    with pytest.raises(InvalidArgumentError, match=r"'images'.*nearest.*'image'") as caught:
        load(path, columns=["images"])
    assert caught.value.reason is Reason.BAD_ARGUMENT
    raised(TypeError, load, path, "pandas", match="as_='pandas'")
    for described in ({"image": int}, schema):
        raised(TypeError, load, path, described, match="give it as schema=")
    some = load_schema(f"{path}.schema.json").select(["image"])
    assert [list(batch) for batch in read_batches(path, some)] == [["image"]]
    raised(TypeError, load, path, columns="image", match="columns")
    wrong = schema | Schema({"image": FixedLenFeature([], "int64")})  # which is not parsed
    assert list(load(path, schema=wrong, columns=["box/x"])) == ["box/x"]
    path.with_name("data.tfrecord.schema.json").unlink()
    assert load(path, columns=["box/x"])["box/x"].tolist() == [0, 1, 2]


def test_a_wrong_kind_in_a_file_with_a_sidecar_leads_to_load(tmp_path: Path) -> None:
    path = tmp_path / "p.tfrecord"
    save(path, {"price": np.arange(3) / 3}, lossless=True)
    batches = read_batches(path, {"price": float}, 2)
    with pytest.raises(InvalidArgumentError, match=r"p\.tfrecord\.schema\.json.*without a schema"):
        list(batches)
    (tmp_path / "p.tfrecord.schema.json").unlink()
    raised(InvalidArgumentError, list, batches, match=r"found string, expected float32$")


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_a_data_file_given_as_schema_is_recognised(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "p.tfrecord"
    save(path, {"n": np.arange(3)}, compression=compression)
    for read in (load_schema, lambda schema_path: load(path, schema=schema_path)):
        with pytest.raises(
            InvalidArgumentError, match=r"its sidecar is .*p\.tfrecord\.schema\.json"
        ):
            read(path)
    (tmp_path / "p.tfrecord.schema.json").unlink()
    raised(InvalidArgumentError, load_schema, path, match="a data file, not a schema; infer_schema")


@pytest.mark.parametrize("kind", ["npz", "Git LFS pointer", "HTML", "index", "HDF5", "npy"])
def test_a_foreign_file_given_as_schema_is_recognised(tmp_path: Path, kind: str) -> None:
    (tmp_path / "schema").write_bytes(FOREIGN[kind].data)
    with pytest.raises(InvalidArgumentError, match="not a schema file; it looks like") as caught:
        load_schema(tmp_path / "schema")
    assert FOREIGN[kind].name in str(caught.value)
    assert caught.value.source == str(tmp_path / "schema")


@pytest.mark.parametrize("size", [0, 65_535, 65_536, 65_537, 200_000])
def test_a_fingerprint_is_size_and_crc_of_the_first_64_kib(tmp_path: Path, size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    (tmp_path / "d").write_bytes(data)
    expected = {"bytes": size, "crc32_of_head": zlib.crc32(data[:65_536])}
    written = FingerprintingFile(mock.Mock())
    for start in range(0, size, 1000):
        written.write(data[start : start + 1000])
    assert fingerprint_of(str(tmp_path / "d")) == written.fingerprint == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([bytes(8)] * 2500, [1024, 1024, 452]),
        ([bytes(2**20)] * 10, [4, 4, 2]),
        ([bytes(20_000)] * 300, [210, 90]),
        ([bytes(16_384)] * 300, [241, 59]),  # every 16th is weighed, and counts for 16
        ([bytes(2**20)] * 4 + [bytes(2**20 - 1)] + [bytes(2**20)] * 4, [4, 5]),
        ([[bytes(1000)] * 100] * 50, [42, 8]),
        ([np.zeros(2**18, np.float32), "a" * 2**20] * 5, [4, 4, 2]),
        ([], []),
    ],
    ids=lambda some: f"{len(some)}",
)
def test_rows_are_batched_by_number_and_weight(values: list[Any], expected: list[int]) -> None:
    rows = [{"x": value} for value in values]
    assert [len(batch) for batch in row_batches(rows)] == expected


def test_the_folder_of_a_data_set_may_be_two_levels_below(tmp_path: Path) -> None:
    raised(FileNotFoundError, tfds_directory, tmp_path, match=r"no dataset_info\.json in")
    for number in range(2):
        (folder := tmp_path / "a" / f"1.0.{number}").mkdir(parents=True)
        (folder / "dataset_info.json").touch()
        for place in (folder, folder / "dataset_info.json", *folder.parents[: 2 * (not number)]):
            assert tfds_directory(place) == str(folder)
    raised(InvalidArgumentError, tfds_directory, tmp_path, match=r" a/1\.0\.0, a/1\.0\.1")


@pytest.mark.parametrize("make", [
    lambda columns: columns,
    lambda columns: [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ],
    pytest.param(
        lambda columns: pytest.importorskip("pyarrow").table(columns).to_reader(),
        marks=pytest.mark.needs("arrow"),
    ),
], ids=["columns", "rows", "stream"])  # fmt: skip
def test_float64_is_rounded_with_a_warning(make: Any, tmp_path: Path) -> None:
    columns = {"x": np.array([0.1, 0.5]), "exact": np.array([0.5, np.nan])}
    path = tmp_path / "a.tfrecord"
    with pytest.warns(UserWarning, match="float64 was rounded to float32 in 'x'; lossless") as told:
        schema = save(path, make(columns))
    assert len(told) == 1
    assert str(path) in str(told[0].message)
    assert schema.features == dict.fromkeys(columns, FixedLenFeature([], "float32"))
    found = load(path)
    assert found["x"].dtype == np.float64
    assert found["x"].tolist() == [float(np.float32(0.1)), 0.5]
    assert save(path, make({"exact": columns["exact"]})) == schema.select(["exact"])
    with pytest.raises(InvalidArgumentError, match=r"beyond float32.*lossless=True"):
        save(path, make({"x": np.array([0.5, 1e300])}))
    with pytest.warns(UserWarning, match="float64 was rounded to float32 in 'x'; lossless"):
        save(path, make({"x": np.array([0.5, 1e-300])}))  # which becomes 0
    with pytest.warns(UserWarning, match="float64 was rounded to float32 in 'x'; lossless"):
        save(path, make(columns), schema=schema)
    assert save(path, make(columns), lossless=True)["x"] == RawFeature([], "float64")
    assert load(path)["x"].tolist() == [0.1, 0.5]


EMPTY = np.array([])


def kinds_in(path: Path) -> list[str | None]:
    """Return the kind of the feature x in each record, "" without one, and None without the feature."""
    features = [Example.FromString(record).features.feature for record in TFRecordReader(path)]
    return [each["x"].WhichOneof("kind") or "" if "x" in each else None for each in features]


@pytest.mark.parametrize(("first", "values", "kind", "dtype"), [
    (None, [[1.5], []], "float_list", "float64"), (EMPTY, [[1.5], EMPTY], "float_list", "float64"),
    (EMPTY, [np.array([1, 2]), EMPTY], "int64_list", "int64"),
    (EMPTY, [np.array(["a"]), EMPTY], "bytes_list", "object"),
    ([], [np.ones(1, np.float32), EMPTY], "float_list", "float32"),
    (None, [[[1], [2, 3]], EMPTY], "int64_list", "int64"),
])  # fmt: skip
@pytest.mark.parametrize("lossless", [False, True])
def test_an_empty_list_has_the_kind_that_something_tells(
    tmp_path: Path, first: Any, values: list[Any], kind: str, dtype: str, lossless: bool
) -> None:
    path = tmp_path / "x"
    kind = "bytes_list" if lossless and dtype == "float64" else kind
    rows = [first, *values] if first is not None else values
    for data in ({"x": rows}, [{"x": value} for value in rows]):
        save(path, data, lossless=lossless)
        assert kinds_in(path) == [kind] * len(rows)
        found = load(path)["x"]
        assert (found.dtype, [len(row) for row in found]) == (dtype, list(map(len, rows)))
    with mock.patch.object(builder, "_BATCH_ROWS", 1):
        save(path, ({"x": value} for value in rows), lossless=lossless)
    # Before any value nothing tells it.
    assert kinds_in(path) == [None] * (len(rows) - 2) + [kind] * 2
    assert load(path)["x"].to_list() == found.to_list()
    save(tmp_path / "again", load(path), lossless=lossless)
    assert kinds_in(tmp_path / "again") == [kind] * len(rows)


@pytest.mark.parametrize("column", [
    RaggedTensor(np.array([], object), np.array([0, 0])), np.empty((1, 0), object),
], ids=["ragged", "dense"])  # fmt: skip
def test_objects_of_which_there_are_none_are_byte_strings(tmp_path: Path, column: Any) -> None:
    save(tmp_path / "x", {"x": column})
    with TFRecordWriter(tmp_path / "y") as writer:
        writer.write_examples({"x": column})
    assert kinds_in(tmp_path / "x") == kinds_in(tmp_path / "y") == ["bytes_list"]
    same(load(tmp_path / "x")["x"], column)


def test_an_empty_row_of_raw_numbers_is_one_empty_string(tmp_path: Path) -> None:
    save(tmp_path / "x", {"x": [[0.1], [], [0.2, 0.3]]}, lossless=True)
    features = [Example.FromString(record).features for record in TFRecordReader(tmp_path / "x")]
    assert features[1].feature["x"].bytes_list.value == [b""]
    assert load(tmp_path / "x")["x"].to_list() == [[0.1], [], [0.2, 0.3]]


def test_what_is_missing_stays_out_of_the_record(tmp_path: Path) -> None:
    for data in ({"x": [1.5, None]}, [{"x": 1.5}, {"x": None}]):
        save(tmp_path / "x", data)
        assert kinds_in(tmp_path / "x") == ["float_list", None]


def test_an_empty_array_in_a_dictionary_tells_no_kind(tmp_path: Path) -> None:
    rows: list[Any] = [
        {"x": EMPTY}, {"x": np.array([1, 2])}, {"x": np.zeros(0, np.int64)}, {"x": []},
    ]  # fmt: skip
    with TFRecordWriter(tmp_path / "x") as writer:
        for row in rows * 20:  # also by plans for rows of one form
            writer.write_example(row)
        writer.write_examples(rows * 20)
        writer.write_examples({"x": [EMPTY, EMPTY]})
    assert kinds_in(tmp_path / "x") == ["", "int64_list", "int64_list", ""] * 40 + [""] * 2


def test_columns_that_are_written_round_with_a_warning(tmp_path: Path) -> None:
    columns = {
        "x": [0.1, 2.0], "y": np.array([0.5, np.inf]), "n": np.array([1, 2]), "s": ["a", "b"],
    }  # fmt: skip
    narrowed, plain = schema_of(columns), {"x": FixedLenFeature([], "float32")}
    with TFRecordWriter(tmp_path / "x") as writer:
        for args in ((columns,), (columns, narrowed), ({"x": np.array([1e-300])},)):
            with pytest.warns(UserWarning, match=r"rounded to float32 in 'x'; .*lossless=True"):
                writer.write_examples(*args)
        # The rows of dictionaries, and what a schema says is float32 or kept.
        writer.write_examples([{"x": 0.1}])
        writer.write_examples({"x": np.array([0.1])}, plain)
        writer.write_examples(columns, schema_of(columns, lossless=True))


def test_a_sidecar_of_rounded_numbers_has_a_version_of_its_own(tmp_path: Path) -> None:
    for columns, lossless, version in (
        ({"x": np.array([0.5])}, False, 2),
        ({"x": np.array([0.5])}, True, 1),
        ({"x": np.ones(1, np.float32)}, False, 1),
    ):
        schema = save(tmp_path / "x", columns, lossless=lossless)
        document = json.loads((tmp_path / "x.schema.json").read_text())
        assert document["version"] == version
        assert load_schema(tmp_path / "x.schema.json") == schema


def test_integers_that_others_see_as_negative_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    columns = {"id": np.array([1, 2**63], np.uint64), "small": np.array([0, 2**63 - 1], np.uint64)}
    save(path, columns, lossless=True)
    with pytest.warns(UserWarning, match=r"a\.tfrecord: uint64 .* as negative .* in 'id'$") as told:
        save(path, columns)
    assert len(told) == 1
    with pytest.warns(UserWarning, match="as negative"):
        save(path, [{"id": value} for value in columns["id"]])
    assert load(path)["id"].tolist() == columns["id"].tolist()


@pytest.mark.parametrize("name", ["a.parquet", "a.csv.gz", "a.jsonl", "a@2.feather"])
def test_names_of_other_formats_are_refused(name: str, tmp_path: Path) -> None:
    error = raised(InvalidArgumentError, save, tmp_path / name, {"x": [1]}, match="convert")
    assert error.source == str(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


PADDED: dict[str, Any] = {
    "i": FixedLenSequenceFeature([], int, allow_missing=True, default_value=-9),
    "f": FixedLenSequenceFeature([2], float, allow_missing=True, default_value=0.5),
    "s": FixedLenSequenceFeature([], bytes, allow_missing=True, default_value="none"),
    "v": VarLenFeature(int),
}


@pytest.mark.parametrize("is_scattered", [True, False])
def test_rows_are_padded_with_the_default_wherever_blocks_and_files_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_scattered: bool
) -> None:
    rows = [
        {"i": [*range(n)], "f": [0.25] * (2 * n), "s": [b"x" * n] * n, "v": [*range(n)]}
        for n in (2, 0, 3, 1, 3, 0)
    ]
    paths = [tmp_path / f"{i}.tfrecord" for i in range(3 if is_scattered else 1)]
    for i, path in enumerate(paths):
        with TFRecordWriter(path) as writer:
            for row in rows[i * len(rows) // len(paths) : (i + 1) * len(rows) // len(paths)]:
                writer.write_example({name: row[name] for name in row if row["i"]})
    whole = parse_example([record for path in paths for record in TFRecordReader(path)], PADDED)
    assert whole["i"].tolist()[3] == [0, -9, -9]
    if not is_scattered:

        def one_by_one(reader: TFRecordReader, *_: Any) -> Iterator[Block]:
            for record in reader:
                yield Block.from_records([record])

        monkeypatch.setattr(TFRecordReader, "blocks", one_by_one)
    same(load(paths, schema=PADDED), whole)
    for name in PADDED:
        same(load(paths, [name], schema=PADDED)[name], whole[name])
    schema = Schema(PADDED, {"i": Original("int8", (None,)), "s": Original("string", None, "str")})
    found = load(paths, schema=schema)
    same(found["i"], whole["i"].astype("i1"))
    assert found["s"].tolist()[1] == ["none"] * 3


def test_a_file_that_does_not_fit_its_sidecar_is_inflated_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord.gz"
    save(path, {"x": np.arange(5)})
    sidecar = tmp_path / "x.tfrecord.gz.schema.json"
    content = sidecar.read_bytes()
    with TFRecordWriter(path) as writer:
        writer.write(bytes(100_000_000))
    sidecar.write_bytes(content)
    tracemalloc.start()
    raised(InvalidArgumentError, load, path, match="written for other data")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80_000_000


class TestAppend:
    @given(st.lists(st.lists(st.integers(-9, 9), max_size=5), min_size=1, max_size=4), st.data())
    def test_rows_are_as_of_one_save(self, parts: list[list[int]], data: st.DataObject) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, data.draw(st.sampled_from(["a", "a.tfrecord.gz"])))
            schema = schema_of({"x": np.zeros(1, np.int16), "v/f": [0.5], "v/s": ["a"]})
            for part in parts:
                rows = [{"x": x, "v": {"f": x / 4, "s": str(x)}} for x in part]
                save(
                    path, iter(rows) if data.draw(st.booleans()) else rows, schema=schema, mode="a"
                )
            loaded, numbers = load(path), list(itertools.chain(*parts))
            assert loaded["x"].dtype == np.int16
            assert loaded["x"].tolist() == numbers
            if not numbers:  # nothing tells how rows are nested
                return
            assert loaded["v"]["s"].tolist() == list(map(str, numbers))

    @pytest.mark.parametrize(("data", "key"), [
        ([{"x": 1, "s": "a"}, {"x": "1", "s": "a"}], "x"),
        ({"x": np.array([70_000]), "s": ["a"]}, "x"), ([{"x": 1}], "s"),
        ({"x": [1], "s": ["a"], "y": [1]}, "y"), ([{"x": 1, "s": {"t": "a"}}], "s/t"),
    ])  # fmt: skip
    def test_a_misfit_leaves_the_file_as_it_was(self, tmp_path: Path, data: Any, key: str) -> None:
        save(tmp_path / "a", {"x": np.arange(3, dtype=np.int16), "s": ["a", "b", "c"]})
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        error = raised(InvalidArgumentError, save, tmp_path / "a", data, mode="a")
        assert (error.key, error.source) == (key, str(tmp_path / "a"))
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before

    def test_rows_that_raise_leave_the_file_as_it_was(self, tmp_path: Path) -> None:
        def rows() -> Iterator[dict[str, int]]:
            yield from ({"x": i} for i in range(5000))
            raise ZeroDivisionError

        save(tmp_path / "a", {"x": [1]})
        raised(ZeroDivisionError, save, tmp_path / "a", rows(), mode="a")
        assert load(tmp_path / "a")["x"].tolist() == [1]

    @pytest.mark.parametrize(("name", "options"), [
        ("a@2", {}), ("a", {"num_shards": 2}), ("a", {"schema_path": "b"}),
        ("a", {"format": "tf.data"}), ("memory://a", {}), ("raw", {}),
        ("old", {"schema": {"x": float}}), ("old", {"mode": "x"}),
    ])  # fmt: skip
    def test_what_cannot_be_appended_to(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, options: Any
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with TFRecordWriter("raw") as writer:
            writer.write(b"")
        save("old", {"x": [1]})
        with pytest.raises(InvalidArgumentError, match=r"mode|no sidecar|differs"):
            save(name, {"x": [1]}, **{"mode": "a", **options})
        assert len(list(tmp_path.iterdir())) == 3

    @pytest.mark.needs("dataframes")
    def test_a_data_frame(self, tmp_path: Path) -> None:
        import pandas as pd

        frame = pd.DataFrame({"x": pd.array([1, None], dtype="Int16")})
        for _ in range(2):
            save(tmp_path / "a", frame, mode="a")
        expected = pd.concat([frame, frame], ignore_index=True)
        pd.testing.assert_frame_equal(load(tmp_path / "a", as_="pandas"), expected)
