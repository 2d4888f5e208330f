"""The description of a saved data set: its element spec, read and written, and the files of the run that counts.

::

    FOLDER/dataset_spec.pb                          the spec, a StructuredValue; a snapshot has none
    FOLDER/snapshot.metadata                        names RUN; other runs are left over
    FOLDER/RUN/00000000.shard/00000000.snapshot     records: one per component of each element

A *component* is a leaf of the nested spec, in the order of TensorFlow's ``nest``: the keys of a dict sorted,
everything else by place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, Literal, NamedTuple

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.files.names import SAVED, StorageOptions, listing
from tfrecord_lite.tensors.dtypes import TensorType, tensor_type, type_of_number
from tfrecord_lite.wire.scalar import LEN, WireError, read_varint, varint, walk

Form = Literal["tensor", "ragged", "sparse", "optional"]
Shape = tuple[int | None, ...]

CHUNKS = "chunks"
"""The folder in the place of a run that ``distributed_save`` makes."""
_SPEC = "dataset_spec.pb"
_VERSION = 2
VARIANT = 21
_CLASSES: dict[int, Form] = {1: "sparse", 3: "ragged", 7: "optional"}
_NUMBERS: dict[str, int] = {form: number for number, form in _CLASSES.items()}
_NAMES = {"sparse": b"SparseTensorSpec", "ragged": b"RaggedTensorSpec", "optional": b"OptionalSpec"}
_NONE, _INT, _SHAPE, _DTYPE, _TENSOR, _TYPE, _BOUNDED = 1, 12, 31, 32, 33, 34, 35
_LIST, _TUPLE, _DICT, _NAMED = 51, 52, 53, 54


class Component(NamedTuple):
    """One leaf of a spec."""

    name: str
    """Its path: ``box/x``, ``0``, or ``value`` if there is no nesting."""
    form: Form
    """How its records hold it: as a plain tensor, or inside a variant."""
    dtype: str | None
    """None if the spec does not say: only the records know."""
    shape: Shape | None
    """The shape of an element, without its batch; None if the number of dimensions is not known."""
    ragged_rank: int = 0
    """How many vectors of row splits a ragged one has."""
    refused: InvalidArgumentError | None = None
    """Why it cannot be read, if it cannot."""

    @property
    def is_settled(self) -> bool:
        """Whether its shape is known without its records."""
        varies = self.shape is None or (self.form == "sparse" and None in self.shape)
        return self.refused is not None or not varies


def refused(name: str, detail: str) -> Component:
    """Return a component that cannot be read."""
    error = InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    return Component(name, "tensor", None, (), refused=error)


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the numbers and values of a message's fields."""
    for number, wire_type, start, stop in walk(data, 0, len(data)):
        yield number, data[start:stop] if wire_type == LEN else read_varint(data, start, stop)[0]


def message(*parts: tuple[int, bytes | int]) -> bytes:
    """Return a message of these fields."""
    out = []
    for number, value in parts:
        if isinstance(value, int):
            out.append(varint(number << 3) + varint(value))
        else:
            out.append(varint(number << 3 | LEN) + varint(len(value)) + value)
    return b"".join(out)


# -------------------------------------------------------------------------------- to read


