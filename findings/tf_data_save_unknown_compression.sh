#!/usr/bin/env bash
# TensorFlow 2.21.0: Dataset.save takes any name as compression, and then writes without compression.
#
# Seen: save(path, compression="LZ4") and even "no such thing" succeed, and the file begins with the plain length of its
# first record. Dataset.load(path, compression="LZ4") reads it back, so that nobody notices; with another name that is
# known, such as GZIP, load fails with "inflate() failed". Nothing in the folder says how it was compressed.
# tf.io.TFRecordWriter raises a ValueError for the same name. Expected: the error here, too.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet tensorflow-cpu==2.21.0
cd "$folder"
env/bin/python - <<'PYTHON'
import glob
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

numbers = tf.data.Dataset.from_tensor_slices([[7] * 1000] * 3)
seen = {}
for name in ("", "GZIP", "LZ4", "no such thing"):
    folder = f"saved {name}"
    numbers.save(folder, compression=name or None)
    (path,) = glob.glob(f"{folder}/*/*/*.snapshot")
    loaded = list(tf.data.Dataset.load(folder, compression=name or None).as_numpy_iterator())
    seen[name] = (os.path.getsize(path), len(loaded))
try:
    tf.io.TFRecordWriter("a.tfrecord", "LZ4")
    writer = "accepted"
except ValueError as error:
    writer = f"ValueError: {error}"
print(tf.__version__, seen, writer)
assert seen["GZIP"][0] < 1000 < seen[""][0]
assert seen["LZ4"] == seen["no such thing"] == seen[""]
assert all(count == 3 for _, count in seen.values())
assert writer.startswith("ValueError")
PYTHON
