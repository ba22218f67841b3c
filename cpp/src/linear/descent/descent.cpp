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

#define HINGE_HOT inline __attribute__((always_inline))  // what a step has come to stays in registers

namespace hinge {
namespace {

constexpr std::uint32_t kPatience = 2;  // visits without a move, one after another: then a sample rests
constexpr double kNeighbours = 4;  // of each sample that should move: so many that are near a kink are visited with it
constexpr std::size_t kLooks = 1024;  // samples that tell how far that is
constexpr std::size_t kAhead = 4;  // rows between a prefetch and its use
constexpr double kShortEpoch = 2.5e6;   // work: about a millisecond, in which two lanes gain nothing
constexpr double kRounded = 1.01 * 0x1p-24;  // what a sum or a product in single precision is off by, and a little more
constexpr double kNarrow = 0.3;         // mean of ‖x_i‖² times the way from one bound to the other: most steps end there

template <class Storage, class Weight>
class DescentOf final : public Descent {
 public:
  DescentOf(const Storage& data, const Samples& samples, const LinearProblem& problem, Span<const double> norms,
            std::uint64_t seed, std::size_t block_bytes, const Parallel& parallel)
      : rows_(data), samples_(samples), problem_(problem), parallel_(parallel), random_(seed) {
    if (problem.bias == Bias::penalised) sigma = problem.bias_scale * problem.bias_scale;
    if (problem.bias == Bias::free) sigma = quarter_mean(norms);
    if (block_bytes == 0) stored_ = static_cast<double>(rows_.stored());
    all_ = Cells(data.rows);
    double width = 0;
    for (std::size_t i = 0; i < data.rows; ++i) {
      kinked_ = kinked_ && !(problem.ridge[i] > 0);
      width += norms[i] * (problem.upper[i] - problem.lower[i]);
      const double curvature = norms[i] + sigma + problem.ridge[i];
      all_[i] = {0, problem.target[i], problem.lower[i], problem.upper[i], problem.ridge[i], 0,
                 curvature > 0 ? std::min(1 / curvature, kHugeInverse) : 0.0, 0, 0};
    }
    narrow_ = kinked_ && width <= kNarrow * static_cast<double>(data.rows);
    w_.assign(data.features, 0);
    rounded = !kLanes;
    cut_into_chunks(block_bytes);
  }

  bool short_epochs() const override {
    return stored_ > 0 && epoch_work(stored_, static_cast<double>(all_.size())) < kShortEpoch;
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
    sum = added_up(beta);
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].beta = beta[i];
    move_to(w, at);
    list_seen(nearness(f, parts), f, parts);
  }

