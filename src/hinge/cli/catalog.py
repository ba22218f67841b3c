"""Declarations of all commands."""

from __future__ import annotations

from hinge.cli import options
from hinge.cli.converters import folds, number, positive_integer, positive_number
from hinge.cli.declaration import Argument, Command, Group
from hinge.cli.options import DATA, MODEL, REPORT, output

DESCRIPTION = "Support vector machines with a certificate of optimality for every solution."

EXIT_CODES = (
    ("0", "success"),
    ("1", "failure; the reason is on standard error"),
    ("2", "invalid arguments"),
    ("3", "finished without reaching the requested tolerance, or before the whole search was done"),
    ("130", "interrupted by Ctrl-C"),
)

VERSION = Argument(("--version",), "print the version and exit", default=False)

TRAIN = Command(
    "train",
    "fit an estimator and write a model file",
    "Fit an estimator to a data file, print its certificate, and write the model with its scaling to one file.\n\n"
    "The options for resources (--jobs, --memory, --max-time) apply to this run only. They are not stored in the "
    "model; use -p to store them. A fit that ends at --max-time or at max_iter writes its best model and exits with "
    "code 3.",
    (
        Group(
            "arguments",
            (
                DATA,
                output("model file to write; an existing file is replaced when the new one is complete"),
                Argument(
                    ("--unlabeled",), "data file with the unlabeled samples of TransductiveSVC", "FILE", refers="file"
                ),
            ),
        ),
        options.ESTIMATOR_OPTIONS,
        options.DATA_OPTIONS,
        options.LIMITS,
        REPORT,
    ),
    (
        ("hinge train train.svm -p C=10 -p gamma=0.1 --scale maxabs -o model.hinge", "SVC with scaled features"),
        ("hinge train big.svm.gz -e LinearSVC --memory 2GB -o model.hinge", "a file larger than memory"),
        ("hinge train houses.csv --target price -e SVR --scale standard -o model.hinge", "a table with column names"),
    ),
)

PREDICT = Command(
    "predict",
    "apply a model to a data file",
    "Write one line per sample: its label or predicted value, its decision values or its probabilities.\n\n"
    "LIBSVM files are read and predicted in blocks, so that they may be larger than memory.",
    (
        Group(
            "arguments",
            (
                MODEL,
                DATA,
                output("file for the predictions (default: standard output)"),
                Argument(
                    ("--values",),
                    "what to write (default: %(default)s)",
                    choices=("labels", "decision", "probability"),
                    default="labels",
                ),
            ),
        ),
        options.DATA_OPTIONS,
        options.PREDICTION_LIMITS,
        REPORT,
    ),
    (
        ("hinge predict model.hinge test.svm -o labels.txt", "labels in a file"),
        ("zcat test.svm.gz | hinge predict model.hinge - --values decision", "decision values in a pipe"),
    ),
)

EVALUATE = Command(
    "evaluate",
    "compare the predictions of a model with the labels of a data file",
    "Print the scores of a model: accuracy, precision and recall of classifiers, errors of regressors, NDCG of "
    "rankings, and the share of outliers of novelty detectors.",
    (
        Group(
            "arguments",
            (
                MODEL,
                DATA,
                Argument(
                    ("--metric",),
                    "further score, a name of scikit-learn such as roc_auc or max_error; may be repeated",
                    "NAME",
                    repeated=True,
                ),
            ),
        ),
        options.DATA_OPTIONS,
        options.PREDICTION_LIMITS,
        REPORT,
    ),
    (("hinge evaluate model.hinge test.svm --metric balanced_accuracy", ""),),
)

SCALE = Command(
    "scale",
    "scale the features of a data file",
    "Fit a scaler to a data file or read one with --restore, and write the scaled samples. `hinge train --scale` "
    "stores the scaling in the model instead, which then accepts unscaled data.",
    (
        Group(
            "arguments",
            (
                DATA,
                output("data file to write: LIBSVM text, .csv, .parquet or .npz by its ending"),
                Argument(
                    ("--method",),
                    "scaling (default: %(default)s)",
                    choices=options.SCALINGS[1:],
                    default="maxabs",
                ),
                output("write the fitted scaler to this file", "--save"),
                output("use the scaler in this file, which --save or `hinge train` wrote", "--restore"),
            ),
        ),
        options.DATA_OPTIONS,
        REPORT,
    ),
    (
        ("hinge scale train.svm --save ranges.hinge -o train.scaled.svm", "fit"),
        ("hinge scale test.svm --restore ranges.hinge -o test.scaled.svm", "apply"),
    ),
)

