# Written by proto/generate.py from proto/example.proto. Do not edit.
"""The message classes of ``proto/example.proto``, in this package's own pool."""

from tfrecord_lite.messages import feature_pb2  # noqa: F401
from tfrecord_lite.messages._pool import POOL, message_class

DESCRIPTOR = POOL.AddSerializedFile(bytes.fromhex(
    "0a0d6578616d706c652e70726f746f120a74656e736f72666c6f771a0d666561747572652e70726f"
    "746f223b0a074578616d706c6512300a08666561747572657318012001280b32142e74656e736f72"
    "666c6f772e4665617475726573520866656174757265732280010a0f53657175656e63654578616d"
    "706c65122e0a07636f6e7465787418012001280b32142e74656e736f72666c6f772e466561747572"
    "65735207636f6e74657874123d0a0d666561747572655f6c6973747318022001280b32182e74656e"
    "736f72666c6f772e466561747572654c69737473520c666561747572654c69737473620670726f74"
    "6f33"
))

Example = message_class(DESCRIPTOR, "Example", __name__)
SequenceExample = message_class(DESCRIPTOR, "SequenceExample", __name__)
