"""Training on a cluster: collections of all types, limits, interrupts, prediction."""

import os
import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("distributed", reason="hinge.dask needs the packages dask and distributed")

import dask.array as da
import dask.dataframe as dd
import joblib
import pandas as pd
from dask.delayed import delayed
from distributed import futures_of, wait
from sklearn.model_selection import GridSearchCV

import hinge
from hinge import dask as hd
from hinge.problems import Status

pytestmark = pytest.mark.usefixtures("client")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4)) + 1.0
    f = X @ [1.0, -1.0, 0.5, 0.0] - 0.5 + rng.normal(size=600)
    return X, np.array(["no", "yes"])[(f > 0).astype(int)], f


def csr_blocks(X, sizes):
    """A Dask array of CSR blocks with unknown chunk sizes."""
    parts, first = [], 0
    for size in sizes:
        block = delayed(sp.csr_matrix)(X[first : first + size])
        parts.append(da.from_delayed(block, shape=(np.nan, X.shape[1]), meta=sp.csr_matrix((0, 0))))
        first += size
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def unknown(values, sizes):
    """A Dask array with unknown chunk sizes."""
    starts = np.cumsum([0, *sizes])
    parts = [values[a:b] for a, b in pairwise(starts)]
    blocks = [da.from_delayed(delayed(part), shape=(np.nan, *part.shape[1:]), dtype=part.dtype) for part in parts]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


SIZES = (100, 0, 250, 250)  # with an empty partition


def collections(X, y):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    labels = pd.Series(pd.Categorical(y))
    return {
        "array": (da.from_array(X, chunks=(170, 2)), da.from_array(y, chunks=100)),
        "labels in memory": (da.from_array(X, chunks=(170, 4)), y),
        "unknown sizes": (unknown(X, SIZES), unknown(y, SIZES)),
        "csr": (csr_blocks(X, SIZES), unknown(y, SIZES)),
        "frame": (dd.from_pandas(frame, npartitions=3), dd.from_pandas(labels, npartitions=3)),
        "float32": (da.from_array(X.astype(np.float32), chunks=(170, 4)), da.from_array(y, chunks=170)),
    }


@pytest.mark.parametrize("kind", ["array", "labels in memory", "unknown sizes", "csr", "frame", "float32"])
def test_collections_give_the_local_model(data, kind):
    X, y, _ = data
    dask_X, dask_y = collections(X, y)[kind]
    local = hinge.LinearSVC(tol=1e-12).fit(X.astype(np.float32) if kind == "float32" else X, y)
    model = hd.LinearSVC(tol=1e-12).fit(dask_X, dask_y)
    assert model.status_ is Status.SOLVED
    assert model.n_samples_ == 600
    assert_allclose(model.coef_, local.coef_, atol=1e-8)
    values = model.decision_function(dask_X)
    assert isinstance(values, da.Array)
    atol = 1e-5 if kind == "float32" else 1e-9
    assert_allclose(values.compute(), X @ model.coef_[0] + model.intercept_[0], atol=atol)
    assert_array_equal(model.predict(dask_X).compute(), model.to_local().predict(X))
    assert model.score(dask_X, dask_y) == pytest.approx(local.score(X, y), abs=1e-12)


def test_classes_that_are_missing_in_some_partitions(data):
    X, _, f = data
    order = np.argsort(f)
    X, y = X[order], np.digitize(f[order], [-1.0, 1.0])  # every partition has one or two of the three classes
    model = hd.LinearSVC(loss="hinge", C=0.1, tol=1e-11).fit(da.from_array(X, chunks=(100, 4)), y)
    local = hinge.LinearSVC(loss="hinge", C=0.1, tol=1e-11).fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert_allclose(model.coef_, local.coef_, atol=1e-8)
    values = model.decision_function(da.from_array(X, chunks=(100, 4)))
    assert values.shape == (600, 3)
    assert_allclose(values.compute(), local.decision_function(X), atol=1e-8)


def test_weights_of_zero_leave_out_partitions(data):
    X, y, _ = data
    weight = np.ones(600)
    weight[200:400] = 0.0
    chunks = {"chunks": 100}
    model = hd.LinearSVC(tol=1e-12).fit(da.from_array(X, chunks=(100, 4)), da.from_array(y, **chunks),
                                        da.from_array(weight, **chunks))  # fmt: skip
    local = hinge.LinearSVC(tol=1e-12).fit(X[weight > 0], y[weight > 0])
    assert model.n_samples_ == 400
    assert_allclose(model.coef_, local.coef_, atol=1e-8)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regression(data, loss):
    X, _, f = data
    dask_X, dask_f = da.from_array(X, chunks=(170, 4)), da.from_array(f, chunks=170)
    model = hd.LinearSVR(loss=loss, epsilon=0.1, tol=1e-12).fit(dask_X, dask_f)
    local = hinge.LinearSVR(loss=loss, epsilon=0.1, tol=1e-12).fit(X, f)
    assert_allclose(model.coef_, local.coef_, atol=1e-8)
    assert model.score(dask_X, dask_f) == pytest.approx(local.score(X, f), abs=1e-9)


