"""Short runs of the fuzzers; `make fuzz` runs them longer."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import hinge
from reference.archives import assert_load_fails

FUZZ = Path(__file__).parents[2] / "fuzz"


@pytest.fixture
def fuzz(monkeypatch):
    """Import modules of the directory `fuzz`."""
    if not FUZZ.exists():
        pytest.skip("the fuzzers are in the source tree only")
    monkeypatch.syspath_prepend(str(FUZZ))
    yield lambda name: __import__(name)
    for name in ("campaign", "models", "model_files", "readers", "estimators"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("name", "cases"), [("model_files", 60), ("readers", 60), ("estimators", 40)])
def test_no_case_fails(fuzz, name, cases):
    outcome = fuzz("campaign").run(fuzz(name).case, seed=12345, seconds=60, cases=cases)
    assert outcome.failures == []
    assert outcome.cases > 0


def test_failures_are_found(fuzz):
    """A crash, a hang, a wrong exception and a forbidden result are counted, and the campaign continues."""
    campaign = fuzz("campaign")

    def case(rng, folder):
        number = int((folder / "count").read_text()) if (folder / "count").exists() else 0
        (folder / "count").write_text(str(number + 1))
        if number == 1:
            raise KeyError("key")
        if number == 2:
            raise campaign.Failure("forbidden")
        if number == 3:
            os.abort()
        return "good"

    outcome = campaign.run(case, seed=0, seconds=30, cases=6)
    assert outcome.counts["UNEXPECTED KeyError"] == outcome.counts["FAILURE"] == outcome.counts["CRASH"] == 1
    assert sorted(number for number, _ in outcome.failures) == [1, 2, 3]


class TestObserved:
    """Files that were loaded in earlier versions, and then needed much memory or raised an IndexError."""

    @pytest.fixture
    def rewrite(self, fuzz, tmp_path):
        models, files = fuzz("models"), fuzz("model_files")

        def write(name, change):
            _, manifest, arrays = models.files()[name]
            path = tmp_path / "model.hinge"
            path.write_bytes(files.write(*change(files.copy.deepcopy(manifest), list(arrays))))
            return path

        return write

    @pytest.mark.parametrize("key", ["machines", "budget"])
    def test_a_small_file_does_not_allocate_much_memory(self, fuzz, rewrite, key):
        def change(manifest, arrays):
            fields = manifest["state"]["_state"]["record"][1]["options"]["record"][1]
            fields[key] = 10**9
            return manifest, arrays

        path = rewrite("OnlineSVC", change)
        with fuzz("campaign").limited_memory(path.stat().st_size):
            if key == "machines":
                assert_load_fails(path, "inconsistent")
            else:
                hinge.load(path)

    def test_many_features_without_terms_need_no_memory(self, fuzz, tmp_path):
        model = hinge.OnlineSVR(gamma=0.5).fit(np.zeros((1, 2)), [0.0])
        hinge.save(model, tmp_path / "model.hinge")
        with fuzz("campaign").limited_memory(3000):
            hinge.load(tmp_path / "model.hinge")

    @pytest.mark.parametrize(
        ("name", "attribute", "value"),
        [
            ("OneClassSVM", "offset_", np.zeros(0)),
            ("IncrementalSVC", "_w", np.ones(3)),
            ("IncrementalSVC", "class_weight_", np.ones(1)),
            ("IncrementalSVC", "_y", np.zeros(14, dtype=np.int64)),
            ("SolutionPath", "classes", np.zeros(1)),
        ],
    )
    def test_inconsistent_arrays_are_rejected(self, rewrite, name, attribute, value):
        def change(manifest, arrays):
            state = manifest["state"]
            fields = state["path"]["record"][1] if "path" in state else state
            arrays[fields[attribute]["array"]] = value
            return manifest, arrays

        assert_load_fails(rewrite(name, change), "inconsistent")
