"""The namespace tf without TensorFlow: its names, errors, tensors and data sets."""

import collections
import importlib
import operator
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecord_lite
from tests.support.corpus import ROOT
from tests.support.errors import raised
from tests.support.small_files import write_records
from tests.support.subprocesses import run_fresh
from tests.tf.tf_scripts import OURS, SCRIPTS, run_script
from tfrecord_lite import Block, TFRecordWriter, encode_example, errors, tf
from tfrecord_lite.dataset.plan import worker_part
from tfrecord_lite.dataset.sources import Files
from tfrecord_lite.tf._parse_ahead import ParsedGroups, RecordTensor
from tfrecord_lite.tf._tensor import map_structure, unwrap, wrap


def test_the_package_does_not_load_it_unless_it_is_asked_for() -> None:
    out = run_fresh(
        "import sys, tfrecord_lite\n"
        "before = 'tfrecord_lite.tf' in sys.modules\n"
        "print(before, tfrecord_lite.tf.int64.name, 'tensorflow' in sys.modules)"
    )
    assert out == "False int64 False\n"


@pytest.mark.parametrize(
    "line", ["from tfrecord_lite import tf", "import tfrecord_lite.tf.compat.v1 as tf"]
)
def test_every_way_to_import_it(line: str) -> None:
    assert run_fresh(
        f"{line}\nprint(tf.train.Example(), tf.io.FixedLenFeature, tf.int64.name)"
    ) == (" <class 'tfrecord_lite.schema.features.FixedLenFeature'> int64\n")


MODULES = [
    "tf", "tf.data", "tf.data.experimental", "tf.dtypes", "tf.errors", "tf.image", "tf.io",
    "tf.io.gfile", "tf.python_io", "tf.sparse", "tf.train", "tf.compat", "tf.compat.v1",
    "tf.compat.v1.io",
]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_a_name_that_is_not_there_is_an_attribute_error_that_says_what_to_use(name: str) -> None:
    module = importlib.import_module(f"tfrecord_lite.{name}")
    with pytest.raises(
        AttributeError, match=r"tf\S*no_such_name is not part of tfrecord_lite: \w+"
    ) as caught:
        module.no_such_name  # noqa: B018
    assert caught.value.name == "no_such_name"
    assert all(hasattr(module, public) for public in module.__all__)


@pytest.mark.parametrize(("name", "hint"), [
    ("data.Dataset.shuffel", "did you mean 'shuffle'?"),
    ("compat.v1.io.parse_single_exampel", "did you mean 'parse_single_example'?"),
    ("image.resize", "Pillow"), ("data.Dataset.window", "itertools"),
    ("compat.v1.gfile", "tf.io.gfile"),
])  # fmt: skip
def test_the_hint_fits_the_name(name: str, hint: str) -> None:
    error = raised(AttributeError, operator.attrgetter(name), tf)
    prefix = f"tf.{name.removeprefix('compat.v1.')} is not part of tfrecord_lite: "
    assert str(error).startswith(prefix)
    assert hint in str(error).removeprefix(prefix)


def test_tensors_have_no_methods_of_arrays() -> None:
    raised(AttributeError, getattr, tf.constant(1), "mean", match="numpy")


