"""Ranking with an indefinite matrix, which did not terminate in earlier versions."""

import pytest

from hinge import Status
from reference.termination import output_of


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_ranking_with_an_indefinite_matrix_terminates(loss):
    """With a status, or with an error that names the matrix."""
    (outcome,) = output_of(
        f"""
        import numpy as np
        from hinge import RankingSVM
        rng = np.random.default_rng(0)
        G = rng.normal(size=(20, 20))
        model = RankingSVM(kernel="precomputed", loss="{loss}")
        try:
            print(int(model.fit((G + G.T) / 2, rng.integers(0, 3, 20)).status_))
        except ValueError as error:
            print("ValueError" if "definite" in str(error) else repr(error).replace(" ", "_"))
        """
    )
    assert outcome == "ValueError" or Status(int(outcome)) is not Status.SOLVED
