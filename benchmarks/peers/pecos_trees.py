"""Run in the peers' environment: build trees with PECOS' hierarchical k-means on request.

Argument: an .npz of label embeddings. Request: {"seed", "leaf_size", "threads", "folder"}; the tree is saved in folder.
"""

import json
import sys
import time

import numpy as np
import scipy.sparse as sp
from pecos.xmc import Indexer

embeddings = sp.csr_matrix(sp.load_npz(sys.argv[1]), dtype=np.float32)
for line in sys.stdin:
    request = json.loads(line)
    wall, cpu = time.perf_counter(), time.process_time()
    chain = Indexer.gen(
        embeddings,
        indexer_type="hierarchicalkmeans",
        nr_splits=2,
        max_leaf_size=request["leaf_size"],
        seed=request["seed"],
        threads=request["threads"],
        spherical=True,
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    chain.save(request["folder"])
    print(json.dumps({"seconds": wall, "cpu": cpu}), flush=True)
