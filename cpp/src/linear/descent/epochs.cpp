// epochs.cpp: see the header.
#include "linear/descent/epochs.hpp"

#include <algorithm>
#include <cmath>

#include "linear/loss/offset.hpp"

namespace hinge {
namespace {

constexpr std::int64_t kPlainEpochs = 20;  // before the first round
constexpr double kWorthLeaps = 10;  // work of an epoch per sample (of all of them), or a round costs more than it saves
constexpr double kCheapLook = 0.6;  // of an epoch: then a look tells early who may rest
constexpr double kStale = 0.1;      // of the gap at the last look: time for the next one
constexpr double kMeanFalls = 1.9;  // what samples saw of the gap of the mean, over what it is, at most
// Relative gaps that weights in single precision prove: an error of f enters kinked losses as it is, others squared.
constexpr double kRoundedKinked = 1e-5, kRoundedSmooth = 1e-7;
constexpr double kRoundedLeast = 1e-12, kRoundedMost = 1e12;  // squared norms where nothing is lost at either end
constexpr double kSingle = 0x1p-24;  // half a unit in the last place of single precision
constexpr double kDouble = 0x1p-46;  // 128 times as much as that of double precision: all that a step may add to it
constexpr double kHardly = 0.01;     // of the gap that would do
constexpr double kDrift = 0.1;  // of the gap that would do: ½‖w − Xᵀβ‖², at most
// Of the first epochs: what samples have seen of the gap is that of a point long left.  So many tell how large it is now
// (one of at least so many), and a look comes where that is so much of what is wanted.
constexpr std::int64_t kGuesses = 3;
constexpr std::size_t kGuessed = 256, kGuessedShare = 16;
constexpr double kSure = 0.9;
constexpr int kIdleEpochs = 1000;   // of nobody, one after the other: rounding lets nobody move

double half_squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += 0.5 * (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

}  // namespace

// Whether w in single precision will do, as far as that is known before there is a w.   (139)
bool LinearEpochs::may_round() const {
  if (s_.options.tolerance < (s_.smooth ? kRoundedSmooth : kRoundedKinked) || !is_sparse(s_.samples)) return false;
  bool fits = s_.best.bounds.primal <= kRoundedMost * kRoundedMost;
  for (double norm : s_.squared_norms()) fits = fits && (norm == 0 || (norm >= kRoundedLeast && norm <= kRoundedMost));
  return fits;
}

void LinearEpochs::open(bool rounded) {
  const std::vector<double>& norms = s_.squared_norms();
  const auto before = std::move(descent_);
  descent_ = make_descent(s_.samples, s_.problem, norms, s_.options.seed, s_.options.block_bytes, rounded, s_.parallel);
  if (before) descent_->work = before->work, descent_->epochs = before->epochs;
  noise_ = {};
  for (std::size_t i = 0; descent_->rounded && i < s_.n; ++i) {
    const double ridge = s_.problem.ridge[i];
    if (ridge > 0) {
      noise_.squared += 0.5 * norms[i] / ridge;
    } else {
      noise_.plain += (s_.problem.upper[i] - s_.problem.lower[i]) * std::sqrt(norms[i]);
    }
  }
  s_.forget_norms();
}

// What rounding w makes of the gap, or has made of Xᵀβ, is no longer small beside what is wanted.   (139)
bool LinearEpochs::too_rough() const {
  if (!descent_->rounded) return false;
  if (drift_ > kDrift * s_.wanted()) return true;
  double squares = 0;
  for (double v : s_.w) squares += v * v;
  const double error = kSingle * std::sqrt(squares);
  return error * (noise_.plain + error * noise_.squared) > s_.wanted();
}

// w in double precision from now on.
void LinearEpochs::refine() {
  const double multiplier = s_.problem.bias == Bias::free ? descent_->offset : 0.0;
  s_.from_beta();
  s_.look(0.0);
  open(false);
  nothing_ = INFINITY;
  trail_.clear();
  enter(multiplier);
}

// In a long run epochs come in rounds, and after each of them one step along all of it.   (121)–(123)
void LinearEpochs::leap() {
  std::vector<double> beta(s_.n), w(s_.d);
  descent_->read(beta);
  if (trail_.empty()) descent_->begin_round();
  trail_.add(beta);
  if (!trail_.full()) return;
  const double sigma = descent_->sigma, multiplier = descent_->multiplier;
  descent_->read_weights(w);
  const double here = augmented_dual(s_.problem, beta, w, sigma, multiplier);
  if (trail_.extrapolate(s_.problem, beta)) {
    s_.passes->combine(beta, w);
    const double there = augmented_dual(s_.problem, beta, w, sigma, multiplier);
    if (there > here) {
      descent_->write(beta, w, multiplier);
      descent_->dual += there - here;
    } else {
      descent_->read(beta);
    }
  }
  trail_.clear();
  trail_.add(std::move(beta));
  descent_->begin_round();
}

// w goes to and fro where boxes are narrow; its mean over half an epoch is nearer to the optimum.   (138)
bool LinearEpochs::mean_proves() {
  descent_->read(s_.beta);
  std::vector<double> exact;
  const double strayed = hardly_strayed() ? this->strayed() : 0.0;
  if (strayed > 0) exact.resize(s_.d), descent_->read_weights(exact);
  s_.w = descent_->mean;
  s_.passes->margins(s_.w, s_.f);
  const LinearState::Sight sight = s_.see(s_.f, s_.beta);
  if (!s_.likely_proven(s_.w, sight)) return false;
  if (exact.empty()) {
    exact.resize(s_.d);
    s_.passes->combine(s_.beta, exact);
  }
  const double apart = std::sqrt(2 * half_squared_distance(s_.w, exact)) + strayed;
  s_.adopt(s_.w, s_.beta, 0.5 * apart * apart, sight);
  return s_.proven();
}

// ‖w − Xᵀβ‖, at most, where the epochs began with nothing.   (149)
double LinearEpochs::strayed() const {
  return descent_->rounded ? descent_->strayed : kDouble * visits_ * std::sqrt(nothing_);
}

// So little that Xᵀβ need not be computed.
bool LinearEpochs::hardly_strayed() const {
  const bool known = std::isfinite(nothing_) && std::isfinite(descent_->strayed) && !descent_->halved;
  return known && !s_.options.expansion && 0.5 * strayed() * strayed() <= kHardly * s_.wanted();
}

// Rounding draws the w of the epochs away from Xᵀβ: in double precision not by what a look that proves nothing would
// notice, in single precision by what every look must know.
void LinearEpochs::check() {
  descent_->read(s_.beta);
  descent_->read_weights(s_.w);
  double slack = drift_ = 0;
  if (s_.problem.bias == Bias::free) {
    const std::vector<double> moved = s_.w;
    s_.from_beta();
    if (descent_->rounded) drift_ = half_squared_distance(moved, s_.w);
  }
  s_.passes->margins(s_.w, s_.f);
  LinearState::Sight sight = s_.see(s_.f, s_.beta);
  if (hardly_strayed()) {
    slack = drift_ = 0.5 * strayed() * strayed();
  } else if (s_.problem.bias != Bias::free && (descent_->rounded || s_.likely_proven(s_.w, sight))) {
    std::vector<double> exact(s_.d);
    s_.passes->combine(s_.beta, exact);
    slack = drift_ = half_squared_distance(s_.w, exact);
    if (s_.options.expansion) {
      s_.w = exact, slack = 0;
      s_.passes->margins(s_.w, s_.f);
      sight = s_.see(s_.f, s_.beta);
    }
  }
  s_.adopt(s_.w, s_.beta, slack, sight);
}

// The epochs go on from the point of the state, which has been seen.
void LinearEpochs::enter(double multiplier) {
  descent_->enter(s_.beta, s_.w, multiplier, s_.f, s_.parts);
  descent_->dual = s_.last.dual;
}

Outcome LinearEpochs::run(double patience) {
  const bool fresh = !descent_ && s_.at_nothing && s_.problem.bias == Bias::none;
  if (!descent_) open(may_round());
  if (!fresh) enter(s_.problem.bias == Bias::free ? s_.offset : 0.0);  // else it is there, and visits everybody
  nothing_ = fresh && s_.last.primal >= kRoundedLeast ? s_.last.primal : INFINITY;
  s_.at_nothing = false;
  double checked = descent_->work, seen = s_.last.gap;  // at the last look at all samples
  const double began = descent_->work, look = s_.choice().look();
  double early = began;  // work after which a look is due that tells who may rest
  const bool guessing = fresh && s_.options.block_bytes == 0 && s_.n >= kGuessedShare * kGuessed;
  int idle = 0;
  LinearChoice::Story story;
  trail_.clear();
  descent_->end_round();
  if (s_.proven()) return Outcome::solved;
  for (;;) {
    if (s_.spent()) return Outcome::spent;
    const double before = descent_->work;
    descent_->epoch(s_.tracker);
    const bool rounds = ++sweeps_ > kPlainEpochs && s_.options.block_bytes == 0 &&
                        descent_->work - before > kWorthLeaps * static_cast<double>(s_.n);
    if (rounds) {
      leap();
    } else if (!trail_.empty()) {
      trail_.clear();
      descent_->end_round();
    }
    idle = descent_->active == 0 ? idle + 1 : 0;
    if (idle > kIdleEpochs) return Outcome::stuck;
    visits_ += static_cast<double>(descent_->active);  // n of them count as an epoch, however many samples rest
    s_.best.epochs = static_cast<std::int64_t>(std::ceil(visits_ / std::max(1.0, static_cast<double>(s_.n))));
    s_.tracker.snapshot.iteration = s_.best.epochs + s_.best.newton_steps;
    s_.tracker.snapshot.active = static_cast<std::int64_t>(descent_->active);
    const double thought = descent_->gap, size = std::max(std::fabs(descent_->dual), std::fabs(s_.last.dual));
    const double target = trust_ * s_.options.tolerance * size, since = descent_->work - checked;
    const bool midway = rounds && !trail_.fresh();  // in a round the gap falls and rises
    const bool resting = static_cast<double>(descent_->active) <= kFewRest * static_cast<double>(s_.n);
    // everybody was seen in the middle of an epoch, on the average: half of a fall like the last one comes on top
    const double expected = resting ? thought : thought * std::sqrt(std::min(1.0, thought / seen));
    const bool averaged = !descent_->mean.empty() && !s_.options.expansion;
    bool near = averaged ? descent_->primal - descent_->dual <= kMeanFalls * s_.options.tolerance * size
                         : thought <= target || expected <= s_.options.tolerance * size;
    if (!near && !averaged && guessing && sweeps_ <= kGuesses) {
      near = descent_->guessed_gap(kGuessed) <= kSure * s_.options.tolerance * size;
    }
    // what most samples think of themselves is old, and what the others can gain is nearly gained
    const bool stale = resting && thought <= kStale * seen && since > look;
    if (!resting) seen = thought;
    if (!resting && !midway) story.emplace_back(descent_->work, thought);
    // a check moves the multiplier of a free bias; without one, it is rarer the longer the run
    const double rarer = s_.problem.bias == Bias::free ? 0.0 : 0.1 * (descent_->work - began);
    const bool late = since >= 20 * s_.passes->stored() + rarer && !midway;
    const bool sorting = !resting && !s_.smooth && descent_->short_epochs() && descent_->work > early &&
                         look <= kCheapLook * (descent_->work - before);
    bool slow = !midway && slower_than_steps(story, target, began + patience);
    if (!near && !slow && !stale && !late && !sorting && !s_.spent()) continue;
    if (averaged && near && mean_proves()) return Outcome::solved;
    check();
    if (s_.proven()) return Outcome::solved;
    const bool bands_fit = s_.few_features() && !s_.choice().crowded();
    if (s_.at_floor() && bands_fit) return Outcome::undecided;  // what is left is rounding, or a few steps
    checked = descent_->work, seen = s_.last.gap;
    early = began + 2 * (descent_->work - began);
    trust_ = sorting ? 1.0 : std::min(20.0, std::max(0.5, 0.8 * thought / std::max(s_.last.gap, 1e-300)));
    if (resting) {
      story.emplace_back(descent_->work, s_.last.gap);
      slow = slow || slower_than_steps(story, s_.wanted(), began + patience);
    }
    if (slow) return Outcome::undecided;
    if (s_.problem.bias == Bias::free) trail_.clear();  // the multiplier moves
    if (too_rough()) {
      refine();
    } else if (s_.problem.bias == Bias::none && !s_.options.expansion) {
      descent_->resume(s_.f, s_.parts);
      descent_->dual = s_.last.dual;
    } else {
      enter(s_.problem.bias == Bias::free ? descent_->offset : 0.0);
    }
  }
}

// What is left, judged by the run so far, is more than Newton's method would need.
bool LinearEpochs::slower_than_steps(const LinearChoice::Story& story, double target, double not_before) const {
  return s_.options.method == LinearMethod::automatic && descent_->work > not_before &&
         s_.choice().newton_is_cheaper(story, target);
}

}  // namespace hinge
