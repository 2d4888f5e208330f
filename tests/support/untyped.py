"""Functions whose results are compared with plain values, whatever type they are declared to have."""

from typing import Any

import tfrecord_lite

load: Any = tfrecord_lite.load
infer_schema: Any = tfrecord_lite.infer_schema
summarize: Any = tfrecord_lite.summarize
