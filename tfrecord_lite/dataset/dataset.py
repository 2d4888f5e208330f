"""Dataset: the stages that users chain, as methods; DatasetIterator: one iteration."""

from __future__ import annotations

import functools
import itertools
import math
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from tfrecord_lite.dataset import plan as plans
from tfrecord_lite.dataset.batching import Batch, is_dense
from tfrecord_lite.dataset.cutting import further
from tfrecord_lite.dataset.plan import PlanNode, Run, Stage
from tfrecord_lite.dataset.random_order import seed_of
from tfrecord_lite.dataset.sources import Files, size_now
from tfrecord_lite.errors import (
    FailedPreconditionError,
    Reason,
    argument_error,
    optional_int,
    require_int,
)
from tfrecord_lite.files.remote import for_each_file
from tfrecord_lite.options import hinted, num_processors
from tfrecord_lite.texts import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, NoReturn, Self, TypeAlias, TypeVarTuple

    import numpy as np
    import typing_extensions

    from tfrecord_lite.arrays import AnyArray, Int64Array, ObjectArray
    from tfrecord_lite.block import Block
    from tfrecord_lite.columns import Column
    from tfrecord_lite.errors import DamageReport
    from tfrecord_lite.example.decode.reader import StringForm
    from tfrecord_lite.example.parse import ExampleParser
    from tfrecord_lite.example.sequence.parse import SequenceExampleParser
    from tfrecord_lite.schema import DenseLike, FeatureLike

    T_co = typing_extensions.TypeVar("T_co", covariant=True, default=Any)
    U = TypeVar("U")
    Parts = TypeVarTuple("Parts")
    Features: TypeAlias = Mapping[str, FeatureLike]
    DenseFeatures: TypeAlias = Mapping[str, DenseLike]
    Columns: TypeAlias = dict[str, Column]
    """What an :class:`ExampleParser` returns."""
    Leaf: TypeAlias = float | np.generic | AnyArray
    """An element that :meth:`Dataset.batch` stacks to an array."""

else:  # only type checkers need the default
    T_co = TypeVar("T_co", covariant=True)

_ALL = -(2**63)
"""The smallest count; as any negative one, it means all elements."""
_STATE_VERSION = 2
_MODULES = {"Batch": "batching", "Parse": "batching", "Buckets": "lengths", "Pack": "lengths"}
_MODULES |= dict.fromkeys(("Concatenated", "Mixed", "Zipped"), "mixtures")
_MODULES |= {"Shuffle": "shuffle", "Processes": "workers"}
"""Modules of the nodes that methods make, if not ``stages``; loaded when first used."""
_PADS = "rows of several lengths are ragged columns, which .map(lambda b: b | {'x': b['x'].to_tensor()}) pads"
_FLAT = "itertools.chain.from_iterable(dataset) flattens; .map(lambda b: {k: v.values for k, v in b.items()}), ragged rows"
_IN_MEMORY = "save writes arrays and rows to a file, which read_batches reads; tf.data of tfrecord_lite.tf has it, too"
_OF_TENSORFLOW = {
    **dict.fromkeys(("padded_batch", "ragged_batch", "dense_to_ragged_batch"), _PADS),
    **dict.fromkeys(("from_tensor_slices", "from_tensors", "from_generator", "range"), _IN_MEMORY),
    **dict.fromkeys(("flat_map", "unbatch"), _FLAT),
    "bucket_by_sequence_length": "bucket_by_length makes batches of similar lengths",
    "group_by_window": "bucket_by_length makes batches of similar lengths",
    "sample_from_datasets": "Dataset.mix draws from several data sets",
    "interleave": "TFRecordDataset(paths).interleave() takes turns among files, before other stages",
    "window": "batch(n) has n elements together; pack(length, key), the values of sequences",
    "list_files": "TFRecordDataset and read_batches take patterns",
    "cardinality": "len(dataset), or dataset.count()",
    "reduce": "functools.reduce(function, dataset, initial)",
    "apply": "call the function with the data set",
    "with_options": "leave it out; read_batches takes num_workers, and Dataset.map num_parallel_calls",
    "element_spec": "next(iter(dataset)) shows dtypes and shapes",
}
"""Names that only ``tf.data.Dataset`` has, and what to use instead."""


def _no_attribute(cls: type, name: str, obj: object) -> AttributeError:
    hint = f"; {_OF_TENSORFLOW[name]}" if name in _OF_TENSORFLOW else ""
    return AttributeError(f"{cls.__name__!r} has no attribute {name!r}{hint}", name=name, obj=obj)


class _DatasetType(type):
    if not TYPE_CHECKING:  # for type checkers there is no such attribute

        def __getattr__(cls, name: str) -> NoReturn:
            raise _no_attribute(cls, name, cls)


def _with_node(node_type: str, **settings: Any) -> Dataset[Any]:
    """Return the data set of a plan that ends with a new node."""
    module = import_module(f"tfrecord_lite.dataset.{_MODULES.get(node_type, 'stages')}")
    return Dataset(getattr(module, node_type)(**settings))


