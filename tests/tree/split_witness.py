"""The paper's split in plain NumPy, written from its text: the tests' witness.

For given first centres: alternate between the best assignment for the centres (the paper's Lemma, by sorting) and the
best centres for the assignment, round after each iteration, stop when the objective no longer rises, and keep the best
assignment of all starts.
"""

import numpy as np


def objective(V, f, alpha, similarity, frequency):
    """The paper's objective with the best centres for `alpha`."""
    f = f / f.sum()
    plus, minus = (f * (1 + alpha) / 2) @ V, (f * (1 - alpha) / 2) @ V
    return similarity * (np.linalg.norm(plus) + np.linalg.norm(minus)) + frequency * float(alpha @ f**2)


def assign(scores, f):
    """+1 from the largest score down to half of the weight, a fraction for the label that crosses it, -1 below."""
    order = np.argsort(-scores, kind="stable")
    above = np.cumsum(f[order]) - f[order]
    return_order = np.clip((0.5 - above) / np.where(f[order] > 0, f[order], 1), 0, 1)
    alpha = np.empty(len(f))
    alpha[order] = 2 * return_order - 1
    return alpha


def round_assignment(alpha, lean):
    """The fractional label goes to the nearer side, a tie to the more similar centre; no side stays empty."""
    rounded = np.where(np.abs(alpha) <= 1e-9, np.where(lean > 0, 1.0, -1.0), np.sign(alpha))
    fractional = int(np.argmin(np.abs(alpha)))
    if (rounded < 0).all():
        rounded[np.argmax(alpha)] = 1
    if (rounded > 0).all():
        rounded[fractional if abs(alpha[fractional]) < 1 else np.argmin(lean)] = -1
    return rounded


def unit(v):
    length = np.linalg.norm(v)
    return v / length if length > 0 else v


def follow(V, f, plus, minus, similarity, frequency, relaxed=False, most=1000):
    """One start to its end: the best assignment and the objective after each iteration."""
    f = f / f.sum()
    best, history = None, []
    for _ in range(most):
        lean = V @ (plus - minus)
        alpha = assign(similarity / 2 * lean + frequency * f, f)
        if not relaxed:
            alpha = round_assignment(alpha, lean)
        history.append(objective(V, f, alpha, similarity, frequency))
        if len(history) > 1 and history[-1] <= history[-2]:
            return best, history
        best = alpha
        plus, minus = unit((f * (1 + alpha)) @ V), unit((f * (1 - alpha)) @ V)
    return best, history


def best_of(V, f, starts, similarity, frequency, relaxed=False):
    """The highest objective that any of the starts reaches; a start is a pair of labels."""
    ends = [follow(V, f, V[i], V[j], similarity, frequency, relaxed) for i, j in starts]
    return max(max(history) for _, history in ends)
