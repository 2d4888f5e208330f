#!/usr/bin/env bash
# Polars 2.1.0: durations in seconds from Arrow overflow silently.
#
# Seen: Polars has no unit of seconds, and multiplies by 1,000 when it takes a column in. 2**62 seconds become 0 ms, and
# 2**54 seconds a negative duration, without an error. pyarrow itself refuses the same cast: "would result in out of bounds
# timestamp". Values that fit are right.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet polars==2.1.0 pyarrow==26.0.1
cd "$folder"
env/bin/python - <<'PYTHON'
import polars as pl
import pyarrow as pa


def cast(seconds):
    try:
        return pa.array([seconds], pa.duration("s")).cast(pa.duration("ms"))[0].value
    except pa.ArrowInvalid as error:
        return str(error)


def taken(seconds):
    column = pl.from_arrow(pa.table({"x": pa.array([seconds], pa.duration("s"))}))["x"]
    return str(column.dtype), column.to_physical().item()


for seconds in (5, 2**54, 2**62):
    print(seconds, taken(seconds), cast(seconds))
assert taken(5) == ("Duration(time_unit='ms')", cast(5)) == ("Duration(time_unit='ms')", 5000)
for seconds in (2**54, 2**62):
    wrapped = (seconds * 1000 + 2**63) % 2**64 - 2**63
    assert taken(seconds) == ("Duration(time_unit='ms')", wrapped)
    assert isinstance(cast(seconds), str)
PYTHON
