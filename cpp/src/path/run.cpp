// run.cpp: the main loop from event to event, and repairs.  docs/math (208)–(214)
#include <algorithm>
#include <cmath>
#include <limits>

#include "control/stop_request.hpp"
#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr std::int64_t kMaxEventsPerRefresh = 400;  // events after which f is recomputed
constexpr std::int64_t kMaxEventsAtEnd = 100;       // events after which f is recomputed at the end of a path
constexpr double kLongSegment = 8;                  // longer segments, relative to the parameter, need new rates h
constexpr double kMaxCorrectedViolation = 1e-9;     // larger violations are repaired, not corrected
constexpr std::int64_t kMaxIdleEvents = 400;        // events without progress before the data are perturbed
constexpr std::int64_t kMaxPerturbations = 40;      // perturbations before the run ends as numerical
constexpr double kEndTolerance = 1e-11;  // relative distance from the end at which a path that stops is complete
constexpr std::int64_t kMaxRepairsPerEvent = 2;     // repairs after refactorings or exchanges before the path continues
constexpr std::int64_t kMinEventsPerRepair = 20;    // events between two repairs of accumulated violations
constexpr std::int64_t kDeficitInterval = 16;       // events between two corrections of the totals
constexpr std::int64_t kViolationInterval = 32;     // events between two checks of the violation without a record
constexpr int kMaxFinalRepairs = 3, kTrackedRepairs = 2;  // repairs at the end of a path; those with tracking

}  // namespace

