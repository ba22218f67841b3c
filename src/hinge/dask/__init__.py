"""Training on Dask collections: `LinearSVC` and `LinearSVR` for data that do not fit on one machine.

The estimators have the names and parameters of `hinge.LinearSVC` and `hinge.LinearSVR`. `fit` takes Dask arrays,
DataFrames or arrays of CSR blocks that are partitioned by rows. See the guide page "Distributed training".
"""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"hinge.dask requires Dask ({error}); install it with: pip install 'dask[array,dataframe]' distributed"
    ) from error

from hinge.dask.cluster import ClusterError
from hinge.dask.estimators import LinearSVC, LinearSVR
from hinge.dask.libsvm import read_libsvm

__all__ = ["ClusterError", "LinearSVC", "LinearSVR", "read_libsvm"]
