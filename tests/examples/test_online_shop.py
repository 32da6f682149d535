"""The online shop example, on a small log in the same format."""

import lzma
import sys

import numpy as np
import pytest

from examples import online_shop

HEADER = "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country\n"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    rng = np.random.default_rng(0)
    lines = ["1,POST,Postage,1,2011-01-01 08:00:00,1,100.0,UK", "2,20001,Thing,1,2011-01-01 08:00:00,1,,UK"]
    for invoice in range(400):
        customer, day = 100 + invoice % 40, invoice * 330 // 400
        prefix = "C" if invoice % 10 == 0 else ""
        date = np.datetime64("2011-01-10") + day
        for article in 20000 + customer % 4 * 10 + rng.permutation(10)[:4]:
            sign = -1 if prefix else 1
            lines.append(f'{prefix}{invoice},{article},"Thing, {article}",{sign},{date} 08:26:00,1,{customer}.0,UK')
    path = tmp_path_factory.mktemp("shop") / "events.csv.xz"
    path.write_bytes(lzma.compress((HEADER + "\n".join(lines) + "\n").encode()))
    return path


def test_the_past_of_an_invoice_is_what_its_customer_bought_before(log):
    frame = online_shop.read_invoices(str(log))
    sales = [
        (row["CustomerID"], row["InvoiceDate"], row["StockCode"], row["context"], row["past"])
        for row in frame.iter_rows(named=True)
        if row["context"] is not None and row["bought"]
    ]
    seen = set()
    for customer, date, _, context, past in sales:
        expected = {item for other, then, item, _, _ in sales if other == customer and then < date}
        assert set(past or ()) == (expected if context not in seen else set())
        seen.add(context)
    assert len(seen) == 360


@pytest.mark.parametrize("split", ["time", "random"])
def test_the_example_runs(log, split, monkeypatch, capsys):
    arguments = [
        "online_shop.py",
        str(log),
        "--seeds",
        "2",
        "--split",
        split,
        "--setting",
        "default",
        "--tradeoffs",
        "0",
        "1",
    ]
    monkeypatch.setattr(sys, "argv", arguments)
    online_shop.main()
    printed = capsys.readouterr().out
    assert "of which 1 are not about an article (POST, ...)" in printed
    assert "| - no context | 1 |" in printed
    assert "| - weight not above 0 | 160 |" in printed
    assert "Lowest depth@1 with at least the P@1 of tradeoff 0" in printed


@pytest.mark.parametrize("split", ["time", "random"])
def test_the_comparison_ends_with_answers(log, split, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["online_shop.py", str(log), "--split", split])
    monkeypatch.setattr(online_shop, "TUNED", ["n_trees"])
    online_shop.main()
    printed = capsys.readouterr().out
    assert "test events before a training event of the same context: 0" in printed
    for method in (
        "best sellers",
        "best sellers of the last 30 days",
        "item to item",
        "label tree, default",
        "label tree, chosen",
    ):
        assert method in printed
    assert printed.count("  next: Thing") == 3
    assert "From ten items to five names: median" in printed
