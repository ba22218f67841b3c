"""The dual objective agrees with LIBSVM and clarabel to a relative difference of 1e-6."""

import numpy as np
import pytest

import hinge
from reference.agreement import agree, random_case
from reference.benchmark_data import data_folder, small_cases

TOL = 1e-6
SECONDS = 5.0  # time limit; fits take milliseconds


def describe(case, agreement):
    return (
        f"{case.name} {case.label} {case.options}: hinge {agreement.value!r}, LIBSVM {agreement.libsvm!r}, "
        f"clarabel {agreement.clarabel!r} ± {agreement.error:.1g}; "
        f"infeasible by {agreement.infeasibility:.1g}, gap {agreement.gap:.1g}"
    )


@pytest.mark.parametrize("seed", range(200))
def test_random_problems_agree(seed):
    case = random_case(seed)
    model, agreement = agree(case, hinge, tol=TOL, max_time=SECONDS)
    assert agreement.holds(TOL), describe(case, agreement)
    assert model.status_ is hinge.Status.SOLVED
    # the certificate encloses the same optimum
    rounding = model.certificate_.rounding
    assert rounding <= 1e-4 * max(abs(agreement.value), agreement.floor)
    assert model.certificate_.dual == pytest.approx(agreement.value, rel=1e-6, abs=agreement.floor + rounding)
    slack = TOL * max(abs(agreement.clarabel), agreement.floor) + agreement.error
    assert model.certificate_.dual <= agreement.clarabel + slack
    assert model.certificate_.primal >= agreement.clarabel - slack


@pytest.mark.slow
@pytest.mark.skipif(data_folder() is None, reason="the benchmark data are not available")
@pytest.mark.parametrize("case", small_cases(), ids=lambda case: f"{case.label}-{case.name}")
def test_benchmark_data_agree(case):
    model, agreement = agree(case, hinge, tol=TOL, max_time=12 * SECONDS)
    assert agreement.holds(TOL), describe(case, agreement)
    assert np.isfinite(model.certificate_.gap)