GRID = Command(
    "grid",
    "choose parameters by cross-validation",
    "Cross-validate all combinations of the given parameter values, and fit the best one to all samples.\n\n"
    "A parameter has one value, several (C=0.1,1,10), or a number of values in geometric progression from the first to "
    "the last (C=0.01:100:5). The scaling is fitted to the training samples of each fold.\n\n"
    "With --state, scores are written to a file as soon as they are computed. After an interruption the same command "
    "continues from there.",
    (
        Group(
            "arguments",
            (
                DATA,
                output("model file for the best candidate, fitted to all samples"),
                Argument(("--cv",), "folds, stratified for classifiers (default: %(default)s)", "N", 5, convert=folds),
                Argument(
                    ("--scoring",),
                    "score to maximize, a name of scikit-learn (default: accuracy, or R² for regression)",
                    "NAME",
                ),
                output("file with the scores so far; an existing one of the same search is continued", "--state"),
                Argument(
                    ("--top",),
                    "candidates in the printed table (default: %(default)s)",
                    "N",
                    10,
                    convert=positive_integer,
                ),
            ),
        ),
        options.ESTIMATOR_OPTIONS,
        options.DATA_OPTIONS,
        options.LIMITS,
        REPORT,
    ),
    (
        (
            "hinge grid train.svm -p C=0.01:100:5 -p gamma=0.01,0.1,1 --scale maxabs --state search.json -o best.hinge",
            "a search that can be resumed",
        ),
    ),
)

PATH = Command(
    "path",
    "compute the exact solution path over C, ε or ν",
    "Compute the solution of SVC or SVR as an exact function of C (or epsilon, or nu). With --validation or --cv, "
    "print the interval in which the validation error is smallest; the error is exact, not sampled.",
    (
        Group(
            "arguments",
            (
                DATA,
                output("file for the path, which `hinge.load` reads"),
                output("model file for SVC or SVR with the best C (needs --validation or --cv)", "--model"),
                Argument(
                    ("--over",),
                    "parameter of the path (default: %(default)s)",
                    choices=("C", "epsilon", "nu"),
                    default="C",
                ),
                Argument(
                    ("--min",), "smallest value (default: 0.001 for C, 0 for epsilon, 0.1 for nu)", "X", convert=number
                ),
                Argument(
                    ("--max",),
                    "largest value (default: 1000 for C, 1 for epsilon, the largest feasible nu)",
                    "X",
                    convert=number,
                ),
                Argument(
                    ("--task",),
                    "classification, regression, or one_class for nu (default: %(default)s)",
                    choices=("classification", "regression", "one_class"),
                    default="classification",
                ),
                Argument(("--validation",), "data file for the validation error", "FILE", refers="file"),
                Argument(("--cv",), "cross-validate with this number of folds", "N", convert=folds),
                output("write the breakpoints to this file, one per line", "--breakpoints"),
                output("write an interactive page of the path to this HTML file", "--explore"),
            ),
        ),
        Group(
            "estimator",
            (
                Argument(
                    options.PARAMETER.names,
                    "parameter of the problem, for example gamma=0.1 or kernel=linear; may be repeated",
                    "NAME=VALUE",
                    repeated=True,
                ),
                options.SCALE,
            ),
        ),
        options.DATA_OPTIONS,
        Group("resources", (options.MAX_TIME, options.MEMORY, options.SEED)),
        REPORT,
    ),
    (("hinge path train.svm -p gamma=0.1 --validation test.svm --model best.hinge", "the best C on a test set"),),
)

CERTIFY = Command(
    "certify",
    "recompute the certificate of a model from its training data",
    "Recompute the optimality gap of a model from the training data, with code that is independent of the solvers. "
    "With --tol the exit code is 3 if the relative gap is larger.\n\n"
    "Model files of LIBSVM and LIBLINEAR do not contain C, nu, epsilon and class weights: pass them with -p.",
    (
        Group(
            "arguments",
            (
                MODEL,
                DATA,
                Argument(("--tol",), "largest relative gap that is accepted", "VALUE", convert=positive_number),
                Argument(
                    ("-p", "--parameter"),
                    "parameter with which LIBSVM or LIBLINEAR trained the model, for example C=10; may be repeated",
                    metavar="NAME=VALUE",
                    repeated=True,
                ),
            ),
        ),
        options.DATA_OPTIONS,
        REPORT,
    ),
    (
        ("hinge certify model.hinge train.svm --tol 1e-3", ""),
        ("hinge certify train.svm.model train.svm -p C=10", "a model of svm-train -c 10"),
    ),
)

