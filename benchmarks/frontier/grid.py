"""The contestants: all models, and all searches of each model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

OURS, OURS_TEXT = "ours", "ours, from texts"
TRADEOFFS = (0.5, 1.0, 1.25, 1.5, 1.82)
FANOUTS = (256, 128, "auto")
TEXT_TRADEOFFS = (0.6667, 1.0, 1.333)
EPOCHS = {"arxiv-authors": 10}  # 25 elsewhere
AGREEMENTS = (0.999, 0.99, 0.9, 0.7)
MAX_DENSE_BYTES = 1e9  # of napkinXC's weights as dense vectors, which are faster for some models
BEAMS = (1, 2, 5, 10, 20)
CALLS = 1000  # single calls, with one query each


@dataclass(frozen=True)
class Search:
    """One way to search a model."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """A model that is trained once; in the charts, a line joins its searches."""

    contestant: str
    name: str
    script: str
    train: dict[str, Any]
    searches: tuple[Search, ...]
    texts: bool = False  # reads texts, not features
    two_threads: bool = True  # whether its batches can use two threads
    calls: int = CALLS  # maximum number of single calls
    environment: str = "peers"  # of a peer, see `peers_python`

    @property
    def ours(self) -> bool:
        """Whether it is a model of this library."""
        return self.contestant in (OURS, OURS_TEXT)


def models(set_name: str, facts: dict[str, Any]) -> list[Model]:
    """Return all models for a set, ours first."""
    dense_bytes = 4 * facts["labels"] * facts["features"]
    made = [*_ours(), *_pecos(), _omikuji(), *_napkinxc(dense_bytes < MAX_DENSE_BYTES), _libmultilabel()]
    if facts["texts"]:
        made += _from_texts(EPOCHS.get(set_name, 25))
    return made


def _ours() -> list[Model]:
    exact = Search("exact", {"beam": None})
    beams = [Search(f"beam {beam}", {"beam": beam}) for beam in (10, 5, 3, 2)]
    chunks = [Search(f"max_chunks {limit}", {"beam": None, "max_chunks": limit}) for limit in (2, 3, 5, 8)]
    made = [
        Model(
            OURS,
            f"tradeoff {t}, fanout {fanout}",
            "ours.py",
            {"tradeoff": t, "fanout": fanout},
            (exact, *_agreements(), *beams, *chunks),
        )
        for fanout in FANOUTS
        for t in TRADEOFFS
    ]
    three = Model(OURS, "tradeoff 1.0, 3 trees", "ours.py", {"n_trees": 3}, (exact, *_agreements(), *beams))
    return [*made, three]


def _agreements() -> list[Search]:
    return [Search(f"agreement {share}", {"agreement": share}) for share in AGREEMENTS]


def _pecos() -> list[Model]:
    searches = tuple(Search(f"beam {beam}", {"beam_size": beam}) for beam in BEAMS)
    return [
        Model("PECOS", f"PECOS {splits}-way", "pecos_xlinear.py", {"nr_splits": splits}, searches)
        for splits in (2, 16, 32)
    ]


def _omikuji() -> Model:
    searches = tuple(Search(f"beam {beam}", {"beam_size": beam}) for beam in BEAMS)
    return Model("omikuji", "omikuji", "omikuji_models.py", {}, searches, two_threads=False)


def _napkinxc(dense: bool) -> list[Model]:
    kinds = {"k-means": "hierarchicalKmeans", "Huffman": "huffman"}
    searches = (Search("exact"), *([Search("exact, dense weights", {"load_as": "dense"})] if dense else []))
    return [
        Model("napkinXC", f"napkinXC {name}", "napkinxc_models.py", {"tree_type": kind}, searches)
        for name, kind in kinds.items()
    ]


def _libmultilabel() -> Model:
    """Return its model, with its default beam only and fewer calls: a call takes tens of milliseconds.

    Ensembles of three trees are left out: with some seeds its k-means fails, because a cluster is empty.
    """
    return Model(
        "LibMultiLabel",
        "LibMultiLabel",
        "libmultilabel_trees.py",
        {},
        (Search("beam 10", {"beam_size": 10}),),
        two_threads=False,
        calls=100,
        environment="libmultilabel",
    )


def _from_texts(epochs: int) -> list[Model]:
    made = [
        Model(
            OURS_TEXT,
            f"softmax, tradeoff {tradeoff}",
            "ours_text.py",
            {"tradeoff": tradeoff, "epochs": epochs},
            (Search("exact"), *_agreements()),
            texts=True,
        )
        for tradeoff in TEXT_TRADEOFFS
    ]
    beams = [Search(f"beam {beam}", {"beam": beam}) for beam in (10, 3)]
    searches = (Search("exact", {"beam": None}), *_agreements(), *beams)
    made.append(Model(OURS_TEXT, "linear, tradeoff 1.0", "ours_linear_text.py", {"epochs": 0}, searches, texts=True))
    fasttext = {"epochs": epochs}
    made.append(
        Model("fastText", "fastText", "fasttext_model.py", fasttext, (Search("exact"),), texts=True, two_threads=False)
    )
    return made
