"""Dataset and TFRecordDataset: what users chain, and the iterator that can be resumed."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.dataset import batching, spread
from tfrecord_lite.dataset.batching import Batch, Parse
from tfrecord_lite.dataset.feed import Elements, Feed
from tfrecord_lite.dataset.plan import Context, Source, chain, describe
from tfrecord_lite.dataset.prefetch import Cache, Prefetch
from tfrecord_lite.dataset.records import Files, ShuffledFiles, shuffled_files
from tfrecord_lite.dataset.shuffle import Shuffle
from tfrecord_lite.dataset.stages import Enumerate, Filter, Map, Repeat, Shard, Skip, Take
from tfrecord_lite.dataset.workers import Processes
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.options import TFRecordOptions
from tfrecord_lite.sources import expand, is_file_object, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Literal, Self

    from tfrecord_lite.options import CompressionType
    from tfrecord_lite.schema import FeatureSpec

__all__ = ["Dataset", "DatasetIterator", "TFRecordDataset"]

_AUTO = 2
"""What is prefetched if the number is left open."""
_SLOPPY_RECORDS = 1024
"""Records taken from a file at a time where their order does not matter."""


class Dataset:
    """Elements that come one after the other, from a chain of stages.

    Made by the methods of another, :class:`TFRecordDataset` first; each returns a new data
    set and leaves its own as it is. Nothing is read before iteration.

    Notes
    -----
    Each iteration is the next *epoch*, counted from 0 or from :meth:`set_epoch`: shuffles
    give another order in each, by their seed and the epoch's number.

    In the workers of a torch ``DataLoader`` each element of an epoch comes in one of them
    (import torch before the data set is made). A data set can be pickled, as far as the
    functions given to it can.
    """

    def __init__(self, plan: Source) -> None:
        self._plan = plan
        self._epoch = 0
        self._is_epoch_set = False
        self._parts: dict[tuple[int, int], Source] = {}
        spread.register_with_torch(Dataset)

    def _then(self, stage: Callable[..., Source], **settings: Any) -> Dataset:
        return Dataset(stage(input=self._plan, **settings))

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,  # noqa: FBT001, FBT002 - TensorFlow's signature
    ) -> Dataset:
        """Put the elements in random order, as far as a buffer allows.

        Parameters
        ----------
        buffer_size : int
            How many elements the next one is drawn from. The order is as random as that is
            large; all records alike are as likely anywhere by
            :meth:`TFRecordDataset.shuffle_all`.
        seed : int, optional
            The same seed gives the same order, on every machine. None draws one now.
        reshuffle_each_iteration : bool, optional
            Whether each epoch has an order of its own.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if `buffer_size` is not positive.
        """
        return self._then(
            Shuffle,
            buffer_size=_whole("buffer_size", buffer_size, 1),
            seed=_seed(seed),
            is_seeded=seed is not None,
            reshuffles=reshuffle_each_iteration,
            number=1 + sum(isinstance(stage, Shuffle) for stage in chain(self._plan)),
        )

    def repeat(self, count: int | None = None) -> Dataset:
        """Go through the elements `count` times; None or a negative number: for ever."""
        n = None if count is None or count < 0 else _whole("count", count, 0)
        return self._then(Repeat, n=n)

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:  # noqa: FBT001, FBT002 - TensorFlow's signature
        """Put so many elements into one: records into an object array, arrays stacked.

        Parameters
        ----------
        batch_size : int
        drop_remainder : bool, optional
            Leave a last batch out that is not full.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if `batch_size` is not positive; on iteration, ``WRONG_COUNT``
            for elements that cannot be stacked.
        """
        n = _whole("batch_size", batch_size, 1)
        return self._then(Batch, n=n, drop_remainder=drop_remainder)

    def parse_example(
        self,
        features: Mapping[str, FeatureSpec],
        *,
        strings: Literal["object", "column"] = "object",
        label_key: str | None = None,
    ) -> Dataset:
        """Parse Examples: batches into columns, or single ones.

        Parameters
        ----------
        features : mapping of str to feature specification
            As for :func:`parse_example`.
        strings : {"object", "column"}, optional
            As for :class:`ExampleParser`.
        label_key : str, optional
            A feature to take out: elements are then (features, label).

        Raises
        ------
        InvalidArgumentError, TypeError
            As :class:`ExampleParser`, here or on iteration; ``BAD_ARGUMENT`` if
            `label_key` is no feature.

        Notes
        -----
        Fast behind :meth:`batch`, and slow before it.
        """
        from tfrecord_lite.example.parse import ExampleParser  # noqa: PLC0415 - loads the engine

        parser = ExampleParser(features, strings=strings)
        if label_key is not None and label_key not in features:
            detail = f"the label_key {label_key!r} must be one of the features: {sorted(features)}"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=label_key, detail=detail)
        is_dense = batching.is_dense(features)
        return self._then(Parse, parser=parser, label_key=label_key, is_dense=is_dense)

    def map(self, map_func: Callable[..., Any], num_parallel_calls: int | None = None) -> Dataset:
        """Call a function with each element; the parts of a tuple are its arguments.

        Parameters
        ----------
        map_func : callable
        num_parallel_calls : int, optional
            Call it in so many threads; -1 for one a processor. The order stays.
        """
        n_threads = _processors() if num_parallel_calls == -1 else num_parallel_calls or 1
        n_threads = _whole("num_parallel_calls", n_threads, 1)
        return self._then(Map, function=map_func, n_threads=n_threads)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """Leave out the elements for which a function returns false."""
        return self._then(Filter, function=predicate)

    def take(self, count: int) -> Dataset:
        """Give the first `count` elements; all if it is negative."""
        return self if count < 0 else self._then(Take, n=_whole("count", count, 0))

    def skip(self, count: int) -> Dataset:
        """Leave out the first `count` elements; all if it is negative."""
        return self.take(0) if count < 0 else self._then(Skip, n=_whole("count", count, 0))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Give every `num_shards`-th element, from number `index` on: one rank's part.

        Put it first, so that ranks do not do each other's work.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if there is no such shard, or behind a shuffle without a
            seed: ranks would each shuffle in another order.
        """
        n_parts = _whole("num_shards", num_shards, 1)
        number = _whole("index", index, 0)
        if number >= n_parts:
            detail = f"index is {index}, expected less than num_shards, {num_shards}"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        for stage in chain(self._plan):
            if spread.is_shuffle(stage) and not getattr(stage, "is_seeded", True):
                detail = "shard behind a shuffle needs a seed in that, the same in all ranks"
                raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        if isinstance(self._plan, (Files, ShuffledFiles)):
            return Dataset(self._plan.part(n_parts, number))
        return self._then(Shard, n_parts=n_parts, number=number)

    def enumerate(self, start: int = 0) -> Dataset:
        """Give pairs of a number and an element."""
        return self._then(Enumerate, start=int(start))

    def cache(self) -> Dataset:
        """Keep the elements of the first whole epoch in memory, and give them in all later ones.

        A shuffle behind it goes on to shuffle; one before it is kept as it was.
        """
        return self._then(Cache)

    def prefetch(self, buffer_size: int | None = None) -> Dataset:
        """Make so many elements ahead, in a thread; None or -1: a few."""
        n = _AUTO if buffer_size in (None, -1) else buffer_size
        return self._then(Prefetch, n=max(_whole("buffer_size", n, 0), 1))

    def in_processes(self, num_workers: int, start_method: str | None = None) -> Dataset:
        """Make the elements in so many processes, each from its part of the records.

        They come in turns from each. Arrays come back through shared memory. Batches are
        each worker's own: up to as many as there are workers may be short.

        Parameters
        ----------
        num_workers : int
            With 0 nothing changes.
        start_method : str, optional
            ``"fork"``, ``"spawn"`` or ``"forkserver"``, as of :mod:`multiprocessing`; None for
            that module's default. But for the first, functions must be fit to be pickled.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if `num_workers` is negative.
        RuntimeError
            On iteration, if a process dies.
        """
        n_workers = _whole("num_workers", num_workers, 0)
        if not n_workers:
            return self
        return self._then(Processes, n_workers=n_workers, start_method=start_method)

    def set_epoch(self, epoch: int) -> Self:
        """Say which epoch the next iteration is; return the data set itself.

        Needed only to agree with other processes, or with an earlier run.
        """
        self._epoch, self._is_epoch_set = _whole("epoch", epoch, 0), True
        return self

    def __iter__(self) -> DatasetIterator:
        """Start the next epoch."""
        epoch, self._epoch = self._epoch, self._epoch + 1
        worker = spread.current_worker()
        if worker is None:
            return DatasetIterator(self._plan, (epoch,))
        part = (worker.n_workers, worker.number)
        if part not in self._parts:
            self._parts[part] = spread.worker_part(self._plan, *part)
        # Each epoch may find a copy of the data set as it was at first; torch's number for the
        # epoch tells them apart. Ranks have different ones, so where they share an order,
        # only set_epoch can.
        is_fixed = self._is_epoch_set or spread.is_rank_bound(self._plan)
        return DatasetIterator(self._parts[part], (epoch,) if is_fixed else (epoch, worker.salt))

    def as_numpy_iterator(self) -> DatasetIterator:
        """Start the next epoch; everything is NumPy anyway."""
        return iter(self)

    def __len__(self) -> int:
        """Return the number of elements.

        Raises
        ------
        TypeError
            If it is not known without reading the files, or there is no end.
        """
        size = self._plan.size()
        if size is None:
            detail = "the number of elements is not known; count them, or use TFRecordFile"
            raise TypeError(detail)
        return size

    def __getstate__(self) -> dict[str, Any]:
        """Leave the parts of workers behind; they can be made again."""
        return {**self.__dict__, "_parts": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Be known to torch in another process too."""
        self.__dict__.update(state)
        spread.register_with_torch(Dataset)

    def __repr__(self) -> str:
        """Name the stages."""
        return f"<{type(self).__name__}: {' > '.join(describe(self._plan))}>"


class DatasetIterator:
    """One pass through a data set, which can say where it stands, and go on from there.

    Notes
    -----
    Has the methods of torchdata's ``Stateful`` protocol. Not to be used by several threads
    at once. Files, threads and processes go when it ends, is closed or is forgotten.
    """

    def __init__(self, plan: Source, epoch: tuple[int, ...], state: Any = None) -> None:
        self._plan = plan
        self._begin(epoch, state)

    def _begin(self, epoch: tuple[int, ...], state: Any) -> None:
        self._epoch = epoch
        context = Context(epoch=epoch)
        self._feed = Feed(lambda at: self._plan.run(context, at), state)
        self._elements = Elements(self._feed)
        self._is_closed = False

    def __iter__(self) -> Self:
        """Return the iterator itself."""
        return self

    def __next__(self) -> Any:
        """Return the next element."""
        if self._is_closed:
            raise StopIteration
        return next(self._elements)

    def state_dict(self) -> dict[str, Any]:
        """Return where the iterator stands: behind the last element it gave.

        Returns
        -------
        dict
            Plain data, fit for JSON: numbers of files, records and steps. Never records.
        """
        return {
            "version": 1,
            "stages": describe(self._plan),
            "epoch": list(self._epoch),
            "at": self._elements.state(),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where another iterator stood, of a data set made in the same way.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if the stages are others.
        """
        if state_dict.get("version") != 1 or state_dict["stages"] != describe(self._plan):
            detail = f"the state is of {state_dict.get('stages')}, this data set is {describe(self._plan)}"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        self._feed.close()
        self._begin(tuple(state_dict["epoch"]), state_dict["at"])

    def close(self) -> None:
        """End the pass. Twice is fine."""
        self._is_closed = True
        self._feed.close()


class TFRecordDataset(Dataset):
    r"""The records of files, as ``tf.data.TFRecordDataset``; see :class:`Dataset` for what follows.

    Parameters
    ----------
    filenames : str, bytes, PathLike, or an iterable of them
        Paths, URLs and patterns as for :class:`TFRecordReader`.
    compression_type : str or None, optional
        ``""``, ``"GZIP"``, ``"ZLIB"``, ``"ZSTD"``, ``"BZ2"``; None finds it out for each file.
    buffer_size : int, optional
        Has no effect, as it changes no result (rule B1).
    num_parallel_reads : int, optional
        Take the records of so many files in turns, one at a time; -1: of as many as there
        are processors.
    name : str, optional
        Ignored.
    verify : bool, optional
        Check the CRC of every record's data.

    Raises
    ------
    TypeError
        If `filenames` are no paths.
    FileNotFoundError
        If a pattern matches nothing. A path that is not there is found out on iteration.
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an unknown compression (rule C8), `buffer_size` below -1 or
        `num_parallel_reads` below 1.

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
        filenames: str | bytes | os.PathLike[str] | Iterable[str | bytes | os.PathLike[str]],
        compression_type: CompressionType = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        verify: bool = True,
    ) -> None:
        sources = expand(filenames)
        for source in sources:
            if is_file_object(source):
                detail = "filenames must be paths: files are opened again for each epoch"
                raise TypeError(detail)
        compression = None
        if compression_type is not None:
            compression = TFRecordOptions.get_compression_type_string(compression_type)
        if buffer_size is not None:
            _whole("buffer_size", buffer_size, -1)
        cycle = _processors() if num_parallel_reads == -1 else num_parallel_reads
        super().__init__(
            Files(
                names=tuple(map(name_of, sources)),
                compression=compression,
                verify=verify,
                cycle_length=1 if cycle is None else _whole("num_parallel_reads", cycle, 1),
            )
        )

    def interleave(
        self, cycle_length: int | None = None, block_length: int = 1, *, deterministic: bool = True
    ) -> TFRecordDataset:
        """Take the records of several files in turns, as ``tf.data.Dataset.interleave``.

        Parameters
        ----------
        cycle_length : int, optional
            Of so many files at a time; None for all.
        block_length : int, optional
            So many records a turn.
        deterministic : bool, optional
            False takes a thousand and more at a time, which is faster: when nobody minds
            the order, as before a shuffle.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for a length below 1.
        """
        files = self._files()
        cycle = len(files.names) if cycle_length is None else cycle_length
        block = _whole("block_length", block_length, 1)
        return self._like(
            replace(
                files,
                cycle_length=_whole("cycle_length", cycle, 1),
                block_length=block if deterministic else max(block, _SLOPPY_RECORDS),
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
        """
        settings: dict[str, Any] = {"seed": _seed(seed), "is_seeded": seed is not None}
        return self._like(replace(self._files(), reshuffles=reshuffle_each_iteration, **settings))

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
        FailedPreconditionError
            On iteration, as :class:`TFRecordFile`.
        """
        settings = {"seed": _seed(seed), "is_seeded": seed is not None}
        files = self._files()
        return self._like(shuffled_files(files, reshuffles=reshuffle_each_iteration, **settings))

    def _files(self) -> Files:
        if not isinstance(self._plan, Files):
            detail = "the order of these files was decided already"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        return self._plan

    def _like(self, plan: Source) -> TFRecordDataset:
        out = TFRecordDataset.__new__(TFRecordDataset)
        Dataset.__init__(out, plan)
        return out


def _whole(name: str, value: Any, least: int) -> int:
    """Return a whole number that is large enough."""
    if isinstance(value, (bool, float)) or not isinstance(value, (int, np.integer)):
        detail = f"{name} must be a whole number, got {type(value).__name__}"
        raise TypeError(detail)
    if value < least:
        detail = f"{name} is {value}, expected {least} or more"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    return int(value)


def _seed(seed: int | None) -> int:
    return secrets.randbits(63) if seed is None else int(seed) % 2**64


def _processors() -> int:
    return os.cpu_count() or 1
