"""TFRecordDataset: the records of files, and their order; read_batches: batches of them in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.columns import Column
from tfrecord_lite.dataset.dataset import Dataset, parsed_by
from tfrecord_lite.dataset.random_order import seed_of
from tfrecord_lite.dataset.sources import Files, ShuffledRecords
from tfrecord_lite.errors import Reason, argument_error, optional_int, require_int
from tfrecord_lite.files.compression import CompressionType, TFRecordOptions
from tfrecord_lite.files.names import expand, is_file_object, name_of
from tfrecord_lite.options import ReadOptions, hinted, num_files_in_turns, read_settings

if TYPE_CHECKING:
    from tfrecord_lite.dataset.dataset import Columns, DenseFeatures, Features
    from tfrecord_lite.dataset.plan import PlanNode
    from tfrecord_lite.described.sidecar import SchemaLike
    from tfrecord_lite.options import ReadSettings

    class Keywords(ReadOptions, total=False):
        """Other keywords of read_batches."""

        shuffle: bool | int | Literal["all"]
        seed: int | None
        num_epochs: int | None
        shard: tuple[int, int] | None
        even: bool | Literal["drop"]
        drop_remainder: bool
        num_workers: int
        columns: Sequence[str] | None
        text: bool | Sequence[str]

    class Whole(Keywords, total=False):
        """Keywords with which elements are columns."""

        label_key: None

    class Labelled(Keywords):
        """Keywords with which elements are (columns, label)."""

        label_key: str

    Paths = str | bytes | PathLike[str] | Iterable[str | bytes | PathLike[str]]

_BUFFER_SIZE = 10_000
"""Number of records that ``shuffle=True`` draws from, as make_batched_features_dataset does."""
_MOST_OPEN = 16
"""Largest number of files that take turns, if none is given."""
_MOST_IN_TURN = 256
"""Largest number of records that a file gives in its turn before a shuffle."""


@hinted
class TFRecordDataset(Dataset[bytes]):
    r"""The records of files, as ``tf.data.TFRecordDataset``; see :class:`Dataset` for the stages.

    Parameters
    ----------
    filenames : str, bytes, PathLike, or an iterable of them
        Paths, URLs and patterns as for :class:`TFRecordReader`.
    compression_type : str or None, optional
        ``""``, ``"GZIP"``, ``"ZLIB"``, ``"ZSTD"``, ``"BZ2"``; None infers it for each file.
    buffer_size : int, optional
        Has no effect, as it changes no result (rule B1).
    num_parallel_reads : int, optional
        Number of files whose records are taken in turns, one at a time; -1: a third of the number of processors,
        rounded up, as in TensorFlow.
    name : str, optional
        Ignored.
    **options
        How files are read: :class:`~tfrecord_lite.options.ReadOptions`, but for `compression`. If damage is
        skipped, or records are dropped, :attr:`Dataset.report` describes it; :meth:`shuffle_all` needs intact
        files. With ``on_misfit="drop"`` records have to fit what parses them next, unless a function changes them before. Each process of
        :meth:`in_processes`, and each worker of torch's ``DataLoader``, warns and counts `max_errors`
        separately, and calls a function `on_error`, which has to be picklable unless processes are forked.

    Raises
    ------
    TypeError, FileNotFoundError, InvalidArgumentError
        As :class:`TFRecordReader`, here or on iteration; for a compression that TensorFlow does not know (rule C8).

    Examples
    --------
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> names = TFRecordDataset("names.tfrecord").shuffle(3, seed=7).batch(2)
    >>> [batch.tolist() for batch in names]
    [[b'Alan', b'Ada'], [b'Grace']]
    """

    def __init__(
        self,
        filenames: Paths,
        compression_type: CompressionType = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        **options: Unpack[ReadOptions],
    ) -> None:
        if compression_type is not None:  # by TensorFlow's names alone (rule C8)
            compression_type = TFRecordOptions.get_compression_type_string(compression_type)
        if "compression" in options:
            raise TypeError(
                "the compression is given as compression_type, TensorFlow's name for it"
            )
        options["compression"] = compression_type
        settings = read_settings(options)
        optional_int("buffer_size", buffer_size, -1)
        cycle = num_files_in_turns() if num_parallel_reads == -1 else num_parallel_reads
        cycle = 1 if cycle is None else require_int("num_parallel_reads", cycle, 1)
        super().__init__(files_of(filenames, settings, cycle, folders="refuse"))

    def interleave(
        self, cycle_length: int | None = None, block_length: int = 1, *, deterministic: bool = True
    ) -> TFRecordDataset:
        """Take the records of several files in turns, as ``tf.data.Dataset.interleave``.

        Parameters
        ----------
        cycle_length : int, optional
            Number of files that take turns, all open at once; by default up to 16.
        block_length : int, optional
            Number of records per turn.
        deterministic : bool, optional
            Has no effect: no other order would be faster.

        Examples
        --------
        >>> with ShardedTFRecordWriter("names@2.tfrecord") as writer:
        ...     for name in ("Ada", "Alan", "Grace"):
        ...         writer.write(name)
        >>> names = TFRecordDataset("names-*.tfrecord")
        >>> list(names), list(names.interleave())
        ([b'Ada', b'Grace', b'Alan'], [b'Ada', b'Alan', b'Grace'])
        """
        files = self._files()
        cycle = min(len(files.names), _MOST_OPEN) if cycle_length is None else cycle_length
        cycle = require_int("cycle_length", cycle, 1)
        block = require_int("block_length", block_length, 1)
        return dataset_of(replace(files, cycle_length=cycle, block_length=block))

    def shuffle_files(
        self, seed: int | None = None, reshuffle_each_iteration: bool = True
    ) -> TFRecordDataset:
        """Read the files in random order; for large data sets, before a :meth:`shuffle`.

        After :meth:`shard` a seed is required.

        Examples
        --------
        >>> with ShardedTFRecordWriter("names@3.tfrecord") as writer:
        ...     for name in ("Ada", "Alan", "Grace"):
        ...         writer.write(name)
        >>> list(TFRecordDataset("names-*.tfrecord").shuffle_files(seed=1))
        [b'Alan', b'Grace', b'Ada']
        """
        return dataset_of(replace(self._files(), **self._order(seed, reshuffle_each_iteration)))

    def shuffle_all(
        self, seed: int | None = None, reshuffle_each_iteration: bool = True
    ) -> TFRecordDataset:
        """Put all records of all files in random order, each order as likely as any other.

        Records are read one by one, through an index that is kept in memory (24 bytes per
        record); iteration raises the errors of :class:`TFRecordFile`. After :meth:`shard` a seed is required.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> names = TFRecordDataset("names.tfrecord").shuffle_all(seed=1)
        >>> list(names), list(names)
        ([b'Alan', b'Grace', b'Ada'], [b'Grace', b'Ada', b'Alan'])
        """
        settings = self._order(seed, reshuffle_each_iteration)
        files = self._files()
        if files.skips_damage:
            detail = "shuffle_all needs intact files: recover the files first, or write the records that fit with "
            detail += "'tfrecord filter --drop-bad', and leave out on_error and on_misfit"
            raise argument_error(detail, Reason.UNSUPPORTED)
        records = ShuffledRecords(names=files.names, options=files.options, **settings)
        return dataset_of(replace(records, n_parts=files.n_parts, number=files.number))

    def shard(self, num_shards: int, index: int) -> TFRecordDataset:
        """Return every `num_shards`-th record, from number `index` on: one rank's part.

        It returns the same before and after the methods that decide the order of the files.

        Examples
        --------
        >>> with TFRecordWriter("six.tfrecord") as writer:
        ...     for i in range(6):
        ...         writer.write(b"%d" % i)
        >>> [list(TFRecordDataset("six.tfrecord").shard(2, rank).shuffle_all(1)) for rank in (0, 1)]
        [[b'1', b'4', b'0'], [b'5', b'2', b'3']]
        """
        source: Any = self._plan
        return dataset_of(source.part(**self._part(num_shards, index)))

    @property
    def is_shard(self) -> bool:
        """Whether this is one rank's part of the records."""
        return getattr(self._plan, "is_shared", False)

    def _order(self, seed: int | None, reshuffles: bool) -> dict[str, Any]:
        if self.is_shard and seed is None:
            raise argument_error("a random order after shard needs a seed, the same in all ranks")
        return {"seed": seed_of(seed), "is_seeded": seed is not None, "reshuffles": reshuffles}

    def _files(self) -> Files:
        if not isinstance(self._plan, Files):
            detail = "shuffle_all has already decided the order; call this method before it"
            raise argument_error(detail)
        return self._plan


