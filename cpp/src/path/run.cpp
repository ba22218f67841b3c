// run.cpp: following a path from event to event, and repairing it.  docs/math (208)–(214)
#include <algorithm>
#include <cmath>
#include <limits>

#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr std::int64_t kRefresh = 400;      // events after which f is computed anew
constexpr std::int64_t kSettled = 100;      // events after which f is computed anew at the end of a path
constexpr double kLong = 8;                 // segments so many times longer than their start get rates without history
constexpr double kPlain = 1e-9;             // violations above this are not those of rounding: repaired, not corrected
constexpr std::int64_t kStuck = 400;        // events without progress before the data are moved apart
constexpr std::int64_t kHopeless = 40;      // so often

}  // namespace

bool ActiveSet::Engine::stop_asked(const Run& run, Status& status) {
  const double seconds = run.watch->seconds();
  if (run.options->max_seconds > 0 && seconds > run.options->max_seconds) {
    status = Status::time_limit;
    return true;
  }
  if (run.options->max_events >= 0 && run.result->events >= run.options->max_events) {
    status = Status::max_iter;
    return true;
  }
  if (seconds - *run.last_poll < 0.05) return false;
  *run.last_poll = seconds;
  if (run.control->interrupted()) {
    status = Status::interrupted;
    return true;
  }
  if (run.control->wants_progress()) {
    hinge::Snapshot s;
    s.iteration = run.result->events;
    s.seconds = seconds;
    s.violation = run.result->violation;
    s.primal = run.result->reached;
    s.active = static_cast<std::int64_t>(margin.size());
    if (!run.control->progress(s)) {
      status = Status::interrupted;
      return true;
    }
  }
  return false;
}

// The piece of path that begins here.
void ActiveSet::Engine::note(const Run& run, const Frame& frame, double step) {
  if (!run.record) return;
  PathRecord& record = *run.record;
  const std::int64_t segment = static_cast<std::int64_t>(record.start.size());
  const double begin = run.origin + frame.t, end = run.origin + std::min(frame.t + step, frame.span);
  for (const auto& [variable, to] : changes_) {
    record.changed_at.push_back(segment);
    record.changed.push_back(variable);
    record.place.push_back(static_cast<std::int8_t>(to));
  }
  changes_.clear();
  record.start.push_back(begin);
  record.stop.push_back(end);
  // Both ends are rounded: on a segment of a few roundings rates in terms of them differ from those of the step.  (282)
  const double stretch = end > begin ? step / (end - begin) : 0.0;
  for (std::size_t g = 0; g < G; ++g) {
    record.mu.push_back(mu[g]);
    record.mu_rate.push_back(stretch * dmu_[g]);
  }
  for (std::size_t i = 0; i < margin.size(); ++i) {
    record.margin.push_back(margin[i]);
    record.value.push_back(beta[static_cast<std::size_t>(margin[i])]);
    record.rate.push_back(stretch * dbeta_[i]);
  }
  record.offset.push_back(static_cast<std::int64_t>(record.margin.size()));
  record.violation.push_back(on_pairs() ? seen_violation() : violation());
  run.result->violation = std::max(run.result->violation, record.violation.back());
}

