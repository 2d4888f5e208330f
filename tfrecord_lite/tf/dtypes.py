"""tf.dtypes: every dtype a tensor can have here."""

from tfrecord_lite.tf._dtype import ALL, DType, as_dtype
from tfrecord_lite.tf._unavailable import Unavailable, unavailable

__all__ = [
    "DType", "as_dtype", "bfloat16", "bool", "complex64", "complex128", "double", "float16", "float32", "float64",
    "half", "int8", "int16", "int32", "int64", "string", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip

float16: DType = ALL["float16"]
half: DType = float16
float32: DType = ALL["float32"]
float64: DType = ALL["float64"]
double: DType = float64
bfloat16: DType = ALL["bfloat16"]
int8: DType = ALL["int8"]
int16: DType = ALL["int16"]
int32: DType = ALL["int32"]
int64: DType = ALL["int64"]
uint8: DType = ALL["uint8"]
uint16: DType = ALL["uint16"]
uint32: DType = ALL["uint32"]
uint64: DType = ALL["uint64"]
complex64: DType = ALL["complex64"]
complex128: DType = ALL["complex128"]
string: DType = ALL["string"]
bool: DType = ALL["bool"]  # noqa: A001 - TensorFlow's name

__getattr__: Unavailable = unavailable(__name__, hints={"cast": "use tf.cast"})
