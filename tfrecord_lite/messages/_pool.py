"""The descriptor pool of this package's messages, and the classes in it.

A protobuf process has one default pool, in which a message name can be defined only once: two
libraries that both define ``tensorflow.Example`` there cannot be imported together. So these
messages live in a pool of their own, and TensorFlow may be imported before, after, or not at all.

The price is that our ``Example`` and TensorFlow's are two classes. Their bytes are the same; pass
messages from one to the other with ``SerializeToString`` and ``FromString``.

Nothing here touches protobuf's default pool or its symbol database. Only public parts of the
runtime that all versions have are used: a serialised file descriptor,
:class:`~google.protobuf.descriptor_pool.DescriptorPool` and
:func:`~google.protobuf.message_factory.GetMessageClass`.
"""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

POOL = DescriptorPool()


def message_class(file: FileDescriptor, name: str, module: str) -> type[Message]:
    """Return the class of message `name` in a file of :data:`POOL`; the same one each time.

    `module` is the importable module that holds the class under this name, where pickle and
    :func:`copy.deepcopy` find it again.
    """
    return _placed(file.message_types_by_name[name], name, module)


def _placed(descriptor: Descriptor, qualname: str, module: str) -> type[Message]:
    """Set the module and qualified name of a class and those nested in it."""
    cls = GetMessageClass(descriptor)
    cls.__module__ = module
    cls.__qualname__ = qualname
    for nested in descriptor.nested_types:
        inner = _placed(nested, f"{qualname}.{nested.name}", module)
        # The C runtime finds nested classes; the Python one does not.
        if nested.name not in cls.__dict__:
            setattr(cls, nested.name, inner)
    return cls
