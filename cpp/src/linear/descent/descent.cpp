// descent.cpp: see the header.
#include "linear/descent/descent.hpp"

#include <algorithm>
#include <cmath>

#include "linear/data/passes.hpp"
#include "linear/data/rows.hpp"
#include "linear/descent/cells.hpp"
#include "linear/loss/loss.hpp"
#include "numeric/random.hpp"
#include "parallel/tasks.hpp"

#define HINGE_HOT inline __attribute__((always_inline))  // keeps the totals of a lane in registers

namespace hinge {
namespace {

constexpr std::uint32_t kShrinkAfter = 2;       // consecutive visits without a change after which a sample is shrunk
constexpr double kNeighboursPerSample = 4;      // samples near a kink that stay active per sample with a positive gap
constexpr std::size_t kSampledRows = 1024;         // samples from which the distance to a kink is estimated
constexpr std::size_t kPrefetchDistance = 4;            // rows between a prefetch and its use
constexpr double kMinLaneWork = 2.5e6;        // epochs with less work (about 1 ms) do not use lanes
constexpr double kSingleRounding = 1.01 * 0x1p-24;  // relative error of an operation in single precision, with a margin
constexpr double kNarrowBox = 0.3;              // mean of ‖x_i‖² (hi − lo) below which most steps end at a bound

template <class Storage, class Weight>
class DescentOf final : public Descent {
 public:
  DescentOf(const Storage& data, const Samples& samples, const LinearProblem& problem, Span<const double> norms,
            const LinearOptions& options, const Parallel& parallel)
      : rows_(data), samples_(samples), problem_(problem), parallel_(parallel), random_(options.seed),
        visit_order_(options.order), shrinking_(options.shrinking) {
    if (problem.bias == Bias::penalized) sigma = problem.bias_scale * problem.bias_scale;
    if (problem.bias == Bias::free) sigma = quarter_of_mean(norms);
    if (options.block_bytes == 0) stored_ = static_cast<double>(rows_.stored());
    all_ = Cells(data.rows);
    double width = 0;
    for (std::size_t i = 0; i < data.rows; ++i) {
      kinked_ = kinked_ && !(problem.ridge[i] > 0);
      width += norms[i] * (problem.upper[i] - problem.lower[i]);
      const double curvature = norms[i] + sigma + problem.ridge[i];
      all_[i] = {0, problem.target[i], problem.lower[i], problem.upper[i], problem.ridge[i], 0,
                 curvature > 0 ? std::min(1 / curvature, kHugeInverse) : 0.0, 0, 0};
    }
    narrow_ = kinked_ && width <= kNarrowBox * static_cast<double>(data.rows);
    w_.assign(data.features, 0);
    single_precision = !kLanes;
    cut_into_chunks(options.block_bytes);
  }

  bool short_epochs() const override {
    return stored_ > 0 && epoch_work(stored_, static_cast<double>(all_.size())) < kMinLaneWork;
  }

  void read(Span<double> beta) const override {
    for (std::size_t i = 0; i < all_.size(); ++i) beta[i] = all_[i].beta;
  }

  void read_weights(Span<double> w) const override { std::copy(w_.begin(), w_.end(), w.begin()); }

  void write(Span<const double> beta, Span<const double> w, double at) override {
    sum = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) sum += all_[i].beta = beta[i];
    move_to(w, at);
  }

  void enter(Span<const double> beta, Span<const double> w, double at, Span<const double> f,
             Span<const double> parts) override {
    sum = sum_of(beta);
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].beta = beta[i];
    move_to(w, at);
    list_active_at(kink_radius(f, parts), f, parts);
  }

