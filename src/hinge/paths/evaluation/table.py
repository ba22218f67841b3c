"""Tables of paths as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hinge.kernels import Linear
from hinge.problems import Array

if TYPE_CHECKING:
    import pandas as pd

#: Values of the parameter that are evaluated together; it limits the memory of kernel expansions.
ROWS_PER_BLOCK = 256


def blocks(values: Array) -> list[Array]:
    """Return the values of a parameter in parts of at most `ROWS_PER_BLOCK`."""
    return [values[first : first + ROWS_PER_BLOCK] for first in range(0, len(values), ROWS_PER_BLOCK)]


def joined(parts: list[dict[str, Array]]) -> dict[str, Array]:
    """Return the columns of consecutive parts of a table as one table."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def data_frame(parameter: str, values: Array, columns: dict[str, Any], coefficients: dict[str, Array]) -> pd.DataFrame:
    """Return a DataFrame with one row per value of the parameter, which is its index."""
    pandas = import_pandas()
    frame = pandas.DataFrame({**columns, **coefficients})
    frame.index = pandas.Index(values, name=parameter)
    return frame


def coefficient_table(path: Any, values: Array, symbol: str = "beta") -> dict[str, Array]:
    """Return the columns of the weights of features if the kernel is linear, otherwise those of the coefficients."""
    if isinstance(path.kernel, Linear):
        return weight_columns(path.coef(values), path.feature_names)
    return {f"{symbol}_{i}": column for i, column in enumerate(path.coefficients(values).T)}


def weight_columns(weights: Array, names: Any = None) -> dict[str, Array]:
    """Return the columns ``coef_<name>`` of the weights of features; without names, their positions."""
    labels = np.arange(weights.shape[1]) if names is None else names
    return {f"coef_{label}": column for label, column in zip(labels, weights.T, strict=True)}


def import_pandas() -> Any:
    """Return the module pandas, or raise an ImportError that states the remedy."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame needs pandas, which is not installed: pip install pandas") from error
    return pandas
