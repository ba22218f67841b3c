"""Calibrated thresholds of novelty detectors that do not learn any more."""

import numpy as np
import pytest

import hinge


def drifting(seed, n=6000):
    rng = np.random.default_rng(seed)
    return np.linspace(0, 6, n)[:, None] + rng.normal(size=(n, 2)), rng


class TestCalibrate:
    def test_the_fraction_of_alerts_after_a_drift_is_nu(self):
        """Without calibration it is several times ν."""
        rates = []
        for seed in range(10):
            stream, rng = drifting(seed)
            model = hinge.OnlineNoveltyDetector(nu=0.05).fit(stream)
            later = 6 + rng.normal(size=(2000, 2))
            model.calibrate(6 + rng.normal(size=(500, 2)))
            rates.append(np.mean(model.predict(later) == -1))
        expected = np.floor(0.05 * 501) / 501
        assert np.mean(rates) == pytest.approx(expected, abs=4 * np.sqrt(0.05 * 0.95 / 500 / 10))

    @pytest.mark.parametrize(("nu", "n", "rank"), [(0.05, 19, 1), (0.05, 100, 5), (0.1, 99, 10), (0.3, 9, 3)])
    def test_the_threshold_is_an_order_statistic(self, nu, n, rank):
        stream, rng = drifting(0, 500)
        model = hinge.OnlineNoveltyDetector(nu=nu).fit(stream)
        X = 6 + rng.normal(size=(n, 2))
        rho = model.offset_
        assert not model.is_calibrated_
        scores = np.sort(model.score_samples(X))
        assert model.calibrate(X).offset_ == scores[rank - 1] != rho
        assert model.is_calibrated_
        assert np.sum(model.predict(X) == -1) == rank - 1
        assert model.score_one(X[0]) == pytest.approx(model.decision_function(X[:1])[0])

    @pytest.mark.parametrize("learn", ["fit", "partial_fit", "learn_one"])
    def test_learning_discards_the_threshold(self, learn):
        stream, rng = drifting(0, 500)
        model = hinge.OnlineNoveltyDetector(nu=0.1).fit(stream).calibrate(6 + rng.normal(size=(100, 2)))
        getattr(model, learn)(stream[0] if learn == "learn_one" else stream[:10])
        assert not model.is_calibrated_
        assert model.offset_ == model._learner.level[0]

    def test_it_is_saved(self, tmp_path):
        stream, rng = drifting(0, 500)
        model = hinge.OnlineNoveltyDetector(nu=0.1).fit(stream).calibrate(6 + rng.normal(size=(100, 2)))
        hinge.save(model, tmp_path / "model.hinge")
        loaded = hinge.load(tmp_path / "model.hinge")
        assert loaded.is_calibrated_
        assert loaded.offset_ == model.offset_

    def test_too_few_samples(self):
        model = hinge.OnlineNoveltyDetector(nu=0.05).fit(drifting(0, 100)[0])
        with pytest.raises(ValueError, match=r"X has 18 samples, but nu=0.05 needs at least 19"):
            model.calibrate(np.zeros((18, 2)))