CONVERT = Command(
    "convert",
    "convert model files and data files",
    "Convert a model to a .hinge file, a LIBSVM or LIBLINEAR model, an ONNX graph or a C source file, or a data file "
    "to another format. The kind of the input is detected from its contents.",
    (
        Group(
            "arguments",
            (
                Argument(("input",), "model file or data file", "INPUT", refers="file"),
                Argument(("output",), "file to write", "OUTPUT", refers="file"),
                Argument(
                    ("--to",),
                    "format of the output (default: by the ending: .hinge, .model, .onnx, .c; .svm, .csv, .parquet, "
                    ".npz)",
                    choices=("hinge", "libsvm", "onnx", "c", "csv", "parquet", "npz"),
                ),
            ),
        ),
        options.DATA_OPTIONS,
        REPORT,
    ),
    (
        ("hinge convert model.hinge model.onnx", "for onnxruntime"),
        ("hinge convert train.csv train.svm --target label", "a table as LIBSVM text"),
    ),
)

EXPLAIN = Command(
    "explain",
    "show which solver a fit would use, and why",
    "Print the solver that `hinge train` with the same arguments would use, with the reasons and the memory of the "
    "kernel matrix. Nothing is trained.",
    (
        Group("arguments", (DATA,)),
        options.ESTIMATOR_OPTIONS,
        options.DATA_OPTIONS,
        Group("resources", (options.MEMORY,)),
        REPORT,
    ),
    (("hinge explain train.svm -p C=10 -p gamma=0.1", ""),),
)

INFO = Command(
    "info",
    "describe the installation, an estimator, a model file or a data file",
    "Without an argument: version, processor, threads and optional packages. With the name of an estimator: its "
    "parameters and their defaults. With a file: the model or the data in it.",
    (
        Group(
            "arguments",
            (Argument(("subject",), "name of an estimator, or a file", "NAME|FILE", refers="file", optional=True),),
        ),
        options.DATA_OPTIONS,
        REPORT,
    ),
    (("hinge info LinearSVC", "parameters of an estimator"), ("hinge info model.hinge", "contents of a model file")),
)

DEMO = Command(
    "demo",
    "train a classifier on a real data set, print its certificate and plot its decision boundary and convergence",
    "Train a classifier on the Wisconsin breast cancer data, print its certificate, and write two plots.",
    (
        Group(
            "arguments",
            (
                Argument(
                    ("--out",),
                    "directory for the plots; created if it does not exist (default: %(default)s)",
                    metavar="DIR",
                    default="demo-output",
                    refers="directory",
                ),
            ),
        ),
    ),
)

BATCH = Command(
    "batch",
    "run the commands listed in a TOML file",
    "Run commands one after the other. The file has a table [[run]] for each of them: `command` (default: train), the "
    "options under their long names with underscores, and `parameter` as a table. A table [defaults] has options for "
    "all runs that know them. Relative file names refer to the directory of the TOML file.\n\n"
    "A run that fails does not stop the others. The exit code is 1 if a run failed, else 3 if a run did not reach its "
    "tolerance.",
    (
        Group(
            "arguments",
            (
                Argument(("file",), "TOML file with the runs", "FILE", refers="file"),
                Argument(("--stop",), "stop after the first run that fails", default=False),
            ),
        ),
        REPORT,
    ),
    (("hinge batch runs.toml --json", ""),),
)

COMPLETION = Command(
    "completion",
    "print the completion script of a shell",
    "Print a script that completes commands, options, their values and file names.",
    (Group("arguments", (Argument(("shell",), "shell", choices=("bash", "zsh", "fish")),)),),
    (
        ('eval "$(hinge completion bash)"', "in ~/.bashrc"),
        ('eval "$(hinge completion zsh)"', "in ~/.zshrc, after compinit"),
        ("hinge completion fish | source", "in ~/.config/fish/config.fish"),
    ),
)

MAN = Command(
    "man",
    "print or write the manual pages",
    "Print the manual page of a command, or of `hinge` itself, as source of man(1). With --out all pages are written "
    "to a directory.",
    (
        Group(
            "arguments",
            (
                Argument(("page",), "name of a command", "COMMAND", optional=True),
                Argument(("--out",), "directory for all pages; created if missing", "DIR", refers="directory"),
            ),
        ),
    ),
    (("hinge man train | man -l -", "read a page"), ("hinge man --out ~/.local/share/man/man1", "install all pages")),
)

COMMANDS = (
    TRAIN, PREDICT, EVALUATE, SCALE, GRID, PATH, CERTIFY, CONVERT, EXPLAIN, INFO, DEMO, BATCH, COMPLETION, MAN,
)  # fmt: skip

BY_NAME = {command.name: command for command in COMMANDS}