Status ActiveSet::Engine::run(Frame& frame, const Run& run) {
  PathResult& result = *run.result;
  const bool inner = frames_.size() > 1;
  idle_ = 0;
  std::int64_t perturbed = 0, last_repair = -1000000, mended_at = -1, mends = 0;
  std::int64_t factors = refactorings_, exchanges = result.exchanges;
  scales();
  while (true) {
    Status status = Status::solved;
    if (stop_asked(run, status)) return status;
    if (!settle_groups(frame, result)) {
      // At the very end all variables may have come to rest together, a rounding before it.
      if (!result.infeasible || frame.span - frame.t > 1e-11 * frame.span) return Status::numerical;
      result.infeasible = false;
      move_data(frame, frame.span);
      if (!inner) result.reached = run.origin + frame.t;
      return Status::solved;
    }
    direction(frame);
    if (!inner && (refactorings_ != factors || result.exchanges != exchanges)) {  // along what is null but for rounding
      if (result.events != mended_at) mends = 0, mended_at = result.events;
      factors = refactorings_, exchanges = result.exchanges;
      if (broken() && mends++ < 2) {
        if (!mend(run)) return stopped_;
        continue;
      }
    }
    bool dropped = false;
    for (std::size_t g = 0; g < G && !inner && !tracking_; ++g) dropped = drop_idle(frame, g) || dropped;
    if (dropped) {
      if (!settle_groups(frame, result)) return Status::numerical;
      direction(frame);
    }
    Event event = next_event(frame);
    const double left = frame.span - frame.t;
    if (!frame.h_exact && std::min(event.step, left) > kLong * std::abs(run.origin + frame.t)) {
      fill_h(frame);
      direction(frame);
      event = next_event(frame);
    }
    const bool last = !(event.step < left);
    const double step = last ? left : event.step;
    const bool moves = step > 4 * kEps * (std::abs(run.origin + frame.t) + (inner ? 1.0 : 0.0));
    if (moves && !inner) note(run, frame, step);
    if (step > 0) {
      for (std::size_t i = 0; i < margin.size(); ++i) beta[static_cast<std::size_t>(margin[i])] += step * dbeta_[i];
      for (std::size_t g = 0; g < G; ++g) mu[g] += step * dmu_[g];
      if (tracking_) {
        step_near(step);
      } else {
        path_loops().axpy(step, df_.data(), f.data(), n);
      }
      move_data(frame, last ? frame.span : frame.t + step);
    }
    const bool looks = run.record && !on_pairs();  // at every event
    if (looks) scales();
    const bool fine = moves && looks && !inner && witness(run);
    if (!inner) result.reached = run.origin + frame.t;
    if (last) return Status::solved;
    ++result.events;
    ++since_refresh;
    result.margin_sum += static_cast<double>(margin.size());
    idle_ = moves ? 0 : idle_ + 1;
    if (!moves) ++result.idle;
    if (!handle(event, result)) return Status::numerical;
    if (idle_ > kStuck) {
      if (++perturbed > kHopeless) return Status::numerical;
      perturb(frame);
      idle_ = 0;
    }
    if (since_refresh >= kRefresh) {
      ++result.refreshes;
      const bool again = tracking_;
      refresh_f();
      for (Frame* each : frames_) fill_h(*each);
      if (again) begin_tracking(frame);
    }
    const bool exchanged = refactorings_ != factors || result.exchanges != exchanges;
    if (exchanged || (!looks && result.events % (on_pairs() ? 64 : tracking_ ? 32 : 8) == 0)) scales();
    const bool sums = result.events % 16 == 0;
    if (!tracking_ || sums) correct(sums);  // while tracking, residuals of the margin are zero by construction
    if (moves && !inner && !exchanged && !fine && (run.record || result.events % 32 == 0)) {
      const bool bad = on_pairs() && result.events % 32 ? seen_violation() > tolerable() : broken();
      if (bad && result.events - last_repair > 20) {
        last_repair = result.events;
        end_tracking();
        refresh_f();
        if (looks) witness(run);  // f had drifted on the way here
        if (!mend(run)) return stopped_;
      }
    }
  }
}

// Between two points that are optimal everything is linear, and so a segment is as good as its ends.  The end belongs
// to it as it was reached, before anything is mended.  Whether there is nothing to mend.
bool ActiveSet::Engine::witness(const Run& run) {
  const double residuals = residual_violation(), sums = off_totals();
  double& worst = run.record->violation.back();
  worst = std::max({worst, residuals, sums / std::max(reach_, std::numeric_limits<double>::min())});
  run.result->violation = std::max(run.result->violation, worst);
  return residuals <= tolerable() && sums <= 4 * sum_noise_;
}

// f anew, and what is wrong then is repaired.
bool ActiveSet::Engine::mend(const Run& run) {
  end_tracking();
  if (since_refresh > 0) refresh_f();
  correct();
  if (!broken()) return true;
  ++run.result->repairs;
  return repair(run);
}

// Where nothing moves, a multiplier that is an interval is its middle.
void ActiveSet::Engine::rest_offsets() {
  std::vector<char> held(G, 0);
  for (std::int32_t u : margin) {
    const std::size_t v = static_cast<std::size_t>(u);
    const double room = std::min(std::abs(beta[v] - now.lower[v]), std::abs(beta[v] - now.upper[v]));
    if (group[v] >= 0 && room > b_noise_ + sum_noise_) held[static_cast<std::size_t>(group[v])] = 1;
  }
  if (std::all_of(held.begin(), held.end(), [](char h) { return h != 0; })) {
    frames_.clear();
    return;
  }
  Frame still = make_frame(now, difference(now, now), 0.0);
  const std::vector<Frame*> none;
  frames_.assign(1, &still);
  std::fill(df_.begin(), df_.end(), 0.0);
  rate_noise_ = 0;
  double limit = std::numeric_limits<double>::infinity();
  for (std::size_t g = 0; g < G; ++g) {
    dbeta_.assign(margin.size(), 0.0);
    drop_idle(still, g);
    candidates_.clear();
    if (count_[g] == 0) centre(still, g, limit);
  }
  frames_ = none;
}