def test_local_estimator_can_be_saved(data, tmp_path):
    X, y, _ = data
    model = hd.LinearSVC().fit(da.from_array(X, chunks=(170, 4)), y)
    hinge.save(model.to_local(), tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.certificate_.relative_gap <= 1e-4


def test_workers_delete_their_blocks_after_the_fit(data, client):
    X, y, _ = data
    hd.LinearSVC().fit(da.from_array(X, chunks=(170, 4)), y)
    deadline = time.monotonic() + 10
    while any(client.has_what().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.has_what().values())


def test_same_partitions_give_bit_identical_models(data):
    X, y, _ = data
    models = [hd.LinearSVC(loss="hinge", tol=1e-10).fit(da.from_array(X, chunks=(60, 4)), y) for _ in range(2)]
    assert_array_equal(models[0].coef_, models[1].coef_)
    assert_array_equal(models[0].intercept_, models[1].intercept_)


# ---- limits and errors ----------------------------------------------------------------------------------------------


def slow(block):
    time.sleep(0.3)
    return block


def test_time_limit_before_all_partitions_are_read(data):
    X, y, _ = data
    dask_X = da.from_array(X, chunks=(50, 4)).map_blocks(slow, dtype=float)
    with pytest.raises(TimeoutError, match="before all partitions had been read"):
        hd.LinearSVC(max_time=0.1).fit(dask_X, y)


def test_interrupt_ends_a_reduction_at_once(data):
    X, y, _ = data
    dask_X = da.from_array(X, chunks=(10, 4)).map_blocks(slow, dtype=float)  # 9 s on two workers
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        hd.LinearSVC().fit(dask_X, y)
    assert time.monotonic() - began < 7
    timer.join()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": np.ones((3, 2))}, TypeError, "must be a Dask array or DataFrame"),
        ({"y": np.zeros(600)}, ValueError, "number of classes has to be greater than one"),
        ({"y": np.zeros(10)}, ValueError, "X has 600 rows, but y has 10"),
        ({"C": -1.0}, ValueError, "C=-1.0"),
        ({"loss": "logistic"}, ValueError, "loss='logistic'"),
        ({"solver": "smo"}, ValueError, "solver='smo'"),
    ],
)
def test_invalid_arguments(data, change, error, message):
    X, y, _ = data
    arguments = {"X": da.from_array(X, chunks=(170, 4)), "y": y}
    arguments.update({k: v for k, v in change.items() if k in arguments})
    model = hd.LinearSVC(**{k: v for k, v in change.items() if k not in arguments})
    with pytest.raises(error, match=message):
        model.fit(**arguments)
    assert not hasattr(model, "coef_")


def test_invalid_values_name_their_partition(data):
    X, y, _ = data
    X = X.copy()
    X[450, 1] = np.nan
    with pytest.raises(ValueError, match=r"partition 2: .*NaN"):
        hd.LinearSVC().fit(da.from_array(X, chunks=(200, 4)), y)


def dependency_counts(dask_scheduler, keys):
    return [len(dask_scheduler.tasks[key].dependencies) for key in keys]


def test_blocks_are_tasks_with_lineage(data, client):
    """No data are scattered: every block on the workers depends on the tasks of the collection."""
    from hinge.dask.blocks import partition_tasks

    X, y, _ = data
    tasks = partition_tasks(da.from_array(X, chunks=(200, 4)), y, None, "labels", "lineage")
    assert not futures_of(tasks)
    persisted = client.persist(tasks)
    wait(persisted)
    keys = [future.key for future in futures_of(persisted)]
    assert min(client.run_on_scheduler(dependency_counts, keys=keys)) >= 1


def test_joblib_distributes_searches_with_ordinary_estimators(data):
    X, y, _ = data
    grid = {"C": [0.1, 1.0]}
    with joblib.parallel_backend("dask"):
        distributed = GridSearchCV(hinge.SVC(), grid, cv=2).fit(X[:100], y[:100])
    local = GridSearchCV(hinge.SVC(), grid, cv=2).fit(X[:100], y[:100])
    assert distributed.best_params_ == local.best_params_
    assert_allclose(distributed.cv_results_["mean_test_score"], local.cv_results_["mean_test_score"])


def test_columns_in_another_order_are_an_error(data):
    X, y, _ = data
    dask_X, dask_y = collections(X, y)["frame"]
    model = hd.LinearSVC().fit(dask_X, dask_y)
    assert_array_equal(model.feature_names_in_, ["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="was trained with"):
        model.predict(dask_X[["b", "a", "c", "d"]]).compute()
