"""The messages of tf.train, as field numbers and tags.

::

    Example                  1 features ─────────> Features
    SequenceExample          1 context ──────────> Features
                             2 feature_lists ────> FeatureLists
    ExampleListWithContext   1 examples ─────────> Example, one per item
                             2 context ──────────> Example

    Features                 1 feature ──────────> entry   1 key ───> string
                                                           2 value ─> Feature
    FeatureLists             1 feature_list ─────> entry   1 key ───> string
                                                           2 value ─> FeatureList
    FeatureList              1 feature ──────────> Feature, one per step
    Feature, one of          1 bytes_list ───────> BytesList   1 value, repeated
                             2 float_list ───────> FloatList   1 value, packed
                             3 int64_list ───────> Int64List   1 value, packed

Every field here is of wire type LEN, with a tag of one byte.

Format: ``tensorflow/core/example/example.proto`` and ``feature.proto``; for the list with a
context, ``tensorflow_serving/apis/input.proto``.
"""

from __future__ import annotations

import numpy as np

from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.scalar import len_tag

FEATURES, FEATURE_LISTS = 1, 2
"""The fields of a SequenceExample; the first is also the only one of an Example."""
ENTRY, KEY, VALUE = 1, 1, 2
"""The map entries of Features and FeatureLists, and their fields."""
STEP = 1
"""The Features of a FeatureList."""
LIST_VALUE = 1
"""The values of a BytesList, FloatList or Int64List."""
LIST_DEPTH = 4
"""How many messages are around the values of a feature in an Example."""

FEATURES_TAG, FEATURE_LISTS_TAG = len_tag(FEATURES), len_tag(FEATURE_LISTS)
ENTRY_TAG, KEY_TAG, VALUE_TAG = len_tag(ENTRY), len_tag(KEY), len_tag(VALUE)
STEP_TAG = len_tag(STEP)
LIST_VALUE_TAG = len_tag(LIST_VALUE)

KIND_TAGS = {kind: len_tag(kind) for kind in Kind}
"""The tag of each kind's list in a Feature."""
KIND_OF_TAG = np.zeros(256, np.uint8)
"""The Kind whose list has a tag in a Feature, 0 for none."""
for _kind, _tag in KIND_TAGS.items():
    KIND_OF_TAG[_tag[0]] = _kind
