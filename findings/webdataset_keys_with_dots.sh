#!/usr/bin/env bash
# webdataset 1.0.2: TarWriter accepts keys with dots, and the reader makes one sample of several.
#
# Seen: samples with the keys v1.5 and v1.6 are written, each with a field txt, and one sample is read: its key is v1, its
# fields are 5.txt and 6.txt. A single v1.5 comes back under another key and field, too, as the first dot of a file name
# ends the key. Nothing is said when they are written or read. Two samples with one key and the same field are an error.
# A dot in a folder of the key is kept. Expected: an error from the writer, as this key cannot be read.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet webdataset==1.0.2
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import webdataset


def round_trip(*keys):
    with webdataset.TarWriter("a.tar") as writer:
        for key in keys:
            writer.write({"__key__": key, "txt": f"text of {key}"})
    samples = webdataset.WebDataset("a.tar", shardshuffle=False)
    return [
        {name: value for name, value in sample.items() if name == "__key__" or name[:2] != "__"}
        for sample in samples
    ]


merged, alone, folder = round_trip("v1.5", "v1.6"), round_trip("v1.5"), round_trip("v1.5/a")
print(merged, alone, folder)
assert merged == [{"__key__": "v1", "5.txt": b"text of v1.5", "6.txt": b"text of v1.6"}]
assert alone == [{"__key__": "v1", "5.txt": b"text of v1.5"}]
assert folder == [{"__key__": "v1.5/a", "txt": b"text of v1.5/a"}]
PYTHON
