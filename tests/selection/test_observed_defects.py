"""Searches that did not terminate, or returned nothing, in earlier versions."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hinge.selection import grid
from reference.termination import output_of


def test_a_path_search_with_an_indefinite_matrix_terminates():
    """With a result, or with an error that names the matrix."""
    (outcome,) = output_of(
        """
        import numpy as np
        from hinge.selection import path_search
        rng = np.random.default_rng(0)
        G = rng.normal(size=(80, 80))
        y = np.where(rng.random(80) > 0.5, 1, -1)
        try:
            path_search((G + G.T) / 2, y, kernel="precomputed")
            print("result")
        except ValueError as error:
            print("ValueError" if "definite" in str(error) else repr(error).replace(" ", "_"))
        """
    )
    assert outcome in ("result", "ValueError")


@pytest.mark.slow
def test_a_grid_with_a_time_limit_returns_its_best_candidate_in_time():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 10))
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1, -1)
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = grid(X, y, C=[0.1, 1.0, 10.0, 100.0], gamma=[0.01, 0.1, 1.0], max_time=2.0, refit=False)
    assert time.monotonic() - start <= 2.2
    assert np.isfinite(result.best_score_)
    assert result.best_params_ is not None
