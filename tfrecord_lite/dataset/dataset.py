"""Dataset: the stages that users chain, as methods."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Any

from tfrecord_lite.dataset import batching
from tfrecord_lite.dataset import sharding as spread
from tfrecord_lite.dataset.arguments import processors, seed_of
from tfrecord_lite.dataset.batching import Batch, Parse
from tfrecord_lite.dataset.cache import Cache
from tfrecord_lite.dataset.epochs import Epochs
from tfrecord_lite.dataset.iterator import DatasetIterator
from tfrecord_lite.dataset.plan import Source, chain, describe
from tfrecord_lite.dataset.prefetch import Prefetch
from tfrecord_lite.dataset.records import Files, ShuffledFiles
from tfrecord_lite.dataset.shuffle import Shuffle
from tfrecord_lite.dataset.stages import Enumerate, Filter, Map, Repeat, Shard, Skip, Take
from tfrecord_lite.dataset.workers import Processes
from tfrecord_lite.errors import InvalidArgumentError, Reason, require_int

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal, Self

    from tfrecord_lite.records.damage import DamageReport
    from tfrecord_lite.schema import FeatureSpec

_AUTO = 2
"""What is prefetched if the number is left open."""


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
        self._epochs = Epochs()
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
            buffer_size=require_int("buffer_size", buffer_size, 1),
            seed=seed_of(seed),
            is_seeded=seed is not None,
            reshuffles=reshuffle_each_iteration,
            number=1 + sum(isinstance(stage, Shuffle) for stage in chain(self._plan)),
        )

    def repeat(self, count: int | None = None) -> Dataset:
        """Go through the elements `count` times; None or a negative number: for ever."""
        n = None if count is None else require_int("count", count, -(2**63))
        return self._then(Repeat, n=None if n is not None and n < 0 else n)

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
        n = require_int("batch_size", batch_size, 1)
        return self._then(Batch, n=n, drop_remainder=drop_remainder)

    def parse_example(
        self,
        features: Mapping[str, FeatureSpec],
        *,
        strings: Literal["ndarray", "BytesColumn"] = "ndarray",
        label_key: str | None = None,
    ) -> Dataset:
        """Parse Examples: batches into columns, or single ones.

        Parameters
        ----------
        features : mapping of str to feature specification
            As for :func:`parse_example`.
        strings : {"ndarray", "BytesColumn"}, optional
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
        return self._then(
            Parse,
            parser=parser,
            features=batching.fingerprint(features, strings=strings),
            label_key=label_key,
            is_dense=batching.is_dense(features),
        )

    def parse_sequence_example(
        self,
        context_features: Mapping[str, FeatureSpec] | None = None,
        sequence_features: Mapping[str, FeatureSpec] | None = None,
        *,
        strings: Literal["ndarray", "BytesColumn"] = "ndarray",
    ) -> Dataset:
        """Parse SequenceExamples: batches into (context, sequences, lengths), or single ones.

        Parameters
        ----------
        context_features, sequence_features, strings
            As for :class:`SequenceExampleParser`.

        Raises
        ------
        InvalidArgumentError, TypeError
            As :class:`SequenceExampleParser`, here or on iteration.
        """
        from tfrecord_lite.example.sequence.parse import (  # noqa: PLC0415 - loads the engine
            SequenceExampleParser,
        )

        parser = SequenceExampleParser(context_features, sequence_features, strings=strings)
        found = batching.fingerprint(context_features, sequence_features, strings=strings)
        return self._then(Parse, parser=parser, features=found, is_dense=False)

    def map(self, map_func: Callable[..., Any], num_parallel_calls: int | None = None) -> Dataset:
        """Call a function with each element; the parts of a tuple are its arguments.

        Parameters
        ----------
        map_func : callable
        num_parallel_calls : int, optional
            Call it in so many threads; -1 for one a processor. The order stays.
        """
        n_threads = processors() if num_parallel_calls == -1 else num_parallel_calls or 1
        n_threads = require_int("num_parallel_calls", n_threads, 1)
        return self._then(Map, function=map_func, n_threads=n_threads)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """Leave out the elements for which a function returns false."""
        return self._then(Filter, function=predicate)

    def take(self, count: int) -> Dataset:
        """Give the first `count` elements; all if it is negative."""
        n = require_int("count", count, -(2**63))
        return self if n < 0 else self._then(Take, n=n)

    def skip(self, count: int) -> Dataset:
        """Leave out the first `count` elements; all if it is negative."""
        n = require_int("count", count, -(2**63))
        return self.take(0) if n < 0 else self._then(Skip, n=n)

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Give every `num_shards`-th element, from number `index` on: one rank's part.

        Put it first, or right behind what decides the order of files, so that ranks do not do
        each other's work.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if there is no such shard, or behind a shuffle without a
            seed: ranks would each shuffle in another order.
        """
        settings = self._part(num_shards, index)
        if isinstance(self._plan, (Files, ShuffledFiles)):
            return Dataset(self._plan.part(**settings))
        return self._then(Shard, **settings)

    def _part(self, num_shards: int, index: int) -> dict[str, int]:
        """Check which shard is wanted."""
        n_parts = require_int("num_shards", num_shards, 1)
        number = require_int("index", index, 0)
        if number >= n_parts:
            detail = f"index is {index}, expected less than num_shards, {num_shards}"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        for stage in chain(self._plan):
            if spread.is_shuffle(stage) and not getattr(stage, "is_seeded", True):
                detail = "shard behind a shuffle needs a seed in that, the same in all ranks"
                raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        return {"n_parts": n_parts, "number": number}

    def enumerate(self, start: int = 0) -> Dataset:
        """Give pairs of a number and an element."""
        return self._then(Enumerate, start=int(start))

    def cache(self) -> Dataset:
        """Keep the elements of the first whole epoch in memory, and give them in all later ones.

        A shuffle behind it goes on to shuffle; one before it is kept as it was. They are kept
        in the memory of a process, and end with it: in torch's ``DataLoader`` each worker keeps
        its part, from epoch to epoch only with ``persistent_workers=True``.
        """
        return self._then(Cache)

    def prefetch(self, buffer_size: int | None = None) -> Dataset:
        """Make so many elements ahead, in a thread; None or -1: a few."""
        n = _AUTO if buffer_size in (None, -1) else buffer_size
        return self._then(Prefetch, n=max(require_int("buffer_size", n, 0), 1))

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
            ``BAD_ARGUMENT`` if `num_workers` is negative, or there is no such method here.
            ``UNSUPPORTED`` behind :meth:`cache`, unless a :meth:`repeat` is between them: what
            a process keeps ends with it, at the end of the epoch.
        RuntimeError
            On iteration, if a process dies.
        FailedPreconditionError
            On iteration in a process that may not start others, as torch's workers:
            ``UNSUPPORTED``.
        """
        n_workers = require_int("num_workers", num_workers, 0)
        methods = multiprocessing.get_all_start_methods()
        if start_method is not None and start_method not in methods:
            detail = f"start_method is {start_method!r}, expected one of {', '.join(methods)}"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        if not n_workers:
            return self
        if spread.has_idle_cache(self._plan):
            detail = (
                "cache before in_processes keeps nothing, as each epoch has processes of its "
                "own: put cache behind in_processes, or repeat between the two"
            )
            raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
        return self._then(Processes, n_workers=n_workers, start_method=start_method)

    def set_epoch(self, epoch: int) -> Self:
        """Say which epoch the next iteration is; return the data set itself.

        Needed only to agree with other processes, or with an earlier run. Workers of this
        process are told too, also those of torch that stay.
        """
        self._epochs.say(require_int("epoch", epoch, 0))
        return self

    def __iter__(self) -> DatasetIterator:
        """Start the next epoch."""
        worker = spread.current_worker()
        epoch = self._epochs.begin(is_worker=worker is not None)
        if worker is None:
            return DatasetIterator(self._plan, (epoch,), self._epochs.have_begun)
        part = (worker.n_workers, worker.number)
        if part not in self._parts:
            self._parts[part] = spread.worker_part(self._plan, *part)
        # Each epoch may find a copy of the data set as it was at first; torch's number for the
        # epoch tells them apart. Ranks have different ones, so where they share an order,
        # only set_epoch can.
        is_fixed = self._epochs.is_said or spread.is_rank_bound(self._plan)
        key = (epoch,) if is_fixed else (epoch, worker.salt)
        return DatasetIterator(self._parts[part], key, self._epochs.have_begun)

    def as_numpy_iterator(self) -> DatasetIterator:
        """Start the next epoch; everything is NumPy anyway."""
        return iter(self)

    @property
    def report(self) -> DamageReport | None:
        """What the epoch begun last in this process has read of files, and lost, so far.

        None before the first one, and without ``on_error=``; see :class:`TFRecordDataset`. With
        :meth:`in_processes` it holds what the processes had met when they made what was taken
        from them; each file once, in the order of the files' names as they were given.
        """
        source = chain(self._plan)[0]
        return source.damage.report() if isinstance(source, Files) else None

    def __bool__(self) -> bool:
        """Return True: whether there are elements is not known without reading."""
        return True

    def __len__(self) -> int:
        """Return the number of elements.

        Raises
        ------
        TypeError
            If it is not known without reading the files, or there is no end. Where torch's
            data loaders are imported, also for batches that each of their workers makes of
            its own part: a ``DataLoader`` passes this length on, whatever its workers make.
        """
        size = self._plan.size()
        if spread.is_torch_there() and spread.has_own_batches(self._plan):
            detail = (
                "the number of batches depends on how many workers torch's DataLoader has; the "
                "length of the data set before batch is known, if this one is without torch"
            )
            raise TypeError(detail)
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
