#!/usr/bin/env bash
# fsspec 2026.9.0: the end of a file cannot be asked for through simplecache and filecache.
#
# Seen: cat_file(path, start=-3) and cat_file(path, end=-2), as a reader of footers calls them, return the right bytes from
# a file system in memory. Through simplecache and filecache of the same file they raise AttributeError
# ("'_io.BufferedReader' object has no attribute 'size'"), and so does read_block. Positive places and tail() work.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet fsspec==2026.9.0
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import fsspec

DATA = b"0123456789"
memory = fsspec.filesystem("memory")
memory.pipe("/a", DATA)
systems = {"memory": memory}
for name in ("simplecache", "filecache"):
    systems[name] = fsspec.filesystem(name, fs=memory, cache_storage=name)
seen = {}
for name, system in systems.items():
    for start, end in ((2, 5), (-3, None), (None, -2)):
        try:
            seen[name, start, end] = system.cat_file("/a", start=start, end=end) == DATA[start:end]
        except AttributeError as error:
            seen[name, start, end] = str(error)
    assert system.tail("/a", 3) == DATA[-3:]
    try:
        seen[name, "block"] = system.read_block("/a", 2, 3) == DATA[2:5]
    except AttributeError as error:
        seen[name, "block"] = str(error)
print(seen)
for name in systems:
    assert seen[name, 2, 5] is True
for name in ("simplecache", "filecache"):
    assert "no attribute 'size'" in seen[name, -3, None]
    assert "no attribute 'size'" in seen[name, None, -2]
    assert "no attribute 'size'" in seen[name, "block"]
assert seen["memory", -3, None] is seen["memory", None, -2] is True
PYTHON
