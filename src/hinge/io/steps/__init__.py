"""Classes of scikit-learn in model files."""
