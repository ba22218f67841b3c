"""
Labels found together with the machine
======================================

Handwritten digits, 3 against 5 and 8 against 9 in turn, of which one in twenty has a label. `TransductiveSVC` looks for
labels of the others that leave a wide margin for all.
"""

# %%
# Few labels, many draws
# ----------------------
#
# One draw says little. Both machines have the same labelled samples in each, and their difference is what counts.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import hinge

pixels, digit = load_digits(return_X_y=True)
pixels = pixels / 16
options = dict(C=10.0, gamma=0.05)


def draw(pair, seed):
    """Labelled and unlabelled samples of two digits."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(digit, pair)))
    some, others = rows[: len(rows) // 20], rows[len(rows) // 20 :]
    return pixels[some], digit[some], pixels[others], digit[others]


for pair in ((3, 5), (8, 9)):
    gained = []
    for seed in range(8):
        X, y, X_unlabeled, truth = draw(pair, seed)
        alone = hinge.SVC(**options).fit(X, y).score(X_unlabeled, truth)
        model = hinge.TransductiveSVC(C_unlabeled=10.0, **options).fit(X, y, X_unlabeled)
        gained.append(np.mean(model.transduction_ == truth) - alone)
    error = np.std(gained, ddof=1) / np.sqrt(len(gained))
    print(f"{pair[0]} against {pair[1]}: {100 * np.mean(gained):+.1f} ± {100 * error:.1f} percent right")

# %%
# What happens on the way
# -----------------------
#
# The price C* of errors on unlabelled samples doubles from almost nothing; at every price pairs of labels switch while
# that lowers the objective. Each step is an exact path, and the certificate at the end is for the labels found.

stages = model.stages_
print(f"{model.n_switches_} switches, {model.n_iter_[0]} events")
print(model.certificate_)

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 5))
above.loglog(stages["cost_negative"], stages["objective"], "o-", color="black")
above.set_ylabel("objective")
below.bar(stages["cost_negative"], stages["switches"], width=0.5 * stages["cost_negative"], color="C0")
below.set(xlabel="C*", ylabel="pairs switched")
plt.show()