bool ActiveSet::Engine::stop_requested(const Run& run, Status& status) {
  const double seconds = run.stopwatch->seconds();
  if (run.options->max_seconds > 0 && seconds > run.options->max_seconds) {
    status = Status::time_limit;
    return true;
  }
  if (run.options->max_events >= 0 && run.result->events >= run.options->max_events) {
    status = Status::max_iter;
    return true;
  }
  if (seconds - *run.last_poll < kControlInterval) return false;
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

// Records the segment that begins at the current point.
void ActiveSet::Engine::record_segment(const Run& run, const Frame& frame, double step) {
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
  // Both ends are rounded.  On a segment of a few roundings the rates with respect to them differ from those of the
  // step. (282)
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
  record.violation.push_back(on_pairs() ? last_violation() : violation());
  run.result->violation = std::max(run.result->violation, record.violation.back());
}

Status ActiveSet::Engine::run(Frame& frame, const Run& run) {
  PathResult& result = *run.result;
  const bool inner = frames_.size() > 1;
  idle_events_ = 0;
  std::int64_t perturbations = 0, last_repair = -kMinEventsPerRepair - 1, repair_event = -1, repairs = 0;
  std::int64_t factors = refactorings_, exchanges = result.exchanges;
  const auto near_end = [&] { return frame.span - frame.t <= kEndTolerance * frame.span; };
  const auto finish = [&] {
    move_data(frame, frame.span);
    if (!inner) result.reached = run.origin + frame.t;
    return Status::solved;
  };
  update_scales();
  while (true) {
    Status status = Status::solved;
    if (stop_requested(run, status)) return status;
    if (!fill_empty_margins(frame, result)) {
      // Near the end all variables may have reached their bounds, a rounding error before the end.
      if (!result.infeasible || !near_end()) return Status::numerical;
      result.infeasible = false;
      return finish();
    }
    direction(frame);
    // Exchanges move along vectors that are null only up to rounding.
    if (!inner && (refactorings_ != factors || result.exchanges != exchanges)) {
      if (result.events != repair_event) repairs = 0, repair_event = result.events;
      factors = refactorings_, exchanges = result.exchanges;
      if (needs_repair() && repairs++ < kMaxRepairsPerEvent) {
        if (!refresh_and_repair(run)) return repair_status_;
        continue;
      }
    }
    bool dropped = false;
    for (std::size_t g = 0; g < G && !inner && !tracking_; ++g) dropped = drop_idle_margin(frame, g) || dropped;
    if (dropped) {
      if (!fill_empty_margins(frame, result)) return Status::numerical;
      direction(frame);
    }
    Event event = next_event(frame);
    const double remaining = frame.span - frame.t;
    if (!frame.h_exact && std::min(event.step, remaining) > kLongSegment * std::abs(run.origin + frame.t)) {
      fill_h(frame);
      direction(frame);
      event = next_event(frame);
    }
    const bool last = !(event.step < remaining);
    const double step = last ? remaining : event.step;
    const bool moves = step > 4 * kEps * (std::abs(run.origin + frame.t) + (inner ? 1.0 : 0.0));
    if (moves && !inner) record_segment(run, frame, step);
    if (step > 0) {
      for (std::size_t i = 0; i < margin.size(); ++i) beta[static_cast<std::size_t>(margin[i])] += step * dbeta_[i];
      for (std::size_t g = 0; g < G; ++g) mu[g] += step * dmu_[g];
      if (tracking_) {
        step_tracked(step);
      } else {
        path_loops().axpy(step, df_.data(), f.data(), n);
      }
      move_data(frame, last ? frame.span : frame.t + step);
    }
    const bool checks_all = run.record && !on_pairs();  // violations at every event
    if (checks_all) update_scales();
    const bool accurate = moves && checks_all && !inner && record_end_violation(run);
    if (!inner) result.reached = run.origin + frame.t;
    if (last) return Status::solved;
    ++result.events;
    ++since_refresh;
    result.margin_sum += static_cast<double>(margin.size());
    idle_events_ = moves ? 0 : idle_events_ + 1;
    if (!moves) ++result.idle;
    if (!handle(event, result)) return Status::numerical;
    if (idle_events_ > kMaxIdleEvents) {
      // Ties that are not resolved a rounding error before the end: violations there are repaired or reported.
      if (++perturbations > kMaxPerturbations) return near_end() ? finish() : Status::numerical;
      perturb(frame);
      idle_events_ = 0;
    }
    if (since_refresh >= kMaxEventsPerRefresh) {
      ++result.refreshes;
      const bool was_tracking = tracking_;
      refresh_f();
      for (Frame* each : frames_) fill_h(*each);
      if (was_tracking) begin_tracking(frame);
    }
    const bool exchanged = refactorings_ != factors || result.exchanges != exchanges;
    if (exchanged || (!checks_all && result.events % (on_pairs() ? 64 : tracking_ ? 32 : 8) == 0)) update_scales();
    const bool sums = result.events % kDeficitInterval == 0;
    // While tracking, the residuals of the margin are zero by construction.
    if (!tracking_ || sums) newton_correction(sums);
    if (moves && !inner && !exchanged && !accurate && (run.record || result.events % kViolationInterval == 0)) {
      const bool cheap_check = on_pairs() && result.events % kViolationInterval;
      const bool violated = cheap_check ? last_violation() > repair_threshold() : needs_repair();
      if (violated && result.events - last_repair > kMinEventsPerRepair) {
        last_repair = result.events;
        end_tracking();
        refresh_f();
        if (checks_all) record_end_violation(run);  // the error of f accumulated on this segment
        if (!refresh_and_repair(run)) return repair_status_;
      }
    }
  }
}

// Records the violation at the end of a segment, as reached, before any repair.  All conditions are linear between
// events, so the largest violation of a segment is at one of its ends.  Returns false if a repair is needed.
bool ActiveSet::Engine::record_end_violation(const Run& run) {
  const double residuals = residual_violation(), sums = largest_deficit();
  double& worst = run.record->violation.back();
  worst = std::max({worst, residuals, sums / std::max(largest_bound_, std::numeric_limits<double>::min())});
  run.result->violation = std::max(run.result->violation, worst);
  return residuals <= repair_threshold() && sums <= 4 * total_error_;
}

// Recomputes f and repairs the remaining violations.
bool ActiveSet::Engine::refresh_and_repair(const Run& run) {
  end_tracking();
  if (since_refresh > 0) refresh_f();
  newton_correction();
  if (!needs_repair()) return true;
  ++run.result->repairs;
  return repair(run);
}

// Sets multipliers that are not determined by the margin to the middle of their intervals.
void ActiveSet::Engine::center_multipliers() {
  std::vector<char> determined(G, 0);
  for (std::int32_t u : margin) {
    const std::size_t v = static_cast<std::size_t>(u);
    const double distance = std::min(std::abs(beta[v] - now.lower[v]), std::abs(beta[v] - now.upper[v]));
    if (group[v] >= 0 && distance > value_error_ + total_error_) determined[static_cast<std::size_t>(group[v])] = 1;
  }
  if (std::all_of(determined.begin(), determined.end(), [](char d) { return d != 0; })) {
    frames_.clear();
    return;
  }
  Frame constant = make_frame(now, difference(now, now), 0.0);
  const std::vector<Frame*> none;
  frames_.assign(1, &constant);
  std::fill(df_.begin(), df_.end(), 0.0);
  rate_error_ = 0;
  double limit = std::numeric_limits<double>::infinity();
  for (std::size_t g = 0; g < G; ++g) {
    dbeta_.assign(margin.size(), 0.0);
    drop_idle_margin(constant, g);
    candidates_.clear();
    if (count_[g] == 0) center_multiplier(constant, g, limit);
  }
  frames_ = none;
}

// Replaces the data by nearby data for which the point is optimal, and returns the line back to the original data.
// (214)
ActiveSet::Engine::Frame ActiveSet::Engine::make_repair_frame() {
  PathData base = now;
  std::uniform_real_distribution<double> share(0.1, 1.0);
  const std::vector<double> deficits = group_deficits();
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
  for (std::size_t g = 0; g < G; ++g) base.total[g] -= deficits[g];
  const PathData rate = difference(now, base);
  now = base;
  return make_frame(base, rate, 1.0);
}

bool ActiveSet::Engine::repair(const Run& outer, bool tracked) {
  end_tracking();
  const PathData target = now;
  Frame frame = make_repair_frame();
  frames_.push_back(&frame);
  if (tracked) begin_tracking(frame);
  Run run = outer;
  run.record = nullptr;
  const std::int64_t outer_idle_events = idle_events_;
  const Status status = this->run(frame, run);
  end_tracking();
  idle_events_ = outer_idle_events;
  frames_.pop_back();
  direction_fresh_ = false;
  now = target;
  update_scales();
  repair_status_ = status;
  return status == Status::solved;
}

PathResult ActiveSet::Engine::follow(PathData rate, double origin, double span, PathRecord* record,
                                     const PathOptions& options, RunControl& control) {
  PathResult result;
  Stopwatch stopwatch;
  double last_poll = -1;
  refactorings_ = 0;
  changes_.clear();
  // A variable whose bounds coincide is assigned to the bound that its residual points to.
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
  const Run run{record, origin, &options, &control, &result, &stopwatch, &last_poll};
  result.reached = origin;
  unperturbed_.clear();
  update_scales();
  const double start_error = value_error_;
  if (!record) begin_tracking(frame);
  result.status = this->run(frame, run);
  end_tracking();
  if (!unperturbed_.empty()) {  // remove the perturbation
    frame.base.linear = std::move(unperturbed_);
    unperturbed_.clear();
    move_data(frame, frame.t);
    for (std::size_t v = 0; v < N; ++v) now.linear[v] = frame.base.linear[v] + frame.t * frame.rate.linear[v];
  }
  update_scales();
  if (since_refresh > kMaxEventsAtEnd) refresh_f();
  const auto correct = [&] {
    if (record || residual_violation() <= kMaxCorrectedViolation) newton_correction();
  };
  correct();
  for (int round = record ? kTrackedRepairs : 0; round < kMaxFinalRepairs && needs_repair() &&
       result.status == Status::solved; ++round) {
    const bool tracked = round < kTrackedRepairs;
    ++result.repairs;
    const bool repaired = repair(run, tracked);
    if (!tracked || since_refresh > kMaxEventsAtEnd || !repaired) refresh_f();
    correct();
    // A repair that stops at ties may have reached an optimal point nevertheless.
    if (!repaired && needs_repair()) result.status = Status::numerical;
  }
  result.violation = std::max(result.violation, violation());
  result.refactorings = refactorings_;
  value_error_ = std::max(value_error_, start_error);  // variables that have vanished keep the rounding errors of before
  center_multipliers();
  return result;
}

}  // namespace hinge
