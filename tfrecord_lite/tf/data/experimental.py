"""tf.data.experimental: its names that programs about records use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfrecord_lite import dataset as library
from tfrecord_lite.errors import argument_error
from tfrecord_lite.extension import TFRecordOptions, expand, name_of
from tfrecord_lite.schema import FeatureSpec, require_specifications
from tfrecord_lite.tf._unavailable import Unavailable, unavailable
from tfrecord_lite.tf.data._dataset import AUTOTUNE, Dataset, TFRecordDataset
from tfrecord_lite.writer import TFRecordWriter as _Writer

__all__ = ["AUTOTUNE", "TFRecordWriter", "make_batched_features_dataset", "sample_from_datasets"]


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, FeatureSpec],
    reader: Callable[..., Any] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Iterable[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10_000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Read batches of columns.

    Files are read in sorted order, or with `shuffle` in random order (rules B2, B5); `label_key` is
    a feature to take out (rule B4); `num_epochs` None repeats for ever (rule B3). `parser_num_threads`
    and `sloppy_ordering` have no effect.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT``: no features, a label that is not one of them, no file, or a number
        that is too small.
    TypeError
        If `reader` does not return a data set.
    """
    require_specifications(features)
    try:
        names = sorted(name_of(source) for source in expand(file_pattern, folders="refuse"))
    except FileNotFoundError as error:
        raise argument_error(str(error)) from None
    opened = reader(names, *(reader_args or ()))
    records = opened._dataset if isinstance(opened, Dataset) else opened  # noqa: SLF001 - ours
    if not isinstance(records, library.Dataset):
        raise TypeError("The `reader` argument must return a `Dataset` object.")
    n_files = reader_num_threads or 1
    if isinstance(records, library.TFRecordDataset):
        if n_files > 1:
            records = records.interleave(n_files)
        if shuffle and not (records.is_shard and shuffle_seed is None):  # ranks would differ
            records = records.shuffle_files(shuffle_seed)
    dataset: library.Dataset[Any] = records
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    # Endless data has no short last batch; tf.data gives such batches a fixed size.
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    parsed = dataset.parse_example(features, label_key=label_key)
    return Dataset(parsed.prefetch(prefetch_buffer_size))


sample_from_datasets: Callable[..., Dataset] = Dataset.sample_from_datasets


class TFRecordWriter:
    """Writes a data set of byte strings to a file."""

    def __init__(self, filename: Any, compression_type: str | None = None) -> None:
        self._filename = filename
        self._options = TFRecordOptions(compression_type)

    def write(self, dataset: Dataset) -> None:
        """Write all elements."""
        with _Writer(self._filename, self._options) as writer:
            for record in dataset.as_numpy_iterator():
                writer.write(record)


__getattr__: Unavailable = unavailable(
    __name__,
    "use Dataset.map with a function, or Python's itertools",
    {
        "cardinality": "use dataset.cardinality()",
        "parse_example_dataset": "use dataset.map with tf.io.parse_example",
    },
)
