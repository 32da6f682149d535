"""Make the small examples in tests/data_files/peers with the peers, and their contents as the peers read them.

    python benchmarks/peers/make_examples.py

omikuji's random numbers have no seed, so its tree differs between runs; expected.json comes from the same run.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.peers.exchange_check import ask, prepare  # noqa: E402

TARGET = ROOT / "tests" / "data_files" / "peers"
FILES = {
    "pecos_own": "pecos_chain",
    "napkinxc_kmeans/tree.txt": "napkinxc_kmeans.txt",
    "napkinxc_huffman/tree.txt": "napkinxc_huffman.txt",
    "omikuji_collapsed/settings.json": "omikuji_model/settings.json",
    "omikuji_collapsed/tree0.cbor": "omikuji_model/tree0.cbor",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        pecos, napkinxc, omikuji = (ask(command, folder) for command in ("pecos", "napkinxc", "omikuji"))
        for source, target in FILES.items():
            (TARGET / target).parent.mkdir(parents=True, exist_ok=True)
            if (folder / source).is_dir():
                shutil.copytree(folder / source, TARGET / target, dirs_exist_ok=True)
            else:
                shutil.copyfile(folder / source, TARGET / target)
    expected = {
        "pecos_clusters": pecos["own"],
        "napkinxc_kmeans": napkinxc["kmeans"]["rows"],
        "napkinxc_huffman": napkinxc["huffman"]["rows"],
        "omikuji": omikuji["omikuji_collapsed"][0],
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in expected.items()]
    (TARGET / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
