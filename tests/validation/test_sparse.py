"""Damaged sparse matrices are rejected by every function that takes samples, before compiled code reads them."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.kernels import FunctionKernel
from hinge.matrices import check_sparse

DAMAGES = ["X.indices[5] = 10**6", "X.indices[5] = -3", "X.indptr[7] = 10**6", "X.indptr[7] = -1"]

#: Calls with a matrix X, labels y and three classes z; `path`, `model`, ... were computed from a valid matrix.
CALLS = """
    hinge.regularization_path(X, y, gamma=1.0)
    hinge.regularization_path(X, y, kernel=function)
    hinge.approximate_path(X, y, gamma=1.0)
    hinge.one_vs_one_paths(X, z, gamma=1.0)
    hinge.quadratic_loss_path(X, y, gamma=1.0)
    hinge.nu_path(X, y, gamma=1.0)
    hinge.epsilon_path(X, y, gamma=1.0)
    hinge.weight_path(X, y, np.ones(30), 1 + np.arange(30.0), gamma=1.0)
    hinge.ranking_path(X, y, gamma=1.0)
    hinge.selection.leave_one_out(X, y, gamma=1.0)
    hinge.selection.path_search(X, y, gamma=1.0)
    hinge.selection.grid(X, y, C=[1.0], gamma=[1.0])
    path.decision_function(X, 1.0)
    path.best(X, y)
    path.validation_error(X, y)
    path.model(1.0).predict(X)
    function_path.decision_function(X, 1.0)
    hinge.io.dump_libsvm(X, y, "data.txt")
    kernels.RBF(1.0)(X)
    kernels.RBF(1.0)(good, X)
    kernels.Linear()(X)
    kernels.Laplacian(1.0)(X)
    kernels.Polynomial(gamma=1.0).diag(X)
    kernels.FunctionKernel(function)(X)
    kernels.RBF("scale").resolve(X)
    kernels.cross(kernels.RBF(1.0), X)
    hinge.SVC(gamma=1.0).fit(X, y)
    hinge.SVC(kernel=function).fit(X, y)
    hinge.SVR(gamma=1.0).fit(X, y)
    hinge.OneClassSVM(gamma=1.0).fit(X)
    hinge.NuSVC(gamma=1.0).fit(X, y)
    hinge.LinearSVC().fit(X, y)
    hinge.LinearSVR().fit(X, y)
    hinge.LinearOneClassSVM().fit(X)
    hinge.LowRankSVC(gamma=1.0).fit(X, y)
    hinge.LPSVC(gamma=1.0).fit(X, y)
    hinge.IncrementalSVC(gamma=1.0).fit(X, y)
    hinge.IncrementalSVC(gamma=1.0).fit(good, y).partial_fit(X, y)
    hinge.OnlineSVC(gamma=1.0).fit(X, y)
    hinge.OnlineSVC(gamma=1.0).partial_fit(X, y, classes=[-1, 1])
    hinge.RankingSVM(gamma=1.0).fit(X, y)
    hinge.TransductiveSVC(gamma=1.0).fit(X, y)
    model.predict(X)
    model.certify(X, y)
    function_model.predict(X)
    linear.predict(X)
    linear.decision_function(X)
    online.predict(X)
    hinge.inspection.shapley_values(model, X, good)
"""


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_function_rejects_a_damaged_matrix(damage, tmp_path):
    """In a subprocess, because reading outside the arrays could crash it."""
    calls = [line.strip() for line in CALLS.splitlines() if line.strip()]
    code = f"""
        import faulthandler, warnings
        import numpy as np, scipy.sparse as sp, hinge
        from hinge import kernels
        warnings.simplefilter("ignore")
        faulthandler.enable()

        def function(A, B):
            return (A @ B.T).toarray()

        good = sp.random(30, 8, density=0.5, random_state=0, format="csr")
        y, z = np.where(np.arange(30) % 2, 1, -1), np.arange(30) % 3
        path = hinge.regularization_path(good, y, gamma=1.0)
        function_path = hinge.regularization_path(good, y, kernel=function)
        model, function_model = hinge.SVC(gamma=1.0).fit(good, y), hinge.SVC(kernel=function).fit(good, y)
        linear, online = hinge.LinearSVC().fit(good, y), hinge.OnlineSVC(gamma=1.0).fit(good, y)
        for call in {calls!r}:
            X = good.copy()
            {damage}
            print(call, flush=True)
            try:
                eval(call)
                print("ACCEPTED:", call)
            except (ValueError, TypeError) as error:
                if not any(word in str(error) for word in ("indices", "indptr", "index")):
                    print("UNCLEAR:", call, repr(error))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert run.returncode == 0, (run.stdout[-200:], run.stderr[-3000:])
    assert [line for line in run.stdout.splitlines() if line.startswith(("ACCEPTED", "UNCLEAR"))] == []


def valid(layout):
    return sp.random(6, 4, density=0.5, random_state=0, format=layout)


class TestCheckSparse:
    @pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
    @pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
    def test_valid_matrices_are_accepted(self, layout, kind):
        check_sparse(kind(valid("csr")).asformat(layout))
        check_sparse(kind((5, 3)).asformat(layout))

    @pytest.mark.parametrize(
        ("layout", "name", "change", "message"),
        [
            ("csr", "indices", {2: 4}, "column index 4 .entry 2. is outside .0, 4."),
            ("csr", "indices", {2: -1}, "column index -1"),
            ("csc", "indices", {2: 6}, "row index 6 .entry 2. is outside .0, 6."),
            ("bsr", "indices", {2: 100}, "column index 100"),
            ("coo", "row", {1: 6}, "row index 6"),
            ("coo", "col", {1: -2}, "column index -2"),
            ("csr", "indptr", {0: 1}, "indptr.0. is 1"),
            ("csr", "indptr", {3: 0}, "indptr.3. is 0, below"),
            ("csr", "indptr", {-1: 10**6}, "indptr ends with 1000000"),
        ],
    )
    def test_damage_is_named(self, layout, name, change, message):
        X = valid(layout)
        array = getattr(X, name).copy()
        for place, value in change.items():
            array[place] = value
        setattr(X, name, array)
        with pytest.raises(ValueError, match=f"X is a damaged sparse matrix: .*{message}.*Build it again"):
            check_sparse(X)

    def test_arrays_of_wrong_length(self):
        X = valid("csr")
        X.data = X.data[:-2]
        with pytest.raises(ValueError, match="indptr ends with"):
            check_sparse(X)
        X = valid("csr")
        X.indptr = X.indptr[:-1]
        with pytest.raises(ValueError, match="indptr has 6 entries, but 7"):
            check_sparse(X)

    def test_a_function_does_not_receive_a_damaged_matrix(self):
        received = []

        def function(A, B):
            received.append(A)
            return (A @ B.T).toarray()

        X = valid("csr")
        X.indices[0] = 10**6
        with pytest.raises(ValueError, match="damaged"):
            FunctionKernel(function)(X)
        assert received == []
        assert np.isfinite(FunctionKernel(function)(valid("csr"))).all()
