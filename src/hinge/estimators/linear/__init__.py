"""Linear estimators: `LinearSVC`, `LinearSVR` and `LinearOneClassSVM`."""
