#!/usr/bin/env bash
# NumPy 2.4.6 with ml_dtypes 0.6.0: numpy.save of bfloat16, float8 and int4 succeeds, and load gives raw bytes.
#
# Seen: the file says '|V2' (or '|V1') for the dtype, and loads as void: no value can be used, bfloat16 and any other type
# of two bytes cannot be told apart, and nothing is said when it is saved or loaded. A view restores the numbers if the
# dtype is known. Expected: an error, as numpy.save raises for objects with allow_pickle=False, or the dtype.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 ml_dtypes==0.6.0
cd "$folder"
env/bin/python - <<'PYTHON'
import io

import ml_dtypes
import numpy as np

seen = {}
for name in ("bfloat16", "float8_e4m3fn", "int4"):
    array, file = np.array([1, 2], name), io.BytesIO()
    np.save(file, array)
    file.seek(0)
    back = np.load(file)
    seen[name] = back.dtype.str
    assert (back.view(name) == array).all()
    try:
        back.astype(np.float32)
        raise SystemExit(f"{name}: the loaded array has values")
    except (ValueError, TypeError):
        pass
print(np.__version__, ml_dtypes.__version__, seen)
assert seen == {"bfloat16": "|V2", "float8_e4m3fn": "|V1", "int4": "|V1"}
PYTHON