  void resume(Span<const double> f, Span<const double> parts) override {
    const double near = nearness(f, parts);
    if (near < 0) return list_seen(near, f, parts);
    if (4 * order_.size() > all_.size()) {  // one after another is faster than here and there
      for (Sample& s : all_) s.still = kPatience;
    } else {
      for (std::uint32_t i : order_) all_[i].still = kPatience;
    }
    gap = added_up(parts);
    std::size_t count = 0;
    order_.resize(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {  // who rests is not looked up
      order_[count] = static_cast<std::uint32_t>(i);
      count += static_cast<std::size_t>(parts[i] > 0) | static_cast<std::size_t>(distance(i, f[i]) <= near);
    }
    order_.resize(count);
    for (std::uint32_t i : order_) all_[i].still = 0, all_[i].gap = parts[i];
    listed_ = count > 0;
  }

  double guessed_gap(std::size_t looks) const override {
    const std::size_t n = all_.size();
    double parts = 0;
    for (std::size_t k = 0; k < looks; ++k) {
      const std::size_t i = k * n / looks;
      parts += term_of(all_[i]).gap(rows_.dot(i, w_.data()) + offset, all_[i].beta);
    }
    return parts * static_cast<double>(n) / static_cast<double>(looks);
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
    double after = strayed;
    strayed = INFINITY;  // until the epoch is done: who is stopped in the middle of it does not know
    if (chunks_.size() == 1) {
      if (!listed_) list_awake(0, 1);
      listed_ = true;
      after += in_order(tracker);
    } else {
      shuffle(chunks_.data(), chunks_.size(), random_);
      for (std::size_t c = 0; c < chunks_.size(); c += group_) {
        const std::size_t stop = std::min(chunks_.size(), c + group_);
        list_awake(c, stop);
        after += in_order(tracker);
        for (std::size_t k = c; k < stop; ++k) release_rows(samples_, chunks_[k].first, chunks_[k].second);
      }
    }
    strayed = after;
  }

 private:
  void move_to(Span<const double> w, double at) {
    double squares = 0;
    for (std::size_t j = 0; j < w.size(); ++j) w_[j] = static_cast<Weight>(w[j]), squares += w[j] * w[j];
    strayed = kRounded * std::sqrt(squares);
    multiplier = at;
    offset = multiplier + sigma * (sum - problem_.total);
  }

  void list_seen(double near, Span<const double> f, Span<const double> parts) {
    const bool own = problem_.bias != Bias::none;  // the offset is not the one that was best for all
    std::size_t count = 0;
    gap = 0;
    order_.resize(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      Sample& s = all_[i];
      gap += s.gap = own ? term_of(s).gap(f[i] + offset, s.beta) : parts[i];
      if (near >= 0) s.still = s.gap > 0 || distance(i, f[i]) <= near ? 0 : kPatience;
      s.still = s.gap > 0 ? 0 : s.still;
      order_[count] = static_cast<std::uint32_t>(i);
      count += s.still < kPatience;
    }
    order_.resize(count);
    listed_ = count > 0;
  }

  // How near a kink a sample is that is visited though it has no part of the gap; −1: as it has been so far.
  double nearness(Span<const double> f, Span<const double> parts) const {
    if (!kinked_ || chunks_.size() > 1) return -1;
    const std::size_t n = all_.size(), step = std::max<std::size_t>(1, n / kLooks);
    std::size_t movers = 0;
    for (double part : parts) movers += part > 0;
    const double share = kNeighbours * static_cast<double>(movers) / std::max<double>(1, static_cast<double>(n));
    if (!(share < kFewRest)) return -1;
    std::vector<double> seen;
    for (std::size_t i = 0; i < n; i += step) seen.push_back(distance(i, f[i]));
    const auto place = seen.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(seen.size()));
    std::nth_element(seen.begin(), place, seen.end());
    return *place;
  }

  double distance(std::size_t i, double f) const {
    return std::fabs(std::fabs(problem_.target[i] - f - offset) - problem_.tube);
  }

  LossTerm term_of(const Sample& s) const { return {s.target, s.lower, s.upper, s.ridge, problem_.tube}; }

  // Samples on disk are visited in groups of chunks that are drawn anew in every epoch: fixed blocks would each pull
  // the directions that all samples share towards themselves, and converge slowly.
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

  // Who rests is hard to foresee: no branch depends on it.
  void list_awake(std::size_t first, std::size_t last) {
    std::size_t room = 0, count = 0;
    for (std::size_t k = first; k < last; ++k) room += chunks_[k].second - chunks_[k].first;
    order_.resize(room);
    for (std::size_t k = first; k < last; ++k)
      for (std::size_t i = chunks_[k].first; i < chunks_[k].second; ++i) {
        order_[count] = static_cast<std::uint32_t>(i);
        count += all_[i].still < kPatience;
      }
    order_.resize(count);
    if (count > 0 || chunks_.size() > 1) return;
    for (Sample& s : all_) s.still = 0;  // nobody, and still no proof: rounding; everybody once more
    list_all();
  }

  // Where few would rest, what they would miss costs more than a visit.  Returns by how much w has strayed.
  double in_order(RunTracker& tracker) {
    const bool all = chunks_.size() == 1 &&
                     static_cast<double>(order_.size()) > kFewRest * static_cast<double>(all_.size());
    if (!round_.empty()) {
      follow_round(all);
    } else {
      if (all) list_all();
      shuffle(order_.data(), order_.size(), random_);
    }
    active += order_.size();
    return visit(tracker);
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
      count += all || all_[i].still < kPatience;
    }
    order_.resize(count);
    if (back_) std::reverse(order_.begin(), order_.end());
    back_ = !back_;
  }

  double visit(RunTracker& tracker) {
    if constexpr (kLanes) {
      const std::size_t length = lane_length(stored_, all_.size(), w_.size());
      if (chunks_.size() == 1 && round_.empty() && !short_epochs() && order_.size() >= 2 * kMerges * length) {
        visit_in_lanes(length, tracker);
        return 0;
      }
    }
    Lane<Weight> lane;
    lane.w = w_.data(), lane.offset = offset;
    walk<false>(lane, 0, order_.size(), [&] { tracker.poll(); });
    offset = lane.offset;
    sum += lane.sum, dual += lane.dual, gap += lane.gap, work += lane.work;
    order_ = std::move(lane.awake);
    return lane.strayed;
  }

