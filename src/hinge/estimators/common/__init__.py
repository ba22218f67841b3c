"""Functions shared by all estimators: validation, training, warm starts, certificates, reports and prediction."""
