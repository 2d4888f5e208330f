#!/usr/bin/env bash
# pandas 3.1.1 with pyarrow 26.0.1: Parquet of columns that are ArrowDtype lists is written, and read_parquet cannot read it.
#
# Seen: to_parquet stores the name of each dtype, such as "list<item: double>[pyarrow]", and read_parquet cannot parse
# the names of lists: a TypeError for lists of any length, a NotImplementedError for lists of a fixed size. Numbers
# with an ArrowDtype come back. With dtype_backend="pyarrow" the names are not parsed, and the lists come back too.
# Expected: a frame that pandas writes, pandas reads with the same arguments.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet pandas==3.1.1 pyarrow==26.0.1
cd "$folder"
env/bin/python - <<'PYTHON'
import io

import pandas as pd
import pyarrow as pa

KINDS = {
    "number": (pa.float64(), [1.5, None]),
    "lists": (pa.list_(pa.float64()), [[1.5], []]),
    "pairs": (pa.list_(pa.float64(), 2), [[1.5, 2.5], [3.5, 4.5]]),
}


def seen(kind, values, **options):
    frame = pd.DataFrame({"x": pd.array(values, pd.ArrowDtype(kind))})
    file = io.BytesIO()
    frame.to_parquet(file)
    try:
        back = pd.read_parquet(file, **options)["x"]
    except (TypeError, NotImplementedError) as error:
        return type(error).__name__
    return str(back.dtype.name) if back.isna().equals(frame["x"].isna()) else "other values"


plain = {name: seen(*column) for name, column in KINDS.items()}
backend = {name: seen(*column, dtype_backend="pyarrow") for name, column in KINDS.items()}
print(plain)
print(backend)
assert plain == {"number": "double[pyarrow]", "lists": "TypeError", "pairs": "NotImplementedError"}
assert all(name.endswith("[pyarrow]") for name in backend.values())
PYTHON