class DatasetIterator(Iterator[T_co]):
    """One iteration over a data set, which can be stopped and resumed.

    It has the methods of torchdata's ``Stateful`` protocol. Only one thread at a time may use it.
    Its files, threads and processes are released when it ends, is closed or is forgotten.

    Examples
    --------
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> iterator = iter(TFRecordDataset("names.tfrecord"))
    >>> next(iterator), iterator.state_dict()["epoch"]
    (b'Ada', [0])
    """

    def __init__(
        self, dataset: Dataset[T_co], plan: PlanNode, epoch: int, salt: tuple[int, ...] = ()
    ) -> None:
        self._dataset = dataset
        self._plan = plan
        """The plan of the data set, or of a worker's part of it."""
        self._begin(Run((epoch,), salt=salt), None)

    def _begin(self, run: Run, state: Any) -> None:
        is_skipped = any(
            getattr(source, "skips_damage", False) for source in plans.sources_of(self._plan)
        ) and not any(node.stage == "in_processes" for node in plans.chain(self._plan))
        self._run = replace(run, damage=plans.RunDamage(is_skipped=is_skipped))
        self._dataset._begun(self._run)  # noqa: SLF001 - of this module
        self._feed = plans.feed_of(self._plan, self._run, state)
        self._before = self._feed.state()  # before the ready elements
        self._ready: list[Any] = []
        self._n_taken = 0  # of the ready elements
        self._is_closed = False

    def __next__(self) -> T_co:
        """Return the next element."""
        if self._n_taken == len(self._ready):
            self._make_ready()
        item = self._ready[self._n_taken]
        self._n_taken += 1
        return item  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        """Name the stages."""
        return f"<{type(self).__name__}: {plans.summary(self._plan)}>"

    def _make_ready(self) -> None:
        if self._is_closed:
            raise StopIteration
        self._before, self._ready, self._n_taken = self._feed.state(), [], 0
        if (chunk := self._feed.take()) is None:
            raise StopIteration
        self._ready = chunk.to_list()

    @property
    def report(self) -> DamageReport | None:
        """What this iteration has read and lost so far; see :attr:`Dataset.report`."""
        return self._run.damage.report()

    def state_dict(self) -> dict[str, Any]:
        """Return the position of the iterator: after the last element it returned.

        Returns
        -------
        dict
            Plain data, fit for JSON; never records.

        Examples
        --------
        >>> import json
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> iterator = iter(TFRecordDataset("names.tfrecord"))
        >>> first = next(iterator)
        >>> state = json.dumps(iterator.state_dict())  # in a checkpoint, with the model
        >>> resumed = iter(TFRecordDataset("names.tfrecord"))
        >>> resumed.load_state_dict(json.loads(state))
        >>> list(resumed)
        [b'Alan', b'Grace']
        """
        return {
            "version": _STATE_VERSION,
            "stages": plans.describe(self._plan),
            "files": self._files,
            "sizes": [self._run.sizes.get(name) for name in self._names],
            "epoch": list(self._run.epoch),
            "salt": list(self._run.salt),
            "at": further(self._before, self._n_taken),
        }

    @property
    def _names(self) -> tuple[str, ...]:
        sources = plans.sources_of(self._plan)
        return tuple(name for source in sources for name in getattr(source, "names", ()))

    @functools.cached_property
    def _files(self) -> str | None:
        """A digest of the files' names in order, without folders; None without files."""
        if not self._names:
            return None
        import hashlib  # noqa: PLC0415 - loads OpenSSL

        text = repr([os.path.basename(name) for name in self._names])  # noqa: PTH119 - may be URLs
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from the position of another iterator, of a data set created in the same way.

        The data set's next iteration is the epoch after the state's. Shuffles without a seed take the
        seeds that the state records.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if this is not a state, or one of another version, or of other stages, settings,
            seeds, features or files; only the folders of files may differ.
        FailedPreconditionError
            ``STALE_INDEX`` if the size of a file that was read has changed; on iteration, if there are fewer
            records. Other changes are not detected.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> names = TFRecordDataset("names.tfrecord").shuffle(3, seed=7)
        >>> iterator = iter(names)
        >>> first, state = next(iterator), iterator.state_dict()
        >>> resumed = iter(names)
        >>> resumed.load_state_dict(state)
        >>> first, list(resumed)
        (b'Alan', [b'Ada', b'Grace'])
        """
        keys = {"version", "stages", "files", "sizes", "epoch", "salt", "at"}
        version = state_dict.get("version") if isinstance(state_dict, Mapping) else None
        if version == _STATE_VERSION - 1:
            detail = "the state is of an earlier version of tfrecord_lite, which had other orders; "
            raise argument_error(detail + "begin the epoch anew, after set_epoch")
        if version != _STATE_VERSION or not state_dict.keys() >= keys:
            detail = "not a state; expected what state_dict of a data set's iterator returned"
            raise argument_error(detail)
        stages, sizes = state_dict["stages"], state_dict["sizes"]
        if what := plans.difference(plans.describe(self._plan), stages):
            detail = f"the state is of another data set: {what}; make both in the same way"
            raise argument_error(detail)
        if state_dict["files"] != self._files or len(sizes) != len(self._names):
            detail = "the state is of files with other names, or in another order; "
            detail += "give the data set the same files in the same order, from whatever folder"
            raise argument_error(detail)
        pairs = zip(self._names, sizes, strict=True)
        known = {name: size for name, size in pairs if size is not None}
        for source in plans.sources_of(self._plan):
            read = [name for name in getattr(source, "names", ()) if name in known]
            options: Any = getattr(source, "options", None)
            look = functools.partial(size_now, options=options)
            for name, size in zip(read, for_each_file(read, read, look), strict=True):
                if size not in (None, known[name]):
                    detail = f"the file had {plural(known[name], 'byte')} when the state was taken, and has {size:,} "
                    detail += "now, so other records would follow; begin the epoch anew, or bring the file back"
                    raise FailedPreconditionError(Reason.STALE_INDEX, source=name, detail=detail)
        self._feed.close()
        self._plan = plans.with_drawn_seeds(self._plan, stages)
        self._dataset._adopt(stages)  # noqa: SLF001 - of this module
        run = Run(tuple(state_dict["epoch"]), known, tuple(state_dict["salt"]))
        self._begin(run, state_dict["at"])

    def close(self) -> None:
        """End the iteration; a second call does nothing.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> iterator = iter(TFRecordDataset("names.tfrecord").prefetch(1))
        >>> first = next(iterator)
        >>> iterator.close()
        >>> list(iterator)
        []
        """
        self._before = further(self._before, self._n_taken)
        self._ready, self._n_taken = [], 0
        self._is_closed = True
        self._feed.close()


@hinted
class Dataset(Generic[T_co], metaclass=_DatasetType):
    """Elements that are returned one after the other, from a chain of stages.

    Start with a :class:`TFRecordDataset`; each stage is a method that returns a new data set. Nothing is
    read before iteration. For type checkers a ``Dataset[T]`` has elements of type ``T``.

    Notes
    -----
    Each iteration is the next *epoch*, counted from 0 or from :meth:`set_epoch`. The orders of shuffles
    follow from their seeds and the epoch's number.

    In the workers of a torch ``DataLoader`` each element of an epoch is returned by exactly one worker
    (import torch before the data set is made). A data set can be pickled if its functions can.

    Arguments out of range raise InvalidArgumentError, ``BAD_ARGUMENT``, and functions that are not callable
    TypeError.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> people = TFRecordDataset("people.tfrecord").shuffle(3, seed=1)
    >>> list(people.batch(2).parse_example({"age": int}))
    [{'age': array([41, 37])}, {'age': array([36])}]
    """

    def __init__(self, plan: PlanNode) -> None:
        self._plan = plan
        self._next_epoch = 0
        self._is_epoch_set = False
        self._last_damage: plans.RunDamage | None = None
        self._parts: dict[tuple[int, int], PlanNode] = {}
        plans.register_with_torch(Dataset)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise an AttributeError that says what to use instead."""
            raise _no_attribute(type(self), name, self)

    def _then(self, stage: str, **settings: Any) -> Dataset[Any]:
        return _with_node(stage, input=self._plan, **settings)

    def shuffle(
        self, buffer_size: int, seed: int | None = None, reshuffle_each_iteration: bool = True
    ) -> Dataset[T_co]:
        """Put the elements in random order, as far as a buffer allows.

        Parameters
        ----------
        buffer_size : int
            Number of elements from which the next one is drawn; :meth:`TFRecordDataset.shuffle_all`
            makes all orders equally likely.
        seed : int, optional
            The same seed gives the same order on every machine. None draws a seed now.
        reshuffle_each_iteration : bool, optional
            Whether each epoch has an order of its own. Then a :meth:`take` or :meth:`skip` after it selects
            other elements in each epoch: divide first, then shuffle.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> names = TFRecordDataset("names.tfrecord").shuffle(3, seed=7)
        >>> list(names), list(names)
        ([b'Alan', b'Ada', b'Grace'], [b'Ada', b'Grace', b'Alan'])
        """
        seeds = {"seed": seed_of(seed), "is_seeded": seed is not None}
        number = 1 + sum(node.stage == "shuffle" for node in plans.chain(self._plan))
        size, again = require_int("buffer_size", buffer_size, 1), reshuffle_each_iteration
        return self._then("Shuffle", buffer_size=size, reshuffles=again, number=number, **seeds)

    def repeat(self, count: int | None = None) -> Dataset[T_co]:
        """Repeat the elements `count` times; for ever if it is None or negative.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> list(TFRecordDataset("names.tfrecord").repeat().take(5))
        [b'Ada', b'Alan', b'Grace', b'Ada', b'Alan']
        """
        n = optional_int("count", count, _ALL)
        return self._then("Repeat", n=None if n is not None and n < 0 else n)

    @overload
    def batch(
        self: Dataset[bytes] | Dataset[str], batch_size: int, drop_remainder: bool = False
    ) -> Dataset[ObjectArray]: ...
    @overload
    def batch(
        self: Dataset[Leaf], batch_size: int, drop_remainder: bool = False
    ) -> Dataset[AnyArray]: ...
    @overload
    def batch(
        self: Dataset[dict[U, Column]], batch_size: int, drop_remainder: bool = False
    ) -> Dataset[dict[U, AnyArray]]: ...
    @overload
    def batch(
        self: Dataset[tuple[Leaf, ...]], batch_size: int, drop_remainder: bool = False
    ) -> Dataset[tuple[AnyArray, ...]]: ...
    @overload
    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset[Any]: ...
    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset[Any]:
        """Join `batch_size` elements to one: records become an object array; arrays are stacked.

        Parameters
        ----------
        batch_size : int
        drop_remainder : bool, optional
            Leave out a last batch that is not full.

        Raises
        ------
        InvalidArgumentError
            ``WRONG_COUNT`` on iteration, for elements that cannot be stacked.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = TFRecordDataset("people.tfrecord")
        >>> [len(batch) for batch in people.batch(2)]
        [2, 1]
        >>> [len(batch) for batch in people.batch(2, drop_remainder=True)]
        [2]
        """
        n = require_int("batch_size", batch_size, 1)
        return self._then("Batch", n=n, drop_remainder=drop_remainder)

    @overload
    def parse_example(
        self, features: DenseFeatures, *, strings: Literal["ndarray"] = ..., label_key: None = None
    ) -> Dataset[dict[str, AnyArray]]: ...
    @overload
    def parse_example(
        self, features: DenseFeatures, *, strings: Literal["ndarray"] = ..., label_key: str
    ) -> Dataset[tuple[dict[str, AnyArray], AnyArray]]: ...
    @overload
    def parse_example(
        self, features: Features, *, strings: StringForm = ..., label_key: None = None
    ) -> Dataset[Columns]: ...
    @overload
    def parse_example(
        self, features: Features, *, strings: StringForm = ..., label_key: str
    ) -> Dataset[tuple[Columns, Column]]: ...
    def parse_example(
        self, features: Features, *, strings: StringForm = "ndarray", label_key: str | None = None
    ) -> Dataset[Any]:
        """Parse Examples into columns: batches of them, or (slowly) single ones.

        Parameters
        ----------
        features, strings
            As for :class:`ExampleParser`.
        label_key : str, optional
            A feature to take out: elements are then (features, label).

        Raises
        ------
        InvalidArgumentError, TypeError
            As :class:`ExampleParser`, here or on iteration.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = TFRecordDataset("people.tfrecord").batch(2)
        >>> for inputs, age in people.parse_example({"name": bytes, "age": int}, label_key="age"):
        ...     print(inputs["name"], age)
        [b'Ada' b'Alan'] [36 41]
        [b'Grace'] [37]
        """
        from tfrecord_lite.example.parse import ExampleParser  # noqa: PLC0415 - loads the engine

        return parsed_by(self, ExampleParser(features, strings=strings), label_key)

    def parse_sequence_example(
        self,
        context_features: Features | None = None,
        sequence_features: Features | None = None,
        *,
        strings: StringForm = "ndarray",
    ) -> Dataset[tuple[Columns, Columns, dict[str, Int64Array]]]:
        """Parse SequenceExamples: batches into (context, sequences, lengths), or single ones.

        Parameters and errors are those of :class:`SequenceExampleParser`.

        Examples
        --------
        >>> with TFRecordWriter("words.tfrecord") as writer:
        ...     writer.write_sequence_examples({"id": [1, 2]}, {"tokens": [[5, 6], [7]]})
        >>> batches = TFRecordDataset("words.tfrecord").batch(2)
        >>> features = {"tokens": FixedLenSequenceFeature([], int)}
        >>> for context, lists, lengths in batches.parse_sequence_example({"id": int}, features):
        ...     print(context["id"], lists["tokens"].tolist(), lengths["tokens"])
        [1 2] [[5, 6], [7, 0]] [2 1]
        """
        from tfrecord_lite.example.sequence.parse import SequenceExampleParser  # noqa: PLC0415

        parser = SequenceExampleParser(context_features, sequence_features, strings=strings)
        return parsed_by(self, parser)

    @overload
    def map(
        self: Dataset[tuple[*Parts]],
        map_func: Callable[[*Parts], U],
        num_parallel_calls: int | None = None,
    ) -> Dataset[U]: ...
    @overload
    def map(
        self, map_func: Callable[[T_co], U], num_parallel_calls: int | None = None
    ) -> Dataset[U]: ...
    def map(
        self, map_func: Callable[..., Any], num_parallel_calls: int | None = None
    ) -> Dataset[Any]:
        """Call a function with each element; the parts of a tuple are its arguments.

        Parameters
        ----------
        map_func : callable
        num_parallel_calls : int, optional
            Number of threads that call it; -1 for one per processor. The order of elements stays the same.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = TFRecordDataset("people.tfrecord").batch(2).parse_example({"age": int})
        >>> list(people.map(lambda batch: batch["age"] / 100))
        [array([0.36, 0.41]), array([0.37])]
        """
        _check_callable("map_func", map_func)
        n = num_processors() if num_parallel_calls == -1 else num_parallel_calls or 1
        n_threads = require_int("num_parallel_calls", n, 1)
        return self._then("Map", function=map_func, n_threads=n_threads)

    @overload
    def filter(
        self: Dataset[tuple[*Parts]], predicate: Callable[[*Parts], object]
    ) -> Dataset[tuple[*Parts]]: ...
    @overload
    def filter(self, predicate: Callable[[T_co], object]) -> Dataset[T_co]: ...
    def filter(self, predicate: Callable[..., object]) -> Dataset[Any]:
        """Keep only the elements for which a function returns true.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = TFRecordDataset("people.tfrecord").parse_example({"name": bytes, "age": int})
        >>> [row["name"].item() for row in people.filter(lambda row: row["age"] > 36)]
        [b'Alan', b'Grace']
        """
        _check_callable("predicate", predicate)
        return self._then("Filter", function=predicate)

    def take(self, count: int) -> Dataset[T_co]:
        """Return the first `count` elements; all if it is negative.

        After a :meth:`shuffle`, each epoch has others: ``take(n)`` for tests and ``skip(n)`` for training
        would share elements. Divide first, or use :func:`~tfrecord_lite.split_records`.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> list(TFRecordDataset("names.tfrecord").take(2))
        [b'Ada', b'Alan']
        """
        n = require_int("count", count, _ALL)
        return self if n < 0 else self._then("Take", n=n)

    def skip(self, count: int) -> Dataset[T_co]:
        """Leave out the first `count` elements; all if it is negative.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> list(TFRecordDataset("names.tfrecord").skip(1))
        [b'Alan', b'Grace']
        """
        n = require_int("count", count, _ALL)
        return self.take(0) if n < 0 else self._then("Skip", n=n)

    def shard(self, num_shards: int, index: int) -> Dataset[T_co]:
        """Return every `num_shards`-th element, from number `index` on: one rank's part.

        Put it first, or right after what decides the order of files, so that ranks do not do
        each other's work.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` after a shuffle without a seed, which would differ between ranks.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> names = TFRecordDataset("names.tfrecord").map(bytes.decode)
        >>> list(names.shard(2, 0)), list(names.shard(2, 1))
        (['Ada', 'Grace'], ['Alan'])
        """
        settings = self._part(num_shards, index)
        if isinstance(self._plan, plans.Source):
            return Dataset(self._plan.part(**settings))
        return self._then("Shard", **settings)

    def _part(self, num_shards: int, index: int) -> dict[str, int]:
        """Return the arguments of :meth:`shard`, checked, by the names of nodes."""
        n_parts = require_int("num_shards", num_shards, 1)
        number = require_int("index", index, 0)
        if number >= n_parts:
            raise argument_error(f"index is {index}, expected less than num_shards, {num_shards}")
        if plans.has_unseeded_shuffle(self._plan):
            detail = "shard after a shuffle needs the same seed for that shuffle in all ranks"
            raise argument_error(detail)
        return {"n_parts": n_parts, "number": number}

    def enumerate(self, start: int = 0) -> Dataset[tuple[int, T_co]]:
        """Return pairs of a number and an element.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> list(TFRecordDataset("names.tfrecord").enumerate())
        [(0, b'Ada'), (1, b'Alan'), (2, b'Grace')]
        """
        return self._then("Enumerate", start=require_int("start", start))

    def cache(self) -> Dataset[T_co]:
        """Keep the elements of epoch 0 in memory, and return them in every epoch.

        A shuffle after it has new orders; one before it keeps the order of epoch 0. The elements are kept
        once all of them were made. In torch's ``DataLoader`` each worker keeps its part, from epoch to epoch
        only with ``persistent_workers=True``.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = TFRecordDataset("people.tfrecord").batch(2).parse_example({"age": int}).cache()
        >>> for _ in range(2):  # read and parsed in the first epoch only
        ...     print([batch["age"].tolist() for batch in people])
        [[36, 41], [37]]
        [[36, 41], [37]]
        """
        return self._then("Cache")

    def prefetch(self, buffer_size: int | None = None) -> Dataset[T_co]:
        """Make `buffer_size` elements ahead, in a thread; 2 if it is None or -1.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = TFRecordDataset("people.tfrecord").batch(2).parse_example({"age": int})
        >>> for batch in people.prefetch(1):  # the next batch is made meanwhile
        ...     print(batch["age"])
        [36 41]
        [37]
        """
        n = 2 if buffer_size in (None, -1) else buffer_size
        return self._then("Prefetch", n=max(require_int("buffer_size", n, 0), 1))

    def bucket_by_length(
        self,
        boundaries: Sequence[int],
        batch_sizes: Sequence[int],
        length: Callable[[T_co], int] = len,  # type: ignore[assignment]
        drop_remainder: bool = False,
    ) -> Dataset[Any]:
        """Batch elements of similar length, as ``bucket_by_sequence_length``.

        Parameters
        ----------
        boundaries : sequence of int
            Lengths at which buckets begin, ascending.
        batch_sizes : sequence of int
            The batch size of each bucket; one more than boundaries.
        length : callable, optional
            Returns the length of an element; by default ``len``, the bytes of a record.
        drop_remainder : bool, optional
            Leave out batches that are not full when the elements end.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Grace", b"Bob", b"Alan"]))
        >>> batches = TFRecordDataset("names.tfrecord").bucket_by_length([4], [2, 2])
        >>> [batch.tolist() for batch in batches]
        [[b'Ada', b'Bob'], [b'Grace', b'Alan']]
        """
        _check_callable("length", length)
        edges = tuple(require_int("boundaries", edge) for edge in boundaries)
        sizes = tuple(require_int("batch_sizes", size, 1) for size in batch_sizes)
        if list(edges) != sorted(set(edges)) or len(sizes) != len(edges) + 1:
            detail = f"boundaries are {list(edges)} and batch_sizes {list(sizes)}; "
            raise argument_error(f"{detail}expected ascending lengths, and one size more")
        settings = {"boundaries": edges, "batch_sizes": sizes, "drop_remainder": drop_remainder}
        return self._then("Buckets", length=length, **settings)

    def pack(
        self, length: int, key: str | None = None, drop_remainder: bool = False
    ) -> Dataset[dict[str, AnyArray]]:
        """Pack sequences of numbers, such as tokens, end to end into blocks of one length.

        Parameters
        ----------
        length : int
            The number of values in a block. A longer sequence continues in the next block.
        key : str, optional
            The feature with the sequences, if elements are dictionaries: a RaggedTensor of one level, also of vectors, or the rows of an array.
        drop_remainder : bool, optional
            Leave out a last block that is not full, instead of padding it with zeros.

        Returns
        -------
        Dataset
            Its elements have ``values``; ``segment_ids``, the number of the sequence in the block, from 1, 0 for padding;
            and ``positions``, from 0 in each sequence.

        Raises
        ------
        InvalidArgumentError
            ``BAD_SHAPE`` on iteration, for anything but sequences of numbers.

        Examples
        --------
        >>> _ = save("tokens.tfrecord", {"tokens": [[1, 2, 3], [4], [5, 6]]})
        >>> blocks = read_batches("tokens.tfrecord", {"tokens": RaggedFeature(int)}, 2).pack(4, "tokens")
        >>> for block in blocks:
        ...     print(block["values"], block["segment_ids"], block["positions"])
        [1 2 3 4] [1 1 1 2] [0 1 2 0]
        [5 6 0 0] [1 1 0 0] [0 1 0 0]
        """
        n = require_int("length", length, 1)
        return self._then("Pack", length=n, key=key, drop_remainder=drop_remainder)

    @staticmethod
    def mix(
        datasets: Sequence[Dataset[U]],
        weights: Sequence[float] | None = None,
        seed: int | None = None,
        stop: Literal["first", "all"] = "first",
    ) -> Dataset[U]:
        """Draw each element from one of several data sets at random, as ``sample_from_datasets``.

        Parameters
        ----------
        datasets : sequence of Dataset
            Repeat those that are to go on for ever: ``.repeat()``.
        weights : sequence of float, optional
            How likely each is; equally likely by default.
        seed : int, optional
            As for :meth:`shuffle`. Each epoch has an order of its own.
        stop : {"first", "all"}
            Whether to end with the first data set that ends, or with the last.

        Notes
        -----
        Take the parts of ranks before: ``Dataset.mix([read(path, shard=...) for path in ...])``. Workers
        mix their parts of each.

        Examples
        --------
        >>> with TFRecordWriter("a.tfrecord") as a, TFRecordWriter("b.tfrecord") as b:
        ...     a.write(Block.from_records([b"a"] * 4))
        ...     b.write(Block.from_records([b"b"] * 4))
        >>> mixed = Dataset.mix([TFRecordDataset(f"{x}.tfrecord") for x in "ab"], [3, 1], seed=1, stop="all")
        >>> b"".join(mixed)
        b'abaaabbb'
        """
        inputs = tuple(map(plans.plan_of, datasets))
        values = [1.0] * len(inputs) if weights is None else list(map(float, weights))
        if not inputs or len(values) != len(inputs):
            raise argument_error(f"weights are {len(values)} of {len(inputs)} data sets")
        if not all(0 <= value < math.inf for value in values) or not any(values):
            raise argument_error(f"weights are {values}, expected numbers from 0 on, not all 0")
        if stop not in ("first", "all"):
            raise argument_error(f"stop is {stop!r}, expected 'first' or 'all'")
        settings = {"weights": tuple(values), "seed": seed_of(seed), "is_seeded": seed is not None}
        return _with_node("Mixed", inputs=inputs, stop=stop, **settings)

    def concatenate(self, *others: Dataset[T_co]) -> Dataset[T_co]:
        """Return the elements of this data set, and then of others.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan"]))
        >>> names = TFRecordDataset("names.tfrecord")
        >>> list(names.concatenate(names.take(1)))
        [b'Ada', b'Alan', b'Ada']
        """
        return _with_node("Concatenated", inputs=tuple(map(plans.plan_of, (self, *others))))

    @staticmethod
    def zip(*datasets: Dataset[Any]) -> Dataset[tuple[Any, ...]]:
        """Return tuples of one element from each data set, up to the end of the shortest.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan"]))
        >>> names = TFRecordDataset("names.tfrecord")
        >>> list(Dataset.zip(names, names.map(len)))
        [(b'Ada', 3), (b'Alan', 4)]
        """
        return _with_node("Zipped", inputs=tuple(map(plans.plan_of, datasets)))

    def in_processes(self, num_workers: int, start_method: str | None = None) -> Dataset[T_co]:
        """Make the elements in `num_workers` processes, each from its part of the records.

        Elements come from the processes in turns; arrays are sent through shared memory. Each worker
        batches its own part, so up to `num_workers` batches may be short.

        Parameters
        ----------
        num_workers : int
            With 0 nothing changes.
        start_method : str, optional
            As of :mod:`multiprocessing`. Unless it is ``"fork"``, functions have to be picklable.

        Raises
        ------
        InvalidArgumentError
            ``UNSUPPORTED`` after :meth:`cache`, unless a :meth:`repeat` is between them: a process ends
            with the epoch.
        RuntimeError
            On iteration, if a process dies.
        FailedPreconditionError
            ``UNSUPPORTED`` on iteration in a process that may not start others, such as torch's workers, or
            if a function cannot be pickled but has to be.

        Examples
        --------
        >>> _ = save("people@2.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = TFRecordDataset("people-*.tfrecord").batch(2).parse_example({"age": int})
        >>> [batch["age"].tolist() for batch in people.in_processes(2)]
        [[36], [41, 37]]
        """
        n_workers = require_int("num_workers", num_workers, 0)
        if start_method is not None:
            from multiprocessing import get_all_start_methods  # noqa: PLC0415 - not light

            if start_method not in (methods := get_all_start_methods()):
                detail = f"start_method is {start_method!r}, expected one of {', '.join(methods)}"
                raise argument_error(detail)
        if not n_workers:
            return self
        if _has_idle_cache(self._plan):
            detail = "cache before in_processes keeps nothing, as each epoch has its own "
            detail += "processes; put cache after in_processes, or repeat between the two"
            raise argument_error(detail, Reason.UNSUPPORTED)
        return self._then("Processes", n_workers=n_workers, start_method=start_method)

    def set_epoch(self, epoch: int) -> Self:
        """Set the number of the next iteration's epoch; return the data set itself.

        Needed only to agree with other processes, or with an earlier run. Workers that already run
        ignore it. Torch workers that start later always begin with this epoch: after the first call,
        call it before each epoch, or all have the same order.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> names = TFRecordDataset("names.tfrecord").shuffle(3, seed=1)
        >>> first, second = list(names), list(names)
        >>> list(names.set_epoch(1)) == second, list(names.set_epoch(0)) == first
        (True, True)
        """
        self._next_epoch = require_int("epoch", epoch, 0)
        self._is_epoch_set = True
        return self

    def __iter__(self) -> DatasetIterator[T_co]:
        """Start the next epoch."""
        epoch, worker = self._next_epoch, plans.current_worker()
        if worker is None:
            return DatasetIterator(self, self._plan, epoch)
        part = (worker.n_workers, worker.number)
        if part not in self._parts:
            self._parts[part] = plans.worker_part(self._plan, *part)
        # Workers may start each epoch with a copy of the data set as it was at first; torch's seed
        # distinguishes the epochs. It differs between ranks, so where these share an order, only
        # set_epoch can.
        salt = () if self._is_epoch_set or plans.is_rank_bound(self._plan) else (worker.salt,)
        return DatasetIterator(self, self._parts[part], epoch, salt)

    def _adopt(self, stages: list[dict[str, Any]]) -> None:
        self._plan = plans.with_drawn_seeds(self._plan, stages)
        parts = self._parts.items()
        self._parts = {key: plans.with_drawn_seeds(part, stages) for key, part in parts}

    def _begun(self, run: Run) -> None:
        self._next_epoch = run.epoch[0] + 1
        self._last_damage = run.damage

    def as_numpy_iterator(self) -> DatasetIterator[T_co]:
        """Start the next epoch, as ``iter``.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = TFRecordDataset("people.tfrecord").batch(3).parse_example({"age": int})
        >>> next(people.as_numpy_iterator())
        {'age': array([36, 41, 37])}
        """
        return iter(self)

    @property
    def report(self) -> DamageReport | None:
        """What the latest iteration has read of files, and lost, so far.

        None before the first iteration, without ``on_error=``, with :meth:`in_processes`, and in a torch
        ``DataLoader``, where each process warns and counts separately.
        """
        return None if self._last_damage is None else self._last_damage.report()

    def __bool__(self) -> bool:
        """Return True: the number of elements may not be known."""
        return True

    def count(self, num_workers: int = 0, *, read: bool = True) -> int:
        """Count the elements of an epoch; afterwards ``len`` knows the number, too.

        Indexes beside files, or the lengths of records, are read; compressed files to their ends,
        as by :func:`count_records`.

        Parameters
        ----------
        num_workers : int, optional
            Number of workers of torch's ``DataLoader``, each of which batches its own part.
        read : bool, default True
            Whether to read files if the number is not known otherwise. It is known for local files with an index,
            or with records of 16 KB and more.

        Raises
        ------
        TypeError
            If there is no end, or a stage such as :meth:`filter` decides; or if files would have to be read, with
            ``read=False``.
        DataLossError, OSError
            As :func:`count_records`.

        Examples
        --------
        >>> _ = save("people@2.tfrecord.gz", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> read_batches("people@2.tfrecord.gz", {"age": int}, 2).count()
        2
        """
        n_workers, parts = require_int("num_workers", num_workers, 0), [self._plan]
        if n_workers:
            parts = [plans.worker_part(self._plan, n_workers, i) for i in range(n_workers)]
        sizes = [part.size() for part in parts]
        if None in sizes and read:
            for source in plans.sources_of(self._plan):
                source.count()
            sizes = [part.size() for part in parts]
        known = [size for size in sizes if size is not None]
        if len(known) == len(parts):
            return sum(known)
        if read or all(source.size() is not None for source in plans.sources_of(self._plan)):
            raise TypeError("the number of elements depends on what they are, or there is no end")
        detail = "the number of elements is not known without reading the files; count() of the data set "
        raise TypeError(f"{detail}finds it out, and count_records(paths) the number of records")

    def epoch_plan(self, epoch: int = 0) -> list[dict[str, Any]]:
        """Return which records are read in an epoch, in the order of the files: for debugging.

        Returns
        -------
        list of dict
            For each part of a file that a worker reads: ``worker``, ``file``, ``first`` (the number of its first
            record), ``records`` (None for all that follow) and ``step``: 1 if the worker returns all of
            these records, n if every n-th record of all its files.

        Examples
        --------
        >>> _ = save("people@2.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> batches = read_batches("people@2.tfrecord", {"age": int}, 2, num_workers=2)
        >>> [(part["worker"], part["file"], part["step"]) for part in batches.epoch_plan()]
        [(0, 'people-00000-of-00002.tfrecord', 1), (1, 'people-00001-of-00002.tfrecord', 1)]
        """
        n_workers = max(getattr(node, "n_workers", 1) for node in plans.chain(self._plan))
        run, parts = Run((require_int("epoch", epoch, 0),)), []
        for worker in range(n_workers):
            plan = plans.worker_part(self._plan, n_workers, worker)
            for source in plans.sources_of(plan):
                if not isinstance(source, Files):
                    continue
                groups, are_runs = source.groups(run)
                step = 1 if are_runs else source.step.step
                for part in itertools.chain.from_iterable(groups):
                    place = {"worker": worker, "file": part.source, "first": part.first}
                    parts.append({**place, "records": part.n_records, "step": step})
        return parts

    def __len__(self) -> int:
        """Return the number of elements.

        Raises
        ------
        TypeError
            If it is not known without reading the files, or there is no end. If torch's data
            loaders are imported, also after :meth:`batch`, since it depends on the number of workers.
        """
        if "torch.utils.data" in sys.modules and _has_own_batches(self._plan):
            detail = "the number of batches depends on how many workers torch's DataLoader has; count() returns "
            detail += "it without one, count(num_workers) with one, len(IterableTensors(data_set)) for a loader"
            raise TypeError(detail)
        return self.count(read=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what belongs to this process."""
        return {**self.__dict__, "_parts": {}, "_last_damage": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Count as an ``IterableDataset`` in another process too."""
        self.__dict__.update(state)
        plans.register_with_torch(Dataset)

    def __repr__(self) -> str:
        """Name the stages."""
        return f"<{type(self).__name__}: {plans.summary(self._plan)}>"


def _check_callable(name: str, value: object) -> None:
    if not callable(value):
        raise TypeError(f"{name} must be callable, not {type(value).__name__}")


def _has_idle_cache(plan: PlanNode) -> bool:
    """Whether a cache comes after the last repeat."""
    nodes = plans.chain(plan)
    last = max((i for i, node in enumerate(nodes) if node.stage == "repeat"), default=0)
    return any(node.stage == "cache" for node in nodes[last + 1 :])


def _has_own_batches(plan: PlanNode) -> bool:
    """Whether each worker batches its own part."""
    nodes = plans.chain(plan)
    return any(isinstance(node, Batch) for node in nodes[plans.last_that_counts(nodes) + 1 :])


def parsed_by(
    dataset: Dataset[Any],
    parser: ExampleParser[Any] | SequenceExampleParser,
    label_key: str | None = None,
) -> Dataset[Any]:
    """Return the data set of what a parser makes of records."""
    features: Any = parser.features
    groups = features if isinstance(features, tuple) else (features,)
    if label_key is not None and label_key not in groups[0]:
        known = ", ".join(map(repr, sorted(groups[0])))
        detail = f"label_key {label_key!r} is not a feature; expected one of {known}"
        raise argument_error(detail, key=label_key)
    if label_key is not None and len(groups) > 1:
        detail = "label_key is for Examples; map takes a label out of SequenceExamples"
        raise argument_error(detail, Reason.UNSUPPORTED)
    plan = _dropping(plans.plan_of(dataset), parser)
    is_plain = len(groups) == 1 and is_dense(features)
    return _with_node("Parse", input=plan, parser=parser, label_key=label_key, is_dense=is_plain)


def _dropping(plan: PlanNode, check: Callable[[Block], object]) -> PlanNode:
    """Return a plan whose files drop records that fail a check, if they drop any and no stage changes them."""
    if plan.content == "objects":
        return plan
    if isinstance(plan, Stage):
        inner = _dropping(plan.input, check)
        return plan if inner is plan.input else plan.with_input(inner)
    if hasattr(plan, "inputs"):
        joined: Any = plan  # a node of mixtures
        inputs = tuple(_dropping(each, check) for each in joined.inputs)
        if not all(a is b for a, b in zip(inputs, joined.inputs, strict=True)):
            plan = replace(joined, inputs=inputs)
    if isinstance(plan, Files) and plan.options.on_misfit != "raise":
        return replace(plan, options=plan.options.dropping(check))
    return plan
