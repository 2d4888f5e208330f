"""tf.data.Dataset: the library's data set, with tensors as elements."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from tfrecord_lite import dataset as library
from tfrecord_lite import storage
from tfrecord_lite.dataset.batching import Batch
from tfrecord_lite.dataset.plan import PlanNode, chain, plan_of
from tfrecord_lite.errors import argument_error, require_int
from tfrecord_lite.extension import expand, name_of
from tfrecord_lite.options import num_files_in_turns, num_processors
from tfrecord_lite.tf._ops import TensorSpec, is_tensor
from tfrecord_lite.tf._tensor import Tensor, fits, map_structure, plain_array, unwrap, wrap
from tfrecord_lite.tf._unavailable import shape_error, unavailable_error, unsupported
from tfrecord_lite.tf.data import _nodes as nodes

AUTOTUNE = -1


class Options:
    """Options of tf.data; any may be set, and none has an effect."""

    def __getattr__(self, name: str) -> Options:
        """Return nested options."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Options()


# Functions of plain values, made of functions of tensors by `partial`, so that they can be pickled.


def _called(function: Callable[..., Any], *parts: Any) -> Any:
    result = function(*map(wrap, parts))
    # In tf.data, a list of tensors is a tuple, and any other list is one tensor.
    is_parts = isinstance(result, list) and any(map(is_tensor, result))
    return unwrap(tuple(result) if is_parts else result)


def _generated(function: Callable[..., Any], arguments: Iterable[Any], specs: Any) -> Iterator[Any]:
    for element in function(*arguments):
        yield _as_specified(element, specs)


def _plan_made(function: Callable[..., Any], element: Any) -> PlanNode:
    return _plan_of(_checked(function(*map(wrap, _parts(element))), "the function"))


def _checked(result: Any, source: str) -> Dataset:
    if not isinstance(result, Dataset):
        raise TypeError(f"{source} must return a Dataset, not {type(result).__name__}")
    return result


def _parts(element: Any) -> tuple[Any, ...]:
    return element if type(element) is tuple else (element,)


def _as_specified(element: Any, specs: Any) -> Any:
    if isinstance(specs, dict):
        return {name: _as_specified(element[name], spec) for name, spec in specs.items()}
    if isinstance(specs, tuple):
        return tuple(_as_specified(item, spec) for item, spec in zip(element, specs, strict=True))
    array, expected = plain_array(element, specs.dtype), specs.shape
    if expected is not None and not fits(np.shape(array), expected):
        start = f"the generator yielded an element of shape {np.shape(array)}"
        raise shape_error(f"{start}, expected {expected}")
    return array


def _of_calls(function: Callable[..., Any], *arguments: Any) -> Dataset:
    return _of_plan(nodes.Calls(function=partial(function, *arguments)))


def _shards_of(place: str) -> Iterator[Dataset]:
    for shard in range(storage.num_saved_shards(place)):
        yield _of_calls(storage.saved_elements, place, 1, shard)


def _numbered(number: int, element: Any) -> Any:
    return np.int64(number), element


def _specs_of(types: Any, shapes: Any) -> Any:
    """Return TensorSpecs in the structure of `types`; all shapes are unknown if `shapes` is None."""
    if isinstance(types, dict):
        return {name: _specs_of(dtype, shapes and shapes[name]) for name, dtype in types.items()}
    if isinstance(types, (tuple, list)):
        parts = [None] * len(types) if shapes is None else shapes
        return tuple(_specs_of(dtype, part) for dtype, part in zip(types, parts, strict=True))
    return TensorSpec(shapes, types)


class _Iterator:
    def __init__(self, elements: library.DatasetIterator) -> None:
        self._elements = elements

    def __iter__(self) -> _Iterator:
        return self

    def __next__(self) -> Any:
        return wrap(next(self._elements))

    def get_next(self) -> Any:
        """Return the next element; at the end raise ``tf.errors.OutOfRangeError``."""
        for element in self:
            return element
        raise EOFError("End of sequence")


class _HintingType(type):
    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        names = [attribute for attribute in dir(cls) if not attribute.startswith("_")]
        advice = "use map with a function, or Python's itertools"
        raise unavailable_error(f"tf.data.Dataset.{name}", names, _HINTS, advice, cls)


