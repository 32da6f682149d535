"""Models of stock fastText 0.9.3 (scripts/make_fasttext_files.py), and its Huffman tree in Python."""

import base64
import json
from pathlib import Path

import labeltrees as lt

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "expected.json").read_text())
QUERIES = [base64.b64decode(query).decode() for query in EXPECTED["queries"]]
MODELS = list(EXPECTED["models"])


def imported(name):
    return lt.TextLabelTreeClassifier.from_fasttext(DATA / f"{name}.bin")


def huffman_twin(counts):
    """What fastText makes of counts: the two children of each node in the order it makes them, labels as ~label."""
    total, children = list(counts), []
    leaf, node = len(counts) - 1, len(counts)
    for _ in range(len(counts) - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and counts[leaf] < (total[node] if node < len(total) else 1e15):
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(node)
                node += 1
        children.append([~child if child < len(counts) else child - len(counts) for child in pair])
        total.append(total[pair[0]] + total[pair[1]])
    return children
