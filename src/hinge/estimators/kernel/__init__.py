"""Estimators with a kernel expansion: `SVC`, `NuSVC`, `SVR`, `NuSVR` and `OneClassSVM`."""
