#!/usr/bin/env bash
# torch 2.13.0: add_scalar(double_precision=True) stores a float32, unless new_style=True is given, too.
#
# Seen: of 16777217.0 the event has simple_value 16777216, with double_precision and without: the old style, which is the
# default, has a field of 32 bits. With new_style=True the event has a tensor of float64, and the number is exact. Nothing
# is said about it. Expected: an error or a warning, or the tensor.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 tensorboard==2.21.0 numpy==2.4.6
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray
from torch.utils.tensorboard import SummaryWriter

with SummaryWriter("run") as writer:
    writer.add_scalar("plain", 16777217.0, 0)
    writer.add_scalar("double", 16777217.0, 0, double_precision=True)
    writer.add_scalar("both", 16777217.0, 0, double_precision=True, new_style=True)
events = EventAccumulator("run")
events.Reload()
seen = {name: events.Scalars(name)[0].value for name in ("plain", "double")}
seen["both"] = float(make_ndarray(events.Tensors("both")[0].tensor_proto))
print(torch.__version__, seen)
assert seen == {"plain": 16777216.0, "double": 16777216.0, "both": 16777217.0}
PYTHON
