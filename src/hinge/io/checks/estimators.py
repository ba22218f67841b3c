"""What the attributes of fitted estimators hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hinge.io.checks.fields import (
    FLAG,
    NOTHING,
    Either,
    Field,
    Instance,
    Integers,
    Items,
    Labels,
    Matrix,
    Names,
    Number,
    Numbers,
    Shape,
    Size,
    Sizes,
    Table,
    check_all,
)

_COUNT = Number(0, integer=True)
_CERTIFICATE, _HISTORY = Instance(("Certificate",)), Instance(("History",))

#: Reports of a fit. Estimators that were read from files of LIBSVM have none.
_REPORT: dict[str, Field] = {
    "status_": Instance(("Status",)), "fit_status_": Number(integer=True), "certificate_": _CERTIFICATE,
    "certificates_": Items(list, _CERTIFICATE), "n_iter_": Either(Integers(("iterations",), 0), _COUNT),
    "history_": Either(_HISTORY, NOTHING, Items(list, _HISTORY)),
}  # fmt: skip

_FEATURES: dict[str, Field] = {"n_features_in_": Size("features")}
_NAMES: dict[str, Field] = {"feature_names_in_": Names(("features",))}
_CLASSES: dict[str, Field] = {"classes_": Labels(("classes",))}
_WEIGHTS: dict[str, Field] = {"class_weight_": Numbers(("classes",), 0)}

#: A kernel expansion over the support vectors.
_DENSE: dict[str, Field] = {
    "shape_fit_": Shape(("samples", "features")), **_FEATURES,
    "support_": Integers(("support",), 0, "samples", dtypes=("int32", "int64")),
    "support_vectors_": Matrix(("vectors", "width")), "dual_coef_": Matrix(("outputs", "support")),
    "intercept_": Numbers(("functions",)),
    "model_": Instance(("KernelModel", "DictionaryModel")),
}  # fmt: skip
_EXPANSION: dict[str, Field] = {**_DENSE, "_sparse": FLAG, "_n_support": Integers(("sets",), 0)}
_SINGLE: dict[str, Field] = {
    "_margin": Number(nan=True), "_tube": Number(nan=True), "dual_coef_": Matrix((1, "support")),
    "intercept_": Numbers((1,)),
}  # fmt: skip
_PAIRS: dict[str, Field] = {"_margins": Numbers(("functions",))}
_WARM: dict[str, Field] = {"_last_solution": Either(NOTHING, Instance(("WarmStart",)))}
_FUNCTIONS: dict[str, Field] = {"function_coef_": Numbers(("functions", "parametric functions"), finite=True)}

#: The training samples, which updates need.
_STORED: dict[str, Field] = {
    "_X": Matrix(("samples", "features")), "_w": Numbers(("samples",), 0, 1e308),
    "n_iter_": Either(_COUNT, Integers(("iterations",), 0)),
}  # fmt: skip
_TARGETS: dict[str, Field] = {
    "_y": Numbers(("samples",), finite=True),
    "_beta": Either(NOTHING, Numbers(("samples",), finite=True)),
}
_WIDTHS: dict[str, Field] = dict.fromkeys(("_side", "_widths"), Either(NOTHING, Numbers(("samples", 2), 0)))
_LINEAR: dict[str, Field] = {
    **_FEATURES, "_n_seen": Size("samples"), "_fit_cost": Either(Number(), Numbers(("samples",))),
    "dual_coef_": Numbers(("outputs", "samples")), "intercept_": Numbers(("functions",)),
}  # fmt: skip
#: Linear programs: coefficients of the samples with a positive weight, for every kernel of the dictionary.
_LP: dict[str, Field] = {
    "n_terms_": _COUNT, "_terms": Numbers(("kernels", "weighted samples", "functions"), finite=True),
    "_beta": Numbers(("weighted samples", "functions"), finite=True), **_DENSE,
    "dual_coef_": Matrix(("outputs", "kernels*support")),
}  # fmt: skip
_ONLINE: dict[str, Field] = {**_FEATURES, "_state": Instance(("OnlineState",))}


@dataclass(frozen=True)
class Declaration:
    """What the attributes of a fitted estimator hold.

    Attributes
    ----------
    fitted : dict
        Attributes of every fitted object.
    possible : dict
        Attributes that depend on the parameters, the data, or the version that wrote the file.
    """

    fitted: Mapping[str, Field]
    possible: Mapping[str, Field] = field(default_factory=dict)


_CLASSIFIER = {**_EXPANSION, **_CLASSES, **_WEIGHTS, **_PAIRS}
_OPTIONAL = {**_REPORT, **_NAMES, **_WARM}
_CALIBRATED: dict[str, Field] = {
    **_OPTIONAL,
    "calibration_": Instance(("PairwiseSigmoids", "SoftmaxScaling", "OneVsRestSigmoids")),
}
_INCREMENTAL_REGRESSION = Declaration({**_EXPANSION, **_SINGLE, **_STORED, **_TARGETS, **_WIDTHS}, _NAMES)
_INCREMENTAL_CLASSIFICATION = Declaration(
    {
        **_EXPANSION, **_PAIRS, **_STORED, **_CLASSES, **_WEIGHTS, "_y": Labels(("samples",)),
        "_betas": Table(Numbers(("pair",), finite=True), keys=lambda key: type(key) is str, fresh=("pair",)),
    },
    _NAMES,
)  # fmt: skip

#: Estimators that choose their parameters; the result contains the estimator with the best ones.
_SEARCHED = Declaration({"result_": Instance(("GridResult",))})

ATTRIBUTES: Mapping[str, Declaration] = {
    "SVC": Declaration(_CLASSIFIER, {**_CALIBRATED, "equivalent_nu_": Numbers(("functions",))}),
    "NuSVC": Declaration(
        _CLASSIFIER, {**_CALIBRATED, **dict.fromkeys(("equivalent_C_", "margin_"), Numbers(("functions",)))}
    ),
    "SVR": Declaration({**_EXPANSION, **_SINGLE}, _OPTIONAL),
    "NuSVR": Declaration({**_EXPANSION, **_SINGLE}, {**_OPTIONAL, "epsilon_": Number(nan=True)}),
    "OneClassSVM": Declaration(
        {**_EXPANSION, **_SINGLE, "offset_": Numbers((1,))}, {**_OPTIONAL, "calibration_": Instance(("RankedScores",))}
    ),
    "ParzenClassifier": Declaration({**_EXPANSION, **_CLASSES, "kernel_": Instance(("Kernel",))}, _NAMES),
    "LowRankSVC": Declaration(
        {
            **_EXPANSION, **_CLASSES, **_WEIGHTS,
            "_dual_points": Items(list, Numbers(("variables",)), fresh=("variables",)),
        },
        {**_CALIBRATED, "approximation_": Instance(("LowRankReport",))},
    ),
    "LPSVC": Declaration({**_LP, **_CLASSES, **_WEIGHTS}, _OPTIONAL),
    "LPSVR": Declaration(_LP, _OPTIONAL),
    "RankingSVM": Declaration(
        {**_EXPANSION, **_SINGLE, "n_pairs_": Size("pairs"), "n_queries_": _COUNT, "pair_coef_": Numbers(("pairs",))},
        _OPTIONAL,
    ),
    "TransductiveSVC": Declaration(
        {
            **_CLASSIFIER, "n_switches_": _COUNT, "positive_fraction_": Number(nan=True),
            "stages_": Table(Either(Numbers(("stages",)), Integers(("stages",), 0)), keys=lambda key: type(key) is str),
            "transduction_": Labels(("unlabeled",)), "unlabeled_cost_": Numbers(("unlabeled",)),
        },
        _OPTIONAL,
    ),
    "RegularizationNetwork": Declaration(
        {**_EXPANSION, **_FUNCTIONS, "_beta": Numbers(("weighted samples",), finite=True), "n_active_": _COUNT},
        _OPTIONAL,
    ),
    "SemiparametricSVC": Declaration({**_EXPANSION, **_CLASSES, **_WEIGHTS, **_FUNCTIONS}, _OPTIONAL),
    "SemiparametricSVR": Declaration({**_EXPANSION, **_SINGLE, **_FUNCTIONS}, _OPTIONAL),
    "IncrementalSVC": _INCREMENTAL_CLASSIFICATION,
    "SlidingSVC": _INCREMENTAL_CLASSIFICATION,
    "IncrementalSVR": _INCREMENTAL_REGRESSION,
    "SlidingSVR": _INCREMENTAL_REGRESSION,
    "HeteroscedasticSVR": Declaration(
        {
            **_INCREMENTAL_REGRESSION.fitted, "n_updates_": _COUNT, "sample_weight_": Numbers(("samples",), 0),
            "residual_changes_": Items(list, Number(nan=True)),
        },
        _NAMES,
    ),
    "IncrementalOneClassSVM": Declaration(
        {**_EXPANSION, **_SINGLE, **_STORED, **_TARGETS, "offset_": Numbers((1,))}, _NAMES
    ),
    "LinearSVC": Declaration(
        {**_LINEAR, **_CLASSES, **_WEIGHTS, "coef_": Numbers(("functions", "features"))}, _CALIBRATED
    ),
    "LinearSVR": Declaration({**_LINEAR, "coef_": Numbers(("features",)), "intercept_": Numbers((1,))}, _OPTIONAL),
    "LinearOneClassSVM": Declaration(
        {**_LINEAR, **dict.fromkeys(("intercept_", "offset_"), Numbers((1,))), "coef_": Numbers((1, "features"))},
        _OPTIONAL,
    ),
    **dict.fromkeys(("SVCCV", "SVRCV", "LinearSVCCV", "LinearSVRCV"), _SEARCHED),
    "OnlineSVC": Declaration({**_ONLINE, **_CLASSES}, _NAMES),
    "OnlineNuSVC": Declaration({**_ONLINE, **_CLASSES}, _NAMES),
    "OnlineSVR": Declaration(_ONLINE, _NAMES),
    "OnlineNoveltyDetector": Declaration(_ONLINE, {**_NAMES, "_threshold": Number()}),
}  # fmt: skip

def check_attributes(name: str, attributes: Mapping[str, Any]) -> None:
    """Raise a ValueError if the fitted attributes of an estimator of this class are not valid.

    Attributes that are not declared are those of users; hinge does not read them. Estimators of hinge are declared;
    those that users register may have no declaration.
    """
    declared, sizes = ATTRIBUTES.get(name, Declaration({})), Sizes()
    check_all(declared.fitted, attributes, sizes)
    check_all({key: each for key, each in declared.possible.items() if key in attributes}, attributes, sizes)
