"""Encoded images of records to files: ``tfrecord head --image KEY -o DIR``.

A file is named by its record's file and number, and what comes before the image in the record::

    train-000007.jpg            the feature of record 7 in train.tfrecord
    train-000007-0003.jpg       step 3 of a feature list; or value 3, if a feature has several
"""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli.console import Status
from tfrecord_lite.errors import human_bytes, plural
from tfrecord_lite.example.content import ContentType, detect
from tfrecord_lite.example.outline import sections
from tfrecord_lite.example.value_content import recognize_value
from tfrecord_lite.files.output import open_output
from tfrecord_lite.schema.text import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.example.content import Content

_ENDING = re.compile(r"(\.tfrecords?|\.tfr)?(\.(gz|zlib|zst|bz2))?$", re.IGNORECASE)
_UNSAFE = re.compile(r"[^\w.-]+")
_MAX_STEM = 100


class ImageFiles:
    """Writes the images that one feature holds, file by file, and never over another file."""

    def __init__(self, console: Console, key: str, folder: str, *, as_json: bool) -> None:
        self._console = console
        self._key = key
        self._folder = Path(folder)
        self._as_json = as_json
        self.next_file()

    def next_file(self) -> None:
        """Forget what the previous file held."""
        self._likely: ContentType | None = None
        self._n_records = 0
        self._n_without = 0
        self._names: set[str] = set()

    def write(self, record: bytes, index: int, source: str) -> None:
        """Write the images of a record, given its number and the name of its file."""
        content = detect(record, self._likely)
        if content.type is not ContentType.EMPTY:
            self._likely = content.type
        self._n_records += 1
        values = list(self._values(content))
        self._n_without += not values
        for place, value in values:
            found = recognize_value(value)
            if found.media is None:
                where = f"{source}: record {index}, feature {self._key!r}"
                self._console.complain(f"{where}: expected an encoded image, found {found}")
                continue
            name = f"{_stem(source)}-{index:06d}{place}{found.media.ending}"
            path = str(self._folder / name)
            self._write_file(path, value)
            media = found.media
            self._say(
                f"{path}  {media}, {human_bytes(len(value))}",
                {"file": source, "record": index, "image": path, "format": media.format},
                {"bytes": len(value), "width": media.width, "height": media.height},
            )

    def _say(self, line: str, *members: dict[str, Any]) -> None:
        if self._as_json:
            self._console.say_json(
                {name: value for part in members for name, value in part.items()}
            )
        else:
            self._console.say(line)

    def _values(self, content: Content) -> Iterator[tuple[str, bytes]]:
        """Yield the byte strings of the feature, with what tells them apart in a file's name."""
        if content.message is None:
            return
        parts = sections(content.message)
        for number, section in enumerate(parts):
            self._names.update(row.name for row in section.rows)
            part = f"-{number:04d}" if content.type is ContentType.EXAMPLE_LIST else ""
            for row in (row for row in section.rows if row.name == self._key):
                for step, feature in enumerate(row.steps):
                    place = f"{part}-{step:04d}" if row.is_list else part
                    values = feature.bytes_list.value
                    for i, value in enumerate(values):
                        yield f"{place}-{i:04d}" if len(values) > 1 else place, value

    def _write_file(self, path: str, data: bytes) -> None:
        """Write a new file, which appears when it is complete."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            detail = "is not a folder; name one with -o"
            raise NotADirectoryError(errno.ENOTDIR, detail, str(self._folder)) from None
        if Path(path).is_symlink() or Path(path).exists():
            detail = "exists; remove it, or name another folder with -o"
            raise FileExistsError(errno.EEXIST, detail, path)
        output = open_output(path, atomic=True)
        try:
            output.write([data])
            output.finish()
            output.commit()
        except BaseException:
            output.abandon()
            raise

    def finish(self, source: str) -> None:
        """Report the records of a file that lack the feature."""
        if not self._n_without:
            return
        others = self._names - {self._key}
        of = f"{self._n_without:,} of {plural(self._n_records, 'record')}"
        has_none = self._n_without == self._n_records
        hint = nearest(self._key, others) if has_none else ""
        status = Status.FAILED if has_none else Status.INTACT
        text = f"{source}: {of} without byte strings in a feature {self._key!r}{hint}"
        self._console.complain(text, status)


def _stem(source: str) -> str:
    """Return a data file's name without its ending, as part of the name of an image's file."""
    base = re.split(r"[/\\]", source.rstrip("/\\"))[-1]
    return _UNSAFE.sub("_", _ENDING.sub("", base))[-_MAX_STEM:].strip("_.") or "record"
