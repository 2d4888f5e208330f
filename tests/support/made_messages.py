"""Protobuf classes made of a line for each message: ``"id=1 int32, tracks=2* Track, sizes=3+ int64"``.

A star stands for a repeated field, a plus for a packed one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["classes_of"]

_TYPES = {name: getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{name.upper()}") for name in (
    "bool", "bytes", "double", "float", "int32", "int64", "string", "uint32", "uint64",
)}  # fmt: skip


def classes_of(
    fields: Mapping[str, str],
    enums: Mapping[str, Sequence[str]] | None = None,
    syntax: str = "proto2",
) -> dict[str, Any]:
    """Return the classes of messages in a pool of their own."""
    file = descriptor_pb2.FileDescriptorProto(
        name="foreign.proto", package="foreign", syntax=syntax
    )
    enums = enums or {}
    for enum_name, values in enums.items():
        enum = file.enum_type.add(name=enum_name)
        for place, name in enumerate(values):
            enum.value.add(name=name, number=place)
    for message_name, line in fields.items():
        message = file.message_type.add(name=message_name)
        for part in line.split(", "):
            label, kind = part.split(" ")
            name, number = label.rstrip("*+").split("=")
            field = message.field.add(
                name=name, number=int(number), label=3 if label[-1] in "*+" else 1
            )
            if label[-1] == "+":
                field.options.packed = True
            field.type = _TYPES.get(kind, field.TYPE_ENUM if kind in enums else field.TYPE_MESSAGE)
            if kind not in _TYPES:
                field.type_name = f".foreign.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"foreign.{name}"))
        for name in fields
    }
