"""The script that makes the bundled data reads Debian's index as it should."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from labeltrees.data.texts import read_table

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_debian.py"
PACKAGES = """Package: cat-tools
Pre-Depends: libc6 (>= 2.36), dpkg:any
Depends: libfur1 (= 1.0) | libhair, perl:any (>= 5), libc6
Description: tools for cats
Description-md5: 1

Package: alone
Description: depends on nothing
Description-md5: 2

Package: cat-tools
Depends: other
Description-md5: 1
"""
TRANSLATION = """Package: cat-tools
Description-md5: 1
Description-en: tools for cats
 Brush them:
 .
  - every day
  - gently

Package: alone
Description-md5: 2
Description-en: depends on nothing
"""


@pytest.fixture
def script():
    return runpy.run_path(str(SCRIPT))


def test_text_and_labels_of_a_package(tmp_path, script):
    (tmp_path / "Packages").write_text(PACKAGES)
    (tmp_path / "Translation-en").write_text(TRANSLATION)
    points = script["read_points"](tmp_path / "Packages", tmp_path / "Translation-en")
    assert points == [
        ("cat tools tools for cats Brush them: - every day - gently", ["dpkg", "libc6", "libfur1", "perl"])
    ]


def test_no_label_is_in_test_alone(script):
    points = [script["Point"](f"point {i}", [f"l{i % 7}", f"rare{i}"]) for i in range(200)]
    train, test = script["split"](points)
    assert len(train) == 180
    known = {label for point in train for label in point.labels}
    assert test
    assert all(point.labels and known.issuperset(point.labels) for point in test)


def test_the_same_index_gives_the_same_files(tmp_path):
    stanzas = [f"Package: p{i}\nDepends: q{i % 5}\nDescription-md5: {i}\n" for i in range(60)]
    (tmp_path / "Packages").write_text("\n".join(stanzas))
    (tmp_path / "Translation-en").write_text(
        "\n".join(f"Package: p{i}\nDescription-md5: {i}\nDescription-en: number {i}\n" for i in range(60))
    )
    (tmp_path / "InRelease").write_text("Version: 99.1\nCodename: cat\nDate: today\n")
    contents = []
    for name in ("one", "two"):
        command = [sys.executable, SCRIPT, "--packages", tmp_path / "Packages", "--output", tmp_path / name]
        command += ["--translation", tmp_path / "Translation-en", "--release", tmp_path / "InRelease"]
        subprocess.run(command, check=True, capture_output=True)
        contents.append({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()})
    assert contents[0] == contents[1]
    assert set(contents[0]) == {"README.md", "debian-train.jsonl.xz", "debian-test.jsonl.xz"}
    table = read_table(tmp_path / "one" / "debian-train.jsonl.xz")
    texts, labels = table.texts, table.labels
    assert len(texts) == 54
    assert all(labels == [f"q{int(text.split()[-1]) % 5}"] for text, labels in zip(texts, labels, strict=True))
    assert b"Debian 99.1 (cat)" in contents[0]["README.md"]
