"""The main loop of every text contestant: train on a file, predict for texts. Runs in any environment.

Requests: {"do": "train", "file", "seed", "threads", "epochs", "save"} -> seconds, words_per_second (training loop,
per thread), peak_mib; {"do": "load", "save"} -> nothing: opens a saved model;
{"do": "answer", "texts", "n", "repeats", "out"} -> microseconds per call (best of the repeats, mean over the first n
texts); labels of all texts are saved to "out", one JSON list per line;
{"do": "batch", "texts", "threads", "repeats", "at_least", "out"} -> seconds of one call with all texts (best of the
repeats, repeated further until "at_least" seconds have passed);
{"do": "single", "texts", "n"} -> p50, p99 in microseconds over the first n texts, with one call per text. The last two
take "settings" of the search, if the contestant has any.
"""

import json
import sys
import time

from protocol import best_of, call_times, peak_mib, percentiles

SETTINGS = {"lr": 0.5, "dim": 128}


def serve(train, load, answer, batch, single=None):
    """Answer requests until the input ends.

    train(request) returns words per second and thread; load(request) opens a saved model; answer(text) returns label
    names, best first; batch(request, texts) returns a function that returns the label names of all texts;
    single(request) returns a function of a text, by default `answer`.
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
    """Return the lines of a file."""
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def write(path, found):
    """Write the label names of each text, one JSON list per line."""
    with open(path, "w", encoding="utf-8") as file:
        for names in found:
            file.write(json.dumps(list(names)) + "\n")
