#!/usr/bin/env bash
# DuckDB 2.0.1: durations and intervals of Arrow lose their nanoseconds, silently; times and timestamps keep theirs.
#
# Seen: of duration[ns] 1, 999 and 1999 become 0, 0 and 1000 ns, and so do those of month_day_nano_interval. time64[ns]
# and timestamp[ns], with a zone or without, come back exactly from the same query. All of them are nanoseconds again in
# the Arrow table that DuckDB makes, so nothing shows that digits are missing. Expected: an error, or all of them.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet duckdb==2.0.1 pyarrow==26.0.1
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import duckdb
import pyarrow as pa

values = [1, 999, 1999]
table = pa.table(
    {
        "duration": pa.array(values, pa.duration("ns")),
        "interval": pa.array([(0, 0, value) for value in values], pa.month_day_nano_interval()),
        "time": pa.array(values, pa.time64("ns")),
        "timestamp": pa.array(values, pa.timestamp("ns")),
        "zoned": pa.array(values, pa.timestamp("ns", "UTC")),
    }
)
back = duckdb.from_arrow(table).to_arrow_table()
seen = {
    name: [value.nanoseconds for value in back[name].to_pylist()]
    if name in ("duration", "interval")
    else back[name].cast(pa.int64()).to_pylist()
    for name in table.column_names
}
print(duckdb.__version__, pa.__version__, seen)
assert seen["duration"] == seen["interval"] == [0, 0, 1000]
assert seen["time"] == seen["timestamp"] == seen["zoned"] == values
PYTHON
