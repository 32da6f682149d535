"""What every text contestant does: trains on a file, answers texts. Runs in any environment.

Requests: {"do": "train", "file", "seed", "threads", "epochs", "save"} -> seconds, words_per_second (a thread, of the
training itself), peak_mib; {"do": "load", "save"} -> nothing: opens what a training has saved;
{"do": "answer", "texts", "n", "repeats", "out"} -> microseconds a call (best of the repeats, mean over the first n
texts), labels of all texts saved to out, one JSON list a line;
{"do": "batch", "texts", "threads", "repeats", "at_least", "out"} -> seconds (best of the repeats, of more if they take
less than the seconds at_least) of one call with all texts;
{"do": "single", "texts", "n"} -> p50, p99 in microseconds over the first n texts, one call each. The last two take
"settings" of the search, where the contestant has some.
"""

import json
import sys
import time

from protocol import best_of, call_times, peak_mib, percentiles

SETTINGS = {"lr": 0.5, "dim": 128}


def serve(train, load, answer, batch, single=None):
    """Answer requests until the input ends.

    train(request) -> words a second and thread; load(request) opens a saved model; answer(text) -> label names, best
    first; batch(request, texts) -> function that returns the label names of all; single(request) -> function of a text,
    by default `answer`.
    """
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "train":
            started = time.perf_counter()
            speed = train(request)
            seconds = time.perf_counter() - started
            result = {"seconds": seconds, "words_per_second": speed, "peak_mib": peak_mib()}
        elif request["do"] == "load":
            load(request)
            result = {}
        elif request["do"] == "batch":
            seconds, found = best_of(request["repeats"], batch(request, read(request["texts"])), request["at_least"])
            write(request["out"], found)
            result = {"seconds": seconds}
        elif request["do"] == "single":
            ask = single(request) if single else answer
            result = percentiles(call_times(ask, read(request["texts"])[: request["n"]]))
        else:
            texts = read(request["texts"])
            n = min(request["n"], len(texts))
            times = [sum(call_times(answer, texts[:n])) / n for _ in range(request["repeats"])]
            if request["out"]:
                write(request["out"], [answer(text) for text in texts])
            result = {"microseconds": min(times) * 1e6}
        print(json.dumps(result), flush=True)


def read(path):
    """Return the texts of a file, one a line."""
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def write(path, found):
    """Write the label names of each text, one JSON list a line."""
    with open(path, "w", encoding="utf-8") as file:
        for names in found:
            file.write(json.dumps(list(names)) + "\n")
