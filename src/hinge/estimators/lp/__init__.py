"""Estimators with an ℓ1 penalty on the coefficients: `LPSVC` and `LPSVR`."""
