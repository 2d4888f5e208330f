"""The descriptor pool of this package's messages, and how classes come out of it.

A protobuf process has one default pool, and a message name can be defined in it
once only: two libraries that both bring ``tensorflow.Example`` there cannot be
imported together. So these messages live in a pool of their own, and TensorFlow
may be imported before, after, or not at all.

The price is that our ``Example`` and TensorFlow's are two classes. They carry
the same bytes; hand messages over by ``SerializeToString`` and ``FromString``.

Nothing here touches protobuf's default pool or its symbol database, and only
public, version-independent parts of the runtime are used: a serialised file
descriptor, :class:`~google.protobuf.descriptor_pool.DescriptorPool` and
:func:`~google.protobuf.message_factory.GetMessageClass`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor
    from google.protobuf.message import Message

__all__ = ["POOL", "message_class"]

POOL = DescriptorPool()


def message_class(file: FileDescriptor, name: str, module: str) -> type[Message]:
    """Return the class of one message, at home in a module.

    Parameters
    ----------
    file : FileDescriptor
        A file of :data:`POOL`.
    name : str
        The message's name in that file, without the package.
    module : str
        The importable module that will hold the class under this name. Pickle
        and :func:`copy.deepcopy` find the class again by it.

    Returns
    -------
    type of Message
        The same class each time it is asked for.
    """
    return _settle(file.message_types_by_name[name], name, module)


def _settle(descriptor: Descriptor, qualname: str, module: str) -> type[Message]:
    """Give a class and those nested in it their place; the runtime leaves it open."""
    cls = GetMessageClass(descriptor)
    cls.__module__ = module
    cls.__qualname__ = qualname
    for nested in descriptor.nested_types:
        inner = _settle(nested, f"{qualname}.{nested.name}", module)
        # The C runtime finds nested classes by itself; the Python one has to be told.
        if nested.name not in cls.__dict__:
            setattr(cls, nested.name, inner)
    return cls
