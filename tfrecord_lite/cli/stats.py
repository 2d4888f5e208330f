"""``tfrecord stats``: how the values of each feature are distributed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Status
from tfrecord_lite.cli.schema import check_content
from tfrecord_lite.cli.stats_table import lines_of
from tfrecord_lite.errors import InvalidArgumentError, Reason, TFRecordError, plural
from tfrecord_lite.example.content import OTHERS, ContentType, detect_all
from tfrecord_lite.progress import metered, title_of
from tfrecord_lite.schema.text import nearest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tfrecord_lite.apps.statistics import Statistics
    from tfrecord_lite.apps.statistics.collect import Collector
    from tfrecord_lite.apps.statistics.sampling import Sample
    from tfrecord_lite.block import Block
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.cli.inputs import Records
    from tfrecord_lite.progress import Meter

DESCRIPTION = """\
Read tf.train.Example or tf.train.SequenceExample records, and show for each feature its kind, how
many records have it, and the number of values per record; of numbers a histogram, their range,
mean, standard deviation and median, and how many are zero, NaN or infinite, as far as the width
of the terminal allows; of byte strings their lengths, what they are, and the most frequent ones.
Several files are treated as one data set. With --sample, only some records are read, spread over
all files: seconds, however large they are. At a record that cannot be parsed, a file ends, as at
a damaged one; with --skip-damage such records are left out too, up to 1,000."""
EPILOG = """\
examples:
  tfrecord stats train.tfrecord
  tfrecord stats --columns label,age 'train-*.tfrecord'
  tfrecord stats --sample 10000 train@1024
  tfrecord stats --json train.tfrecord | jq .features.age.numbers.mean

with --json, one object: records (read), features (of SequenceExamples context and feature_lists),
and sample (null unless --sample is given: method, is_whole, and total_records, null if not known).
A feature has kinds, records (with it), values, lengths (values per record; of a
feature list, per step), numbers or strings, and steps (of a feature list). lengths, numbers and
steps have count, nan, infinite, zeros, min, max, mean, std, quartiles and histogram (counts,
edges); strings have lengths (bytes), distinct (null if there are too many), top (the most
frequent of up to 64 bytes, with their counts) and contents (what some of them are). A number
that JSON cannot express is "Infinity" or "-Infinity"; null is a figure of no values."""

_N_LOOKED_AT = 8
_OTHERS = ContentType.EXAMPLE_LIST, ContentType.EVENT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser, "one JSON object")
    inputs.add_columns(parser, "show these features only")
    parser.add_argument(
        "--sample",
        type=inputs.count_of("records"),
        metavar="N",
        help="take about N records, or fewer that have 64 MiB, from all over the files instead of all: "
        "by an index beside a file, or at random places; of compressed files and pipes the first. Small "
        "files are read whole",
    )
    inputs.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Compute and show the statistics."""
    from tfrecord_lite.apps.statistics.collect import Collector  # noqa: PLC0415 - loads the engine

    collector = Collector(skip_malformed=args.skip_damage)
    sample = None

    def add_records(stream: Records, progress: Callable[[], None]) -> None:
        is_first = True
        while (block := stream.next_block()) is not None:
            if is_first:
                _check(block, stream.name)
            is_first = False
            _add(block, collector)
            progress()

    sources = inputs.find(args, console)
    if args.sample is None:
        inputs.for_each(sources, args, console, add_records)
    elif sources:
        with metered(None, title_of(sources), "bytes") as meter:
            sample = _add_sample(collector, sources, args, console, meter)
    _complain_of_malformed(collector, console)
    statistics = collector.statistics()
    if sources and (statistics.num_records or not console.status):
        _show(statistics, sample, args, console)


