"""Tensors in bytes: serialised with their dtype and shape, or raw.

::

    dtypes     the dtypes of tensors: TensorFlow's numbers and NumPy's dtypes, one row each
    strings    many byte strings, in whatever form they come
    raw        decode_raw: bytes that are nothing but numbers
    serialize  serialize_tensor: an array to a TensorProto
    values     the elements of one TensorProto, by its content or its typed fields
    parse      parse_tensor, parse_tensors: TensorProtos to arrays, one or many

No I/O. Only ``parse`` needs the protobuf runtime.
"""
