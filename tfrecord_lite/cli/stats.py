"""``tfrecord stats``: how the values of each feature are distributed."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs, style
from tfrecord_lite.cli.display import bytes_text
from tfrecord_lite.cli.formatting import aligned
from tfrecord_lite.cli.progress import reading
from tfrecord_lite.cli.schema import check_content
from tfrecord_lite.errors import plural
from tfrecord_lite.schema.text import nearest, shown_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.cli.inputs import Records
    from tfrecord_lite.statistics import (
        Distribution,
        FeatureStatistics,
        Statistics,
        StringStatistics,
    )
    from tfrecord_lite.statistics.sampling import Sample

SUMMARY = "show how the values of each feature are distributed"
DESCRIPTION = """\
Read tf.train.Example or tf.train.SequenceExample records, and show for each feature its kind, how
many records have it, and the number of values per record; of numbers a histogram, their range,
mean, standard deviation and quartiles, and how many are zero, NaN or infinite; of byte strings
their lengths, what they are, and the most frequent ones. Several files are treated as one data
set. With --sample, only some records are read, spread over all files: seconds, however large
they are."""
EPILOG = """\
examples:
  tfrecord stats train.tfrecord
  tfrecord stats --features label,age 'train-*.tfrecord'
  tfrecord stats --sample 10000 train@1024
  tfrecord stats --json train.tfrecord | jq .features.age.numbers.mean

with --json, one object: records (read), features (of SequenceExamples context and feature_lists),
and sample (null unless --sample is given: method, is_whole, total_records and whether that is
an estimate). A feature has kinds, records (with it), values, lengths (values per record; of a
feature list, per step), numbers or strings, and steps (of a feature list). lengths, numbers and
steps have count, nan, infinite, zeros, min, max, mean, std, quartiles and histogram (counts,
edges); strings have lengths (bytes), distinct (null if there are too many), top (the most
frequent of up to 64 bytes, with their counts) and contents (what some of them are). A number
that JSON cannot express is "Infinity" or "-Infinity"; null is a figure of no values."""

_BINS = 16
_BLOCKS = "▁▂▃▄▅▆▇█"
_MAX_TOP, _MAX_STRING = 5, 24
_INDENT = "    "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--features", metavar="NAME,...", help="show these features only")
    parser.add_argument(
        "--sample",
        type=inputs.count_of("records"),
        metavar="N",
        help="take about N records from all over the files instead of all: by an index beside a file, "
        "or at random places; of compressed files and pipes the first. Small files are read whole",
    )
    inputs.add_skipping_argument(parser)
    inputs.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Compute and show the statistics."""
    from tfrecord_lite.statistics.collect import Collector  # noqa: PLC0415 - loads the engine

    collector = Collector()
    sample = None

    def add_records(stream: Records) -> None:
        is_first = True
        while (block := stream.next_block()) is not None:
            if is_first:
                check_content(block, stream.name)
            is_first = False
            collector.add(block)
            progress.show(stream)

    sources = inputs.find(args, console)
    if args.sample is None:
        with reading(sources) as progress:
            inputs.for_each_skipping(sources, args, console, add_records)
    elif sources:
        sample = _add_sample(collector, sources, args, console)
    statistics = collector.statistics()
    if sources and (statistics.n_records or not console.status):
        _show(statistics, sample, args, console)


def _add_sample(
    collector: Any, sources: list[Any], args: argparse.Namespace, console: Console
) -> Sample | None:
    """Draw a sample and examine it; report what fails."""
    from tfrecord_lite.statistics.sampling import draw_sample  # noqa: PLC0415 - not light

    try:
        sample = draw_sample(sources, num_records=args.sample, options=inputs.options_of(args))
        for block in sample.blocks[:1]:
            check_content(block, block.place(0).source or "")
        for block in sample.blocks:
            collector.add(block)
    except (OSError, ImportError, ValueError) as error:
        inputs.complain_of(error, str(args.files[0]), console)
        return None
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
    if args.features is not None:
        wanted = [name for name in args.features.split(",") if name]
        for name in wanted:
            if name not in statistics:
                console.complain(f"--features: no feature {name!r}{nearest(name, statistics)}")
        chosen = set(wanted)
    if args.json:
        console.say_json(_as_json(statistics, sample, chosen))
        return
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    page = _Page(shutil.get_terminal_size((100, 24)).columns, has_blocks=is_utf8)
    for line in page.lines(statistics, sample, chosen):
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
        "total_records": sample.n_records,
        "is_estimate": sample.is_estimate,
    }
    return {**described, "sample": drawn}


