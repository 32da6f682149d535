"""Make the bundled dataset, packages and their dependencies, from Debian's package index.

    apt-get update -o Acquire::Languages=en
    python scripts/make_debian.py

The index files are taken from apt's lists folder. To use other files:

    python scripts/make_debian.py --packages Packages.xz --translation Translation-en.xz --release InRelease

The same index gives the same files.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from labeltrees.data.files import open_any

OUTPUT = Path(__file__).parent.parent / "src" / "labeltrees" / "data" / "bundled"
APT_HELPER = "/usr/lib/apt/apt-helper"
N_POINTS = 15_000
N_LABELS = 10_500  # of which about 10,000 occur in train
TEST_SHARE = 0.1
SEED = 0


class Point(NamedTuple):
    """A package: its name and description on one line, and the packages it depends on."""

    text: str
    labels: list[str]


def main() -> None:
    """Read the index, choose and split the points, write the files and their README."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, help="a Packages file of Debian's main, amd64")
    parser.add_argument("--translation", type=Path, help="the Translation-en file of the same release")
    parser.add_argument("--release", type=Path, help="the InRelease file of the same release")
    parser.add_argument("--lists", type=Path, help="apt's lists folder, if not the usual one")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    if arguments.packages:
        if not arguments.translation or not arguments.release:
            parser.error("--packages needs --translation and --release")
        files = arguments.packages, arguments.translation, arguments.release
    else:
        files = find_index(arguments.lists)

    points = read_points(files[0], files[1])
    train, test = split(choose(points))
    arguments.output.mkdir(parents=True, exist_ok=True)
    write_points(train, arguments.output / "debian-train.jsonl.xz")
    write_points(test, arguments.output / "debian-test.jsonl.xz")
    readme = describe(train, test, len(points), files[2])
    (arguments.output / "README.md").write_text(readme, encoding="utf-8")
    print(readme)