def test_what_is_there_is_the_library() -> None:
    assert tf.train.Example is tfrecord_lite.messages.Example
    assert tf.io.FixedLenFeature is tfrecord_lite.FixedLenFeature
    assert tf.io.TFRecordWriter is tf.python_io.TFRecordWriter
    assert issubclass(tf.io.TFRecordWriter, TFRecordWriter)
    assert tf.compat.v1.train is tf.train
    assert tf.errors.DataLossError is errors.DataLossError


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_where_there_is_no_tensorflow(name: str, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    assert run_script(OURS, SCRIPTS[name], tmp_path / "empty")


arrays = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
    st.floats(width=32).map(np.float32),
    st.binary(max_size=4),
    st.lists(st.integers(0, 255), max_size=3).map(lambda items: np.array(items, np.uint8)),
    st.lists(st.binary(max_size=3), min_size=1, max_size=3).map(
        lambda items: np.array([*items, None], object)[:-1]
    ),
)
structures = st.recursive(
    arrays,
    lambda inner: st.one_of(
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=6,
)


def described(value: Any) -> Any:
    def leaf(item: Any) -> Any:
        return item if isinstance(item, bytes) else (str(item.dtype), item.shape, item.tolist())

    return repr(map_structure(leaf, value))


@given(structures)
def test_plain_values_survive_as_tensors(value: Any) -> None:
    wrapped = wrap(value)
    assert described(unwrap(wrapped)) == described(value)
    assert described(unwrap(pickle.loads(pickle.dumps(wrapped)))) == described(value)
    map_structure(lambda item: isinstance(item, tf.Tensor) or pytest.fail(repr(item)), wrapped)


@given(arrays)
def test_a_tensor_shares_its_memory_and_answers_as_an_array(value: Any) -> None:
    tensor = tf.Tensor(value)
    assert tensor.numpy() is value or np.shares_memory(tensor.numpy(), value) or not np.size(value)
    assert tensor.shape == np.shape(value)
    assert tensor.dtype == (np.object_ if isinstance(value, bytes) else value.dtype)
    assert np.array_equal(np.asarray(tensor), np.asarray(value, tensor.dtype), equal_nan=False) or (
        np.isnan(value)
    )


def test_ragged_and_sparse_columns_keep_their_parts() -> None:
    ragged = tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 3])
    sparse = tf.SparseTensor([[0], [2]], [b"a", b"b"], [3])
    for made in (ragged, pickle.loads(pickle.dumps(ragged))):
        assert made.to_list() == [[1], [2, 3]]
        assert made.values.dtype == tf.int32
        assert made.to_tensor().numpy().tolist() == [[1, 0], [2, 3]]
    assert tf.cast(ragged, tf.float32).values.dtype == tf.float32
    for made in (sparse, pickle.loads(pickle.dumps(sparse))):
        assert tf.sparse.to_dense(made).numpy().tolist() == [b"a", b"", b"b"]
    assert isinstance(unwrap(sparse), tfrecord_lite.SparseTensor)


def test_dtypes_are_numpys_under_another_name() -> None:
    for name in tf.dtypes.__all__:
        dtype = getattr(tf, name, None)
        if not isinstance(dtype, tf.DType) or name in {"bfloat16", "string"}:
            continue
        assert np.dtype(dtype) == dtype
        assert np.zeros(1, dtype).dtype == dtype
        assert pickle.loads(pickle.dumps(dtype)) == dtype
    assert tf.string == np.object_
    assert tf.int64 != tf.int32
    assert tf.int64 != "no dtype"
    with pytest.raises(AttributeError, match="name"):
        tf.int64.name = "other"  # type: ignore[misc]
    assert tf.io.FixedLenFeature([], tf.int64) == tf.io.FixedLenFeature([], np.int64)


def test_settings_that_would_change_a_result_are_rejected() -> None:
    pytest.importorskip("PIL")
    gif = b"GIF89a" + bytes(20)
    for ask in (
        lambda: tf.io.decode_image(gif),
        lambda: tf.io.decode_png(b"", dtype=tf.float32),
        lambda: tf.io.decode_jpeg(b"", ratio=2),
        lambda: tf.io.encode_jpeg(np.zeros((1, 1, 3), np.uint8), "grayscale"),
        lambda: tf.io.gfile.GFile("gs://bucket/file"),
        lambda: tf.data.Dataset.range(1).cache("file"),
    ):
        assert raised(tf.errors.InvalidArgumentError, ask).reason is errors.Reason.UNSUPPORTED


def files(folder: Path) -> list[str]:
    """Write three files of seven records, two and none."""
    out = []
    for number, size in enumerate((7, 2, 0)):
        out.append(str(folder / f"{number}.tfrecord"))
        write_records(Path(out[-1]), (encode_example({"x": 10 * number + i}) for i in range(size)))
    return out


def number_of(record: Any) -> Any:
    return tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([], tf.int64)})["x"]


def records_of(name: Any) -> tf.data.Dataset:
    return tf.data.TFRecordDataset(name).map(number_of)


def counted() -> Any:
    yield from range(9)


def double(x: Any) -> Any:
    return {"x": x * 2, "text": tf.constant("t")}


