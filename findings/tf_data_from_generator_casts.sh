#!/usr/bin/env bash
# TensorFlow 2.21.0: Dataset.from_generator casts what does not fit its output_signature, without a word.
#
# Seen: with a signature of int32 the float 2.7 becomes 2, where tf.constant(2.7, tf.int32) raises a TypeError. With one of
# uint8 the number 300 becomes 44, from Python or from an array of NumPy, and with one of float32 1e300 becomes inf. A
# shape that does not fit the signature is an error. Expected: an error for a value, too.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet tensorflow-cpu==2.21.0
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import numpy as np
import tensorflow as tf


def cast(value, dtype):
    signature = tf.TensorSpec(np.shape(value), dtype)
    data = tf.data.Dataset.from_generator(lambda: iter([value]), output_signature=signature)
    return next(data.as_numpy_iterator()).tolist()


def error_of(call):
    try:
        return f"none: {call()}"
    except Exception as error:
        return type(error).__name__


seen = {
    "300": cast(300, tf.uint8),
    "array of 300": cast(np.array([300]), tf.uint8),
    "2.7": cast(2.7, tf.int32),
    "1e300": cast(1e300, tf.float32),
}
shape = tf.TensorSpec((3,), tf.int32)
wrong = tf.data.Dataset.from_generator(lambda: iter([[1, 2]]), output_signature=shape)
errors = error_of(lambda: list(wrong)), error_of(lambda: tf.constant(2.7, tf.int32))
print(tf.__version__, seen, errors)
assert seen == {"300": 44, "array of 300": [44], "2.7": 2, "1e300": np.inf}
assert not any(error.startswith("none") for error in errors)
PYTHON
