"""TFRecordDataset: where pipelines begin, and in which order records come from their files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tfrecord_lite.dataset.arguments import processors, seed_of
from tfrecord_lite.dataset.dataset import Dataset
from tfrecord_lite.dataset.records import Files, shuffled_files
from tfrecord_lite.errors import InvalidArgumentError, Reason, require_int
from tfrecord_lite.files.compression import TFRecordOptions
from tfrecord_lite.files.names import expand, is_file_object, name_of
from tfrecord_lite.records.damage import Damage
from tfrecord_lite.records.framing import MAX_RECORD_BYTES
from tfrecord_lite.records.options import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from tfrecord_lite.dataset.plan import Source
    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import StorageOptions
    from tfrecord_lite.records.damage import OnError

    Paths = str | bytes | PathLike[str] | Iterable[str | bytes | PathLike[str]]

_MOST_OPEN = 16
"""Files that take turns if their number is left open."""


class TFRecordDataset(Dataset):
    r"""The records of files, as ``tf.data.TFRecordDataset``; see :class:`Dataset` for what follows.

    Parameters
    ----------
    filenames : str, bytes, PathLike, or an iterable of them
        Paths, URLs and patterns as for :class:`TFRecordReader`.
    compression_type : str or None, optional
        ``""``, ``"GZIP"``, ``"ZLIB"``, ``"ZSTD"``, ``"BZ2"``; None infers it for each file.
    buffer_size : int, optional
        Has no effect, as it changes no result (rule B1).
    num_parallel_reads : int, optional
        Take the records of so many files in turns, one at a time; -1: of as many as there
        are processors.
    name : str, optional
        Ignored.
    verify : bool, optional
        Check the CRC of every record's data.
    on_error : {"raise", "skip"} or callable, optional
    max_errors : int, optional
        What to do about damage, as for :class:`TFRecordReader`; :attr:`Dataset.report` has what
        was passed over. :meth:`shuffle_all` needs sound files. In the processes of
        :meth:`in_processes` the report and the warning are of all of them together, and so is
        `max_errors`; a function is called in the process that meets the damage, and has to be fit
        to be pickled unless that is forked. Each worker of torch's ``DataLoader`` warns, counts
        and reports for itself.
    max_record_bytes : int, optional
    max_inflated_bytes : int, optional
    max_inflated_ratio : float, optional
        How large records, and what is inflated, may be, as for :class:`TFRecordReader`.
    storage_options : dict, optional
        Options for fsspec, which opens URLs.

    Raises
    ------
    TypeError
        If `filenames` are no paths, or limits no numbers.
    FileNotFoundError
        If a pattern matches nothing. A path that is not there is found out on iteration.
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an unknown compression (rule C8), `buffer_size` below -1,
        `num_parallel_reads` below 1, a limit out of range, or `storage_options` without a URL.

    Notes
    -----
    Iteration raises what :class:`TFRecordReader` does, behind all elements before it.

    Examples
    --------
    >>> with TFRecordWriter("five.tfrecord") as writer:
    ...     for i in range(5):
    ...         writer.write(b"%d" % i)
    >>> dataset = TFRecordDataset("five.tfrecord").shuffle(3, seed=1).batch(2)
    >>> [batch.tolist() for batch in dataset]
    [[b'2', b'3'], [b'1', b'4'], [b'0']]
    """

    def __init__(
        self,
        filenames: Paths,
        compression_type: CompressionType = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        verify: bool = True,
        on_error: OnError = "raise",
        max_errors: int | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        max_inflated_bytes: int | None = None,
        max_inflated_ratio: float | None = None,
        storage_options: StorageOptions = None,
    ) -> None:
        if compression_type is not None:  # by TensorFlow's names alone (rule C8)
            compression_type = TFRecordOptions.get_compression_type_string(compression_type)
        options = ReadOptions(
            compression=compression_type,
            verify=verify,
            max_record_bytes=max_record_bytes,
            max_inflated_bytes=max_inflated_bytes,
            max_inflated_ratio=max_inflated_ratio,
            on_error=on_error,
            max_errors=max_errors,
            storage_options=storage_options,
        )
        if buffer_size is not None:
            require_int("buffer_size", buffer_size, -1)
        cycle = processors() if num_parallel_reads == -1 else num_parallel_reads
        cycle = 1 if cycle is None else require_int("num_parallel_reads", cycle, 1)
        super().__init__(files_of(filenames, options, cycle))

    def interleave(
        self, cycle_length: int | None = None, block_length: int = 1, *, deterministic: bool = True
    ) -> TFRecordDataset:
        """Take the records of several files in turns, as ``tf.data.Dataset.interleave``.

        Parameters
        ----------
        cycle_length : int, optional
            Of so many files at a time, all of them open; None for 16, or all if there are
            fewer.
        block_length : int, optional
            So many records a turn.
        deterministic : bool, optional
            Has no effect: no order would be faster than this one.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for a length below 1.
        """
        files = self._files()
        cycle = min(len(files.names), _MOST_OPEN) if cycle_length is None else cycle_length
        return self._like(
            replace(
                files,
                cycle_length=require_int("cycle_length", cycle, 1),
                block_length=require_int("block_length", block_length, 1),
            )
        )

    def shuffle_files(
        self,
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,  # noqa: FBT001, FBT002 - as of shuffle
    ) -> TFRecordDataset:
        """Read the files in random order: for large data sets, before a :meth:`shuffle`.

        Parameters
        ----------
        seed, reshuffle_each_iteration
            As of :meth:`shuffle`.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` behind :meth:`shard` without a seed.
        """
        settings = self._order(seed, reshuffle_each_iteration)
        return self._like(replace(self._files(), **settings))

    def shuffle_all(
        self,
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,  # noqa: FBT001, FBT002 - as of shuffle
    ) -> TFRecordDataset:
        """Put all records of all files in random order, each order as likely as any other.

        Records are read one by one where they are, by an index that is kept in memory (24
        bytes a record). The files must be local and not compressed.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` behind :meth:`shard` without a seed.
        FailedPreconditionError
            On iteration, as :class:`TFRecordFile`.
        """
        settings = self._order(seed, reshuffle_each_iteration)
        return self._like(shuffled_files(self._files(), **settings))

    def shard(self, num_shards: int, index: int) -> TFRecordDataset:
        """Give every `num_shards`-th record, from number `index` on: one rank's part.

        Before and behind the methods that decide the order of the files it is the same: a part
        of the order of all records.

        Raises
        ------
        InvalidArgumentError
            As :meth:`Dataset.shard`.

        Examples
        --------
        >>> with TFRecordWriter("six.tfrecord") as writer:
        ...     for i in range(6):
        ...         writer.write(b"%d" % i)
        >>> [list(TFRecordDataset("six.tfrecord").shard(2, rank).shuffle_all(1)) for rank in (0, 1)]
        [[b'1', b'4', b'0'], [b'5', b'2', b'3']]
        """
        source: Any = self._plan
        return self._like(source.part(**self._part(num_shards, index)))

    @property
    def is_shard(self) -> bool:
        """Whether it gives a part of the records."""
        return getattr(self._plan, "n_parts", 1) > 1

    def _order(self, seed: int | None, reshuffles: bool) -> dict[str, Any]:  # noqa: FBT001 - as it was given
        """Return the settings of a random order; ranks must draw the same."""
        if self.is_shard and seed is None:
            detail = "a random order behind shard needs a seed, the same in all ranks"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        return {"seed": seed_of(seed), "is_seeded": seed is not None, "reshuffles": reshuffles}

    def _files(self) -> Files:
        if not isinstance(self._plan, Files):
            detail = "the order of these files was decided already"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        return self._plan

    def _like(self, plan: Source) -> TFRecordDataset:
        return dataset_of(plan)


def files_of(paths: Paths, options: ReadOptions, cycle_length: int = 1) -> Files:
    """Return the source of a plan that reads files."""
    sources = expand(paths, options.storage_options)
    if any(map(is_file_object, sources)):
        detail = "filenames must be paths: files are opened again for each epoch"
        raise TypeError(detail)
    return Files(
        names=tuple(map(name_of, sources)),
        options=options,
        cycle_length=cycle_length,
        damage=Damage(options.on_error, options.max_errors),
    )


def dataset_of(plan: Source) -> TFRecordDataset:
    """Return the data set of a plan."""
    dataset = TFRecordDataset.__new__(TFRecordDataset)
    Dataset.__init__(dataset, plan)
    return dataset
