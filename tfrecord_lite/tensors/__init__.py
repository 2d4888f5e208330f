"""Tensors in bytes: serialised with their dtype and shape, or raw numbers.

::

    dtypes     the dtypes of tensors: TensorFlow's numbers and NumPy's dtypes, one row each
    strings    many byte strings: Python objects, or byte ranges of one buffer
    serialize  serialize_tensor: an array to a TensorProto
    parse      parse_tensor(s): TensorProtos to arrays; decode_raw: strings of nothing but numbers

No I/O. Only parsing TensorProtos needs the protobuf runtime.
"""