def datasets(folder: Path) -> dict[str, tf.data.Dataset]:
    """Return data sets that end in each stage which is the namespace's own."""
    names = files(folder)
    numbers = tf.data.Dataset.range(9)
    return {
        "slices": numbers,
        "calls": tf.data.Dataset.from_generator(counted, tf.int64),
        "map": numbers.map(double),
        "interleave": tf.data.Dataset.from_tensor_slices(names).interleave(records_of, 2, 2),
        "flat_map": tf.data.Dataset.from_tensor_slices(names).flat_map(records_of),
        "shuffled inside": tf.data.Dataset.list_files(names, seed=1).flat_map(
            lambda name: records_of(name).shuffle(3, seed=2)
        ),
        "unbatch": numbers.batch(4).unbatch(),
        "batch": numbers.map(double).batch(4),
        "zip": tf.data.Dataset.zip((numbers, numbers.map(double).shuffle(4, seed=1))),
        "concatenate": numbers.take(4).map(double).concatenate(numbers.skip(2).map(double)),
        "padded_batch": numbers.map(lambda x: np.arange(int(x))).padded_batch(4),
    }


STAGES = ["slices", "calls", "map", "interleave", "flat_map", "unbatch", "concatenate"]


@pytest.mark.parametrize("name", [*STAGES, "shuffled inside", "batch", "padded_batch", "zip"])
def test_each_stage_goes_on_from_each_of_its_states(name: str, tmp_path: Path) -> None:
    inner = datasets(tmp_path)[name]._dataset
    whole = [repr(element) for element in inner.set_epoch(0)]
    assert len(whole) > 2
    for n in range(len(whole) + 1):
        run = iter(inner.set_epoch(0))
        head = [repr(next(run)) for _ in range(n)]
        again = iter(inner)
        again.load_state_dict(run.state_dict())
        assert head + [repr(element) for element in again] == whole


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_workers_share_the_elements(name: str, n_workers: int, tmp_path: Path) -> None:
    inner = datasets(tmp_path)[name]._dataset
    whole = sorted(repr(element) for element in inner)
    parts = (worker_part(inner._plan, n_workers, i) for i in range(n_workers))
    assert sorted(repr(each) for part in parts for each in tfrecord_lite.Dataset(part)) == whole


@given(st.integers(0, 40), st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=3))
def test_parts_of_parts_are_those_of_a_list(n: int, cuts: list[tuple[int, int]]) -> None:
    plan: Any = tf.data.Dataset.range(n)._dataset._plan
    expected = list(range(n))
    for n_parts, number in cuts:
        plan = plan.part(n_parts, number % n_parts)
        expected = expected[number % n_parts :: n_parts]
    assert [int(x) for x in tfrecord_lite.Dataset(plan)] == expected
    assert plan.size() == len(expected)


def test_data_sets_can_be_pickled_if_their_functions_can(tmp_path: Path) -> None:
    made = datasets(tmp_path)["interleave"].batch(3)
    again = pickle.loads(pickle.dumps(made))
    assert [repr(x) for x in again] == [repr(x) for x in made]


def of_some_rank(x: Any) -> Any:
    rank = 1 + int(x)
    return tf.SparseTensor([[0] * rank], [1], [2] * rank)


def test_a_list_of_tensors_is_several_and_one_of_numbers_is_a_tensor() -> None:
    (several,) = tf.data.Dataset.range(1).map(lambda x: [x, x + 1])
    (one,) = tf.data.Dataset.range(1).map(lambda _: [5, 6])
    assert isinstance(several, tuple)
    assert one.numpy().tolist() == [5, 6]


def test_epochs_reshuffle_unless_they_should_not() -> None:
    numbers = tf.data.Dataset.range(30)
    for reshuffles, is_same in ((True, False), (None, False), (False, True)):
        shuffled = numbers.shuffle(30, seed=1, reshuffle_each_iteration=reshuffles)
        first, second = ([int(x) for x in shuffled] for _ in range(2))
        assert (first == second) == is_same
        assert sorted(first) == sorted(second) == list(range(30))


def test_files_are_listed_in_random_order_unless_said_otherwise(tmp_path: Path) -> None:
    for i in range(10):
        (tmp_path / f"{i}").touch()
    pattern = str(tmp_path / "*")
    listed = [name.numpy() for name in tf.data.Dataset.list_files(pattern, shuffle=False)]
    shuffled = [name.numpy() for name in tf.data.Dataset.list_files(pattern, seed=1)]
    assert listed == sorted(listed)
    assert shuffled != listed
    assert sorted(shuffled) == listed


