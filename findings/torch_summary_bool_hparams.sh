#!/usr/bin/env bash
# torch 2.13.0: add_hparams stores a bool as the number 1, though its code has a type for bools.
#
# Seen: of {"augment": True} the run has number_value 1 and the experiment says DATA_TYPE_FLOAT64, so that TensorBoard
# filters it as a range of numbers. tensorboardX 2.6.5, which has the same call, stores bool_value true and
# DATA_TYPE_BOOL. The check for int, which a bool is, comes before the one for bool. Expected: a bool.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 tensorboard==2.21.0 tensorboardX==2.6.5 numpy==2.4.6
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import tensorboardX
import torch
import torch.utils.tensorboard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData


def content(folder, tag):
    events = EventAccumulator(folder)
    events.Reload()
    return HParamsPluginData.FromString(events.SummaryMetadata(tag).plugin_data.content)


seen = {}
writers = {"torch": (torch.utils.tensorboard, {"run_name": "run"}), "X": (tensorboardX, {"name": "run"})}
for name, (module, options) in writers.items():
    with module.SummaryWriter(name) as writer:
        writer.add_hparams({"augment": True}, {"accuracy": 0.5}, **options)
    value = content(f"{name}/run", "_hparams_/session_start_info").session_start_info.hparams["augment"]
    (info,) = content(f"{name}/run", "_hparams_/experiment").experiment.hparam_infos
    seen[name] = (value.WhichOneof("kind"), info.type)
print(torch.__version__, seen)
assert seen == {"torch": ("number_value", 3), "X": ("bool_value", 2)}
PYTHON
