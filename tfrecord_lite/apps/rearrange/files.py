"""Records to files: in the order in which they are read, all of them, some, or divided into parts; or sorted.

Records, or their digests, are sorted in a bounded amount of memory::

    pass 1   blocks ──> memory ──full──> sorted by key, to a temporary file: a sorted run
                          └─ if it is never full, there is no second pass
    pass 2   of every run what has keys in one range ──> memory ──> sorted by key

Beside each run is a table of where each range of all possible keys begins; so what the second pass reads of
a run is one piece. The file has no name (on Windows: is removed when it is closed), so that nothing is left of
it, however the process ends.

Record number i of a shuffle has the key i, a word of 64 random bits. A run is the keys, the lengths and the
frames of its records, with their checksums. Of unique records, a run has the digests, 24 bytes with the
number of the record, and a last pass reads the records again.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import IO, Any, TypeAlias, Unpack

import numpy as np

from tfrecord_lite import errors
from tfrecord_lite import extension as ext
from tfrecord_lite.apps.rearrange import transfer
from tfrecord_lite.apps.rearrange.transfer import Input, Outputs, Rearranged, TargetOptions
from tfrecord_lite.arrays import BoolArray, Int64Array, Uint8Array, Uint64Array, row_splits
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, SPARE_BYTES, Block
from tfrecord_lite.errors import Reason, argument_error, require_int
from tfrecord_lite.extension import Source, Sources
from tfrecord_lite.progress import Progress
from tfrecord_lite.reader import TFRecordReader
from tfrecord_lite.texts import plural

_N_WORDS = 2**20
"""How many keys are made at a time, at least."""
_NEARLY_1 = 1e-6
"""How far the sum of fractions may be from 1: three times 0.333333 is meant as thirds."""
MEMORY_BYTES = 1024**3
LEAST_MEMORY_BYTES = 1024**2

_RECORD_BYTES = 32
"""Memory for a record besides its frame: key, length, offset and number, as for two while sorting."""
_PIECE_BYTES = 1024 * 1024
"""How much is copied at a time."""
_MEMORY_PER_ROW = 96
"""Memory for the row of a digest while rows are sorted."""


def merge_files(
    sources: Sources | TFRecordReader,
    target: Source,
    *,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Write the records of many files to one, or to fewer.

    Parameters
    ----------
    sources : str, PathLike, file object, a list of them, or TFRecordReader
        The files, patterns included, one after the other. A reader says how to read them: their
        compression, limits, and what to do about damage.
    target : str, PathLike or binary file object
        The new file, a path or URL. Or its shards: ``"train@8.tfrecord"``, or with an option for them
        a name with ``{shard}``, or a plain name, in which the number goes before
        the ending: ``"train-00000-of-00008.tfrecord"``. All appear when all are complete.
    progress : bool or callable, optional
        As for :func:`load`; the unit is bytes of the sources. If they are read twice, each time half
        counts: dividing records evenly counts them first.
    **options
        How records are divided and files written, see
        :class:`~tfrecord_lite.apps.rearrange.TargetOptions`; `storage_options` are for the sources
        too, unless they are a reader.

    Returns
    -------
    Rearranged
        The files, and how much is in them.

    Raises
    ------
    DataLossError
        If a source is damaged, unless the reader skips that.
    FileExistsError
        If a file of the target exists, without `overwrite`.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the target is one of the sources, more than one argument says how to
        divide it, the name does not go with it, or a sidecar is not of the data beside it.
    OSError
        If a file cannot be read or written. After any error, no new file has appeared.

    Warns
    -----
    UserWarning
        If the schemas beside the sources do not go together: the new files get none.

    Notes
    -----
    Records keep their checksums, which are verified and never made anew. If there are sidecars beside the
    sources, there is one beside each new file; row numbers that were the index of a data frame are counted
    anew from 0.

    Examples
    --------
    >>> for name in ("ada.tfrecord", "alan.tfrecord.gz"):
    ...     with TFRecordWriter(name) as writer:
    ...         writer.write(name.partition(".")[0])
    >>> merged = merge_files(["ada.*", "alan.*"], "names.tfrecord")
    >>> merged.num_records, list(TFRecordReader("names.tfrecord"))
    (2, [b'ada', b'alan'])
    """
    outputs = Outputs(target, options)
    return _copy(outputs.read(sources, progress), outputs)