def files_of(
    paths: Paths, options: ReadSettings, cycle: int = 1, folders: Literal["read", "refuse"] = "read"
) -> Files:
    """Return the node that reads files in order."""
    sources = expand(paths, options.storage_options, folders=folders)
    if any(map(is_file_object, sources)):
        raise TypeError("filenames must be paths: files are opened again for each epoch")
    if options.on_misfit != "raise" and options.check is None:
        from tfrecord_lite.described.sources import dropping  # noqa: PLC0415 - loads the engine

        options = dropping(None, sources, options)
    return Files(names=tuple(map(name_of, sources)), options=options, cycle_length=cycle)


def _is_str(specification: Any) -> bool:
    """Whether a specification is ``str`` or ``(str, shape)``."""
    return str in (specification if isinstance(specification, tuple) else (specification,))


def _mixed(files: Files, buffer_size: int) -> Files:
    """Let files take turns before a shuffle, whose buffer has room for two turns of each."""
    n_files = max(min(len(files.names), _MOST_OPEN), 1)
    block_length = min(max(buffer_size // (2 * n_files), 1), _MOST_IN_TURN)
    return replace(files, cycle_length=n_files, block_length=block_length)


def dataset_of(plan: PlanNode) -> TFRecordDataset:
    """Return the data set of a plan."""
    dataset = TFRecordDataset.__new__(TFRecordDataset)
    Dataset.__init__(dataset, plan)
    return dataset


@overload
def read_batches(
    paths: Paths, schema: DenseFeatures, batch_size: int = ..., **keywords: Unpack[Whole]
) -> Dataset[dict[str, AnyArray]]: ...
@overload
def read_batches(
    paths: Paths, schema: DenseFeatures, batch_size: int = ..., **keywords: Unpack[Labelled]
) -> Dataset[tuple[dict[str, AnyArray], AnyArray]]: ...
@overload
def read_batches(
    paths: Paths, schema: Features, batch_size: int = ..., **keywords: Unpack[Whole]
) -> Dataset[Columns]: ...
@overload
def read_batches(
    paths: Paths, schema: Features, batch_size: int = ..., **keywords: Unpack[Labelled]
) -> Dataset[tuple[Columns, Column]]: ...
@overload
def read_batches(
    paths: Paths,
    schema: SchemaLike | None = None,
    batch_size: int = ...,
    *,
    label_key: str | None = None,
    **keywords: Unpack[Keywords],
) -> Dataset[Any]: ...
def read_batches(
    paths: Paths,
    schema: SchemaLike | None = None,
    batch_size: int = 32,
    *,
    shuffle: bool | int | Literal["all"] = False,
    seed: int | None = None,
    num_epochs: int | None = 1,
    label_key: str | None = None,
    shard: tuple[int, int] | None = None,
    even: bool | Literal["drop"] = False,
    drop_remainder: bool = False,
    num_workers: int = 0,
    columns: Sequence[str] | None = None,
    text: bool | Sequence[str] = False,
    **options: Unpack[ReadOptions],
) -> Dataset[Any]:
    """Read files of Examples, or SequenceExamples, as batches of columns.

    Parameters
    ----------
    paths : str, PathLike, or an iterable of them
        Paths, URLs and patterns, as for :class:`TFRecordReader`.
    schema : Schema, SequenceSchema, dict of specifications, or path, optional
        The features to read, and how (of SequenceExamples, a Schema or dict reads the context). By
        default as for :func:`scan`: what the files beside the data say, or what the first 10,000 records have.
        A feature whose dtype is ``str`` is text: its values are str, not bytes.
    batch_size : int, default 32
    shuffle : bool, int or "all", optional
        False and 0 keep the order. True, or the size of a buffer, mixes in three steps: the files are put in random
        order; up to 16 of them take turns, each with up to 256 records (fewer if the buffer would
        not hold two turns of each); and the next record is drawn from a buffer of this size, 10,000 records for True.
        ``"all"`` draws from all records: :meth:`TFRecordDataset.shuffle_all`.
    seed : int, optional
        Seed of the shuffle. With `shard` and without a seed the files stay in order.
    num_epochs : int or None, optional
        Number of rounds through all records; None for ever.
    label_key : str, optional
        A feature to take out: elements are then (features, label).
    shard : tuple of int, optional
        (number of ranks, this rank): this rank's part of the records, equal to the others' to within one. In files with
        an index beside them, or with records of 16 KB and more on average, and from the second epoch on in other local,
        uncompressed files, a rank reads only runs of about 1 MiB, in turn with the others. Otherwise it reads all
        files, and takes every n-th record.
    even : bool or "drop", optional
        With `shard`, whether all ranks get the same number of records, and so of batches, if they have the same number
        of workers. True pads: a rank, or a worker, that would get one record less than others repeats one of
        another's. ``"drop"`` leaves the last few records of the epoch out instead.
    drop_remainder : bool, optional
        Leave out a last batch that is not full.
    num_workers : int, optional
        Number of processes that do the work; 0 does it in this one. They share the records as ranks do; files in
        order that are read once are divided among them, if there are enough.
    columns, text
        As for :func:`load`.
    **options
        How files are read: :class:`~tfrecord_lite.options.ReadOptions`.

    Returns
    -------
    Dataset
        Its elements are dictionaries of columns; with `label_key`, pairs (columns, label); of
        SequenceExamples, tuples (context, feature_lists, feature_list_lengths).

    Raises
    ------
    InvalidArgumentError, TypeError, FileNotFoundError
        As the methods of :class:`TFRecordDataset` that this calls.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> for batch in read_batches("people.tfrecord", {"name": bytes, "age": int}, 2):
    ...     print(batch["name"], batch["age"])
    [b'Ada' b'Alan'] [36 41]
    [b'Grace'] [37]
    >>> next(iter(read_batches("people.tfrecord")))  # as they were saved
    {'name': array(['Ada', 'Alan', 'Grace'], dtype=object), 'age': array([36, 41, 37])}
    """
    from tfrecord_lite.described.sources import parser_for  # noqa: PLC0415 - loads the engine

    if isinstance(shuffle, str) and shuffle != "all":
        raise argument_error(f"shuffle is {shuffle!r}, expected True, False, 'all' or a number")
    if even not in (True, False, "drop"):
        raise argument_error(f"even is {even!r}, expected True, False or 'drop'")
    if isinstance(shuffle, (bool, str)):
        buffer_size = _BUFFER_SIZE if shuffle is True else 0
    else:
        buffer_size = require_int("shuffle", shuffle, 0)
    settings = read_settings(options)
    files = files_of(paths, settings)
    records = dataset_of(_mixed(files, buffer_size) if buffer_size else files)
    dataset: Dataset[Any] = records
    if shuffle == "all":
        dataset = records.shuffle_all(seed)
    elif buffer_size and (seed is not None or shard is None):
        dataset = records.shuffle_files(seed)
    if shard is not None:
        dataset = _part_of(dataset, shard, even)
    if buffer_size:
        dataset = dataset.shuffle(buffer_size, seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    if isinstance(schema, Mapping) and text is not True:
        text = [*(text or ()), *(name for name, spec in schema.items() if _is_str(spec))] or False
    parser = parser_for(schema, files.names, settings, columns=columns, text=text)
    if columns is not None and label_key not in (None, *columns):
        raise argument_error(f"label_key {label_key!r} is not among the columns; add it to columns")
    dataset = parsed_by(dataset.batch(batch_size, drop_remainder), parser, label_key)
    return dataset.in_processes(num_workers)


def _part_of(dataset: Dataset[Any], shard: Any, even: bool | Literal["drop"]) -> Dataset[Any]:
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise TypeError(f"shard must be (number of ranks, this rank), not {shard!r}")
    part: Any = dataset.shard(*shard)._plan  # noqa: SLF001 - of this module
    if even and part.n_parts > 1:
        part = replace(part, even="drop" if even == "drop" else "pad")
    if isinstance(part, Files):  # in runs, not every n-th
        part = replace(part, n_parts=1, number=0, ranks=(part.n_parts, part.number))
    return dataset_of(part)
