#!/usr/bin/env bash
# pyarrow 26.0.1: a decimal32 cannot be cast to int64, though each of its values fits.
#
# Seen: casting decimal32(5, 0) with the value 3 to int32 gives 3; to int64 it raises
# "Integer value out of bounds". decimal64 and decimal128 are cast to int64 as expected, and a
# decimal32 that is cast to decimal256 first is, too.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet pyarrow==26.0.1
"$folder/env/bin/python" - <<'PYTHON'
from decimal import Decimal

import pyarrow as pa


def cast(kind, *targets):
    array = pa.array([Decimal(3)], kind)
    try:
        for target in targets:
            array = array.cast(target)
        return array.to_pylist()
    except pa.ArrowInvalid as error:
        return str(error)


seen = {
    "decimal32 to int32": cast(pa.decimal32(5, 0), pa.int32()),
    "decimal32 to int64": cast(pa.decimal32(5, 0), pa.int64()),
    "decimal32 to decimal256 to int64": cast(pa.decimal32(5, 0), pa.decimal256(76, 0), pa.int64()),
    "decimal64 to int64": cast(pa.decimal64(10, 0), pa.int64()),
    "decimal128 to int64": cast(pa.decimal128(10, 0), pa.int64()),
}
print(pa.__version__, seen)
assert seen.pop("decimal32 to int64") == "Integer value out of bounds"
assert all(value == [3] for value in seen.values())
PYTHON
