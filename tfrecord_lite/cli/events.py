"""``tfrecord events``: the scalars of TensorBoard's runs as CSV, or a table of the runs."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator
from types import SimpleNamespace

from tfrecord_lite.apps.events.run import find_runs, read_events, table_of
from tfrecord_lite.apps.events.series import Events
from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console


def add_events(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    text = "a line per run instead: hyperparameters, and the last value of each scalar"
    inputs.add(parser, "--runs", text)
    text = "continue after damage with the next intact event, and sum up what was lost"
    inputs.add(parser, "--skip-damage", text)
    text = "a log directory, with runs below it; or the event files of a run"
    inputs.add(parser, "folder FOLDER", text)


def run_events(args: argparse.Namespace, console: Console) -> None:
    """Print the scalars of TensorBoard's event files as CSV, with run, tag, step, wall_time and value.

    With --runs, print a table of the runs instead, to compare their hyperparameters and results.

    examples:
      tfrecord events logs > scalars.csv
      tfrecord events --runs logs > runs.csv
    """
    output = console.open_output(is_text=True)
    file = SimpleNamespace(write=lambda text: output.write(text.encode()))
    writer = csv.writer(file, lineterminator="\n")
    if args.runs:
        table = table_of(_runs(args, console))
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        return
    writer.writerow(["run", "tag", "step", "wall_time", "value"])
    for name, run in _runs(args, console):
        columns = (column.tolist() for column in run.scalars().as_dict().values())
        writer.writerows((name, *row) for row in zip(*columns, strict=True))


def _runs(args: argparse.Namespace, console: Console) -> Iterator[tuple[str, Events]]:
    """Yield the runs below a folder, or one of event files, with their names."""
    is_folder = os.path.isdir(args.folder)  # noqa: PTH112 - may be a URL
    runs = find_runs(args.folder) if is_folder else {args.folder: args.folder}
    if not runs:
        console.complain(f"{args.folder}: no file below it is named *tfevents*")
    for name, path in runs.items():
        run = read_events(path, on_error=inputs.skip_quietly if args.skip_damage else "raise")
        inputs.complain_of_skipped(run.report, console)
        yield name, run
