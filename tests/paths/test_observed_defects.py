"""Paths that were wrong or did not terminate in earlier versions."""

import inspect

import numpy as np
import pytest

import hinge
from reference.termination import output_of

broken = pytest.mark.xfail(strict=True, reason="known defect")
does_not_end = pytest.mark.xfail(run=False, reason="known defect: the run does not terminate")

X = np.random.default_rng(0).normal(size=(30, 3))


class TestOneClass:
    """The problem of one class does not have the data that these paths change."""

    @broken
    def test_regularization_path_rejects_one_class(self):
        with pytest.raises(ValueError, match="task"):
            hinge.regularization_path(X, np.ones(30), task="one_class")

    @broken
    def test_weight_path_rejects_one_class(self):
        with pytest.raises(ValueError, match="task"):
            hinge.weight_path(X, np.ones(30), np.ones(30), np.linspace(0.5, 2, 30), task="one_class")


class TestApproximatePath:
    @broken
    def test_it_has_a_time_limit(self):
        assert "max_time" in inspect.signature(hinge.approximate_path).parameters

    @does_not_end
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

    @does_not_end
    def test_it_can_be_interrupted(self):
        (kind,) = output_of(
            """
            import signal
            import numpy as np
            import hinge
            rng = np.random.default_rng(0)
            X = 1e6 * rng.normal(size=(200, 3))
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