class _Page:
    """Statistics as lines of text of a width, with a histogram of block characters or without."""

    def __init__(self, width: int, *, has_blocks: bool) -> None:
        self._width = width
        self._has_blocks = has_blocks

    def lines(
        self, statistics: Statistics, sample: Sample | None, chosen: set[str]
    ) -> Iterator[str]:
        """Yield all lines."""
        n_features = plural(len(statistics), "feature")
        yield f"{plural(statistics.n_records, 'record')}, {n_features}{_sample_text(sample)}"
        title = "context" if statistics.is_sequence else ""
        yield from self._section(title, statistics.features, statistics.n_records, chosen)
        lists = statistics.feature_lists
        yield from self._section("feature lists", lists, statistics.n_records, chosen)

    def _section(
        self,
        title: str,
        features: Mapping[str, FeatureStatistics],
        n_records: int,
        chosen: set[str],
    ) -> Iterator[str]:
        shown = {name: found for name, found in features.items() if name in chosen}
        if not shown:
            return
        yield ""
        if title:
            yield style.heading(f"{title}:")
        has_steps = any(found.steps is not None for found in shown.values())
        header = ("name", "kind", "records", "steps", "length")
        rows = [header, *(_row(name, found, n_records) for name, found in shown.items())]
        if not has_steps:
            rows = [(*row[:3], row[4]) for row in rows]
        lines = aligned(rows, "<<<<<")
        yield style.heading(lines[0])
        for line, found in zip(lines[1:], shown.values(), strict=True):
            yield line
            if found.numbers is not None:
                yield from self._wrapped(self._number_texts(found.numbers))
            if found.strings is not None:
                yield from self._wrapped(_string_texts(found.strings))

    def _number_texts(self, numbers: Distribution) -> list[str]:
        texts = _number_texts(numbers)
        if self._has_blocks and numbers.min != numbers.max and numbers.n_finite:
            texts[0] = f"{_blocks(numbers)}  {texts[0]}"
        return texts

    def _wrapped(self, texts: list[str]) -> Iterator[str]:
        """Join texts by commas, on as many lines as they need."""
        line = ""
        for text in texts:
            joined = f"{line}, {text}" if line else text
            if line and len(_INDENT + joined) > self._width:
                yield f"{_INDENT}{line},"
                joined = text
            line = joined
        yield f"{_INDENT}{line}"


def _sample_text(sample: Sample | None) -> str:
    if sample is None or sample.is_whole:
        return ""
    about = "about " * sample.is_estimate
    return f"; {sample.method}, of {about}{sample.n_records:,}"


def _row(name: str, found: FeatureStatistics, n_records: int) -> tuple[str, ...]:
    """Return the cells of one feature."""
    share = 100 * found.n_records / max(n_records, 1)
    return (
        style.name(shown_name(name)),
        "/".join(kind.label for kind in found.kinds) or "none",
        "all" if found.n_records == n_records else f"{found.n_records:,} ({share:.1f} %)",
        "" if found.steps is None else _range(found.steps),
        _range(found.lengths),
    )


def _range(numbers: Distribution) -> str:
    """Return the range of some numbers, and their mean if they differ."""
    if numbers.min is None or numbers.max is None:
        return ""
    low, high = _number(numbers.min), _number(numbers.max)
    return low if low == high else f"{low} .. {high}, mean {_number(numbers.mean or 0.0)}"


def _number(number: float) -> str:
    """Return a number with four digits, an integer with all."""
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}"


def _number_texts(numbers: Distribution) -> list[str]:
    """Return what there is to say of numbers."""
    texts = []
    if numbers.min is not None and numbers.max is not None:
        low, high = _number(numbers.min), _number(numbers.max)
        texts.append(low if low == high else f"{low} .. {high}")
    if numbers.min != numbers.max and numbers.mean is not None and numbers.std is not None:
        quartiles = (numbers.quantile(q) for q in (0.25, 0.5, 0.75))
        shown = " ".join(_number(number) for number in quartiles if number is not None)
        texts.append(f"mean {_number(numbers.mean)}")
        texts.append(f"std {_number(numbers.std)}")
        texts.append(f"quartiles {shown}")
    for count, noun in (
        (numbers.n_zeros, "zeros"),
        (numbers.n_nan, "NaN"),
        (numbers.n_inf, "infinite"),
    ):
        if count:
            texts.append(f"{_percent(count, numbers.count)} {noun}")
    return texts or ["no values"]


def _percent(count: int, total: int) -> str:
    """Return a share; one that is not all or nothing does not look like it."""
    share = 100 * count / max(total, 1)
    shown = f"{share:.1f} %"
    return {"0.0 %": "< 0.1 %", "100.0 %": "100 %" if count == total else "> 99.9 %"}.get(
        shown, shown
    )


def _blocks(numbers: Distribution) -> str:
    """Draw a histogram in one line; a bin that is not empty is never as low as one that is."""
    counts, _ = numbers.histogram(_BINS)
    most = max(int(counts.max()), 1)
    return "".join(_BLOCKS[-(-count * 7 // most)] for count in counts.tolist())


def _string_texts(strings: StringStatistics) -> list[str]:
    """Return what there is to say of byte strings."""
    low, high = strings.lengths.min, strings.lengths.max
    texts = [plural(int(low or 0), "byte") if low == high else f"{low:,} .. {high:,} bytes"]
    looked_at = sum(strings.contents.values())
    contents = sorted(strings.contents.items(), key=lambda item: (-item[1], item[0]))
    if len(contents) == 1:
        texts += [contents[0][0]] * (contents[0][0] != "bytes")
    else:
        texts += [f"{name} {_percent(count, looked_at)}" for name, count in contents[:4]]
    if strings.n_distinct is not None:
        texts.append(f"{strings.n_distinct:,} different")
    total = strings.lengths.count
    texts += [
        f"{bytes_text(value, _MAX_STRING)} {_percent(count, total)}"
        for value, count in strings.top(_MAX_TOP)
        if count > 1
    ]
    return texts
