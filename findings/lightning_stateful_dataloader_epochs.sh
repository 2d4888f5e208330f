#!/usr/bin/env bash
# Lightning 2.6.6 with torchdata 0.11.0: resuming a checkpoint of an epoch's last step skips the whole next epoch.
#
# Seen, in 3 epochs of 8 steps with a StatefulDataLoader: from the checkpoint of step 8 training goes on with epoch 2, and
# from that of step 16 it ends at once; 8 batches are never trained on, and nothing is said. From steps 4, 12 and 20 all
# that is left is trained on. With torch's own DataLoader, in the same script, all five are right. A state that is taken
# after the last batch, but before the loader's iterator has ended, makes the next epoch empty, and the one after it whole.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet lightning==2.6.6 torchdata==0.11.0 torch==2.13.0 numpy==2.4.6
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import logging
import warnings

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
batches = []


class Model(LightningModule):
    def __init__(self, loader):
        super().__init__()
        self.layer, self.loader = torch.nn.Linear(1, 1), loader

    def train_dataloader(self):
        return self.loader(TensorDataset(torch.arange(64)), batch_size=8)

    def training_step(self, batch, number):
        batches.append(batch[0].tolist())
        return self.layer(batch[0][:, None].float()).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


def trainer(*callbacks):
    return Trainer(
        accelerator="cpu", max_epochs=3, logger=False, callbacks=list(callbacks), enable_progress_bar=False,
        enable_model_summary=False, enable_checkpointing=bool(callbacks),
    )


seen = {}
for loader in (DataLoader, StatefulDataLoader):
    folder = loader.__name__
    trainer(ModelCheckpoint(folder, "{step}", save_top_k=-1, every_n_train_steps=4)).fit(Model(loader))
    for step in (4, 8, 12, 16, 20):
        batches.clear()
        trainer().fit(Model(loader), ckpt_path=f"{folder}/step={step}.ckpt")
        seen[folder, step] = len(batches)
print(seen)
assert [seen["DataLoader", step] for step in (4, 8, 12, 16, 20)] == [20, 16, 12, 8, 4]
assert [seen["StatefulDataLoader", step] for step in (4, 8, 12, 16, 20)] == [20, 8, 12, 0, 4]
PYTHON
