"""`GridSearchCV` of scikit-learn with estimators that have `warm_start=True`."""

import pickle

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC as TheirSVC

import hinge

COSTS = [0.03, 1.0, 30.0, 1000.0]


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), y


class TestGridSearchWithWarmStart:
    """Clones share their solutions: a fit starts from the solution of the last C on the same fold."""

    @staticmethod
    def search(estimator, axes, X, y, **options):
        steps = []

        def score(model, X, y):
            steps.append(int(np.sum(model.n_iter_)))
            return model.score(X, y)

        found = GridSearchCV(estimator, axes, scoring=score, cv=3, **options).fit(X, y)
        return found, sum(steps)

    def test_fewer_iterations_give_the_same_scores(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 5))
        y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=600) > 0, "a", "b")
        axes = dict(C=[8.0, 4.0, 2.0, 1.0], gamma=[0.1, 0.3])
        cold, many = self.search(hinge.SVC(), axes, X, y)
        warm, few = self.search(hinge.SVC(warm_start=True), axes, X, y)
        assert few < 0.9 * many
        apart = np.abs(warm.cv_results_["mean_test_score"] - cold.cv_results_["mean_test_score"])
        assert np.all(apart <= 3.01 / len(y))

    def test_solutions_are_shared_within_a_pipeline(self):
        X, y = iris()
        axes = {"svc__C": [4.0, 2.0, 1.0]}
        estimator = hinge.SVC(warm_start=True)
        GridSearchCV(make_pipeline(StandardScaler(), estimator), axes, cv=3).fit(X, y)
        assert len(estimator._shared_solutions) == 4  # three folds and the refit

    def test_solutions_are_not_shared_between_processes_or_files(self, tmp_path):
        X, y = iris()
        estimator = hinge.SVC(warm_start=True)
        best = GridSearchCV(estimator, dict(C=[2.0, 1.0])).fit(X, y).best_estimator_
        assert estimator._shared_solutions
        assert not pickle.loads(pickle.dumps(estimator))._shared_solutions  # solutions are not pickled
        hinge.save(best, tmp_path / "model.hinge")
        again = hinge.load(tmp_path / "model.hinge")
        np.testing.assert_array_equal(again.predict(X), best.predict(X))
        cold = clone(best).set_params(warm_start=False).fit(X, y)
        assert np.sum(again.fit(X, y).n_iter_) < np.sum(cold.n_iter_)

    def test_solutions_of_other_data_of_the_same_size_are_not_used(self):
        X, y = iris()
        estimator = hinge.SVC(warm_start=True)
        clone(estimator).fit(X, y)
        other = clone(estimator).fit(X[:, ::-1] ** 2, y)
        assert other.status_ is hinge.Status.SOLVED
        assert other.certificate_.relative_gap < 1e-3

    def test_scores_agree_with_scikit_learn(self):
        X, y = iris()
        axes = dict(C=COSTS, gamma=[0.05, 0.5])
        theirs = GridSearchCV(TheirSVC(), axes).fit(X, y)
        ours = GridSearchCV(hinge.SVC(warm_start=True), axes).fit(X, y)
        apart = np.abs(ours.cv_results_["mean_test_score"] - theirs.cv_results_["mean_test_score"])
        assert np.all(apart <= 5.01 / len(y))
