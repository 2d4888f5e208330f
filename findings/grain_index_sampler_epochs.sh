#!/usr/bin/env bash
# grain 0.2.18: IndexSampler with ShardOptions deals what is left over of one epoch into the next.
#
# Seen, for 1,003 records and two shards: in one epoch the shards have 501 records each, and one record is in neither. In
# two epochs there are 1,003 records a shard, and some records come three times while others come once. Nothing warns.
# Expected: each record once an epoch, or twice in two, as slices of a MapDataset give them.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet grain==0.2.18
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
from collections import Counter

import grain

N = 1003


def loaded(num_epochs):
    """Return how many records each shard has, and how often records come: {times: records}."""
    shards = []
    for index in range(2):
        options = grain.sharding.ShardOptions(shard_index=index, shard_count=2)
        sampler = grain.samplers.IndexSampler(N, options, shuffle=False, num_epochs=num_epochs, seed=1)
        shards.append([int(i) for i in grain.DataLoader(data_source=range(N), sampler=sampler)])
    times = Counter(Counter(i for shard in shards for i in shard).values())
    return [len(shard) for shard in shards], dict(times)


def sliced():
    """Return the same of slices of a MapDataset."""
    shards = [[int(i) for i in grain.MapDataset.range(N)[index::2]] for index in range(2)]
    return dict(Counter(Counter(i for shard in shards for i in shard).values()))


one, two = loaded(1), loaded(2)
print("one epoch", *one, "two epochs", *two, "slices", sliced())
assert one == ([501, 501], {1: 1002})
assert set(two[1]) != {2}
assert sliced() == {1: N}
PYTHON
