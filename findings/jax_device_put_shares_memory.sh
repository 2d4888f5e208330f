#!/usr/bin/env bash
# JAX 0.10.2 on a CPU: device_put shares the memory of a NumPy array if it begins at a multiple of 64 bytes.
#
# Seen: after device_put(a), writing to a changes the JAX array, which is meant to be immutable, if the memory of a begins
# at a multiple of 64 bytes, and does not if it begins 4, 16 or 32 bytes behind one. Where an array of NumPy begins is a
# matter of its allocator, so a loop that fills one buffer again and again is right on one run and wrong on another.
# may_alias=False changes nothing about it. jnp.asarray, and device_put of a copy, do not share.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cd "$folder"
env/bin/python - <<'PYTHON'
import jax
import jax.numpy as jnp
import numpy as np


def array_at(offset):
    """Return 1,024 floats that begin so many bytes behind a multiple of 64."""
    memory = np.zeros(4096 + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    return memory[start : start + 4096].view(np.float32)


def after_writing(make, offset):
    array = array_at(offset)
    array[:] = 1
    made = make(array).block_until_ready()
    array[:] = 2
    return float(made[0])


makers = {
    "device_put": jax.device_put,
    "device_put, may_alias=False": lambda a: jax.device_put(a, may_alias=False),
    "asarray": jnp.asarray,
    "device_put of a copy": lambda a: jax.device_put(a.copy()),
}
seen = {
    name: [after_writing(make, offset) for offset in (0, 4, 16, 32)] for name, make in makers.items()
}
print(jax.__version__, seen)
assert seen["device_put"] == seen["device_put, may_alias=False"] == [2.0, 1.0, 1.0, 1.0]
assert seen["asarray"] == seen["device_put of a copy"] == [1.0] * 4
PYTHON
