# Written by proto/generate.py from proto/input.proto. Do not edit.
"""The message classes of ``proto/input.proto``, in this package's own pool."""

from tfrecord_lite.messages import example_pb2  # noqa: F401
from tfrecord_lite.messages._pool import POOL, message_class

DESCRIPTOR = POOL.AddSerializedFile(bytes.fromhex(
    "0a0b696e7075742e70726f746f121274656e736f72666c6f772e73657276696e671a0d6578616d70"
    "6c652e70726f746f22780a164578616d706c654c69737457697468436f6e74657874122f0a086578"
    "616d706c657318012003280b32132e74656e736f72666c6f772e4578616d706c6552086578616d70"
    "6c6573122d0a07636f6e7465787418022001280b32132e74656e736f72666c6f772e4578616d706c"
    "655207636f6e74657874620670726f746f33"
))

ExampleListWithContext = message_class(DESCRIPTOR, "ExampleListWithContext", __name__)
