"""The dual objective agrees with LIBSVM's and with clarabel's to 1e-6 relative, at tol=1e-6."""

import numpy as np
import pytest

import hinge
from reference.agreement import agree, random_case
from reference.benchmark_data import data_folder, small_cases

TOL = 1e-6
SECONDS = 5.0  # a limit for the hopeless only: what is solved takes milliseconds


def explain(case, found):
    return (
        f"{case.name} {case.label} {case.options}: hinge {found.value!r}, LIBSVM {found.libsvm!r}, "
        f"clarabel {found.clarabel!r} ± {found.error:.1g}; "
        f"infeasible by {found.infeasibility:.1g}, gap {found.gap:.1g}"
    )


@pytest.mark.parametrize("seed", range(200))
def test_random_problems(seed):
    case = random_case(seed)
    model, found = agree(case, hinge, tol=TOL, max_time=SECONDS)
    assert found.holds(TOL), explain(case, found)
    assert model.status_ is hinge.Status.SOLVED
    # the certificate speaks of the same optimum
    assert model.certificate_.dual == pytest.approx(found.value, rel=1e-6, abs=found.floor)
    slack = TOL * max(abs(found.clarabel), found.floor) + found.error
    assert model.certificate_.dual <= found.clarabel + slack
    assert model.certificate_.primal >= found.clarabel - slack


@pytest.mark.slow
@pytest.mark.skipif(data_folder() is None, reason="the shared data sets are not beside the repository")
@pytest.mark.parametrize("case", small_cases(), ids=lambda case: f"{case.label}-{case.name}")
def test_small_data_sets(case):
    model, found = agree(case, hinge, tol=TOL, max_time=12 * SECONDS)
    assert found.holds(TOL), explain(case, found)
    assert np.isfinite(model.certificate_.gap)
