"""Probabilities of estimators with ``probability=True`` as parts of C programs; placeholders as in `c_templates`."""

from __future__ import annotations

import numpy as np

from hinge.calibration.agreement import TIE_SHARE
from hinge.calibration.coupling import MIN_PROBABILITY
from hinge.export.description import OwnCalibration

_HEAD = "static void $p_calibrate(const $p_real *functions, int own, $p_real *probabilities) {\n"

#: docs/math (740)
_PAIR = f"""{_HEAD}\
  const $p_real size = fabs$f(functions[0]);
  const $p_real least = 0.5$f + $tie * (1e-3$f + size / (1.0$f + size));
  const $p_real first = 1.0$f / (1.0$f + exp$f($p_offset[0] - $p_slope[0] * functions[0]));
  const $p_real p = own ? 1.0$f - first : first;
  probabilities[own] = p < least ? least : p;
  probabilities[1 - own] = 1.0$f - probabilities[own];
}}
"""

#: docs/math (742); the scores ascend.
_RANKS = f"""{_HEAD}\
  long low = 0, high = $count;
  $p_real p, inlier;
  while (low < high) {{
    const long middle = low + (high - low) / 2;
    if ($p_scores[middle] <= functions[0]) low = middle + 1;
    else high = middle;
  }}
  p = ($p_real)(low + 1) / $scale;
  if (own) {{
    inlier = 1.0$f - 0.5$f * (1.0$f - p) / $above;
    if (inlier < 0.5$f + $tie) inlier = 0.5$f + $tie;
    if (inlier > 1.0$f) inlier = 1.0$f;
  }} else {{
    inlier = 0.5$f * p / $below;
    if (inlier > 0.5$f - $tie) inlier = 0.5$f - $tie;
  }}
  probabilities[0] = 1.0$f - inlier;
  probabilities[1] = inlier;
}}
"""

_SIGMOIDS = f"""{_HEAD}\
  $p_real sum = 0.0$f;
  int k;
  for (k = 0; k < $classes; ++k) {{
    probabilities[k] = 1.0$f / (1.0$f + exp$f($p_slope[k] * functions[k] + $p_offset[k]));
    if (probabilities[k] < $smallest) probabilities[k] = $smallest;
    sum += probabilities[k];
  }}
  for (k = 0; k < $classes; ++k) probabilities[k] /= sum;
  $p_agree(probabilities, own);
}}
"""

_SOFTMAX = f"""{_HEAD}\
  $p_real sum = 0.0$f, largest;
  int k;
  for (k = 0; k < $classes; ++k) probabilities[k] = $p_slope[k] * functions[k] + $p_offset[k];
  largest = probabilities[0];
  for (k = 1; k < $classes; ++k) {{
    if (probabilities[k] > largest) largest = probabilities[k];
  }}
  for (k = 0; k < $classes; ++k) sum += probabilities[k] = exp$f(probabilities[k] - largest);
  for (k = 0; k < $classes; ++k) probabilities[k] /= sum;
  $p_agree(probabilities, own);
}}
"""

#: Coupling of the pairs: elimination in (Q + 11^T) p = 1, which is positive definite.
_PAIRS = f"""{_HEAD}\
  $p_real matrix[$classes][$classes + 1], sum = 0.0$f;
  int i, j, k;
  for (i = 0; i < $classes; ++i) {{
    for (j = 0; j <= $classes; ++j) matrix[i][j] = 1.0$f;
  }}
  for (i = 0, k = 0; i < $classes; ++i) {{
    for (j = i + 1; j < $classes; ++j, ++k) {{
      $p_real r = 1.0$f / (1.0$f + exp$f($p_slope[k] * functions[k] + $p_offset[k]));
      if (r < $least) r = $least;
      if (r > 1.0$f - $least) r = 1.0$f - $least;
      matrix[j][j] += r * r;
      matrix[i][i] += (1.0$f - r) * (1.0$f - r);
      matrix[i][j] = matrix[j][i] = 1.0$f - r * (1.0$f - r);
    }}
  }}
  for (k = 0; k < $classes; ++k) {{
    for (i = 0; i < $classes; ++i) {{
      const $p_real factor = matrix[i][k] / matrix[k][k];
      if (i == k) continue;
      for (j = k; j <= $classes; ++j) matrix[i][j] -= factor * matrix[k][j];
    }}
  }}
  for (k = 0; k < $classes; ++k) {{
    probabilities[k] = matrix[k][$classes] / matrix[k][k];
    if (probabilities[k] < 0.0$f) probabilities[k] = 0.0$f;
    sum += probabilities[k];
  }}
  for (k = 0; k < $classes; ++k) probabilities[k] /= sum;
  $p_agree(probabilities, own);
}}
"""

#: docs/math (741): the common level is the largest mean of the predicted class and all classes above a threshold.
_AGREE = """\
static void $p_agree($p_real *probabilities, int own) {
  $p_real level = 0.0$f, total = 0.0$f;
  int conflict = 0, j, k;
  for (k = 0; k < $classes; ++k) conflict |= k != own && probabilities[k] >= probabilities[own];
  if (!conflict) return;
  for (k = 0; k < $classes; ++k) {
    $p_real sum = probabilities[own], count = 1.0$f;
    if (k == own) continue;
    for (j = 0; j < $classes; ++j) {
      if (j == own || probabilities[j] < probabilities[k]) continue;
      sum += probabilities[j];
      count += 1.0$f;
    }
    if (sum / count > level) level = sum / count;
  }
  for (k = 0; k < $classes; ++k) {
    if (k == own) probabilities[k] = level * (1.0$f + $tie);
    else if (probabilities[k] > level) probabilities[k] = level;
    total += probabilities[k];
  }
  for (k = 0; k < $classes; ++k) probabilities[k] /= total;
}
"""

_TEMPLATES = {"pair": _PAIR, "ranks": _RANKS, "sigmoids": _SIGMOIDS, "softmax": _SOFTMAX, "pairs": _PAIRS}


def templates_of(calibration: OwnCalibration) -> list[str]:
    """Return the functions that compute the probabilities from the functions and the predicted class."""
    own = _TEMPLATES[calibration.kind]
    return [_AGREE, own] if "$p_agree" in own else [own]


def constants_of(calibration: OwnCalibration, smallest: float) -> dict[str, float]:
    """Return the numbers in these functions; `smallest` is the smallest positive number of the type."""
    scores = calibration.scores
    scale = len(scores) + 1.0
    at_most, below = (float(np.searchsorted(scores, 0.0, side=side)) for side in ("right", "left"))  # type: ignore[call-overload]
    return {
        "tie": TIE_SHARE,
        "least": MIN_PROBABILITY,
        "smallest": smallest,
        "scale": scale,
        "above": max(1.0 - (1.0 + at_most) / scale, 1.0 / scale),
        "below": (1.0 + below) / scale,
    }
