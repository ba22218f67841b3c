// null_model.cpp: see the header.
#include "linear/start/null_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "linear/data/ops.hpp"
#include "linear/data/passes.hpp"
#include "linear/data/subset.hpp"
#include "linear/loss/line_search.hpp"
#include "linear/loss/loss.hpp"
#include "linear/loss/offset.hpp"
#include "linear/state.hpp"

namespace hinge {
namespace {

constexpr std::size_t kSampledRows = 1024;  // samples of the estimate
constexpr double kRandomFactor = 4;       // ‖Xᵀβ‖² relative to that of random directions above which it counts as large
constexpr double kRounding = 1e-14;   // relative distance to a kink that counts as zero

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return linear_ops().dot_double(a.data(), b.data(), a.size());
}

// Dual point of w = 0 and b.  Samples at a kink may take any value between those on both sides; they are chosen such
// that Σβ = d + b/B².
void dual_of_null_model(const LinearProblem& p, double b, std::vector<double>& beta) {
  for (std::size_t i = 0; i < beta.size(); ++i)
    beta[i] = LossTerm{p.target[i], p.lower[i], p.upper[i], p.ridge[i], p.tube}.best(b);
  if (p.bias == Bias::none) return;
  double missing = p.total + bias_ridge(p) * b, available = 0;
  for (double v : beta) missing -= v;
  const auto slack_of = [&](std::size_t i) {
    const double r = p.target[i] - b, off = kRounding * (std::fabs(p.target[i]) + std::fabs(b) + p.tube);
    if (p.ridge[i] > 0 || !(std::fabs(std::fabs(r) - p.tube) <= off)) return 0.0;
    if (missing > 0) return (p.tube > 0 && r < 0 ? 0.0 : p.upper[i]) - beta[i];
    return (p.tube > 0 && r > 0 ? 0.0 : p.lower[i]) - beta[i];
  };
  for (std::size_t i = 0; i < beta.size(); ++i) available += slack_of(i);
  const double share = available != 0 ? std::min(1.0, std::max(0.0, missing / available)) : 0.0;
  for (std::size_t i = 0; i < beta.size(); ++i) beta[i] += share * slack_of(i);
}

// Whether ‖Xᵀβ‖ at the null model, estimated from a sample, is too large for the target gap and larger than for random
// directions.  (It is smaller if all samples are on one side and the features have mean zero.)
bool dual_is_too_large(LinearState& s) {
  std::vector<std::uint32_t> chosen(kSampledRows);
  for (std::size_t k = 0; k < kSampledRows; ++k) chosen[k] = static_cast<std::uint32_t>(k * s.n / kSampledRows);
  const ProblemSubset part(s.problem, chosen, static_cast<double>(s.n) / static_cast<double>(kSampledRows));
  const RowSubset rows(s.samples, chosen);
  const auto passes = make_passes(rows.samples(), s.parallel, 0);
  std::vector<double> beta(kSampledRows), norms(kSampledRows), sum(s.d);
  dual_of_null_model(part.problem, s.offset, beta);
  passes->squared_norms(norms);
  passes->combine(beta, sum);
  double random = 0;
  for (std::size_t k = 0; k < kSampledRows; ++k) random += beta[k] * beta[k] * norms[k];
  const double excess = dot(sum, sum) - random;
  return excess > (kRandomFactor - 1) * random && 0.5 * excess > s.target_gap();
}

}  // namespace

void certify_null_model(LinearState& s) {
  if (s.smooth || s.n < 4 * kSampledRows || s.options.expansion || dual_is_too_large(s)) return;
  std::vector<double> beta(s.n), combined(s.d);
  dual_of_null_model(s.problem, s.offset, beta);
  restore_sum(s.problem, beta);
  s.passes->combine(beta, combined);
  const double slack = 0.5 * dot(combined, combined);
  if (s.likely_proven(s.w, s.evaluate(s.f, beta), slack)) {
    std::vector<double> f(s.n);  // of Xᵀβ, which usually is closer to the optimum than w = 0
    s.passes->margins(combined, f);
    s.adopt(combined, beta, 0.0, s.evaluate(f, beta), s.computed(combined, f));
    if (!s.proven()) s.adopt(s.w, s.f, beta, slack);
  }
  if (!s.proven()) s.adopt(s.w, s.f, s.beta, 0.0);  // return to the previous point
}

}  // namespace hinge
