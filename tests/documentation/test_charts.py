"""The charts of the benchmark page are drawn from the committed tables."""

import re
import runpy

import matplotlib as mpl
import numpy as np
import pytest

from architecture.sources import ROOT

mpl.use("Agg")


@pytest.fixture(scope="module")
def charts():
    return runpy.run_path(str(ROOT / "benchmarks" / "charts.py"))


@pytest.mark.parametrize("title", ["Time of fit", "Time of predict"])
def test_geometric_means_are_those_of_the_table(charts, title):
    line = next(line for line in charts["section"]("kernel/compare.txt", title) if line.startswith("geometric mean "))
    printed = [float(value) for value in re.findall(r"[\d.]+", line)]
    means = [np.exp(np.mean(np.log(ratios))) for ratios in charts["kernel_ratios"](title).values()]
    np.testing.assert_allclose(means, printed, rtol=2e-3)


@pytest.mark.parametrize("gap", ["1e-02", "1e-04", "1e-06"])
def test_ratios_of_linear_estimators_are_the_quotients_of_the_times(charts, gap):
    rows = [line.split() for line in charts["section"]("linear/speed.txt", f"Time to reach a relative gap of {gap}")]
    quotients = sorted(
        float(row[k + 3]) / float(row[k + 2])
        for row in rows for k in range(len(row) - 4)
        if row[k] == "hinge" and re.fullmatch(r"[\d.]+", row[k + 3]) and re.fullmatch(r"[\d.]+", row[k + 4])
    )  # fmt: skip
    ratios = np.sort(np.concatenate(list(charts["linear_ratios"](gap).values())))
    assert len(ratios) > 30
    np.testing.assert_allclose(ratios, quotients, rtol=0.02)


def test_files_are_written(charts, tmp_path):
    for name, title, groups in charts["charts"]():
        charts["draw"](groups, title, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5_000
        assert (ROOT / "docs" / "images" / "benchmarks" / name).is_file()