_HINTS = {
    "choose_from_datasets": "use interleave, or Dataset.from_generator",
    "get_single_element": "use next(iter(dataset))",
    "random": "use Dataset.from_generator and NumPy",
}


class Dataset(metaclass=_HintingType):
    """A sequence of elements, as ``tf.data.Dataset``.

    It wraps a :class:`tfrecord_lite.Dataset`, whose methods are documented in more detail. Functions
    are called with tensors. `num_parallel_calls` is a number of threads; `deterministic` and `name` have no effect.
    """

    def __init__(self, dataset: library.Dataset) -> None:
        self._dataset = dataset

    def _then(self, stage: Callable[..., PlanNode], **settings: Any) -> Dataset:
        return _of_plan(stage(input=_plan_of(self), **settings))

    # ------------------------------------------------------------------------- sources

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Make a data set of the rows of arrays, or of dictionaries and tuples of arrays."""
        arrays = map_structure(_sliceable, unwrap(tensors))
        return _of_plan(nodes.Slices(arrays=arrays, n_rows=nodes.rows_of(arrays)))

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Make a data set of one element."""
        return _of_calls(iter, (unwrap(tensors),))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Make a data set of what a generator function yields; it is called for each epoch."""
        if not callable(generator):
            raise TypeError("generator must be a callable")
        if output_signature is None and output_types is None:
            raise TypeError("from_generator needs output_signature, or output_types")
        specs = output_signature
        if specs is None:
            specs = _specs_of(output_types, output_shapes)
        arguments = [wrap(unwrap(item)).numpy() for item in (() if args is None else args)]
        return _of_calls(_generated, generator, arguments, specs)

    @staticmethod
    def range(*args: int, output_type: object = "int64", name: str | None = None) -> Dataset:
        """Make a data set of numbers, as Python's ``range``."""
        return Dataset.from_tensor_slices(plain_array(np.arange(*args), output_type))

    @staticmethod
    def load(
        path: Any,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Any = None,
        wait: bool = False,
    ) -> Dataset:
        """Make a data set of what ``save`` wrote, ours or TensorFlow's, in TensorFlow's order.

        By default, as many shards as this machine has processors take turns. `reader_func` makes another order
        of the data sets of the shards: ``lambda shards: shards.interleave(lambda shard: shard, cycle_length=8)``
        is that of a machine with 8. The compression is recognised. `element_spec` and `wait` have no effect.
        """
        (place,) = map(name_of, expand(_paths(path)))
        if reader_func is None:
            return _of_calls(storage.saved_elements, place, os.cpu_count() or 1)
        return _checked(reader_func(_of_calls(_shards_of, place)), "reader_func")

    def save(
        self,
        path: Any,
        compression: Any = None,
        shard_func: Any = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Write all elements to a folder that ``load`` and TensorFlow read; they are all held in memory.

        `shard_func` returns the number of an element's shard. `checkpoint_args` are not supported.
        """
        if checkpoint_args is not None:
            detail = "save makes no checkpoints; a save that is cut leaves the folder as it was"
            raise unsupported(detail)
        elements: Iterator[Any] = iter(self._dataset)
        sizes = None
        if shard_func is not None:
            shards: dict[int, list[Any]] = {}
            for element in elements:
                number = int(_called(shard_func, *_parts(element)))
                shards.setdefault(number, []).append(element)
            elements = itertools.chain.from_iterable(shards.values())
            sizes = {number: len(rows) for number, rows in shards.items()}
        codec = compression or ""
        storage.save_elements(_paths(path), elements, shard_sizes=sizes, compression=codec)

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: Any = None
    ) -> Dataset:
        """Make a data set of file names, shuffled unless `shuffle` is False; InvalidArgumentError for none."""
        try:
            names = sorted(map(name_of, expand(_paths(file_pattern), may_mix=True, folders="keep")))
        except FileNotFoundError as error:
            raise argument_error(str(error)) from None
        files = Dataset.from_tensor_slices(names)
        return files if shuffle is False else files.shuffle(len(names), seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Make a data set of tuples, one element from each data set, up to the shortest."""
        items = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if not isinstance(items, (tuple, list)) or not all(isinstance(d, Dataset) for d in items):
            raise TypeError("zip needs data sets, or a tuple of them")
        return Dataset(library.Dataset.zip(*(dataset._dataset for dataset in items)))  # noqa: SLF001 - of this class

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Append the elements of another data set."""
        if not isinstance(dataset, Dataset):
            raise TypeError(f"expected a Dataset, not {type(dataset).__name__}")
        return Dataset(self._dataset.concatenate(dataset._dataset))

    # -------------------------------------------------------------------------- stages

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Call a function with each element; see :meth:`tfrecord_lite.Dataset.map`."""
        dataset = self._dataset
        if _plan_of(self).content in {"records", "batches"}:
            dataset = library.Dataset(nodes.Records(input=_plan_of(self)))
        return Dataset(dataset.map(partial(_called, map_func), num_parallel_calls))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keep the elements for which a function returns true."""
        return Dataset(self._dataset.filter(partial(_called, predicate)))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Make a data set of each element, and yield their elements in turns."""
        if cycle_length is None or cycle_length == AUTOTUNE:
            cycle_length = num_parallel_calls or num_processors()
            if num_parallel_calls == AUTOTUNE:
                cycle_length = num_files_in_turns()
        cycle, block = int(cycle_length), 1 if block_length is None else block_length
        if cycle < 1 or block < 1:
            lengths = f"cycle_length is {cycle_length} and block_length {block_length}"
            raise argument_error(f"{lengths}, expected 1 or more")
        settings: dict[str, Any] = {"cycle_length": cycle, "block_length": block}
        function = partial(_plan_made, map_func)
        files = nodes.files_of(_plan_of(self), function)
        if files is not None:
            return _of_plan(replace(files, **settings))
        return self._then(nodes.Interleave, function=function, **settings)

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Draw each element from one of the data sets; see :meth:`tfrecord_lite.Dataset.mix`."""
        values = None if weights is None else np.asarray(unwrap(weights), np.float64).tolist()
        inputs = [dataset._dataset for dataset in datasets]  # noqa: SLF001 - of this class
        stop: Any = "first" if stop_on_empty_dataset else "all"
        return Dataset(library.Dataset.mix(inputs, values, seed, stop))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Make a data set of each element, and yield their elements one data set after the other."""
        return self.interleave(map_func, cycle_length=1)

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Shuffle the elements; see :meth:`tfrecord_lite.Dataset.shuffle`."""
        reshuffles = reshuffle_each_iteration is not False
        return Dataset(self._dataset.shuffle(int(buffer_size), seed, reshuffles))

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """Repeat all elements `count` times; None or -1: forever."""
        return Dataset(self._dataset.repeat(count))

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Stack `batch_size` elements into one; sparse tensors get one more dimension."""
        return self._then(nodes.StackedBatch, n=_size(batch_size), drop_remainder=drop_remainder)

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Stack `batch_size` elements, each padded to the largest size, or to a shape."""
        fills = None if padding_values is None else unwrap(padding_values)
        settings = {"shapes": padded_shapes, "fills": fills, "drop_remainder": drop_remainder}
        return self._then(nodes.PaddedBatch, n=_size(batch_size), **settings)

    def unbatch(self, name: str | None = None) -> Dataset:
        """Split each element into its rows."""
        return self._then(nodes.Unbatch)

    def take(self, count: int, name: str | None = None) -> Dataset:
        """Keep the first `count` elements; -1: all."""
        return Dataset(self._dataset.take(count))

    def skip(self, count: int, name: str | None = None) -> Dataset:
        """Skip the first `count` elements; -1: all."""
        return Dataset(self._dataset.skip(count))

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset:
        """Keep every n-th element; see :meth:`tfrecord_lite.Dataset.shard`."""
        return Dataset(self._dataset.shard(num_shards, index))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Pair each element with its number."""
        return Dataset(self._dataset.enumerate(start).map(_numbered))

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """Keep the elements in memory; InvalidArgumentError for a `filename`."""
        if filename:
            detail = "elements can only be cached in memory; write a TFRecord file instead"
            raise unsupported(detail)
        return Dataset(self._dataset.cache())

    def prefetch(self, buffer_size: int | None, name: str | None = None) -> Dataset:
        """Prepare `buffer_size` elements ahead, in a thread."""
        return Dataset(self._dataset.prefetch(buffer_size))

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Call a function with this data set, and return its result."""
        return transformation_func(self)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Return this data set, as options have no effect."""
        return self

    # ------------------------------------------------------------------------- elements

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """Call a function with a state and each element in turn; return the last state."""
        state = wrap(unwrap(initial_state))
        for element in self:
            state = wrap(unwrap(reduce_func(state, element)))
        return state

    def cardinality(self, name: str | None = None) -> Tensor:
        """Return the number of elements; -2 if it is unknown or infinite."""
        try:
            return Tensor(np.int64(len(self)))
        except TypeError:
            return Tensor(np.int64(-2))

    @property
    def element_spec(self) -> Any:
        """The shapes and dtypes of the first element, which is read for it; a batch may be of any size."""
        for element in self.take(1):
            stages = chain(_plan_of(self))
            batches = [stage for stage in stages if isinstance(stage, (Batch, nodes.Unbatch))]
            is_open = bool(batches) and not getattr(batches[-1], "drop_remainder", True)
            return map_structure(partial(_spec_of, is_open=is_open), element)
        raise argument_error("an empty data set has no element to tell the shapes of")

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Iterate over the elements as arrays, NumPy scalars and bytes."""
        return iter(self._dataset)

    def __iter__(self) -> _Iterator:
        """Iterate over the elements of one epoch."""
        return _Iterator(iter(self._dataset))

    def __bool__(self) -> bool:
        """Return True, as TensorFlow does."""
        return True

    def __len__(self) -> int:
        """Return the number of elements; TypeError if it is unknown."""
        return len(self._dataset)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise an AttributeError that says what to use instead."""
        getattr(type(self), name)  # which raises
        raise AttributeError(name)

    def __repr__(self) -> str:
        """Format the nodes."""
        return f"<tf.data.Dataset over {self._dataset!r}>"


class TFRecordDataset(Dataset):
    """The records of files, as ``tf.data.TFRecordDataset``.

    Parameters
    ----------
    filenames : str, PathLike, tensor or sequence of them, or data set of them
    compression_type, buffer_size, num_parallel_reads, name
        As for :class:`tfrecord_lite.TFRecordDataset`; without a compression, it is detected.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        paths = _paths(filenames)
        codec = compression_type or None
        super().__init__(library.TFRecordDataset(paths, codec, buffer_size, num_parallel_reads))


def _of_plan(plan: PlanNode) -> Dataset:
    return Dataset(library.Dataset(plan))


def _plan_of(dataset: Dataset) -> PlanNode:
    return plan_of(dataset._dataset)  # noqa: SLF001 - of this module


def _spec_of(leaf: Any, *, is_open: bool) -> TensorSpec:
    """Return the shape and dtype of a tensor, whose rows are known only if its shape is dense."""
    shape = list(leaf.shape) if isinstance(leaf, Tensor) else [None] * len(leaf.shape)
    return TensorSpec([None, *shape[1:]] if is_open and shape else shape, leaf.dtype)


def _sliceable(leaf: Any) -> Any:
    if isinstance(leaf, (np.ndarray, np.generic, bytes)):
        return leaf
    raise unsupported(f"a {type(leaf).__name__} cannot be sliced; pass its parts, or a dense array")


def _size(batch_size: Any) -> int:
    return require_int("batch_size", int(batch_size), at_least=1)


def _paths(filenames: Any) -> Any:
    """Return plain paths, given paths, tensors, data sets or lists of them."""
    if isinstance(filenames, Dataset):
        return list(filenames.as_numpy_iterator())
    if isinstance(filenames, Tensor):
        plain = filenames.numpy()
        return plain if isinstance(plain, bytes) else plain.ravel().tolist()
    if isinstance(filenames, (str, bytes, os.PathLike)):
        return filenames
    return [name.numpy() if isinstance(name, Tensor) else name for name in filenames]
