"""Tensors in bytes: serialised with their dtype and shape, or raw numbers.

::

    dtypes     the dtypes of tensors: TensorFlow's numbers and NumPy's dtypes, one row each
    strings    many byte strings: Python objects, or byte ranges of one buffer
    raw        decode_raw: strings that hold nothing but numbers
    serialize  serialize_tensor: an array to a TensorProto
    parse      parse_tensor, parse_tensors: TensorProtos to arrays, one or many

No I/O. Only ``parse`` needs the protobuf runtime.
"""
