"""Formulations: inverse of `recover`, range of ν, equivalent parameters, asymmetric costs, problems without bias."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.formulations import BALANCES, CSVC, SVR, NuSVC, NuSVR, OneClass, equivalent_C, equivalent_nu
from hinge.kernels import RBF, Precomputed, open_access
from hinge.problems import certify
from hinge.solvers import SMO
from reference.qp import dense_matrix, solve_with_clarabel
from solvers.cases import FORMULATIONS, formulation

every_formulation = pytest.mark.parametrize("name", FORMULATIONS)

seeds = st.integers(0, 2**32 - 1)

TIGHT = dict(gamma=0.02, tol=1e-7)


def infeasibility(problem, alpha):
    outside = max(np.max(problem.lower - alpha), np.max(alpha - problem.upper), 0.0)
    return max(outside, np.abs(problem.A @ alpha - problem.d).max(initial=0))


def random_point(problem, rng):
    """Random feasible point between two solutions with random linear terms; most variables are strictly inside."""
    ends = []
    for _ in range(2):
        tilted = type(problem)(
            problem.Q, rng.normal(size=problem.size) * 10, problem.A, problem.d, problem.lower, problem.upper
        )
        ends.append(SMO(tol=1e-3, polish=False, max_iter=200).solve(tilted).alpha)
    share = rng.random()
    return share * ends[0] + (1 - share) * ends[1]


def clarabel(problem):
    Q = dense_matrix(problem.Q)
    return solve_with_clarabel(Q, problem.p, problem.A, problem.d, problem.lower, problem.upper)


class TestDualPoint:
    @every_formulation
    def test_dual_point_inverts_recover_at_a_solution(self, name):
        """dual_point(recover(α)) is feasible, has the value of α, and recovers the same function."""
        X, instance = formulation(name, 60, C=2.0)
        problem = instance.build(open_access(RBF(0.5), X))
        solution = SMO(tol=1e-8).solve(problem)
        function = instance.recover(*solution.point)
        alpha, mu = instance.dual_point(function)
        assert infeasibility(problem, alpha) <= 1e-12 * problem.size
        assert problem.value(alpha) == pytest.approx(problem.value(solution.alpha), rel=1e-12)
        np.testing.assert_allclose(mu, solution.mu, atol=1e-12)
        assert certify(problem, alpha, mu).proves(1e-5)
        again = instance.recover(alpha, mu)
        np.testing.assert_allclose(again.coefficients, function.coefficients, atol=1e-12)
        for part in ("intercept", "margin", "tube"):
            assert getattr(again, part) == pytest.approx(getattr(function, part), abs=1e-12)

    @every_formulation
    @given(seed=seeds)
    @settings(max_examples=15)
    def test_dual_point_inverts_recover_at_any_feasible_point(self, name, seed):
        """Both variables of a sample may be positive off the optimum. ε-regression subtracts the common part, whose
        cost is 2ε."""
        rng = np.random.default_rng(seed)
        X, instance = formulation(name, 12, seed=3, C=2.0)
        problem = instance.build(open_access(RBF(0.5), X))
        alpha, mu = random_point(problem, rng), rng.normal(size=len(problem.A))
        point, multipliers = instance.dual_point(instance.recover(alpha, mu))
        assert infeasibility(problem, point) <= 1e-11 * problem.size
        np.testing.assert_allclose(multipliers, mu, atol=1e-12)
        np.testing.assert_allclose(
            problem.Q.coefficients(point), problem.Q.coefficients(alpha), atol=1e-12 * problem.size
        )
        if isinstance(instance, SVR):
            common = np.minimum(alpha[:12], alpha[12:]).sum()
            expected = problem.value(alpha) - 2 * instance.epsilon * common
        else:
            expected = problem.value(alpha)
        assert problem.value(point) == pytest.approx(expected, abs=1e-11 * problem.size)

    @every_formulation
    def test_upper_is_the_bound_of_the_problem(self, name):
        X, instance = formulation(name, 10, C=2.0)
        problem = instance.build(open_access(RBF(0.5), X))
        np.testing.assert_array_equal(instance.upper, problem.upper)
        np.testing.assert_array_equal(problem.lower, 0.0)
        assert len(instance.upper) == problem.size

    @pytest.mark.parametrize("margin", [2.0, 0.25, 0.0, -0.5])
    def test_recover_divides_by_a_positive_margin_only(self, margin):
        """ρ ≤ 0: ν is below ν_min."""
        instance = NuSVC(np.array([1.0, -1.0]), np.ones(2), 1.0)
        mu = np.array([0.3 - margin, -0.3 - margin])
        function = instance.recover(np.ones(2), mu)
        divisor = margin if margin > 0 else 1.0
        np.testing.assert_allclose(function.coefficients, np.array([1.0, -1.0]) / divisor)
        assert function.intercept == pytest.approx(0.3 / divisor)
        assert function.margin == pytest.approx(margin)
        alpha, back = instance.dual_point(function)
        np.testing.assert_allclose(alpha, 1.0)
        np.testing.assert_allclose(back, mu, atol=1e-15)


class TestRangeOfNu:
    def signs(self, positives, negatives):
        return np.repeat([1.0, -1.0], [positives, negatives])

    @pytest.mark.parametrize(
        ("positives", "negatives", "highest"), [(3, 7, 0.6), (5, 5, 1.0), (1, 9, 0.2), (9, 1, 0.2)]
    )
    def test_nu_max_without_balance(self, positives, negatives, highest):
        """ν_max = 2 min(m₊, m₋) / m; ν tutorial Prop. 3."""
        y, w = self.signs(positives, negatives), np.ones(positives + negatives)
        assert NuSVC(y, w, 0.1).nu_max == pytest.approx(highest)
        NuSVC(y, w, highest).build(open_access(Precomputed(), np.eye(len(y))))
        if highest < 1:
            with pytest.raises(ValueError, match="infeasible") as refusal:
                NuSVC(y, w, highest * 1.001)
            assert f"(0, {highest:g}]" in str(refusal.value)
            assert f"{positives} samples" in str(refusal.value)

    def test_nu_max_with_weights(self):
        """Counts are replaced by sums of weights."""
        y, w = self.signs(2, 3), np.array([1.0, 2.0, 1.0, 1.0, 1.0])
        assert NuSVC(y, w, 0.1).nu_max == pytest.approx(1.0)
        w = np.array([1.0, 0.5, 2.0, 2.0, 2.0])
        assert NuSVC(y, w, 0.1).nu_max == pytest.approx(2 * 1.5 / 7.5)
        with pytest.raises(ValueError, match=r"\(0, 0\.4\]") as refusal:
            NuSVC(y, w, 0.41)
        assert "weights 1.5 and 6" in str(refusal.value)

    @pytest.mark.parametrize("balance", BALANCES[1:])
    @given(seed=seeds)
    @settings(max_examples=20)
    def test_nu_max_is_1_with_balance(self, balance, seed):
        """With both corrections every ν up to 1 is admissible, for any weights; ν tutorial §8."""
        rng = np.random.default_rng(seed)
        y = self.signs(int(rng.integers(1, 6)), int(rng.integers(1, 9)))
        w = rng.uniform(0.1, 4, len(y))
        instance = NuSVC(y, w, 1.0, balance)
        assert instance.nu_max == pytest.approx(1.0)
        problem = instance.build(open_access(Precomputed(), np.eye(len(y))))
        sums = problem.A @ instance.upper
        assert np.all(sums >= problem.d * (1 - 1e-14))
        if balance == "class":
            np.testing.assert_allclose(sums, w.sum() / 2)
        else:
            assert min(sums) == pytest.approx(w.sum() / 2)
            np.testing.assert_allclose(instance.upper / instance.upper[0], w / w[0])
        SMO().solve(problem)

    @pytest.mark.parametrize("nu", [0.0, -0.1, 1.5, np.nan])
    @pytest.mark.parametrize("balance", BALANCES)
    def test_nu_outside_of_0_to_1_is_rejected(self, nu, balance):
        with pytest.raises(ValueError, match=r"\(0, 1\]"):
            NuSVC(self.signs(4, 4), np.ones(8), nu, balance)

    @pytest.mark.parametrize("balance", BALANCES)
    def test_nu_max_is_feasible_despite_rounding(self, balance):
        """At ν = ν_max all variables of a class are at their bounds."""
        rng = np.random.default_rng(0)
        for _ in range(20):
            y, w = self.signs(7, 13), rng.uniform(0.1, 3, 20)
            instance = NuSVC(y, w, NuSVC(y, w, 1e-3, balance).nu_max, balance)
            problem = instance.build(open_access(RBF(0.5), rng.normal(size=(20, 2))))
            assert all(row @ problem.upper >= target for row, target in zip(problem.A, problem.d, strict=True))
            solution = SMO(tol=1e-6).solve(problem)
            assert infeasibility(problem, solution.alpha) <= 1e-12 * 20

    def test_estimators_state_the_range_before_any_kernel_is_computed(self):
        def never(A, B):
            raise AssertionError("a kernel was computed")

        X, y = np.zeros((10, 2)), np.arange(10) < 3
        with pytest.raises(ValueError, match=r"nu=0\.7.*\(0, 0\.6\]"):
            hinge.NuSVC(nu=0.7, kernel=never).fit(X, y)
        for instance in (hinge.NuSVR, hinge.OneClassSVM):
            for nu in (0.0, 1.2):
                with pytest.raises(ValueError, match=r"nu=.*\(0, 1\]"):
                    instance(nu=nu, kernel=never).fit(X, y)

    def test_the_range_is_checked_for_every_pair_of_classes(self):
        X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1, 2], [10, 8, 2])
        with pytest.raises(ValueError, match=r"10 samples of one class and 2.*\(0, 0\.333"):
            hinge.NuSVC(nu=0.4).fit(X, y)
        assert hinge.NuSVC(nu=0.4, balance="class").fit(X, y).status_ is hinge.Status.SOLVED


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:250], y[:250]


class TestEquivalentParameters:
    """ν tutorial Prop. 2 and 3, on real data."""

    @pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
    def test_equivalent_nu_gives_the_function_of_C(self, cancer, C):
        X, y = cancer
        by_C = hinge.SVC(C=C, **TIGHT).fit(X, y)
        by_nu = hinge.NuSVC(nu=by_C.equivalent_nu_[0], **TIGHT).fit(X, y)
        np.testing.assert_allclose(by_nu.decision_function(X), by_C.decision_function(X), atol=1e-5)
        assert by_nu.equivalent_C_[0] == pytest.approx(C, rel=1e-5)

    @pytest.mark.parametrize("nu", [0.05, 0.2, 0.6])
    def test_equivalent_C_gives_the_function_of_nu(self, cancer, nu):
        X, y = cancer
        by_nu = hinge.NuSVC(nu=nu, **TIGHT).fit(X, y)
        by_C = hinge.SVC(C=by_nu.equivalent_C_[0], **TIGHT).fit(X, y)
        np.testing.assert_allclose(by_C.decision_function(X), by_nu.decision_function(X), atol=1e-5)
        assert by_C.equivalent_nu_[0] == pytest.approx(nu, rel=1e-5)
        assert by_nu.equivalent_C_[0] == pytest.approx(1 / by_nu.margin_[0])

    def test_equivalent_C_with_sample_weights(self, cancer):
        X, y = cancer
        weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
        by_nu = hinge.NuSVC(nu=0.2, **TIGHT).fit(X, y, sample_weight=weight)
        by_C = hinge.SVC(C=by_nu.equivalent_C_[0], **TIGHT).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(by_C.decision_function(X), by_nu.decision_function(X), atol=1e-5)
        assert by_C.equivalent_nu_[0] == pytest.approx(0.2, rel=1e-5)

    @pytest.mark.parametrize("nu", [0.1, 0.4, 0.8])
    def test_the_tube_of_nu_gives_the_same_function(self, nu):
        X, y = load_diabetes(return_X_y=True)
        X, y = 20 * X[:150], y[:150] / 50
        by_nu = hinge.NuSVR(nu=nu, C=2.0, gamma=0.1, tol=1e-7).fit(X, y)
        by_tube = hinge.SVR(epsilon=by_nu.epsilon_, C=2.0, gamma=0.1, tol=1e-7).fit(X, y)
        assert by_nu.epsilon_ > 0
        np.testing.assert_allclose(by_tube.predict(X), by_nu.predict(X), atol=1e-5)

    def test_values_of_the_formulas(self):
        assert equivalent_nu(np.array([1.0, 2.0]), np.array([4.0, 4.0])) == 0.375
        assert equivalent_C(0.25) == 4.0
        assert equivalent_C(0.0) == equivalent_C(-1.0) == np.inf


class TestAsymmetricCost:
    """Different costs Cᵢ and Cᵢ* below and above the function."""

    def formulation(self, n=40, **changes):
        rng = np.random.default_rng(1)
        X, cost = rng.normal(size=(n, 2)), rng.uniform(0.5, 2, n)
        y = np.sin(2 * X[:, 0]) + rng.normal(size=n)
        parts = dict(y=y, cost=cost, epsilon=0.1, cost_star=0.2 * cost) | changes
        return X, SVR(**parts)

    @pytest.mark.parametrize("bias", [True, False])
    def test_the_optimum_is_that_of_clarabel(self, bias):
        X, instance = self.formulation(bias=bias)
        problem = instance.build(open_access(RBF(1.0), X))
        solution = SMO(tol=1e-8).solve(problem)
        optimum = clarabel(problem)
        assert problem.value(solution.alpha) == pytest.approx(
            optimum.value, abs=optimum.error + 1e-8 * abs(optimum.value)
        )

    def test_the_primal_value_uses_both_costs(self):
        X, instance = self.formulation()
        problem = instance.build(open_access(RBF(1.0), X))
        solution = SMO(tol=1e-9).solve(problem)
        function, K = instance.recover(*solution.point), problem.Q.access.rows(np.arange(40))
        f = K @ function.coefficients + function.intercept
        above, below = np.maximum(0, instance.y - f - 0.1), np.maximum(0, f - instance.y - 0.1)
        primal = 0.5 * function.coefficients @ K @ function.coefficients
        primal += instance.cost @ above + instance.cost_star @ below
        assert certify(problem, *solution.point).primal == pytest.approx(primal, rel=1e-10)
        assert -problem.value(solution.alpha) == pytest.approx(primal, rel=1e-7)

    def test_a_larger_cost_above_the_targets_lowers_the_function(self):
        """C* is the cost of lying above the targets: the mean of f decreases with it."""
        X, small = self.formulation()
        large = SVR(small.y, small.cost, 0.1, 5 * small.cost)
        means = []
        for instance in (large, SVR(small.y, small.cost, 0.1), small):
            problem = instance.build(open_access(RBF(1.0), X))
            solution = SMO(tol=1e-8).solve(problem)
            function = instance.recover(*solution.point)
            means.append(np.mean(problem.Q.access.matvec(function.coefficients)) + function.intercept)
        assert means[0] < means[1] < means[2]

    def test_costs_are_equal_by_default(self):
        _, instance = self.formulation(cost_star=None)
        np.testing.assert_array_equal(instance.upper, np.tile(instance.cost, 2))


def projected_gradient(Q, p, lower, upper, steps=20_000):
    """Minimize ½xᵀQx + pᵀx over a box by Nesterov's method with restarts."""
    step = 1 / np.linalg.eigvalsh(Q)[-1]
    x = ahead = np.clip(np.zeros(len(p)), lower, upper)
    t = 1.0
    for _ in range(steps):
        new = np.clip(ahead - step * (Q @ ahead + p), lower, upper)
        if (ahead - new) @ (new - x) > 0:
            t, ahead = 1.0, x
            continue
        t, last = 0.5 * (1 + np.sqrt(1 + 4 * t * t)), t
        ahead, x = new + (last - 1) / t * (new - x), new
    return x


