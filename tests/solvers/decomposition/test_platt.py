"""The steps of SMO(rule="platt") are those of a direct implementation of LwK Algorithm 10.3.  docs/math (802), (803)"""

from itertools import islice

import numpy as np
import pytest

from hinge.formulations import CSVC
from hinge.kernels import RBF, open_access
from hinge.solvers import SMO

TOL, STEPS = 1e-3, 700
OPTIONS = {"rule": "platt", "tol": TOL, "polish": False, "shrinking": False, "precision": "float64"}


class Platt:
    """Two loops on the coefficients β = yα; F = y − Kβ is the error with the opposite sign.

    The errors of the two samples of a step are equal afterwards, up to rounding. If several partners have the largest
    difference of errors, the one that moves in the next of the `given` iterates is chosen.
    """

    def __init__(self, K, y, C, given):
        self.K, self.n = K, len(y)
        self.lower, self.upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
        self.beta, self.F, self.seed = np.zeros(self.n), y.astype(float), 1
        self.given, self.count = given, 0
        self.scans = self.early = 0  # scans of the second-choice hierarchy, full sweeps after few changes

    def up(self, k):
        return self.F[k] if self.beta[k] < self.upper[k] else -np.inf

    def low(self, k):
        return self.F[k] if self.beta[k] > self.lower[k] else np.inf

    def free(self, k):
        return self.lower[k] < self.beta[k] < self.upper[k]

    def thresholds(self):
        return max(map(self.up, range(self.n))), min(map(self.low, range(self.n)))

    def random(self):
        self.seed = (self.seed * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.seed >> 33) % self.n

    def step(self, k, j):
        if self.up(j) - self.low(k) > self.up(k) - self.low(j):
            k, j = j, k
        slope = self.up(k) - self.low(j)
        if not slope > 0:
            return False
        room_k, room_l = self.upper[k] - self.beta[k], self.beta[j] - self.lower[j]
        length = min(slope / (self.K[k, k] + self.K[j, j] - 2 * self.K[k, j]), room_k, room_l)
        self.F -= length * (self.K[k] - self.K[j])
        self.beta[k] = self.upper[k] if length >= room_k else self.beta[k] + length
        self.beta[j] = self.lower[j] if length >= room_l else self.beta[j] - length
        self.offset = self.F[k] if self.free(k) else self.F[j] if self.free(j) else (self.low(k) + self.up(j)) / 2
        return True

    def examine(self, k):
        up, low = self.thresholds()
        if not (self.up(k) > low or up > self.low(k)):
            return False  # no pair with k decreases the objective
        if max(self.up(k) - self.offset, self.offset - self.low(k)) <= TOL / 2:
            return False
        slopes = {
            j: max(self.up(k) - self.low(j), self.up(j) - self.low(k))
            for j in range(self.n)
            if j != k and self.free(j)
        }
        if slopes:
            moved = np.abs(self.given[min(self.count, len(self.given) - 1)] - self.beta)
            largest = max(slopes.values())
            best = [j for j in slopes if slopes[j] >= largest - 1e-9]
            if self.step(k, max(best, key=lambda j: moved[j])):
                return True
        for free in (True, False):  # the second-choice hierarchy
            first = self.random()
            self.scans += 1
            for j in (np.arange(self.n) + first) % self.n:
                if j != k and self.free(j) == free and self.step(k, j):
                    return True
        return False

    def run(self):
        """Yield β after every step."""
        self.offset, everything = sum(self.thresholds()) / 2, True
        while True:
            examined = changed = 0
            for k in range(self.n):
                if everything or self.free(k):
                    examined += 1
                    if self.examine(k):
                        changed, self.count = changed + 1, self.count + 1
                        yield self.beta.copy()
                        if np.subtract(*self.thresholds()) <= TOL:
                            return
            if everything and changed == 0:
                self.offset = sum(self.thresholds()) / 2
            if everything:
                everything = False
            else:
                everything = 10 * changed < examined  # less than 10 % of the free samples changed
                self.early += everything and changed > 0


@pytest.mark.parametrize(("n", "gamma", "scans", "early"), [(100, 3.0, 2, 1), (200, 0.5, 6, 0)])
def test_the_steps_are_those_of_the_algorithm(n, gamma, scans, early):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    problem = CSVC(y, np.full(n, 5.0)).build(open_access(RBF(gamma), X))
    given = [y * SMO(**OPTIONS, max_iter=count).solve(problem).alpha for count in range(1, STEPS + 1)]
    algorithm = Platt(RBF(gamma)(X), y, 5.0, given)
    for count, beta in enumerate(islice(algorithm.run(), STEPS)):
        np.testing.assert_allclose(given[count], beta, atol=1e-9, err_msg=f"step {count + 1}")
    assert algorithm.scans >= scans
    assert algorithm.early >= early
