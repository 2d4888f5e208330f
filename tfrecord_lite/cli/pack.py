"""``tfrecord pack``: images to record files."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Status
from tfrecord_lite.cli.style import exact_bytes
from tfrecord_lite.errors import plural

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.apps.images.lists import ImageReport
    from tfrecord_lite.cli.console import Console

HELP = """\
Write the images in SRC to DST, an Example for each, with the features of TensorFlow's scripts for
ImageNet. SRC is a folder, with a folder for each class or without, or a list: a .csv, .tsv, .parquet
or .jsonl file with the path and the label of an image in each row. Images that are damaged are left
out and listed. Needs pip install 'tfrecord-numpy[image]'.

examples:
  tfrecord pack photos train@8.tfrecord
  tfrecord pack --labels labels.txt more-photos validation.tfrecord
  tfrecord pack --path-column file --label-column breed dogs.csv dogs@4.tfrecord

exit status: 0 if all images were packed; 1 if some were left out or, with --strict, DST was not
written; 2 after any other error."""

RATE_SECONDS = 5.0
"""Only of longer work are time and rate worth a line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser)
    inputs.add_overwrite(parser)
    inputs.add(parser, "--strict", "write nothing if an image cannot be packed")
    inputs.add(parser, "--no-check", "read the images' headers only, do not decode them")
    inputs.add_jobs(parser, "images")
    group = parser.add_argument_group("labels and lists")
    inputs.add(group, "--labels FILE", "the names of the classes by number (default: all, sorted)")
    text = "add N to each label; 1 leaves 0 to the background (default: 0)"
    number = inputs.count_of("classes", at_least=0)
    inputs.add(group, "--label-offset N", text, number, default=0)
    inputs.add(group, "--path-column NAME", "of a list (default: path, file, ...)")
    inputs.add(group, "--label-column NAME", "of a list (default: label, class, ...)")
    inputs.add_columns(group, "the other columns of a list to keep (default: all)")
    inputs.add(group, "--root FOLDER", "of the paths in a list (default: the folder of the list)")
    group = parser.add_argument_group("order and files")
    inputs.add_seed(group, "of the shuffle (default: 0)", default=0)
    inputs.add(group, "--no-shuffle", "keep images sorted, or in the order of the list")
    inputs.add_shards(group)
    inputs.add(parser, "source SRC", "a folder, or a list of images")
    inputs.add(parser, "target DST", "a path or a URL, or shards, as in train@8.tfrecord")


def run(args: argparse.Namespace, console: Console) -> None:
    """Pack the images."""
    from tfrecord_lite.apps.images.pack import (  # noqa: PLC0415 - only this verb needs it
        NotPackedError,
        pack_images,
    )

    if args.target == "-":
        console.complain("images are written to files, not to standard output; name DST")
        return
    with warnings.catch_warnings():  # Pillow's, about images with too many pixels
        warnings.filterwarnings("ignore", "Image size ", RuntimeWarning)
        try:
            report = pack_images(
                args.source,
                args.target,
                labels=args.labels,
                label_offset=args.label_offset,
                path_column=args.path_column,
                label_column=args.label_column,
                columns=args.columns,
                root=args.root,
                check=not args.no_check,
                shuffle=not args.no_shuffle,
                seed=args.seed,
                num_shards=args.num_shards,
                bytes_per_shard=args.bytes_per_shard,
                num_threads=args.jobs,
                on_error="raise" if args.strict else "skip",
                overwrite=args.overwrite,
            )
        except NotPackedError as error:
            report = error.report
    if report.problems:
        console.worsen(Status.DAMAGED)
    if args.json:
        say_json(
            report,
            console,
            {"source": args.source, "output": report.paths or None},
            {"hidden": report.num_hidden, "other": report.num_other},
        )
    else:
        _show(report, args, console)


def _show(report: ImageReport, args: argparse.Namespace, console: Console) -> None:
    """Print what was left out, and what was written."""
    show_problems(report, console)
    left_out = [
        plural(count, noun)
        for count, noun in [
            (len(report.problems), "image"),
            (report.num_hidden, "hidden file"),
            (report.num_other, "other file"),
        ]
        if count
    ]
    if left_out:
        console.say(f"{args.source}: left out {', '.join(left_out)}")
    if not report.paths:
        console.say(f"{args.target}: not written")
        return
    what = images_of(report)
    files = "" if len(report.paths) == 1 else f" in {len(report.paths):,} files"
    console.say(f"{args.target}: wrote {what}{files}{rate_of(report)}")


def show_problems(report: ImageReport, console: Console) -> None:
    """Print a line for each image that was left out."""
    for path, detail in report.problems:
        console.say(f"{path}: {detail}")


def images_of(report: ImageReport) -> str:
    """Say how many images there are, of how many classes and bytes."""
    classes = plural(len(report.classes), "class", "classes")
    of = f" of {classes}" if report.classes else ""
    return f"{plural(report.num_images, 'image')}{of}, {exact_bytes(report.num_bytes)}"


def rate_of(report: ImageReport) -> str:
    """Return the time and the rate of longer work."""
    if report.seconds < RATE_SECONDS:
        return ""
    rate = report.num_images / report.seconds
    return f", in {report.seconds:,.0f} s ({rate:,.0f} images/s)"


def say_json(
    report: ImageReport, console: Console, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Print an object for each image that was left out, and one about all."""
    for path, detail in report.problems:
        console.say_json({"file": os.fsencode(path).decode(errors="replace"), "detail": detail})
    counts = {
        "images": report.num_images,
        "image_bytes": report.num_bytes,
        "classes": report.classes,
        "problems": len(report.problems),
    }
    console.say_json({**before, **counts, **after, "seconds": round(report.seconds, 3)})
