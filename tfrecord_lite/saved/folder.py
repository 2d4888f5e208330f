"""The folder of a saved data set: its description, and the files of the run that counts.

::

    FOLDER/dataset_spec.pb                          the spec; a snapshot has none
    FOLDER/snapshot.metadata                        names RUN; other runs are left over
    FOLDER/RUN/00000000.shard/00000000.snapshot     records: one per component of each element
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from typing import Any

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.files.names import SAVED, StorageOptions, listing
from tfrecord_lite.saved.spec import VARIANT, Component, components_of, fields, refused
from tfrecord_lite.tensors.dtypes import type_of_number
from tfrecord_lite.wire.scalar import WireError, read_varint

CHUNKS = "chunks"
"""The folder in the place of a run that ``distributed_save`` makes."""
_SPEC = "dataset_spec.pb"
_VERSION = 2


class SavedData:
    """One saved data set, a snapshot, or the chunks of ``distributed_save``.

    Attributes
    ----------
    place : str
        The path or URL of its ``snapshot.metadata``.
    components : list of Component
    structure
        The names of the components, nested as the elements are.
    num_elements : int or None
        None if the description does not say.
    refused : dict
        The components that cannot be read, with the reasons.
    """

    run: str
    """The name of the folder of the run that counts."""
    num_elements: int | None

    def __init__(self, place: str, storage_options: StorageOptions = None) -> None:
        self.place: str = place
        self.folder: str = place.removesuffix(SAVED).rstrip("/") or "."
        self._options = storage_options
        try:
            self._read(self._content(SAVED))
        except (WireError, ValueError) as error:
            if isinstance(error, InvalidArgumentError):
                raise error.at(source=place) from None
            detail = "this is not the description of a data set that tf.data has saved"
            raise argument_error(detail, source=place) from None

    def _content(self, name: str) -> bytes:
        with closing(open_seekable(f"{self.folder}/{name}", self._options)) as file:
            return b"".join(iter(lambda: file.read(1 << 20), b""))

    def _read(self, metadata: bytes) -> None:
        self.num_elements = None
        if metadata.startswith(b"element_spec:"):  # text, of distributed_save
            self.run, dtypes = CHUNKS, []
        else:
            found: dict[int, Any] = dict(fields(metadata))
            if found.get(4, _VERSION) != _VERSION:
                detail = f"version {found[4]} of saved data sets cannot be read, only {_VERSION}"
                raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
            self.run, dtypes = found.get(2, b"").decode(), _numbers(metadata)
            self.num_elements = found.get(6, None if dtypes else 0)
        if not self.run or "/" in self.run or self.run.startswith("."):
            raise argument_error("it does not name the folder of a run")
        names = {os.path.basename(name) for name in self._root.files}  # noqa: PTH119 - may be a URL
        if _SPEC in names:
            self.structure, self.components = components_of(self._content(_SPEC))
        else:  # a snapshot, which knows the dtypes alone
            self.components = [_of_snapshot(i, number) for i, number in enumerate(dtypes)]
            self.structure = tuple(component.name for component in self.components)
        self.refused = {c.name: c.refused for c in self.components if c.refused is not None}
        if dtypes and len(dtypes) != len(self.components):  # a refused one may have any number
            for error in self.refused.values():
                raise error
            raise argument_error("its spec and its description differ in the number of components")

    def _listed(self, below: str) -> Any:
        return listing(f"{self.folder}/{below}".rstrip("/"), self._options)

    @cached_property
    def _root(self) -> Any:
        return self._listed("")

    @cached_property
    def files(self) -> list[str]:
        """The files of the run: the first shard's, the second's, and so on."""
        folders = {os.path.basename(name) for name in self._root.folders}  # noqa: PTH119
        if self.run not in folders:
            return []
        run = self._listed(self.run)
        if self.run == CHUNKS:
            return sorted(run.files, key=_chunk_number)
        shards = [name for name in run.folders if name.endswith(".shard")]
        files = [file for shard in sorted(shards) for file in listing(shard, self._options).files]
        return [file for file in files if file.endswith(".snapshot")]

    @property
    def shards(self) -> list[list[str]]:
        """The files of each shard."""
        found: dict[str, list[str]] = {}
        for file in self.files:
            key = file if self.run == CHUNKS else os.path.dirname(file)  # noqa: PTH120
            found.setdefault(key, []).append(file)
        return list(found.values())

    def chosen(self, names: Sequence[str] | None) -> list[Component]:
        """Return the components of these names; by default all that can be read."""
        if names is None:
            return [component for component in self.components if component.refused is None]
        known = {component.name: component for component in self.components}
        return [known[name] for name in names]


def _numbers(metadata: bytes) -> list[int]:
    numbers = []
    for number, value in fields(metadata):
        if number == 5 and isinstance(value, int):
            numbers.append(value)
        elif number == 5:
            at = 0
            while at < len(value):
                dtype, at = read_varint(value, at, len(value))
                numbers.append(dtype)
    return numbers


def _of_snapshot(i: int, number: int) -> Component:
    if number == VARIANT:
        return refused(str(i), "nothing says what these variants are: a snapshot has no spec")
    try:
        return Component(str(i), "tensor", type_of_number(number).name, None)
    except InvalidArgumentError as error:
        return refused(str(i), error.detail or "")


def _chunk_number(name: str) -> tuple[int, ...]:
    parts = os.path.basename(name).split("_")  # noqa: PTH119 - may be a URL
    return tuple(int(part) for part in parts if part.isdecimal())
