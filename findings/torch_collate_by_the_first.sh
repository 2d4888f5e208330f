#!/usr/bin/env bash
# torch 2.13.0: default_collate decides by the first example of a batch, and so changes values by their order.
#
# Seen: Python's numbers 16777217.5 and 1 become float64, exactly; 1 and 16777217.5 become float32, and the second is
# 16777218. A key that only later examples have is left out without a word; one that only the first has is a KeyError. So
# with shuffle=True what a model gets of an example depends on which others are drawn. Expected: one dtype for Python's
# floats, in whatever place, and an error for keys that differ.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import torch
from torch.utils.data import default_collate

floats, mixed = default_collate([16777217.5, 1]), default_collate([1, 16777217.5])
fewer = default_collate([{"a": 1}, {"a": 2, "b": 3}])
try:
    more = default_collate([{"a": 1, "b": 2}, {"a": 2}])
except KeyError as error:
    more = f"KeyError: {error}"
print(torch.__version__, floats.dtype, floats.tolist(), mixed.dtype, mixed.tolist(), fewer, more)
assert floats.dtype == torch.float64
assert floats.tolist() == [16777217.5, 1]
assert mixed.dtype == torch.float32
assert mixed.tolist() == [1, 16777218]
assert list(fewer) == ["a"]
assert more == "KeyError: 'b'"
PYTHON
