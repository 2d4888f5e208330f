"""tf.python_io: records, with the names of TensorFlow 1."""

from tfrecord_lite.extension import TFRecordCompressionType, TFRecordOptions
from tfrecord_lite.reader import tf_record_iterator
from tfrecord_lite.tf._unavailable import Unavailable, unavailable
from tfrecord_lite.tf.io import TFRecordWriter

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]

__getattr__: Unavailable = unavailable(__name__, "TensorFlow has only four names there")
