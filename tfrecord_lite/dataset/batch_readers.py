"""read_batches: from files to batches of columns in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from tfrecord_lite.dataset.tfrecords import dataset_of, files_of
from tfrecord_lite.errors import argument_error, require_int
from tfrecord_lite.options import ReadOptions, ReadSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from tfrecord_lite.arrays import AnyArray
    from tfrecord_lite.columns import Column
    from tfrecord_lite.dataset.dataset import Columns, Dataset
    from tfrecord_lite.dataset.tfrecords import Paths
    from tfrecord_lite.schema import DenseLike, FeatureLike

    class Keywords(ReadOptions, total=False):
        """Keywords of read_batches that do not change the type of its elements."""

        shuffle: bool | int | Literal["all"]
        seed: int | None
        num_epochs: int | None
        shard: tuple[int, int] | None
        drop_remainder: bool
        num_workers: int


_BUFFER_SIZE = 10_000
"""Number of records that ``shuffle=True`` draws from, as make_batched_features_dataset does."""


@overload
def read_batches(
    paths: Paths,
    schema: Mapping[str, DenseLike],
    batch_size: int,
    *,
    label_key: None = None,
    **keywords: Unpack[Keywords],
) -> Dataset[dict[str, AnyArray]]: ...
@overload
def read_batches(
    paths: Paths,
    schema: Mapping[str, DenseLike],
    batch_size: int,
    *,
    label_key: str,
    **keywords: Unpack[Keywords],
) -> Dataset[tuple[dict[str, AnyArray], AnyArray]]: ...
@overload
def read_batches(
    paths: Paths,
    schema: Mapping[str, FeatureLike],
    batch_size: int,
    *,
    label_key: None = None,
    **keywords: Unpack[Keywords],
) -> Dataset[Columns]: ...
@overload
def read_batches(
    paths: Paths,
    schema: Mapping[str, FeatureLike],
    batch_size: int,
    *,
    label_key: str,
    **keywords: Unpack[Keywords],
) -> Dataset[tuple[Columns, Column]]: ...
def read_batches(
    paths: Paths,
    schema: Mapping[str, FeatureLike],
    batch_size: int,
    *,
    shuffle: bool | int | Literal["all"] = False,
    seed: int | None = None,
    num_epochs: int | None = 1,
    label_key: str | None = None,
    shard: tuple[int, int] | None = None,
    drop_remainder: bool = False,
    num_workers: int = 0,
    **options: Unpack[ReadOptions],
) -> Dataset[Any]:
    """Read files of Examples as batches of columns.

    Parameters
    ----------
    paths : str, PathLike, or an iterable of them
        Paths, URLs and patterns, as for :class:`TFRecordReader`.
    schema : mapping of str to feature specification
        The features to read, and how.
    batch_size : int
    shuffle : bool, int or "all", optional
        The size of a shuffle's buffer; True for 10,000 records; ``"all"`` for
        :meth:`TFRecordDataset.shuffle_all`. False and 0 keep the order.
    seed : int, optional
        Seed of the shuffle.
    num_epochs : int or None, optional
        Number of rounds through all records; None for ever.
    label_key : str, optional
        A feature to take out: elements are then (features, label).
    shard : tuple of int, optional
        (number of ranks, this rank): this rank's part of the records.
    drop_remainder : bool, optional
        Leave out a last batch that is not full.
    num_workers : int, optional
        Number of processes that do the work; 0 does it in this one.
    **options
        How files are read: :class:`~tfrecord_lite.options.ReadOptions`.

    Returns
    -------
    Dataset
        Its elements are dictionaries of columns; with `label_key`, pairs (columns, label).

    Raises
    ------
    TypeError
        If `shuffle` is none of these, `shard` not a pair, or an option unknown.
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
    buffer_size = _buffer_size(shuffle)
    records = dataset_of(files_of(paths, ReadSettings(**options)))
    dataset: Dataset[Any] = records.shuffle_all(seed) if shuffle == "all" else records
    if shard is not None:
        if not isinstance(shard, (tuple, list)) or len(shard) != 2:
            raise TypeError(f"shard must be (number of ranks, this rank), not {shard!r}")
        dataset = dataset.shard(*shard)
    if buffer_size:
        dataset = dataset.shuffle(buffer_size, seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder).parse_example(schema, label_key=label_key)
    return dataset.in_processes(num_workers)


def _buffer_size(shuffle: Any) -> int:
    """Return the size of the buffer that `shuffle` asks for; 0 for none."""
    if isinstance(shuffle, bool):
        return _BUFFER_SIZE if shuffle else 0
    if isinstance(shuffle, str):
        if shuffle == "all":
            return 0
        raise argument_error(f"shuffle is {shuffle!r}, expected True, False, 'all' or a number")
    return require_int("shuffle", shuffle, 0)
