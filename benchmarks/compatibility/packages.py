"""Run small programs with packages that use `sklearn.svm`, with and without the patch, and compare their results.

    python benchmarks/compatibility/packages.py [--save]

tslearn, imbalanced-learn, pyod, mlxtend and shap; packages that are not installed are skipped.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

#: Programs that leave an array of results in `result`, and the largest accepted difference.
PROGRAMS: dict[str, tuple[str, float, str]] = {
    "tslearn": (
        "TimeSeriesSVC with the global alignment kernel, decision values",
        1e-2,
        """
import numpy as np
from tslearn.generators import random_walk_blobs
from tslearn.svm import TimeSeriesSVC
X, y = random_walk_blobs(n_ts_per_blob=20, sz=32, d=2, n_blobs=2, random_state=0)
model = TimeSeriesSVC(kernel="gak", gamma="auto", C=1.0, random_state=0).fit(X, y)
result = model.decision_function(X)
""",
    ),
    "imblearn": (
        "SVMSMOTE, mean of the samples of every class",
        1e-2,
        """
import numpy as np
from imblearn.over_sampling import SVMSMOTE
from sklearn.datasets import make_classification
X, y = make_classification(600, 6, weights=[0.9], class_sep=0.8, random_state=0)
found, labels = SVMSMOTE(random_state=0).fit_resample(X, y)
result = np.concatenate([found[labels == c].mean(axis=0) for c in (0, 1)] + [np.bincount(labels)])
""",
    ),
    "pyod": (
        "OCSVM, outlier scores",
        1e-2,
        """
import numpy as np
from pyod.models.ocsvm import OCSVM
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
X = scale(load_wine().data)
result = OCSVM(nu=0.2, contamination=0.1).fit(X).decision_scores_
""",
    ),
    "mlxtend": (
        "StackingClassifier and SequentialFeatureSelector over SVC, predictions and features",
        0.0,
        """
import numpy as np
from mlxtend.classifier import StackingClassifier
from mlxtend.feature_selection import SequentialFeatureSelector
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC
X, y = load_iris(return_X_y=True)
stack = StackingClassifier([SVC(gamma=0.5), SVC(kernel="linear")], LogisticRegression()).fit(X, y)
chosen = SequentialFeatureSelector(SVC(C=10.0), k_features=2, cv=3).fit(X, y)
result = np.concatenate([stack.predict(X), chosen.k_feature_idx_])
""",
    ),
    "shap": (
        "KernelExplainer of an SVC, Shapley values",
        1e-2,
        """
import numpy as np
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from sklearn.svm import SVC
X, y = load_breast_cancer(return_X_y=True)
X = scale(X)[:, :6]
model = SVC(gamma=0.1, tol=1e-5).fit(X, y)
explainer = shap.KernelExplainer(model.decision_function, X[:20], seed=0)
result = explainer.shap_values(X[100:105], silent=True)
""",
    ),
}

START = """
import json, sys, warnings
warnings.simplefilter("ignore")
if sys.argv[1] == "1":
    import hinge
    hinge.patch_sklearn()
"""
END = """
import sklearn.svm
print(json.dumps([type(sklearn.svm.SVC()).__module__, np.asarray(result, dtype=float).ravel().tolist()]))
"""


def run(program: str, patched: bool) -> tuple[str, list[float]]:
    """Run a program in a new interpreter; return the module of SVC and the results."""
    command = [sys.executable, "-c", START + program + END, str(int(patched))]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    module, values = json.loads(done.stdout.strip().rpartition("\n")[2])
    return module, values


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="write the table next to this script")
    arguments = parser.parse_args()
    names = {"imblearn": "imbalanced-learn"}
    lines, failed = [f"Packages that use sklearn.svm, with and without the patch, {date.today()}", ""], False
    for package, (title, tolerance, program) in PROGRAMS.items():
        if importlib.util.find_spec(package) is None:
            lines.append(f"{package:18s} not installed")
            continue
        (_, expected), (module, found) = run(program, False), run(program, True)
        assert module == "hinge.patch.kernel"
        scale = max(map(abs, expected))
        difference = max((abs(a - b) for a, b in zip(expected, found, strict=True)), default=0.0) / scale
        failed |= difference > tolerance
        name = f"{names.get(package, package)} {version(names.get(package, package))}"
        lines.append(f"{name:25s} {difference:8.1e} {'same' if difference <= tolerance else 'DIFFERENT':10s} {title}")
        print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text(text)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
