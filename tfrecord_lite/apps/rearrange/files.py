"""merge_files, split_files and filter_records: records in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Unpack

import numpy as np

from tfrecord_lite.apps.rearrange.transfer import Input, Outputs, Rearranged, TargetOptions
from tfrecord_lite.arrays import BoolArray
from tfrecord_lite.block import Block
from tfrecord_lite.errors import argument_error
from tfrecord_lite.extension import Source, Sources
from tfrecord_lite.progress import Progress
from tfrecord_lite.reader import TFRecordReader
from tfrecord_lite.texts import plural


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
        the ending: ``"train-00000-of-00008.tfrecord"``. All appear when all are complete. To a
        file object, records are written in order.
    progress : bool or callable, optional
        Show a progress bar; by default for work of more than a second, on a terminal or in a
        notebook, if tqdm is installed (the extra ``cli``). A callable is called with the bytes of
        the sources that were read, and their total or None, the last time with both equal; what it
        raises ends the work. Dividing records evenly reads the sources twice, so each time half counts.
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
    Records move in blocks, with the checksums that they were read with: a record's checksum is
    verified, and never made anew, so what was damaged on its way cannot look intact.

    If there are sidecars beside the sources, there is one beside each new file, so that
    :func:`~tfrecord_lite.load` loads the same types. Row numbers that were the index of a data
    frame are counted anew from 0.

    Examples
    --------
    >>> from tfrecord_lite.apps.rearrange import merge_files
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

    Parameters
    ----------
    sources, target, progress, **options
        As for :func:`merge_files`; the target is shards.

    Returns
    -------
    Rearranged
        The files, and how much is in them.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` too if nothing says how to divide the records.
    DataLossError, FileExistsError, OSError
        As :func:`merge_files`.

    Examples
    --------
    >>> from tfrecord_lite.apps.rearrange import split_files
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
    """Write all records to a target."""
    is_counted = outputs.is_even and read.is_rereadable
    with read.metered(1 + is_counted) as meter, outputs:
        if is_counted:
            outputs.n_records = read.count()
        with closing(read.blocks()) as blocks:
            for block in blocks:
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
    sources, target : optional
        As for :func:`merge_files`.
    keep : callable
        Called with each Block of records; returns which to keep, as bool, shape (n_records,).
    progress, **options
        As for :func:`merge_files`.

    Returns
    -------
    Rearranged
        The files, how many records were read, and how many of them were kept.

    Raises
    ------
    TypeError
        If `keep` is not callable, or returns anything but bools.
    InvalidArgumentError
        ``BAD_ARGUMENT`` too if `keep` returns another number of them.
    DataLossError, FileExistsError, OSError
        As :func:`merge_files`.

    Examples
    --------
    >>> from tfrecord_lite.apps.rearrange import filter_records
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
        with closing(read.blocks()) as blocks:
            for block in blocks:
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
