// epochs.cpp: see the header.
#include "linear/descent/epochs.hpp"

#include <algorithm>
#include <cmath>

#include "linear/loss/offset.hpp"

namespace hinge {
namespace {

constexpr std::int64_t kEpochsBeforeExtrapolation = 20;  // epochs before the first extrapolation
constexpr double kMinWorkPerSample = 10;  // no extrapolation below this work per sample and epoch: it would be slower
constexpr double kCheapCheck = 0.6;  // a check that costs less than this part of an epoch is made early, for shrinking
constexpr double kStaleGap = 0.1;      // estimated gap, relative to the last check, at which the next check is made
constexpr double kMeanGapRatio = 1.9;  // estimated gap of the mean, relative to the target, at which the mean is checked
// Smallest tolerances for which w may be in single precision: an error of f enters the gap linearly for piecewise
// linear losses and quadratically for smooth ones.
constexpr double kMinSingleTolPiecewise = 1e-5, kMinSingleTolSmooth = 1e-7;
constexpr double kMinSingleNorm = 1e-12, kMaxSingleNorm = 1e12;  // range of squared norms without overflow or underflow
constexpr double kSingleRoundoff = 0x1p-24;  // unit roundoff of single precision
constexpr double kDoubleDrift = 0x1p-46;     // bound on the relative drift per step in double precision: 128 roundoffs
constexpr double kNegligibleDrift = 0.01;     // part of the target gap up to which the drift is negligible
constexpr double kMaxDrift = 0.1;       // part of the target gap beyond which w is kept in double precision
// In the first kSampledEpochs epochs the stored terms of the gap are out of date.  The gap is then estimated from
// kGapSample samples, if there are at least kMinRowsPerSampled times as many samples, and a check is made if the
// estimate is at most kSampledGapPart times the target.
constexpr std::int64_t kSampledEpochs = 3;
constexpr std::size_t kGapSample = 256, kMinRowsPerSampled = 16;
constexpr double kSampledGapPart = 0.9;
constexpr int kMaxIdleEpochs = 1000;   // consecutive epochs without active samples before reporting a numerical stall
// A run stalls if its epochs double, and at least kMinStalledEpochs are added, but the best gap does not decrease by the
// factor kSufficientDecrease, and the dual value does not increase by the part kSufficientIncrease of the gap or by the
// part kSufficientGrowth of itself.
constexpr std::int64_t kMinStalledEpochs = 1000;
constexpr double kSufficientDecrease = 0.9, kSufficientIncrease = 0.01, kSufficientGrowth = 1e-3;

double half_squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += 0.5 * (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

}  // namespace

// Whether w may be stored in single precision, as far as this is known at the start.   (139)
bool DescentRun::single_precision_allowed() const {
  if (s_.options.tolerance < (s_.smooth ? kMinSingleTolSmooth : kMinSingleTolPiecewise) || !is_sparse(s_.samples))
    return false;
  bool fits = s_.best.bounds.primal <= kMaxSingleNorm * kMaxSingleNorm;
  for (double norm : s_.squared_norms())
    fits = fits && (norm == 0 || (norm >= kMinSingleNorm && norm <= kMaxSingleNorm));
  return fits;
}

void DescentRun::create_descent(bool single_precision) {
  const std::vector<double>& norms = s_.squared_norms();
  const auto before = std::move(descent_);
  descent_ = make_descent(s_.samples, s_.problem, norms, s_.options, single_precision, s_.parallel);
  if (before) descent_->work = before->work, descent_->epochs = before->epochs;
  rounding_ = {};
  for (std::size_t i = 0; descent_->single_precision && i < s_.n; ++i) {
    const double ridge = s_.problem.ridge[i];
    if (ridge > 0) {
      rounding_.squared += 0.5 * norms[i] / ridge;
    } else {
      rounding_.plain += (s_.problem.upper[i] - s_.problem.lower[i]) * std::sqrt(norms[i]);
    }
  }
  s_.forget_norms();
}

// Whether the rounding of w in single precision is no longer small compared with the target gap.   (139)
bool DescentRun::single_precision_exhausted() const {
  if (!descent_->single_precision) return false;
  if (slack_ > kMaxDrift * s_.target_gap()) return true;
  double squares = 0;
  for (double v : s_.w) squares += v * v;
  const double error = kSingleRoundoff * std::sqrt(squares);
  return error * (rounding_.plain + error * rounding_.squared) > s_.target_gap();
}

// Continues with w in double precision.
void DescentRun::switch_to_double() {
  const double multiplier = s_.problem.bias == Bias::free ? descent_->offset : 0.0;
  s_.weights_from_beta();
  s_.certify_combination();
  create_descent(false);
  null_primal_ = INFINITY;
  extrapolation_.clear();
  enter(multiplier);
}

// Collects the points of a round of epochs in a long run, and extrapolates at the end of the round.   (121)–(123)
void DescentRun::collect_or_extrapolate() {
  std::vector<double> beta(s_.n), w(s_.d);
  descent_->read(beta);
  if (extrapolation_.empty()) descent_->begin_round();
  extrapolation_.add(beta);
  if (!extrapolation_.full()) return;
  const double sigma = descent_->sigma, multiplier = descent_->multiplier;
  descent_->read_weights(w);
  const double here = augmented_dual(s_.problem, beta, w, sigma, multiplier);
  if (extrapolation_.extrapolate(s_.problem, beta)) {
    s_.passes->combine(beta, w);
    const double there = augmented_dual(s_.problem, beta, w, sigma, multiplier);
    if (there > here) {
      descent_->write(beta, w, multiplier);
      descent_->dual += there - here;
    } else {
      descent_->read(beta);
    }
  }
  extrapolation_.clear();
  extrapolation_.add(std::move(beta));
  descent_->begin_round();
}

// With narrow boxes w oscillates, and its mean over half an epoch is closer to the optimum.  Returns whether the mean
// proves the target gap.   (138)
bool DescentRun::mean_proves_gap() {
  descent_->read(s_.beta);
  std::vector<double> exact;
  const double drift = drift_is_negligible() ? this->drift() : 0.0;
  if (drift > 0) exact.resize(s_.d), descent_->read_weights(exact);
  s_.w = descent_->mean;
  s_.passes->margins(s_.w, s_.f);
  const LinearState::Evaluation evaluation = s_.evaluate(s_.f, s_.beta);
  if (!s_.likely_proven(s_.w, evaluation)) return false;
  if (exact.empty()) {
    exact.resize(s_.d);
    s_.passes->combine(s_.beta, exact);
  }
  const double apart = std::sqrt(2 * half_squared_distance(s_.w, exact)) + drift;
  s_.adopt(s_.w, s_.beta, 0.5 * apart * apart, evaluation, s_.computed(s_.w, s_.f, apart));
  return s_.proven();
}

// Bound on ‖w − Xᵀβ‖ for epochs that started at the null model.   (149)
double DescentRun::drift() const {
  return descent_->single_precision ? descent_->drift : kDoubleDrift * visits_ * std::sqrt(null_primal_);
}

// Whether this bound is so small that Xᵀβ need not be computed.
bool DescentRun::drift_is_negligible() const {
  const bool known = std::isfinite(null_primal_) && std::isfinite(descent_->drift) && !descent_->damped;
  return known && !s_.options.expansion && 0.5 * drift() * drift() <= kNegligibleDrift * s_.target_gap();
}

// The w of the epochs drifts away from Xᵀβ by rounding.  In double precision the drift matters only when the gap is
// about to be proven; in single precision it is computed in every check.
void DescentRun::check() {
  descent_->read(s_.beta);
  descent_->read_weights(s_.w);
  double slack = slack_ = 0;
  if (s_.problem.bias == Bias::free) {
    const std::vector<double> previous = s_.w;
    s_.weights_from_beta();
    if (descent_->single_precision) slack_ = half_squared_distance(previous, s_.w);
  }
  s_.passes->margins(s_.w, s_.f);
  LinearState::Evaluation evaluation = s_.evaluate(s_.f, s_.beta);
  LinearState::Products products;
  if (s_.problem.bias == Bias::free) products = s_.computed(s_.w, s_.f);
  if (drift_is_negligible()) {
    slack = slack_ = 0.5 * drift() * drift();
    products = s_.computed(s_.w, s_.f, drift());
  } else if (s_.problem.bias != Bias::free && (descent_->single_precision || s_.likely_proven(s_.w, evaluation))) {
    std::vector<double> exact(s_.d);
    s_.passes->combine(s_.beta, exact);
    slack = slack_ = half_squared_distance(s_.w, exact);
    if (s_.options.expansion) {
      s_.w = exact, slack = 0;
      s_.passes->margins(s_.w, s_.f);
      evaluation = s_.evaluate(s_.f, s_.beta);
    }
    products = s_.computed(s_.w, s_.f, (1 + 1e-12) * std::sqrt(2 * slack));
  }
  s_.adopt(s_.w, s_.beta, slack, evaluation, products);
}

// Continues the epochs at the point of the state, which has been evaluated.
void DescentRun::enter(double multiplier) {
  descent_->enter(s_.beta, s_.w, multiplier, s_.f, s_.parts);
  descent_->dual = s_.last.dual;
}

Outcome DescentRun::run(double work_before_newton) {
  const bool cold = !descent_ && s_.at_null_model && s_.problem.bias == Bias::none;
  if (!descent_) create_descent(single_precision_allowed());
  if (!cold) enter(s_.problem.bias == Bias::free ? s_.offset : 0.0);  // a new run starts at zero and visits all samples
  null_primal_ = cold && s_.last.primal >= kMinSingleNorm ? s_.last.primal : INFINITY;
  s_.at_null_model = false;
  double checked = descent_->work, checked_gap = s_.last.gap;  // at the last check
  const double began = descent_->work, check_work = s_.choice().check_work();
  double early = began;  // work after which the next early check, for shrinking, may be made
  const bool sample_gap = cold && s_.options.block_bytes == 0 && s_.n >= kMinRowsPerSampled * kGapSample;
  int idle = 0;
  MethodChoice::History history;
  extrapolation_.clear();
  descent_->end_round();
  if (s_.proven()) return Outcome::solved;
  for (;;) {
    if (s_.out_of_steps()) return Outcome::out_of_steps;
    const double before = descent_->work;
    descent_->epoch(s_.tracker);
    const bool rounds = ++epochs_ > kEpochsBeforeExtrapolation && s_.options.block_bytes == 0 &&
                        s_.options.order == VisitOrder::permutation &&
                        descent_->work - before > kMinWorkPerSample * static_cast<double>(s_.n);
    if (rounds) {
      collect_or_extrapolate();
    } else if (!extrapolation_.empty()) {
      extrapolation_.clear();
      descent_->end_round();
    }
    idle = descent_->active == 0 ? idle + 1 : 0;
    if (idle > kMaxIdleEpochs || stalled()) return Outcome::stalled;
    visits_ += static_cast<double>(descent_->active);  // n visits count as one epoch
    s_.best.epochs = static_cast<std::int64_t>(std::ceil(visits_ / std::max(1.0, static_cast<double>(s_.n))));
    s_.tracker.snapshot.iteration = s_.best.epochs + s_.best.newton_steps;
    s_.tracker.snapshot.active = static_cast<std::int64_t>(descent_->active);
    const double estimated_gap = descent_->gap, size = std::max(std::fabs(descent_->dual), std::fabs(s_.last.dual));
    const double target = gap_ratio_ * s_.options.tolerance * size, since = descent_->work - checked;
    const bool midway = rounds && !extrapolation_.fresh();  // within a round the gap is not monotone
    const bool shrunk = static_cast<double>(descent_->active) <= kMaxActiveShare * static_cast<double>(s_.n);
    // the terms of the gap were computed, on average, in the middle of the epoch: expect half of its decrease
    const double expected =
        shrunk ? estimated_gap : estimated_gap * std::sqrt(std::min(1.0, estimated_gap / checked_gap));
    const bool averaged = !descent_->mean.empty() && !s_.options.expansion;
    bool likely = averaged ? descent_->primal - descent_->dual <= kMeanGapRatio * s_.options.tolerance * size
                         : estimated_gap <= target || expected <= s_.options.tolerance * size;
    if (!likely && !averaged && sample_gap && epochs_ <= kSampledEpochs) {
      likely = descent_->sampled_gap(kGapSample) <= kSampledGapPart * s_.options.tolerance * size;
    }
    // most terms of the gap are out of date, and the active samples have nearly converged
    const bool stale = shrunk && estimated_gap <= kStaleGap * checked_gap && since > check_work;
    if (!shrunk) checked_gap = estimated_gap;
    if (!shrunk && !midway) history.emplace_back(descent_->work, estimated_gap);
    // a check updates the multiplier of a free bias; without a free bias checks become rarer in long runs
    const double rarer = s_.problem.bias == Bias::free ? 0.0 : 0.1 * (descent_->work - began);
    const bool late = since >= 20 * s_.passes->stored() + rarer && !midway;
    const bool early_check = !shrunk && !s_.smooth && descent_->short_epochs() && descent_->work > early &&
                         check_work <= kCheapCheck * (descent_->work - before);
    bool slow = !midway && newton_is_cheaper(history, target, began + work_before_newton);
    if (!likely && !slow && !stale && !late && !early_check && !s_.out_of_steps()) continue;
    if (averaged && likely && mean_proves_gap()) return Outcome::solved;
    check();
    if (s_.proven()) return Outcome::solved;
    const bool bands_fit = s_.few_features() && !s_.choice().few_samples_per_feature();
    if (s_.at_floor() && bands_fit) return Outcome::undecided;  // rounding errors, or a few Newton steps, remain
    checked = descent_->work, checked_gap = s_.last.gap;
    early = began + 2 * (descent_->work - began);
    gap_ratio_ = early_check ? 1.0 : std::min(20.0, std::max(0.5, 0.8 * estimated_gap / std::max(s_.last.gap, 1e-300)));
    if (shrunk) {
      history.emplace_back(descent_->work, s_.last.gap);
      slow = slow || newton_is_cheaper(history, s_.target_gap(), began + work_before_newton);
    }
    if (slow) return Outcome::undecided;
    if (s_.problem.bias == Bias::free) extrapolation_.clear();  // the multiplier changes
    if (single_precision_exhausted()) {
      switch_to_double();
    } else if (s_.problem.bias == Bias::none && !s_.options.expansion) {
      descent_->resume(s_.f, s_.parts);
      descent_->dual = s_.last.dual;
    } else {
      enter(s_.problem.bias == Bias::free ? descent_->offset : 0.0);
    }
  }
}

// Whether the bounds have not improved for so long that further epochs are useless: without a limit, runs whose progress
// is lost in rounding errors, or is too slow, would not end.
bool DescentRun::stalled() {
  const double gap = s_.best.bounds.gap, dual = std::max(s_.best.bounds.dual, s_.last.dual);
  const std::int64_t epochs = s_.best.epochs;
  const double increase = dual - progress_.dual;
  const bool improved = gap < kSufficientDecrease * progress_.gap || increase > kSufficientIncrease * progress_.gap ||
                        increase > kSufficientGrowth * std::abs(dual);
  if (improved) progress_ = {gap, dual, epochs};
  return epochs - progress_.epochs > std::max(kMinStalledEpochs, progress_.epochs);
}

// Whether the remaining epochs, extrapolated from the history, cost more than Newton's method.
bool DescentRun::newton_is_cheaper(const MethodChoice::History& history, double target, double min_work) const {
  return s_.options.method == LinearMethod::automatic && descent_->work > min_work &&
         s_.choice().newton_is_cheaper(history, target);
}

}  // namespace hinge
