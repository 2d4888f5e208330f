"""Records as tensors of torch: in which memory, of which form, once each over workers."""

import itertools
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler
from torchdata.stateful_dataloader import StatefulDataLoader

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.small_files import FEATURES, write_files
from tfrecord_lite import tf
from tfrecord_lite.cli import main
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.integrations.torch import IndexedTensors, IterableTensors, as_tensors, jagged

pytestmark = [
    # From Python 3.12 on a fork warns if there are threads, and torch has some of its own.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning"),
    # torch's own, when it takes a sparse tensor from a worker.
    pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning"),
]

N_RECORDS = 41


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    return write_files(tmp_path, [5, 9, 2, 25])


def check_batch(batch: dict[str, Any]) -> list[int]:
    assert isinstance(batch["n"], torch.Tensor)
    assert batch["n"].dtype == torch.int64
    n: list[int] = batch["n"].tolist()
    assert batch["s"] == [b"%d" % i * (i % 4) for i in n]
    return n


@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8", "bool", "float64", "int16"])
def test_a_tensor_is_on_the_memory_of_its_array(dtype: str) -> None:
    array = np.ones((3, 2), dtype)
    tensor = as_tensors({"x": (array,)})["x"][0]
    array[1, 1] = 0
    assert tensor.tolist() == array.tolist()
    assert tensor.numpy().dtype == dtype


def test_what_must_not_be_written_is_copied_without_a_warning() -> None:
    frozen = np.arange(3)
    frozen.flags.writeable = False
    tensor = as_tensors(frozen)
    tensor[0] = 7
    assert frozen.tolist() == [0, 1, 2]
    for array in (np.arange(3)[::-1], np.arange(3, dtype=">i4"), np.arange(6).reshape(2, 3).T):
        assert as_tensors(array).tolist() == array.tolist()


def test_other_columns() -> None:
    indices = np.array([[0, 1], [1, 0]])
    sparse = tl.SparseTensor(indices, np.array([2, 3], np.float32), [2, 2])
    of_strings = tl.SparseTensor(indices, np.array([b"a", b"b"], object), [2, 2])
    ragged = tl.RaggedTensor.from_row_splits(np.arange(5.0), [0, 2, 2, 5])
    strings = np.array([[b"a", b"b"]], object)

    made = as_tensors({"s": sparse, "t": of_strings, "r": ragged, "b": strings, "one": b"x"})

    assert made["s"].to_dense().tolist() == [[0, 2], [3, 0]]
    assert made["s"]._values().data_ptr() == sparse.values.ctypes.data  # type: ignore[union-attr]
    assert made["t"] is of_strings
    assert made["r"] is ragged
    assert made["b"] == [[b"a", b"b"]]
    assert made["one"] == b"x"
    nested = jagged(ragged)
    assert [row.tolist() for row in nested.unbind()] == [[0, 1], [], [2, 3, 4]]
    assert nested.values().data_ptr() == ragged.values.ctypes.data
    assert nested.to_padded_tensor(0).tolist() == [[0, 1, 0], [0, 0, 0], [2, 3, 4]]
    assert jagged(ragged[:0]).shape[0] == 0
    for column in (
        tl.RaggedTensor.from_row_splits(ragged, [0, 3]),
        tl.RaggedTensor.from_row_splits(np.array([b"a"], object), [0, 1]),
    ):
        raised(InvalidArgumentError, jagged, column)
    raised(TypeError, as_tensors, np.array(["2020-01-01"], "M8[s]"))


def test_tensors_are_resumed_in_the_epoch_of_the_data_set(names: list[str]) -> None:
    batches = tl.read_batches(names, FEATURES, 4, shuffle=11, seed=1).set_epoch(2)
    dataset = IterableTensors(batches)
    whole = [check_batch(batch) for batch in dataset]
    loader = StatefulDataLoader(IterableTensors(batches), batch_size=None)
    run: Any = iter(loader)
    next(run)
    again: Any = StatefulDataLoader(IterableTensors(batches.set_epoch(0)), batch_size=None)
    again.load_state_dict(loader.state_dict())
    assert [check_batch(batch) for batch in again] == whole[1:]
    pairs = batches.map(lambda batch: (batch["n"], batch["s"])).set_epoch(2)
    assert [n.tolist() for n, _ in IterableTensors(pairs)] == whole
    assert [check_batch(batch) for batch in dataset.set_epoch(3)] != whole


