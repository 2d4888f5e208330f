"""Rules B1 to B5 and R10: data sets, and the reader at offsets, side by side with TensorFlow's."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parity.answers import ask, assert_same_error
from tests.parity.rules import deviation, rule
from tests.support.small_files import FEATURES, numbers, plain, write, write_files, write_records
from tfrecord_lite import TFRecordDataset, VarLenFeature
from tfrecord_lite import tf as ours_tf
from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.index.file import tf_record_random_reader

counts = st.lists(st.integers(0, 7), min_size=1, max_size=6)


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    return write_files(tmp_path, [5, 9, 1, 6])


def arrays(element: Any) -> Any:
    """Make of TensorFlow's tensors what :func:`plain` makes of our arrays."""
    if isinstance(element, tuple):
        return tuple(map(arrays, element))
    if isinstance(element, dict):
        return {key: arrays(value) for key, value in element.items()}
    if hasattr(element, "to_list"):
        return element.to_list()
    return element.numpy().tolist()


@rule("B1")
def test_paths_of_every_form(tf: Any, names: list[str], tmp_path: Path) -> None:
    for paths in (names[0], names, names[0].encode(), tmp_path / "01", [tmp_path / "01"]):
        expected = list(tf.data.TFRecordDataset(paths).as_numpy_iterator())
        assert list(TFRecordDataset(paths)) == expected
    for wrong in (3, [3]):
        theirs = ask(tf.data.TFRecordDataset, wrong)
        assert isinstance(theirs.error, TypeError)
        assert_same_error(theirs, ask(TFRecordDataset, wrong))


@rule("B1")
@given(counts, st.integers(1, 6), st.integers(1, 4))
def test_files_take_turns(
    tf: Any, tmp_path_factory: pytest.TempPathFactory, sizes: list[int], cycle: int, block: int
) -> None:
    names = write_files(tmp_path_factory.mktemp("a"), sizes)
    files = tf.data.Dataset.from_tensor_slices(names)
    theirs = tf.data.TFRecordDataset(names, num_parallel_reads=cycle).as_numpy_iterator()
    assert list(TFRecordDataset(names, num_parallel_reads=cycle)) == list(theirs)
    for calls in (None, tf.data.AUTOTUNE):
        theirs = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=calls)
        own = ours_tf.data.Dataset.from_tensor_slices(names)
        own = own.interleave(ours_tf.data.TFRecordDataset, num_parallel_calls=calls)
        assert list(own.as_numpy_iterator()) == list(theirs.as_numpy_iterator())
    theirs = tf.data.TFRecordDataset(names, num_parallel_reads=-1).as_numpy_iterator()
    assert list(TFRecordDataset(names, num_parallel_reads=-1)) == list(theirs)
    theirs = files.interleave(tf.data.TFRecordDataset, cycle, block).as_numpy_iterator()
    assert list(TFRecordDataset(names).interleave(cycle, block)) == list(theirs)


@pytest.mark.parametrize("make", [
    lambda d: d.batch(4), lambda d: d.batch(4, drop_remainder=True), lambda d: d.take(7).repeat(2),
    lambda d: d.take(-1).skip(3), lambda d: d.skip(-1), lambda d: d.shard(3, 2).enumerate(4),
    lambda d: d.repeat(-1).take(50), lambda d: d.repeat(0),
    lambda d: d.cache().prefetch(2).skip(30), lambda d: d.shuffle(1), lambda d: d.batch(0),
    lambda d: d.shuffle(0), lambda d: d.shard(2, 2), lambda d: d.shard(2, -1),
    lambda d: d.shard(0, 0), lambda d: d.prefetch(-2), lambda d: d.enumerate().batch(3),
])  # fmt: skip
def test_stages_are_tensorflows(tf: Any, names: list[str], make: Callable[[Any], Any]) -> None:
    theirs = ask(lambda: list(make(tf.data.TFRecordDataset(names)).as_numpy_iterator()))
    ours = ask(lambda: list(make(TFRecordDataset(names))))
    assert_same_error(theirs, ours)
    if theirs.error is None:
        assert plain(ours.value) == plain(theirs.value)


def test_a_shuffle_holds_back_as_tensorflow_does(tf: Any, names: list[str]) -> None:
    """An element comes out no earlier than its number less the buffer's size, in either."""
    for dataset in (TFRecordDataset(names), tf.data.TFRecordDataset(names)):
        for seed in range(20):
            found = numbers(map(bytes, dataset.shuffle(6, seed=seed).as_numpy_iterator()))
            assert sorted(found) == list(range(21))
            assert all(number - place < 6 for place, number in enumerate(found))


def theirs_of(tf: Any, features: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tf.io.VarLenFeature(tf.int64)
        if isinstance(feature, VarLenFeature)
        else tf.io.FixedLenFeature(
            feature.shape, tf.string if feature.dtype == "string" else tf.int64
        )
        for name, feature in features.items()
    }


