"""Event files to columns, side by side with TensorBoard: ``python -m benchmarks.events``.

Measures 100,000 scalars in one file, in both styles, with every CRC checked. TensorBoard
reads them with its EventAccumulator: with its own record reader, which it uses without
TensorFlow, and with TensorFlow's. README.md in this folder explains the figures, and has
the latest.

As in :mod:`benchmarks.columns`, each measurement is a process of its own, and
contenders take turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.columns import RATE_HEAD, Contender, Rate, print_table, rate_cells, take_turns
from benchmarks.records import measure, say, setting

_TARGET = 10.0
_EVENTS = 100_000
_STYLES = {"simple_value": "old style", "tensor": "new style"}


def events(cache: Path, scale: float, rounds: int, *, with_tensorboard: bool) -> list[Rate]:
    """Compare ways to read scalars."""
    rows = []
    has_tensorflow = importlib.util.find_spec("tensorflow") is not None
    n_events = max(int(_EVENTS * scale), 1)
    for style, case in _STYLES.items():
        say(f"events: {case}: {rounds} rounds")
        path = str(cache / f"events.out.tfevents.{n_events}.{style}")
        measure("make_events", path=path, n_events=n_events, style=style)
        theirs = {"what": "events_tensorboard", "path": path, "style": style}
        contenders = []
        if with_tensorboard:
            plain = theirs | {"with_tensorflow": False}
            contenders.append(Contender("EventAccumulator", plain, "no TensorFlow"))
        if with_tensorboard and has_tensorflow:
            fast = theirs | {"with_tensorflow": True}
            contenders.append(Contender("EventAccumulator, TF", fast, "TensorFlow's reader"))
        ours = {"what": "events_ours", "path": path}
        contenders.append(Contender("read_events", ours, "", "EventAccumulator", is_judged=True))
        if has_tensorflow:
            contenders.append(Contender("read_events, again", ours, "", "EventAccumulator, TF"))
        rows += take_turns("events", case, contenders, rounds, _TARGET)
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder for the data sets")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of events")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    cache, scale, rounds = arguments.cache.resolve(), arguments.scale, arguments.rounds
    cache.mkdir(parents=True, exist_ok=True)
    with_tensorboard = importlib.util.find_spec("tensorboard") is not None
    if not with_tensorboard:
        say("TensorBoard is not installed here; measuring this package alone")

    rates = events(cache, scale, rounds, with_tensorboard=with_tensorboard)
    conditions = setting(rounds, scale)
    if arguments.json:
        rows = [asdict(row) | {"met": row.met} for row in rates]
        print(json.dumps({"setting": conditions, "rates": rows}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in conditions.items()))
    print_table(RATE_HEAD, rates, rate_cells)


if __name__ == "__main__":
    main()
