#!/usr/bin/env bash
# pyarrow 25.0.1 and 26.0.1: Parquet files with fixed-size lists are written, and cannot be read back.
#
# Seen: 25.0.1 writes a fixed-size list column with a missing list without complaint, and reading it raises "Expected
# all lists to be of size=2 but index 2 had size=0". 26.0.1 reads it. Lists of size 0 fail in both, whether one is
# missing or not: "Expected all lists to be of size=0 but index 1 had size=1". The same values in lists of any size
# come back. Expected: what was written, or an error when it is written.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet pyarrow==25.0.1
cd "$folder"
env/bin/python - <<'PYTHON'
import subprocess
import sys

CODE = """
import io
import pyarrow as pa
import pyarrow.parquet as parquet


def back(kind, lists):
    file = io.BytesIO()
    parquet.write_table(pa.table({"x": pa.array(lists, kind)}), file)
    try:
        return parquet.read_table(file)["x"].to_pylist()
    except pa.ArrowInvalid as error:
        return str(error)


pair, none = pa.list_(pa.int8(), 2), pa.list_(pa.int8(), 0)
print([
    back(pair, [[1, 2], None, [3, 4]]),
    back(none, [[], []]),
    back(pa.list_(pa.int8()), [[1, 2], None, [3, 4], []]),
])
"""


def seen_by(version):
    install = [sys.executable, "-m", "pip", "install", "--quiet", f"pyarrow=={version}"]
    subprocess.run(install, check=True)
    lines = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    return eval(lines.stdout)


old, new = seen_by("25.0.1"), seen_by("26.0.1")
print("25.0.1", old)
print("26.0.1", new)
lists, size_0 = [[1, 2], None, [3, 4]], "Expected all lists to be of size=0 but index 1 had size=1"
assert old == ["Expected all lists to be of size=2 but index 2 had size=0", size_0, [*lists, []]]
assert new == [lists, size_0, [*lists, []]]
PYTHON
