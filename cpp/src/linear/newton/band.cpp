// band.cpp: see the header.
#include "linear/newton/band.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linear/data/ops.hpp"
#include "linear/data/subset.hpp"
#include "linear/descent/cells.hpp"
#include "linear/loss/loss.hpp"
#include "linear/newton/newton.hpp"

namespace hinge {
namespace {

constexpr std::size_t kSampledRows = 1024;  // samples from which the width is estimated
constexpr int kMaxProximalSteps = 40;           // proximal steps per call of improve
constexpr double kMinRelativeWidth = 1e-4;   // smallest width relative to |f| + |t|: curvatures grow as 1/width

// Distance of a sample to the closest kink of its loss.
double distance(const LinearProblem& problem, std::size_t i, double value) {
  return std::fabs(std::fabs(problem.target[i] - value) - problem.tube);
}

// Dual variable of a sample far from its kinks.
double side(const LinearProblem& problem, std::size_t i, double value) {
  const double r = problem.target[i] - value;
  return r > problem.tube ? problem.upper[i] : r < -problem.tube ? problem.lower[i] : 0.0;
}

// Midpoint of the dual interval of a sample at its kink.
double middle(const LinearProblem& problem, std::size_t i, double value) {
  if (problem.tube == 0) return 0.5 * (problem.lower[i] + problem.upper[i]);
  return 0.5 * (problem.target[i] > value ? problem.upper[i] : problem.lower[i]);
}

}  // namespace

double BandPoint::slack() const { return 0.5 * linear_ops().dot_double(g.data(), g.data(), g.size()); }

double Band::width_of(const BandPoint& point, double share) const {
  const std::size_t n = point.f.size(), step = std::max<std::size_t>(1, n / kSampledRows);
  std::vector<double> distances;
  double size = 0;
  for (std::size_t i = 0; i < n; i += step) {
    const double value = point.f[i] + point.b;
    distances.push_back(distance(problem_, i, value));
    size += std::fabs(value) + std::fabs(problem_.target[i]);
  }
  const auto at = static_cast<std::size_t>(share * static_cast<double>(distances.size()));
  const auto place = distances.begin() + static_cast<std::ptrdiff_t>(std::min(at, distances.size() - 1));
  std::nth_element(distances.begin(), place, distances.end());
  const double least =
      kMinRelativeWidth * size / static_cast<double>(distances.size());  // without noise all samples are at their kinks
  return std::max({*place, least, std::numeric_limits<double>::min()});
}

void Band::minimize_smoothed(BandPoint& point, double width, double slack, int max_steps) {
  const std::size_t n = point.f.size();
  std::vector<double> anchor(n), parts(n);
  for (std::size_t i = 0; i < n; ++i) anchor[i] = middle(problem_, i, point.f[i] + point.b);
  const Losses own(problem_);
  Losses smoothed(problem_);
  smoothed.anchor(width, anchor);
  Newton newton(passes_, problem_);
  NewtonPoint at;
  at.w = point.w, at.b = point.b, at.f = point.f;
  at.beta.resize(n), at.g.resize(point.w.size());
  newton.evaluate(smoothed.arrays(), at);
  for (int k = 0; k < max_steps && !out_of_steps(); ++k) {
    const double gap = loss_passes_.bounds(own.arrays(), at.f.data(), at.b, at.beta.data(), parts.data()).gap;
    if (at.slack <= slack * gap) break;
    ++steps;
    if (!newton.step(smoothed.arrays(), 0.0, at, tracker_)) break;
  }
  point.w = at.w, point.f = at.f, point.beta = at.beta, point.g = at.g, point.b = at.b;
}

void Band::improve(BandPoint& point, double width, double target_gap) {
  const std::size_t n = point.f.size(), d = point.w.size();
  std::vector<std::uint32_t> band;
  loss_passes_.choose(n, band, [&](std::size_t i) {
    const double value = point.f[i] + point.b;
    return (int(distance(problem_, i, value) <= width) | int(point.beta[i] != side(problem_, i, value))) != 0;
  });
  std::vector<double> anchor(band.size());
  for (std::size_t k = 0; k < band.size(); ++k) anchor[k] = point.beta[band[k]];
  const double outside_sum = sum_of(point.beta) - sum_of(anchor);  // Σβ outside the band
  const RowSubset rows(samples_, band);
  ProblemSubset part(problem_, band, 1.0);
  part.problem.total -= outside_sum;
  const auto passes = make_passes(rows.samples(), parallel_, 0);
  std::vector<double> shift(d);  // Xᵀβ outside the band: w − g minus that of the band
  passes->combine(anchor, shift);
  for (std::size_t j = 0; j < d; ++j) shift[j] = point.w[j] - point.g[j] - shift[j];
  Newton newton(*passes, part.problem, shift);
  Losses own(part.problem), smoothed(part.problem);
  NewtonPoint at;
  at.w = point.w, at.b = point.b;
  at.f.resize(band.size()), at.beta.resize(band.size()), at.g.resize(d);
  for (std::size_t k = 0; k < band.size(); ++k) at.f[k] = point.f[band[k]];
  std::vector<double> parts(band.size());

  double before = INFINITY, best = INFINITY;
  for (int idle = 0, step = 0; step < kMaxProximalSteps && idle < 8; ++step) {
    smoothed.anchor(width, anchor);
    newton.evaluate(smoothed.arrays(), at);
    if (step == 0)
      before = loss_passes_.bounds(own.arrays(), at.f.data(), at.b, anchor.data(), parts.data()).gap + at.slack;
    const double target = std::max(0.25 * target_gap, 0.02 * before);
    for (int inner = 0; inner < 50 && at.slack > target && !out_of_steps(); ++inner) {
      ++steps;
      if (!newton.step(smoothed.arrays(), 0.5 * target, at, tracker_)) break;
    }
    newton.recompute_slack(at);
    const double gap =
        loss_passes_.bounds(own.arrays(), at.f.data(), at.b, at.beta.data(), parts.data()).gap + at.slack;
    if (gap < best) {
      best = gap;
      point.w = at.w, point.b = at.b, point.g = at.g;
      for (std::size_t k = 0; k < band.size(); ++k) point.beta[band[k]] = at.beta[k];
    }
    if (gap <= target_gap || out_of_steps()) break;
    anchor = at.beta;
    if (gap > 0.2 * before) width *= 0.3;
    idle = gap < 0.9 * before ? 0 : idle + 1;
    before = std::min(before, gap);
  }
  passes_.visited += passes->visited;
}

}  // namespace hinge
