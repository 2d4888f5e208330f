"""SequenceExample messages: a context, as an Example has, and lists of steps.

::

    parse      parse_sequence_example, SequenceExampleParser: messages to columns
    encode     encode_sequence_example(s): dictionaries or columns to messages
    batch      a batch of messages: their contexts, and the steps of their feature lists

Contexts are read and written as Examples, and the steps of all lists as a flat batch of Features.
"""
