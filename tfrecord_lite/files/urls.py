"""URLs, as fsspec has them, and the names of files that belong to a data file.

::

    s3://bucket/train.tfrecord                         a file
    https://host/train.tfrecord ?signature=1a2b        a file, and what else the server receives
    zip://train.tfrecord        ::s3://bucket/a.zip    a file, and where the archive is
    simplecache::s3://bucket/train.tfrecord            a file, read through a cache

A name ends before the query and before the next link of a chain: patterns and the names of companions do.
"""

from __future__ import annotations

import re

SIDECAR_SUFFIX = ".schema.json"
INDEX_SUFFIX = ".idx"
"""Appended to the name of a data file for the name of its sidecar, and of its index."""

_SCHEME = r"(?:[A-Za-z][A-Za-z0-9+.\-]*::)*(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]+)://"
_URL = re.compile(_SCHEME)
_PARTS = re.compile(rf"(?P<name>{_SCHEME}.*?)(?P<rest>(?:::.*)?)", re.DOTALL)
_PATTERN, _HTTP_PATTERN = re.compile(r"[*?\[]"), re.compile(r"[*\[]")
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")  # as files/output names it


def base_of(name: str) -> str:
    """Return the last part of a path or URL."""
    return split_name(name)[0].rpartition("/")[2]


def is_url(name: str) -> bool:
    """Whether a name is a URL."""
    return _URL.match(name) is not None


def is_http(name: str) -> bool:
    """Whether a name is a URL of a web server."""
    url = _URL.match(name)
    return url is not None and url["scheme"].lower() in ("http", "https")


def split_name(name: str) -> tuple[str, str]:
    """Split a path or URL into the name of the file, and what follows it in a URL.

    >>> split_name("https://host/a?b=c"), split_name("zip://a::s3://b/c.zip")
    (('https://host/a', '?b=c'), ('zip://a', '::s3://b/c.zip'))
    """
    url = _PARTS.fullmatch(name)
    if url is None:
        return name, ""
    end = re.search(r"[?#]", url["name"]) if is_http(name) else None
    n = len(url["name"]) if end is None else end.start()
    return name[:n], name[n:]


def is_pattern(name: str) -> bool:
    """Whether a name has wildcards; a question mark is none in a URL of a web server."""
    wildcards = _HTTP_PATTERN if is_http(name) else _PATTERN
    return wildcards.search(split_name(name)[0]) is not None


def companion(name: str, suffix: str) -> str:
    """Return the name of the sidecar or index of a data file."""
    head, rest = split_name(name)
    return f"{head}{suffix}{rest}"


def is_companion(name: str) -> bool:
    """Whether a name belongs to a sidecar, an index, or a file that is still written."""
    base = base_of(name)
    return base.endswith((SIDECAR_SUFFIX, INDEX_SUFFIX)) or bool(_TEMPORARY.fullmatch(base))


def hint(name: str) -> str:
    """Say what may be wrong with the name of a file that does not exist, or nothing."""
    if name.startswith("~"):
        return "; '~' is not expanded here, os.path.expanduser does that"
    if re.search(r"\{[^{}/]*(\.\.|,)[^{}/]*\}", name):
        pattern = re.sub(r"\{[^{}/]*\}", "*", name)
        return f"; braces are not expanded here, a pattern matches the files: {pattern!r}"
    if re.match(r"[A-Za-z][A-Za-z0-9+.\-]+:/[^/]", name):
        return "; give a URL as a str, since pathlib.Path makes one slash of '//'"
    return ""
