"""tf.train.Example messages to columns and back.

::

    lists    N messages to the value lists of each feature, any legal encoding
    layout   the same for messages that all look alike, several times as fast
    parse    lists to dense, padded, ragged and sparse results: parse_example
    decode   without a schema: a dictionary a record

    runs     values of any dtype to int64, float32 or byte strings, or why not
    values   columns of any form to value lists
    encode   value lists to N messages: encode_examples
    rows     dictionaries, collected until they are worth a batch
    storing  columns of any dtype to what a schema brings back: schema_of, restore
    sequence SequenceExamples as dictionaries
"""
