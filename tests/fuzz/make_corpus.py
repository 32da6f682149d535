"""Write the small inputs that the fuzzer starts from: ``python -m tests.fuzz.make_corpus``."""

from __future__ import annotations

import gzip
import lzma
import shutil
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import labeltrees as lt
from labeltrees.data.encoder_file import write_encoder
from tests.fuzz.run import CORPUS
from tests.fuzz.targets import pack_folder

PEERS = Path(__file__).parents[1] / "data_files" / "peers"
FASTTEXT = Path(__file__).parents[1] / "models" / "text" / "data"
JSONL = b'{"text": "red cat", "labels": ["x"]}\n{"text": "red dog", "labels": ["x", "y"]}\n'
LOG = b"context,item,weight,time\n" + b"".join(
    b"red %s,%s,%d,2024-01-0%d\n" % (word, item, day, day)
    for day, (word, item) in enumerate([(b"cat", b"x"), (b"cat", b"y"), (b"dog", b"x"), (b"dog", b"y")] * 2, 1)
)


def put(target: str, name: str, data: bytes) -> None:
    """Write one input."""
    (CORPUS / target).mkdir(parents=True, exist_ok=True)
    (CORPUS / target / name).write_bytes(data)


def main() -> None:
    """Write all inputs; those that were found by fuzzing stay."""
    with tempfile.TemporaryDirectory() as temporary:
        _models(Path(temporary))
        _trees(Path(temporary))
        _tables(Path(temporary))
    put("xmc", "small", b"3 4 2\n0,1 0:0.5 3:2\n 1:1\n1 2:0.25\n")
    put("jsonl", "small", JSONL)
    put("gz", "small", gzip.compress(JSONL, mtime=0))
    put("xz", "small", lzma.compress(JSONL))
    put("csv", "small", b'text,labels\n"red, cat",x\nred dog,"x,y"\n')
    put("fasttext_text", "small", b"__label__x red cat\n__label__x __label__y red dog\n")
    put("annif", "small", b"red cat\t<http://x/1>\nred dog\t<http://x/1> <http://x/2>\n")
    put("vocabulary", "small", b'uri,label_en\nhttp://x/1,"cats, big"\n')
    put("events_csv", "small", LOG)
    put("http", "predict", b'\x00{"text": "red cat", "k": 2}')
    put("http", "predict_many", b'\x00{"texts": ["red cat", "blue"], "k": 2, "exclude": ["c"]}')
    put("http", "suggest", b"\x01text=red+cat&limit=2&threshold=0.1")
    put("http", "infer", b'\x02{"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["red cat"]}]}')


def _models(folder: Path) -> None:
    X, Y = np.eye(4, dtype=np.float32), np.eye(4)
    texts = ["red cat", "red dog", "blue cat", "blue dog"]
    labels = [["c"], ["d"], ["c"], ["d", "b"]]
    made = {
        "linear": lt.LabelTreeClassifier(fanout=2).fit(X, Y),
        "two_trees": lt.LabelTreeClassifier(fanout=2, n_trees=2).fit(lt.Dataset(X, Y, label_names=list("abcd"))),
        "texts": lt.LabelTreeClassifier(fanout=2).fit(texts, labels),
        "text": lt.TextLabelTreeClassifier(dim=4, epochs=1, min_count=1, buckets=40).fit(texts, labels),
    }
    for name, model in made.items():
        model.save(folder / name)
        put("model", name, pack_folder(folder / name))
    put("manifest", "linear", (folder / "linear" / "manifest.json").read_bytes())
    shutil.copy(FASTTEXT / "one_label.bin", folder / "a.bin")
    put("fasttext_bin", "one_label", (folder / "a.bin").read_bytes())
    made["text"].export_fasttext(folder / "b.bin")
    put("fasttext_bin", "bigrams", (folder / "b.bin").read_bytes())
    items = lt.encoders.ItemEncoder(["red", "cat", "dog"])
    words = lt.encoders.TextEncoder(lt.TfidfVectorizer().fit(texts))
    for name, encoder in {
        "items": items,
        "words": words,
        "union": lt.encoders.UnionEncoder({"a": items, "b": words}),
    }.items():
        write_encoder(encoder, folder / "encoder.bin")
        put("encoder", name, (folder / "encoder.bin").read_bytes())


def _trees(folder: Path) -> None:
    tree = lt.LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3)
    tree.save(folder / "a.tree")
    put("tree", "small", (folder / "a.tree").read_bytes())
    put("json_tree", "small", tree.to_json().encode())
    put("napkinxc", "huffman", (PEERS / "napkinxc_huffman.txt").read_bytes()[:400])
    put("omikuji", "small", (PEERS / "omikuji_model" / "tree0.cbor").read_bytes())


def _tables(folder: Path) -> None:
    dataset = lt.Dataset([[0.5, 0], [0, 2], [1, 1]], [[1, 0], [0, 1], [1, 1]], label_names=["a", "b"])
    lt.write_parts(dataset, folder / "parts", points_per_part=2)
    put("parts", "small", pack_folder(folder / "parts"))
    pl.DataFrame({"text": ["red cat", "red dog"], "labels": [["x"], ["x", "y"]]}).write_parquet(folder / "a.parquet")
    put("parquet", "small", (folder / "a.parquet").read_bytes())
    pl.read_csv(LOG).write_parquet(folder / "log.parquet")
    put("events_parquet", "small", (folder / "log.parquet").read_bytes())
    put_skos()
    rng = np.random.default_rng(0)
    for number in range(8):
        put("objects", f"random-{number}", rng.integers(0, 256, 200, np.uint8).tobytes())
    put("tensor", "small", bytes([0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2]))
    put("tensor", "long", bytes([1, *[0, 0, 0, 0, 3] * 100]))


def put_skos() -> None:
    """Write a small vocabulary in three forms."""
    names = 'xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="http://www.w3.org/2004/02/skos/core#"'
    put(
        "skos_xml",
        "small",
        f'<r:RDF {names}><s:Concept r:about="http://x/1"><s:prefLabel xml:lang="en">cats</s:prefLabel>'
        "<s:altLabel>felines</s:altLabel></s:Concept></r:RDF>".encode(),
    )
    put(
        "skos_turtle",
        "small",
        b"@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n@base <http://x/> .\n"
        b'<1> a s:Concept ; s:prefLabel "cats"@en, """katzen"""@de ; s:altLabel "felines" .\n',
    )
    put(
        "skos_triples",
        "small",
        b'<http://x/1> <http://www.w3.org/2004/02/skos/core#prefLabel> "cats"@en .\n'
        b'<http://x/1> <http://www.w3.org/2002/07/owl#deprecated> "1e9"'
        b"^^<http://www.w3.org/2001/XMLSchema#decimal> .\n",
    )


if __name__ == "__main__":
    main()
