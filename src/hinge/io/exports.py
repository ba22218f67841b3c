"""`to_onnx` and `to_c`: prediction functions for other programs."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from hinge.export.c_source import c_source
from hinge.export.pipelines import describe
from hinge.io.replacement import Path, replacing


def to_onnx(model: Any, path: Path | None = None) -> Any:
    """Convert a fitted estimator to an ONNX graph in float64.

    The graph consists of core operators, so that every ONNX runtime with float64 can evaluate it. Its results agree
    with those of the estimator to rounding errors. The input `X` has shape (n, n_features) for any n. The outputs are

    - `prediction` (n,) of a regression or ranking estimator;
    - `label` (n,), `decision_values` (n,) or (n, number of classes or pairs), and `probabilities` (n, n_classes) of an
      estimator with ``probability=True`` or a calibrated classifier.

    Parameters
    ----------
    model : estimator, Pipeline or CalibratedClassifierCV
        A fitted estimator of hinge with a kernel that has a formula; a scikit-learn `Pipeline` whose last step is one,
        after `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler` or `RobustScaler`; or a `CalibratedClassifierCV` with
        ``ensemble=False`` of one of them. Labels are integers, text, floating-point numbers or booleans.
    path : str or path, optional
        Name of the file; an existing file is replaced.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    TypeError
        If the kernel is a Python function or precomputed, or if a step of the pipeline is not known.

    Examples
    --------
    >>> import hinge
    >>> model = hinge.SVC(C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> [output.name for output in hinge.io.to_onnx(model).graph.output]  # doctest: +SKIP
    ['label', 'decision_values']
    """
    _require_onnx()
    from hinge.export.onnx_graph import onnx_model  # local: onnx is an optional dependency

    proto = onnx_model(describe(model))
    if path is not None:
        with replacing(path) as file:
            file.write(proto.SerializeToString())
    return proto


def to_c(model: Any, path: Path | None = None, *, dtype: str = "float64", prefix: str = "hinge") -> str:
    """Convert a fitted estimator to a C program without dependencies.

    The program is one C99 file that needs only the mathematical functions of the standard library. All sizes are
    constants, no memory is allocated, and there is no state, so that it can run on microcontrollers. With
    ``dtype="float64"`` the results agree with those of the estimator to rounding errors. The file defines

    - ``hinge_label hinge_predict(const hinge_real *x)``: the label, or the prediction of a regression estimator;
    - ``void hinge_decide(const hinge_real *x, hinge_real *values)``: the decision values of a classifier;
    - ``int hinge_class(const hinge_real *x)``: the position of the label in ``hinge_labels``;
    - ``void hinge_probabilities(const hinge_real *x, hinge_real *probabilities)`` of an estimator with
      ``probability=True`` or a calibrated classifier;
    - with ``-DHINGE_TEST_MAIN``, a program that reads samples from standard input and prints predictions.

    Parameters
    ----------
    model : estimator, Pipeline or CalibratedClassifierCV
        As in `to_onnx`.
    path : str or path, optional
        Name of the file; an existing file is replaced.
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers: ``double`` or ``float``.
    prefix : str, default="hinge"
        Prefix of all names, so that a program can contain several models.

    Returns
    -------
    str
        The source text.

    Examples
    --------
    >>> import hinge
    >>> model = hinge.LinearSVR().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    >>> "hinge_label hinge_predict(const hinge_real x[hinge_n_features])" in hinge.io.to_c(model)
    True
    """
    last = model[-1] if isinstance(model, Pipeline) else model
    source = c_source(describe(model), dtype, prefix, type(last).__name__)
    if path is not None:
        with replacing(path) as file:
            file.write(source.encode("ascii"))
    return source


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401  (optional dependency)
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the package onnx, which is not installed: pip install 'hinge[onnx]' (or pip install onnx)"
        ) from error


def register_onnx_converters() -> None:
    """Register converters of all estimators of hinge with skl2onnx.

    Afterwards `skl2onnx.to_onnx` and `convert_sklearn` convert pipelines with estimators of hinge and any other step
    that skl2onnx knows. The nodes of the estimators are those of `to_onnx`: they compute in float64. Other steps
    compute in the precision that skl2onnx chooses.

    Raises
    ------
    ImportError
        If the package skl2onnx is not installed.

    Examples
    --------
    >>> from hinge.io import register_onnx_converters
    >>> register_onnx_converters()  # doctest: +SKIP
    """
    try:
        import skl2onnx  # noqa: F401  (optional dependency)
    except ImportError as error:
        raise ImportError(
            "register_onnx_converters needs the package skl2onnx, which is not installed: pip install skl2onnx"
        ) from error
    from hinge.export.skl2onnx_converters import register  # local: skl2onnx is an optional dependency

    register()
