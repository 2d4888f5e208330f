"""tf.data.experimental: its names that programs about records use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from tfrecord_lite import dataset as library
from tfrecord_lite.files.compression import TFRecordOptions
from tfrecord_lite.schema import require_specifications
from tfrecord_lite.tf._unavailable import unavailable
from tfrecord_lite.tf.data._dataset import AUTOTUNE, Dataset, TFRecordDataset
from tfrecord_lite.tf.io._parsing import parse_example
from tfrecord_lite.writer import TFRecordWriter as _Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfrecord_lite.schema import FeatureSpec

__all__ = ["AUTOTUNE", "TFRecordWriter", "make_batched_features_dataset", "parse_example_dataset"]


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, FeatureSpec],
    reader: Any = None,
    *arguments: Any,
    **settings: Any,
) -> Dataset:
    """Read batches of columns, as :func:`tfrecord_lite.make_batched_features_dataset`."""
    require_specifications(features)
    if reader in {None, TFRecordDataset}:
        reader = library.TFRecordDataset

    def read(*given: Any) -> Any:
        records = reader(*given)
        return records._dataset if isinstance(records, Dataset) else records  # noqa: SLF001 - ours

    made = library.make_batched_features_dataset(
        file_pattern, batch_size, features, read, *arguments, **settings
    )
    return Dataset(made)


def parse_example_dataset(
    features: Mapping[str, FeatureSpec],
    num_parallel_calls: int | None = 1,
    deterministic: bool | None = None,
) -> Callable[[Dataset], Dataset]:
    """Return a function for ``Dataset.apply`` that parses batches of Examples."""

    def apply(dataset: Dataset) -> Dataset:
        return dataset.map(lambda batch: parse_example(batch, features), num_parallel_calls)

    return apply


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


__getattr__: Callable[[str], NoReturn] = unavailable(
    __name__,
    {
        "cardinality": "use dataset.cardinality()",
        "sample_from_datasets": "use tf.data.TFRecordDataset with num_parallel_reads",
    },
    otherwise="use Dataset.map with a function, or Python's itertools",
)
