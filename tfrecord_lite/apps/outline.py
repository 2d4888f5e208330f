"""The features of one message in rows, section by section, or the tree of its fields: what displays of records show.

::

    Example                  ""                 a row per feature
    SequenceExample          "context"          a row per feature
                             "feature_lists"    a row per feature list
    ExampleListWithContext   "context"          a row per feature
                             "example 0 of 3"   a row per feature, and so on

A message of any other type is a tree, as ``protoc --decode_raw`` guesses it, or by the names of its class::

    [("1", [("1", b"segment-7")]), ("2", 1550083467346370), ("4", [...]), ("4", [...])]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tfrecord_lite import extension as ext
from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.extension import Content, Message, is_list
from tfrecord_lite.schema import Kind
from tfrecord_lite.sniff import recognize_value
from tfrecord_lite.wire import scalar

if TYPE_CHECKING:
    from tfrecord_lite.messages import Feature


Tree: TypeAlias = "list[tuple[str, Any]]"
"""The fields of a message in the order of the record, with their values: numbers, bytes, text, or a tree."""
_MAX_DEPTH = 10
"""That deep bytes are looked at for messages, as protoc does."""


class Row(NamedTuple):
    """A feature (of one step), or a feature list (of any number of steps)."""

    name: str
    steps: Sequence[Feature]
    is_list: bool = False
    restored: AnyArray | None = None
    """The values as they were before they were stored, if they had another dtype, and that is known."""

    @property
    def kind(self) -> str:
        """``string``, ``float32``, ``int64`` or ``unset``, or the original dtype; more than one if the steps differ."""
        if self.restored is not None:
            return str(self.restored.dtype)
        return "/".join(sorted({kind_of(step) for step in self.steps})) or "-"

    @property
    def counts(self) -> tuple[int, int]:
        """The smallest and the largest number of values per step."""
        if self.restored is not None:
            return self.restored.size, self.restored.size
        counts = [len(values_of(step)) for step in self.steps]
        return min(counts, default=0), max(counts, default=0)

    @property
    def size_text(self) -> str:
        """The number of values; for a list, steps x values, and for an array its shape."""
        if self.restored is not None and self.restored.ndim:
            return " x ".join(f"{length:,}" for length in self.restored.shape)
        low, high = self.counts
        per_record = f"{low:,}" if low == high else f"{low:,}-{high:,}"
        return f"{len(self.steps):,} x {per_record}" if self.is_list else per_record


class Section(NamedTuple):
    """The features of one part of a message; the title is empty for an Example's."""

    title: str
    rows: list[Row]


def sections(message: Message, most: int | None, restored: Mapping[str, AnyArray]) -> list[Section]:
    """Return the sections of a message, rows by name; of a list of Examples, the first Examples'.

    `restored` are features of an Example as they were before they were stored.
    """
    if is_list(message):
        n_examples = len(message.examples)
        names = [f"example {i} of {n_examples:,}" for i in range(n_examples)]
        examples = zip(names, message.examples[:most], strict=False)
        own = [_section(name, example.features.feature) for name, example in examples]
        return [_section("context", message.context.features.feature), *own]
    if ext.is_sequence(message):
        lists = message.feature_lists.feature_list
        rows = [Row(name, lists[name].feature, is_list=True) for name in sorted(lists)]
        return [_section("context", message.context.feature), Section("feature_lists", rows)]
    features = message.features.feature
    rows = [Row(name, [features[name]], restored=restored.get(name)) for name in sorted(features)]
    return [Section("", rows)]


def _section(title: str, features: Mapping[str, Feature]) -> Section:
    return Section(title, [Row(name, [features[name]]) for name in sorted(features)])


def kind_of(feature: Feature) -> str:
    """Return ``string``, ``float32``, ``int64`` or ``unset``."""
    kind = feature.WhichOneof("kind")
    return Kind[kind.removesuffix("_list").upper()].label if kind else "unset"


def values_of(feature: Feature) -> Sequence[bytes] | Sequence[float] | Sequence[int]:
    """Return a feature's values without copying them; none if no kind is set."""
    kind = feature.WhichOneof("kind")
    return getattr(feature, kind).value if kind else ()


def float_texts(values: Sequence[float], most: int | None = None) -> list[str]:
    """Write the first float32 values, each with as few digits as identify it."""
    return np.fromiter(islice(values, most), np.float32).astype(str).tolist()  # type: ignore[no-any-return]