def test_sparse_and_ragged_columns_come_from_workers(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with tl.TFRecordWriter(path) as writer:
        for i in range(6):
            writer.write_example({"v": np.arange(i), "w": np.arange(i)})
    features = {"v": tl.VarLenFeature(int), "w": tl.RaggedFeature(int)}
    dataset = IterableTensors(tl.read_batches(path, features, 2))
    for n_workers in (0, 2):
        rows = []
        for batch in DataLoader(dataset, batch_size=None, num_workers=n_workers):
            assert batch["v"].is_sparse
            rows += [row.tolist() for row in jagged(batch["w"]).unbind()]
            assert batch["v"].to_dense().sum() == batch["w"].values.sum()
        assert sorted(rows) == [list(range(i)) for i in range(6)]


@pytest.mark.parametrize("shuffle", [False, True, "all"])
def test_a_loader_has_the_length_of_all_its_workers(tmp_path: Path, shuffle: Any) -> None:
    names = write_files(tmp_path, [5, 9, 2, 25])

    def loader(n_workers: int, rank: int, **settings: Any) -> Any:
        batches = tl.read_batches(names, FEATURES, 4, shuffle=shuffle, seed=1, shard=(2, rank))
        return DataLoader(
            IterableTensors(batches, **settings), batch_size=None, num_workers=n_workers
        )

    if shuffle != "all":  # which reads the index anyway
        raised(TypeError, len, loader(0, 0), match=r"count\(\) of the data set .* a length")
        assert not hasattr(loader(0, 0).dataset, "__len__")  # as Keras asks
    assert len(loader(0, 0, length=7)) == 7
    assert main(["index", *names]) == 0
    for n_workers, rank in itertools.product((0, 1, 3), (0, 1)):
        batches = loader(n_workers, rank)
        assert len(batches) == sum(1 for _ in batches)


def test_where_elements_decide_there_is_no_length(names: list[str]) -> None:
    batches = tl.read_batches(names, FEATURES, 4, num_epochs=None)
    main(["index", *names])
    for dataset in (batches, batches.take(9).filter(len)):
        with pytest.raises(TypeError, match="depends on what they are, or there is no end"):
            len(IterableTensors(dataset))


def test_files_in_a_store_take_its_options(names: list[str]) -> None:
    assert len(IndexedTensors(names, FEATURES, verify=False)) == N_RECORDS
    with pytest.raises(InvalidArgumentError, match="verify: give it to the TFRecordFile"):
        IndexedTensors(tl.TFRecordFile(names), FEATURES, verify=False)


class _Batches(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """One batch of all that tensors can be, made in a worker."""

    def __iter__(self) -> Any:
        yield batch_of_everything()


def batch_of_everything() -> Any:
    large = np.arange(100_000.0)
    arrays = {
        "small": np.arange(6).reshape(2, 3).T, "large": large, "none": large[:0], "one": large[1],
    }  # fmt: skip
    made: dict[str, Any] = as_tensors({"texts": [b"a"], "in": (arrays, {"x": large[:2]})} | arrays)
    others = {"half": torch.ones(2, dtype=torch.bfloat16), "sparse": torch.eye(2).to_sparse()}
    return made | others if type(made) is dict else type(made)(made | others)


def test_small_tensors_travel_in_the_message() -> None:
    """The element arrives as without workers; only what is large is in shared memory."""
    wanted = batch_of_everything()
    (batch,) = DataLoader(_Batches(), batch_size=None, num_workers=1)
    assert type(batch) is dict
    assert list(batch) == list(wanted)
    assert type(batch["in"][0]) is dict
    for name in ("small", "large", "none", "one", "half"):
        assert torch.equal(batch[name], wanted[name])
        assert batch[name].dtype == wanted[name].dtype
        assert batch[name].shape == wanted[name].shape
    assert torch.equal(batch["in"][1]["x"], wanted["in"][1]["x"])
    assert torch.equal(batch["sparse"].to_dense(), torch.eye(2))
    assert batch["texts"] == [b"a"]
    assert batch["large"].is_shared()
    assert not any(batch[name].is_shared() for name in ("small", "none", "one"))
    batch["small"][0, 0] = 7  # its own memory


def test_only_data_sets_are_taken(names: list[str]) -> None:
    raised(TypeError, IterableTensors, names)
    assert isinstance(
        IterableTensors(tl.read_batches(names, FEATURES, 4)), torch.utils.data.IterableDataset
    )
    assert isinstance(tl.read_batches(names, FEATURES, 4), tl.Dataset)


@pytest.mark.parametrize("n_workers", [0, 2])
def test_a_loader_takes_sampled_batches_or_stacks(names: list[str], n_workers: int) -> None:
    dataset: Any = IndexedTensors(tl.TFRecordFile(names), tl.ExampleParser(FEATURES))
    sampler: Any = BatchSampler(RandomSampler(dataset), 4, drop_last=False)
    sampled: Any = DataLoader(dataset, batch_size=None, sampler=sampler, num_workers=n_workers)
    stacked: Any = DataLoader(dataset, batch_size=4, shuffle=True, num_workers=n_workers)
    for loader in (sampled, stacked):
        batches = [check_batch(batch) for batch in loader]
        assert sorted(n for batch in batches for n in batch) == list(range(N_RECORDS))
        assert batches[0] != [0, 1, 2, 3]
        assert len(batches) == len(loader) == 11


def test_one_record_and_many_are_the_same(names: list[str]) -> None:
    dataset = pickle.loads(pickle.dumps(IndexedTensors(names, FEATURES)))
    assert len(dataset) == N_RECORDS
    batch = dataset[[40, 0, -1]]
    assert check_batch(batch) == [40, 0, 40]
    for i, index in enumerate((40, 0, np.int64(-1))):
        one = dataset[index]
        assert one["n"].shape == ()
        assert one["n"] == batch["n"][i]
        assert one["s"] == batch["s"][i]
    assert check_batch(dataset[torch.tensor([3, 1])]) == [3, 1]
    assert check_batch(dataset[3:-1]) == [*range(3, N_RECORDS - 1)]
    assert repr(dataset).startswith("IndexedTensors(<TFRecordFile")
    with pytest.raises(IndexError):
        dataset[41]


@pytest.mark.parametrize("other", [tl.FixedLenFeature([], np.int64), tl.VarLenFeature(np.int64)])
def test_an_error_names_the_record_of_its_file(names: list[str], other: Any) -> None:
    dataset = IndexedTensors(names, {"n": tl.FixedLenFeature([2], np.int64), "m": other})
    for ask in (lambda: dataset[7], lambda: dataset[[7]], lambda: dataset.__getitems__([7, 8])):
        error = raised(InvalidArgumentError, ask)
        assert (error.source, error.index) == (names[1], 2)


def test_a_dtype_that_torch_lacks_is_an_error_that_names_the_feature() -> None:
    times = np.zeros(2, "datetime64[s]")
    for element in ({"n": 1, "when": times}, {"when": [(times,)]}):
        with pytest.raises(TypeError, match=r"^feature 'when': torch has no .* datetime64\[s\]; "):
            as_tensors(element)
    raised(TypeError, as_tensors, times, match=r"^torch has no ")


def test_torch_takes_the_tensors_of_the_names_of_tensorflow() -> None:
    rows = tf.constant([[1.5, 2.5], [3.5, 4.5]])
    taken = torch.as_tensor(rows)
    assert taken.tolist() == rows.numpy().tolist()
    assert taken.dtype == torch.float32
    assert torch.as_tensor(tf.constant(3)).item() == 3


def test_without_a_schema_tensors_have_the_dtypes_that_were_saved(tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord"
    dtypes = ("?", "u1", "i4", "f2", "f8", ml_dtypes.bfloat16)
    columns: dict[str, Any] = {np.dtype(d).str: np.arange(4).astype(d) for d in dtypes}
    columns |= {"t": ["a", "b", "c", "d"], "none": np.ma.masked_equal(["-", "a", "a", "a"], "-")}
    tl.save(path, columns)
    for found in (
        IndexedTensors(path)[[0, 1, 2, 3]],
        *IterableTensors(tl.read_batches(path, batch_size=4)),
    ):
        kinds = [str(found[name].dtype) for name in list(columns)[:6]]
        wanted = ("bool", "uint8", "int32", "float16", "float64", "bfloat16")
        assert kinds == [f"torch.{dtype}" for dtype in wanted]
        assert all(found[name].tolist() == [0, 1, 2, 3] for name in list(columns)[1:6])
        assert found["t"] == ["a", "b", "c", "d"]
        assert found["none"] == [None, "a", "a", "a"]


def test_a_missing_value_is_not_stacked_as_what_is_under_its_mask(tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord"
    tl.save(
        path,
        {
            "x": np.ma.masked_equal([1.5, 2, 3, 4], 2),
            "s": np.ma.masked_equal(["-", "a", "a", "a"], "-"),
        },
    )
    rows, batches = IndexedTensors(path), tl.read_batches(path, batch_size=4)

    assert [rows[i]["x"] for i in range(4)] == [torch.tensor(1.5), None, 3, 4]
    assert [rows[i]["s"] for i in range(2)] == [None, "a"]
    for batch in (lambda: rows[[2, 3]], lambda: next(iter(IterableTensors(batches)))):
        with pytest.raises(
            TypeError, match=r"feature 'x': torch has no missing values.*filled\(0\)"
        ):
            batch()
    filled = batches.map(lambda batch: {**batch, "x": batch["x"].filled(0)})
    assert next(iter(IterableTensors(filled)))["x"].tolist() == [1.5, 0, 3, 4]
    found = torch.utils.data.DataLoader(rows, batch_size=2, sampler=[2, 3])
    assert next(iter(found))["x"].tolist() == [3, 4]
    raised(TypeError, next, iter(torch.utils.data.DataLoader(rows, batch_size=2)), match="NoneType")


@pytest.mark.parametrize(("make", "cure"), [
    (lambda: torch.ones(2, dtype=torch.complex64).conj(), "resolve_conj()"),
    (lambda: torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged), "unbind()"),
    (lambda: torch.ones(2, requires_grad=True), "detach()"),
    (lambda: torch.ones(2).to_sparse(), "to_dense()"),
    (lambda: torch.ones(2, device="meta"), "no values"),
])  # fmt: skip
def test_tensors_are_values_of_rows_and_columns(tmp_path: Path, make: Any, cure: str) -> None:
    good, bad = torch.tensor([1, 2]), make()
    assert tl.encode_example({"x": good}) == tl.encode_example({"x": [1, 2]})
    assert tl.encode_example({"x": good[0]}) == tl.encode_example({"x": 1})
    assert tl.encode_example({"x": [good[0], good[1:]]}) == tl.encode_example({"x": [1, 2]})
    steps = {"feature_lists": {"x": [good, good]}}
    assert tl.encode_sequence_example(steps) == tl.encode_sequence_example(
        {"feature_lists": {"x": [[1, 2], [1, 2]]}}
    )
    for data in ({"x": [good, good[:1]]}, [{"x": good}, {"x": good[:1]}]):
        tl.save(tmp_path / "x", data)
        assert [row.tolist() for row in tl.load(tmp_path / "x")["x"]] == [[1, 2], [1]]
    for call in (
        lambda: tl.encode_example({"x": bad}), lambda: tl.encode_example({"x": [good, bad]}),
        lambda: tl.encode_sequence_example({"feature_lists": {"x": [bad]}}),
        lambda: tl.save(tmp_path / "y", {"x": bad}), lambda: tl.save(tmp_path / "y", [{"x": bad}]),
    ):  # fmt: skip
        with pytest.raises(InvalidArgumentError) as caught:
            call()
        assert caught.value.key == "x"
        assert cure in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e5m2])
def test_small_floats_are_values_as_those_of_jax(tmp_path: Path, dtype: torch.dtype) -> None:
    column = torch.tensor([[1.5, -2], [0.25, float("inf")]]).to(dtype)
    same = column.float().numpy().astype(str(dtype).removeprefix("torch."))
    for data in ({"x": column}, [{"x": row} for row in column]):
        tl.save(tmp_path / "x", data)
        np.testing.assert_array_equal(tl.load(tmp_path / "x")["x"], same, strict=True)
    assert tl.serialize_tensor(column) == tl.serialize_tensor(same)
    assert tl.encode_example({"x": column[0, 0]}) == tl.encode_example({"x": 1.5})
    steps = tl.encode_sequence_examples({}, {"x": column[None]})
    assert steps.to_list() == tl.encode_sequence_examples({}, {"x": same[None]}).to_list()


@pytest.mark.parametrize("format_", ["tfrecord", "tf.data"])
def test_rows_may_be_a_map_style_data_set(tmp_path: Path, format_: Any) -> None:
    class Squares:  # as a Dataset of torch, which need not raise an IndexError
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> dict[str, Any]:
            return {"x": torch.full((2,), index), "y": index**2}

    squares: Any = Squares()
    tl.save(tmp_path / "x", squares, format=format_)
    assert tl.load(tmp_path / "x")["x"].tolist() == [[0, 0], [1, 1], [2, 2]]
    with tl.TFRecordWriter(tmp_path / "y") as writer:
        writer.write_examples(squares)
    assert tl.load(tmp_path / "y")["y"].tolist() == [0, 1, 4]
    assert len(tl.infer_schema(squares)) == 2
