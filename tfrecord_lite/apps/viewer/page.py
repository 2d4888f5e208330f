"""view: what is in some files, as one HTML page in a file, and the browser."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import tempfile
import webbrowser
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.markup.tables import quoted
from tfrecord_lite.errors import argument_error, require_int
from tfrecord_lite.extension import Source, Sources
from tfrecord_lite.options import ReadOptions, read_settings
from tfrecord_lite.progress import Progress, check_progress, metered, title_of
from tfrecord_lite.reader import check_message_class
from tfrecord_lite.texts import human_bytes

if TYPE_CHECKING:
    from google.protobuf.message import Message

NUM_RECORDS, SAMPLE_SIZE, MAX_BYTES = 200, 10_000, 16 << 20
"""How many records a page shows, how many its statistics are of, and about its largest size."""
_MAX_FRAMED_BYTES = 4 << 20
"""Notebooks keep what they show, so that a larger page is not shown in one."""


def view(
    paths: Sources,
    columns: Collection[str] | None = None,
    *,
    output: Source | None = None,
    num_records: int = NUM_RECORDS,
    sample_size: int = SAMPLE_SIZE,
    seed: int = 0,
    max_bytes: int = MAX_BYTES,
    message_class: type[Message] | None = None,
    overwrite: bool = False,
    open_browser: bool | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> str:
    """Show what is in TFRecord files, on a page in the browser.

    The page is one HTML file without outside resources: the files and their damage, the schema, a card
    per feature with a chart of its values, and a table of records with images, sounds, texts and tensors.

    Parameters
    ----------
    paths : str, PathLike, binary file object, or iterable of these
        As for :class:`TFRecordReader`: paths, URLs, patterns, shards.
    columns : collection of str, optional
        Show only these features; all by default.
    output : str, PathLike or binary file object, optional
        Where to write the page; a file appears there only when it is complete. By default, a new file in
        the folder for temporary files, which stays there.
    num_records : int, optional
        How many records to show at most, evenly spread over those that are read.
    sample_size, seed : int, optional
        How many records of files larger than 64 MiB are read, so that a page takes seconds and bounded
        memory; and the seed that draws them. Smaller files are read whole.
    max_bytes : int, optional
        About how large the page may become: more pictures and records are left out, and it says so.
    message_class : type of Message, optional
        The protobuf class of the records, if they are messages of another type. Each path of its fields
        has a card; without it, fields are shown by number.
    overwrite : bool, optional
        Replace an `output` that exists; never one of the files shown.
    open_browser : bool, optional
        Whether to open the page in the browser; by default only if there is no `output`. A notebook
        shows it below the cell instead, or says where it is if it is larger than 4 MiB.
    progress : bool or callable, optional
        As for :func:`load`; counts the bytes of records that are read, and then of records that are examined.
    **options
        How files are read, see :class:`~tfrecord_lite.options.ReadOptions`. Damage is skipped, and listed.

    Returns
    -------
    str
        The path of the page.

    Raises
    ------
    OSError
        If a file cannot be read, or the page not written; FileExistsError for an `output` that exists.
    DataLossError
        If there is no intact record. A file that is damaged or empty has a page, which says so.
    InvalidArgumentError
        ``BAD_ARGUMENT`` for a feature that no record has, for an `output` that is one of the files
        shown, and for numbers out of range; ``MALFORMED`` for a record that is not of `message_class`.
    ImportError
        If Jinja2 or Pillow is not installed (``pip install jinja2 pillow``).

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> view("people.tfrecord", output="people.html")
    'people.html'
    """
    settings = read_settings(options)
    check_progress(progress)
    require_int("num_records", num_records, 0)
    require_int("sample_size", sample_size, 1)
    require_int("max_bytes", max_bytes, 1)
    try:
        import PIL.Image  # noqa: F401, PLC0415 - makes the pictures

        from tfrecord_lite.apps.viewer.document import render  # noqa: PLC0415 - needs Jinja2
        from tfrecord_lite.apps.viewer.report import Choice, make_report  # noqa: PLC0415 - the same
    except ImportError as error:
        if (error.name or "").split(".")[0] not in {"jinja2", "markupsafe", "PIL"}:
            raise
        detail = "the page needs Jinja2 and Pillow: pip install jinja2 pillow"
        raise ImportError(detail) from error
    if message_class is not None:
        check_message_class(message_class)
    chosen = frozenset([columns] if isinstance(columns, str) else columns or ())
    for name in chosen:
        if not isinstance(name, str):
            raise TypeError(f"columns must be names, each a str, not {name!r}")
    choice = Choice(chosen, num_records, sample_size, seed, max_bytes, message_class)
    sources = ext.expand(paths, settings.storage_options)
    is_temporary = output is None
    if output is None:
        output = str(Path(tempfile.mkdtemp(prefix="tfrecord-view-")) / "page.html")
    elif not ext.is_file_object(output):
        place = ext.name_of(output)
        if not place:
            raise argument_error("output is empty, expected the path of the page")
        inputs = [ext.name_of(source) for source in sources if not ext.is_file_object(source)]
        if any(ext.is_same_file(place, name, settings.storage_options) for name in inputs):
            detail = "the page would replace a file that it shows; give it another name"
            raise argument_error(detail, source=place)
    is_atomic = not ext.is_file_object(output)
    file = ext.open_output(output, atomic=is_atomic, storage_options=settings.storage_options)
    try:
        if not overwrite and file.replaces(file.name):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), file.name)  # noqa: TRY301 - as of any other error
        with metered(progress, title_of(sources), "bytes") as meter:
            page = render(make_report(sources, choice, settings, meter))
            meter.finish()
        file.write([page.encode("utf-8", "backslashreplace")])
        file.finish()
        file.commit()
    except BaseException:
        file.abandon()
        raise
    if open_browser or (open_browser is None and is_temporary):
        open_page(file.name)
    return file.name


def open_page(path: str) -> bool:
    """Open a page in the browser, or show it below a notebook's cell; return whether that was possible."""
    if "ipykernel" in sys.modules:  # the browser may be on another machine
        notebook: Any = importlib.import_module("IPython.display")
        notebook.display(notebook.HTML(framed(path)))
        return True
    try:
        return webbrowser.open(Path(path).resolve().as_uri())
    except webbrowser.Error:
        return False


def framed(path: str) -> str:
    """Return the HTML that shows a page within another; of a large one, where it is."""
    size = ext.local_size(path)
    if size is None or size > _MAX_FRAMED_BYTES:
        about = "" if size is None else f" of {human_bytes(size)} is too large for a notebook, and"
        return f"<p>The page{about} is in {quoted(path)}: open it in a browser, or make it smaller with max_bytes.</p>"
    page = quoted(Path(path).read_text("utf-8"))
    return (
        f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" height="640" '
        'style="border:1px solid #8886"></iframe>'
    )
