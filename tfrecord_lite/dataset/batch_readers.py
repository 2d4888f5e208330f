"""read_batches and make_batched_features_dataset: from files to batches of columns in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from tfrecord_lite.dataset.dataset import Dataset
from tfrecord_lite.dataset.tfrecords import TFRecordDataset, dataset_of, files_of
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, require_int
from tfrecord_lite.files.names import expand, name_of
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.framing import MAX_RECORD_BYTES

_BUFFER_SIZE = 10_000
"""Number of records that ``shuffle=True`` draws from, as make_batched_features_dataset does."""

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypedDict, Unpack

    from tfrecord_lite.arrays import AnyArray
    from tfrecord_lite.columns import Column
    from tfrecord_lite.dataset.dataset import Columns
    from tfrecord_lite.dataset.tfrecords import Paths
    from tfrecord_lite.example.decode.reader import StringForm
    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import StorageOptions
    from tfrecord_lite.records.damage import OnError
    from tfrecord_lite.schema import DenseLike, FeatureLike

    class TensorFlowKeywords(TypedDict, total=False):
        """Keywords of make_batched_features_dataset after `label_key`."""

        reader_args: Iterable[Any] | None
        num_epochs: int | None
        shuffle: bool
        shuffle_buffer_size: int
        shuffle_seed: int | None
        prefetch_buffer_size: int | None
        reader_num_threads: int | None
        parser_num_threads: int | None
        sloppy_ordering: bool
        drop_final_batch: bool

    class Keywords(TypedDict, total=False):
        """Keywords of read_batches that do not change the type of its elements."""

        shuffle: bool | int | Literal["all"] | None
        seed: int | None
        num_epochs: int | None
        shard: tuple[int, int] | None
        interleave: int | None
        drop_remainder: bool
        compression: CompressionType
        verify: bool
        on_error: OnError
        max_errors: int | None
        max_record_bytes: int
        max_inflated_bytes: int | None
        max_inflated_ratio: float | None
        storage_options: StorageOptions
        num_workers: int
        prefetch: int


@overload
def make_batched_features_dataset(
    file_pattern: Paths,
    batch_size: int,
    features: Mapping[str, FeatureLike],
    reader: Callable[..., Any] = ...,
    *,
    label_key: str,
    **keywords: Unpack[TensorFlowKeywords],
) -> Dataset[tuple[Columns, Column]]: ...
@overload
def make_batched_features_dataset(
    file_pattern: Paths,
    batch_size: int,
    features: Mapping[str, FeatureLike],
    reader: Callable[..., Any],
    label_key: str,
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
) -> Dataset[tuple[Columns, Column]]: ...
@overload
def make_batched_features_dataset(
    file_pattern: Paths,
    batch_size: int,
    features: Mapping[str, FeatureLike],
    reader: Callable[..., Any] = ...,
    label_key: None = None,
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
) -> Dataset[Columns]: ...
def make_batched_features_dataset(
    file_pattern: Paths,
    batch_size: int,
    features: Mapping[str, FeatureLike],
    reader: Callable[..., Any] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Iterable[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10_000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,  # noqa: ARG001 - TensorFlow's signature
    sloppy_ordering: bool = False,  # noqa: ARG001 - TensorFlow's signature
    drop_final_batch: bool = False,
) -> Dataset[Any]:
    """Read batches of columns, as ``tf.data.experimental.make_batched_features_dataset``.

    Parameters
    ----------
    file_pattern : str, PathLike, or an iterable of them
        Patterns or paths; the files are read in sorted order (rule B2), or with `shuffle` in
        random order.
    batch_size : int
    features : mapping of str to feature specification
    reader : callable, optional
        Called with the files and `reader_args`; returns a data set of records.
    label_key : str, optional
        A feature to take out: elements are then (features, label) (rule B4).
    reader_args : iterable, optional
        Further arguments for `reader`, such as ``["GZIP"]``.
    num_epochs : int, optional
        None repeats for ever (rule B3).
    shuffle, shuffle_buffer_size, shuffle_seed
        Whether and how to shuffle the records (rule B5).
    prefetch_buffer_size : int, optional
        Number of batches made ahead; None for a few.
    reader_num_threads : int, optional
        Number of files whose records are taken in turns; None for 1.
    parser_num_threads : int, optional
        Ignored: threads would not parse a batch faster.
    sloppy_ordering : bool, optional
        Ignored: no other order would be faster.
    drop_final_batch : bool, optional
        Leave out a last batch that is not full.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT``: no features, a label that is not one of them, no file, or a number
        that is too small.
    TypeError
        If `reader` does not return a :class:`Dataset`.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> features = {"name": bytes, "age": int}
    >>> batches = make_batched_features_dataset(
    ...     "people.tfrecord", 2, features, label_key="age", num_epochs=1, shuffle=False
    ... )
    >>> for inputs, age in batches:
    ...     print(inputs["name"], age)
    [b'Ada' b'Alan'] [36 41]
    [b'Grace'] [37]
    """
    if not features:
        detail = "features must be given"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    if label_key is not None and label_key not in features:
        detail = f"the `label_key` provided ({label_key}) must be one of the `features` keys: "
        raise InvalidArgumentError(
            Reason.BAD_ARGUMENT, key=label_key, detail=detail + ", ".join(features)
        )
    try:
        names = sorted(name_of(source) for source in expand(file_pattern))
    except FileNotFoundError as error:
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=str(error)) from None
    records = reader(names, *(reader_args or ()))
    if not isinstance(records, Dataset):
        detail = "The `reader` argument must return a `Dataset` object."
        raise TypeError(detail)
    n_files = reader_num_threads or 1
    if isinstance(records, TFRecordDataset):
        if n_files > 1:
            records = records.interleave(n_files)
        if shuffle and not (records.is_shard and shuffle_seed is None):  # ranks would differ
            records = records.shuffle_files(shuffle_seed)
    dataset: Dataset[Any] = records
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    # Endless data has no short last batch; tf.data gives such batches a fixed size.
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    return dataset.parse_example(features, label_key=label_key).prefetch(prefetch_buffer_size)


@overload
def read_batches(
    paths: Paths,
    features: Mapping[str, DenseLike],
    batch_size: int,
    *,
    label_key: None = None,
    strings: Literal["ndarray"] = "ndarray",
    **keywords: Unpack[Keywords],
) -> Dataset[dict[str, AnyArray]]: ...
@overload
def read_batches(
    paths: Paths,
    features: Mapping[str, DenseLike],
    batch_size: int,
    *,
    label_key: str,
    strings: Literal["ndarray"] = "ndarray",
    **keywords: Unpack[Keywords],
) -> Dataset[tuple[dict[str, AnyArray], AnyArray]]: ...
@overload
def read_batches(
    paths: Paths,
    features: Mapping[str, FeatureLike],
    batch_size: int,
    *,
    label_key: None = None,
    strings: StringForm = "ndarray",
    **keywords: Unpack[Keywords],
) -> Dataset[Columns]: ...
@overload
def read_batches(
    paths: Paths,
    features: Mapping[str, FeatureLike],
    batch_size: int,
    *,
    label_key: str,
    strings: StringForm = "ndarray",
    **keywords: Unpack[Keywords],
) -> Dataset[tuple[Columns, Column]]: ...
def read_batches(
    paths: Paths,
    features: Mapping[str, FeatureLike],
    batch_size: int,
    *,
    shuffle: bool | int | Literal["all"] | None = None,
    seed: int | None = None,
    num_epochs: int | None = 1,
    label_key: str | None = None,
    shard: tuple[int, int] | None = None,
    interleave: int | None = None,
    drop_remainder: bool = False,
    strings: Literal["ndarray", "BytesColumn"] = "ndarray",
    compression: CompressionType = "infer",
    verify: bool = True,
    on_error: OnError = "raise",
    max_errors: int | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
    max_inflated_bytes: int | None = None,
    max_inflated_ratio: float | None = None,
    storage_options: StorageOptions = None,
    num_workers: int = 0,
    prefetch: int = 0,
) -> Dataset[Any]:
    """Read files of Examples as batches of columns.

    Parameters
    ----------
    paths : str, PathLike, or an iterable of them
        Paths, URLs and patterns, as for :class:`TFRecordReader`.
    features : mapping of str to feature specification
    batch_size : int
    shuffle : bool, int or "all", optional
        The size of a shuffle's buffer; True for 10,000 records; ``"all"`` for
        :meth:`TFRecordDataset.shuffle_all`. None, False and 0 keep the order.
    seed : int, optional
        Seed of the shuffle.
    num_epochs : int or None, optional
        Number of rounds through all records; None for ever.
    label_key : str, optional
        A feature to take out: elements are then (features, label).
    shard : tuple of int, optional
        (number of ranks, this rank): this rank's part of the records.
    interleave : int, optional
        Number of files whose records are taken in turns; None reads one after the other.
    drop_remainder : bool, optional
        Leave out a last batch that is not full.
    strings : {"ndarray", "BytesColumn"}, optional
        As for :class:`ExampleParser`.
    compression, verify, on_error, max_errors
    max_record_bytes, max_inflated_bytes, max_inflated_ratio, storage_options
        As for :class:`TFRecordReader`.
    num_workers : int, optional
        Number of processes that do the work; 0 does it in this one.
    prefetch : int, optional
        Number of batches made ahead in a thread.

    Returns
    -------
    Dataset
        Its elements are dictionaries of columns; with `label_key`, pairs (columns, label).

    Raises
    ------
    TypeError
        If `shuffle` is none of these, or `shard` not a pair.
    InvalidArgumentError, TypeError, FileNotFoundError
        As the methods of :class:`TFRecordDataset` that this calls.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> for batch in read_batches("people.tfrecord", {"name": bytes, "age": int}, 2):
    ...     print(batch["name"], batch["age"])
    [b'Ada' b'Alan'] [36 41]
    [b'Grace'] [37]
    """
    options = ReadSettings(
        compression=compression,
        verify=verify,
        on_error=on_error,
        max_errors=max_errors,
        max_record_bytes=max_record_bytes,
        max_inflated_bytes=max_inflated_bytes,
        max_inflated_ratio=max_inflated_ratio,
        storage_options=storage_options,
    )
    buffer_size = _buffer_size(shuffle)
    records = dataset_of(files_of(paths, options))
    if interleave is not None:
        records = records.interleave(interleave)
    dataset: Dataset[Any] = records.shuffle_all(seed) if shuffle == "all" else records
    if shard is not None:
        if not isinstance(shard, (tuple, list)) or len(shard) != 2:
            raise TypeError(f"shard must be (number of ranks, this rank), not {shard!r}")
        dataset = dataset.shard(*shard)
    if buffer_size:
        dataset = dataset.shuffle(buffer_size, seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder)
    dataset = dataset.parse_example(features, strings=strings, label_key=label_key)
    dataset = dataset.in_processes(num_workers)
    return dataset.prefetch(prefetch) if prefetch else dataset


def _buffer_size(shuffle: Any) -> int:
    """Return the size of the buffer that `shuffle` asks for; 0 for none."""
    if shuffle is None or isinstance(shuffle, bool):
        return _BUFFER_SIZE if shuffle else 0
    if isinstance(shuffle, str):
        if shuffle == "all":
            return 0
        raise argument_error(f"shuffle is {shuffle!r}, expected True, False, 'all' or a number")
    return require_int("shuffle", shuffle, 0)
