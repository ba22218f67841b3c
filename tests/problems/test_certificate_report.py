"""Certificates with a history, certificates of several problems, and their text."""

import re
from fractions import Fraction

import numpy as np
import pytest

from hinge.problems import Certificate, History, combine
from hinge.problems.certificate import difference_above, relative


def history(primal, dual, exact=None):
    n = len(primal)
    return History(
        iteration=np.arange(n),
        seconds=np.zeros(n),
        violation=np.ones(n),
        primal=np.array(primal),
        dual=np.array(dual),
        gap=np.subtract(primal, dual),
        active=np.full(n, 5),
        exact=np.ones(n, bool) if exact is None else np.array(exact),
    )


def certificate(primal=4.0, dual=3.0, infeasibility=0.0, kkt=0.5, mu=(0.0,), convex=True):
    gap = primal - dual
    return Certificate(
        primal,
        dual,
        gap,
        relative(gap, primal, dual),
        kkt,
        infeasibility,
        np.array(mu),
        primal,
        dual,
        convex,
    )


class TestHistory:
    """The best bounds of a run, LwK (10.21)."""

    def test_the_best_bounds_of_the_run_and_the_end_are_used(self):
        better = certificate().with_history(history([9.0, 3.5, 6.0], [0.0, 2.0, 3.25]))
        assert (better.best_primal, better.best_dual) == (3.5, 3.25)
        worse = certificate().with_history(history([9.0, 4.5], [0.0, 2.0]))
        assert (worse.best_primal, worse.best_dual) == (4.0, 3.0)
        assert (better.primal, better.dual, better.gap) == (4.0, 3.0, 1.0)

    def test_a_primal_value_of_active_samples_is_not_a_bound(self):
        found = certificate().with_history(history([1.0, 3.5], [0.0, 3.25], exact=[False, True]))
        assert found.best_primal == 3.5

    def test_bounds_that_cross_mark_the_problem_as_nonconvex(self):
        """If it is unknown whether the matrix is positive semidefinite, crossing bounds show that it is not."""
        crossed = history([4.0], [9.0])
        assert certificate(convex=None).with_history(crossed).convex is False
        assert "no proof" in str(certificate(convex=None).with_history(crossed))
        assert certificate(convex=None).with_history(history([3.5], [3.25])).convex is None

    def test_a_run_without_snapshots_changes_nothing(self):
        found = certificate().with_history(history([], []))
        assert (found.best_primal, found.best_dual) == (4.0, 3.0)

    def test_an_incomplete_run_proves_a_lower_bound_only(self):
        found = certificate().unproven(history([9.0, 5.0], [0.0, 2.0], exact=[True, False]))
        assert found.dual == found.best_dual == 2.0
        assert found.primal == found.gap == found.relative_gap == found.kkt_violation == np.inf
        assert found.best_primal == 9.0
        assert not found.proves(1e300)


class TestCombine:
    def test_values_are_added_and_violations_maximized(self):
        one = certificate(4.0, 3.0, infeasibility=0.1, kkt=0.5, mu=(1.0, 2.0)).with_history(
            history([3.5], [3.25])
        )
        two = certificate(10.0, 6.0, infeasibility=0.2, kkt=0.25, mu=(3.0,))
        both = combine([one, two])
        assert (both.primal, both.dual, both.gap) == (14.0, 9.0, 5.0)
        assert both.relative_gap == relative(5.0, 14.0, 9.0)
        assert (both.kkt_violation, both.infeasibility) == (0.5, 0.2)
        assert (both.best_primal, both.best_dual) == (13.5, 9.25)
        np.testing.assert_array_equal(both.mu, [1.0, 2.0, 3.0])

    def test_sums_are_rounded_outwards(self):
        both = combine([certificate(1.0, 0.5), certificate(1e-17, -1e-17), certificate(3e-17, -3e-17)])
        assert Fraction(both.primal) >= 1 + Fraction(1e-17) + Fraction(3e-17)
        assert Fraction(both.dual) <= Fraction(1, 2) - Fraction(1e-17) - Fraction(3e-17)

    @pytest.mark.parametrize("order", [1, -1])
    def test_an_unknown_value_of_one_problem_is_unknown_for_all(self, order):
        both = combine([certificate(), certificate(kkt=np.nan, infeasibility=np.nan)][::order])
        assert np.isnan(both.kkt_violation)
        assert np.isnan(both.infeasibility)
        assert not both.proves(1e300)

    def test_one_certificate_is_returned_unchanged(self):
        one = certificate()
        assert combine([one]) is one

    def test_one_certificate_without_proof_invalidates_the_combination(self):
        cut_off = certificate().unproven(history([], [1.0][:0]))
        both = combine([certificate(), cut_off])
        assert both.gap == both.relative_gap == np.inf
        assert not both.proves(1e300)


def test_the_gap_is_rounded_up():
    for primal, dual in ((1.0, 1e-17), (1.0, -1e-17), (0.1, 0.3e-16), (1e16, 0.7)):
        assert Fraction(difference_above(primal, dual)) >= Fraction(primal) - Fraction(dual)


class TestText:
    def test_the_text_is_one_line_with_all_values(self):
        text = str(certificate(4.0, 3.0, infeasibility=1e-17, kkt=0.5).with_history(history([3.5], [3.25])))
        assert "\n" not in text
        assert re.search(r"between 3\.25 and 3\.5\b", text)
        assert re.search(r"gap 1 \(0\.29 relative\)", text)
        assert "KKT violation 0.5" in text
        assert "infeasibility 1e-17" in text
        assert "no proof" not in text

    @pytest.mark.parametrize(("convex", "warned"), [(True, False), (None, False), (False, True)])
    def test_the_text_states_that_a_nonconvex_problem_has_no_proof(self, convex, warned):
        assert ("not positive definite: no proof" in str(certificate(convex=convex))) == warned

    @pytest.mark.parametrize(("convex", "conditional"), [(True, False), (None, True), (False, False)])
    def test_the_text_states_an_unknown_convexity(self, convex, conditional):
        assert ("if the kernel matrix is positive semidefinite" in str(certificate(convex=convex))) == conditional

    def test_infinite_values_are_readable(self):
        assert "gap inf" in str(certificate().unproven(history([], [])))