class TestWithoutBias:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("kind", ["CSVC", "SVR"])
    def test_the_optimum_is_that_of_two_references(self, kind, seed):
        X, instance = formulation(f"{kind} without bias", 40, seed=seed, C=1.5)
        problem = instance.build(open_access(RBF(1.0), X))
        assert problem.A.shape == (0, problem.size)
        solution = SMO(tol=1e-9).solve(problem)
        ours = problem.value(solution.alpha)
        optimum = clarabel(problem)
        assert ours == pytest.approx(optimum.value, abs=optimum.error + 1e-9 * abs(optimum.value))
        reference = projected_gradient(dense_matrix(problem.Q), problem.p, problem.lower, problem.upper, steps=4000)
        assert ours == pytest.approx(problem.value(reference), rel=1e-8)
        beta = problem.Q.coefficients
        np.testing.assert_allclose(beta(solution.alpha), beta(reference), atol=1e-3)

    @pytest.mark.parametrize("kind", ["CSVC", "SVR"])
    def test_the_function_has_no_offset(self, kind):
        X, instance = formulation(f"{kind} without bias", 20)
        solution = SMO().solve(instance.build(open_access(RBF(1.0), X)))
        assert solution.mu.shape == (0,)
        function = instance.recover(*solution.point)
        assert function.intercept == 0.0
        assert instance.dual_point(function)[1].shape == (0,)

    def test_a_large_constant_in_the_kernel_acts_as_a_bias(self):
        """The solution with the kernel K + B converges to the one with a bias for B → ∞."""
        X, free = formulation("CSVC", 40)
        K = open_access(RBF(1.0), X).rows(np.arange(40))
        bound = CSVC(free.y, free.cost, bias=False)
        with_bias = free.build(open_access(Precomputed(), K))
        reference = free.recover(*SMO(tol=1e-9).solve(with_bias).point)
        solution = SMO(tol=1e-9).solve(bound.build(open_access(Precomputed(), K + 1e4)))
        function = bound.recover(*solution.point)
        values = (K + 1e4) @ function.coefficients
        np.testing.assert_allclose(values, K @ reference.coefficients + reference.intercept, atol=1e-2)


