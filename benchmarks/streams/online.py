"""Measure the online learners on the electricity stream (elec2, 45,312 samples, 8 features).

    python benchmarks/streams/online.py [--only speed estimators quality bounds memory]

speed       hinge compared with loops in Python: RBF kernel, 200 terms, hinge loss; every sample is predicted before it
            is learned
estimators  updates per second of all online estimators
quality     prequential error rates
bounds      truncation errors, and the fraction of margin errors for several nu
memory      peak memory over ten million samples

All times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from series import load, scale_columns, versions
from sklearn.linear_model import SGDClassifier

import hinge
from hinge.online import prequential

GAMMA, STEP, REGULARIZATION, TERMS = 1.0, 0.1, 0.01, 200


def timed(action):
    """Return processor seconds and the result."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def elec2():
    X, y = load("elec2")
    return scale_columns(X.astype(float)), np.where(y == 1, 1, -1)


def fused_loop(X, y):
    """Return the predictions of a NumPy loop with one vectorized kernel row per sample."""
    Z, alpha, values = np.zeros((TERMS, X.shape[1])), np.zeros(TERMS), np.empty(len(y))
    head, size, b = 0, 0, 0.0
    for i in range(len(y)):
        x, t = X[i], y[i]
        difference = Z[:size] - x
        g = alpha[:size] @ np.exp(-GAMMA * np.einsum("ij,ij->i", difference, difference)) + b
        values[i] = g
        alpha *= 1 - REGULARIZATION * STEP
        if t * g < 1:
            Z[head], alpha[head] = x, STEP * t
            head, size, b = (head + 1) % TERMS, min(size + 1, TERMS), b + STEP * t
    return np.where(values > 0, 1, -1)


class RiverStyle:
    """Learner with predict_one and learn_one on dictionaries, as in river, implemented with NumPy."""

    def __init__(self):
        self.vectors, self.alpha, self.head, self.size, self.b = None, np.zeros(TERMS), 0, 0, 0.0

    def _value(self, x):
        if self.vectors is None:
            self.vectors = np.zeros((TERMS, len(x)))
        difference = self.vectors[: self.size] - x
        return self.alpha[: self.size] @ np.exp(-GAMMA * np.sum(difference**2, axis=1)) + self.b

    def predict_one(self, x):
        return 1 if self._value(np.array(list(x.values()))) > 0 else -1

    def learn_one(self, x, y):
        x = np.array(list(x.values()))
        g = self._value(x)
        self.alpha *= 1 - REGULARIZATION * STEP
        if y * g < 1:
            self.vectors[self.head], self.alpha[self.head] = x, STEP * y
            self.head, self.size, self.b = (self.head + 1) % TERMS, min(self.size + 1, TERMS), self.b + STEP * y


def river_style(X, y):
    model, predictions = RiverStyle(), []
    for x, t in zip((dict(enumerate(row)) for row in X.tolist()), y.tolist(), strict=True):
        predictions.append(model.predict_one(x))
        model.learn_one(x, t)
    return np.array(predictions)


def learner(**options):
    return hinge.OnlineSVC(
        gamma=GAMMA, budget=TERMS, learning_rate="constant", eta0=STEP, regularization=REGULARIZATION, **options
    )


def one_by_one(X, y):
    model = learner()
    predictions = np.empty(len(y), dtype=int)
    predictions[0] = -1
    model.learn_one(X[0], y[0], classes=[-1, 1])
    for i in range(1, len(y)):
        predictions[i] = model.predict_one(X[i])
        model.learn_one(X[i], y[i])
    return predictions


def speed():
    X, y = elec2()
    n = 12_000
    best = {}
    for _ in range(3):
        runs = {
            "hinge, one call": (len(y), lambda: learner().predict_then_learn(X, y)),
            "hinge, predict_one and learn_one": (len(y), lambda: one_by_one(X, y)),
            "NumPy, fused loop": (n, lambda: fused_loop(X[:n], y[:n])),
            "NumPy, river style": (n, lambda: river_style(X[:n], y[:n])),
        }
        for name, (count, run) in runs.items():
            seconds, predictions = timed(run)
            best[name] = (max(count / seconds, best.get(name, (0.0, None))[0]), predictions)
    reference = best["hinge, one call"]
    print(f"\nSpeed (RBF kernel, {TERMS} terms), best of three alternating runs\n")
    print(f"{'':34} {'updates':>12} {'speed-up of':>14} {'equal':>12}")
    print(f"{'method':34} {'per second':>12} {'hinge, one call':>15} {'predictions':>11}")
    for name, (rate, predictions) in best.items():
        equal = np.mean(predictions[:n] == reference[1][:n])
        print(f"{name:34} {rate:12,.0f} {reference[0] / rate:15.1f} {100 * equal:9.2f} %", flush=True)


