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

constexpr std::size_t kAsked = 1024;  // samples
constexpr double kByChance = 4;       // times the squared length of a sum of terms that point anywhere: not by chance
constexpr double kRounding = 1e-14;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return linear_ops().dot_double(a.data(), b.data(), a.size());
}

// What all samples answer to w = 0 and b.  Where that is a kink, whoever is there may answer anything between the answers
// on both sides: together, what the offset asks of all, Σβ = d + b/B².
void answer(const LinearProblem& p, double b, std::vector<double>& beta) {
  for (std::size_t i = 0; i < beta.size(); ++i)
    beta[i] = LossTerm{p.target[i], p.lower[i], p.upper[i], p.ridge[i], p.tube}.best(b);
  if (p.bias == Bias::none) return;
  double missing = p.total + own_ridge(p) * b, room = 0;
  for (double v : beta) missing -= v;
  const auto room_of = [&](std::size_t i) {
    const double r = p.target[i] - b, off = kRounding * (std::fabs(p.target[i]) + std::fabs(b) + p.tube);
    if (p.ridge[i] > 0 || !(std::fabs(std::fabs(r) - p.tube) <= off)) return 0.0;
    if (missing > 0) return (p.tube > 0 && r < 0 ? 0.0 : p.upper[i]) - beta[i];
    return (p.tube > 0 && r > 0 ? 0.0 : p.lower[i]) - beta[i];
  };
  for (std::size_t i = 0; i < beta.size(); ++i) room += room_of(i);
  const double share = room != 0 ? std::min(1.0, std::max(0.0, missing / room)) : 0.0;
  for (std::size_t i = 0; i < beta.size(); ++i) beta[i] += share * room_of(i);
}

// What some samples, which stand for all, answer to nothing is too long for what is wanted, and longer than by chance.
// (It may be less than by chance: where all samples are on one side, and their features have mean zero.)
bool too_long(LinearState& s) {
  std::vector<std::uint32_t> asked(kAsked);
  for (std::size_t k = 0; k < kAsked; ++k) asked[k] = static_cast<std::uint32_t>(k * s.n / kAsked);
  const ProblemSubset part(s.problem, asked, static_cast<double>(s.n) / static_cast<double>(kAsked));
  const RowSubset rows(s.samples, asked);
  const auto passes = make_passes(rows.samples(), s.parallel, 0);
  std::vector<double> beta(kAsked), norms(kAsked), sum(s.d);
  answer(part.problem, s.offset, beta);
  passes->squared_norms(norms);
  passes->combine(beta, sum);
  double by_chance = 0;
  for (std::size_t k = 0; k < kAsked; ++k) by_chance += beta[k] * beta[k] * norms[k];
  const double excess = dot(sum, sum) - by_chance;
  return excess > (kByChance - 1) * by_chance && 0.5 * excess > s.wanted();
}

}  // namespace

void prove_nothing(LinearState& s) {
  if (s.smooth || s.n < 4 * kAsked || s.options.expansion || too_long(s)) return;
  std::vector<double> beta(s.n), combined(s.d);
  answer(s.problem, s.offset, beta);
  restore_sum(s.problem, beta);
  s.passes->combine(beta, combined);
  const double slack = 0.5 * dot(combined, combined);
  if (s.likely_proven(s.w, s.see(s.f, beta), slack)) {
    std::vector<double> f(s.n);  // of Xᵀβ: as near to the optimum, as a rule nearer, and it says something
    s.passes->margins(combined, f);
    s.adopt(combined, f, beta, 0.0);
    if (!s.proven()) s.adopt(s.w, s.f, beta, slack);
  }
  if (!s.proven()) s.adopt(s.w, s.f, s.beta, 0.0);  // back to where we are
}

}  // namespace hinge
