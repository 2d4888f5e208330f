#!/usr/bin/env bash
# pyarrow 26.0.1: its CSV and JSON readers make equal floats of different integers from 2**63 on.
#
# Seen: a column of integers that do not all fit int64 is inferred as double, so that 18446744073709551615 and
# 18446744073709551614 become one number, and so do smaller ones beside them: 9007199254740993 is read as
# 9007199254740992. Nothing is said. Expected: uint64, where all fit it, or an error, as for a given type. DuckDB 2.0.1
# and Polars 2.1.0 read the same file exactly, as HUGEINT and Int128, and pandas 3.1.1 as uint64.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0 pandas==3.1.1
cd "$folder"
env/bin/python - <<'PYTHON'
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

ids = [18446744073709551615, 18446744073709551614, 9007199254740993]
with open("ids.csv", "w") as file:
    file.write("id\n" + "".join(f"{number}\n" for number in ids))
with open("ids.jsonl", "w") as file:
    file.write("".join(f'{{"id": {number}}}\n' for number in ids))
table, lines = pyarrow.csv.read_csv("ids.csv"), pyarrow.json.read_json("ids.jsonl")
asked = pyarrow.csv.ConvertOptions(column_types={"id": pa.uint64()})
seen = {
    "csv": (str(table["id"].type), table["id"].to_pylist()),
    "json": (str(lines["id"].type), lines["id"].to_pylist()),
    "csv as uint64": pyarrow.csv.read_csv("ids.csv", convert_options=asked)["id"].to_pylist(),
    "DuckDB": [row[0] for row in duckdb.sql("select id from 'ids.csv'").fetchall()],
    "Polars": pl.read_csv("ids.csv")["id"].to_list(),
    "pandas": pd.read_csv("ids.csv")["id"].tolist(),
}
for name, value in seen.items():
    print(name, value)
floats = ("double", [18446744073709551616.0, 18446744073709551616.0, 9007199254740992.0])
assert seen["csv"] == seen["json"] == floats
assert seen["csv as uint64"] == seen["DuckDB"] == seen["Polars"] == seen["pandas"] == ids
PYTHON
