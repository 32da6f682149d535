"""Facts about the machine, and example searches for a report."""

import json
import socket

import pytest

import labeltrees as lt
from labeltrees.tuning.data import as_tuning_data
from labeltrees.tuning.details import Examples


def test_facts_do_not_identify_the_machine(result):
    text = json.dumps(result.facts)
    assert "/" not in text.replace(result.facts["machine"]["processor"], "")
    assert socket.gethostname() not in text


@pytest.mark.parametrize("settings", [{"beam": None}, {"beam": 2}, {"loss": "logistic"}])
def test_examples_show_the_nodes_that_the_search_opens(train, validation, settings):
    model = lt.LabelTreeClassifier(tradeoff=0.5, fanout=3, **settings).fit(train.X, train.Y)
    data = as_tuning_data(validation, "validation", model)
    examples = Examples(data, 5, 0)
    for record in examples.search(model, data):
        assert len(record["visits"]) == record["chunks"]
        assert record["visits"][0] == [0, 1.0]


def test_examples_show_the_depths_of_labels_and_the_visited_nodes(train, result):
    details = result.details["settings"]["tradeoff-0_fanout-2_marginal_weighted"]
    for example, record in zip(result.details["examples"], details["looks"], strict=True):
        assert [label["name"] for label in record["labels"]] == example["labels"]
        assert len(record["visits"]) == min(record["chunks"], 40)
        assert len(record["answers"]) == 5
        for answer in record["answers"]:
            assert answer["right"] == (answer["name"] in example["labels"])
            assert len(answer["path"]) == answer["depth"]
