"""What people type, and what it is called here: for errors, by which nobody has to look words up."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

VERBS: dict[str, tuple[str, ...]] = {
    "info": ("ls", "list", "inspect", "describe", "file", "size", "du", "summary"),
    "head": ("show", "print", "peek", "first", "take", "top", "less", "tail", "get"),
    "cat": ("dump", "records"),
    "view": ("open", "browse", "browser", "html", "page", "visualize", "plot", "explore"),
    "schema": ("features", "columns", "fields", "types", "infer", "keys"),
    "stats": ("statistics", "profile", "histogram", "summarize"),
    "diff": ("compare", "cmp"),
    "verify": ("validate", "check", "fsck", "lint", "test", "crc", "checksum"),
    "recover": ("repair", "fix", "salvage", "rescue", "restore"),
    "count": ("wc", "len", "length", "num"),
    "index": ("idx", "reindex", "tfrecord2idx"),
    "merge": ("join", "concat", "concatenate", "combine", "append", "collect", "compress", "decompress"),
    "split": ("shard", "reshard", "partition", "chunk", "divide", "train-test-split"),
    "unique": ("dedup", "dedupe", "deduplicate", "uniq", "distinct"),
    "sample": ("subset", "subsample", "random"),
    "shuffle": ("shuf", "mix", "randomize", "permute"),
    "filter": ("grep", "where", "find", "search"),
    "sql": ("query", "select", "duckdb"),
    "convert": ("export", "import", "csv", "parquet", "json", "jsonl", "arrow", "save", "load", "write", "create"),
    "pack": ("images",),
    "unpack": ("extract",),
    "events": ("tensorboard", "scalars"),
}  # fmt: skip
"""Words for each verb; ``to-csv`` and the like are ``convert`` too."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "--limit": ("records", "num-records", "rows", "num-rows", "max-rows", "max-records", "head", "take", "count", "num", "number", "lines", "n", "sample", "size"),
    "--sample": ("sample-size",),
    "--skip-damage": ("on-error", "ignore-errors", "skip-errors", "skip", "skip-bad", "keep-going"),
    "--compression": ("compression-type", "codec", "input-compression", "decompress"),
    "--output-compression": ("compress",),
    "--where": ("filter", "condition", "expr", "predicate"),
    "--columns": ("features", "fields", "select", "keys", "cols", "column", "feature", "usecols"),
    "--output": ("o", "out", "html", "output-file", "file", "dest"),
    "--overwrite": ("force", "yes", "replace", "clobber"),
    "--num-shards": ("shards", "num-files", "files"),
    "--bytes-per-shard": ("shard-bytes", "shard-size", "max-shard-size", "size"),
    "--records-per-shard": ("shard-records",),
    "--jobs": ("workers", "num-workers", "threads", "num-threads", "processes", "parallel"),
    "--message": ("proto", "message-class", "message-type", "type", "class"),
    "--seed": ("random-state", "random-seed"),
    "--fractions": ("test-size", "train-size", "test-split", "validation-split"),
    "--from": ("input-format", "from-format"),
    "--to": ("format", "output-format", "to-format"),
    "--text": ("utf8", "strings", "decode"),
    "--full": ("verbose", "wide", "long", "no-truncate"),
    "--json": ("jsonl", "as-json"),
    "--memory": ("memory-bytes", "buffer-size"),
    "--record": ("index", "row"),
    "--fraction": ("frac", "ratio", "rate"),
    "--variable": ("ragged",),
}  # fmt: skip
"""What Python, other programs, and this one before call an option."""

