"""Schemas that other programs wrote: a text in, a Schema out.

================================  ============================================  ===========
:func:`superserial.from_yaml`     the YAML header of Super Serial               needs yaml
:func:`tfds.from_json`            ``features.json`` of TensorFlow Datasets
:func:`dataset_info.from_json`    ``dataset_info.json`` beside it: splits, files
:func:`tfx.from_text`             ``schema.pbtxt`` of TFX, tensorflow-metadata
================================  ============================================  ===========

The module ``natural`` has the specifications of tensors stored as lists of the nearest kind, which
the first two share.

No I/O: :func:`tfrecord_lite.load_schema` opens the files. Nothing in a text can name code, and
sizes in it are checked, with no memory allocated for them.
"""
