"""``tfrecord events``: the scalars of TensorBoard's runs as CSV, or a table of the runs."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from types import SimpleNamespace
from typing import Any

from tfrecord_lite.apps.events.run import find_runs, read_events, table_of
from tfrecord_lite.apps.events.series import Events
from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console
from tfrecord_lite.extension import expand, name_of, shortest
from tfrecord_lite.texts import choices


def add_events(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    group = parser.add_mutually_exclusive_group()
    text = "a line per run instead: hyperparameters, and the last value of each scalar"
    inputs.add(group, "--runs", text)
    text = "these scalars only, or patterns such as 'train/*'"
    inputs.add(group, "--tag A,B", text, inputs.names, action="extend")
    text = "continue after damage with the next intact event, and sum up what was lost"
    inputs.add(parser, "--skip-damage", text)
    text = "a log directory, with runs below it; or the event files of a run"
    inputs.add(parser, "folders FOLDER", text, nargs="+")


def run_events(args: argparse.Namespace, console: Console) -> None:
    """Print the scalars of TensorBoard's event files as CSV, with run, tag, step, wall_time and value.

    With --runs, print a table of the runs instead, to compare their hyperparameters and results.

    examples:
      tfrecord events logs > scalars.csv
      tfrecord events --tag loss,accuracy logs/first logs/second
      tfrecord events --runs logs > runs.csv
    """
    output = console.open_output(is_text=True)
    file = SimpleNamespace(write=lambda text: output.write(text.encode()))
    writer = csv.writer(file, lineterminator="\n")
    if args.runs:
        table = table_of(_runs(args, console))
        writer.writerow(table)
        writer.writerows(map(shortest, row) for row in zip(*table.values(), strict=True))
        return
    writer.writerow(["run", "tag", "step", "wall_time", "value"])
    tags, unmatched = dict[str, None](), set(args.tag or ())
    for name, run in _runs(args, console):
        columns = (column.tolist() for column in run.scalars().as_dict().values())
        for tag, step, wall_time, value in zip(*columns, strict=True):
            tags[tag] = None
            fitting = {pattern for pattern in args.tag or () if fnmatchcase(tag, pattern)}
            unmatched -= fitting
            if fitting or not args.tag:
                writer.writerow([name, tag, step, wall_time, shortest(value)])
    for tag in sorted(unmatched):
        console.complain(f"--tag: no run has a scalar {tag!r}{choices(tag, tags)}")


def _runs(args: argparse.Namespace, console: Console) -> Iterator[tuple[str, Events]]:
    """Yield the runs below folders, or those of event files, with their names."""
    runs: dict[str, Any] = {}
    for folder in args.folders:
        try:
            below: dict[str, Any] = find_runs(folder)
            if len(args.folders) > 1:
                below = {os.path.normpath(f"{folder}/{name}"): below[name] for name in below}
        except (FileNotFoundError, NotADirectoryError):
            below, files = {}, list(map(name_of, expand(folder)))
            for file in files:
                name = os.path.dirname(file) if len(files) > 1 else file  # noqa: PTH120 - may be a URL
                below.setdefault(name, []).append(file)
        if not below:
            console.complain(f"{folder}: no file below it is named *tfevents*")
        runs |= below
    for name, path in runs.items():
        run = read_events(path, on_error=inputs.skip_quietly if args.skip_damage else "raise")
        inputs.complain_of_skipped(run.report, console)
        yield name, run
