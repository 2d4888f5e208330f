"""Tensors in bytes to arrays, side by side with TensorFlow: ``python -m benchmarks.tensors``.

Measures many serialised tensors to one array, and strings of raw numbers to one array.
README.md in this folder explains the figures, and has the latest.

As in :mod:`benchmarks.columns`, each measurement is a process of its own, and
contenders take turns. The data are in memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from dataclasses import asdict

from benchmarks.columns import RATE_HEAD, Contender, Rate, print_table, rate_cells, take_turns
from benchmarks.records import say, setting

_TARGET = 3.0

# name: shape, number, and whether they are written as serialize_tensor does
_TENSORS = {
    "float32[64, 64]": ([64, 64], 10_000, True),
    "float32[8]": ([8], 50_000, True),
    "float32[16], listed": ([16], 10_000, False),
}
# name: bytes per string, number, and whether fixed_length is passed
_RAW = {
    "16 KB strings": (16_384, 10_000, False),
    "64 byte strings": (64, 100_000, False),
    "64 byte strings, fixed_length": (64, 100_000, True),
}


def tensors(scale: float, rounds: int, *, with_tensorflow: bool) -> list[Rate]:
    """Compare ways to parse serialised tensors."""
    rows = []
    for name, (shape, full, is_usual) in _TENSORS.items():
        say(f"tensors: {name}: {rounds} rounds")
        n = max(int(full * scale), 1)
        forms = {"objects": "array of bytes", "column": "BytesColumn"} if is_usual else {}
        common = {"shape": shape, "n": n, "form": "objects" if is_usual else "listed"}
        contenders = []
        if with_tensorflow:
            theirs = {"what": "tensors_tensorflow"} | common
            contenders.append(Contender("TensorFlow, loop", theirs | {"stacked": False}))
            contenders.append(Contender("TensorFlow, stacked", theirs | {"stacked": True}))
        for form, kind in (forms or {"listed": "array of bytes"}).items():
            ours = {"what": "tensors_ours"} | common | {"form": form}
            is_judged = name == "float32[64, 64]"
            title = f"parse_tensors, {kind}"
            contenders.append(Contender(title, ours, "", "TensorFlow, loop", is_judged))
        single = {"what": "tensors_ours_one_by_one"} | common
        contenders.append(Contender("parse_tensor, loop", single, "", "TensorFlow, loop"))
        rows += take_turns("tensors", name, contenders, rounds, _TARGET)
    return rows


def raw(scale: float, rounds: int, *, with_tensorflow: bool) -> list[Rate]:
    """Compare ways to decode raw numbers."""
    rows = []
    for name, (n_bytes, full, fixed) in _RAW.items():
        say(f"raw: {name}: {rounds} rounds")
        common = {"n_bytes": n_bytes, "n": max(int(full * scale), 1), "fixed": fixed}
        contenders = []
        if with_tensorflow:
            theirs = {"what": "raw_tensorflow"} | common
            contenders.append(Contender("TensorFlow, array of bytes", theirs | {"form": "objects"}))
            contenders.append(Contender("TensorFlow, its tensor", theirs | {"form": "tensor"}))
        ours = {"what": "raw_ours"} | common
        contenders += [
            Contender(
                "decode_raw, array of bytes",
                ours | {"form": "objects"},
                "",
                "TensorFlow, array of bytes",
            ),
            Contender(
                "decode_raw, BytesColumn", ours | {"form": "column"}, "", "TensorFlow, its tensor"
            ),
        ]
        rows += take_turns("raw", name, contenders, rounds, _TARGET)
    return rows


def main() -> None:
    """Run the selected parts and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of tensors")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender")
    sections = {"tensors": tensors, "raw": raw}
    parser.add_argument("--only", nargs="+", choices=list(sections), default=list(sections))
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    scale, rounds = arguments.scale, arguments.rounds
    with_tensorflow = importlib.util.find_spec("tensorflow") is not None
    if not with_tensorflow:
        say("TensorFlow is not installed here; measuring this package alone")

    rates = [
        row
        for section in arguments.only
        for row in sections[section](scale, rounds, with_tensorflow=with_tensorflow)
    ]
    conditions = setting(rounds, scale)
    if arguments.json:
        rows = [asdict(row) | {"met": row.met} for row in rates]
        print(json.dumps({"setting": conditions, "rates": rows}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    print_table(RATE_HEAD, rates, rate_cells)


if __name__ == "__main__":
    main()
