"""Groups of variables that share an equality row, and projection onto the feasible set."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.strategies import programs
from hinge.kernels import Precomputed, open_access
from hinge.problems import Problem, Quadratic
from hinge.solvers.feasibility import groups_of, nearest_feasible
from solvers.cases import FORMULATIONS, dense, make_problem

seeds = st.integers(0, 2**32 - 1)


def with_rows(A, sign=(1.0, 1.0, -1.0, -1.0)):
    A = np.atleast_2d(np.asarray(A, float))
    Q = Quadratic(open_access(Precomputed(), np.eye(4)), np.array(sign))
    return Problem(Q, np.zeros(4), A, np.zeros(len(A)), np.zeros(4), np.ones(4))


class TestGroups:
    @pytest.mark.parametrize(
        ("A", "expected"),
        [
            ([1, 1, -1, -1], [0, 0, 0, 0]),
            ([-2.5, -2.5, 2.5, 2.5], [0, 0, 0, 0]),
            ([1, 0, 0, -1], [0, -1, -1, 0]),
            ([[1, 1, 0, 0], [0, 0, 1, 1]], [0, 0, 1, 1]),
            ([[0, 0, 3, 0], [7, 0, 0, -7]], [1, -1, 0, 1]),
            ([[0, 0, 0, 0], [1, 1, -1, -1]], [1, 1, 1, 1]),
            (np.empty((0, 4)), [-1, -1, -1, -1]),
        ],
        ids=str,
    )
    def test_group_is_the_support_of_a_constant_signed_row(self, A, expected):
        group = groups_of(with_rows(A))
        assert group.dtype == np.int8
        np.testing.assert_array_equal(group, expected)

    @pytest.mark.parametrize(
        "A",
        [
            [1, 1, 1, 1],  # constant, but not in signed coordinates
            [1, 2, -1, -1],
            [1, 1 + 1e-15, -1, -1],
            [[1, 1, 0, 0], [0, 1, -1, 0]],  # a common variable
            [[1, 1, -1, -1], [1, 1, -1, -1]],
        ],
        ids=str,
    )
    def test_other_rows_are_rejected(self, A):
        with pytest.raises(ValueError, match="constant on disjoint groups") as error:
            groups_of(with_rows(A))
        assert "signed coordinates" in str(error.value)

    @pytest.mark.parametrize("name", FORMULATIONS)
    def test_every_formulation_has_groups(self, name):
        problem = make_problem(name, 12)
        group = groups_of(problem)
        assert set(group) == set(range(len(problem.A))) or (len(problem.A) == 0 and set(group) == {-1})


class TestNearestFeasible:
    @given(program=programs(), seed=seeds, exponent=st.integers(-3, 6))
    def test_point_is_feasible(self, program, seed, exponent):
        """Bounds hold exactly, equality rows up to rounding, for any start."""
        problem = program.problem()
        start = np.random.default_rng(seed).normal(size=program.size) * program.reach * 10.0**exponent
        for point in (nearest_feasible(problem), nearest_feasible(problem, start)):
            assert np.all(point >= program.lower)
            assert np.all(point <= program.upper)
            size = np.abs(program.A) @ np.abs(point) + np.abs(program.d) + program.reach
            assert np.all(np.abs(program.A @ point - program.d) <= 1e-14 * program.size * size)

    @given(program=programs())
    def test_feasible_start_is_unchanged(self, program):
        point = nearest_feasible(program.problem(), program.feasible)
        size = max(np.abs(program.feasible).max(), program.reach)
        np.testing.assert_allclose(point, program.feasible, atol=1e-13 * program.size * size)

    @given(program=programs(), seed=seeds)
    def test_projection_is_idempotent(self, program, seed):
        problem = program.problem()
        start = np.random.default_rng(seed).normal(size=program.size) * program.reach
        once = nearest_feasible(problem, start)
        twice = nearest_feasible(problem, once)
        np.testing.assert_allclose(twice, once, atol=1e-13 * program.size * program.reach)

    @given(program=programs(bounded=True), seed=seeds)
    def test_total_change_is_minimal(self, program, seed):
        """After clipping, all variables of a row change in one direction, and the changes sum to its residual."""
        problem = program.problem()
        start = np.random.default_rng(seed).normal(size=program.size) * program.reach
        clipped = np.clip(start, program.lower, program.upper)
        point = nearest_feasible(problem, start)
        for row, target in zip(program.A, program.d, strict=True):
            change = np.abs(row) @ np.abs(point - clipped)
            residual = abs(target - row @ clipped)
            assert change == pytest.approx(residual, abs=1e-12 * program.size * program.reach)
        unconstrained = ~np.any(program.A != 0, axis=0)
        np.testing.assert_array_equal(point[unconstrained], clipped[unconstrained])

    def test_start_is_not_modified(self):
        start = np.full(3, 7.0)
        nearest_feasible(dense(np.eye(3), np.zeros(3), np.ones(3), 1.0), start)
        np.testing.assert_array_equal(start, 7.0)

    def test_default_start_is_the_origin(self):
        np.testing.assert_array_equal(
            nearest_feasible(dense(np.eye(3), np.zeros(3), np.ones(3), 1.5)), [1, 0.5, 0]
        )
        np.testing.assert_array_equal(nearest_feasible(dense(np.eye(2), np.zeros(2), lower=-1.0)), [0, 0])

    def test_infinite_bounds(self):
        problem = dense(np.eye(3), np.zeros(3), np.ones(3), 50.0, upper=np.array([1.0, np.inf, np.inf]))
        np.testing.assert_array_equal(nearest_feasible(problem), [1, 49, 0])
        problem = dense(np.eye(2), np.zeros(2), [1.0, -1.0], 5.0, -np.inf, np.inf)
        np.testing.assert_array_equal(nearest_feasible(problem), [5, 0])

    def test_variables_at_bounds_are_exact(self):
        """start + (end − start) may differ from end by rounding."""
        rng = np.random.default_rng(0)
        inexact = 0
        for start, upper in rng.random((200, 2)) * [-10.0, 1.0]:
            problem = dense(
                np.eye(2), np.zeros(2), np.ones(2), upper + 0.25, np.array([-10.0, 0.0]), np.array([upper, 1.0])
            )
            assert nearest_feasible(problem, np.array([start, 0.0]))[0] == upper
            inexact += start + (upper - start) != upper
        assert inexact > 10, "rounding has no effect"

    def test_large_change_is_corrected_for_rounding(self):
        """A change from 10⁹ to 0.1 loses digits, which a second pass corrects."""
        problem = dense(np.eye(1), np.zeros(1), [1.0], -0.1, -np.inf, np.inf)
        for start in (1.23456789e9, -7.7e5, 31.4):
            assert nearest_feasible(problem, np.array([start]))[0] == pytest.approx(-0.1, rel=1e-15)

    @given(
        ends=st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), share=st.floats(0, 1), where=st.floats(0, 1)
    )
    def test_rounding_does_not_violate_bounds(self, ends, share, where):
        """start + (end − start) may be rounded beyond the bound."""
        low, high = min(ends), max(ends)
        start = np.clip(low + where * (high - low), low, high)
        target = np.clip(low + share * (high - low), low, high)
        problem = dense(np.eye(1), np.zeros(1), [1.0], target, low, high)
        (point,) = nearest_feasible(problem, np.array([start]))
        assert low <= point <= high

    @pytest.mark.parametrize("target", [3.5, -0.5])
    def test_error_states_the_feasible_range(self, target):
        with pytest.raises(ValueError, match=r"no feasible point.*reach") as error:
            nearest_feasible(dense(np.eye(3), np.zeros(3), np.ones(3), target))
        assert f"{target:g}" in str(error.value)
        assert ("3" if target > 0 else "0") in str(error.value).split("at most")[1]

    def test_empty_row_with_a_nonzero_right_side_is_rejected(self):
        with pytest.raises(ValueError, match="no feasible point"):
            nearest_feasible(dense(np.eye(2), np.zeros(2), np.zeros(2), 1.0))

    @pytest.mark.parametrize("start", [np.zeros(2), np.zeros((3, 1)), np.array([0, np.nan, 0]), np.full(3, np.inf)])
    def test_invalid_start_is_rejected(self, start):
        with pytest.raises(ValueError, match="3 finite values"):
            nearest_feasible(dense(np.eye(3), np.zeros(3)), start)
