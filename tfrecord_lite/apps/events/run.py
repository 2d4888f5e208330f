"""The event files of a run: a folder of files whose names contain ``tfevents``.

They are read as TensorBoard does, in the order of their names, which start with the time they were
made. Folders inside it are runs of their own. A file may end inside a record, as its last record is
torn most of the time while a program is writing it; a wrong checksum is an error.
"""

from __future__ import annotations

import os
import posixpath
import warnings
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, TypeAlias, cast

import numpy as np

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.events.parse import EventValues, Tags, parse_events
from tfrecord_lite.apps.events.series import Events
from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.block import Block
from tfrecord_lite.errors import DataLossError, DataLossWarning, Reason
from tfrecord_lite.extension import RecordStream, SkippingStream, Source, Sources, StorageOptions
from tfrecord_lite.options import OnError, ReadSettings, hinted

Folder: TypeAlias = str | os.PathLike[str]
Stream: TypeAlias = RecordStream | SkippingStream

_MARK = "tfevents"


@hinted
def read_events(
    paths: Sources,
    *,
    on_error: OnError = "raise",
    max_errors: int | None = None,
    storage_options: StorageOptions = None,
) -> Events:
    """Read all events of a run, or of some event files.

    Parameters
    ----------
    paths : str, bytes, PathLike, binary file object, or an iterable of them
        A folder, whose event files are read in the order of their names; or files,
        patterns and URLs, as :class:`TFRecordReader` takes them.
    on_error, max_errors : optional
        As for :class:`TFRecordReader`. A file that ends inside a record is not damaged.
    storage_options : dict, optional
        Options for fsspec, which opens URLs.

    Returns
    -------
    Events
        Scalars as arrays, everything else as the stored bytes. Its `torn` names the files that end
        inside a record; its `report` says what was skipped.

    Raises
    ------
    FileNotFoundError
        If the path does not exist, or the folder has no event file.
    DataLossError
        For a damaged record; a DataLossWarning with ``on_error="skip"``.
    InvalidArgumentError
        ``MALFORMED`` for a record that is not an Event.

    Notes
    -----
    TensorBoard drops events that a restarted program has written again, if the files are older than
    version 2 or the program logs the starts of its sessions. Here, a step may occur twice.

    Examples
    --------
    >>> from tfrecord_lite.messages import Event, Summary
    >>> loss = Summary.Value(tag="loss", simple_value=0.5)
    >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
    ...     writer.write(Event(step=7, summary=Summary(value=[loss])).SerializeToString())
    >>> run = read_events(".")
    >>> run.tags["scalars"], run.scalars("loss").step, run.scalars("loss").value
    (('loss',), array([7]), array([0.5]))
    """
    options = ReadSettings(on_error=on_error, max_errors=max_errors)
    sources = _sources(paths, storage_options)
    if not sources:
        folder = cast("str", paths)
        runs = list(find_runs(folder, storage_options=storage_options))
        hint = f"; there are runs in {', '.join(map(repr, runs[:3]))}" if runs else ""
        raise FileNotFoundError(f"no file in {folder!r} is named *{_MARK}*{hint}")
    tags, torn = Tags(), list[str]()
    log = ext.DamageLog.begin(options)
    parts = [parse_events(Block.from_records([]), tags)]
    try:
        for source in sources:
            settings = ReadSettings(storage_options=storage_options)
            with closing(RecordStream(source, settings)) as stream:
                records = stream if log is None else log.skipping(stream, may_be_torn=True)
                parts += _values(records, tags, torn)
    finally:
        if log is not None:
            log.give_warning()
    report = None if log is None else log.report()
    return Events(EventValues.concat(parts), tags, tuple(torn), report)


@hinted
def find_runs(folder: Folder, *, storage_options: StorageOptions = None) -> dict[str, str]:
    """Find all runs below a folder.

    Parameters
    ----------
    folder : str or PathLike
        The path or URL of a log directory, in TensorBoard's words.
    storage_options : dict, optional
        Options for fsspec, which opens URLs.

    Returns
    -------
    dict of str to str
        The path of each folder with event files in it, by its path relative to `folder`
        ("." for itself); sorted.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        If it is not a folder.

    Examples
    --------
    >>> import os
    >>> for run in ("train", "validation"):
    ...     os.makedirs(f"logs/{run}")
    ...     TFRecordWriter(f"logs/{run}/events.out.tfevents.1.example").close()
    >>> list(find_runs("logs"))
    ['train', 'validation']
    """
    ext.check_storage_options(storage_options, folder)
    root: Any = os.fspath(folder)
    if ext.is_url(root):
        filesystem, place = ext.remote_place(root, storage_options)
        if not filesystem.isdir(place):
            raise (NotADirectoryError if filesystem.exists(place) else FileNotFoundError)(root)
        below, named = filesystem.walk(place), filesystem.unstrip_protocol
    else:
        os.scandir(root).close()  # raises the errors that os.walk would ignore
        place, below, named = root, os.walk(root), str
    runs = {
        os.path.relpath(path, place): named(path)
        for path, _, names in below
        if any(_MARK in name for name in names)
    }
    return dict(sorted(runs.items()))


