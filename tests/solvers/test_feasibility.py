"""Equality rows as groups, and the nearest point that satisfies them."""

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
    def test_a_group_is_where_the_signed_row_is_constant(self, A, expected):
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
    def test_other_rows_are_refused(self, A):
        with pytest.raises(ValueError, match="constant on disjoint groups") as refusal:
            groups_of(with_rows(A))
        assert "signed coordinates" in str(refusal.value)

    @pytest.mark.parametrize("name", FORMULATIONS)
    def test_every_machine_has_groups(self, name):
        problem = make_problem(name, 12)
        group = groups_of(problem)
        assert set(group) == set(range(len(problem.A))) or (len(problem.A) == 0 and set(group) == {-1})


class TestNearestFeasible:
    @given(program=programs(), seed=seeds, exponent=st.integers(-3, 6))
    def test_is_feasible(self, program, seed, exponent):
        """From anywhere: inside the boxes to the bit, on the rows to rounding."""
        problem = program.problem()
        start = np.random.default_rng(seed).normal(size=program.size) * program.reach * 10.0**exponent
        for point in (nearest_feasible(problem), nearest_feasible(problem, start)):
            assert np.all(point >= program.lower)
            assert np.all(point <= program.upper)
            size = np.abs(program.A) @ np.abs(point) + np.abs(program.d) + program.reach
            assert np.all(np.abs(program.A @ point - program.d) <= 1e-14 * program.size * size)

    @given(program=programs())
    def test_is_where_one_was_if_that_was_feasible(self, program):
        point = nearest_feasible(program.problem(), program.feasible)
        size = max(np.abs(program.feasible).max(), program.reach)
        np.testing.assert_allclose(point, program.feasible, atol=1e-13 * program.size * size)

    @given(program=programs(), seed=seeds)
    def test_twice_is_once(self, program, seed):
        problem = program.problem()
        start = np.random.default_rng(seed).normal(size=program.size) * program.reach
        once = nearest_feasible(problem, start)
        twice = nearest_feasible(problem, once)
        np.testing.assert_allclose(twice, once, atol=1e-13 * program.size * program.reach)

    @given(program=programs(bounded=True), seed=seeds)
    def test_moves_no_more_than_it_must(self, program, seed):
        """Clipping moves each variable as little as possible, and filling moves all in one direction: the sum of
        the moves within a row is the defect of the row, no more."""
        problem = program.problem()
        start = np.random.default_rng(seed).normal(size=program.size) * program.reach
        clipped = np.clip(start, program.lower, program.upper)
        point = nearest_feasible(problem, start)
        for row, target in zip(program.A, program.d, strict=True):
            moved = np.abs(row) @ np.abs(point - clipped)
            defect = abs(target - row @ clipped)
            assert moved == pytest.approx(defect, abs=1e-12 * program.size * program.reach)
        untouched = ~np.any(program.A != 0, axis=0)
        np.testing.assert_array_equal(point[untouched], clipped[untouched])

    def test_leaves_the_start_alone(self):
        start = np.full(3, 7.0)
        nearest_feasible(dense(np.eye(3), np.zeros(3), np.ones(3), 1.0), start)
        np.testing.assert_array_equal(start, 7.0)

    def test_without_a_start_is_near_the_origin(self):
        np.testing.assert_array_equal(
            nearest_feasible(dense(np.eye(3), np.zeros(3), np.ones(3), 1.5)), [1, 0.5, 0]
        )
        np.testing.assert_array_equal(nearest_feasible(dense(np.eye(2), np.zeros(2), lower=-1.0)), [0, 0])

    def test_infinite_boxes_have_room_for_all(self):
        problem = dense(np.eye(3), np.zeros(3), np.ones(3), 50.0, upper=np.array([1.0, np.inf, np.inf]))
        np.testing.assert_array_equal(nearest_feasible(problem), [1, 49, 0])
        problem = dense(np.eye(2), np.zeros(2), [1.0, -1.0], 5.0, -np.inf, np.inf)
        np.testing.assert_array_equal(nearest_feasible(problem), [5, 0])

    def test_full_variables_are_at_their_bounds_to_the_bit(self):
        """start + (end − start) is not always the end."""
        rng = np.random.default_rng(0)
        odd = 0
        for start, upper in rng.random((200, 2)) * [-10.0, 1.0]:
            problem = dense(
                np.eye(2), np.zeros(2), np.ones(2), upper + 0.25, np.array([-10.0, 0.0]), np.array([upper, 1.0])
            )
            assert nearest_feasible(problem, np.array([start, 0.0]))[0] == upper
            odd += start + (upper - start) != upper
        assert odd > 10, "the test tests nothing"

    def test_a_long_way_leaves_no_rounding_behind(self):
        """From 10⁹ down to 0.1 the last digits of the way are gone; a second look finds them."""
        problem = dense(np.eye(1), np.zeros(1), [1.0], -0.1, -np.inf, np.inf)
        for start in (1.23456789e9, -7.7e5, 31.4):
            assert nearest_feasible(problem, np.array([start]))[0] == pytest.approx(-0.1, rel=1e-15)

    @given(
        ends=st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), share=st.floats(0, 1), where=st.floats(0, 1)
    )
    def test_no_rounding_leads_out_of_the_box(self, ends, share, where):
        """start + (end − start) may round to beyond the end."""
        low, high = min(ends), max(ends)
        start = np.clip(low + where * (high - low), low, high)
        target = np.clip(low + share * (high - low), low, high)
        problem = dense(np.eye(1), np.zeros(1), [1.0], target, low, high)
        (point,) = nearest_feasible(problem, np.array([start]))
        assert low <= point <= high

    @pytest.mark.parametrize("target", [3.5, -0.5])
    def test_says_what_the_boxes_allow(self, target):
        with pytest.raises(ValueError, match=r"no feasible point.*reach") as refusal:
            nearest_feasible(dense(np.eye(3), np.zeros(3), np.ones(3), target))
        assert f"{target:g}" in str(refusal.value)
        assert ("3" if target > 0 else "0") in str(refusal.value).split("at most")[1]

    def test_an_empty_row_that_asks_for_something(self):
        with pytest.raises(ValueError, match="no feasible point"):
            nearest_feasible(dense(np.eye(2), np.zeros(2), np.zeros(2), 1.0))

    @pytest.mark.parametrize("start", [np.zeros(2), np.zeros((3, 1)), np.array([0, np.nan, 0]), np.full(3, np.inf)])
    def test_no_start_at_all(self, start):
        with pytest.raises(ValueError, match="3 finite values"):
            nearest_feasible(dense(np.eye(3), np.zeros(3)), start)
