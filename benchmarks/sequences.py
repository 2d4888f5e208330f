"""SequenceExamples, side by side with TensorFlow: ``python -m benchmarks.sequences``.

Measures a file to columns, one dictionary per record, and columns to messages. README.md in
this folder explains the figures. As in :mod:`benchmarks.columns`, each measurement is a
process of its own, contenders take turns, and each runs with its best setting.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.columns import (
    RATE_HEAD,
    Contender,
    Rate,
    fastest,
    print_table,
    rate_cells,
    take_turns,
)
from benchmarks.data import data_set
from benchmarks.records import say, setting

if TYPE_CHECKING:
    from benchmarks.columns import Request

_TARGETS = {"columns": 2.0, "dicts": 5.0, "encode": 20.0}
_DICTS = 10_000
_ENCODED = 5_000
"""Number of records for dictionaries and messages: TensorFlow takes 200 us for each."""
_BATCHES = (256, 1024, 4096)
_BLOCKS = (None, 1024, 2048, 4096)


def columns(cache: Path, scale: float, rounds: int, *, with_tensorflow: bool) -> list[Rate]:
    """Compare ways to turn a file into columns."""
    common: Request = {"path": str(data_set("sequences", cache, scale))}
    say("columns: finding the best settings")
    contenders = []
    if with_tensorflow:
        requests = {
            f"{'AUTOTUNE' if autotune else 'sequential'}, {batch}": common
            | {"what": "sequence_columns_tensorflow", "batch": batch, "autotune": autotune}
            for batch in _BATCHES
            for autotune in (False, True)
        }
        label, best = fastest(requests)
        contenders.append(Contender("TensorFlow", best, label))
    blocks = {
        f"blocks({batch or ''})": common | {"what": "sequence_columns_ours", "batch": batch}
        for batch in _BLOCKS
    }
    label, best = fastest(blocks)
    contenders.append(Contender("SequenceExampleParser", best, label, "TensorFlow", is_judged=True))
    say(f"columns: {rounds} rounds")
    return take_turns("columns", "sequences", contenders, rounds, _TARGETS["columns"])


def dicts(cache: Path, scale: float, rounds: int, *, with_tensorflow: bool) -> list[Rate]:
    """Compare ways to make one dictionary per record."""
    say("a dict a record")
    limit = max(int(_DICTS * scale), 1)
    common: Request = {"path": str(data_set("sequences", cache, scale)), "limit": limit}
    contenders = []
    if with_tensorflow:
        theirs = {"what": "sequence_dicts_tensorflow"} | common
        contenders.append(Contender("TensorFlow", theirs | {"as_numpy": False}))
        contenders.append(Contender("TensorFlow, arrays", theirs | {"as_numpy": True}))
    ours = {"what": "sequence_dicts_ours"} | common
    contenders.append(Contender("sequence_examples()", ours, "", "TensorFlow", is_judged=True))
    return take_turns("a dict a record", "sequences", contenders, rounds, _TARGETS["dicts"])


def encode(scale: float, rounds: int, *, with_tensorflow: bool) -> list[Rate]:
    """Compare columns to messages with rows to messages."""
    say("from columns")
    n_records = max(int(_ENCODED * scale), 1)
    contenders = []
    if with_tensorflow:
        theirs: Request = {"what": "sequence_encode_tensorflow", "n_records": n_records}
        contenders.append(Contender("TensorFlow", theirs))
    ours = {"what": "sequence_encode_ours", "n_records": 10 * n_records, "batch": 1024}
    contenders.append(
        Contender("encode_sequence_examples", ours, "1024", "TensorFlow", is_judged=True)
    )
    rows: Request = {"what": "sequence_encode_rows_ours", "n_records": n_records}
    contenders.append(Contender("the same, dictionaries", rows, "", "TensorFlow"))
    return take_turns("from columns", "sequences", contenders, rounds, _TARGETS["encode"])


def main() -> None:
    """Run the selected parts and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder for the data sets")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of records")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender")
    sections = ["columns", "dicts", "encode"]
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    scale, rounds = arguments.scale, arguments.rounds
    with_tensorflow = importlib.util.find_spec("tensorflow") is not None
    if not with_tensorflow:
        say("TensorFlow is not installed here; measuring this package alone")
    arguments.cache.mkdir(parents=True, exist_ok=True)

    rates: list[Rate] = []
    if "columns" in arguments.only:
        rates += columns(arguments.cache, scale, rounds, with_tensorflow=with_tensorflow)
    if "dicts" in arguments.only:
        rates += dicts(arguments.cache, scale, rounds, with_tensorflow=with_tensorflow)
    if "encode" in arguments.only:
        rates += encode(scale, rounds, with_tensorflow=with_tensorflow)

    conditions = setting(rounds, scale)
    if arguments.json:
        rows = [asdict(row) | {"met": row.met} for row in rates]
        print(json.dumps({"setting": conditions, "rates": rows}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    print_table(RATE_HEAD, rates, rate_cells)


if __name__ == "__main__":
    main()
