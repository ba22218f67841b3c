"""Certificates of linear programs and of the problem of Crammer and Singer, compared with rational arithmetic."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hinge.problems import Bias, CrammerSingerProblem, LPProblem, certify_crammer_singer, certify_lp

SEEDS = range(40)


def fractions(values):
    return [Fraction(float(v)) for v in np.ravel(values)]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


# ---- linear programs ------------------------------------------------------------------------------------------------


def linear_program(rng, bias=True):
    """A random program, with sides of very different costs."""
    n = int(rng.integers(2, 8))
    cost = 10.0 ** rng.uniform(-3, 3, n)
    return LPProblem(
        design=10.0 ** rng.uniform(-2, 2) * rng.normal(size=(n, n)),
        target=rng.normal(size=n),
        lower=-cost,
        upper=cost * rng.uniform(0.5, 2.0, n),
        tube=np.full(n, rng.choice([0.0, 0.1])),
        price=np.ones(n),
        bias=bias,
    )


def lp_value(problem, a, b):
    """Σ |aⱼ| + Σ lossᵢ(f) at rational a and b."""
    value = sum(abs(v) for v in a)
    for i, row in enumerate(problem.design):
        residual = Fraction(float(problem.target[i])) - dot(fractions(row), a) - b
        tube = Fraction(float(problem.tube[i]))
        value += Fraction(float(problem.upper[i])) * max(residual - tube, Fraction(0))
        value -= Fraction(float(problem.lower[i])) * max(-residual - tube, Fraction(0))
    return value


def lp_dual_value(problem, beta):
    """The dual value of the multiple of β ≥ 0, without an offset, at which |Φᵀβ| reaches the price."""
    columns = [fractions(column) for column in problem.design.T]
    largest = max([Fraction(1), *(abs(dot(column, beta)) for column in columns)])
    beta = [b / largest for b in beta]
    return dot(fractions(problem.target), beta) - dot(fractions(problem.tube), [abs(b) for b in beta])


class TestLinearProgram:
    def test_the_upper_bound_is_above_the_value(self):
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            problem = linear_program(rng)
            a, b = rng.normal(size=problem.n), float(rng.normal())
            found = certify_lp(problem, a, b, np.zeros(problem.n))
            assert Fraction(found.primal) >= lp_value(problem, fractions(a), Fraction(b))
            assert found.primal <= float(lp_value(problem, fractions(a), Fraction(b))) * (1 + 1e-13)

    def test_the_lower_bound_is_below_the_value_of_the_scaled_point(self):
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            problem = linear_program(rng, bias=False)
            beta = np.clip(rng.normal(size=problem.n), problem.lower, problem.upper)
            beta *= np.sign(beta * problem.target)  # a positive dual value
            found = certify_lp(problem, np.zeros(problem.n), 0.0, beta)
            value = lp_dual_value(problem, fractions(np.clip(beta, problem.lower, problem.upper)))
            assert Fraction(found.dual) <= max(value, Fraction(0))
            assert found.dual >= float(value) * (1 - 1e-12) - 1e-300

    def test_errors_of_the_design_matrix_are_included(self):
        """The bounds with a perturbed matrix enclose those of the matrix itself."""
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            problem = linear_program(rng, bias=False)
            error = 1e-7 * float(np.max(np.abs(problem.design)))
            sign = np.sign(rng.normal(size=problem.design.shape))
            wrong = replace(problem, design=problem.design + 0.999 * error * sign, design_error=error)
            a, beta = rng.normal(size=problem.n), rng.normal(size=problem.n)
            beta = np.abs(np.clip(beta, problem.lower, problem.upper)) * np.sign(problem.target)
            found = certify_lp(wrong, a, 0.0, np.clip(beta, problem.lower, problem.upper))
            assert Fraction(found.primal) >= lp_value(problem, fractions(a), Fraction(0))
            value = lp_dual_value(problem, fractions(np.clip(beta, problem.lower, problem.upper)))
            assert Fraction(found.dual) <= max(value, Fraction(0))


# ---- Crammer and Singer ---------------------------------------------------------------------------------------------


def multiclass_problem(rng, bias):
    """A random problem with samples of very different sizes and offsets; every class has samples."""
    n, classes = int(rng.integers(4, 9)), 3
    X = rng.normal(size=(n, int(rng.integers(1, 5)))) + 10.0 ** rng.uniform(0, 8)
    if bias is not Bias.FREE:
        X = 10.0 ** rng.uniform(-3, 3) * (X - np.mean(X))
    label = np.arange(n, dtype=np.int32) % classes
    return CrammerSingerProblem(X, label, 10.0 ** rng.uniform(-2, 2) * rng.uniform(0.5, 2, n), classes, bias, 2.0)


def multiclass_value(problem, weights, offset):
    """½Σ‖w‖² + ½Σb²/B² + Σ C max (1 − [m = y] + f_m − f_y)."""
    value = sum(w * w for w in fractions(weights)) / 2
    if problem.bias is Bias.PENALIZED:
        value += sum((b / Fraction(problem.bias_scale)) ** 2 for b in fractions(offset)) / 2
    rows = [fractions(row) for row in weights]
    for i, x in enumerate(problem.X):
        f = [dot(row, fractions(x)) + Fraction(float(b)) for row, b in zip(rows, offset, strict=True)]
        y = int(problem.label[i])
        losses = [Fraction(0) if m == y else 1 + f[m] - f[y] for m in range(problem.classes)]
        value += Fraction(float(problem.cost[i])) * max(losses)
    return value


def multiclass_dual_value(problem, alpha):
    """−½Σ‖Σ α_im x_i‖² − ½B²Σ(Σ α_im)² − Σ α_im over other classes."""
    value = Fraction(0)
    for m in range(problem.classes):
        column = fractions(alpha[:, m])
        for feature in problem.X.T:
            value -= dot(fractions(feature), column) ** 2 / 2
        if problem.bias is Bias.PENALIZED:
            value -= (Fraction(problem.bias_scale) * sum(column)) ** 2 / 2
        value -= sum((a for a, y in zip(column, problem.label, strict=True) if y != m), Fraction(0))
    return value


@pytest.mark.parametrize("bias", list(Bias), ids=lambda bias: bias.name)
class TestCrammerSinger:
    def test_the_upper_bound_is_above_the_value(self, bias):
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            problem = multiclass_problem(rng, bias)
            d = problem.X.shape[1]
            weights = rng.normal(size=d) + 1e-3 * rng.normal(size=(problem.classes, d))
            offset = rng.normal(size=problem.classes) if bias is not Bias.NONE else np.zeros(problem.classes)
            found = certify_crammer_singer(problem, weights, offset, np.zeros((len(problem.X), problem.classes)))
            value = multiclass_value(problem, weights, offset)
            assert Fraction(found.primal) >= value
            assert found.primal <= float(value) * (1 + 1e-12 * float(np.max(1 + np.abs(problem.X))))

    def test_the_lower_bound_is_below_the_value_of_the_point(self, bias):
        """At points whose sums are exact."""
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            problem = multiclass_problem(rng, bias)
            n, classes = len(problem.X), problem.classes
            unit = 2.0 ** np.floor(np.log2(float(np.min(problem.cost)))) / 64
            size = float(np.sum((problem.X - (np.mean(problem.X, axis=0) if bias is Bias.FREE else 0.0)) ** 2))
            unit = min(unit, 2.0 ** np.floor(np.log2(1.0 / size)) / 64)
            alpha = -rng.integers(1, 16, size=(n, classes)).astype(float)
            if bias is Bias.FREE:  # the sums of all classes are zero
                alpha[:] = -1.0
                problem = replace(problem, X=problem.X[: n - n % classes], label=problem.label[: n - n % classes],
                                  cost=problem.cost[: n - n % classes])  # fmt: skip
                alpha = alpha[: len(problem.X)]
            index = np.arange(len(problem.X))
            alpha[index, problem.label] = 0.0
            alpha[index, problem.label] = -alpha.sum(axis=1)
            alpha *= unit
            weights = np.zeros((classes, problem.X.shape[1]))
            found = certify_crammer_singer(problem, weights, np.zeros(classes), alpha)
            value = multiclass_dual_value(problem, alpha)
            assert Fraction(found.dual) <= max(value, Fraction(0))
            assert found.dual >= float(value) * (1 - 1e-11) or bias is Bias.FREE