class TestClosedForms:
    """Problems with one or two samples, whose solutions are known."""

    def test_two_samples_of_classification(self):
        """K = [[1, k], [k, 1]], y = ±1: α = min(C, 1 / (1 − k)), b = 0."""
        for C, k in ((10.0, 0.5), (1.0, 0.5)):
            K = np.array([[1.0, k], [k, 1.0]])
            instance = CSVC(np.array([1.0, -1.0]), np.full(2, C))
            solution = SMO(tol=1e-10).solve(instance.build(open_access(Precomputed(), K)))
            np.testing.assert_allclose(solution.alpha, min(C, 1 / (1 - k)), rtol=1e-12)
            assert instance.recover(*solution.point).intercept == pytest.approx(0, abs=1e-12)

    def test_one_sample_of_regression(self):
        """b equals the target, and β = 0."""
        instance = SVR(np.array([5.0]), np.ones(1), 0.1)
        solution = SMO().solve(instance.build(open_access(Precomputed(), np.eye(1))))
        function = instance.recover(*solution.point)
        assert function.coefficients == [0.0]
        assert function.intercept == pytest.approx(5.0)

    def test_two_samples_of_nu_regression(self):
        """y = ±1, K = I, ν = 1: |β| = C for both samples."""
        instance = NuSVR(np.array([1.0, -1.0]), np.full(2, 0.25), 1.0)
        solution = SMO(tol=1e-10).solve(instance.build(open_access(Precomputed(), np.eye(2))))
        np.testing.assert_allclose(instance.recover(*solution.point).coefficients, [0.25, -0.25])

    def test_equal_samples_of_one_class(self):
        """K = I: ρ = α = ν."""
        instance = OneClass(np.ones(4), 0.5)
        solution = SMO(tol=1e-10).solve(instance.build(open_access(Precomputed(), np.eye(4))))
        np.testing.assert_allclose(solution.alpha, 0.5)
        assert instance.recover(*solution.point).margin == pytest.approx(0.5)
