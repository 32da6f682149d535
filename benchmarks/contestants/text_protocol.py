"""What every text contestant does: trains on a file, answers texts one a call. Runs in any environment.

Requests: {"do": "train", "file", "seed", "threads", "epochs", "save"} -> seconds, words_per_second (a thread, of the
training itself), peak_mib; {"do": "answer", "texts", "n", "repeats", "out"} -> microseconds a call (best of the
repeats, mean over the first n texts), labels of all texts saved to out, one JSON list a line.
"""

import json
import sys
import time

from protocol import peak_mib

SETTINGS = {"lr": 0.5, "dim": 128}


def serve(train, answer):
    """Answer requests until the input ends.

    train(request) -> words a second and thread; answer(text) -> label names, best first.
    """
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "train":
            started = time.perf_counter()
            speed = train(request)
            seconds = time.perf_counter() - started
            result = {"seconds": seconds, "words_per_second": speed, "peak_mib": peak_mib()}
        else:
            with open(request["texts"], encoding="utf-8") as file:
                texts = [line.rstrip("\n") for line in file]
            best = float("inf")
            for _ in range(request["repeats"]):
                started = time.perf_counter()
                for text in texts[: request["n"]]:
                    answer(text)
                best = min(best, (time.perf_counter() - started) / min(request["n"], len(texts)))
            if request["out"]:
                with open(request["out"], "w", encoding="utf-8") as file:
                    for text in texts:
                        file.write(json.dumps(list(answer(text))) + "\n")
            result = {"microseconds": best * 1e6}
        print(json.dumps(result), flush=True)
