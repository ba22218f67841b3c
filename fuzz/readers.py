"""Fuzz the readers of data files and of LIBSVM's model files.

    python fuzz/readers.py --seconds 600 [--seed 0]
    python fuzz/readers.py --case 1234

Inputs are mutations of valid texts: words are exchanged for unusual ones, bytes are changed, and lines are repeated or
cut off. Allowed: a ValueError, or a result that is written and read back identically. The compiled reader alone is
fuzzed by `libsvm_text.cpp`, with feedback from coverage.
"""

from __future__ import annotations

import bz2
import gzip
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from campaign import Failure, limited_memory, main
from models import samples

import hinge
from hinge.io import dump_libsvm, iter_libsvm, load_libsvm, load_table, map_libsvm

WORDS = (
    b"1", b"-1", b"+1", b"0", b"1.5", b"1e5", b"1e-400", b"1e400", b"nan", b"inf", b"-", b".", b"e5", b"1e", b"0x1p3",
    b"1:1", b"2:2", b"1:", b":1", b"0:1", b"-1:1", b"2147483647:1", b"2147483648:1", b"99999999999999999999:1",
    b"qid:1",
    b"qid:x", b"qid:9223372036854775808", b"#", b"# c", b"\xef\xbb\xbf1", b"\x00", b"\xff", b"1,5", b"1_0", b"\t", b"",
    b"9" * 400 + b":1", b"1:" + b"9" * 400, b"1:0." + b"0" * 400 + b"1",
)  # fmt: skip
ENDS = (b"\n", b"\r\n", b"\r", b"", b"\n\n", b" \n")
CELLS = ("1", "-2.5", "", "nan", "NA", "1e400", "text", '"a,b"', '"', "1;2", "é", " 3 ", "True", "1e-320", "0x10")
TYPES = ("svm_type", "kernel_type", "gamma", "coef0", "degree", "nr_class", "total_sv", "rho", "label", "nr_sv", "SV",
         "solver_type", "nr_feature", "bias", "w", "probA", "probB")  # fmt: skip

#: Addresses that the threads of pyarrow may reserve: it ends the process if it gets none.
ARROW_ADDRESSES = 4 << 30


def case(rng: np.random.Generator, folder: Path) -> str:
    """Write one input, and read it."""
    return (libsvm_data, libsvm_data, table, libsvm_model)[rng.integers(4)](rng, folder)


def libsvm_data(rng: np.random.Generator, folder: Path) -> str:
    """Data in LIBSVM's format, plain or compressed."""
    lines = []
    for _ in range(rng.integers(0, 8)):
        words = [b"%d" % rng.integers(-1, 2)]
        columns = np.sort(rng.choice(20, rng.integers(0, 6), replace=False)) + 1
        words += [b"%d:%g" % (column, rng.normal()) for column in columns]
        for _ in range(rng.integers(0, 2)):
            words[rng.integers(len(words))] = WORDS[rng.integers(len(WORDS))]
        lines.append(b" ".join(words) + (b"\n" if rng.random() < 0.9 else ENDS[rng.integers(len(ENDS))]))
    text = change(rng, b"".join(lines))
    pack, ending = ((bytes, "txt"), (gzip.compress, "gz"), (bz2.compress, "bz2"))[rng.choice(3, p=(0.8, 0.1, 0.1))]
    path = folder / f"data.{ending}"
    content = pack(text)
    path.write_bytes(change(rng, content) if ending != "txt" and rng.random() < 0.3 else content)
    options = {"zero_based": bool(rng.integers(2)), "strict": bool(rng.integers(2))}
    options["dtype"] = (np.float32, np.float64)[rng.integers(2)]
    try:
        with limited_memory(len(text)):
            X, y = load_libsvm(path, **options)
            if rng.random() < 0.1:
                blocks = list(iter_libsvm(path, n_features=X.shape[1], **options))
                if sum(len(labels) for _, labels in blocks) != len(y):
                    raise Failure("iter_libsvm and load_libsvm read different numbers of samples")
            if rng.random() < 0.02:
                map_libsvm(path, folder / "map", **options)
    except ValueError:
        return "LIBSVM data: rejected"
    check_round_trip(X, y, folder)
    return "LIBSVM data: read"


