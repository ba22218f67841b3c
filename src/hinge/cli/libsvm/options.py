"""Options of `hinge-svm-train`, with the defaults, checks and messages of svm-train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hinge.cli.libsvm.command import CommandError, UsageError

SVM_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")  # in the order of -s
KERNEL_TYPES = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")  # in the order of -t

USAGE = """\
Usage: hinge-svm-train [options] training_set_file [model_file]
options:
-s svm_type : type of SVM (default 0)
	0 -- C-SVC		(multi-class classification)
	1 -- nu-SVC		(multi-class classification)
	2 -- one-class SVM
	3 -- epsilon-SVR	(regression)
	4 -- nu-SVR		(regression)
-t kernel_type : type of kernel function (default 2)
	0 -- linear: u'*v
	1 -- polynomial: (gamma*u'*v + coef0)^degree
	2 -- radial basis function: exp(-gamma*|u-v|^2)
	3 -- sigmoid: tanh(gamma*u'*v + coef0)
	4 -- precomputed kernel (kernel values in training_set_file)
-d degree : degree of the polynomial kernel (default 3)
-g gamma : gamma of the kernel function (default 1/num_features)
-r coef0 : coef0 of the kernel function (default 0)
-c cost : C of C-SVC, epsilon-SVR and nu-SVR (default 1)
-n nu : nu of nu-SVC, one-class SVM and nu-SVR (default 0.5)
-p epsilon : epsilon of the loss function of epsilon-SVR (default 0.1)
-m cachesize : memory for kernel values in MB (default 100)
-e epsilon : tolerance of the optimality conditions (default 0.001)
-h shrinking : whether to use shrinking, 0 or 1 (default 1)
-b probability_estimates : whether to train a model for probability estimates, 0 or 1 (default 0)
-wi weight : multiply C of class i by weight, for C-SVC (default 1)
-v n : n-fold cross-validation
-q : no output
"""


@dataclass
class TrainOptions:
    """Arguments of `hinge-svm-train`; `gamma` is None for 1/num_features."""

    svm_type: str = "c_svc"
    kernel_type: str = "rbf"
    degree: int = 3
    gamma: float | None = None
    coef0: float = 0.0
    cost: float = 1.0
    nu: float = 0.5
    epsilon: float = 0.1
    cache_size: float = 100.0
    tol: float = 1e-3
    shrinking: int = 1
    probability: int = 0
    weights: list[tuple[int, float]] = field(default_factory=list)
    n_folds: int = 0
    quiet: bool = False
    data_file: str = ""
    model_file: str = ""


#: Options with one number: attribute and type.
_NUMBERS: dict[str, tuple[str, type]] = {
    "d": ("degree", int), "g": ("gamma", float), "r": ("coef0", float), "c": ("cost", float), "n": ("nu", float),
    "p": ("epsilon", float), "m": ("cache_size", float), "e": ("tol", float), "h": ("shrinking", int),
    "b": ("probability", int), "v": ("n_folds", int),
}  # fmt: skip


def parse_train(argv: Sequence[str]) -> TrainOptions:
    """Parse and check the arguments of `hinge-svm-train`."""
    options, i = TrainOptions(), 0
    while i < len(argv) and argv[i].startswith("-") and len(argv[i]) > 1:
        option, letter = argv[i], argv[i][1]
        if letter == "q":
            options.quiet = True
            i += 1
            continue
        if i + 1 >= len(argv):
            raise UsageError("")
        value = argv[i + 1]
        if letter == "s":
            options.svm_type = _choice(option, value, SVM_TYPES, "unknown svm type")
        elif letter == "t":
            options.kernel_type = _choice(option, value, KERNEL_TYPES, "unknown kernel type")
        elif letter == "w":
            options.weights.append((int(number(f"label of {option}", option[2:], int)), number(option, value, float)))
        elif letter in _NUMBERS:
            name, kind = _NUMBERS[letter]
            setattr(options, name, number(option, value, kind))
        else:
            raise UsageError(f"Unknown option: {option}")
        if letter == "v" and options.n_folds < 2:
            raise UsageError("n-fold cross validation: n must >= 2")
        i += 2
    files = list(argv[i:])
    if not 1 <= len(files) <= 2:
        raise UsageError("")
    options.data_file = files[0]
    options.model_file = files[1] if len(files) == 2 else files[0].rsplit("/", 1)[-1] + ".model"
    _check(options)
    return options


def number(option: str, text: str, kind: type) -> float:
    """Convert the value of an option to a number."""
    try:
        value = float(text)
        if kind is int and not value.is_integer():
            raise ValueError(text)
    except (ValueError, OverflowError):
        wanted = "an integer" if kind is int else "a number"
        raise CommandError(f"ERROR: {option}: {text!r} is not {wanted}") from None
    return int(value) if kind is int else value


def _choice(option: str, value: str, names: tuple[str, ...], error: str) -> str:
    position = int(number(option, value, int))
    if not 0 <= position < len(names):
        raise CommandError(f"ERROR: {error}: {option} {value}")
    return names[position]


def _check(options: TrainOptions) -> None:
    """Raise the error of svm-train for the first parameter that is not valid."""
    kind = options.svm_type
    checks = (
        (options.gamma is not None and not options.gamma >= 0, "gamma < 0"),
        (options.degree < 0, "degree of polynomial kernel < 0"),
        (not options.cache_size > 0, "cache_size <= 0"),
        (not options.tol > 0, "eps <= 0"),
        (kind in ("c_svc", "epsilon_svr", "nu_svr") and not options.cost > 0, "C <= 0"),
        (kind in ("nu_svc", "one_class", "nu_svr") and not 0 < options.nu <= 1, "nu <= 0 or nu > 1"),
        (kind == "epsilon_svr" and not options.epsilon >= 0, "p < 0"),
        (options.shrinking not in (0, 1), "shrinking != 0 and shrinking != 1"),
        (options.probability not in (0, 1), "probability != 0 and probability != 1"),
    )
    for invalid, message in checks:
        if invalid:
            raise CommandError(f"ERROR: {message}")
