"""tf.train.Example messages to columns and back.

::

    lists    N messages to the value lists of each feature, any legal encoding
    layout   the same for messages that all look alike, several times as fast
    parse    lists to dense, padded, ragged and sparse results: parse_example
    decode   without a schema: a dictionary a record
"""
