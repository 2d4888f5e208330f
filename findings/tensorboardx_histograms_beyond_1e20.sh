#!/usr/bin/env bash
# tensorboardX 2.6.5: histograms leave out values beyond 1e20, silently, and fail if there are no others.
#
# Seen: of the finite values 1, 1e30 and -1e30 the summary has num 3, and minimum and maximum are right, but its buckets
# hold one value. Of 1e30 and -1e30 alone add_histogram raises "The histogram is empty, please file a bug report.". So it
# is for any bins that are not given: their edges end at 1e20. Gradients that explode are what one looks for in such a
# histogram. Expected: the outer buckets hold them.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet tensorboardX==2.6.5 numpy==2.4.6
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import glob
import os

import numpy as np
from tensorboardX import SummaryWriter
from tensorboardX.proto.event_pb2 import Event

writer = SummaryWriter("run")
writer.add_histogram("h", np.array([1.0, 1e30, -1e30]), 0)
try:
    writer.add_histogram("none", np.array([1e30, -1e30]), 0)
    error = ""
except ValueError as raised:
    error = str(raised)
writer.close()
(path,) = glob.glob("run/events*")
data, at, histograms = open(path, "rb").read(), 0, []
while at < len(data):
    size = int.from_bytes(data[at : at + 8], "little")
    event = Event.FromString(data[at + 12 : at + 12 + size])
    histograms += [value.histo for value in event.summary.value if value.HasField("histo")]
    at += size + 16
(histogram,) = histograms
print(histogram.num, histogram.min, histogram.max, sum(histogram.bucket), repr(error))
assert (histogram.num, histogram.min, histogram.max) == (3, -1e30, 1e30)
assert sum(histogram.bucket) == 1
assert "The histogram is empty" in error
PYTHON
