"""Training without a cluster: the tasks of all partitions run in this process, in order."""

import numpy as np

from hinge.control import RunControl
from hinge.dask.blocks import make_block
from hinge.dask.cluster import _merge
from hinge.dask.linear.training import train


class Reductions:
    """The interface of `hinge.dask.cluster.Workers`."""

    def __init__(self, blocks, control, stop=None):
        self.blocks, self.control, self.names, self.stop = blocks, control, [], stop

    def reduce(self, name, function, argument, *, final=False):
        if self.stop is not None and not final:
            self.stop(len(self.names))
        self.names.append(name)
        return _merge([function(i, block, argument) for i, block in enumerate(self.blocks)])


def fit_in_process(estimator, X, y, partitions=3, sample_weight=None, stop=None):
    """Fit an estimator of `hinge.dask` on partitions of arrays; return it and the names of the passes.

    `stop` is called with the number of reductions before each of them, and may raise an exception.
    """
    blocks = []
    for i, rows in enumerate(np.array_split(np.arange(X.shape[0]), partitions)):
        weight = None if sample_weight is None else sample_weight[rows]
        blocks.append(make_block(i, X[rows], y[rows], weight, estimator._targets))
    workers = Reductions(blocks, RunControl(), stop)
    summary = estimator._summarize(workers)
    setup = estimator._setup(summary)
    method, solutions, report, _ = train(estimator, setup, summary, workers, workers.control)
    estimator._store(summary, setup, method, [s.weights for s in solutions], [s.offset for s in solutions])
    report.store(estimator)
    return estimator, workers.names


