"""``tfrecord unpack``: the images in record files to a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Status
from tfrecord_lite.cli.pack import images_of, rate_of, say_json, show_problems
from tfrecord_lite.errors import Reason, TFRecordError

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console

HELP = """\
Write each image in the files to FOLDER/CLASS/NAME, as it is, and manifest.csv, which lists them with
their other features. FOLDER must not exist, or be empty; it appears when it is complete.

examples:
  tfrecord unpack 'train-*.tfrecord' photos
  tfrecord unpack --image-key jpg --label-key cls shard.tfrecord photos

exit status: 0 if everything was written; 1 if a file is damaged or a record has no image, when
nothing is written without --skip-damage; 2 after any other error."""

_KEYS = {
    "image": "the image's bytes (default: image/encoded, or the only one like an image)",
    "format": "its format (default: image/format)",
    "filename": "its file's name (default: image/filename, filename, ...)",
    "label": "the number of its class (default: image/class/label, label, ...)",
    "text": "the name of its class (default: image/class/text, class_name, ...)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser)
    text = "the list of the images, .csv, or .jsonl for lists of values too (default: manifest.csv)"
    inputs.add(parser, "--manifest NAME", text, default="manifest.csv")
    group = parser.add_argument_group("features")
    for name, text in _KEYS.items():
        inputs.add(group, f"--{name}-key KEY", f"the feature with {text}")
    inputs.add_files(parser)
    inputs.add(parser, "folder FOLDER", "the folder to make")


def run(args: argparse.Namespace, console: Console) -> None:
    """Unpack the images."""
    from tfrecord_lite.apps.images import unpack_images  # noqa: PLC0415 - only this verb needs it

    sources = inputs.find(args, console)
    if not sources or console.status:
        return
    keys = {f"{name}_key": getattr(args, f"{name}_key") for name in _KEYS}
    options = inputs.read_options(args)
    try:
        report = unpack_images(sources, args.folder, manifest=args.manifest, **keys, **options)
    except TFRecordError as error:
        if error.reason is not Reason.MISSING or error.index is None:
            raise
        console.complain(inputs.text_of(error, args.folder), Status.DAMAGED)
        return
    damage = report.damage if report.damage is not None and report.damage.num_damaged else None
    if report.problems or damage is not None:
        console.worsen(Status.DAMAGED)
    if args.json:
        names = {"output": report.paths[0], "manifest": report.labels_path}
        say_json(report, console, names, {"left_out": report.left_out})
        return
    show_problems(report, console)
    if damage is not None:
        console.say(damage.summary())
    if report.left_out:
        console.say(f"{report.labels_path}: left out {', '.join(report.left_out)}")
    console.say(f"{args.folder}: wrote {images_of(report)}{rate_of(report)}")
