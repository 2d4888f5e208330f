"""Columns and dictionaries to Examples, side by side with TensorFlow: ``python -m benchmarks.encoding``.

Measures columns to serialised messages, in memory, and one dictionary per record through
the writer, checksums and frames included, to the null device, so that the disk is left out.
See README.md in this folder for the figures.

As in :mod:`benchmarks.columns`, each measurement is a process of its own, contenders take
turns, and figures are medians over the rounds. TensorFlow's side is its Python API:
``tf.train.Example(features=...)``, given lists of Python numbers, which it reads fastest,
and ``SerializeToString``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from dataclasses import asdict

from benchmarks.columns import RATE_HEAD, Contender, Rate, print_table, rate_cells, take_turns
from benchmarks.encoders import N_RECORDS
from benchmarks.records import say, setting

_COLUMNS = {"tabular": 20.0, "embeddings": 20.0, "tokens": 2.0, "images": 2.0}
_ROWS = {
    ("tabular", "values"): 5.0,
    ("tabular", "lists"): 5.0,
    ("embeddings", "values"): 2.0,
    ("tokens", "values"): 2.0,
    ("tokens", "lists"): 2.0,
    ("images", "values"): 2.0,
}


def columns(scale: float, rounds: int, *, with_tensorflow: bool) -> list[Rate]:
    """Compare columns to messages with rows to messages."""
    rows = []
    for name, target in _COLUMNS.items():
        say(f"from columns: {name}")
        common = {"name": name, "n_records": max(int(N_RECORDS[name] * scale), 1)}
        theirs = {"what": "encode_tensorflow", "form": "values", "writes": False} | common
        contenders = [Contender("TensorFlow", theirs)] if with_tensorflow else []
        ours = {"what": "encode_columns_ours"} | common
        contenders.append(Contender("encode_examples", ours, "", "TensorFlow", is_judged=True))
        rows += take_turns("from columns", name, contenders, rounds, target)
    return rows


def dicts(scale: float, rounds: int, *, with_tensorflow: bool) -> list[Rate]:
    """Compare writing one dictionary per record."""
    rows = []
    for (name, form), target in _ROWS.items():
        say(f"a dict a record: {name}, {form}")
        common = {"name": name, "form": form, "n_records": max(int(N_RECORDS[name] * scale), 1)}
        theirs = {"what": "encode_tensorflow", "writes": True} | common
        contenders = [Contender("TensorFlow", theirs)] if with_tensorflow else []
        ours = {"what": "encode_rows_ours"} | common
        contenders.append(Contender("write_example", ours, "", "TensorFlow", is_judged=True))
        rows += take_turns("a dict a record", f"{name}, {form}", contenders, rounds, target)
    return rows


def main() -> None:
    """Run the selected parts and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of records")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender")
    sections = ["columns", "dicts"]
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    scale, rounds = arguments.scale, arguments.rounds
    with_tensorflow = importlib.util.find_spec("tensorflow") is not None
    if not with_tensorflow:
        say("TensorFlow is not installed here; measuring this package alone")

    rates: list[Rate] = []
    if "columns" in arguments.only:
        rates += columns(scale, rounds, with_tensorflow=with_tensorflow)
    if "dicts" in arguments.only:
        rates += dicts(scale, rounds, with_tensorflow=with_tensorflow)

    conditions = setting(rounds, scale)
    if arguments.json:
        rows = [asdict(row) | {"met": row.met} for row in rates]
        print(json.dumps({"setting": conditions, "rates": rows}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    print_table(RATE_HEAD, rates, rate_cells)


if __name__ == "__main__":
    main()