  void resume(Span<const double> f, Span<const double> parts) override {
    const double radius = kink_radius(f, parts);
    if (radius < 0) return list_active_at(radius, f, parts);
    if (4 * order_.size() > all_.size()) {  // sequential access is faster
      for (Sample& s : all_) s.unchanged = kShrinkAfter;
    } else {
      for (std::uint32_t i : order_) all_[i].unchanged = kShrinkAfter;
    }
    gap = sum_of(parts);
    std::size_t count = 0;
    order_.resize(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {  // shrunk samples are not read
      order_[count] = static_cast<std::uint32_t>(i);
      count += static_cast<std::size_t>(parts[i] > 0) | static_cast<std::size_t>(distance(i, f[i]) <= radius);
    }
    order_.resize(count);
    for (std::uint32_t i : order_) all_[i].unchanged = 0, all_[i].gap = parts[i];
    listed_ = count > 0;
  }

  double sampled_gap(std::size_t count) const override {
    const std::size_t n = all_.size();
    double parts = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = k * n / count;
      parts += term_of(all_[i]).gap(rows_.dot(i, w_.data()) + offset, all_[i].beta);
    }
    return parts * static_cast<double>(n) / static_cast<double>(count);
  }

  void begin_round() override {
    round_.resize(all_.size());
    for (std::size_t i = 0; i < round_.size(); ++i) round_[i] = static_cast<std::uint32_t>(i);
    shuffle(round_.data(), round_.size(), random_);
    back_ = false;
  }

  void end_round() override { round_.clear(); }

  void epoch(RunTracker& tracker) override {
    ++epochs;
    active = 0;
    mean.clear();
    double after = drift;
    drift = INFINITY;  // unknown if the epoch is interrupted
    if (chunks_.size() == 1) {
      if (!listed_) list_active(0, 1);
      listed_ = true;
      after += visit_listed(tracker);
    } else {
      shuffle(chunks_.data(), chunks_.size(), random_);
      for (std::size_t c = 0; c < chunks_.size(); c += group_) {
        const std::size_t stop = std::min(chunks_.size(), c + group_);
        list_active(c, stop);
        after += visit_listed(tracker);
        for (std::size_t k = c; k < stop; ++k) release_rows(samples_, chunks_[k].first, chunks_[k].second);
      }
    }
    drift = after;
  }

 private:
  void move_to(Span<const double> w, double at) {
    double squares = 0;
    for (std::size_t j = 0; j < w.size(); ++j) w_[j] = static_cast<Weight>(w[j]), squares += w[j] * w[j];
    drift = kSingleRounding * std::sqrt(squares);
    multiplier = at;
    offset = multiplier + sigma * (sum - problem_.total);
  }

  void list_active_at(double radius, Span<const double> f, Span<const double> parts) {
    const bool own = problem_.bias != Bias::none;  // the offset of the epochs differs from the optimal one of `parts`
    std::size_t count = 0;
    gap = 0;
    order_.resize(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      Sample& s = all_[i];
      gap += s.gap = own ? term_of(s).gap(f[i] + offset, s.beta) : parts[i];
      if (radius >= 0) s.unchanged = s.gap > 0 || distance(i, f[i]) <= radius ? 0 : kShrinkAfter;
      s.unchanged = s.gap > 0 ? 0 : s.unchanged;
      order_[count] = static_cast<std::uint32_t>(i);
      count += s.unchanged < kShrinkAfter;
    }
    order_.resize(count);
    listed_ = count > 0;
  }

