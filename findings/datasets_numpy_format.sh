#!/usr/bin/env bash
# datasets 5.2.0: with_format("numpy") gives float32 for float64, and for integers with a missing value.
#
# Seen: a column whose type is float64 comes as float32 arrays, so that 0.1 has 7 digits and 1e300 is inf. An int64 column
# in which one value is missing becomes float32 too: 16777217 is 16777216. int8 becomes int64. The features name the
# right dtypes, and without a format all values are exact. Expected: the dtypes that the features have.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet datasets==5.2.0 numpy==2.4.6
cd "$folder"
env/bin/python - <<'PYTHON'
import datasets
import numpy as np

columns = {
    "double": np.array([0.1, 1e300]),
    "byte": np.array([1, 2], np.int8),
    "missing": [16777217, None],
    "whole": [16777217, 2**53 + 1],
}
dataset = datasets.Dataset.from_dict(columns)
with np.errstate(over="ignore"):
    batch = dataset.with_format("numpy")[:]
seen = {name: (values.dtype.name, values.tolist()) for name, values in batch.items()}
print(datasets.__version__, {name: feature.dtype for name, feature in dataset.features.items()})
print(seen)
assert [dataset.features[name].dtype for name in columns] == ["float64", "int8", "int64", "int64"]
assert seen["double"] == ("float32", [float(np.float32(0.1)), float("inf")])
assert seen["byte"] == ("int64", [1, 2])
assert seen["missing"][0] == "float32" and seen["missing"][1][0] == 16777216.0
assert seen["whole"] == ("int64", [16777217, 2**53 + 1])
assert dataset[:]["double"] == [0.1, 1e300] and dataset[:]["missing"] == [16777217, None]
PYTHON