# --------------------------------------------------------------------------- any message


def tree_of(content: Content, message_class: Any = None, most: int | None = None) -> Tree | None:
    """Return the fields of a record that is a message of a class, an event, or of an unknown type.

    Of other records None. Without names, the first `most` fields of each message are enough.
    """
    tree = None
    if message_class is not None:
        tree = message_tree(ext.parse_message(content.record, message_class))
    elif content.type is ext.ContentType.EVENT:
        from tfrecord_lite.messages import Event  # noqa: PLC0415 - not light

        with suppress(InvalidArgumentError):
            tree = message_tree(ext.parse_message(content.record, Event))
    elif content.type is not ext.ContentType.PROTOBUF:
        return None
    return tree or raw_tree(content.record, most)  # of another class all fields are unknown


def message_tree(message: Any) -> Tree:
    """Return the fields of a message that are set, by name; entries of a map as ``name['key']``.

    Numbers of proto3 that are 0 are not stored, and are added to a message that has other fields.
    """
    tree: Tree = []
    fields = dict(message.ListFields())
    for field in message.DESCRIPTOR.fields if fields else ():
        if field not in fields and not field.has_presence:
            value = getattr(message, field.name)
            fields |= {field: value} if isinstance(value, (int, float)) else {}
    for field, value in sorted(fields.items(), key=lambda item: item[0].number):
        # Of the well-known types some messages are mappings or sequences too.
        if isinstance(value, (str, bytes, int, float)) or hasattr(value, "ListFields"):
            tree.append((field.name, _named(field, value)))
        elif isinstance(value, Mapping):
            values = field.message_type.fields_by_name["value"]
            tree += [(f"{field.name}[{key!r}]", _named(values, value[key])) for key in value]
        else:
            tree += [(field.name, _named(field, one)) for one in value]
    return tree


def _named(field: Any, value: Any) -> Any:
    """Return one value of a field: the name in an enum, a float as such."""
    if hasattr(value, "ListFields"):
        is_tensor = value.DESCRIPTOR.full_name == "tensorflow.TensorProto"
        return value.SerializeToString() if is_tensor else message_tree(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    return np.float32(value) if field.cpp_type == field.CPPTYPE_FLOAT else value


def raw_tree(data: bytes, most: int | None = None, depth: int = 0) -> Tree | None:
    """Return the fields of a message by number; None if the bytes are not a message.

    What bytes hold is a guess: text, an image, a tensor, or else a message; so is a fixed number: a float of usual
    size, or else unsigned.
    """
    try:
        fields = list(islice(scalar.walk(data, 0, len(data)), most))
    except scalar.WireError:
        return None
    tree: Tree = []
    for number, wire_type, start, stop in fields:
        value: Any = data[start:stop]
        if wire_type == scalar.VARINT:
            value = scalar.read_varint(data, start, stop)[0]
        elif wire_type == scalar.START_GROUP:
            n_tag = scalar.varint_size(number << 3)
            inside = raw_tree(data[start + n_tag : stop - n_tag], most, depth)
            value = value if inside is None else inside
        elif wire_type != scalar.LEN:
            real = np.frombuffer(value, f"<f{len(value)}")[0]
            is_real = real == 0 or 1e-12 < abs(real) < 1e18
            value = real if is_real else np.frombuffer(value, f"<u{len(value)}")[0]
        # A message may pass for text if it begins with a string; a tensor is one that says more as a whole.
        elif depth < _MAX_DEPTH and (
            value.startswith(scalar.len_tag(1)) or recognize_value(value).label == "bytes"
        ):
            value = raw_tree(value, most, depth + 1) or value
        tree.append((str(number), value))
    return tree


def grouped(tree: Tree) -> dict[str, list[Any]]:
    """Return the values of each field, in the order of the first ones."""
    groups: dict[str, list[Any]] = {}
    for name, value in tree:
        groups.setdefault(name, []).append(value)
    return groups


def leaves(tree: Tree, path: str = "") -> dict[str, list[Any]]:
    """Return the values that are not messages, by their paths, as ``images.image``."""
    by_path: dict[str, list[Any]] = {}
    for name, value in tree:
        if isinstance(value, list):
            for inner, values in leaves(value, f"{path}{name}.").items():
                by_path.setdefault(inner, []).extend(values)
        else:
            by_path.setdefault(path + name, []).append(value)
    return by_path
