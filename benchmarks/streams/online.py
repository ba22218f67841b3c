"""The online learners on the electricity stream (elec2, 45,312 samples, 8 features), beside loops in Python.

    python benchmarks/streams/online.py [--only speed machines quality bounds memory]

speed: rbf, 200 terms, hinge loss, predicting every sample before it is learned.  "fused" is the tightest loop that we
could write with NumPy (one vectorised kernel row per sample, prediction and update in one body); "river style" has the
shape of river's streams: a dictionary per sample, predict_one and then learn_one, both with NumPy inside.  All
four make the same predictions.  memory: ten million samples.  Processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from series import load, unit, versions
from sklearn.linear_model import SGDClassifier

import hinge
from hinge.online import prequential

GAMMA, RATE, DECAY, TERMS = 1.0, 0.1, 0.01, 200


def clock(action):
    began = time.process_time()
    result = action()
    return time.process_time() - began, result


def elec2():
    X, y = load("elec2")
    return unit(X.astype(float)), np.where(y == 1, 1, -1)


def fused(X, y):
    """Predictions of a NumPy loop, one vectorised kernel row per sample."""
    Z, alpha, said = np.zeros((TERMS, X.shape[1])), np.zeros(TERMS), np.empty(len(y))
    head, size, b = 0, 0, 0.0
    for i in range(len(y)):
        x, t = X[i], y[i]
        apart = Z[:size] - x
        g = alpha[:size] @ np.exp(-GAMMA * np.einsum("ij,ij->i", apart, apart)) + b
        said[i] = g
        alpha *= 1 - DECAY * RATE
        if t * g < 1:
            Z[head], alpha[head] = x, RATE * t
            head, size, b = (head + 1) % TERMS, min(size + 1, TERMS), b + RATE * t
    return np.where(said > 0, 1, -1)


class RiverStyle:
    """predict_one and learn_one of dictionaries, with NumPy inside."""

    def __init__(self):
        self.vectors, self.alpha, self.head, self.size, self.b = None, np.zeros(TERMS), 0, 0, 0.0

    def _value(self, x):
        if self.vectors is None:
            self.vectors = np.zeros((TERMS, len(x)))
        apart = self.vectors[: self.size] - x
        return self.alpha[: self.size] @ np.exp(-GAMMA * np.sum(apart**2, axis=1)) + self.b

    def predict_one(self, x):
        return 1 if self._value(np.array(list(x.values()))) > 0 else -1

    def learn_one(self, x, y):
        x = np.array(list(x.values()))
        g = self._value(x)
        self.alpha *= 1 - DECAY * RATE
        if y * g < 1:
            self.vectors[self.head], self.alpha[self.head] = x, RATE * y
            self.head, self.size, self.b = (self.head + 1) % TERMS, min(self.size + 1, TERMS), self.b + RATE * y


def river_style(X, y):
    model, said = RiverStyle(), []
    for x, t in zip((dict(enumerate(row)) for row in X.tolist()), y.tolist(), strict=True):
        said.append(model.predict_one(x))
        model.learn_one(x, t)
    return np.array(said)


def learner(**options):
    return hinge.OnlineSVC(
        gamma=GAMMA, budget=TERMS, learning_rate="constant", eta0=RATE, regularization=DECAY, **options
    )


def one_by_one(X, y):
    model = learner()
    said = np.empty(len(y), dtype=int)
    said[0] = -1
    model.learn_one(X[0], y[0], classes=[-1, 1])
    for i in range(1, len(y)):
        said[i] = model.predict_one(X[i])
        model.learn_one(X[i], y[i])
    return said


def speed():
    X, y = elec2()
    n = 12_000
    best = {}
    for _ in range(3):
        runs = {
            "hinge, one call": (len(y), lambda: learner().predict_then_learn(X, y)),
            "hinge, predict_one and learn_one": (len(y), lambda: one_by_one(X, y)),
            "NumPy, fused": (n, lambda: fused(X[:n], y[:n])),
            "NumPy, river style": (n, lambda: river_style(X[:n], y[:n])),
        }
        for name, (count, run) in runs.items():
            seconds, said = clock(run)
            rate = count / seconds
            best[name] = (max(rate, best.get(name, (0.0, None))[0]), said)
    reference = best["hinge, one call"]
    print(f"speed    elec2, rbf, {TERMS} terms: updates per second, best of three runs side by side")
    for name, (rate, said) in best.items():
        same = np.mean(said[:n] == reference[1][:n])
        print(f"         {name:34} {rate:12,.0f}   one call is {reference[0] / rate:6.1f} times as fast; same "
              f"predictions: {100 * same:.2f} %", flush=True)  # fmt: skip


def machines():
    X, y = elec2()
    options = dict(budget=TERMS, eta0=0.1)
    print(f"machines updates per second with {TERMS} terms, d = 8")
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
        seconds, _ = clock(lambda model=model: model.fit(X, y))
        print(f"         {name:28} {len(y) / seconds:12,.0f}   terms {model.n_support_}", flush=True)


def quality():
    X, y = elec2()
    print("quality  elec2, prequential share of errors")
    before = np.mean(y[1:] != y[:-1])
    print(f"         {'the label before':44} {before:.4f}")
    sgd = prequential(SGDClassifier(random_state=0), X[:15_000], y[:15_000])
    print(f"         {'SGDClassifier, first 15,000':44} {sgd.mean:.4f}")
    for rate, terms in ((0.5, 200), (1.0, 200), (2.0, 200), (1.0, 1000)):
        model = hinge.OnlineSVC(gamma=20.0, learning_rate="constant", eta0=rate, regularization=0.01, budget=terms)
        result = prequential(model, X, y)
        name = f"OnlineSVC gamma 20, step {rate}, {terms} terms"
        print(f"         {name:44} {result.mean:.4f}   first 15,000: {np.mean(result.losses[:15_000]):.4f}", flush=True)


def bounds():
    X, y = elec2()
    print("bounds   the norm of what was cut off, and nu against the share beyond the level, on elec2")
    for rate, decay, terms in ((0.1, 0.01, 200), (0.5, 0.1, 200), (1.0, 0.1, 100), (1.0, 0.01, 1000)):
        model = hinge.OnlineSVC(gamma=5.0, learning_rate="constant", eta0=rate, regularization=decay, budget=terms)
        model.fit(X, y)
        print(f"         step {rate}, lambda {decay}, {terms:4} terms: from the terms dropped "
              f"{model.truncation_error_:9.2e}, LwK (10.130) {model.truncation_bound_:9.2e}")  # fmt: skip
    for nu in (0.1, 0.3, 0.6):
        machine = hinge.OnlineNuSVC(nu=nu, gamma=5.0, budget=200).fit(X, y)
        detector = hinge.OnlineNoveltyDetector(nu=nu, gamma=5.0, budget=200).fit(X)
        print(f"         nu {nu}: OnlineNuSVC {machine.n_beyond_[0] / machine.t_:.4f}, "
              f"OnlineNoveltyDetector {detector.n_beyond_[0] / detector.t_:.4f}", flush=True)  # fmt: skip


def memory():
    X, y = elec2()
    model, peaks, began = learner(), [], time.process_time()
    while model.__sklearn_is_fitted__() is False or model.t_ < 10_000_000:
        model.partial_fit(X, y, classes=[-1, 1])
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    seconds = time.process_time() - began
    print(f"memory   {model.t_:,} samples in {seconds:.1f} s ({model.t_ / seconds:,.0f} a second): peak {peaks[1]:.1f} "
          f"MB after {2 * len(y):,}, {peaks[-1]:.1f} MB at the end")  # fmt: skip


def main():
    jobs = {job.__name__: job for job in (speed, machines, quality, bounds, memory)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(jobs), default=list(jobs))
    chosen = parser.parse_args().only
    print(versions())
    for name in chosen:
        jobs[name]()


if __name__ == "__main__":
    main()
