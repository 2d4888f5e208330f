#!/usr/bin/env bash
# TensorFlow 2.21.0: TextLineDataset takes carriage returns out of the middle of lines.
#
# Seen: the line "b\rc\n" is read as "bc", and "a\r\n" as "a". A return that no newline follows ends no line and is
# gone; so are those of a file whose lines end with returns alone, all of which becomes one line of words that touch.
# tf.io.read_file has the bytes. Expected: a return before a newline is left out, others stay, as in Python's reader of
# lines with newline="\n", or end a line, as in its default.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet tensorflow-cpu==2.21.0
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import tensorflow as tf


def lines(data):
    with open("a.txt", "wb") as file:
        file.write(data)
    return list(tf.data.TextLineDataset("a.txt").as_numpy_iterator())


seen = lines(b"a\r\nb\rc\nd"), lines(b"one\rtwo\rthree\r")
print(tf.__version__, seen)
assert seen == ([b"a", b"bc", b"d"], [b"onetwothree"])
assert tf.io.read_file("a.txt").numpy() == b"one\rtwo\rthree\r"
PYTHON
