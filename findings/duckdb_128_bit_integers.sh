#!/usr/bin/env bash
# DuckDB 2.0.1: integers of 128 bits, which the sum of a BIGINT column is, change on their way out.
#
# Seen: SQL itself keeps HUGEINT and UHUGEINT exact. COPY to Parquet writes both as DOUBLE, so that the sum
# 9007199254740993 comes back as 9007199254740992, without a warning. In Arrow a HUGEINT is a decimal128(38, 0) and
# exact, but so is a UHUGEINT, and its values from 2**127 on come out negative: 2**128 - 1 is -1. Expected: an error,
# a decimal, or text, as nothing in either format holds these numbers otherwise.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet duckdb==2.0.1 pyarrow==26.0.1
cd "$folder"
env/bin/python - <<'PYTHON'
import duckdb

largest = 2**128 - 1
duckdb.sql("create table numbers as select 9007199254740993::bigint as x")
duckdb.sql("copy (select sum(x) as total from numbers) to 'sum.parquet'")
total = duckdb.sql("select sum(x) as total from numbers")
unsigned = duckdb.sql(f"select {largest}::uhugeint as x")
seen = {
    "sum in SQL": (str(total.types[0]), total.fetchall()[0][0]),
    "sum in Parquet": duckdb.sql("select typeof(total), total from 'sum.parquet'").fetchall()[0],
    "sum in Arrow": int(total.to_arrow_table()["total"][0].as_py()),
    "UHUGEINT in SQL": unsigned.fetchall()[0][0],
    "UHUGEINT in Arrow": int(unsigned.to_arrow_table()["x"][0].as_py()),
}
print(duckdb.__version__, seen)
assert seen == {
    "sum in SQL": ("HUGEINT", 9007199254740993),
    "sum in Parquet": ("DOUBLE", 9007199254740992.0),
    "sum in Arrow": 9007199254740993,
    "UHUGEINT in SQL": largest,
    "UHUGEINT in Arrow": -1,
}
PYTHON
