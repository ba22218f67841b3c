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

constexpr double kFewest = 500, kPerFeature = 8;  // samples of the first level
constexpr double kTimes = 8;                      // as many on the next, about
constexpr int kFirstEpochs = 8, kLevelSteps = 5;
constexpr double kLevelShare = 0.7;
constexpr double kEnough = 16;       // samples for each feature: then their curvature stands for that of all
constexpr double kLevelSlack = 0.1;  // times d/m: what a sample of m does not know about d weights anyway

// One of every n/m neighbours, at random.
std::vector<std::uint32_t> some_of(std::size_t n, std::size_t m, Random& random) {
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
      : random_(seed), chosen_(some_of(rows(samples), count, random_)), rows_(samples, chosen_),
        part_(problem, chosen_, static_cast<double>(rows(samples)) / static_cast<double>(count)),
        parallel_(parallel), passes_(make_passes(rows_.samples(), parallel_, 0)), seed_(seed), tracker_(tracker) {}

  void by_epochs(CoarseStart& start) {
    std::vector<double> norms(chosen_.size());
    passes_->squared_norms(norms);
    const auto descent = make_descent(rows_.samples(), part_.problem, norms, seed_, 0, false, parallel_);
    for (int k = 0; k < kFirstEpochs; ++k) descent->epoch(tracker_);
    start.w.resize(passes_->features());
    descent->read_weights(start.w), start.b = descent->offset;
    start.work += descent->work;
  }

  void by_band(CoarseStart& start) {
    BandPoint point;
    point.w = start.w, point.b = start.b;
    point.f.resize(chosen_.size());
    passes_->margins(point.w, point.f);
    LinearBand band(rows_.samples(), part_.problem, *passes_, parallel_, tracker_);
    band.smooth_out(point, band.width_of(point, kLevelShare), 1.0, kLevelSteps);
    start.w = point.w, start.b = point.b;
    start.work += passes_->visited;
  }

  void by_steps(CoarseStart& start, double tolerance) {
    NewtonPoint point;
    point.w = start.w, point.b = start.b;
    point.f.resize(chosen_.size()), point.beta.resize(chosen_.size()), point.g.resize(start.w.size());
    passes_->margins(point.w, point.f);
    const Losses losses(part_.problem);
    Newton newton(*passes_, part_.problem);
    newton.look(losses.arrays(), point);
    for (int k = 0; k < kLevelSteps; ++k) {
      double loss = 0;
      for (std::size_t i = 0; i < point.beta.size(); ++i) loss += point.beta[i] * point.beta[i] * part_.problem.ridge[i];
      if (point.slack <= tolerance * loss || !newton.step(losses.arrays(), tolerance * loss, point, tracker_)) break;
    }
    start.w = point.w, start.b = point.b;
    if (static_cast<double>(size()) >= kEnough * static_cast<double>(start.w.size())) start.curvature = newton.lend();
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

CoarseStart start_from_fewer(const Samples& samples, const LinearProblem& problem, bool smooth,
                             const Parallel& parallel, std::uint64_t seed, RunTracker& tracker) {
  CoarseStart start;
  const double n = static_cast<double>(rows(samples)), d = static_cast<double>(features(samples));
  const double fewest = std::max(kFewest, kPerFeature * d);
  const double levels = std::floor(std::log(n / fewest) / std::log(kTimes) + 0.5);
  if (!(levels >= 1)) return start;
  const double times = std::pow(n / fewest, 1 / levels);
  double size = fewest;
  for (double k = 0; k < levels; ++k, size *= times) {
    Level level(samples, problem, static_cast<std::size_t>(size), parallel, seed + static_cast<std::uint64_t>(k), tracker);
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
