"""Online learners against the formulas of LwK 10.6.3, with every coefficient scaled at every step."""

import numpy as np
from independent import GAMMA, kernel, relative

import hinge
from reference.online_learners import SlowLearner

RATE, REGULARIZATION, BUDGET = 0.1, 0.01, 30
MARGIN = ("hinge", "squared_hinge", "exponential", "logistic", "perceptron", "modified_huber")
OPTIONS = {"gamma": GAMMA, "eta0": RATE, "budget": BUDGET}


def learned(loss, X, targets, **options):
    """The values of the reference learner after one pass over the samples."""
    regularization = options.pop("regularization", REGULARIZATION)
    learner = SlowLearner(kernel, loss, RATE, 0.0, regularization, budget=BUDGET, **options)
    for x, target in zip(X, targets, strict=True):
        learner.learn(x, target)
    return np.array([learner.value(x) for x in X])


def classification(X, y):
    for loss in MARGIN:
        model = hinge.OnlineSVC(loss=loss, regularization=REGULARIZATION, **OPTIONS)
        found = model.partial_fit(X, y, classes=[-1, 1]).decision_function(X)
        yield f"OnlineSVC, {loss}", relative(found, learned(loss, X, y))
    model = hinge.OnlineNuSVC(nu=0.3, **OPTIONS).partial_fit(X, y, classes=[-1, 1])
    expected = learned("nu_margin", X, y, nu=0.3, regularization=1.0)
    yield "OnlineNuSVC", relative(model.decision_function(X), expected)
    model = hinge.OnlineNoveltyDetector(nu=0.3, **OPTIONS).partial_fit(X)
    detector = SlowLearner(kernel, "novelty", RATE, 0.0, 1.0, nu=0.3, offset=False, budget=BUDGET)
    for x in X:
        detector.learn(x, 1.0)
    expected = np.array([detector.value(x) for x in X]) - detector.level
    yield "OnlineNoveltyDetector", relative(model.decision_function(X), expected)


def regression(X, y):
    fixed = {"squared": 0.0, "epsilon_insensitive": 0.1, "huber": 1.0, "squared_epsilon_insensitive": 0.0}
    for loss, level in fixed.items():
        model = hinge.OnlineSVR(loss=loss, regularization=REGULARIZATION, **OPTIONS).partial_fit(X, y)
        yield f"OnlineSVR, {loss}", relative(model.predict(X), learned(loss, X, y, level=level))
    for loss, level in (("epsilon_insensitive", 0.1), ("huber", 1.0)):
        model = hinge.OnlineSVR(loss=loss, nu=0.3, regularization=REGULARIZATION, **OPTIONS).partial_fit(X, y)
        yield f"OnlineSVR, {loss}, adaptive", relative(model.predict(X), learned(loss, X, y, level=level, nu=0.3))
