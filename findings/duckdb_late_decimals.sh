#!/usr/bin/env bash
# DuckDB 2.0.1: values that come late in a CSV or JSON file are cast to the type of the first ones, without an error.
#
# Seen, of a column of 30,000 integers and then one other value: the type is BIGINT, found in a sample, and 2.5 becomes 3
# in CSV, but 2 in JSON. After dates, 2020-01-01 12:00:00 loses its time; after JSON's true, the number 2 is true. Text
# after integers, an unknown key in JSON, and 2 after true in CSV are errors that name the line, and the sample. Expected:
# that error for every value that the type does not hold.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet duckdb==2.0.1
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import duckdb


def last(name, first, value):
    """Return the last value of a file of many equal ones and then another, and its type; or the error."""
    with open(name, "w") as file:
        file.write("a\n" * name.endswith("csv") + f"{first}\n" * 30_000 + f"{value}\n")
    try:
        (row,) = duckdb.sql(f"select a::varchar, typeof(a) from '{name}' offset 30000").fetchall()
    except duckdb.Error as error:
        return type(error).__name__
    return row


seen = {
    "decimal in CSV": last("a.csv", "1", "2.5"),
    "decimal in JSON": last("a.json", '{"a": 1}', '{"a": 2.5}'),
    "time in CSV": last("b.csv", "2020-01-01", "2020-01-01 12:00:00"),
    "number in JSON": last("b.json", '{"a": true}', '{"a": 2}'),
    "text in CSV": last("c.csv", "1", "x"),
    "key in JSON": last("c.json", '{"a": 1}', '{"a": 1, "b": 2}'),
    "number in CSV": last("d.csv", "true", "2"),
}
print(duckdb.__version__, seen)
assert seen["decimal in CSV"] == ("3", "BIGINT")
assert seen["decimal in JSON"] == ("2", "BIGINT")
assert seen["time in CSV"] == ("2020-01-01", "DATE")
assert seen["number in JSON"] == ("true", "BOOLEAN")
for name in ("text in CSV", "key in JSON", "number in CSV"):
    assert seen[name] in ("ConversionException", "InvalidInputException")
PYTHON
