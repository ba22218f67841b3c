// steps.cpp: see the header.
#include "linear/newton/steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linear/data/ops.hpp"
#include "linear/start/subsample.hpp"

namespace hinge {
namespace {

constexpr int kMaxSmoothedSteps = 40;      // Newton steps on the smoothed losses; bands need an approximate minimizer
constexpr int kMaxIdleRounds = 8;       // proximal steps without progress before reporting a stall
constexpr int kMaxInnerSteps = 50;      // Newton steps per proximal step
constexpr int kMaxBandRounds = 6;       // bands of decreasing width before another method continues
constexpr double kSmoothedSlack = 1.0;  // their final ½‖w − Xᵀβ‖² relative to the error of smoothing
constexpr double kNearlyFinalGap = 0.1;       // relative gap at which most active sets are final
constexpr double kUnsuitableBand = 0.5;  // bands are abandoned if a round leaves more than this part of the gap
constexpr double kFarMean = 1e3;           // mean of |⟨w, x_i⟩| above which its rounding error affects the losses
constexpr double kBandGapPart = 0.8;      // part of the target gap for the band; the rest is for the other samples

bool is_far(const std::vector<double>& f) {
  double sum = 0;
  for (double v : f) sum += std::fabs(v);
  return sum > kFarMean * static_cast<double>(f.size());
}

double norm(const std::vector<double>& v) { return std::sqrt(linear_ops().dot_double(v.data(), v.data(), v.size())); }

// Bound on ‖w − Xᵀβ‖, where g is this difference, rounded, and Xᵀβ may have the errors of its sum.
double distance(const std::vector<double>& w, const std::vector<double>& g) {
  return (1 + 1e-12) * norm(g) + std::numeric_limits<double>::epsilon() * norm(w);
}

}  // namespace

// f of the state was computed from its w, and both may have been scaled since.
NewtonPoint NewtonRun::start() const {
  NewtonPoint point;
  point.reach = norm(s_.w);
  point.w = s_.w, point.f = s_.f, point.b = s_.offset;
  point.beta.resize(s_.n), point.g.resize(s_.d);
  return point;
}

Outcome NewtonRun::run(double budget) {
  if (s_.smooth) return run_smooth(budget);
  if (!s_.few_features() || bands_tried_ || s_.choice().few_samples_per_feature()) return run_proximal(budget);
  return run_bands(s_.last.relative() <= kNearlyFinalGap);
}

// Certifies w = Xᵀβ if the result must have this form.
bool NewtonRun::certify_expansion(const std::vector<double>& beta) {
  if (!s_.options.expansion) return false;
  s_.beta = beta;
  s_.passes->combine(s_.beta, s_.w);
  s_.certify_combination();
  return true;
}

// Certifies a point of Newton's method.  Values that were updated incrementally are recomputed before they prove a gap.
void NewtonRun::certify(NewtonPoint& point) {
  if (certify_expansion(point.beta)) return;
  LinearState::Evaluation evaluation = s_.evaluate(point.f, point.beta);
  if (s_.likely_proven(point.w, evaluation, point.slack) && (newton_.incremental() || is_far(point.f))) {
    newton_.recompute_slack(point);
    s_.passes->margins(point.w, point.f);
    point.reach = norm(point.w);
    evaluation = s_.evaluate(point.f, point.beta);
  }
  LinearState::Products products;
  if (!newton_.incremental()) products = {&point.f, point.reach, distance(point.w, point.g)};
  s_.adopt(point.w, point.beta, point.slack, evaluation, products, newton_.incremental());
}

// `incremental_f`: point.f was updated incrementally, too.
void NewtonRun::certify(BandPoint& point, bool incremental_f) {
  if (certify_expansion(point.beta)) return;
  LinearState::Evaluation evaluation = s_.evaluate(point.f, point.beta);
  if (incremental_f && s_.likely_proven(point.w, evaluation, point.slack())) {
    s_.passes->margins(point.w, point.f);
    evaluation = s_.evaluate(point.f, point.beta);
    incremental_f = false;
  }
  LinearState::Products products;
  if (!incremental_f) products = s_.computed(point.w, point.f, distance(point.w, point.g));
  s_.adopt(point.w, point.beta, point.slack(), evaluation, products);
}

Outcome NewtonRun::run_smooth(double budget) {
  NewtonPoint point = start();
  const double began = s_.passes->visited;
  newton_.evaluate(s_.losses.arrays(), point);
  for (;;) {
    certify(point);
    if (s_.proven()) return Outcome::solved;
    if (s_.out_of_steps()) return Outcome::out_of_steps;
    if (s_.passes->visited - began > budget) return Outcome::undecided;
    const double target = 0.5 * s_.target_gap() * (s_.options.expansion ? 1e-5 : 1.0);
    const bool gained = newton_.step(s_.losses.arrays(), target, point, s_.tracker);
    ++s_.best.newton_steps;
    if (gained) continue;
    certify(point);
    return s_.proven() ? Outcome::solved : Outcome::stalled;
  }
}

// Proximal steps on β; each is a smooth problem with ridge D_i = width / C_i around the anchor β.   (115)
Outcome NewtonRun::run_proximal(double budget) {
  NewtonPoint point = start();
  const double began = s_.passes->visited;
  Losses smoothed(s_.problem);
  std::vector<double> anchor = s_.beta;
  double residual = 0, count = 0;
  for (std::size_t i = 0; i < s_.n; ++i) {
    const double r = std::fabs(s_.problem.target[i] - s_.f[i] - s_.offset) - s_.problem.tube;
    if (r > 0) residual += r, count += 1;
  }
  double width = count > 0 ? 0.2 * residual / count : 1.0, before = s_.last.gap;
  for (int idle = 0; idle < kMaxIdleRounds;) {
    smoothed.anchor(width, anchor);
    newton_.evaluate(smoothed.arrays(), point);
    const double target = std::max(0.25 * s_.target_gap(), 0.02 * before) * (s_.options.expansion ? 1e-5 : 1.0);
    for (int inner = 0; inner < kMaxInnerSteps && point.slack > target; ++inner) {
      if (s_.out_of_steps() || s_.passes->visited - began > budget) break;
      const bool gained = newton_.step(smoothed.arrays(), 0.5 * target, point, s_.tracker);
      ++s_.best.newton_steps;
      if (!gained) break;
    }
    newton_.recompute_slack(point);
    certify(point);
    if (s_.proven()) return Outcome::solved;
    if (s_.out_of_steps()) return Outcome::out_of_steps;
    if (s_.passes->visited - began > budget) return Outcome::undecided;
    anchor = point.beta;
    if (s_.last.gap > 0.2 * before) width *= 0.3;
    idle = s_.last.gap < 0.9 * before ? 0 : idle + 1;
    before = std::min(before, s_.last.gap);
  }
  return Outcome::stalled;
}

Outcome NewtonRun::run_from_subsample() {
  SubsampleStart subsample =
      subsample_start(s_.samples, s_.problem, s_.smooth, s_.parallel, s_.options.seed, s_.tracker);
  s_.passes->visited += subsample.work;
  if (subsample.w.empty()) return Outcome::undecided;
  s_.w = subsample.w, s_.offset = subsample.b;
  s_.passes->margins(s_.w, s_.f);
  if (!s_.smooth) return run_bands(false);
  newton_.use_hessian(std::move(subsample.curvature));
  return run_smooth(INFINITY);
}

void NewtonRun::update_slack(BandPoint& point) {
  s_.passes->combine(point.beta, point.g);
  for (std::size_t j = 0; j < s_.d; ++j) point.g[j] = point.w[j] - point.g[j];
}

// `nearly_final`: the point of the state is a primal–dual pair with a nearly final active set.
Outcome NewtonRun::run_bands(bool nearly_final) {
  bands_tried_ = true;
  Band band(s_.samples, s_.problem, *s_.passes, s_.parallel, s_.tracker);
  BandPoint point;
  point.w = s_.w, point.f = s_.f, point.b = s_.offset;
  double width = band.width_of(point, kBandShare);
  band.max_steps = s_.steps_left();
  if (nearly_final) {
    point.beta = s_.beta, point.g.resize(s_.d);
    update_slack(point);
  } else {
    band.minimize_smoothed(point, width, kSmoothedSlack, kMaxSmoothedSteps);
  }
  double before = INFINITY;
  for (int round = 0; round < kMaxBandRounds; ++round, width *= 0.3) {
    s_.best.newton_steps += band.steps;
    band.steps = 0, band.max_steps = s_.steps_left();
    if (round > 0 || !nearly_final) update_slack(point);  // incremental updates of the rounds may be inaccurate
    certify(point, round == 0 && !nearly_final);
    if (s_.proven()) return Outcome::solved;
    if (s_.out_of_steps()) return Outcome::out_of_steps;
    if (s_.last.relative() > kNearlyFinalGap && s_.last.gap > kUnsuitableBand * before) break;
    before = s_.last.gap;
    point.b = s_.offset;
    band.improve(point, width, kBandGapPart * s_.target_gap() * (s_.options.expansion ? 1e-5 : 1.0));
    s_.passes->margins(point.w, point.f);
  }
  s_.restore_best();
  return Outcome::undecided;
}

}  // namespace hinge