def _check(block: Block, name: str) -> None:
    """Raise if most of the first records of a file are of a type that there are no statistics of."""
    check_content(block, name)
    types = detect_all(block[:_N_LOOKED_AT])
    if not types or types[0] in (ContentType.EXAMPLE, ContentType.SEQUENCE_EXAMPLE):
        return
    if types[0] in _OTHERS:
        detail = f"the records are of the type {types[0]}, of which there are no statistics; tfrecord view shows them"
        raise InvalidArgumentError(Reason.UNSUPPORTED, source=name, detail=detail)
    if types[0] in OTHERS:
        detail = f"the records {OTHERS[types[0]].format(wanted='Example')}"
        raise InvalidArgumentError(Reason.MALFORMED, source=name, detail=detail)


def _add(block: Block, collector: Collector) -> None:
    """Examine the records of a block, before an error all those before its record."""
    try:
        collector.add(block)
    except InvalidArgumentError:
        if len(block) == 1:
            raise
        middle = len(block) // 2
        _add(block[:middle], collector)
        _add(block[middle:], collector)


def _complain_of_malformed(collector: Collector, console: Console) -> None:
    """Report the records that were left out, if any were."""
    if collector.malformed:
        left_out = f"left out {plural(len(collector.malformed), 'malformed record')}"
        console.complain(f"{left_out}; the first: {collector.malformed[0]}", Status.FAILED)


def _add_sample(
    collector: Collector,
    sources: list[Any],
    args: argparse.Namespace,
    console: Console,
    meter: Meter,
) -> Sample | None:
    """Draw a sample and examine it; report what fails."""
    from tfrecord_lite.apps.statistics.sampling import draw_sample  # noqa: PLC0415 - not light

    options = inputs.settings_of(args)
    try:
        sample = draw_sample(sources, num_records=args.sample, options=options, meter=meter)
    except (OSError, ImportError, ValueError) as error:
        inputs.complain_of(error, str(args.files[0]), console)
        return None
    try:
        for block in sample.blocks[:1]:
            _check(block, block.place(0).source or "")
        meter.expect_more(sum(block.nbytes for block in sample.blocks))
        for block in sample.blocks:
            _add(block, collector)
            meter.advance(block.nbytes)
    except TFRecordError as error:
        inputs.complain_of(error, str(args.files[0]), console)
    inputs.complain_of_skipped(sample.report, console)
    for file in sample.report.files:
        if file.failure is not None:
            inputs.complain_of(file.failure, file.source, console)
    return sample


def _show(
    statistics: Statistics, sample: Sample | None, args: argparse.Namespace, console: Console
) -> None:
    """Print the statistics as text or JSON."""
    chosen = set(statistics)
    if args.columns is not None:
        for name in args.columns:
            if name not in statistics:
                console.complain(f"--columns: no feature {name!r}{nearest(name, statistics)}")
        chosen = set(args.columns).intersection(statistics)
        if not chosen:
            return
    if args.json:
        console.say_json(_as_json(statistics, sample, chosen))
        return
    n_features = plural(len(statistics), "feature")
    console.say(f"{plural(statistics.num_records, 'record')}, {n_features}{_sample_text(sample)}")
    width = shutil.get_terminal_size((100, 24)).columns
    for line in lines_of(statistics, chosen, width, has_blocks=console.is_utf8):
        console.say(line)


def _as_json(statistics: Statistics, sample: Sample | None, chosen: set[str]) -> dict[str, Any]:
    described = statistics.describe()
    for section in ("features", "context", "feature_lists"):
        if section in described:
            features = described[section]
            described[section] = {name: features[name] for name in features if name in chosen}
    drawn = sample and {
        "method": sample.method,
        "is_whole": sample.is_whole,
        "total_records": sample.num_records,
    }
    return {**described, "sample": drawn}


def _sample_text(sample: Sample | None) -> str:
    """Say how the records were chosen, and of how many if that is known."""
    if sample is None or sample.is_whole:
        return ""
    total = "" if sample.num_records is None else f", of {sample.num_records:,}"
    return f"; {sample.method}{total}"