def components_of(spec: bytes) -> tuple[Any, list[Component]]:
    """Return the structure of a dataset_spec.pb, with names as its leaves, and the components."""
    components: list[Component] = []
    try:
        structure = _structure(spec, "", components)
    except (WireError, IndexError, ValueError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise argument_error("this is not the spec of a saved data set") from None
    names = [component.name for component in components]
    if len(set(names)) < len(names):
        raise argument_error("two components have one name, as / joins the names of nested ones")
    return structure, components


def _structure(spec: bytes, name: str, components: list[Component]) -> Any:
    number, value = next(fields(spec), (_NONE, b""))

    def below(key: str, item: bytes) -> Any:
        return _structure(item, f"{name}/{key}" if name else key, components)

    if number == _NONE:
        return ()
    if number in (_LIST, _TUPLE):
        items = [item for field, item in fields(value) if field == 1]
        return tuple(below(str(i), item) for i, item in enumerate(items))
    if number in (_DICT, _NAMED):
        of_pairs = 1 if number == _DICT else 2
        pairs = [dict(fields(pair)) for n, pair in fields(value) if n == of_pairs]
        keyed = [(pair.get(1, b"").decode(), pair.get(2, b"")) for pair in pairs]
        keyed = sorted(keyed) if number == _DICT else keyed
        return {key: below(key, item) for key, item in keyed}
    if (component := _component(number, value, name or "value")) is None:
        return ()
    components.append(component)
    return component.name


def _component(number: int, value: bytes, name: str) -> Component | None:
    """Return the component that a spec describes; None for a None."""
    spec = dict(fields(value)) if number in (_TENSOR, _BOUNDED, _TYPE) else {}
    class_name = f"type number {number}"
    try:
        if number in (_TENSOR, _BOUNDED):
            dtype = type_of_number(spec.get(3, 0)).name
            return Component(name, "tensor", dtype, _shape(spec.get(2, b"")))
        if number == _TYPE:
            class_name = spec.get(3, b"").decode() or "an unknown type"
            if "NoneTensorSpec" in class_name:
                return None
            form, items = _CLASSES.get(spec.get(1, 0)), _items(spec.get(2, b""))
            if form == "optional":
                inner = _component(*next(fields(items[0])), name)
                if inner is not None and inner.form == "tensor":
                    return _checked(inner._replace(form="optional"), 0)
                class_name = "OptionalSpec of more than one tensor"
            elif form is not None:
                state = [dict(fields(item)) for item in items]
                rank = state[2].get(_INT, 0) >> 1 if form == "ragged" else 0
                shape = _shape(state[0].get(_SHAPE, b""))
                dtype = type_of_number(state[1].get(_DTYPE, 0)).name
                return _checked(Component(name, form, dtype, shape, rank), rank + 1)
    except InvalidArgumentError as error:  # of a dtype
        return refused(name, error.detail or "")
    return refused(name, f"a component of {class_name} cannot be read")


def _checked(component: Component, n_outer: int) -> Component:
    """Refuse a component whose inner sizes vary."""
    shape = component.shape
    if component.form == "sparse" or (shape is not None and None not in shape[n_outer:]):
        return component
    detail = "optional values whose shape varies cannot be read: a missing one is not an empty one"
    if component.form != "optional":
        detail = "ragged tensors whose inner dimensions vary, or are not known, cannot be read"
    return refused(component.name, detail)


def _items(state: bytes) -> list[bytes]:
    return [item for n, items in fields(state) if n in (_LIST, _TUPLE) for _, item in fields(items)]


def _shape(shape: bytes) -> Shape | None:
    dims = []
    for number, value in fields(shape):
        if number == 3 and value:
            return None
        if number == 2:
            size = dict(fields(value)).get(1, 0)
            dims.append(None if size >= 2**63 else size)
    return tuple(dims)


# ------------------------------------------------------------------------------- to write


def spec_of(structure: Any, components: dict[str, Component]) -> bytes:
    """Return the StructuredValue of a structure."""
    if isinstance(structure, dict):
        items = [(key.encode(), spec_of(value, components)) for key, value in structure.items()]
        return message((_DICT, message(*((1, message((1, k), (2, v))) for k, v in items))))
    if isinstance(structure, tuple):
        return message((_TUPLE, message(*((1, spec_of(item, components)) for item in structure))))
    return _leaf(components[structure])


def _leaf(component: Component) -> bytes:
    kind: TensorType = tensor_type(component.dtype)
    sizes = [-1 if size is None else size for size in component.shape or ()]
    shape = b"".join(message((2, message((1, size)))) for size in sizes)
    state = [message((_SHAPE, shape)), message((_DTYPE, kind.number))]
    if component.form == "ragged":
        state += [message((_INT, component.ragged_rank << 1)), message((_DTYPE, 9))]
    if component.form in ("tensor", "optional"):
        tensor = message((_TENSOR, message((2, shape), (3, kind.number))))
        if component.form == "tensor":
            return tensor
        state = [tensor]
    n_flat = {"ragged": component.ragged_rank + 1, "sparse": 3, "optional": 1}[component.form]
    inner = message((_TUPLE, message(*((1, s) for s in state))))
    spec: list[tuple[int, bytes | int]] = [(1, _NUMBERS[component.form]), (2, inner)]
    return message((_TYPE, message(*spec, (3, _NAMES[component.form]), (4, n_flat))))


def order_of(structure: Any) -> list[str]:
    """Return the names of the leaves in the order of their records."""
    if isinstance(structure, dict):
        return [name for key in sorted(structure) for name in order_of(structure[key])]
    if isinstance(structure, tuple):
        return [name for item in structure for name in order_of(item)]
    return [structure]


# ------------------------------------------------------------------------------- the folder


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
        self.structure: Any
        self.components: list[Component]
        if _SPEC in names:
            self.structure, self.components = components_of(self._content(_SPEC))
        else:  # a snapshot, which knows the dtypes alone
            self.components = [_of_snapshot(i, number) for i, number in enumerate(dtypes)]
            self.structure = tuple(component.name for component in self.components)
        self.refused: dict[str, InvalidArgumentError] = {
            c.name: c.refused for c in self.components if c.refused is not None
        }
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
