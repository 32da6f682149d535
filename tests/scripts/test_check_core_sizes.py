"""The size limits of the C++ core are found and reported."""

import pytest

from scripts.check_core_sizes import faults_of


def function(n_lines, name="f", reason=""):
    """Return a C++ function with this number of lines, with braces in strings and comments that do not count."""
    body = ['  g("}{");', "  if (x) {  // }", "    g('}');", "  }", *["  g();"] * (n_lines - 6)]
    return "\n".join([*([reason] if reason else []), f"int {name}(int x) {{", *body, "}", ""])


@pytest.mark.parametrize(
    "wrap", ["{}", "namespace {{\n{}}}\n", "class A {{\n public:\n{}}};\n", "template <class T>\n{}"]
)
def test_a_function_of_more_than_60_lines_is_found_anywhere(tmp_path, wrap):
    path = tmp_path / "a.cpp"
    path.write_text(wrap.format(function(50, "short_one")))
    assert list(faults_of(path)) == []
    path.write_text(wrap.format(function(61, "long_one")))
    [fault] = faults_of(path)
    assert "long_one" in fault


def test_a_reason_allows_a_long_function_and_a_long_file(tmp_path):
    path = tmp_path / "a.cpp"
    path.write_text(function(61, reason="// long because it is a table"))
    assert list(faults_of(path)) == []
    path.write_text("int x;\n" * 501)
    assert "501 lines" in next(faults_of(path))
    path.write_text("// long because it is a table\n" + "int x;\n" * 501)
    assert list(faults_of(path)) == []


def test_generated_files_are_not_checked(tmp_path):
    path = tmp_path / "a.hpp"
    path.write_text("// Made by a script: do not edit.\n" + "int x;\n" * 1000)
    assert list(faults_of(path)) == []
