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

constexpr std::size_t kLooks = 1024;  // samples that tell how wide a band is
constexpr int kRounds = 40;
constexpr double kNarrowest = 1e-4;  // of the values: a band without width has curvatures without bound

// How far a sample is from the next kink of its loss.
double distance(const LinearProblem& problem, std::size_t i, double value) {
  return std::fabs(std::fabs(problem.target[i] - value) - problem.tube);
}

// Where a sample far from its kinks stands.
double side(const LinearProblem& problem, std::size_t i, double value) {
  const double r = problem.target[i] - value;
  return r > problem.tube ? problem.upper[i] : r < -problem.tube ? problem.lower[i] : 0.0;
}

// The middle of what a sample at its kink may be.
double middle(const LinearProblem& problem, std::size_t i, double value) {
  if (problem.tube == 0) return 0.5 * (problem.lower[i] + problem.upper[i]);
  return 0.5 * (problem.target[i] > value ? problem.upper[i] : problem.lower[i]);
}

}  // namespace

double BandPoint::slack() const { return 0.5 * linear_ops().dot_double(g.data(), g.data(), g.size()); }

double LinearBand::width_of(const BandPoint& point, double share) const {
  const std::size_t n = point.f.size(), step = std::max<std::size_t>(1, n / kLooks);
  std::vector<double> seen;
  double size = 0;
  for (std::size_t i = 0; i < n; i += step) {
    const double value = point.f[i] + point.b;
    seen.push_back(distance(problem_, i, value));
    size += std::fabs(value) + std::fabs(problem_.target[i]);
  }
  const auto at = static_cast<std::size_t>(share * static_cast<double>(seen.size()));
  const auto place = seen.begin() + static_cast<std::ptrdiff_t>(std::min(at, seen.size() - 1));
  std::nth_element(seen.begin(), place, seen.end());
  const double least = kNarrowest * size / static_cast<double>(seen.size());  // targets without noise: all at their kinks
  return std::max({*place, least, std::numeric_limits<double>::min()});
}

void LinearBand::smooth_out(BandPoint& point, double width, double slack, int most_steps) {
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
  newton.look(smoothed.arrays(), at);
  for (int k = 0; k < most_steps && !spent(); ++k) {
    const double gap = loss_passes_.bounds(own.arrays(), at.f.data(), at.b, at.beta.data(), parts.data()).gap;
    if (at.slack <= slack * gap) break;
    ++steps;
    if (!newton.step(smoothed.arrays(), 0.0, at, tracker_)) break;
  }
  point.w = at.w, point.f = at.f, point.beta = at.beta, point.g = at.g, point.b = at.b;
}

void LinearBand::round(BandPoint& point, double width, double wanted) {
  const std::size_t n = point.f.size(), d = point.w.size();
  std::vector<std::uint32_t> band;
  loss_passes_.choose(n, band, [&](std::size_t i) {
    const double value = point.f[i] + point.b;
    return (distance(problem_, i, value) <= width) | (point.beta[i] != side(problem_, i, value));
  });
  std::vector<double> anchor(band.size());
  for (std::size_t k = 0; k < band.size(); ++k) anchor[k] = point.beta[band[k]];
  const double rest = added_up(point.beta) - added_up(anchor);  // Σβ out of the band
  const RowSubset rows(samples_, band);
  ProblemSubset part(problem_, band, 1.0);
  part.problem.total -= rest;
  const auto passes = make_passes(rows.samples(), parallel_, 0);
  std::vector<double> shift(d);  // Xᵀβ of those out of it: that of all, w − g, less that of the band
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
  for (int idle = 0, round = 0; round < kRounds && idle < 8; ++round) {
    smoothed.anchor(width, anchor);
    newton.look(smoothed.arrays(), at);
    if (round == 0) before = loss_passes_.bounds(own.arrays(), at.f.data(), at.b, anchor.data(), parts.data()).gap + at.slack;
    const double target = std::max(0.25 * wanted, 0.02 * before);
    for (int inner = 0; inner < 50 && at.slack > target && !spent(); ++inner) {
      ++steps;
      if (!newton.step(smoothed.arrays(), 0.5 * target, at, tracker_)) break;
    }
    newton.settle(at);
    const double gap = loss_passes_.bounds(own.arrays(), at.f.data(), at.b, at.beta.data(), parts.data()).gap + at.slack;
    if (gap < best) {
      best = gap;
      point.w = at.w, point.b = at.b, point.g = at.g;
      for (std::size_t k = 0; k < band.size(); ++k) point.beta[band[k]] = at.beta[k];
    }
    if (gap <= wanted || spent()) break;
    anchor = at.beta;
    if (gap > 0.2 * before) width *= 0.3;
    idle = gap < 0.9 * before ? 0 : idle + 1;
    before = std::min(before, gap);
  }
  passes_.visited += passes->visited;
}

}  // namespace hinge
