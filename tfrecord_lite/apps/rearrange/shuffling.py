"""shuffle_records: all records in random order."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Unpack

from tfrecord_lite.apps.rearrange.runs import RandomOrder
from tfrecord_lite.apps.rearrange.sources import Input
from tfrecord_lite.apps.rearrange.targets import Rearranged, Target, TargetOptions
from tfrecord_lite.dataset.random_order import seed_of
from tfrecord_lite.errors import require_int
from tfrecord_lite.files.names import Source, Sources, is_file_object, is_url, name_of
from tfrecord_lite.progress import Progress
from tfrecord_lite.reader import TFRecordReader

MEMORY_BYTES = 1024**3
_LEAST_MEMORY_BYTES = 1024**2


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
    sources, target : optional
        As for :func:`merge_files`. The records of all sources are shuffled together.
    seed : int, optional
        The order depends on the seed and the number of records, and on nothing else; it is the
        same on every machine. None draws a seed, which the result has.
    memory_bytes : int, optional
        How much memory to use for records. If they do not fit, they are written to a temporary
        file too, uncompressed, in the folder of the target (for URLs and file objects, in
        that of Python's ``tempfile``). It is removed however the process ends.
    progress : bool or callable, optional
        As for :func:`merge_files`; half is done when all records are in their temporary file.
    **options
        As for :func:`merge_files`.

    Returns
    -------
    Rearranged
        The files, how much is in them, and the seed.

    Raises
    ------
    TypeError
        If `seed` or `memory_bytes` is not an integer.
    InvalidArgumentError
        ``BAD_ARGUMENT`` too if `memory_bytes` is less than a megabyte, or more than there are.
    DataLossError, FileExistsError, OSError
        As :func:`merge_files`.

    Notes
    -----
    Every order is equally likely: record i gets word i of a generator (PCG64) as its key, and the
    records are sorted by their keys. The first pass sorts as many records as fit into memory at a
    time, and writes them; the second reads those with keys in one range of each of these
    runs. Both read and write large pieces in order, which a disk does many times as fast as
    reading one record after the other from random places.

    A thousandth of the data has to fit into `memory_bytes`, and so does each record; more memory is used
    otherwise. What the process needs besides (NumPy, buffers of files) is about 80 MB.

    Examples
    --------
    >>> from tfrecord_lite.apps.rearrange import shuffle_records
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> shuffled = shuffle_records("names.tfrecord", "shuffled.tfrecord", seed=7)
    >>> list(TFRecordReader("shuffled.tfrecord"))
    [b'Alan', b'Grace', b'Ada']
    """
    seed = seed_of(seed)
    memory_bytes = require_int("memory_bytes", memory_bytes, _LEAST_MEMORY_BYTES)
    place = Target(target, **options)
    read = Input(sources, place.storage_options, progress)
    described = read.described()
    with (
        read.metered(2) as meter,
        place.open(read.sources, described) as outputs,
        closing(RandomOrder((seed, 0), memory_bytes, _folder_of(target))) as order,
    ):
        with closing(read.blocks()) as blocks:
            for block in blocks:
                order.add(block)
        outputs.n_records = order.n_records
        num_written = 0
        with closing(order.blocks()) as blocks:
            for block in blocks:
                outputs.put(block)
                num_written += len(block)
                read.advance_written(num_written)
        meter.finish()
        return outputs.result(seed=seed)


def _folder_of(target: Source) -> str | None:
    """Return the folder for a temporary file; None for the one of ``tempfile``."""
    if is_file_object(target) or is_url(name_of(target)):
        return None
    return str(Path(name_of(target)).resolve().parent)
