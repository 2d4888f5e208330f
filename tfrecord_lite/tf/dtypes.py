"""tf.dtypes: every dtype a tensor can have here."""

from tfrecord_lite.tf._dtype import ALL, DType, as_dtype
from tfrecord_lite.tf._unavailable import unavailable

__all__ = [
    "DType", "as_dtype", "bfloat16", "bool", "complex64", "complex128", "double", "float16", "float32", "float64",
    "half", "int8", "int16", "int32", "int64", "string", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip

float16 = half = ALL["float16"]
float32 = ALL["float32"]
float64 = double = ALL["float64"]
bfloat16 = ALL["bfloat16"]
int8 = ALL["int8"]
int16 = ALL["int16"]
int32 = ALL["int32"]
int64 = ALL["int64"]
uint8 = ALL["uint8"]
uint16 = ALL["uint16"]
uint32 = ALL["uint32"]
uint64 = ALL["uint64"]
complex64 = ALL["complex64"]
complex128 = ALL["complex128"]
string = ALL["string"]
bool = ALL["bool"]  # noqa: A001 - TensorFlow's name

__getattr__ = unavailable(__name__, hints={"cast": "use tf.cast"})
