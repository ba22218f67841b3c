"""Estimators with a kernel expansion: `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM` and `ParzenClassifier`."""
