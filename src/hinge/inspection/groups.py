"""Groups of features that are explained together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def feature_groups(groups: Any, names: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the group of every feature, as 0, 1, ..., and the names of the groups.

    Parameters
    ----------
    groups : None, array-like of shape (n_features,) or mapping
        A label for every feature; or the features of every named group, by name or position, where each remaining
        feature is a group of its own. None: every feature is a group.
    names : ndarray
        Names of the features.
    """
    d = len(names)
    if groups is None:
        return np.arange(d, dtype=np.int32), names
    if isinstance(groups, Mapping):
        return _from_mapping(groups, names)
    labels = np.asarray(groups)
    if labels.shape != (d,):
        raise ValueError(f"groups has shape {labels.shape}, but there are {d} features; pass one label per feature")
    found, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first)  # in the order of the features
    rank = np.empty(len(found), dtype=np.int32)
    rank[order] = np.arange(len(found), dtype=np.int32)
    return np.ascontiguousarray(rank[inverse]), found[order]


def _from_mapping(groups: Mapping[Any, Any], names: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    group, titles = np.full(len(names), -1, dtype=np.int32), list(groups)
    position = {name: j for j, name in enumerate(names.tolist())}
    for g, (title, members) in enumerate(groups.items()):
        members = [members] if isinstance(members, str) or np.ndim(members) == 0 else list(members)
        if not members:
            raise ValueError(f"groups[{title!r}] is empty; give it at least one feature or leave it out")
        for member in members:
            j = position.get(member, member)
            position_like = isinstance(j, int | np.integer) and not isinstance(member, bool | np.bool_)
            if not position_like or not 0 <= j < len(names):
                raise ValueError(f"groups[{title!r}] has the feature {member!r}, which X does not have")
            if group[int(j)] >= 0:
                raise ValueError(
                    f"groups has the feature {member!r} in {titles[group[int(j)]]!r} and in {title!r}; a feature "
                    "belongs to one group"
                )
            group[int(j)] = g
    for j in np.flatnonzero(group < 0):
        name = names.tolist()[j]
        if name in groups:
            raise ValueError(
                f"groups has the name {name!r}, which is also the name of a feature outside of the group; "
                "choose another name"
            )
        group[j] = len(titles)
        titles.append(name)
    result = np.empty(len(titles), dtype=object)
    result[:] = titles
    return group, result