def test_names_of_a_tuple_stay() -> None:
    pair = collections.namedtuple("pair", "x y")  # noqa: PYI024 - as scripts have them
    for batch in tf.data.Dataset.range(2).map(lambda x: pair(x, 2 * x)):
        assert batch.y.numpy() == 2 * batch.x.numpy()


def test_the_files_of_a_bucket_are_listed() -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    for i in range(2):
        memory.pipe(f"/listed/{i}.tfrec", b"")
    names = tf.io.gfile.glob(["memory://listed/*.tfrec", "memory://listed/*.none"])
    assert [name.rpartition("/")[2] for name in names] == ["0.tfrec", "1.tfrec"]
    assert list(tf.data.TFRecordDataset(names)) == []


def test_the_spec_of_no_element_is_an_error_and_of_rows_of_any_length_without_lengths() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="no element"):
        _ = tf.data.Dataset.range(3).take(0).element_spec
    values = tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1])
    spec = tf.data.Dataset.from_tensors(values).element_spec
    assert (spec.shape, spec.dtype) == ((None, None), tf.int32)


def test_a_file_is_not_written_over_unless_asked_for(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    for name in (one, two):
        with tf.io.gfile.GFile(name, "w") as file:
            file.write(name)
    for change in (tf.io.gfile.copy, tf.io.gfile.rename):
        raised(tf.errors.AlreadyExistsError, change, one, two)
    tf.io.gfile.rename(one, two, overwrite=True)
    assert tf.io.read_file(two) == one
    tf.io.gfile.remove(two)
    assert tf.io.gfile.listdir(tmp_path) == []


def test_what_cannot_be_stacked_or_sliced_is_rejected() -> None:
    data, spec = tf.data.Dataset, tf.TensorSpec([2], tf.int32)
    counts = data.range(3).map(lambda x: np.arange(int(x)))
    ranks = data.range(2).map(of_some_rank)
    for ask, reason in (
        (lambda: data.from_tensor_slices(1), errors.Reason.BAD_SHAPE),
        (lambda: data.from_tensor_slices(([1], [1, 2])), errors.Reason.WRONG_COUNT),
        (lambda: data.range(3).batch(0), errors.Reason.BAD_ARGUMENT),
        (lambda: list(counts.batch(3)), errors.Reason.WRONG_COUNT),
        (lambda: list(data.range(3).padded_batch(3, [1])), errors.Reason.BAD_SHAPE),
        (lambda: list(counts.padded_batch(3, [1])), errors.Reason.BAD_SHAPE),
        (lambda: list(ranks.batch(2)), errors.Reason.BAD_SHAPE),
        (lambda: list(ranks.padded_batch(2)), errors.Reason.UNSUPPORTED),
        (
            lambda: list(data.from_generator(lambda: iter([[1]]), output_signature=spec)),
            errors.Reason.BAD_SHAPE,
        ),
        (lambda: data.list_files("no/such/*"), errors.Reason.BAD_ARGUMENT),
    ):
        assert raised(tf.errors.InvalidArgumentError, ask).reason is reason


SPEC: dict[str, Any] = {
    "x": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
    "pair": tf.io.FixedLenFeature([2], tf.float32, default_value=[0, 0]),
    "text": tf.io.FixedLenFeature([], tf.string, default_value=""),
    "many": tf.io.VarLenFeature(tf.int64),
    "words": tf.io.VarLenFeature(tf.string),
}
PADDED = tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)
MORE: list[dict[str, Any]] = [{}, {"padded": PADDED}, {"ragged": tf.io.RaggedFeature(tf.int64)}]
rows = st.fixed_dictionaries(
    {},
    optional={
        "x": st.integers(-5, 5),
        "pair": st.just(np.array([1.5, 2], np.float32)),
        "text": st.binary(max_size=3),
        "many": st.lists(st.integers(-3, 3), min_size=1, max_size=3),
        "words": st.lists(st.binary(max_size=3), min_size=1, max_size=3),
        "padded": st.lists(st.integers(-3, 3), min_size=1, max_size=3),
        "ragged": st.lists(st.integers(-3, 3), min_size=1, max_size=3),
    },
)


