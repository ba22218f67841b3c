"""The commands of LIBSVM: `hinge-svm-train`, `hinge-svm-predict`, `hinge-svm-scale` and `hinge-easy`.

They accept the options of svm-train, svm-predict, svm-scale and easy.py, and write the same lines and files. They use
the formulations and solvers directly, without scikit-learn, which takes longer to import than a small model to train.

Exit codes: 0 success, 1 failure or invalid arguments (as in LIBSVM), 130 interrupted by Ctrl-C.
"""