// The point is the optimum of nearby data; from these a path leads back to the data as they are.  (214)
ActiveSet::Engine::Frame ActiveSet::Engine::shifted_frame() {
  PathData base = now;
  std::uniform_real_distribution<double> share(0.1, 1.0);
  const std::vector<double> short_of = missing();
  for (std::size_t v = 0; v < N; ++v) {
    const double r = residual(v);
    if (place[v] == Place::margin) {
      base.linear[v] -= r;
      base.lower[v] = std::min(base.lower[v], beta[v]);
      base.upper[v] = std::max(base.upper[v], beta[v]);
    } else if (now.lower[v] < now.upper[v] && (place[v] == Place::lower ? r < 0 : r > 0)) {
      base.linear[v] -= r * (1 + share(random));
    }
  }
  for (std::size_t g = 0; g < G; ++g) base.total[g] -= short_of[g];
  const PathData rate = difference(now, base);
  now = base;
  return make_frame(base, rate, 1.0);
}

bool ActiveSet::Engine::repair(const Run& outer, bool tracked) {
  end_tracking();
  const PathData target = now;
  Frame frame = shifted_frame();
  frames_.push_back(&frame);
  if (tracked) begin_tracking(frame);
  Run run = outer;
  run.record = nullptr;
  const std::int64_t waited = idle_;
  const Status status = this->run(frame, run);
  end_tracking();
  idle_ = waited;
  frames_.pop_back();
  direction_fresh_ = false;
  now = target;
  scales();
  stopped_ = status;
  return status == Status::solved;
}

PathResult ActiveSet::Engine::follow(PathData rate, double origin, double span, PathRecord* record,
                                     const PathOptions& options, RunControl& control) {
  PathResult result;
  Stopwatch watch;
  double last_poll = -1;
  refactorings_ = 0;
  changes_.clear();
  // A variable whose box opens from a point goes with the end its residual points to.
  for (std::size_t v = 0; v < N; ++v)
    if (place[v] != Place::margin && now.lower[v] == now.upper[v]) {
      const Place side = residual(v) > 0 ? Place::lower : Place::upper;
      if (side != place[v]) {
        place[v] = side;
        changes_.emplace_back(static_cast<std::int32_t>(v), side);
      }
    }
  if (record) {
    for (std::size_t v = 0; v < N; ++v) {
      record->changed_at.push_back(0);
      record->changed.push_back(static_cast<std::int32_t>(v));
      record->place.push_back(static_cast<std::int8_t>(place[v]));
    }
    changes_.clear();
  }
  Frame& frame = outer_;
  set_frame(frame, now, std::move(rate), span);
  frames_.assign(1, &frame);
  const Run run{record, origin, &options, &control, &result, &watch, &last_poll};
  result.reached = origin;
  unperturbed_.clear();
  if (!record) begin_tracking(frame);
  result.status = this->run(frame, run);
  end_tracking();
  if (!unperturbed_.empty()) {  // take the perturbation out again
    frame.base.linear = std::move(unperturbed_);
    unperturbed_.clear();
    move_data(frame, frame.t);
    for (std::size_t v = 0; v < N; ++v) now.linear[v] = frame.base.linear[v] + frame.t * frame.rate.linear[v];
  }
  scales();
  if (since_refresh > kSettled) refresh_f();
  const auto settle = [&] {
    if (record || residual_violation() <= kPlain) correct();
  };
  settle();
  for (int round = record ? 2 : 0; round < 3 && broken() && result.status == Status::solved; ++round) {
    const bool tracked = round < 2;  // who overlooks samples twice looks at all
    ++result.repairs;
    if (!repair(run, tracked)) result.status = Status::numerical;
    if (!tracked || since_refresh > kSettled) refresh_f();
    settle();
  }
  result.violation = std::max(result.violation, violation());
  result.refactorings = refactorings_;
  rest_offsets();
  return result;
}

}  // namespace hinge