def check_round_trip(X, y, folder: Path) -> None:
    """Write the samples and read them again."""
    if not (np.isfinite(X.data).all() and np.isfinite(y).all() and len(y) == X.shape[0]):
        raise Failure("the samples are not finite, or their number is not that of the labels")
    if X.shape[1] == 0:
        return
    dump_libsvm(X, y, folder / "copy.txt")
    Z, z = load_libsvm(folder / "copy.txt", n_features=X.shape[1], dtype=X.dtype)
    if not (np.array_equal(y, z) and (X != Z).nnz == 0):
        raise Failure("the samples differ after they were written and read")


def table(rng: np.random.Generator, folder: Path) -> str:
    """A table with separators."""
    separator = (",", ";", "\t", " ")[rng.integers(4)]
    width = int(rng.integers(1, 5))
    rows = [separator.join(f"{value:.3g}" for value in rng.normal(size=width)) for _ in range(rng.integers(0, 6))]
    if rng.random() < 0.5:
        rows.insert(0, separator.join(f"column{i}" for i in range(width)))
    for _ in range(rng.integers(0, 3)):
        if rows:
            cells = rows[i := int(rng.integers(len(rows)))].split(separator)
            cells[rng.integers(len(cells))] = CELLS[rng.integers(len(CELLS))]
            rows[i] = separator.join(cells)
    path = folder / "table.csv"
    text = change(rng, ("\n".join(rows) + "\n").encode())
    path.write_bytes(text)
    try:
        with limited_memory(len(text), reserved=ARROW_ADDRESSES):
            load_table(path)
    except ValueError:
        return "table: rejected"
    return "table: read"


@cache
def model_texts() -> list[bytes]:
    """Model files of LIBSVM and LIBLINEAR."""
    X, y = samples()
    z = np.arange(len(y)) % 3
    models = [
        hinge.SVC(gamma=0.5).fit(X, y), hinge.SVC(kernel="linear").fit(X, z), hinge.SVR(gamma=0.5).fit(X, y),
        hinge.OneClassSVM(gamma=0.5).fit(X), hinge.LinearSVC().fit(X, y), hinge.LinearSVC().fit(X, z),
    ]  # fmt: skip
    texts = []
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            path = Path(folder) / "model.txt"
            hinge.io.save_libsvm_model(model, path)
            texts.append(path.read_bytes())
    return texts


def libsvm_model(rng: np.random.Generator, folder: Path) -> str:
    """A model file of LIBSVM or LIBLINEAR; a model that is read must predict or refuse."""
    texts = model_texts()
    lines = texts[rng.integers(len(texts))].split(b"\n")
    for _ in range(rng.integers(1, 4)):
        i = int(rng.integers(len(lines)))
        words = lines[i].split(b" ")
        choice = rng.integers(5)
        if choice == 0:
            words[rng.integers(len(words))] = WORDS[rng.integers(len(WORDS))]
        elif choice == 1:
            words[0] = TYPES[rng.integers(len(TYPES))].encode()
        elif choice == 2:
            del lines[i]
        elif choice == 3:
            lines.insert(i, lines[rng.integers(len(lines))])
        else:
            words.append(WORDS[rng.integers(len(WORDS))])
        if choice not in (2, 3):
            lines[i] = b" ".join(words)
        if not lines:
            break
    text = change(rng, b"\n".join(lines))
    path = folder / "model.txt"
    path.write_bytes(text)
    try:
        with limited_memory(len(text)):
            model = hinge.io.load_libsvm_model(path)
        model.predict(samples(5)[0])
    except ValueError:
        return "LIBSVM model: rejected"
    return "LIBSVM model: read"


def change(rng: np.random.Generator, text: bytes) -> bytes:
    """Change some bytes of one text in three."""
    if rng.random() < 0.67 or not text:
        return text
    data = bytearray(text)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(data) + 1))
        choice = rng.integers(4)
        if choice == 0 and at < len(data):
            data[at] = int(rng.integers(256))
        elif choice == 1:
            del data[at : at + int(rng.integers(1, 10))]
        elif choice == 2:
            data[at:at] = WORDS[rng.integers(len(WORDS))]
        else:
            del data[at:]
    return bytes(data)


if __name__ == "__main__":
    model_texts()
    main("reader inputs", case, __doc__.partition("\n")[0])
