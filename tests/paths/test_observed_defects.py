"""Paths that were wrong or did not terminate in earlier versions."""

import inspect

import numpy as np
import pytest

import hinge
from reference.termination import output_of

X = np.random.default_rng(0).normal(size=(30, 3))


class TestOneClass:
    """Paths of one class, which were empty."""

    weight = np.random.default_rng(1).random(30) + 0.2

    def test_the_path_over_the_cost_is_that_of_nu(self):
        path = hinge.regularization_path(X, task="one_class", C_min=1 / 30, C_max=5.0, gamma=0.5)
        assert len(path.breakpoints) > 10
        for C in (1 / 30, 0.05, 0.3, 1.0, 5.0):
            nu = min(1.0, 1 / (30 * C))
            exact = hinge.OneClassSVM(nu=nu, gamma=0.5, tol=1e-10).fit(X).decision_function(X)
            assert path.decision_function(X, C) * 30 * nu == pytest.approx(exact, abs=1e-10)

    def test_the_path_over_weights_is_that_of_weighted_estimators(self):
        path = hinge.weight_path(X, None, np.ones(30), self.weight, task="one_class", nu=0.3, gamma=0.5)
        assert len(path.breakpoints) > 2
        for theta in (0.0, 0.4, 1.0):
            weight = 1 + theta * (self.weight - 1)
            exact = hinge.OneClassSVM(nu=0.3, gamma=0.5, tol=1e-10).fit(X, sample_weight=weight)
            assert path.decision_function(X, theta) == pytest.approx(exact.decision_function(X), abs=1e-10)

    def test_a_cost_without_feasible_point_is_rejected(self):
        with pytest.raises(ValueError, match=r"C_min=0.001 .* C_min of at least 0.0333333"):
            hinge.regularization_path(X, task="one_class")

    def test_other_functions_reject_one_class(self):
        for function in (hinge.approximate_path, hinge.selection.path_search, hinge.selection.leave_one_out):
            with pytest.raises(ValueError, match="task='one_class' must be one of"):
                function(X, np.ones(30), task="one_class")


class TestApproximatePath:
    def test_it_has_a_time_limit(self):
        assert "max_time" in inspect.signature(hinge.approximate_path).parameters

    def test_data_of_scale_1e6_terminate(self):
        (knots,) = output_of(
            """
            import numpy as np
            import hinge
            rng = np.random.default_rng(0)
            X = 1e6 * rng.normal(size=(60, 3))
            path = hinge.approximate_path(X, np.where(rng.random(60) > 0.5, 1, -1), kernel="linear")
            print(len(path.knots))
            """
        )
        assert int(knots) >= 2

    def test_it_can_be_interrupted(self):
        (kind,) = output_of(
            """
            import signal
            import numpy as np
            import hinge
            rng = np.random.default_rng(0)
            X = 1e6 * rng.normal(size=(200, 3))
            hinge.approximate_path(X[:9], np.arange(9) % 2, kernel="linear")  # imports all modules
            signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            try:
                for _ in range(1000):
                    hinge.approximate_path(X, np.where(rng.random(200) > 0.5, 1, -1), kernel="linear", gap=1e-6)
            except KeyboardInterrupt:
                print("interrupted")
            """
        )
        assert kind == "interrupted"
