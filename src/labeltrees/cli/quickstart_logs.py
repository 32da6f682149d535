"""labeltrees quickstart --logs: from a log of baskets to a model that answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from labeltrees import baselines
from labeltrees.cli.output import number, printable, step, typed_lines
from labeltrees.cli.tables import make_table
from labeltrees.data import Dataset
from labeltrees.datasets import load_shop_log
from labeltrees.logs import PreparedLogs, prepare_logs
from labeltrees.metrics import precision_at_k
from labeltrees.models.linear.estimator import LabelTreeClassifier

_KS = (1, 3, 5)
_TEST_SINCE = "2025-06-01"
_QUESTIONS = (["spaghetti", "garlic"], ["charcoal", "beer"], ["nappies"], ["coconut milk", "limes", "ginger"])


def quickstart_logs(out: Console, target: Path, n_jobs: int, show_progress: bool) -> None:
    """Prepare the bundled log, train, compare with baselines and answer questions."""
    with step("Preparing the log", show_progress):
        prepared = prepare_shop_log()
        prepared.save(target / "shop")
    train, test = prepared
    out.print(f"The log: {prepared.summary.events_read:,} purchases in a small food shop. It is synthetic.")
    out.print("Each basket with two or more products is a point. Half of its products are hidden: they are the labels")
    out.print(f"({train.n_labels:,} of them). The other half are its features.")
    out.print(
        f"{train.n_points:,} baskets before {_TEST_SINCE} are for training, {test.n_points:,} later ones for test.\n"
    )
    with step("Training", show_progress):
        model = LabelTreeClassifier(n_jobs=n_jobs).fit(train)
        model.save(target / "shop.model")
    out.print("How many of the proposed products were in the rest of the basket, compared with simple methods:\n")
    out.print(compare(model, train, test))
    answer = model.predictor(k=max(_KS), names=True, exclude_seen=True)
    for items in _QUESTIONS:
        show_proposal(out, answer, items)
    for line in typed_lines(out, "Type products, separated by commas"):
        show_proposal(out, answer, [item.strip() for item in line.split(",") if item.strip()])
    out.print(f"\nThe data is in {target / 'shop'}, the model in {target / 'shop.model'}. For your own log:")
    out.print("  labeltrees logs prepare YOUR-LOG.csv -o shop --context basket --item item --features basket")
    out.print("  labeltrees fit shop -o shop.model")
    out.print("\nNext steps:")
    question = '["tortillas", "limes"]'
    out.print(f"  labeltrees predict {target / 'shop.model'} --ask '{question}' --exclude-seen", markup=False)
    out.print(f"  labeltrees baselines {target / 'shop'}")
    out.print(f"  labeltrees evaluate {target / 'shop.model'} {target / 'shop'}")
    out.print(f"  labeltrees choose {target / 'shop'} -o {target / 'chosen.model'} --max-precision-loss 0.005")


def prepare_shop_log() -> PreparedLogs:
    """Return the bundled log, prepared for basket completion and split by time."""
    return prepare_logs(
        load_shop_log(),
        context="basket",
        weight="quantity",
        features="basket",
        test_since=_TEST_SINCE,
        min_engagement=0,
    )


def compare(model: LabelTreeClassifier, train: Dataset, test: Dataset) -> Any:
    """Return a table of the precision of the model, of best sellers and of items bought together."""
    methods: dict[str, Any] = {
        "best sellers": baselines.popularity(train),
        "bought together": baselines.co_occurrence(train),
        "label tree": model,
    }
    rows = []
    for name, method in methods.items():
        labels, _ = method.predict_topk(test.X, max(_KS))
        ids = {label: i for i, label in enumerate(train.label_names.tolist())} if train.label_names is not None else {}
        found = [[ids.get(label, -1) for label in row] for row in labels.tolist()]
        rows.append((name, *(number(100 * precision_at_k(test.Y, found, k), 1) for k in _KS)))
    return make_table(("", *(f"P@{k} (%)" for k in _KS)), rows)


def show_proposal(out: Console, answer: Any, items: list[str]) -> None:
    """Print what the model proposes to someone with these items."""
    labels, scores = answer(items)
    pairs = zip(labels, scores, strict=True)
    proposals = [f"{printable(str(name))} {score:.2f}" for name, score in pairs if name is not None]
    out.print(f"\n{printable(', '.join(items))}")
    out.print("  goes with " + (", ".join(proposals) or "nothing that the model knows"))
