"""Directories of TensorFlow Datasets.

::

    info     what a directory holds: splits, features, names of labels
    loading  :func:`load_tfds`, splits and slices of them
"""
