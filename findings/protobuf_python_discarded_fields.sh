#!/usr/bin/env bash
# protobuf 7.36.2: its runtime in pure Python writes broken messages after DiscardUnknownFields.
#
# Seen: a message in a message has an unknown field. After the outer one was measured or written once (ByteSize,
# SerializeToString), DiscardUnknownFields removes the field, but not the length that was computed before: the next
# SerializeToString has the old length before the shorter content, and FromString of it raises "Truncated message". The
# C runtime (upb) writes a correct message. PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python asks for the pure one, which
# also serves where there is no wheel with the other.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet protobuf==7.36.2
cd "$folder"
env/bin/python - <<'PYTHON'
import os
import subprocess
import sys

CODE = """
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

file = FileDescriptorProto()
file.message_type.add().MergeFromString(b"\\x0a\\x01a" + b"\\xfa\\x3f\\x03new")  # name, and field 1023
file.SerializeToString()
file.DiscardUnknownFields()
written = file.SerializeToString()
try:
    again = FileDescriptorProto.FromString(written).message_type[0].name
except DecodeError as error:
    again = str(error)
print([file.ByteSize(), written, again])
"""


def seen_by(runtime):
    environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": runtime}
    run = [sys.executable, "-c", CODE]
    return eval(subprocess.run(run, env=environment, check=True, capture_output=True).stdout)


pure, upb = seen_by("python"), seen_by("upb")
print("python", pure)
print("upb", upb)
assert upb == [5, b'"\x03\n\x01a', "a"]
assert pure == [11, b'"\t\n\x01a', "Truncated message."]
PYTHON