def split_files(
    sources: Sources | TFRecordReader,
    target: Source,
    *,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Divide the records of a file, or of several, among shards.

    Takes, returns and raises the same as :func:`merge_files`; InvalidArgumentError (``BAD_ARGUMENT``) too
    if nothing says how to divide the records.

    Examples
    --------
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> parts = split_files("names.tfrecord", "part.tfrecord", num_shards=2)
    >>> [list(TFRecordReader(path)) for path in parts.paths]
    [[b'Ada'], [b'Alan', b'Grace']]
    """
    outputs = Outputs(target, options)
    if not outputs.is_divided:
        detail = "nothing says how to divide the records; give num_shards, bytes_per_shard or "
        raise argument_error(f"{detail}records_per_shard, or a name such as 'train@8.tfrecord'")
    return _copy(outputs.read(sources, progress), outputs)


def _copy(read: Input, outputs: Outputs) -> Rearranged:
    is_counted = outputs.is_even and read.is_rereadable
    with read.metered(1 + is_counted) as meter, outputs:
        if is_counted:
            outputs.n_records = read.count()
        for block in read.blocks():
            outputs.put(block)
        meter.finish()
        return outputs.result()


def filter_records(
    sources: Sources | TFRecordReader,
    target: Source,
    keep: Callable[[Block], BoolArray],
    *,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Write the records that a function picks.

    Parameters
    ----------
    sources, target, progress, **options
        As for :func:`merge_files`.
    keep : callable
        Called with each Block of records; returns which to keep, as bool, shape (n_records,).

    Returns
    -------
    Rearranged
        The files, how many records were read, and how many of them were kept.

    Raises
    ------
    TypeError
        If `keep` is not callable, or returns anything but bools.
    InvalidArgumentError, DataLossError, FileExistsError, OSError
        As :func:`merge_files`; ``BAD_ARGUMENT`` too if `keep` returns another number of them.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> parse = ExampleParser({"age": int})
    >>> kept = filter_records(
    ...     "people.tfrecord", "older.tfrecord", lambda block: parse(block)["age"] > 36
    ... )
    >>> kept.num_records, kept.num_read
    (2, 3)
    """
    if not callable(keep):
        raise TypeError(f"keep must be a function of a Block, not {type(keep).__name__}")
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    with read.metered() as meter, outputs:
        for block in read.blocks():
            mask = np.asarray(keep(block))
            if mask.dtype != np.bool_:
                detail = f"keep must return an array of bool, one per record, not {mask.dtype}"
                raise TypeError(detail)
            if mask.shape != (len(block),):
                shape = f"keep returned the shape {mask.shape}"
                raise argument_error(f"{shape} for {plural(len(block), 'record')}")
            outputs.put(block if mask.all() else block[mask])
        meter.finish()
        return outputs.result(read.num_read)


# ------------------------------------------------------------------------------- a sample


def sample_records(
    sources: Sources | TFRecordReader,
    target: Source,
    n: int | None = None,
    *,
    fraction: float | None = None,
    seed: int | None = None,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Write some records, chosen at random without replacement, in the order in which they are read.

    The files are read twice.

    Parameters
    ----------
    sources, target, progress, **options
        As for :func:`merge_files`.
    n : int, optional
        How many records; all if there are fewer.
    fraction : float, optional
        Instead of `n`: this part of the records, from 0 to 1; the number is rounded to the nearest
        integer, halves to the even one.
    seed : int, optional
        The same seed draws the same records, on every machine. None draws a seed, which the result has.

    Returns
    -------
    Rearranged
        The files, how many records were read and drawn, and the seed.

    Raises
    ------
    TypeError
        If an argument is not a number.
    FailedPreconditionError
        ``NOT_SEEKABLE`` for what can be read only once, such as a pipe.
    InvalidArgumentError, DataLossError, FileExistsError, OSError
        As :func:`merge_files`; ``BAD_ARGUMENT`` too unless exactly one of `n` and `fraction` is given,
        in its range.

    Examples
    --------
    >>> with TFRecordWriter("all.tfrecord") as writer:
    ...     for number in range(100):
    ...         writer.write(b"%d" % number)
    >>> _ = sample_records("all.tfrecord", "few.tfrecord", 3, seed=1)
    >>> list(TFRecordReader("few.tfrecord"))
    [b'0', b'28', b'87']
    """
    seed = ext.seed_of(seed)
    share = _check(n, fraction)
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    if not read.is_rereadable:
        detail = "the records are read twice, first to count them; save them to a file first"
        source = ext.name_of(read.sources[0])
        raise errors.FailedPreconditionError(Reason.NOT_SEEKABLE, source=source, detail=detail)
    with read.metered(2) as meter, outputs:
        total = read.count()
        n_left = outputs.n_records = min(n or 0, total) if share is None else round(share * total)
        # Record number i has the key i, a word of 64 random bits; those with the smallest keys are drawn.
        most = threshold((seed, 1), n_left, total)
        for block in read.blocks():
            keys = ext.order_words((seed, 1), read.num_read, len(block))
            # More only if two keys are equal.
            chosen = np.flatnonzero(keys <= most)[:n_left]
            n_left -= chosen.size
            outputs.put(block[chosen])
        meter.finish()
        return outputs.result(read.num_read, seed)


def _check(n: int | None, fraction: float | None) -> Fraction | None:
    """Check how many records are asked for; return a fraction as an exact one."""
    if (n is None) == (fraction is None):
        raise argument_error("give either n or fraction")
    if fraction is None:
        require_int("n", n, 0)
        return None
    if not hasattr(fraction, "__float__"):
        raise TypeError(f"fraction must be a number, not {type(fraction).__name__}")
    if not 0 <= fraction <= 1:
        raise argument_error(f"fraction is {fraction}, expected 0 to 1")
    # As it is written: 0.1 is a tenth, not the binary fraction next to it.
    return Fraction(str(float(fraction)))


def threshold(key: ext.OrderKey, n: int, total: int) -> int:
    """Return the `n`-th smallest of `total` keys, in the memory of `n` of them; 0 if `n` is 0."""
    if n == 0:
        return 0
    smallest = np.empty(0, np.uint64)
    n_words = max(_N_WORDS, n)  # so that each key is compared a few times only
    for first in range(0, total, n_words):
        smallest = np.concatenate(
            [smallest, ext.order_words(key, first, min(n_words, total - first))]
        )
        if smallest.size > n:
            smallest = np.partition(smallest, n - 1)[:n]
    return int(smallest.max())


# ---------------------------------------------------------------------------------- parts


def split_records(
    sources: Sources | TFRecordReader,
    targets: Sequence[Source],
    fractions: Sequence[float],
    *,
    by: str | Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> tuple[Rearranged, ...]:
    """Divide records into parts of about these fractions, such as train, validation and test.

    A hash of each record, or of the values of a feature, decides where it goes: when data are added, nothing
    changes its part.

    Parameters
    ----------
    sources, progress
        As for :func:`merge_files`.
    targets : sequence of str, PathLike or binary file object
        One for each part, as for :func:`merge_files`; they may be shards, such as ``"train@8.tfrecord"``.
    fractions : sequence of float
        The fraction of records for each part; above 0, with the sum 1.
    by : str or sequence of str, optional
        Go by the values of this feature, or of several, instead of the whole record: records with equal values are in
        the same part, and so are all without a value. Of SequenceExamples, a feature of the context.
    seed : int, default 0
        Another one divides in another way.
    **options
        As for :func:`merge_files`, for each of the parts.

    Returns
    -------
    tuple of Rearranged
        For each part, the files, and how many records were written and read.

    Raises
    ------
    TypeError
        If an argument is not of these types.
    InvalidArgumentError, DataLossError, FileExistsError, OSError
        As :func:`merge_files`; ``BAD_ARGUMENT`` too for other fractions, if two parts have the same name, or
        if no record has a value of `by`. After any error, no new file has appeared.

    Warns
    -----
    UserWarning
        If a part has no records, as there are too few groups; it is written all the same.

    Notes
    -----
    Fractions are met on average: of n records, a part with fraction p has about n p, give or take the square root of
    n p (1 - p). With `by` it is the different values that are divided so, and values with many records weigh more.

    The hash is BLAKE2b of 16 bytes, its key the seed in decimal digits. The first 8 bytes, as a big-endian integer
    over 2**64, are a place from 0 to 1, which the sums of the fractions divide among the parts. It will stay so in
    later versions. For a feature it is taken of one letter for the kind (b, i or f), the number of values and the
    values; numbers and lengths as little-endian int64, floats as float32 (-0.0 as 0.0), and each byte string after
    its length; of the letter n alone without a value. So the int64 1 and the float 1.0 differ, while ``"a"`` and
    ``b"a"`` are equal. How an encoder wrote the message matters for whole records only.

    Examples
    --------
    >>> patients = ["Ada", "Alan", "Grace", "Ada"]
    >>> _ = save("visits.tfrecord", {"patient": patients, "year": [1, 2, 3, 4]})
    >>> targets = ["train.tfrecord", "test.tfrecord"]
    >>> train, test = split_records("visits.tfrecord", targets, [0.7, 0.3], by="patient", seed=4)
    >>> load("train.tfrecord")["patient"], load("test.tfrecord")["patient"]
    (array(['Alan'], dtype=object), array(['Ada', 'Grace', 'Ada'], dtype=object))
    """
    if isinstance(targets, str | bytes) or not isinstance(targets, Sequence):
        raise TypeError("targets must be a sequence, with one for each of the parts")
    limits = _limits_of(fractions)
    if len(targets) != limits.size + 1:
        n_fractions = plural(limits.size + 1, "fraction")
        raise argument_error(f"there are {plural(len(targets), 'target')} for {n_fractions}")
    digests = ext.Digests(by, seed)
    parts = [Outputs(target, options) for target in targets]
    _check_different(parts)
    read = parts[0].read(sources, progress, *parts[1:])
    with read.metered() as meter, ExitStack() as stack:
        for part in parts:
            stack.enter_context(part)
        for block in read.blocks():
            of_records = np.searchsorted(limits, digests(block)[:, 0], side="right")
            for number, part in enumerate(parts):
                part.put(block[of_records == number])
        digests.check()
        for part in parts:
            part.prepare()
        _check_different(parts)
        meter.finish()
        try:
            for part in parts:
                part.commit()
        except BaseException:
            for part in parts:
                part.take_back()
            raise
        done = tuple(part.placed(read.num_read) for part in parts)
    for one in done:
        if by is not None and read.num_read and not one.num_records:
            groups = f"groups of {by if isinstance(by, str) else ', '.join(by)!r}"
            errors.warn_user(f"part {one.paths[0]} is empty: too few {groups}")
    return done


def _limits_of(fractions: Sequence[float]) -> Uint64Array:
    """Return the first words of digests that are in the next part; uint64, one fewer than there are parts."""
    listed = list(fractions)
    for fraction in listed:
        if isinstance(fraction, str) or not hasattr(fraction, "__float__"):
            raise TypeError(f"a fraction must be a number, not {type(fraction).__name__}")
    values = list(map(float, listed))
    is_whole = math.isclose(sum(values), 1, abs_tol=_NEARLY_1)
    if not is_whole or not all(0 < value <= 1 for value in values):
        text = ", ".join(map(str, values)) or "none"
        detail = "expected numbers above 0 whose sum is 1, such as 0.8, 0.1, 0.1"
        raise argument_error(f"fractions are {text}; {detail}")
    ends = accumulate(Fraction(str(value)) for value in values[:-1])  # as they are written
    return np.array([min(int(end * 2**64), 2**64 - 1) for end in ends], np.uint64)


def _check_different(parts: Sequence[Outputs]) -> None:
    places: set[str] = set()
    for part in parts:
        names = {ext.name_of(name) for name in part.names if not ext.is_file_object(name)}
        for name in sorted(names):
            if transfer.place_of(name) in places:
                raise argument_error("two parts have this name; give each its own", source=name)
        places |= set(map(transfer.place_of, names))


# ---------------------------------------------------------------------------- sorted runs


class _Runs:
    """Sorted runs in a temporary file, and what is held in memory until it is one."""

    range_bits: int
    """The highest bits of a key, by which its range is known."""

    def __init__(self, most: int, folder: str | None) -> None:
        self._most, self._folder = most, folder
        self._held: list[Any] = []
        self._n_held = 0
        self._runs: list[Any] = []
        self._file: IO[bytes] | None = None

    def _begin_run(self, keys: Uint64Array) -> tuple[IO[bytes], int, Int64Array]:
        """Return the file, where a run begins in it, and the number of the first key of each range, and of all."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed in close
        self._held, self._n_held = [], 0
        limits = np.arange(1, 2**self.range_bits, dtype=np.uint64)
        firsts = np.searchsorted(keys, limits << np.uint64(64 - self.range_bits))
        return self._file, self._file.seek(0, 2), np.concatenate(([0], firsts, [len(keys)]))

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()


def _read(file: IO[bytes], place: int, kind: Any, count: int) -> Any:
    """Read an array from the temporary file."""
    file.seek(place)
    data = file.read(count * np.dtype(kind).itemsize)
    if len(data) != count * np.dtype(kind).itemsize:
        detail = "a temporary file is shorter than what was written to it"
        raise errors.DataLossError(Reason.TRUNCATED, detail=detail)
    return np.frombuffer(data, kind)


def _groups(costs: Any, most: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the end of groups that cost `most` at most, or have one member."""
    ends = np.cumsum(costs)
    low = done = 0
    while low < ends.size:
        high = max(int(np.searchsorted(ends, done + most, side="right")), low + 1)
        yield low, high
        low, done = high, int(ends[high - 1])


# -------------------------------------------------------------------------------- a shuffle


def shuffle_records(
    sources: Sources | TFRecordReader,
    target: Source,
    *,
    seed: int | None = None,
    memory_bytes: int = MEMORY_BYTES,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Write the records of files in random order, also if they are larger than memory.

    Parameters
    ----------
    sources, target, progress, **options
        As for :func:`merge_files`. The records of all sources are shuffled together.
    seed : int, optional
        The order depends on the seed and the number of records alone, on every machine. None draws a seed,
        which the result has.
    memory_bytes : int, optional
        How much memory to use for records. If they do not fit, they are written to a temporary
        file too, uncompressed, in the folder of the target (for URLs and file objects, in
        that of Python's ``tempfile``). It is removed however the process ends.

    Returns
    -------
    Rearranged
        The files, how much is in them, and the seed.

    Raises
    ------
    TypeError
        If `seed` or `memory_bytes` is not an integer.
    InvalidArgumentError, DataLossError, FileExistsError, OSError
        As :func:`merge_files`; ``BAD_ARGUMENT`` too if `memory_bytes` is less than a megabyte.

    Notes
    -----
    Every order is equally likely: records are sorted by random keys (words of PCG64). A thousandth of the data
    has to fit into `memory_bytes`, and so does each record; more memory is used otherwise. What the process
    needs besides (NumPy, buffers of files) is about 80 MB.

    Examples
    --------
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> shuffled = shuffle_records("names.tfrecord", "shuffled.tfrecord", seed=7)
    >>> list(TFRecordReader("shuffled.tfrecord"))
    [b'Alan', b'Grace', b'Ada']
    """
    seed = ext.seed_of(seed)
    memory_bytes = require_int("memory_bytes", memory_bytes, LEAST_MEMORY_BYTES)
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    runs = RandomOrder((seed, 0), memory_bytes, ext.folder_of(target))
    with read.metered(2) as meter, outputs, closing(runs) as order:
        for block in read.blocks():
            order.add(block)
        outputs.n_records = order.n_records
        num_written = 0
        for block in order.blocks():
            outputs.put(block)
            num_written += len(block)
            read.advance_written(num_written)
        meter.finish()
        return outputs.result(seed=seed)


_Part: TypeAlias = tuple[Uint64Array, Int64Array, Uint8Array]
"""Records: their keys, their lengths, and their frames end to end."""


@dataclass(frozen=True)
class _Run:
    start: int
    firsts: Int64Array
    """Number of the first record of each range of keys, and of all records; shape (1025,)."""
    edges: Int64Array
    """Where the frames of each range begin within the run, and end; shape (1025,)."""

    def read(self, file: IO[bytes], low: int, high: int) -> _Part:
        """Read the records of some ranges of keys."""
        first, last = int(self.firsts[low]), int(self.firsts[high])
        start, stop = int(self.edges[low]), int(self.edges[high])
        n_records = int(self.firsts[-1])
        of_lengths, of_frames = self.start + n_records * 8, self.start + n_records * 16
        keys = _read(file, self.start + first * 8, np.uint64, last - first)
        lengths = _read(file, of_lengths + first * 8, np.int64, last - first)
        return keys, lengths, _read(file, of_frames + start, np.uint8, stop - start)


class RandomOrder(_Runs):
    """Records that are added block by block, and returned in random order."""

    range_bits = 10

    def __init__(self, key: ext.OrderKey, memory_bytes: int, folder: str | None) -> None:
        # What is held is joined to be sorted, which takes as much again.
        super().__init__(memory_bytes * 3 // 8, folder)
        self._key = key
        self.n_records: int = 0

    def add(self, block: Block) -> None:
        """Add the records of a block; write a run before, if there is no room for them."""
        if not len(block):
            return
        frames = np.array(np.frombuffer(ext.frames_of(block), np.uint8))
        n_bytes = frames.size + len(block) * _RECORD_BYTES
        if self._held and self._n_held + n_bytes > self._most:
            self._write_run()
        keys = ext.order_words(self._key, self.n_records, len(block))
        self._held.append((keys, block.lengths, frames))
        self._n_held += n_bytes
        self.n_records += len(block)

    def blocks(self) -> Iterator[Block]:
        """Yield all records in random order, in blocks of about a megabyte; can be called once."""
        if self._file is not None:
            self._write_run()
            runs = self._runs
            costs = sum(np.diff(run.edges) + np.diff(run.firsts) * _RECORD_BYTES for run in runs)
            for low, high in _groups(costs, self._most):
                yield from _pieces_of(_sorted([run.read(self._file, low, high) for run in runs])[1])
        elif self._held:
            yield from _pieces_of(_sorted(self._held)[1])

    def _write_run(self) -> None:
        keys, block = _sorted(self._held)
        file, start, firsts = self._begin_run(keys)
        file.write(memoryview(keys).cast("B"))  # type: ignore[arg-type]
        file.write(memoryview(block.lengths).cast("B"))  # type: ignore[arg-type]
        for piece in _pieces_of(block):
            file.write(ext.frames_of(piece))
        edges = row_splits(block.lengths + OVERHEAD_BYTES)[firsts]
        self._runs.append(_Run(start, firsts, edges))


def _sorted(parts: list[_Part]) -> tuple[Uint64Array, Block]:
    """Return the keys in order, and the records in the same order; equal keys keep their order."""
    keys, lengths, frames = (list(arrays) for arrays in zip(*parts, strict=True))
    all_keys, all_lengths = np.concatenate(keys), np.concatenate(lengths)
    data = np.concatenate([*frames, np.zeros(SPARE_BYTES, np.uint8)])
    order = np.argsort(all_keys, kind="stable")
    offsets = row_splits(all_lengths + OVERHEAD_BYTES)[:-1] + HEADER_BYTES
    return all_keys[order], Block(data, offsets[order], all_lengths[order], is_framed=True)


def _pieces_of(block: Block) -> Iterator[Block]:
    for first, stop in _groups(block.lengths + OVERHEAD_BYTES, _PIECE_BYTES):
        yield block[first:stop]


# -------------------------------------------------------------------------- the first ones


def unique_records(
    sources: Sources | TFRecordReader,
    target: Source,
    *,
    by: str | Sequence[str] | None = None,
    memory_bytes: int = MEMORY_BYTES,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Write each record once: the first of those that are equal, in the order in which they are read.

    Parameters
    ----------
    sources, target, progress, **options
        As for :func:`merge_files`. Duplicates are looked for in all sources together, which are read twice.
    by : str or sequence of str, optional
        Records are equal if they have the same values of this feature, or of several; by default, if all their bytes
        are equal. Records without a value are equal in it. Of SequenceExamples, a feature of the context.
    memory_bytes : int, optional
        How much memory to use for digests: about 100 bytes for each record. If they do not fit, they are sorted
        through a temporary file, with 24 bytes for each record, in the folder of the target (for URLs and file
        objects, in the folder of Python's ``tempfile``), and another one of a byte for each record is mapped into memory.

    Returns
    -------
    Rearranged
        The files, and how many records were read and written: `num_read` minus `num_records` were left out.

    Raises
    ------
    TypeError
        If an argument is not of these types.
    InvalidArgumentError, DataLossError, FileExistsError, OSError
        As :func:`merge_files`; ``BAD_ARGUMENT`` too if `memory_bytes` is less than a megabyte, or if no record has
        a value of `by`.

    Notes
    -----
    Digests of 128 bits are compared, as :func:`split_records` uses them with the seed 0. Two different records would
    be taken for equal with a probability of about n**2 / 2**129. What can be read only once, such as a pipe, waits
    in a temporary file.

    Examples
    --------
    >>> _ = save("all.tfrecord", {"name": ["Ada", "Alan", "Ada"], "age": [36, 41, 37]})
    >>> kept = unique_records("all.tfrecord", "people.tfrecord", by="name")
    >>> kept.num_read - kept.num_records, load("people.tfrecord")["age"]
    (1, array([36, 41]))
    """
    memory_bytes = require_int("memory_bytes", memory_bytes, LEAST_MEMORY_BYTES)
    digests = ext.Digests(by)
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    runs = _FirstOnes(memory_bytes // _MEMORY_PER_ROW, ext.folder_of(target))
    with read.metered(2) as meter, outputs, closing(runs) as first_ones, ExitStack() as stack:
        spool = None if read.is_rereadable else stack.enter_context(closing(ext.Spool(target)))
        for block in read.blocks():
            first_ones.add(digests(block))
            if spool is not None:
                spool.put(block)
        digests.check()
        mask, num_read = first_ones.mask(), read.num_read
        outputs.n_records = int(np.count_nonzero(mask))
        number = 0
        for block in read.blocks_again() if spool is None else spool.blocks():
            outputs.put(block[np.array(mask[number : number + len(block)])])
            number += len(block)
        meter.finish()
        return outputs.result(num_read)


class _FirstOnes(_Runs):
    """Which of many digests are the first of equal ones; held are rows of two words of the digest, and its number."""

    range_bits = 12
    _n = 0

    def add(self, digests: Uint64Array) -> None:
        """Add the digests of a block."""
        numbers = np.arange(self._n, self._n + len(digests), dtype=np.uint64)
        self._held.append(np.column_stack([digests, numbers]))
        self._n += len(digests)
        self._n_held += len(digests)
        if self._n_held > self._most:
            rows = _first_of_equal(self._held)
            self._held, self._n_held = [rows], len(rows)
            if len(rows) > self._most // 2:
                self._write_run(rows)

    def _write_run(self, rows: Uint64Array) -> None:
        file, start, firsts = self._begin_run(rows[:, 0])
        file.write(rows.tobytes())
        self._runs.append((start, firsts))

    def mask(self) -> BoolArray:
        """Return which digests are the first, shape (n,); after all were added."""
        rows = _first_of_equal(self._held)
        if self._file is None:
            mask = np.zeros(self._n, np.bool_)
            mask[rows[:, 2]] = True
            return mask
        self._write_run(rows)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            mask = np.memmap(file, np.bool_, "w+", shape=(self._n,))
        for low, high in _groups(sum(np.diff(firsts) for _, firsts in self._runs), self._most):
            parts = []
            for start, firsts in self._runs:
                first, last = int(firsts[low]), int(firsts[high])
                words = _read(self._file, start + first * 24, np.uint64, (last - first) * 3)
                parts.append(words.reshape(-1, 3))
            mask[_first_of_equal(parts)[:, 2]] = True
        return mask


def _first_of_equal(parts: list[Uint64Array]) -> Uint64Array:
    """Sort rows by their digests; return the first of those with equal ones."""
    rows = np.concatenate([np.empty((0, 3), np.uint64), *parts])
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]  # stable: equal ones stay in their order
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    return rows[is_first]
