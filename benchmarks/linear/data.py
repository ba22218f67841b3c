"""Data sets of the linear benchmarks. `HINGE_DATA` is the folder of the .npz files and their load.py."""

from __future__ import annotations

import os
import sys

import numpy as np
import scipy.sparse as sp

REAL = ("a9a", "w8a", "ijcnn1", "covtype", "mnist", "news20", "news20_bigram", "farm_ads", "cadata")


def load(name):
    """Return (X, y); cadata is a regression problem, the other data sets are classification problems."""
    if name.startswith("text"):
        return text(1000 * int(name[4:].rstrip("k")))
    folder = os.environ.get("HINGE_DATA")
    if not folder:
        raise SystemExit("HINGE_DATA is not set: set it to the folder of the data sets (with load.py)")
    sys.path.insert(0, folder)
    from load import load as read

    X, y = read(name)[:2]
    if name == "mnist":
        return np.ascontiguousarray(X / 255.0, dtype=np.float32), np.where(y % 2, 1.0, -1.0)
    if name == "covtype":
        X = X.astype(np.float64)
        X[:, :10] /= np.ptp(X[:, :10], axis=0)
        return X, np.where(y == 2, 1.0, -1.0)
    if name == "cadata":
        return (X - X.mean(axis=0)) / X.std(axis=0), y / 1e5
    if name == "news20":
        return X, y.astype(np.float64)
    return X, np.where(y == np.unique(y)[-1], 1.0, -1.0)


def text(n, d=47_236, words=75, noise=0.05, seed=0):
    """Return synthetic text data similar to RCV1: Zipf words, two topics, tf-idf weights, unit rows, label noise."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / (np.arange(1, d + 1) + 20.0)
    y = np.where(rng.random(n) < 0.47, 1.0, -1.0)
    lengths = np.maximum(5, rng.lognormal(np.log(words) - 0.18, 0.6, n).astype(int))
    row = np.repeat(np.arange(n, dtype=np.int32), lengths)
    word = np.empty(len(row), np.int32)
    draw = rng.random(len(row))
    topic_rng = np.random.default_rng(1)  # the topics do not depend on the seed
    for sign in (1.0, -1.0):
        topic = np.cumsum(frequency * np.exp(0.42 * topic_rng.normal(size=d)))
        in_class = y[row] == sign
        word[in_class] = np.minimum(d - 1, np.searchsorted(topic / topic[-1], draw[in_class]))
    X = sp.csr_matrix((np.ones(len(row), np.float32), (row, word)), shape=(n, d))
    X.sum_duplicates()
    documents = np.bincount(X.indices, minlength=d) + 1
    X.data = ((1 + np.log(X.data)) * np.log(n / documents[X.indices])).astype(np.float32)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr)).astype(np.float32)
    y[rng.random(n) < noise] *= -1
    return X, y