def estimators():
    X, y = elec2()
    options = dict(budget=TERMS, eta0=0.1)
    print(f"\nUpdates per second of the estimators ({TERMS} terms, 8 features)\n")
    print(f"{'estimator':28} {'updates per second':>19} {'terms':>6}")
    for name, model in (
        ("OnlineSVC hinge", hinge.OnlineSVC(gamma=1.0, **options)),
        ("OnlineSVC perceptron", hinge.OnlineSVC(loss="perceptron", gamma=1.0, **options)),
        ("OnlineNuSVC", hinge.OnlineNuSVC(nu=0.4, gamma=1.0, **options)),
        ("OnlineSVR squared", hinge.OnlineSVR(loss="squared", gamma=1.0, **options)),
        ("OnlineSVR nu tube", hinge.OnlineSVR(nu=0.3, gamma=1.0, **options)),
        ("OnlineSVR adaptive Huber", hinge.OnlineSVR(nu=0.3, loss="huber", gamma=1.0, **options)),
        ("OnlineNoveltyDetector", hinge.OnlineNoveltyDetector(nu=0.1, gamma=1.0, **options)),
        ("OnlineSVC linear", hinge.OnlineSVC(kernel="linear", **options)),
        ("OnlineSVC poly", hinge.OnlineSVC(kernel="poly", coef0=1.0, **options)),
        ("OnlineSVC laplacian", hinge.OnlineSVC(kernel="laplacian", gamma=1.0, **options)),
        ("OnlineSVC sigmoid", hinge.OnlineSVC(kernel="sigmoid", **options)),
        ("OnlineSVC bspline", hinge.OnlineSVC(kernel="bspline", gamma=1.0, **options)),
    ):
        seconds, _ = timed(lambda model=model: model.fit(X, y))
        print(f"{name:28} {len(y) / seconds:19,.0f} {model.n_support_:>6}", flush=True)


def quality():
    X, y = elec2()
    print("\nPrequential error rate\n")
    print(f"{'':46} {'all':>8} {'first 15,000':>13}")
    print(f"{'method':46} {'samples':>8} {'samples':>13}")
    print(f"{'repeating the previous label':46} {np.mean(y[1:] != y[:-1]):8.4f}")
    sgd = prequential(SGDClassifier(random_state=0), X[:15_000], y[:15_000])
    print(f"{'SGDClassifier':46} {'':>8} {sgd.mean:13.4f}")
    for step, terms in ((0.5, 200), (1.0, 200), (2.0, 200), (1.0, 1000)):
        model = hinge.OnlineSVC(gamma=20.0, learning_rate="constant", eta0=step, regularization=0.01, budget=terms)
        result = prequential(model, X, y)
        name = f"OnlineSVC, gamma 20, step size {step}, {terms} terms"
        print(f"{name:46} {result.mean:8.4f} {np.mean(result.losses[:15_000]):13.4f}", flush=True)


def bounds():
    X, y = elec2()
    print("\nNorm of the truncated terms\n")
    print(f"{'':>9} {'regular-':>8} {'':>6} {'bound from the':>15} {'a-priori bound':>15}")
    print(f"{'step size':>9} {'ization':>8} {'terms':>6} {'removed terms':>15} {'LwK (10.130)':>15}")
    for step, regularization, terms in ((0.1, 0.01, 200), (0.5, 0.1, 200), (1.0, 0.1, 100), (1.0, 0.01, 1000)):
        model = hinge.OnlineSVC(
            gamma=5.0, learning_rate="constant", eta0=step, regularization=regularization, budget=terms
        )
        model.fit(X, y)
        print(f"{step:9} {regularization:8} {terms:6} {model.truncation_error_:15.2e} {model.truncation_bound_:15.2e}")
    print("\nFraction of margin errors\n")
    print(f"{'nu':>5} {'OnlineNuSVC':>12} {'OnlineNoveltyDetector':>22}")
    for nu in (0.1, 0.3, 0.6):
        model = hinge.OnlineNuSVC(nu=nu, gamma=5.0, budget=200).fit(X, y)
        detector = hinge.OnlineNoveltyDetector(nu=nu, gamma=5.0, budget=200).fit(X)
        print(
            f"{nu:5} {model.n_beyond_[0] / model.t_:12.4f} {detector.n_beyond_[0] / detector.t_:22.4f}",
            flush=True,
        )


def memory():
    X, y = elec2()
    model, peaks, start = learner(), [], time.process_time()
    while model.__sklearn_is_fitted__() is False or model.t_ < 10_000_000:
        model.partial_fit(X, y, classes=[-1, 1])
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    seconds = time.process_time() - start
    print("\nPeak memory of a long stream\n")
    print(f"{'samples':>12} {'peak memory, MB':>16}")
    print(f"{2 * len(y):12,} {peaks[1]:16.1f}")
    print(f"{model.t_:12,} {peaks[-1]:16.1f}")
    print(f"{seconds:.1f} s, {model.t_ / seconds:,.0f} samples per second")


NOTES = """
Notes
- fused loop: the fastest NumPy loop that we could write (one vectorized kernel row per sample, prediction and update in
  one loop body). river style: a dictionary per sample, predict_one and then learn_one, both with NumPy.
- equal predictions: fraction of predictions that equal those of hinge in one call.
- Processor time of one thread; data set elec2 (45,312 samples, 8 features)."""


def main():
    jobs = {job.__name__: job for job in (speed, estimators, quality, bounds, memory)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(jobs), default=list(jobs))
    for name in parser.parse_args().only:
        jobs[name]()
    print(f"{NOTES}\n- {versions()}")


if __name__ == "__main__":
    main()