  // Two lanes at a time, side by side, then one point of both of them.   (129), (137)
  void visit_in_lanes(std::size_t length, RunTracker& tracker) {
    Lane<Weight> lanes[2];
    const bool averaged = narrow_ && problem_.bias == Bias::none && order_.size() == all_.size();
    Passed passed(averaged ? w_.size() : 0);
    for (Lane<Weight>& lane : lanes) lane.copy = w_, lane.w = lane.copy.data();
    for (std::size_t first = 0; first < order_.size(); first += 2 * length) {
      tracker.poll();
      const std::size_t rest = std::min(order_.size() - first, 2 * length), split = first + (rest + 1) / 2;
      for (Lane<Weight>& lane : lanes) lane.restart(offset, narrow_ ? 1 + likeness_ : 1.0);
      try {
        run_tasks(2, parallel_, [&] {
          return [&](std::size_t k, Poller& poller) {
            walk<true>(lanes[k], k == 0 ? first : split, k == 0 ? split : first + rest, [&] { poller.poll(); });
          };
        });
      } catch (...) {  // as if this pair of lanes had not been
        for (Lane<Weight>& lane : lanes)
          for (const auto& [i, beta] : lane.moved) all_[i].beta = beta;
        throw;
      }
      merge(lanes[0], lanes[1]);
      if (averaged) passed.add(w_, lanes[0].loss + lanes[1].loss, 2 * (first + rest) >= order_.size());
    }
    mean = passed.mean();
    primal = passed.primal();
    order_.assign(lanes[0].awake.begin(), lanes[0].awake.end());
    order_.insert(order_.end(), lanes[1].awake.begin(), lanes[1].awake.end());
  }

  // Each lane has gained by itself; together they gain less what they have in common.  The best point on the way to
  // both is taken.   (129)
  void merge(Lane<Weight>& a, Lane<Weight>& b) {
    const std::size_t d = w_.size();
    const double scale = 1 / (a.stretch * a.stretch);
    double cross = 0, both = 0;  // of their moves in w: inner product, and squared norm of the sum
    linear_ops().lanes(w_.data(), a.w, b.w, d, &cross, &both);
    cross = scale * cross + sigma * a.sum * b.sum;
    both = scale * both + sigma * (a.sum + b.sum) * (a.sum + b.sum);
    const double apart = both - 2 * cross, bend = a.bend + b.bend + both;
    const double gain = a.dual + b.dual + 0.5 * (a.stretch - 1) * apart - cross;
    const double step = bend > 0 ? std::max(0.0, std::min(1.0, 0.5 + gain / bend)) : 1.0;
    linear_ops().merge(w_.data(), a.w, b.w, d, step / a.stretch);
    if (step < 1) {
      halved = true;
      for (Lane<Weight>* lane : {&a, &b})
        for (const auto& [i, beta] : lane->moved) all_[i].beta = beta + step * (all_[i].beta - beta);
    }
    offset += sigma * step * (a.sum + b.sum);
    sum += step * (a.sum + b.sum);
    dual += step * (gain + 0.5 * bend) - 0.5 * step * step * bend;
    gap += a.gap + b.gap, work += a.work + b.work;
    likeness_ = apart > 0 ? std::max(0.0, std::min(1.0, 2 * cross / apart)) : 0.0;
  }

  template <bool kRemember, class Poll>
  void walk(Lane<Weight>& lane, std::size_t first, std::size_t last, Poll poll) {
    double limit = 0;
    Weight* const w = lane.w;
    const double stretch = kRemember ? lane.stretch : 1.0, shrink = 1 / stretch;
    std::size_t count = lane.awake.size();
    lane.awake.resize(count + last - first);
    std::uint32_t* const awake = lane.awake.data();
    Tally tally = lane;
    for (std::size_t k = first; k < last; ++k) {
      if (k + 2 * kAhead < last) {
        rows_.prefetch_start(order_[k + 2 * kAhead]);
        __builtin_prefetch(&all_[order_[k + 2 * kAhead]]);
      }
      if (k + kAhead < last) rows_.prefetch(order_[k + kAhead]);
      const std::uint32_t i = order_[k];
      Sample& s = all_[i];
      const double before = s.beta, change = step<kRemember>(s, i, w, stretch, shrink, tally);
      if constexpr (kRemember) {
        if (change != 0) lane.moved.emplace_back(i, before);
      }
      awake[count] = i;
      count += s.still < kPatience;
      tally.work += epoch_work(static_cast<double>(rows_.stored(i)), 1);
      if (tally.work > limit) {
        limit = tally.work + 2e6;
        poll();
      }
    }
    lane.awake.resize(count);
    static_cast<Tally&>(lane) = tally;
  }