def find_index(lists: Path | None) -> tuple[Path, Path, Path]:
    """Return the Packages, Translation-en and InRelease files of main for amd64, from the last `apt-get update`."""
    command = ["apt-get", "indextargets", "-o", "Acquire::Languages=en"]
    if lists:
        command += ["-o", f"Dir::State::lists={lists}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    targets = [dict(re.findall(r"^([^:\n]+): (.*)$", stanza, re.MULTILINE)) for stanza in output.split("\n\n")]
    # Updates and security fixes are releases of their own; the one without a '-' is the whole archive.
    main_targets = [t for t in targets if t.get("Component") == "main" and "-" not in t.get("Release", "-")]
    packages = [t for t in main_targets if t["Created-By"] == "Packages" and t["Architecture"] == "amd64"]
    translations = [t for t in main_targets if t["Created-By"] == "Translations" and t["Language"] == "en"]
    if not packages or not translations:
        sys.exit("no package index of main for amd64 found: run 'apt-get update -o Acquire::Languages=en' first")
    filename = packages[0]["Filename"]
    release = Path(filename.partition("_main_binary-amd64_")[0] + "_InRelease")
    return Path(filename), Path(translations[0]["Filename"]), release


def read_points(packages: Path, translation: Path) -> list[Point]:
    """Return the packages that depend on something, in the order of the index."""
    descriptions = {entry["Description-md5"]: entry["Description-en"] for entry in read_index(translation)}
    points, seen = [], set()
    for entry in read_index(packages):
        name = entry["Package"]
        if name in seen:  # a few have two versions in the index
            continue
        seen.add(name)
        labels = depends_on(entry)
        if labels:
            description = descriptions.get(entry.get("Description-md5", ""), entry.get("Description", ""))
            text = f"{name.replace('-', ' ')} {one_line(description)}"
            points.append(Point(text, labels))
    return points


def read_index(path: Path) -> Iterator[dict[str, str]]:
    """Yield the entries of an index file as dictionaries; values keep their line breaks."""
    if path.suffix in (".lz4", ".bz2"):  # formats that apt uses and `open_any` cannot read
        content = subprocess.run([APT_HELPER, "cat-file", str(path)], check=True, capture_output=True).stdout
    else:
        with open_any(path) as stream:
            content = stream.read()
    for stanza in content.decode().split("\n\n"):
        # A line that starts with a space continues the value before it.
        fields = re.split(r"\n(?=\S)", stanza.strip("\n"))
        if fields != [""]:
            yield {name: value.strip() for name, _, value in (field.partition(":") for field in fields)}


def depends_on(entry: dict[str, str]) -> list[str]:
    """Return the names in Pre-Depends and Depends, sorted: first alternatives, without versions and architectures."""
    names = set()
    for field in ("Pre-Depends", "Depends"):
        for alternatives in entry.get(field, "").split(","):
            names.add(re.split(r"[|(:\[]", alternatives, maxsplit=1)[0].strip())
    return sorted(names - {""})


def one_line(description: str) -> str:
    """Return synopsis and long text on one line; a line with only '.' means an empty line."""
    return " ".join(word for line in description.split("\n") if line.strip() != "." for word in line.split())


def choose(points: list[Point]) -> list[Point]:
    """Return about N_POINTS points with about N_LABELS labels in total, in the order of the index.

    Points are taken in random order; once there are N_LABELS labels, only points without a new label. So every point
    keeps all its labels, and the ratio of points to labels is about that of the whole index.
    """
    chosen: list[int] = []
    labels: set[str] = set()
    for i in np.random.default_rng(SEED).permutation(len(points)).tolist():
        if len(chosen) == N_POINTS:
            break
        if len(labels) < N_LABELS or labels.issuperset(points[i].labels):
            chosen.append(i)
            labels.update(points[i].labels)
    return [points[i] for i in sorted(chosen)]


def split(points: list[Point]) -> tuple[list[Point], list[Point]]:
    """Return train and test; test loses labels that never occur in train, and points without a label."""
    order = np.random.default_rng(SEED).permutation(len(points)).tolist()
    in_test = set(order[: round(TEST_SHARE * len(points))])
    train = [point for i, point in enumerate(points) if i not in in_test]
    known = {label for point in train for label in point.labels}
    test = [Point(points[i].text, [label for label in points[i].labels if label in known]) for i in sorted(in_test)]
    return train, [point for point in test if point.labels]


def write_points(points: list[Point], path: Path) -> None:
    """Write one JSON object per line."""
    lines = "".join(json.dumps(point._asdict(), ensure_ascii=False) + "\n" for point in points)
    path.write_bytes(lzma.compress(lines.encode(), preset=9 | lzma.PRESET_EXTREME))


def describe(train: list[Point], test: list[Point], n_packages: int, release: Path) -> str:
    """Return the README of the files."""
    fields = dict(re.findall(r"^(Version|Codename|Date): (.*)$", release.read_text(), re.MULTILINE))
    frequencies = np.array(list(Counter(label for point in train for label in point.labels).values()))
    words = np.mean([len(point.text.split()) for point in train])
    return f"""# Debian packages and their dependencies

The task: predict the dependencies of a package from its name and description. `labeltrees.datasets.load_debian()` loads
the data.

| figure | value |
| --- | --- |
| points in train / test | {len(train):,} / {len(test):,} |
| labels, all of which occur in train | {len(frequencies):,} |
| words per text | {words:.1f} |
| labels per point | {frequencies.sum() / len(train):.2f} |
| labels that occur once in train | {100 * np.mean(frequencies == 1):.1f}% |
| points in train with the most frequent label | {100 * frequencies.max() / len(train):.1f}% |

- **Format:** one `{{"text": "...", "labels": ["name", ...]}}` per line, UTF-8, in the order of the index.
- **Text:** the package's name with spaces instead of '-', then its English description (synopsis and long text), on one
  line.
- **Labels:** the names in Pre-Depends and Depends, first alternative only, versions and architectures removed.
- **Source:** Debian {fields["Version"]} ({fields["Codename"]}), main, amd64: the files `Packages` and `Translation-en`
  of the index of {fields["Date"]}.
- **Licence:** dependencies are facts of the index; each description is under the free licence of its package.
- **Sample:** of the {n_packages:,} packages that depend on something, in random order (seed {SEED}), taken until
  there were {N_LABELS:,} labels, then only packages without a new label, up to {N_POINTS:,}.
- **Split:** random (seed {SEED}), {100 * TEST_SHARE:.0f}% test. Labels that never occur in train were removed from
  test, and so were points without a label. Packages of one source often share most of their description, also across
  the split.
- **Made by:** `apt-get update -o Acquire::Languages=en`, then `python scripts/make_debian.py`.
"""


if __name__ == "__main__":
    main()
