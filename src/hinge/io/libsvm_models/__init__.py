"""Model files of LIBSVM and LIBLINEAR.

`record` holds the content of a LIBSVM model file and predicts with it, without scikit-learn; `text` reads and writes
the files; `kernel_estimators` converts between records and estimators. `liblinear` and `linear_estimators` do the same
for linear models, `training_data` finds what certificates need, and `files` has the public functions.
"""
