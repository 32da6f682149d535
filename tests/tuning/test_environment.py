"""The facts that a result records."""

import json
import socket


def test_facts_name_no_machine(result):
    text = json.dumps(result.facts)
    assert "/" not in text.replace(result.facts["machine"]["processor"], "")
    assert socket.gethostname() not in text
