"""What the main commands print, with fixed measurements: each scene prints to standard output."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from labeltrees import huffman_tree
from labeltrees.cli import choose, evaluate, inspect, logs, quickstart, sweep
from labeltrees.cli.baselines import print_comparison
from labeltrees.cli.calibrate import print_reliability
from labeltrees.cli.inspect_searches import print_work
from labeltrees.cli.output import console
from labeltrees.cli.quickstart import Compared
from labeltrees.logs.folder import LogSummary


def interval(value):
    return [value - 0.012, value + 0.011]


def evaluation():
    values = {"precision": 0.7512, "recall": 0.5234, "f1": 0.6, "ndcg": 0.7123, "coverage": 0.1234}
    estimates = {name: {k: value / k**0.5 for k in (1, 3, 5)} for name, value in values.items()}
    estimates["intervals"] = {name: {k: interval(own[k]) for k in own} for name, own in estimates.items()}
    record = {
        "model": "products.model",
        "data": "products/",
        "n_points": 12345,
        **estimates,
        "weighted": estimates,
        "psp": {1: 0.3, 3: 0.35, 5: 0.4},
        "expected_depth": {1: 1.23, 3: 1.9, 5: 2.5},
        "beam": 10,
        "agreement": None,
        "label_weight": None,
        "rules": {},
        "k": 5,
        "chunks": 12.3,
        "classifiers": 1234.5,
        "single_calls": 2000,
        "microseconds": {"p50": 12.3, "p99": 123.4},
        "disk_bytes": 123_456_789,
        "reliability": None,
        "sets": {
            "threshold": 0.5,
            "proba": True,
            "without_labels": 0.123,
            "precision": 0.8123,
            "recall": 0.4123,
            "f1": 0.5123,
            "labels_per_point": 2.345,
            "intervals": {name: interval(0.5) for name in ("precision", "recall", "f1")},
        },
    }
    evaluate._print(record)


def sweep_result():
    table = [
        {
            "setting": f"s{i}",
            "tradeoff": i / 3,
            "fanout": 128,
            "cover": "marginal",
            "path": "weighted",
            **{f"p{k}": (0.8 - i / 50) / k**0.5 for k in (1, 3, 5)},
            "depth1": 2.0 - i / 5,
            "chunks": 5.2 + i,
            "top5_p50_us": 6.1 + i,
            "top5_p99_us": 1021.3 + i,
            "training_seconds": 1234.5,
            "model_bytes": 4_300_000_000,
        }
        for i in range(4)
    ]
    return SimpleNamespace(ks=(1, 3, 5), table=table, chosen="s1", facts={}, frontier=lambda _x, _y: table[:2])


def sweep_table():
    console().print(sweep.result_table(sweep_result()))


def baseline_records():
    kinds = ("popularity", "recent popularity", "co-occurrence", "neighbours")
    names = ("p1", "p3", "p5", "recall5", "fscore5", "ndcg5", "coverage5")
    return [
        {"baseline": name, **dict.fromkeys(names, share), "intervals": dict.fromkeys(names, interval(share))}
        for name, share in zip(kinds, (0.12, 0.15, 0.2, 0.3), strict=True)
    ]


def baselines():
    print_comparison(console(), baseline_records(), (1, 3, 5))


def searches():
    spread = {"mean": 12.34, "p50": 10.0, "p99": 1234.5}
    record = {
        "k": 5,
        "beam": 10,
        **dict.fromkeys(("features", "nodes", "needed", "microseconds"), spread),
        "needed_share": 0.58,
        "counts": {"nonzeros": 42.1, "children": 409.9, "heap_steps": 12.0, "path_visits": 0.0},
        "by_depth": [{"depth": depth, "nodes": 1.0 + depth, "needed": 1.0} for depth in range(3)],
    }
    print_work("products.model on 1,000 of 1,464 points of products/", SimpleNamespace(summary=lambda: record))


def reliability():
    bins = [
        {
            "low": low / 10,
            "high": (low + 1) / 10,
            "n_labels": 12345 // (low + 1),
            "probability": low / 10 + 0.05,
            "correct": low / 10 + 0.04,
            "correct_low": low / 10 + 0.03,
            "correct_high": low / 10 + 0.06,
        }
        for low in range(10)
    ]
    record = {"error": 0.0123, "brier": 0.0936, "bins": bins}
    print_reliability(console(), record, {"error": 0.073, "brier": 0.1013})


def chosen():
    result = sweep_result()
    names = ("p1", "p3", "p5", "ndcg5")
    for record in result.table:
        record["ndcg5"] = record["p1"]
    record = result.table[1]
    result.baselines = baseline_records()
    result.facts = {"data": {"n_validation_points": 12345}, "measured": {"baseline_points": 5000}}
    result.details = {"settings": {"s1": {"intervals": {name: interval(record[name]) for name in names}}}}
    result.record = lambda _setting: record
    explanation = (
        "Tradeoff 0.3333 with fanout 128 is the fastest setting whose P@1 is, with 95 % confidence, at most 0.5 "
        "percentage points below that of the best."
    )
    result.facts |= {"metric": "p1", "compared_trees": True}
    cost = {"us_per_call": 12.3, "training_seconds": 4.5, "model_bytes": 67_000_000}
    steps = [
        {"step": "as given", "metric": 0.7512, "gain": None, "why": "", **cost},
        {"step": "three trees", "metric": 0.7590, "gain": 0.0078, "why": "taken", **cost},
    ]
    choice = SimpleNamespace(result=result, explanation=explanation, steps=steps)
    choose._print(choice, "products.model", "products.json", None)


def inspected():
    tree = huffman_tree(1.0 / np.arange(1, 2001))
    record = {
        "model": "products.model",
        "has_label_names": True,
        "has_feature_names": True,
        "takes_texts": True,
        "takes": "texts",
        "retired": [],
        "n_labels": 123456,
        "n_features": 1234567,
        "n_points": 12345678,
        "parameters": {"tradeoff": 1.3333333333, "fanout": "auto", "loss": "squared_hinge", "max_iter": 100},
        "evidence": {"used": False, "held_out_points": 900, "gain": 0.001, "gain_lower": -0.002},
        "vocabulary": None,
        "C": [0.3, 1.0, 3.0],
        "disk_bytes": 4_300_000_000,
        "n_weights": 987654321,
        "files": {"manifest.json": 12345, "chunks/weights.bin": 4_200_000_000, "label_names/text.npy": 99_987_655},
    }
    inspect._print(SimpleNamespace(KIND="linear model", trees_=[tree]), record)


def prepared_logs():
    part = {"n_points": 1234567, "n_labels_with_points": 98765, "n_features": 123456}
    shape = {**part, "labels_a_point": 2.345, "features_a_point": 12.3456}
    summary = LogSummary(
        events_read=12345678,
        events_dropped={"without a context": 123, "items with fewer than 2 contexts": 4567890},
        events_used={"training": 7000000, "testing": 777665},
        pairs={"different pairs of a context and an item": 6543210},
        contexts={"read": 2345678, "with at least two items": 1234567},
        items={"read": 123456, "kept": 98765},
        notes={"events with a time in the future": 12},
        leakage={"contexts in both training and testing": 0},
        train=shape,
        test={**shape, "n_points": 12345},
        first_event="2026-01-01 00:00:00",
        last_event="2026-02-01 00:00:00",
        columns={},
        settings={},
        files=[],
        files_left_out=[],
    )
    logs._print(SimpleNamespace(summary=summary), "products")


def quickstart_comparison():
    rows = [
        Compared(tradeoff, (np.arange(10_000) < 6500 - 100 * i).astype(float), 2.5 - i / 2, 1012.3 - 300 * i)
        for i, tradeoff in enumerate((0.0, 0.6667, 1.3333, 2.0))
    ]
    quickstart.print_comparison(console(), rows, {"tradeoff": 1.3333, "fanout": 128})
    quickstart.print_next(console(), Path("labeltrees-quickstart"))


SCENES = {
    "evaluate": evaluation,
    "sweep": sweep_table,
    "baselines": baselines,
    "searches": searches,
    "reliability": reliability,
    "choose": chosen,
    "inspect": inspected,
    "logs": prepared_logs,
    "quickstart": quickstart_comparison,
}
