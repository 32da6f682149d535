"""Labels allowed and labels left out, for all points or for each, by id or by name."""

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from tests.models.twin import best, same


@pytest.fixture(scope="module")
def allowed():
    return np.random.default_rng(0).random((120, 12)) < 0.3


FORMS = {
    "lists": lambda mask: [np.flatnonzero(row).tolist() for row in mask],
    "arrays": lambda mask: [np.flatnonzero(row) for row in mask],
    "sparse": sp.csr_array,
    "csc": lambda mask: sp.csc_array(mask.astype(float)),
}


@pytest.mark.parametrize("form", FORMS)
def test_candidates_and_exclude_for_each_point(model, problem, scores, allowed, form):
    given = FORMS[form](allowed)
    same(model.predict_topk(problem[0], 4, candidates=given), best(scores, 4, allowed))
    same(model.predict_topk(problem[0], 4, exclude=given), best(scores, 4, ~allowed))
    both = model.predict_topk(problem[0], 4, candidates=given, exclude=[[3]] * 120)
    same(both, best(scores, 4, allowed & (np.arange(12) != 3)))


@pytest.mark.parametrize("given", [[1, 4, 7], (1, 4, 7), np.array([7, 4, 1]), np.array([1, 4, 7], np.uint8)], ids=repr)
def test_candidates_and_exclude_for_all(model, problem, scores, given):
    mask = np.isin(np.arange(12), [1, 4, 7])
    same(model.predict_topk(problem[0], 4, candidates=given), best(scores, 4, mask))
    same(model.predict_topk(problem[0], 4, exclude=given), best(scores, 4, ~mask))


def test_no_candidates_leave_nothing(model, named, problem):
    labels, scores = model.predict_topk(problem[0], 2, candidates=[])
    assert (labels == -1).all()
    assert (scores == 0).all()
    assert named.predict_topk(problem[0], 2, candidates=[])[0].tolist() == [[None, None]] * 120
    same(model.predict_topk(problem[0], exclude=[]), model.predict_topk(problem[0]))


def test_candidates_by_name_are_candidates_by_id(named, problem, allowed):
    X = problem[0]
    by_id = [np.flatnonzero(row).tolist() for row in allowed]
    by_name = [named.classes_[ids].tolist() for ids in by_id]
    for option in ("candidates", "exclude"):
        expected = named.predict_topk(X, 4, **{option: sp.csr_array(allowed)})
        for lists in (by_id, by_name):
            same(named.predict_topk(X, 4, **{option: lists}), expected)
        expected = named.predict_topk(X, 4, **{option: np.array([1, 4])})
        for labels in ([1, 4], named.classes_[[1, 4]], set(named.classes_[[1, 4]])):
            same(named.predict_topk(X, 4, **{option: labels}), expected)


def test_unknown_names_are_refused(named, problem):
    with pytest.raises(
        lt.errors.InputError, match="exclude must be names of labels that the model knows, got 'label z'"
    ):
        named.predict_topk(problem[0], exclude=["label z"])