@given(st.lists(rows, min_size=1, max_size=40), st.data())
def test_a_record_parsed_with_its_neighbours_is_as_parsed_alone(given_rows: Any, data: Any) -> None:
    records = [encode_example(row) for row in given_rows]
    bad = data.draw(st.none() | st.integers(0, len(records) - 1))
    if bad is not None:
        records[bad] = b"\xff"
    near = ParsedGroups(chunk_of(records))
    spec = SPEC | data.draw(st.sampled_from(MORE))
    order = data.draw(st.lists(st.integers(0, len(records) - 1), max_size=60))
    for i in order:
        record = RecordTensor(records[i], near, i)
        outcomes = []
        for each in (record, records[i]):
            try:
                outcomes.append(repr(tf.io.parse_single_example(each, spec)))
            except tf.errors.InvalidArgumentError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def test_few_groups_are_kept_and_rows_share_no_memory_with_them() -> None:
    records = [encode_example({"pair": np.full(2, i, np.float32)}) for i in range(3000)]
    near = ParsedGroups(chunk_of(records))
    for i, record in enumerate(records):
        row = tf.io.parse_single_example(RecordTensor(record, near, i), SPEC)
        assert row["pair"].numpy().tolist() == [i, i]
        assert row["pair"].numpy().base is None
        assert row["many"].values.numpy().base is None
    assert 1 <= len(near._groups) <= 4
    assert ParsedGroups(chunk_of([bytes(300_000)] * 2))._largest == 3


def test_a_batch_of_records_is_parsed_where_it_is(tmp_path: Path) -> None:
    names = files(tmp_path)
    seen = []

    def parse(batch: Any, key: str = "x") -> Any:
        seen.append(pickle.loads(pickle.dumps(batch)).numpy().tolist())
        assert batch.shape == (len(batch),)
        return tf.io.parse_example(batch, {key: tf.io.FixedLenFeature([], tf.int64)})

    batches = tf.data.TFRecordDataset(names).batch(4)
    columns = [batch["x"].numpy().tolist() for batch in batches.map(parse)]
    assert seen == [batch.tolist() for batch in batches.as_numpy_iterator()]
    assert columns == [[0, 1, 2, 3], [4, 5, 6, 10], [11]]
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        list(batches.map(lambda batch: parse(batch, "y")))
    assert (caught.value.source, caught.value.index) == (names[0], 0)
    records = tf.data.TFRecordDataset(names)
    first, many = (next(iter(x.map(lambda r: r + b"x"))).numpy() for x in (records, batches))
    assert first == many[0] == next(records.as_numpy_iterator()) + b"x"


def chunk_of(records: list[bytes]) -> Block:
    places = np.zeros((len(records), 3), np.int64)
    return replace(Block.from_records(records), sources=["file"], places=places)


