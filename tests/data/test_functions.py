"""Functions by name: only trusted ones are imported."""

import os.path

import pytest

import labeltrees as lt
from labeltrees.data.functions import function_of_name, name_of_function, trusting


def test_a_name_leads_back_to_its_function():
    name = name_of_function(os.path.join, "tokenizer")
    with trusting([name]):
        assert function_of_name(name, "model") is os.path.join
    assert name_of_function(lt.TfidfVectorizer.fit, "tokenizer") == "labeltrees.data.tfidf:TfidfVectorizer.fit"


def test_what_is_not_trusted_is_not_imported():
    with pytest.raises(lt.FileFormatError, match="model: the model calls the function 'os:system'"):
        function_of_name("os:system", "model")
    with trusting(["os:getcwd"]), pytest.raises(lt.FileFormatError, match="os:system"):
        function_of_name("os:system", "model")
    with trusting(["no_module:f", "os:no_name"]):
        for name in ("no_module:f", "os:no_name"):
            with pytest.raises(lt.FileFormatError, match="cannot be imported"):
                function_of_name(name, "model")


@pytest.mark.parametrize("name", [3, "os", "a:b:c", None])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(lt.FileFormatError, match="not the name of a function"):
        function_of_name(name, "model")


def test_trusted_must_be_names():
    with pytest.raises(lt.InputError, match="trusted must be a list of names"), trusting("os:system"):
        pass
