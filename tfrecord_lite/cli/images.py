"""``tfrecord pack`` and ``unpack``: images to record files, and back."""

from __future__ import annotations

import argparse
import os
import warnings
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console, Status, exact_bytes
from tfrecord_lite.errors import Reason, TFRecordError
from tfrecord_lite.texts import plural

if TYPE_CHECKING:
    from tfrecord_lite.apps.images.pack import ImageReport

_PACKING = "labels", "seed", "num_shards", "overwrite", "path_column", "label_column", "root"
_KEYS = {
    "image": "the image's bytes (default: image/encoded, or the only one like an image)",
    "filename": "its file's name (default: image/filename, filename, ...)",
    "label": "the number of its class (default: image/class/label, label, ...)",
    "text": "the name of its class (default: image/class/text, class_name, ...)",
}


def add_pack(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser)
    inputs.add_overwrite(parser)
    inputs.add(parser, "--strict", "write nothing if an image cannot be packed")
    inputs.add(parser, "--no-check", "read the images' headers only, do not decode them")
    inputs.add_jobs(parser, "images")
    group = parser.add_argument_group("labels and lists")
    inputs.add(group, "--labels FILE", "the names of the classes by number (default: all, sorted)")
    inputs.add(group, "--path-column NAME", "of a list (default: path)")
    inputs.add(group, "--label-column NAME", "of a list (default: label, if it has one)")
    inputs.add(group, "--root FOLDER", "of the paths in a list (default: the folder of the list)")
    group = parser.add_argument_group("order and files")
    inputs.add_seed(group, "of the shuffle (default: 0)", default=0)
    inputs.add(group, "--no-shuffle", "keep images sorted, or in the order of the list")
    inputs.add(group, "--num-shards N", "write N files", inputs.count_of("shards"))
    inputs.add_output_compression(group, "compression of DST")
    inputs.add(parser, "source SRC", "a folder, or a list of images")
    inputs.add(parser, "target DST", "a path or a URL, or shards, as in train@8.tfrecord")


def run_pack(args: argparse.Namespace, console: Console) -> None:
    """Pack a folder or list of images into record files.

    Write the images in SRC to DST, an Example for each, with the features of TensorFlow's scripts for
    ImageNet. SRC is a folder, with a folder for each class or without, or a list: a .csv, .tsv, .parquet
    or .jsonl file with the path and the label of an image in each row. Images that are damaged are left
    out and listed. Needs pip install pillow.

    examples:
      tfrecord pack photos train@8.tfrecord
      tfrecord pack --labels labels.txt more-photos validation.tfrecord
      tfrecord pack --path-column file --label-column breed dogs.csv dogs@4.tfrecord

    exit status: 0 if all images were packed; 1 if some were left out or, with --strict, DST was not
    written; 2 after any other error.
    """
    from tfrecord_lite.apps.images.pack import NotPackedError, pack_images  # noqa: PLC0415 - only this verb needs it

    if args.target == "-":
        console.complain("images are written to files, not to standard output; name DST")
        return
    with warnings.catch_warnings():  # Pillow's, about images with too many pixels
        warnings.filterwarnings("ignore", "Image size ", RuntimeWarning)
        try:
            report = pack_images(
                args.source,
                args.target,
                check=not args.no_check,
                shuffle=not args.no_shuffle,
                num_threads=args.jobs,
                on_error="raise" if args.strict else "skip",
                compression=args.output_compression or "infer",
                **{n: value for n in _PACKING if (value := getattr(args, n)) is not None},
            )
        except NotPackedError as error:
            report = error.report
    left_out = {"image": len(report.problems), "hidden file": report.num_hidden}
    left_out["other file"] = report.num_other
    _say_problems(report, args, console)
    if args.json:
        names = {"source": args.source, "output": report.paths or None}
        _say_json(report, console, names, {"hidden": report.num_hidden, "other": report.num_other})
        return
    if any(left_out.values()):
        counts = ", ".join(plural(count, noun) for noun, count in left_out.items() if count)
        console.say(f"{args.source}: left out {counts}")
    if report.paths:
        files = "" if len(report.paths) == 1 else f" in {len(report.paths):,} files"
        if report.labels_path is not None:
            what = "the names of the classes, in the order of their numbers"
            console.say(f"{report.labels_path}: {what}")
        console.say(f"{args.target}: wrote {_images_of(report)}{files}")
    else:
        console.say(f"{args.target}: not written")


def add_unpack(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser)
    group = parser.add_argument_group("features")
    for name, text in _KEYS.items():
        inputs.add(group, f"--{name}-key KEY", f"the feature with {text}")
    inputs.add_files(parser)
    inputs.add(parser, "folder FOLDER", "the folder to make")


def run_unpack(args: argparse.Namespace, console: Console) -> None:
    """Write the images in record files to a folder.

    Write each image in the files to FOLDER/CLASS/NAME, as it is. FOLDER must not exist, or be empty; it
    appears when it is complete.

    examples:
      tfrecord unpack 'train-*.tfrecord' photos
      tfrecord unpack --image-key jpg --label-key cls shard.tfrecord photos

    exit status: 0 if everything was written; 1 if a file is damaged or a record has no image, when
    nothing is written without --skip-damage; 2 after any other error.
    """
    from tfrecord_lite.apps.images import unpack_images  # noqa: PLC0415 - only this verb needs it

    sources = inputs.find(args, console)
    if not sources or console.status:
        return
    keys = {f"{name}_key": getattr(args, f"{name}_key") for name in _KEYS}
    options = inputs.read_options(args)
    try:
        report = unpack_images(sources, args.folder, **keys, **options)
    except TFRecordError as error:
        if error.reason is not Reason.MISSING or error.index is None:
            raise
        console.complain(inputs.text_of(error, args.folder), Status.DAMAGED)
        return
    damage = report.damage if report.damage is not None and report.damage.num_damaged else None
    if damage is not None:
        console.worsen(Status.DAMAGED)
    _say_problems(report, args, console)
    if args.json:
        _say_json(report, console, {"output": report.paths[0]}, {})
        return
    if damage is not None:
        console.say(damage.summary())
    console.say(f"{args.folder}: wrote {_images_of(report)}")


# -------------------------------------------------------------------------------- reports


def _say_problems(report: ImageReport, args: argparse.Namespace, console: Console) -> None:
    for path, detail in report.problems:
        console.worsen(Status.DAMAGED)
        if args.json:
            console.say_json({"file": os.fsencode(path).decode(errors="replace"), "detail": detail})
        else:
            console.say(f"{path}: {detail}")


def _images_of(report: ImageReport) -> str:
    classes = plural(len(report.classes), "class", "classes")
    of = f" of {classes}" if report.classes else ""
    return f"{plural(report.num_images, 'image')}{of}, {exact_bytes(report.num_bytes)}"


def _say_json(report: ImageReport, console: Console, before: Any, after: Any) -> None:
    counts: dict[str, Any] = {"images": report.num_images, "image_bytes": report.num_bytes}
    counts |= {"classes": report.classes, "problems": len(report.problems)}
    console.say_json({**before, **counts, **after, "seconds": round(report.seconds, 3)})
