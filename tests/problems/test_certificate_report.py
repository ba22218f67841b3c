"""What certificates say: with a history, of several problems together, and in words."""

import re

import numpy as np
import pytest

from hinge.problems import Certificate, History, combine
from hinge.problems.certificate import relative


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

    def test_the_best_of_the_run_and_the_end_are_taken(self):
        better = certificate().with_history(history([9.0, 3.5, 6.0], [0.0, 2.0, 3.25]))
        assert (better.best_primal, better.best_dual) == (3.5, 3.25)
        worse = certificate().with_history(history([9.0, 4.5], [0.0, 2.0]))
        assert (worse.best_primal, worse.best_dual) == (4.0, 3.0)
        assert (better.primal, better.dual, better.gap) == (4.0, 3.0, 1.0)

    def test_a_primal_value_of_some_samples_is_no_bound(self):
        found = certificate().with_history(history([1.0, 3.5], [0.0, 3.25], exact=[False, True]))
        assert found.best_primal == 3.5

    def test_bounds_that_cross_are_those_of_no_convex_problem(self):
        """A matrix that nobody has looked at: with one proof that it is not positive semidefinite there is no other."""
        crossed = history([4.0], [9.0])
        assert certificate(convex=None).with_history(crossed).convex is False
        assert "no proof" in str(certificate(convex=None).with_history(crossed))
        assert certificate(convex=None).with_history(history([3.5], [3.25])).convex is None

    def test_a_run_without_snapshots_changes_nothing(self):
        found = certificate().with_history(history([], []))
        assert (found.best_primal, found.best_dual) == (4.0, 3.0)

    def test_a_run_cut_off_proves_a_lower_bound_only(self):
        found = certificate().unproven(history([9.0, 5.0], [0.0, 2.0], exact=[True, False]))
        assert found.dual == found.best_dual == 2.0
        assert found.primal == found.gap == found.relative_gap == found.kkt_violation == np.inf
        assert found.best_primal == 9.0
        assert not found.proves(1e300)


class TestCombine:
    def test_values_add_up_and_violations_do_not(self):
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

    @pytest.mark.parametrize("order", [1, -1])
    def test_what_is_not_known_is_not_known_of_both(self, order):
        both = combine([certificate(), certificate(kkt=np.nan, infeasibility=np.nan)][::order])
        assert np.isnan(both.kkt_violation)
        assert np.isnan(both.infeasibility)
        assert not both.proves(1e300)

    def test_one_is_itself(self):
        one = certificate()
        assert combine([one]) is one

    def test_one_without_proof_leaves_none(self):
        cut_off = certificate().unproven(history([], [1.0][:0]))
        both = combine([certificate(), cut_off])
        assert both.gap == both.relative_gap == np.inf
        assert not both.proves(1e300)


class TestText:
    def test_says_what_is_known_in_one_line(self):
        text = str(certificate(4.0, 3.0, infeasibility=1e-17, kkt=0.5).with_history(history([3.5], [3.25])))
        assert "\n" not in text
        assert re.search(r"between 3\.25 and 3\.5\b", text)
        assert re.search(r"gap 1 \(0\.29 relative\)", text)
        assert "KKT violation 0.5" in text
        assert "infeasibility 1e-17" in text
        assert "no proof" not in text

    @pytest.mark.parametrize(("convex", "warned"), [(True, False), (None, False), (False, True)])
    def test_says_when_it_is_no_proof(self, convex, warned):
        assert ("not positive definite: no proof" in str(certificate(convex=convex))) == warned

    @pytest.mark.parametrize(("convex", "conditional"), [(True, False), (None, True), (False, False)])
    def test_says_what_nobody_has_looked_at(self, convex, conditional):
        assert ("if the kernel matrix is positive semidefinite" in str(certificate(convex=convex))) == conditional

    def test_infinite_values_are_readable(self):
        assert "gap inf" in str(certificate().unproven(history([], [])))
