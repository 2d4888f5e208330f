#!/usr/bin/env bash
# Polars 2.1.0: its CSV and JSON readers choose Int128 for unsigned 64-bit numbers, which then cannot leave Polars.
#
# Seen: a column with 18446744073709551615, which fits UInt64, is inferred as Int128. to_arrow(), pyarrow.table() and
# to_pandas() of it raise "Invalid or unsupported format string: '_pli128'", and to_numpy() raises, too. write_parquet and
# write_ipc succeed, and pyarrow cannot read the files: "Integers with more than 64 bits not implemented". With UInt64 as
# the given type all of it works. Expected: UInt64, where all values fit it, or an error when the file is written.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import io

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq


def said(call):
    try:
        return str(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


frame = pl.read_csv(b"id\n18446744073709551615\n1\n")
lines = pl.read_ndjson(b'{"id": 18446744073709551615}\n{"id": 1}\n')
frame.write_parquet("ids.parquet")
frame.write_ipc("ids.arrow")
seen = {
    "to_arrow": said(frame.to_arrow),
    "pyarrow.table": said(lambda: pa.table(frame)),
    "to_pandas": said(frame.to_pandas),
    "to_numpy": said(frame["id"].to_numpy),
    "Parquet": said(lambda: pq.read_table("ids.parquet")),
    "IPC": said(lambda: pa.ipc.open_file("ids.arrow").read_all()),
}
print(pl.__version__, frame.dtypes, lines.dtypes, seen)
assert frame.dtypes == lines.dtypes == [pl.Int128]
for name in ("to_arrow", "pyarrow.table", "to_pandas"):
    assert "_pli128" in seen[name]
assert seen["to_numpy"].startswith("InvalidOperationError")
for name in ("Parquet", "IPC"):
    assert "Integers with more than 64 bits not implemented" in seen[name]
whole = pl.read_csv(b"id\n18446744073709551615\n1\n", schema={"id": pl.UInt64})
assert whole.to_arrow()["id"].to_pylist() == [2**64 - 1, 1]
PYTHON
