"""Files as streams of bytes.

`names` paths, URLs, patterns and shards · `compression` the codecs and their options ·
`inflate` decompression in constant memory · `input` and `output` open files · `remote` URLs · `atomic` files
that appear complete · `locking` one writer at a time.
"""
