"""Parts of the generated C programs.

``$p`` is replaced by the prefix of all names, ``$real`` by the type of real numbers, and ``$f`` by the suffix of
functions and constants of that type: "" or "f".
"""

from __future__ import annotations

POWER = """\
static $p_real $p_power($p_real base, int exponent) {
  $p_real result = 1.0$f;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2) result *= base;
  }
  return result;
}
"""

#: Recurrence of Cox and de Boor; all terms are positive.
SPLINE = """\
static $p_real $p_bspline(int degree, $p_real t) {
  const $p_real x = 0.5$f * ($p_real)(degree + 1) - fabs$f(t);
  if (!(x > 0.0$f)) return 0.0$f;
  const int cell = (int)x;
  const $p_real u = x - ($p_real)cell;
  $p_real value[16] = {1.0$f};
  int p, r;
  for (p = 1; p <= degree; ++p) {
    value[p] = (1.0$f - u) * value[p - 1] / ($p_real)p;
    for (r = p - 1; r > 0; --r) {
      value[r] = ((u + ($p_real)r) * value[r] + (($p_real)(p + 1 - r) - u) * value[r - 1]) / ($p_real)p;
    }
    value[0] = u * value[0] / ($p_real)p;
  }
  return value[cell];
}
"""

#: Votes of every class plus a confidence below one half.
BY_CLASS = """\
static void $p_by_class(const $p_real *functions, $p_real *values) {
  $p_real sums[$classes];
  int first, second;
  for (first = 0; first < $classes; ++first) sums[first] = values[first] = 0.0$f;
  for (first = 0; first < $classes; ++first) {
    for (second = first + 1; second < $classes; ++second, ++functions) {
      sums[first] += *functions;
      sums[second] -= *functions;
      values[*functions < 0.0$f ? second : first] += 1.0$f;
    }
  }
  for (first = 0; first < $classes; ++first) {
    values[first] += sums[first] / (3.0$f * (fabs$f(sums[first]) + 1.0$f));
  }
}
"""

LARGEST = """\
static int $p_largest(const $p_real *values, int count) {
  int best = 0, k;
  for (k = 1; k < count; ++k) {
    if (values[k] > values[best]) best = k;
  }
  return best;
}
"""

#: Number of pairs that every class wins.
VOTES = """\
static int $p_most_votes(const $p_real *functions) {
  int votes[$classes] = {0};
  int first, second, best = 0;
  for (first = 0; first < $classes; ++first) {
    for (second = first + 1; second < $classes; ++second, ++functions) {
      ++votes[*functions > 0.0$f ? first : second];
    }
  }
  for (first = 1; first < $classes; ++first) {
    if (votes[first] > votes[best]) best = first;
  }
  return best;
}
"""

SIGMOID_TWO = """\
static void $p_calibrate(const $p_real *values, $p_real *probabilities) {
  probabilities[1] = 1.0$f / (1.0$f + exp$f($p_slope[0] * values[0] + $p_offset[0]));
  probabilities[0] = 1.0$f - probabilities[1];
}
"""

SIGMOID_MANY = """\
static void $p_calibrate(const $p_real *values, $p_real *probabilities) {
  $p_real sum = 0.0$f;
  int k;
  for (k = 0; k < $classes; ++k) {
    probabilities[k] = 1.0$f / (1.0$f + exp$f($p_slope[k] * values[k] + $p_offset[k]));
    sum += probabilities[k];
  }
  for (k = 0; k < $classes; ++k) {
    probabilities[k] = sum == 0.0$f ? 1.0$f / ($p_real)$classes : probabilities[k] / sum;
  }
}
"""

SOFTMAX = """\
static void $p_calibrate(const $p_real *values, $p_real *probabilities) {
  $p_real sum = 0.0$f, largest;
  int k;
  for (k = 0; k < $classes; ++k) probabilities[k] = $logit;
  largest = probabilities[0];
  for (k = 1; k < $classes; ++k) {
    if (probabilities[k] > largest) largest = probabilities[k];
  }
  for (k = 0; k < $classes; ++k) sum += probabilities[k] = exp$f(probabilities[k] - largest);
  for (k = 0; k < $classes; ++k) probabilities[k] /= sum;
}
"""

#: Reads samples from standard input and prints a line for each: label and decision values, or the prediction.
TEST_MAIN = """\
#ifdef HINGE_TEST_MAIN
#include <stdio.h>

int main(void) {
  $p_real x[$features];
  int j = 0;
  while (scanf("$scan", &x[j]) == 1) {
    if (++j < $features) continue;
    j = 0;
$print
  }
  return j == 0 ? 0 : 1;
}
#endif
"""

PRINT_VALUE = """\
    printf("$format\\n", $p_predict(x));"""

PRINT_LABEL = """\
    {
      $p_real values[$values];
      int k;
      $p_decide(x, values);
      printf("$label_format", $p_predict(x));
      for (k = 0; k < $values; ++k) printf("\\t$format", values[k]);
$more      printf("\\n");
    }"""

PRINT_PROBABILITIES = """\
      {
        $p_real probabilities[$classes];
        $p_probabilities(x, probabilities);
        for (k = 0; k < $classes; ++k) printf("\\t$format", probabilities[k]);
      }
"""
