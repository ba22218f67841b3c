"""The online learners of LwK 10.6.3 as in the book: every coefficient is scaled at every step.

Terms beyond the budget are kept in `dropped` and scaled as well, so that the exact truncation error is known.
"""

from __future__ import annotations

import numpy as np

#: The margin below which a loss is positive, and its absolute slope at a distance from it: (1 − m)², the same with
#: slopes of at most 4, and (1.1 − m)² / 0.4 with slopes of at most 1.
MARGIN_SLOPES = {
    "squared_hinge": (1.0, lambda excess: 2 * excess),
    "modified_huber": (1.0, lambda excess: min(2 * excess, 4.0)),
    "smoothed_hinge": (1.1, lambda excess: min(excess / 0.2, 1.0)),
}


class SlowLearner:
    """Learner with one output; `kernel(X, Z)` returns a matrix."""

    def __init__(self, kernel, loss, rate, power, regularization, nu=None, level=0.0, offset=True, budget=None):
        self.kernel, self.loss, self.rate, self.power = kernel, loss, rate, power
        self.regularization, self.nu, self.level = regularization, nu, level
        self.offset, self.budget = offset, budget
        self.kept, self.dropped = [], []  # pairs [x, alpha]
        self.b, self.t, self.beyond = 0.0, 0, 0

    def value(self, x):
        if not self.kept:
            return self.b
        Z, a = np.array([z for z, _ in self.kept]), np.array([a for _, a in self.kept])
        return float(a @ self.kernel(Z, x[None])[:, 0]) + self.b

    def minus_derivative(self, y, g):
        """−c'(g), and whether the sample is beyond the level."""
        if self.loss == "hinge":
            return (y, True) if y * g < 1 else (0.0, False)
        if self.loss == "perceptron":
            return (y, True) if y * g <= 0 else (0.0, False)
        if self.loss == "logistic":
            return y / (1 + np.exp(y * g)), y * g < 0
        if self.loss == "exponential":
            return y * np.exp(-y * g), y * g < 0
        if self.loss in ("nu_margin", "novelty"):
            return (y, True) if y * g < self.level else (0.0, False)
        if self.loss in MARGIN_SLOPES:
            threshold, slope = MARGIN_SLOPES[self.loss]
            return (y * slope(threshold - y * g), True) if y * g < threshold else (0.0, False)
        error = y - g
        if self.loss == "squared_epsilon_insensitive":  # ε = 0.1
            excess = abs(error) - 0.1
            return (2 * np.sign(error) * excess, True) if excess > 0 else (0.0, False)
        if self.loss == "squared":
            return error, False
        if abs(error) > self.level or (self.loss == "huber" and self.level <= 0):
            return np.sign(error), True
        return (0.0 if self.loss == "epsilon_insensitive" else error / self.level), False

    def learn(self, x, y):
        g = self.value(x)
        self.t += 1
        step = self.rate / self.t**self.power
        slope, beyond = self.minus_derivative(y, g)
        for term in self.kept + self.dropped:
            term[1] *= 1 - self.regularization * step
        if slope != 0:
            self.kept.append([x, step * slope])
            if self.budget is not None and len(self.kept) > self.budget:
                self.dropped.append(self.kept.pop(0))
        if self.offset:
            self.b += step * slope
        if self.nu is not None:
            widens = self.loss in ("epsilon_insensitive", "huber")
            change = step * (1 - self.nu) if beyond else -step * self.nu
            self.level += change if widens else -change
        self.beyond += beyond
        return g

    def dropped_norm(self):
        """‖Σ α k(x, ·)‖ over the dropped terms."""
        if not self.dropped:
            return 0.0
        Z, a = np.array([z for z, _ in self.dropped]), np.array([a for _, a in self.dropped])
        return float(np.sqrt(max(0.0, a @ self.kernel(Z, Z) @ a)))
