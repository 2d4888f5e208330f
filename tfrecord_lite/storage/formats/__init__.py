"""Schemas that other programs wrote: each a text in, a Schema out.

================================  ============================================  ===========
:func:`superserial.from_yaml`     the YAML header of Super Serial               needs yaml
:func:`tfds.from_json`            ``features.json`` of TensorFlow Datasets
:func:`tfx.from_text`             ``schema.pbtxt`` of TFX, tensorflow-metadata
================================  ============================================  ===========

No I/O: who opens files is :func:`tfrecord_lite.load_schema`. Nothing in a text can name
code, and sizes in it are numbers that are checked, never allocated.
"""
