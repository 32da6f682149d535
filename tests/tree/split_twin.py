"""The split in plain NumPy, as the kernel does it: the twin its tests compare it with."""

import numpy as np

MASK = 2**64 - 1


class Stream:
    """splitmix64"""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


def unit(v):
    length = np.linalg.norm(v)
    return v / length if length > 0 else v


def assign(scores, f):
    """The Lemma by sorting."""
    order = np.lexsort((np.arange(len(f)), -scores))
    alpha = -np.ones(len(f))
    above = 0.0
    for label in order:
        if above + f[label] >= 0.5:
            alpha[label] = np.clip(2 * (0.5 - above) / f[label] - 1, -1, 1)
            return alpha, label
        alpha[label] = 1.0
        above += f[label]
    alpha[order[-1]] = 1.0
    return alpha, order[-1]


class Twin:
    def __init__(self, V, weights, similarity, frequency, relaxed):
        self.V, self.f = np.asarray(V, float), np.asarray(weights, float) / np.sum(weights)
        self.similarity, self.frequency, self.relaxed = similarity, frequency, relaxed

    def draw(self, stream):
        place = (stream.next() >> 11) / 2**53
        return min(int(np.searchsorted(np.cumsum(self.f), place, side="right")), len(self.f) - 1)

    def iterate(self):
        lean = self.V @ (self.plus - self.minus)
        scores = self.similarity / 2 * lean + self.frequency * self.f
        alpha, crossing = assign(scores, self.f)
        if not self.relaxed:
            value = alpha[crossing]
            alpha[crossing] = (1 if lean[crossing] > 0 else -1) if abs(value) <= 1e-9 else np.sign(value)
            others = np.delete(alpha, crossing)
            if (others < 0).all():
                alpha[crossing] = 1
            if (others > 0).all():
                alpha[crossing] = -1
        self.set(alpha)
        return self.objective()

    def set(self, alpha):
        self.alpha = alpha
        self.plus = unit((self.f * (1 + alpha) / 2) @ self.V)
        self.minus = unit((self.f * (1 - alpha) / 2) @ self.V)

    def objective(self):
        a, f = self.alpha, self.f
        fit = (1 + a) / 2 * (self.V @ self.plus) + (1 - a) / 2 * (self.V @ self.minus)
        return float(np.sum(self.similarity * f * fit + self.frequency * a * f**2))

    def run(self, seed, n_starts=2, probes=3, max_iterations=30, tolerance=1e-4):
        stream = Stream(seed)
        best, kept = 0.0, None
        for start in range(n_starts):
            first = self.draw(stream)
            second = first
            for _ in range(8):
                if not np.array_equal(self.V[first], self.V[second]):
                    break
                second = self.draw(stream)
            self.plus, self.minus = self.V[first], self.V[second]
            for _ in range(probes):
                value = self.iterate()
            if start == 0 or value > best + 1e-5 * abs(best):
                best, kept = value, self.alpha
            if start + 1 == n_starts:
                self.set(kept)
        history = []
        for iteration in range(max_iterations):
            before = self.alpha
            history.append(self.iterate())
            if iteration > 0 and history[-1] - history[-2] <= tolerance * abs(history[-2]):
                if history[-1] < history[-2]:
                    self.alpha = before
                break
        return self.alpha, np.array(history)