  // Distance to a kink up to which samples without a part of the gap stay active; −1: do not change the active set.
  double kink_radius(Span<const double> f, Span<const double> parts) const {
    if (!kinked_ || chunks_.size() > 1) return -1;
    const std::size_t n = all_.size(), step = std::max<std::size_t>(1, n / kSampledRows);
    std::size_t positive_parts = 0;
    for (double part : parts) positive_parts += part > 0;
    const double share =
        kNeighboursPerSample * static_cast<double>(positive_parts) / std::max<double>(1, static_cast<double>(n));
    if (!(share < kMaxActiveShare)) return -1;
    std::vector<double> distances;
    for (std::size_t i = 0; i < n; i += step) distances.push_back(distance(i, f[i]));
    const auto place = distances.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(distances.size()));
    std::nth_element(distances.begin(), place, distances.end());
    return *place;
  }

  double distance(std::size_t i, double f) const {
    return std::fabs(std::fabs(problem_.target[i] - f - offset) - problem_.tube);
  }

  LossTerm term_of(const Sample& s) const { return {s.target, s.lower, s.upper, s.ridge, problem_.tube}; }

  // Samples on disk are visited in random groups of chunks, drawn anew in every epoch.  Fixed blocks converge slowly,
  // because each block changes the directions that all samples share.
  void cut_into_chunks(std::size_t bytes) {
    const std::size_t n = all_.size();
    if (bytes == 0) {
      chunks_ = {{0, n}};
      return;
    }
    std::size_t first = 0, held = 0;
    for (std::size_t i = 0; i < n; ++i) {
      held += 12 * rows_.stored(i);
      if (held < bytes / group_ && i + 1 < n) continue;
      chunks_.emplace_back(first, i + 1);
      first = i + 1, held = 0;
    }
  }

  // Lists the active samples of some chunks.  Branch-free, because branches on shrinking are hard to predict.
  void list_active(std::size_t first, std::size_t last) {
    std::size_t capacity = 0, count = 0;
    for (std::size_t k = first; k < last; ++k) capacity += chunks_[k].second - chunks_[k].first;
    order_.resize(capacity);
    for (std::size_t k = first; k < last; ++k)
      for (std::size_t i = chunks_[k].first; i < chunks_[k].second; ++i) {
        order_[count] = static_cast<std::uint32_t>(i);
        count += all_[i].unchanged < kShrinkAfter;
      }
    order_.resize(count);
    if (count > 0 || chunks_.size() > 1) return;
    for (Sample& s : all_) s.unchanged = 0;  // all samples are shrunk but the gap is not reached: visit all again
    list_all();
  }

  // Visits the listed samples, or all if only few are shrunk.  Returns the drift of w.
  double visit_listed(RunTracker& tracker) {
    const bool few_shrunk = static_cast<double>(order_.size()) > kMaxActiveShare * static_cast<double>(all_.size());
    const bool all = chunks_.size() == 1 && (few_shrunk || !shrinking_);
    if (visit_order_ == VisitOrder::fixed_permutation && round_.empty()) begin_round();
    if (!round_.empty()) {
      follow_round(all);
    } else {
      if (all) list_all();
      if (visit_order_ == VisitOrder::permutation) shuffle(order_.data(), order_.size(), random_);
    }
    active += order_.size();
    return visit_order_ == VisitOrder::random ? visit_drawn(tracker) : visit(tracker);
  }

  // Visits as many samples as are listed, drawn from them with replacement.
  double visit_drawn(RunTracker& tracker) {
    const std::vector<std::uint32_t> listed = order_;
    for (std::uint32_t& i : order_) i = listed[random_.below(listed.size())];
    const double drift_of_visits = visit(tracker);
    order_.clear();
    for (std::uint32_t i : listed)
      if (all_[i].unchanged < kShrinkAfter) order_.push_back(i);
    return drift_of_visits;
  }

  void list_all() {
    order_.resize(all_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::uint32_t>(i);
  }

  void follow_round(bool all) {
    std::size_t count = 0;
    order_.resize(round_.size());
    for (std::uint32_t i : round_) {
      order_[count] = i;
      count += all || all_[i].unchanged < kShrinkAfter;
    }
    order_.resize(count);
    if (back_) std::reverse(order_.begin(), order_.end());
    back_ = !back_ && visit_order_ == VisitOrder::permutation;
  }

  double visit(RunTracker& tracker) {
    if constexpr (kLanes) {
      const std::size_t length = lane_length(stored_, all_.size(), w_.size());
      if (chunks_.size() == 1 && round_.empty() && visit_order_ == VisitOrder::permutation && !short_epochs() &&
          order_.size() >= 2 * kMinMergesPerEpoch * length) {
        visit_in_lanes(length, tracker);
        return 0;
      }
    }
    Lane<Weight> lane;
    lane.w = w_.data(), lane.offset = offset;
    visit<false>(lane, 0, order_.size(), [&] { tracker.poll(); });
    offset = lane.offset;
    sum += lane.sum, dual += lane.dual, gap += lane.gap, work += lane.work;
    order_ = std::move(lane.active_rows);
    return lane.drift;
  }

  // Runs two lanes in parallel and merges them, until all samples have been visited.   (129), (137)
  void visit_in_lanes(std::size_t length, RunTracker& tracker) {
    Lane<Weight> lanes[2];
    const bool averaged = narrow_ && problem_.bias == Bias::none && order_.size() == all_.size();
    IterateAverage average(averaged ? w_.size() : 0);
    for (Lane<Weight>& lane : lanes) lane.copy = w_, lane.w = lane.copy.data();
    for (std::size_t first = 0; first < order_.size(); first += 2 * length) {
      tracker.poll();
      const std::size_t rest = std::min(order_.size() - first, 2 * length), split = first + (rest + 1) / 2;
      for (Lane<Weight>& lane : lanes) lane.restart(offset, narrow_ ? 1 + correlation_ : 1.0);
      try {
        run_tasks(2, parallel_, [&] {
          return [&](std::size_t k, Poller& poller) {
            visit<true>(lanes[k], k == 0 ? first : split, k == 0 ? split : first + rest, [&] { poller.poll(); });
          };
        });
      } catch (...) {  // undo the steps of both lanes
        for (Lane<Weight>& lane : lanes)
          for (const auto& [i, beta] : lane.moved) all_[i].beta = beta;
        throw;
      }
      merge(lanes[0], lanes[1]);
      if (averaged) average.add(w_, lanes[0].loss + lanes[1].loss, 2 * (first + rest) >= order_.size());
    }
    mean = average.mean();
    primal = average.primal();
    order_.assign(lanes[0].active_rows.begin(), lanes[0].active_rows.end());
    order_.insert(order_.end(), lanes[1].active_rows.begin(), lanes[1].active_rows.end());
  }

  // Moves along the sum of the steps of both lanes by an exact line search: the sum of the separate gains overestimates
  // the common gain by the inner product of the steps.   (129)
  void merge(Lane<Weight>& a, Lane<Weight>& b) {
    const std::size_t d = w_.size();
    const double scale = 1 / (a.scaling * a.scaling);
    double cross = 0, both = 0;  // of the changes of w: inner product, and squared norm of the sum
    linear_ops().lanes(w_.data(), a.w, b.w, d, &cross, &both);
    cross = scale * cross + sigma * a.sum * b.sum;
    both = scale * both + sigma * (a.sum + b.sum) * (a.sum + b.sum);
    const double apart = both - 2 * cross, curvature = a.curvature + b.curvature + both;
    const double gain = a.dual + b.dual + 0.5 * (a.scaling - 1) * apart - cross;
    const double step = curvature > 0 ? std::max(0.0, std::min(1.0, 0.5 + gain / curvature)) : 1.0;
    linear_ops().merge(w_.data(), a.w, b.w, d, step / a.scaling);
    if (step < 1) {
      damped = true;
      for (Lane<Weight>* lane : {&a, &b})
        for (const auto& [i, beta] : lane->moved) all_[i].beta = beta + step * (all_[i].beta - beta);
    }
    offset += sigma * step * (a.sum + b.sum);
    sum += step * (a.sum + b.sum);
    dual += step * (gain + 0.5 * curvature) - 0.5 * step * step * curvature;
    gap += a.gap + b.gap, work += a.work + b.work;
    correlation_ = apart > 0 ? std::max(0.0, std::min(1.0, 2 * cross / apart)) : 0.0;
  }

  template <bool kLane, class Poll>
  void visit(Lane<Weight>& lane, std::size_t first, std::size_t last, Poll poll) {
    double limit = 0;
    Weight* const w = lane.w;
    const double scaling = kLane ? lane.scaling : 1.0, inverse_scaling = 1 / scaling;
    std::size_t count = lane.active_rows.size();
    lane.active_rows.resize(count + last - first);
    std::uint32_t* const active_rows = lane.active_rows.data();
    StepTotals totals = lane;
    for (std::size_t k = first; k < last; ++k) {
      if (k + 2 * kPrefetchDistance < last) {
        rows_.prefetch_start(order_[k + 2 * kPrefetchDistance]);
        __builtin_prefetch(&all_[order_[k + 2 * kPrefetchDistance]]);
      }
      if (k + kPrefetchDistance < last) rows_.prefetch(order_[k + kPrefetchDistance]);
      const std::uint32_t i = order_[k];
      Sample& s = all_[i];
      const double before = s.beta, change = step<kLane>(s, i, w, scaling, inverse_scaling, totals);
      if constexpr (kLane) {
        if (change != 0) lane.moved.emplace_back(i, before);
      }
      active_rows[count] = i;
      count += s.unchanged < kShrinkAfter;
      totals.work += epoch_work(static_cast<double>(rows_.stored(i)), 1);
      if (totals.work > limit) {
        limit = totals.work + 2e6;
        poll();
      }
    }
    lane.active_rows.resize(count);
    static_cast<StepTotals&>(lane) = totals;
  }

  // Minimizes over one variable, (108), and returns its change.
  template <bool kLane>
  HINGE_HOT double step(Sample& s, std::uint32_t i, Weight* w, double scaling, double inverse_scaling,
                        StepTotals& totals) const {
    const double tube = problem_.tube, inverse = kLane ? inverse_scaling * s.inverse : s.inverse;
    const double own = totals.offset + s.ridge * s.beta - s.target;  // computed first: the next step waits for `value`
    const LossTerm term = term_of(s);
    const double value = rows_.dot(i, w);
    const double free = (s.beta - own * inverse) - value * inverse;
    double next = term.within(tube > 0 ? beyond(free, tube * inverse) : free);
    const double f = value + totals.offset, g = value + own;
    if (!(inverse > 0)) next = g < -tube ? s.upper : g > tube ? s.lower : s.beta;  // the loss does not depend on w
    const double part = term.gap(f, s.beta);
    totals.gap += part - s.gap;
    s.gap = part;
    if constexpr (kLane)
      totals.loss += part - s.beta * g - tube * std::fabs(s.beta);  // ℓ(f) of a piecewise linear loss, (106)
    const double change = next - s.beta;
    if (change == 0) {
      ++s.unchanged;
      return 0;
    }
    s.unchanged = 0;
    const double curvature = inverse > 0 ? change * change / inverse : 0.0;
    totals.dual -= change * g + 0.5 * curvature + tube * (std::fabs(next) - std::fabs(s.beta));
    totals.curvature += s.ridge * change * change;
    s.beta = next;
    totals.sum += change;
    const double moved = kLane ? scaling * change : change;
    totals.offset += sigma * moved;
    if constexpr (kLanes) {
      rows_.add(i, moved, w);
    } else {  // Δβ, x, their products and the sums are in single precision; β is stored in double precision
      const double there = rows_.add(i, moved, w), step = 3 * std::fabs(change) + 1e-8 * std::fabs(next);
      totals.drift += kSingleRounding * (std::sqrt(there) + (inverse > 0 ? step / std::sqrt(inverse) : 0.0));
    }
    return change;
  }

  static constexpr bool kLanes = sizeof(Weight) == sizeof(double);  // lanes need few features compared with rows
  Rows<Storage> rows_;
  std::vector<Weight> w_;
  const Samples& samples_;
  LinearProblem problem_;
  Parallel parallel_;
  Random random_;
  const VisitOrder visit_order_;
  const bool shrinking_;
  double stored_ = 0;
  Cells all_;
  bool kinked_ = true, narrow_ = false;
  double correlation_ = 1;  // correlation of the steps of two lanes: 1 if equal, 0 if orthogonal
  std::vector<std::uint32_t> order_, round_;  // samples of the next visits; order of the current round
  bool listed_ = false;                       // whether order_ is valid
  bool back_ = false;
  std::vector<std::pair<std::size_t, std::size_t>> chunks_;  // rows [first, last)
  static constexpr std::size_t group_ = 16;                  // chunks in memory at a time
};

}  // namespace

std::unique_ptr<Descent> make_descent(const Samples& samples, const LinearProblem& problem,
                                      Span<const double> squared_norms, const LinearOptions& options,
                                      bool allow_single_precision, const Parallel& parallel) {
  return std::visit(
      [&](const auto& data) -> std::unique_ptr<Descent> {
        using Storage = std::decay_t<decltype(data)>;
        const auto make = [&](auto weight) {
          return std::make_unique<DescentOf<Storage, decltype(weight)>>(data, samples, problem, squared_norms,
                                                                        options, parallel);
        };
        if constexpr (IsCsr<Storage>::value) {
          if (allow_single_precision && exceeds_cache(data)) return make(float{});
        }
        return make(double{});
      },
      samples);
}

}  // namespace hinge
