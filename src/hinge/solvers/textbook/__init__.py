"""Textbook methods: gradient descent, Lagrangian SVM, AdaTron, primal Newton and regularized risk."""