  // One variable, as (108) says; by how much it has moved.
  template <bool kRemember>
  HINGE_HOT double step(Sample& s, std::uint32_t i, Weight* w, double stretch, double shrink, Tally& tally) const {
    const double tube = problem_.tube, inverse = kRemember ? shrink * s.inverse : s.inverse;
    const double own = tally.offset + s.ridge * s.beta - s.target;  // the next step waits for f: all else is there before
    const LossTerm term = term_of(s);
    const double value = rows_.dot(i, w);
    const double free = (s.beta - own * inverse) - value * inverse;
    double next = term.within(tube > 0 ? beyond(free, tube * inverse) : free);
    const double f = value + tally.offset, g = value + own;
    if (!(inverse > 0)) next = g < -tube ? s.upper : g > tube ? s.lower : s.beta;  // its loss does not depend on w
    const double part = term.gap(f, s.beta);
    tally.gap += part - s.gap;
    s.gap = part;
    if constexpr (kRemember) tally.loss += part - s.beta * g - tube * std::fabs(s.beta);  // kinked: ℓ(f), (106)
    const double change = next - s.beta;
    if (change == 0) {
      ++s.still;
      return 0;
    }
    s.still = 0;
    const double bend = inverse > 0 ? change * change / inverse : 0.0;
    tally.dual -= change * g + 0.5 * bend + tube * (std::fabs(next) - std::fabs(s.beta));
    tally.bend += s.ridge * change * change;
    s.beta = next;
    tally.sum += change;
    const double moved = kRemember ? stretch * change : change;
    tally.offset += sigma * moved;
    if constexpr (kLanes) {
      rows_.add(i, moved, w);
    } else {  // Δβ, x and their products are rounded, and the sums; β itself in double precision
      const double there = rows_.add(i, moved, w), step = 3 * std::fabs(change) + 1e-8 * std::fabs(next);
      tally.strayed += kRounded * (std::sqrt(there) + (inverse > 0 ? step / std::sqrt(inverse) : 0.0));
    }
    return change;
  }

  static constexpr bool kLanes = sizeof(Weight) == sizeof(double);  // lanes are for features that are few beside rows
  Rows<Storage> rows_;
  std::vector<Weight> w_;
  const Samples& samples_;
  LinearProblem problem_;
  Parallel parallel_;
  Random random_;
  double stored_ = 0;
  Cells all_;
  bool kinked_ = true, narrow_ = false;
  double likeness_ = 1;  // of the moves of two lanes: 1 where both move alike, 0 where they have nothing in common
  std::vector<std::uint32_t> order_, round_;  // who is visited next; the order of a round
  bool listed_ = false;                       // order_ is
  bool back_ = false;
  std::vector<std::pair<std::size_t, std::size_t>> chunks_;  // rows [first, last)
  static constexpr std::size_t group_ = 16;                  // chunks held at a time
};

}  // namespace

std::unique_ptr<Descent> make_descent(const Samples& samples, const LinearProblem& problem,
                                      Span<const double> squared_norms, std::uint64_t seed,
                                      std::size_t block_bytes, bool rounded_weights, const Parallel& parallel) {
  return std::visit(
      [&](const auto& data) -> std::unique_ptr<Descent> {
        using Storage = std::decay_t<decltype(data)>;
        const auto make = [&](auto weight) {
          return std::make_unique<DescentOf<Storage, decltype(weight)>>(data, samples, problem, squared_norms, seed,
                                                                        block_bytes, parallel);
        };
        if constexpr (IsCsr<Storage>::value) {
          if (rounded_weights && out_of_cache(data)) return make(float{});
        }
        return make(double{});
      },
      samples);
}

}  // namespace hinge