OF_PYTHON = {
    r"(?:store|save) it (?:as it is, )?with (?:lossless=True, or with )?the schema of schema_of\(columns, lossless=True\)": "--lossless stores it as it is",
    r"(, or with the schema of )?schema_of\(.*?\)": "",
    r"; make the schema with schema_of, from columns that have all values": "; give a --schema of a wider dtype",
    r"leave out restore, or give a schema with (an Original of a wider dtype|a wider Original)": "give another --schema, or leave the feature out",
    r"pass sample=None, or schema": "give --sample all, or --schema",
    r"\bgive (?:a )?schema\b": "give --schema",
    r"give it as (labels|schema)\b": r"give it with --\1",
    r"and text by name": "and --text by name",
    r"pass default_value=": "give it a default_value in the schema, ? in --features",
    r"saved with one schema=": "saved with one schema",
    r"infer_schema makes (one of its|a schema of the) records": "tfrecord schema --json makes one of records",
    r"load_schema reads it(, load_tfds its directory)?": "--schema takes it",
    r"as columns=\[\.\.\.\]": "with --columns",
    r"; load (it|them) with as_=None": "",
    r"(lossless|overwrite)=True": r"--\1",
    r", or merge_files with a TFRecordReader\(files, on_error='skip'\)": "",
    r"on_error='skip'": "--skip-damage",
    r"or give the compression, as 'none'": "or give --output-compression none",
    r"pandas\.read_parquet reads it": "tfrecord convert --from parquet reads it",
    r"pyarrow\.(feather\.read_table|ipc\.open_stream) reads it": "tfrecord convert --from arrow reads it",
    r"TFRecordReader\(path\)\.messages\(YourMessage\) reads them, tfrecord head shows their fields": "tfrecord head --message MODULE:CLASS names their fields",
    r"tfrecord_lite\.apps\.events\.read_events reads them": "tfrecord events prints their scalars",
    r"TFRecordReader\(path\)\.examples\(\) gives each record as it is": "tfrecord cat prints each record as it is",
    r"TFRecordReader\(path\)\.\w+\(\) reads them": "without --message they are shown",
    r"iterating over TFRecordReader\(path\) returns their bytes": "tfrecord cat prints them",
    r"read them with (sequence_examples\(\).*?parse_sequence_example|TFRecordReader\(path\)\.messages\(\S+\))": "tfrecord cat prints them",
    r"read it in order \(TFRecordReader, .*?\(TFRecordWriter\)": "tfrecord merge writes its records to an uncompressed file",
    r"load, read_batches and TFRecordReader read it|load_tfds reads it, and read_batches .* of tfrecord_lite\.apps\.tfds": "tfrecord head, stats and convert read it",
}
"""What errors of the package advise, and how the command line says it."""

_KEYWORD = re.compile(
    r"(?<!['\w-])(max_(?:record_bytes|inflated_bytes|inflated_ratio)|(?:image|filename|label|text)_key|num_shards|(?:bytes|records)_per_shard)\b(=?)"
)
"""A keyword that is an option of the same name."""


OF_VERBS = {
    "sql": {"choose other columns with --columns": "name other columns in SELECT"},
    "filter": {"choose columns without it, or give": "give"},
}
"""What a verb says instead, as it has no option for it."""


def shell_text(text: str, verb: str = "") -> str:
    """Return an error of the package in the words of the command line, or of a verb."""
    for of_python, of_shell in (OF_PYTHON | OF_VERBS.get(verb, {})).items():
        text = re.sub(of_python, of_shell, text)
    return _KEYWORD.sub(lambda m: f"--{m[1].replace('_', '-')}{' ' if m[2] else ''}", text)


def verb_meant(word: str, verbs: Collection[str]) -> str | None:
    """Return the verb of some that a word probably means."""
    word = word.lower().replace("_", "-")
    if re.match(r"(to|from|as)(-|csv|tsv|json|parquet|arrow)", word):
        return "convert"
    if word == "version":
        return "--version"
    from difflib import get_close_matches  # noqa: PLC0415 - for errors alone

    exact = [verb for verb, words in VERBS.items() if verb in verbs and word in words]
    return next(iter(exact or get_close_matches(word, verbs, 1)), None)


def option_hint(option: str, verb: str, options_of: Mapping[str, Sequence[str]]) -> str:
    """Return what to say of an unknown option: the one that was probably meant, or the verbs that have it."""
    name = option.partition("=")[0].replace("_", "-").lower()
    word = name.lstrip("-")
    names = [name, *(own for own, words in OPTIONS.items() if word in words)]
    from difflib import get_close_matches  # noqa: PLC0415 - for errors alone

    own = options_of[verb]
    if "--output" in names and "--output" not in own:
        writes = "--overwrite" in own or verb in ("recover", "unpack")
        printed = "it writes FILE.idx" if verb == "index" else "redirect what it prints: > FILE"
        return "the last argument is what to write" if writes else printed
    near = [one for one in names if one in own] or [one for one in own if one.startswith(name)]
    if word in ("sep", "delimiter", "separator") and "--to" in own:
        return "the endings .csv and .tsv, or --from and --to, say what divides columns"
    near = near or get_close_matches(name, own, 1, 0.75 if len(word) > 3 else 0.9)
    if near:
        return f"did you mean {near[0]}?"
    others = [other for other, options in options_of.items() if set(names) & set(options)]
    return f"it is an option of {', '.join(others)}" if others else ""
