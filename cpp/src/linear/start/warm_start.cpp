// warm_start.cpp: see the header.
#include "linear/start/warm_start.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "linear/data/ops.hpp"
#include "linear/data/subset.hpp"
#include "linear/loss/loss.hpp"
#include "linear/loss/offset.hpp"

namespace hinge {
namespace {

constexpr std::size_t kSampledRows = 1024;  // samples of the estimate
constexpr double kMaxFactor = 1e6;     // largest factor that is considered
constexpr int kSearchSteps = 12;         // steps of the golden-section search, for a precision of about one percent

double squared(Span<const double> v) { return linear_ops().dot_double(v.data(), v.data(), v.size()); }

// Primal value along w on a sample.
class PrimalRay {
 public:
  PrimalRay(const LinearProblem& problem, bool smooth, Span<const double> w, Span<const double> f)
      : smooth_(smooth), chosen_(every(f.size())),
        part_(problem, chosen_, static_cast<double>(f.size()) / static_cast<double>(chosen_.size())),
        losses_(part_.problem), norm_(squared(w)), zeros_(chosen_.size()), parts_(chosen_.size()) {
    for (std::uint32_t i : chosen_) f_.push_back(f[i]);
  }

  double at(double t) {
    std::vector<double> f(f_);
    for (double& value : f) value *= t;
    b_ = best_offset(part_.problem, losses_.arrays(), LossPasses(), smooth_, f, b_);
    const double loss = linear_ops().bounds(losses_.arrays(), f.data(), b_, zeros_.data(), parts_.data()).loss;
    const double own = part_.problem.bias == Bias::penalized ? b_ / part_.problem.bias_scale : 0.0;
    return 0.5 * (t * t * norm_ + own * own) + loss + part_.problem.total * b_;
  }

 private:
  static std::vector<std::uint32_t> every(std::size_t n) {
    std::vector<std::uint32_t> chosen;
    for (std::size_t i = 0, step = std::max<std::size_t>(1, n / kSampledRows); i < n; i += step)
      chosen.push_back(static_cast<std::uint32_t>(i));
    return chosen;
  }

  bool smooth_;
  std::vector<std::uint32_t> chosen_;
  ProblemSubset part_;
  Losses losses_;
  double norm_, b_ = 0;
  std::vector<double> f_, zeros_, parts_;
};

}  // namespace

double best_dual_multiple(const LinearProblem& problem, Span<const double> beta, Span<const double> w) {
  double gain = 0, curvature = squared(w), sum = 0, largest = INFINITY;
  for (std::size_t i = 0; i < beta.size(); ++i) {
    const double b = beta[i];
    if (b == 0) continue;
    gain += problem.target[i] * b - problem.tube * std::fabs(b);
    curvature += problem.ridge[i] * b * b;
    sum += b;
    largest = std::min(largest, (b > 0 ? problem.upper[i] : problem.lower[i]) / b);
  }
  if (problem.bias == Bias::penalized) curvature += std::pow(problem.bias_scale * sum, 2);
  if (!(gain > 0)) return 0.0;
  const double best = curvature > 0 ? gain / curvature : INFINITY;
  return std::isfinite(std::min(best, largest)) ? std::min(best, largest) : 1.0;
}

double best_primal_multiple(const LinearProblem& problem, bool smooth, Span<const double> w, Span<const double> f) {
  if (f.empty() || !(squared(w) > 0)) return 1.0;
  PrimalRay ray(problem, smooth, w, f);
  // convex in t: a bracket in powers of ten, then a golden section in log t
  double t = 1, value = ray.at(1), factor = 10;
  double next = ray.at(10);
  if (!(next < value)) factor = 0.1, next = ray.at(0.1);
  while (next < value && t < kMaxFactor && t > 1 / kMaxFactor) t *= factor, value = next, next = ray.at(t * factor);
  double low = std::log(t / 10), high = std::log(t * 10);
  const double golden = 0.5 * (std::sqrt(5.0) - 1);
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double at_left = ray.at(std::exp(left)), at_right = ray.at(std::exp(right));
  for (int round = 0; round < kSearchSteps; ++round) {
    if (at_left < at_right) {
      high = right, right = left, at_right = at_left, left = high - golden * (high - low);
      at_left = ray.at(std::exp(left));
    } else {
      low = left, left = right, at_left = at_right, right = low + golden * (high - low);
      at_right = ray.at(std::exp(right));
    }
  }
  return std::exp(at_left < at_right ? left : right);
}

}  // namespace hinge
