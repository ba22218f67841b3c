// subsample.cpp: see the header.
#include "linear/start/subsample.hpp"

#include <algorithm>
#include <cmath>

#include "hinge/parallel.hpp"
#include "linear/data/passes.hpp"
#include "linear/data/subset.hpp"
#include "linear/descent/descent.hpp"
#include "linear/loss/loss.hpp"
#include "linear/newton/band.hpp"
#include "linear/newton/newton.hpp"
#include "numeric/random.hpp"

namespace hinge {
namespace {

constexpr double kMinSamples = 500, kMinPerFeature = 8;  // smallest size of the first level, in total and per feature
constexpr double kLevelRatio = 8;                 // approximate ratio of the sizes of consecutive levels
constexpr int kFirstEpochs = 8, kLevelSteps = 5;  // epochs of the first level; Newton steps per level
constexpr double kLevelShare = 0.7;               // fraction of the samples in the band of a level
constexpr double kHessianSamplesPerFeature = 16;  // with more samples per feature, the Hessian of a level is reused
constexpr double kLevelSlack = 0.1;  // tolerance of a level of m samples, relative to its statistical error d/m

// Draws one of every n/m consecutive samples at random.
std::vector<std::uint32_t> draw(std::size_t n, std::size_t m, Random& random) {
  std::vector<std::uint32_t> chosen(m);
  for (std::size_t k = 0; k < m; ++k) {
    const std::size_t first = n * k / m, last = n * (k + 1) / m;
    chosen[k] = static_cast<std::uint32_t>(first + random.below(last - first));
  }
  return chosen;
}

class Level {
 public:
  Level(const Samples& samples, const LinearProblem& problem, std::size_t count, const Parallel& parallel,
        std::uint64_t seed, RunTracker& tracker)
      : random_(seed), chosen_(draw(rows(samples), count, random_)), rows_(samples, chosen_),
        part_(problem, chosen_, static_cast<double>(rows(samples)) / static_cast<double>(count)),
        parallel_(parallel), passes_(make_passes(rows_.samples(), parallel_, 0)), seed_(seed), tracker_(tracker) {}

  void by_epochs(SubsampleStart& start) {
    std::vector<double> norms(chosen_.size());
    passes_->squared_norms(norms);
    LinearOptions options;
    options.seed = seed_;
    const auto descent = make_descent(rows_.samples(), part_.problem, norms, options, false, parallel_);
    for (int k = 0; k < kFirstEpochs; ++k) descent->epoch(tracker_);
    start.w.resize(passes_->features());
    descent->read_weights(start.w), start.b = descent->offset;
    start.work += descent->work;
  }

  void by_band(SubsampleStart& start) {
    BandPoint point;
    point.w = start.w, point.b = start.b;
    point.f.resize(chosen_.size());
    passes_->margins(point.w, point.f);
    Band band(rows_.samples(), part_.problem, *passes_, parallel_, tracker_);
    band.minimize_smoothed(point, band.width_of(point, kLevelShare), 1.0, kLevelSteps);
    start.w = point.w, start.b = point.b;
    start.work += passes_->visited;
  }

  void by_steps(SubsampleStart& start, double tolerance) {
    NewtonPoint point;
    point.w = start.w, point.b = start.b;
    point.f.resize(chosen_.size()), point.beta.resize(chosen_.size()), point.g.resize(start.w.size());
    passes_->margins(point.w, point.f);
    const Losses losses(part_.problem);
    Newton newton(*passes_, part_.problem);
    newton.evaluate(losses.arrays(), point);
    for (int k = 0; k < kLevelSteps; ++k) {
      double loss = 0;
      for (std::size_t i = 0; i < point.beta.size(); ++i)
        loss += point.beta[i] * point.beta[i] * part_.problem.ridge[i];
      if (point.slack <= tolerance * loss || !newton.step(losses.arrays(), tolerance * loss, point, tracker_)) break;
    }
    start.w = point.w, start.b = point.b;
    if (static_cast<double>(size()) >= kHessianSamplesPerFeature * static_cast<double>(start.w.size()))
      start.curvature = newton.release_hessian();
    start.work += passes_->visited;
  }

  std::size_t size() const { return chosen_.size(); }

 private:
  Random random_;
  std::vector<std::uint32_t> chosen_;
  RowSubset rows_;
  ProblemSubset part_;
  const Parallel& parallel_;
  std::unique_ptr<LinearPasses> passes_;
  std::uint64_t seed_;
  RunTracker& tracker_;
};

}  // namespace

SubsampleStart subsample_start(const Samples& samples, const LinearProblem& problem, bool smooth,
                             const Parallel& parallel, std::uint64_t seed, RunTracker& tracker) {
  SubsampleStart start;
  const double n = static_cast<double>(rows(samples)), d = static_cast<double>(features(samples));
  const double smallest = std::max(kMinSamples, kMinPerFeature * d);
  const double levels = std::floor(std::log(n / smallest) / std::log(kLevelRatio) + 0.5);
  if (!(levels >= 1)) return start;
  const double times = std::pow(n / smallest, 1 / levels);
  double size = smallest;
  for (double k = 0; k < levels; ++k, size *= times) {
    Level level(samples, problem, static_cast<std::size_t>(size), parallel, seed + static_cast<std::uint64_t>(k),
                tracker);
    const double tolerance = std::max(1e-4, kLevelSlack * d / size);
    if (k == 0) level.by_epochs(start);
    if (smooth) {
      level.by_steps(start, tolerance);
    } else {
      level.by_band(start);
    }
    start.samples = size;
  }
  return start;
}

}  // namespace hinge
