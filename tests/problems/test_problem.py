"""Problem (1) and its matrix: validation and arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.strategies import programs
from hinge.kernels import RBF, Precomputed, open_access
from hinge.problems import History, Problem, Quadratic, Solution, Status
from hinge.solvers import Auto, WorkingSet
from reference.qp import dense_matrix


def identity(n=3):
    return Quadratic.dense(np.eye(n))


def make(n=3, **changes):
    parts = dict(
        Q=identity(n), p=np.zeros(n), A=np.ones((1, n)), d=[1.0], lower=np.zeros(n), upper=np.ones(n)
    )
    return Problem(**{**parts, **changes})


class TestInvalidProblems:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("p", np.zeros(2)),
            ("p", np.zeros((3, 1))),
            ("p", 0.0),
            ("lower", np.zeros(4)),
            ("lower", 0.0),
            ("upper", np.ones((1, 3))),
            ("A", np.ones(3)),
            ("A", np.ones((1, 2))),
            ("A", np.ones((2, 3))),
            ("A", np.ones((3, 1))),
            ("d", [1.0, 2.0]),
            ("d", []),
            ("d", [[1.0]]),
        ],
        ids=lambda value: value if isinstance(value, str) else str(np.shape(value)),
    )
    def test_wrong_shapes_are_rejected(self, name, value):
        with pytest.raises(ValueError, match="shape"):
            make(**{name: value})

    def test_a_right_hand_side_with_two_axes_is_rejected(self):
        """A α − d would broadcast to a matrix."""
        with pytest.raises(ValueError, match="shape"):
            make(A=np.ones((2, 3)), d=np.ones((2, 1)))

    def test_more_than_two_rows_need_an_interior_point_method(self):
        problem = make(A=np.eye(3), d=np.full(3, 0.5))
        with pytest.raises(ValueError, match="at most two"):
            WorkingSet().solve(problem)
        np.testing.assert_allclose(Auto().solve(problem).alpha, 0.5)

    @pytest.mark.parametrize("name", ["p", "A", "d"])
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_values_that_are_not_finite_are_rejected(self, name, bad):
        value = dict(p=np.zeros(3), A=np.ones((1, 3)), d=np.ones(1))[name]
        value.flat[-1] = bad
        with pytest.raises(ValueError, match="finite"):
            make(**{name: value})

    @pytest.mark.parametrize("name", ["lower", "upper"])
    def test_nan_bounds_are_rejected(self, name):
        with pytest.raises(ValueError, match="NaN"):
            make(**{name: np.array([0.0, np.nan, 0.5])})

    def test_crossed_bounds_are_rejected(self):
        with pytest.raises(ValueError, match="lower must not exceed upper"):
            make(lower=np.array([0.0, 2.0, 0.0]))

    @pytest.mark.parametrize(("lower", "upper"), [(np.inf, np.inf), (-np.inf, -np.inf)])
    def test_a_box_without_a_finite_point_is_rejected(self, lower, upper):
        with pytest.raises(ValueError, match=r"lower|upper"):
            make(lower=np.array([0.0, lower, 0.0]), upper=np.array([1.0, upper, 1.0]))

    @pytest.mark.parametrize(
        "sign", [[1.0, -1.0], [1.0, 0.0, 1.0], [1.0, 2.0, -1.0], [np.nan, 1.0, 1.0], np.ones((3, 1))], ids=str
    )
    def test_signs_other_than_1_are_rejected(self, sign):
        access = open_access(Precomputed(), np.eye(3))
        with pytest.raises(ValueError, match="sign"):
            Quadratic(access, np.array(sign))


class TestValidProblems:
    def test_infinite_bounds_are_accepted(self):
        problem = make(lower=np.full(3, -np.inf), upper=np.array([0.0, np.inf, np.inf]))
        assert problem.value(np.array([-1.0, 2.0, 0.0])) == 2.5

    def test_equal_bounds_are_accepted(self):
        assert make(lower=np.ones(3)).size == 3

    @pytest.mark.parametrize("A", [np.empty((0, 3)), [], np.empty(0)], ids=["rows of none", "list", "vector"])
    @pytest.mark.parametrize("d", [[], np.empty(0)], ids=["list", "vector"])
    def test_problems_without_rows_are_accepted(self, A, d):
        problem = make(A=A, d=d)
        assert problem.A.shape == (0, 3)
        assert problem.d.shape == (0,)
        np.testing.assert_array_equal(problem.A @ np.ones(3) - problem.d, [])

    def test_two_rows_and_a_scalar_right_hand_side_are_accepted(self):
        assert make(A=np.eye(3)[:2], d=[0.5, 0.5]).A.shape == (2, 3)
        assert make(d=1.0).d.shape == (1,)

    def test_lists_of_integers_become_arrays_of_floats(self):
        problem = make(p=[-1, 0, 1], A=[[1, 1, 1]], d=[1], lower=[0, 0, 0], upper=[1, 2, 3])
        for name in ("p", "A", "d", "lower", "upper"):
            assert getattr(problem, name).dtype == np.float64

    def test_strided_views_become_contiguous(self):
        problem = make(p=np.arange(6.0)[::2], A=np.arange(6.0).reshape(3, 2).T[:1])
        assert problem.p.flags.c_contiguous
        assert problem.A.flags.c_contiguous
        np.testing.assert_array_equal(problem.p, [0, 2, 4])
        np.testing.assert_array_equal(problem.A, [[0, 2, 4]])

    def test_problems_are_immutable(self):
        with pytest.raises(AttributeError):
            make().p = np.ones(3)


class TestArithmetic:
    @given(program=programs(), seed=st.integers(0, 2**32 - 1))
    def test_value_and_gradient_agree_with_the_dense_matrix(self, program, seed):
        alpha = np.random.default_rng(seed).normal(size=program.size) * program.reach
        problem = program.problem()
        Q = program.Q
        scale = np.abs(Q) @ np.abs(alpha) + np.abs(program.p)
        assert np.all(np.abs(problem.gradient(alpha) - (Q @ alpha + program.p)) <= 1e-13 * scale)
        expected, size = program.value(alpha), np.abs(alpha) @ scale
        assert abs(problem.value(alpha) - expected) <= 1e-13 * size
        assert abs(problem.value(alpha, problem.gradient(alpha)) - expected) <= 1e-13 * size

    @given(program=programs(), seed=st.integers(0, 2**32 - 1))
    def test_the_gradient_is_the_derivative_of_the_value(self, program, seed):
        """The central difference quotient of a quadratic function is exact."""
        rng = np.random.default_rng(seed)
        alpha, direction = rng.normal(size=(2, program.size)) * program.reach
        problem = program.problem()
        difference = (problem.value(alpha + direction) - problem.value(alpha - direction)) / 2
        size = (np.abs(alpha) + np.abs(direction)) @ (np.abs(program.Q) @ (np.abs(alpha) + np.abs(direction)))
        size += np.abs(program.p) @ (np.abs(alpha) + np.abs(direction))
        assert abs(problem.gradient(alpha) @ direction - difference) <= 1e-12 * size

    @pytest.mark.parametrize("slots", [1, 2])
    def test_all_methods_of_the_matrix_agree(self, slots):
        rng = np.random.default_rng(slots)
        X = rng.normal(size=(7, 3))
        sign = rng.choice([-1.0, 1.0], 7 * slots)
        Q = Quadratic(open_access(RBF(0.3), X), sign)
        K = np.exp(-0.3 * np.square(X[:, None] - X[None]).sum(axis=2))
        expected = np.tile(K, (slots, slots)) * np.outer(sign, sign)
        assert (Q.n, Q.size, Q.slots) == (7, 7 * slots, slots)
        np.testing.assert_allclose(dense_matrix(Q), expected, rtol=1e-14)
        np.testing.assert_allclose(Q.diagonal(), np.diag(expected), rtol=1e-14)
        alpha = rng.normal(size=Q.size)
        np.testing.assert_allclose(Q.matvec(alpha), expected @ alpha, rtol=1e-12, atol=1e-13)
        rows, cols = np.array([5, 0, Q.size - 1]), np.array([Q.size - 1, 3])
        np.testing.assert_allclose(Q.block(rows, cols), expected[np.ix_(rows, cols)], rtol=1e-14)
        np.testing.assert_allclose(
            Q.coefficients(alpha), (sign * alpha).reshape(slots, 7).sum(axis=0), rtol=1e-15
        )


def test_history_keeps_the_best_bounds_of_exact_snapshots_only():
    """LwK (10.21).  A primal value of the active samples is not a bound, a dual value always is."""
    history = History.from_columns(
        dict(
            iteration=[0, 1, 2, 3],
            seconds=[0.0] * 4,
            violation=[1.0] * 4,
            primal=[9.0, 7.0, 2.0, 8.0],
            dual=[0.0, 3.0, 4.0, 3.5],
            gap=[9.0, 4.0, -2.0, 4.5],
            active=[5, 5, 2, 5],
            exact=[1, 1, 0, 1],
        )
    )
    assert len(history) == 4
    assert history.exact.dtype == bool
    assert history.best_primal == 7.0
    assert history.best_dual == 4.0


def test_an_empty_history_has_infinite_bounds():
    names = ("iteration", "seconds", "violation", "primal", "dual", "gap", "active", "exact")
    history = History.from_columns({name: np.empty(0) for name in names})
    assert len(history) == 0
    assert history.best_primal == np.inf
    assert history.best_dual == -np.inf


def test_the_point_of_a_solution_is_the_argument_of_certify():
    history = History(*[np.empty(0)] * 8)
    solution = Solution(np.ones(2), np.zeros(1), np.zeros(2), Status.SOLVED, 3, history)
    alpha, mu = solution.point
    assert alpha is solution.alpha
    assert mu is solution.mu
    assert solution.error is None
    assert solution.exact


def test_solved_is_the_smallest_status():
    """The maximum of several statuses shows a failure."""
    assert max(Status) is not Status.SOLVED
    assert min(Status) is Status.SOLVED
    assert [status.name for status in Status] == [
        "SOLVED",
        "MAX_ITER",
        "TIME_LIMIT",
        "INTERRUPTED",
        "NUMERICAL",
    ]