@hinted
def tabulate_runs(
    folder: Folder,
    *,
    on_error: OnError = "raise",
    max_errors: int | None = None,
    storage_options: StorageOptions = None,
) -> dict[str, AnyArray]:
    """Tabulate the runs below a folder: their hyperparameters, and the last value of each scalar.

    Parameters
    ----------
    folder : str or PathLike
        As for :func:`find_runs`.
    on_error, max_errors, storage_options
        As for :func:`read_events`.

    Returns
    -------
    dict of str to array
        Columns for ``pandas.DataFrame``, with a row per run: ``"run"``, its path relative to `folder`; each
        hyperparameter; the last value of each scalar, by its tag (``"TAG (last value)"`` if a hyperparameter has
        that name). Numbers are float64, NaN where a run lacks one; other columns have None there.

    Raises
    ------
    FileNotFoundError, NotADirectoryError, DataLossError, InvalidArgumentError
        As :func:`find_runs`, :func:`read_events`, :meth:`Events.hparams` and :meth:`Events.scalars`; a
        DataLossWarning if a file ends inside an event.

    Examples
    --------
    >>> import os
    >>> from tfrecord_lite.messages import Event, Summary
    >>> for run, value in ("a", 0.5), ("b", 0.25):
    ...     os.makedirs(f"logs/{run}")
    ...     loss = Summary.Value(tag="loss", simple_value=value)
    ...     with TFRecordWriter(f"logs/{run}/events.out.tfevents.1.example") as writer:
    ...         writer.write(Event(step=7, summary=Summary(value=[loss])).SerializeToString())
    >>> tabulate_runs("logs")
    {'run': array(['a', 'b'], dtype=object), 'loss': array([0.5 , 0.25])}
    """
    torn = list[str]()

    def read(path: str) -> Events:
        options: Any = {"max_errors": max_errors, "storage_options": storage_options}
        run = read_events(path, on_error=on_error, **options)
        torn.extend(run.torn)
        return run

    runs = find_runs(folder, storage_options=storage_options)
    table = table_of((name, read(path)) for name, path in runs.items())
    for file in torn:
        text = f"{file}: it ends inside an event, which may be written still"
        warnings.warn(text, DataLossWarning, stacklevel=3)
    return table


def table_of(runs: Iterable[tuple[str, Events]]) -> dict[str, AnyArray]:
    """Return the table of :func:`tabulate_runs` about runs with their names."""
    names, settings, lasts = list[str](), list[dict[str, Any]](), list[dict[str, Any]]()
    for name, run in runs:
        scalars = run.scalars()
        names.append(name)
        settings.append(run.hparams())
        lasts.append(dict(zip(scalars.tag.tolist(), scalars.value.tolist(), strict=True)))
    columns: dict[str, list[Any]] = {"run": names}
    for rows, what in (settings, "hyperparameter"), (lasts, "last value"):
        for name in dict.fromkeys(name for row in rows for name in row):
            label = f"{name} ({what})" if name in columns else name
            columns[label] = [row.get(name) for row in rows]
    return {name: _column(values) for name, values in columns.items()}


def _column(values: list[Any]) -> AnyArray:
    """Return values as float64 if they are numbers or missing, as bool if all are; otherwise as objects."""
    types = set(map(type, values))
    if types == {bool} or (float in types and types <= {float, type(None)}):
        return np.array(values, np.bool_ if bool in types else np.float64)
    return np.array([*values, None], object)[:-1]


def _sources(paths: Sources, storage_options: StorageOptions) -> list[Source]:
    if isinstance(paths, (str, bytes, os.PathLike)):
        folder = os.fsdecode(paths)
        if ext.is_url(folder):
            filesystem, place = ext.remote_place(folder, storage_options)
            if filesystem.isdir(place):
                items = filesystem.ls(place, detail=True)
                files = sorted(item["name"] for item in items if item["type"] == "file")
                names = [name for name in files if _MARK in posixpath.basename(name)]
                return [filesystem.unstrip_protocol(name) for name in names]
        elif os.path.isdir(folder):
            ext.check_storage_options(storage_options, folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            return [entry.path for entry in entries if _MARK in entry.name and not entry.is_dir()]
    return ext.expand(paths, storage_options)


def _values(stream: Stream, tags: Tags, torn: list[str]) -> Iterator[EventValues]:
    """Yield the values of all whole records; if the last one is not, add the file to `torn`."""
    while True:
        try:
            block = stream.next_block()
        except DataLossError as error:
            if error.reason not in (Reason.TRUNCATED, Reason.COMPRESSED_TRUNCATED):
                raise
            torn.append(stream.name)
            return
        if block is None:
            if isinstance(stream, SkippingStream) and stream.torn_bytes:
                torn.append(stream.name)
            return
        yield parse_events(block, tags)
