"""Prediction intervals and sets with finite-sample guarantees."""
