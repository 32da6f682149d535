"""Writes napkinxc_table.json: a small random case and what napkinXC's metrics say of it.

Run in an environment with napkinxc 0.7.2: ``python tests/integration/make_napkinxc_table.py``.
"""

import json
from pathlib import Path

import numpy as np
from napkinxc import metrics

N_POINTS, N_LABELS, K = 60, 25, 5

rng = np.random.default_rng(0)
chance = 0.5 / (1 + np.arange(N_LABELS))
train = [np.flatnonzero(rng.random(N_LABELS) < chance).tolist() for _ in range(300)]
true = [np.flatnonzero(rng.random(N_LABELS) < 2 * chance).tolist() for _ in range(N_POINTS)]
true[0] = []  # a point without labels
true[1] = [N_LABELS - 1]  # napkinXC counts labels up to the largest it meets
returned = []
for labels in true:
    others = rng.permutation(N_LABELS)[: rng.integers(0, K + 1)].tolist()
    mixed = list(dict.fromkeys(rng.permutation(labels + others).tolist()))
    returned.append([int(label) for label in mixed[:K]])

matrix = np.zeros((len(train), N_LABELS))
for row, labels in enumerate(train):
    matrix[row, labels] = 1
inverse_propensities = metrics.Jain_et_al_inverse_propensity(matrix)
results = {
    "precision_at_k": metrics.precision_at_k(true, returned, k=K),
    "recall_at_k": metrics.recall_at_k(true, returned, k=K),
    "ndcg_at_k": metrics.ndcg_at_k(true, returned, k=K),
    "coverage_at_k": metrics.coverage_at_k(true, returned, k=K),
    "macro_f1_at_k": metrics.macro_f1_measure_at_k(true, returned, k=K),
    "psp_at_k": metrics.psprecision_at_k(true, returned, inverse_propensities, k=K),
    "psndcg_at_k": metrics.psndcg_at_k(true, returned, inverse_propensities, k=K),
}
table = {
    "n_labels": N_LABELS,
    "train": train,
    "true": true,
    "returned": returned,
    "inverse_propensities": inverse_propensities.tolist(),
    "results": {name: values.tolist() for name, values in results.items()},
}
Path(__file__).with_name("napkinxc_table.json").write_text(json.dumps(table) + "\n")
