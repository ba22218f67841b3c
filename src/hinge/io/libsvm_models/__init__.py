"""Model files of LIBSVM and LIBLINEAR.

`record` holds the content of a LIBSVM model file and predicts with it, without scikit-learn; `text` reads and writes
the files; `estimators` converts between records and estimators; `liblinear` does the same for linear models.
"""