def both_batched(tf: Any, patterns: Any, size: int, features: Any, **settings: Any) -> Any:
    wanted = theirs_of(tf, features) if features else features

    def ask_them() -> list[Any]:
        make = tf.data.experimental.make_batched_features_dataset
        return [arrays(each) for each in make(patterns, size, wanted, **settings).take(12)]

    def ask_us() -> list[Any]:
        dataset = ours_tf.data.experimental.make_batched_features_dataset(
            patterns, size, features, **settings
        )
        return [arrays(each) for each in dataset.take(12)]

    return ask(ask_them), ask(ask_us)


@rule("B2", "B3", "B4")
@pytest.mark.parametrize("settings", [
    {"num_epochs": 1}, {"num_epochs": 2}, {"num_epochs": 2, "drop_final_batch": True}, {},
    {"reader_num_threads": 3}, {"reader_num_threads": 2, "num_epochs": 1, "label_key": "n"},
    {"label_key": "s", "prefetch_buffer_size": 3, "parser_num_threads": 2},
])  # fmt: skip
def test_batches_agree(tf: Any, names: list[str], tmp_path: Path, settings: dict[str, Any]) -> None:
    for patterns in (str(tmp_path / "*"), names[::-1], [names[2], str(tmp_path / "0[01]")]):
        theirs, ours = both_batched(tf, patterns, 4, FEATURES, shuffle=False, **settings)
        assert theirs.error is None
        assert ours.value == theirs.value


@rule("B2")
def test_shuffled_batches_cross_files_and_epochs(tf: Any, names: list[str]) -> None:
    theirs, ours = both_batched(tf, names, 21, FEATURES, num_epochs=4, shuffle_seed=1)
    for answer in (theirs, ours):
        epochs = [numbers([batch]) for batch in answer.value]
        assert [sorted(epoch) for epoch in epochs] == [list(range(21))] * 4
        assert len({tuple(epoch) for epoch in epochs}) == 4


@rule("B4")
def test_reader_args_go_to_the_reader(tf: Any, tmp_path: Path, names: list[str]) -> None:
    write_records(tmp_path / "gz", TFRecordDataset(names), "GZIP")
    settings: Any = {"reader_args": ["GZIP"], "shuffle": False, "num_epochs": 1}
    theirs, ours = both_batched(tf, str(tmp_path / "gz"), 5, FEATURES, **settings)
    assert theirs.error is None
    assert ours.value == theirs.value


@rule("B4")
def test_arguments_that_cannot_be(tf: Any, names: list[str]) -> None:
    cases: list[tuple[int, Any, dict[str, Any]]] = [
        (4, FEATURES, {"label_key": "zz"}), (4, None, {}), (0, FEATURES, {}),
    ]  # fmt: skip
    for size, features, settings in cases:
        theirs, ours = both_batched(tf, names, size, features, shuffle=False, **settings)
        assert theirs.error is not None
        assert_same_error(theirs, ours)
    make, features = tf.data.experimental.make_batched_features_dataset, theirs_of(tf, FEATURES)
    theirs = ask(make, names, 4, features, reader=tf.compat.v1.TFRecordReader)
    make = ours_tf.data.experimental.make_batched_features_dataset
    assert isinstance(theirs.error, TypeError)
    assert_same_error(theirs, ask(make, names, 4, FEATURES, reader=list))


@rule("B5")
def test_a_seed_is_an_order(tf: Any, names: list[str]) -> None:
    orders = [
        both_batched(tf, names, 21, FEATURES, num_epochs=1, shuffle_seed=seed) for seed in (1, 1, 2)
    ]
    for side in (0, 1):
        first, again, other = (numbers(answers[side].value) for answers in orders)
        assert first == again != other


@pytest.mark.usefixtures("tf")
@rule("R10")
@deviation("R10")
def test_reading_at_an_offset(tmp_path: Path) -> None:
    from tensorflow.python.lib.io import tf_record

    path = tmp_path / "a"
    write(path, [b"one", b"two"])
    whole = path.read_bytes()
    damaged = [bytes([*whole[:at], whole[at] ^ 1, *whole[at + 1 :]]) for at in (2, 9, 13, 18)]
    for data, offset in [
        *((whole, offset) for offset in (0, 19, 38, 40, 41, 60, 1, 20)),
        *product(damaged, (0, 19)),
        *((whole[: 19 + left], 19) for left in (1, 11)),
    ]:
        path.write_bytes(data)
        readers: Any = (tf_record.tf_record_random_reader(str(path)), tf_record_random_reader(path))
        theirs, ours = (ask(reader.read, offset) for reader in readers)
        if 19 < len(data) < 38:  # a cut header is no end here
            assert isinstance(theirs.error, IndexError)
            assert isinstance(ours.error, DataLossError)
            assert ours.reason is Reason.TRUNCATED
        else:
            assert_same_error(theirs, ours)
            assert ours.value == theirs.value
        for reader in readers:
            reader.close()
        theirs, ours = (ask(reader.read, 0) for reader in readers)
        assert "closed" in str(theirs.error)
        assert_same_error(theirs, ours)