def test_what_a_function_makes_of_an_error_is_that_records_own(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_records(path, (encode_example({"x": i}) if i != 17 else b"\xff" for i in range(30)))
    seen = []

    def parse(record: Any) -> Any:
        assert isinstance(record, RecordTensor)
        try:
            seen.append(int(number_of(record)))
        except tf.errors.InvalidArgumentError:
            seen.append(-1)
        return record

    list(tf.data.TFRecordDataset(path).map(parse))
    assert seen == [*range(17), -1, *range(18, 30)]


@pytest.mark.parametrize(("is_plain", "make"), [
    (True, tf.data.TFRecordDataset), (True, lambda name: tf.data.TFRecordDataset(name, "")),
    (False, lambda name: tf.data.TFRecordDataset(name).take(9)),
    (False, lambda name: tf.data.TFRecordDataset(name, num_parallel_reads=2)),
    (False, lambda n: tf.data.TFRecordDataset(n, None, None, 2 if b"0.tf" in n.numpy() else 1)),
])  # fmt: skip
@pytest.mark.parametrize("buffer", [1, 2])
def test_files_are_interleaved_by_the_library_where_they_are_nothing_but_files(
    is_plain: bool, make: Callable[[Any], tf.data.Dataset], buffer: int, tmp_path: Path
) -> None:
    listed = tf.data.Dataset.list_files(files(tmp_path), shuffle=False)
    listed = listed.shuffle(buffer, seed=1) if buffer > 1 else listed
    dataset = listed.interleave(make, cycle_length=2)
    assert isinstance(dataset._dataset._plan, Files) == (is_plain and buffer == 1)
    slow = listed.map(lambda name: name).interleave(make, cycle_length=2)
    assert repr(list(dataset.map(number_of))) == repr(list(slow.map(number_of)))
    assert len(list(dataset)) == 9


@pytest.mark.parametrize(("n", "third"), [(1, 1), (2, 1), (3, 1), (4, 2), (7, 3), (16, 6)])
@pytest.mark.parametrize("how", ["process_cpu_count", "sched_getaffinity"])
def test_turns_are_taken_among_as_many_files_as_tensorflow_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, third: int, how: str
) -> None:
    monkeypatch.delattr("os.process_cpu_count", raising=False)
    found = n if how == "process_cpu_count" else set(range(n))
    monkeypatch.setattr(f"os.{how}", lambda *_: found, raising=False)
    names = [f"{tmp_path / 'a'}{i:02}" for i in range(20)]
    for i, name in enumerate(names):
        with tf.io.TFRecordWriter(name) as writer:
            writer.write(b"%d.0" % i)
            writer.write(b"%d.1" % i)

    def cycle(dataset: tf.data.Dataset) -> int:
        """Return before how many others a file's second record comes."""
        return [record.numpy()[-2:] for record in dataset].index(b".1")

    files, auto = tf.data.Dataset.from_tensor_slices(names), tf.data.AUTOTUNE
    make = tf.data.TFRecordDataset
    assert cycle(make(names, num_parallel_reads=auto)) == third
    for calls, length in {auto: third, None: n, 5: 5}.items():
        assert cycle(files.interleave(make, num_parallel_calls=calls)) == length
        assert cycle(files.interleave(make, auto, num_parallel_calls=calls)) == length
        assert cycle(files.interleave(make, 2, num_parallel_calls=calls)) == 2


def test_the_guide_lists_every_name_that_is_there() -> None:
    page = (ROOT / "docs" / "how-to" / "moving-off-tensorflow.md").read_text(encoding="utf-8")
    families = {"int16", "int32", "int64", "uint16", "uint32", "uint64", "int8", "uint8"}
    for module in MODULES:
        for name in importlib.import_module(f"tfrecord_lite.{module}").__all__:
            is_module = f"tf.{name}" in MODULES or f"{module}.{name}" in MODULES
            is_old = module == "tf.compat.v1" and hasattr(tf.io, name)
            assert (
                is_module
                or is_old
                or name in families
                or f"`{name}`" in page
                or (f"tf.sparse.{name}`" in page)
            ), (module, name)
    for name, value in vars(tf.data.Dataset).items():
        if not name.startswith("_") and callable(getattr(tf.data.Dataset, name)):
            assert f"`{name}`" in page, (name, value)


def test_the_name_of_an_example_stands_elsewhere_in_tensorflow_1() -> None:
    spec = {"x": tf.io.FixedLenFeature([], tf.int64)}
    calls: tuple[Callable[[], Any], ...] = (
        lambda: tf.io.parse_single_example(b"", spec, "the name", "operation"),
        lambda: tf.compat.v1.parse_single_example(b"", spec, "operation", "the name"),
        lambda: tf.io.parse_example([b""], spec, ["the name"], "operation"),
        lambda: tf.compat.v1.io.parse_example([b""], spec, "operation", ["the name"]),
    )
    for call in calls:
        raised(tf.errors.InvalidArgumentError, call, match="the name")


def test_numbers_may_be_tensors_and_data_sets_are_true() -> None:
    dataset = tf.data.Dataset.range(10)
    two: Any = tf.constant(2)
    assert [int(item) for item in dataset.skip(two).take(two).repeat(two)] == [2, 3, 2, 3]
    assert bool(tf.data.Dataset.range(0))


def test_the_reader_of_batches_may_return_a_data_set_of_either_kind(tmp_path: Path) -> None:
    path = str(tmp_path / "n.tfrecord")
    with TFRecordWriter(path) as writer:
        writer.write_examples({"n": np.arange(3)})
    batches = tf.data.experimental.make_batched_features_dataset(
        path,
        2,
        {"n": tf.io.FixedLenFeature([], tf.int64)},
        reader=lambda names: tf.data.TFRecordDataset(names).take(3),
        num_epochs=1,
        shuffle=False,
    )
    assert [batch["n"].numpy().tolist() for batch in batches] == [[0, 1], [2]]
