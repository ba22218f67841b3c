"""Arguments that several commands share."""

from __future__ import annotations

from hinge.cli.converters import delimiter, megabytes, positive_integer, seconds, seed, threads
from hinge.cli.declaration import Argument, Group

#: Estimators that can be trained. A test compares this list with the estimators that model files support.
ESTIMATORS = (
    "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR", "LinearOneClassSVM", "LowRankSVC", "LPSVC",
    "LPSVR", "IncrementalSVC", "IncrementalSVR", "IncrementalOneClassSVM", "OnlineSVC", "OnlineNuSVC", "OnlineSVR",
    "OnlineNoveltyDetector", "SlidingSVC", "SlidingSVR", "HeteroscedasticSVR", "RankingSVM", "TransductiveSVC",
    "ParzenClassifier", "SemiparametricSVC", "SemiparametricSVR", "RegularizationNetwork",
)  # fmt: skip

FORMATS = ("auto", "libsvm", "csv", "parquet", "npz")
SCALINGS = ("none", "standard", "minmax", "maxabs")

DATA = Argument(
    ("data",),
    "data file: LIBSVM text (also .gz and .bz2), .csv, .tsv, .parquet or .npz; `-` is standard input",
    metavar="DATA",
    refers="file",
)
MODEL = Argument(("model",), "model file: .hinge, or a model of LIBSVM or LIBLINEAR", metavar="MODEL", refers="file")

FORMAT = Argument(
    ("--format",),
    "format of the data; auto selects it by the ending of the name, and LIBSVM text for other names and for standard "
    "input (default: %(default)s)",
    choices=FORMATS,
    default="auto",
)
TARGET = Argument(
    ("--target",),
    "column of a table with the labels or target values: a name, or a number from 1, negative from the end",
    metavar="COLUMN",
)
DROP = Argument(
    ("--drop",), "column of a table that is not a feature; may be repeated", metavar="COLUMN", repeated=True
)
DELIMITER = Argument(
    ("--delimiter",), "delimiter of a CSV file (default: a tab for .tsv, else a comma)", "CHAR", convert=delimiter
)
NO_HEADER = Argument(("--no-header",), "the CSV file has no header; columns are called 1, 2, ...", default=False)
ZERO_BASED = Argument(
    ("--zero-based",), "the indices of LIBSVM text start at 0 instead of 1", default=False
)
STORAGE = Argument(
    ("--storage",),
    "storage of LIBSVM data in memory; auto is dense if at least half of the values are not zero (default: "
    "%(default)s)",
    choices=("auto", "dense", "sparse"),
    default="auto",
)
FEATURES = Argument(
    ("--features",),
    "number of features of LIBSVM text (default: the largest index, or that of the model)",
    metavar="N",
    convert=positive_integer,
)
SAMPLE_WEIGHT = Argument(
    ("--sample-weight",),
    "sample weights: a column of a table, an array of an .npz file, or for LIBSVM text a file with a number per line",
    metavar="NAME",
)
QUERY = Argument(
    ("--query",), "query numbers for RankingSVM: a column or an array; LIBSVM text has them as qid:", metavar="NAME"
)

DATA_OPTIONS = Group(
    "data", (FORMAT, TARGET, DROP, DELIMITER, NO_HEADER, ZERO_BASED, FEATURES, STORAGE, SAMPLE_WEIGHT, QUERY)
)

ESTIMATOR = Argument(
    ("-e", "--estimator"), "estimator (default: %(default)s)", choices=ESTIMATORS, default="SVC", metavar="NAME"
)
PARAMETER = Argument(
    ("-p", "--parameter"),
    "parameter of the estimator, for example C=10 or kernel=poly; may be repeated. `hinge info NAME` lists the "
    "parameters",
    metavar="NAME=VALUE",
    repeated=True,
)
SCALE = Argument(
    ("--scale",),
    "scaling of the features, which becomes part of the model: standard (mean 0, variance 1; sparse data are not "
    "centered), minmax ([0, 1]) or maxabs ([-1, 1], keeps zeros) (default: %(default)s)",
    choices=SCALINGS,
    default="none",
)
ESTIMATOR_OPTIONS = Group("estimator", (ESTIMATOR, PARAMETER, SCALE))

MAX_TIME = Argument(
    ("--max-time",),
    "time limit of the computation, without reading, for example 90, 5m or 1h; the best result so far is kept",
    metavar="TIME",
    convert=seconds,
)
MEMORY = Argument(
    ("--memory",),
    "memory for kernel values and data, for example 500MB or 2GB; larger LIBSVM files are mapped from disk by linear "
    "estimators (default: a share of the free memory)",
    metavar="SIZE",
    convert=megabytes,
)
JOBS = Argument(
    ("-j", "--jobs"), "threads; -1 is one per core (default: %(default)s)", metavar="N", convert=threads, default=-1
)
SEED = Argument(("--seed",), "seed of random numbers: folds, and estimators with random_state", "N", convert=seed)
MAP = Argument(
    ("--map",),
    "directory for the arrays of a LIBSVM file that is larger than memory; they are kept and used again (default: a "
    "temporary directory, which is removed)",
    metavar="DIR",
    refers="directory",
)
LIMITS = Group("resources", (MAX_TIME, MEMORY, MAP, JOBS, SEED))
PREDICTION_LIMITS = Group("resources", (JOBS,))

JSON = Argument(("--json",), "print one JSON object instead of text", default=False)
QUIET = Argument(("-q", "--quiet"), "print errors only; no table, no progress line", default=False)
REPORT = Group("report", (JSON, QUIET))


def output(help: str, *names: str) -> Argument:
    """Return the option for an output file."""
    return Argument(names or ("-o", "--output"), help, metavar="FILE", refers="file")
