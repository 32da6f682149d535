"""Records of text, written in every format."""

import csv
import io
import json

from labeltrees.data.files import write_any

TEXTS = ["red cat", "red dog, one\nline more", 'a "red" čat', "", "red dog"]
LABELS = [["cat", "with, comma"], ['6" dog', "dog"], ["cat"], ["dog"], []]
WEIGHTS = [1.0, 2.5, 0.0, 4.0, 1.0]


def write(path, content):
    with write_any(path) as stream:
        stream.write(content if isinstance(content, bytes) else content.encode())
    return path


def as_jsonl(**changes):
    names = {"text": "text", "labels": "labels"} | changes
    rows = zip(TEXTS, LABELS, WEIGHTS, strict=True)
    return "".join(json.dumps({names["text"]: t, names["labels"]: ls, "weight": w}) + "\n" for t, ls, w in rows)


def label_field(labels, separator=","):
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="").writerow(labels)
    return text.getvalue() if labels else ""


def as_table(delimiter, separator=","):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(["id", "labels", "text", "weight"])
    for i, (t, ls, w) in enumerate(zip(TEXTS, LABELS, WEIGHTS, strict=True)):
        writer.writerow([i, label_field(ls, separator), t, w])
    return text.getvalue()
