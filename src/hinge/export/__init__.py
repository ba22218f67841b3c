"""Prediction functions of fitted estimators, as ONNX graphs and as C source."""
