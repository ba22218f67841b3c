// engine.hpp: state and operations of the parametric active-set method.  See hinge/solvers/path.hpp.
//
// The margin is the set of free variables.  Its matrix K_MM + κ EᵀE is kept as a Cholesky factor.  Notation as in
// docs/math/paths/parametric.md.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "cache/pinned_rows.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/path.hpp"
#include "path/margin_factor.hpp"

namespace hinge {

constexpr double kRepairThreshold = 1e-11;  // larger relative violations are always repaired

double largest(const std::vector<double>& x);  // the largest absolute value of the finite entries
PathData difference(const PathData& to, const PathData& from);

struct ActiveSet::Snapshot {
  std::vector<Place> place;
  std::vector<std::int32_t> margin;
  std::vector<double> beta, mu, f;
  PathData now;
  MarginFactor factor;
  std::int64_t since_refresh;
  std::mt19937 random;
};

class ActiveSet::Engine {
 public:
  Engine(const Gram& gram, std::size_t slots, Span<const std::int8_t> group, std::size_t cache_bytes, int threads,
         std::vector<std::int32_t> first = {}, std::vector<std::int32_t> second = {});

  PathResult start(Span<const double> beta, PathData data, const PathOptions& options, RunControl& control);
  PathResult follow(PathData rate, double origin, double span, PathRecord* record, const PathOptions& options,
                    RunControl& control);
  Snapshot snapshot() const;
  void restore(const Snapshot& snapshot);
  void grow(const Gram& bigger, Span<const std::int8_t> groups, PathData data);

  // ---- state ----
  const Gram* gram;
  std::vector<std::int32_t> first, second;  // the samples of each variable if variables are pairs; otherwise empty
  std::size_t n, N, G;  // samples, variables, groups
  std::vector<std::int8_t> group;
  std::vector<Place> place;
  std::vector<std::int32_t> margin;  // in the order of the factor
  std::vector<double> beta;          // valid for the margin; other variables are at their bounds
  std::vector<double> mu, f;
  PathData now;
  MarginFactor factor;

  std::int64_t since_refresh = 0;
  std::mt19937 random{20110323};  // for ties that cannot be resolved otherwise

  bool on_pairs() const { return !first.empty(); }
  std::size_t sample(std::size_t v) const { return v < n ? v : v % n; }
  std::size_t key(std::size_t v) const { return on_pairs() ? v : sample(v); }  // of its row in store_
  // The value of a vector over samples at a variable: that of its sample, or the difference of its two samples.
  double at(const double* x, std::size_t v) const {
    return on_pairs() ? x[static_cast<std::size_t>(first[v])] - x[static_cast<std::size_t>(second[v])] : x[sample(v)];
  }
  double at(const std::vector<double>& x, std::size_t v) const { return at(x.data(), v); }
  double bound(std::size_t v) const { return place[v] == Place::lower ? now.lower[v] : now.upper[v]; }
  double value(std::size_t v) const { return place[v] == Place::margin ? beta[v] : bound(v); }

 private:
  // A line base + t · rate, 0 ≤ t ≤ span, along which the data move.  Frames form a stack: a repair is a path within
  // the path that it repairs.
  struct Frame {
    PathData base, rate;
    double span = 0, t = 0;
    bool moves_linear = false, moves_lower = false, moves_upper = false;
    bool moves_bounds() const { return moves_lower || moves_upper; }
    std::vector<double> h;        // K times the rates of the variables at bounds,
    std::vector<double> h_error;  // and the rounding errors of its sums
    std::vector<double> moved;    // sums of these rates, per group
    std::vector<std::int32_t> moving;  // variables whose bounds move, if few_moving
    bool few_moving = false;
    double linear_top = 0, h_top = 0;  // largest rates
    int h_age = 0;                     // directions since h_top was computed
    bool h_exact = false;              // computed from all variables, not updated
  };
  // leave: a margin variable reaches a bound.  enter: the residual of a variable at a bound vanishes.  kink, meet: in a
  // group without margin, an end of the interval of its multiplier changes its rate, or the ends meet.
  enum class Kind { none, leave, enter, kink, meet };
  struct Event {
    Kind kind = Kind::none;
    std::size_t variable = 0, other = 0;
    Place to = Place::lower;
    double step = 0;
  };
  struct Run {
    PathRecord* record = nullptr;
    double origin = 0;
    const PathOptions* options = nullptr;
    RunControl* control = nullptr;
    PathResult* result = nullptr;
    Stopwatch* stopwatch = nullptr;
    double* last_poll = nullptr;
  };

  // algebra.cpp
  Frame make_frame(const PathData& base, PathData rate, double span);
  void set_frame(Frame& frame, const PathData& base, PathData rate, double span);
  void move_data(Frame& frame, double t);
  double bound_rate(const Frame& frame, std::size_t v) const {
    return place[v] == Place::lower ? frame.rate.lower[v] : frame.rate.upper[v];
  }
  void fill_h(Frame& frame);
  void product(const std::vector<double>& per_variable, std::vector<double>& out);
  void refresh_f();
  void border();
  void sum_borders();
  void solve_border(const std::vector<double>& gap, std::vector<double>& nu) const;
  void solve_kkt(std::vector<double>& x, const std::vector<double>& sums, std::vector<double>& nu);
  void direction(Frame& frame);
  void margin_rate_residuals(const Frame& frame, const std::vector<double>& from, std::vector<double>& x) const;
  std::vector<double> missing_sum_rates(const std::vector<double>& sums) const;
  void refine(const std::vector<double>& sums, std::vector<double>& error);
  void add_margin(const std::vector<double>& coefficients, std::vector<double>& out);
  double residual(std::size_t v) const {
    const int g = group[v];
    return at(f, v) + now.linear[v] + (g >= 0 ? mu[static_cast<std::size_t>(g)] : 0.0);
  }
  double residual_rate(const Frame& frame, std::size_t v) const {
    const int g = group[v];
    return at(df_, v) + frame.rate.linear[v] + (g >= 0 ? dmu_[static_cast<std::size_t>(g)] : 0.0);
  }
  bool fixed(const Frame& frame, std::size_t v) const {
    return now.lower[v] == now.upper[v] && frame.rate.lower[v] == frame.rate.upper[v];
  }

  // accuracy.cpp
  void update_scales();
  std::vector<double> group_deficits() const;
  double largest_deficit() const;
  double violation() const;
  double residual_violation() const;
  double last_violation() const;    // for pairs: of the margin, and of other variables when they were last examined
  double repair_threshold() const;  // larger violations of residuals are repaired
  bool needs_repair() const;
  bool newton_correction(bool sums = true);

  // margin.cpp
  bool try_enter(std::size_t v);
  void append_to_margin(std::size_t v, const double* row, const std::vector<double>& w, double schur);
  void move_to_bound(std::size_t j, Place to);
  void remove_bound_motion(std::size_t v, const double* row);
  void place_on_bound(std::size_t v, Place to, const double* row);
  void append_to_border(std::size_t v, double schur);
  void update_direction_for_entry(const Frame& frame, std::size_t v);
  void update_direction_for_exit(std::size_t j, Place to);
  bool enter(std::size_t v, PathResult& result);
  struct NullVector {
    std::vector<double> x, move, eta;
  };
  void null_vector(std::size_t v, const double* row, NullVector& z);
  std::pair<std::size_t, double> first_blocking_variable(const NullVector& z, double sign, double own) const;
  bool exchange(std::size_t v, bool upwards, PathResult& result);
  void extend_f(const std::vector<double>& coefficients, std::size_t old_n);
  void refactor();

  // tracking.cpp
  void begin_tracking(Frame& frame);
  void select_tracked(Frame& frame);
  void add_tracked(const std::vector<double>& values, std::size_t count);
  void end_tracking();
  void step_tracked(double step);
  void track(std::size_t i, const double* row);
  void set_margin_values(const std::vector<double>& linear, const std::vector<double>& offset,
                         std::vector<double>& out) const;
  template <class Visit>
  void for_each_tracked(Visit visit) const {  // all variables if not tracking
    if (!tracking_) {
      for (std::size_t v = 0; v < N; ++v) visit(v);
      return;
    }
    for (std::size_t slot = 0; slot < N; slot += n)
      for (std::int32_t i : tracked_) visit(slot + static_cast<std::size_t>(i));
  }
  bool is_untracked(std::size_t v) const { return tracking_ && !is_tracked_[sample(v)]; }

  // run.cpp and start.cpp
  Status run(Frame& frame, const Run& run);
  void record_segment(const Run& run, const Frame& frame, double step);
  bool repair(const Run& run, bool tracked = false);
  bool refresh_and_repair(const Run& run);
  bool record_end_violation(const Run& run);
  void center_multipliers();
  bool stop_requested(const Run& run, Status& status);
  void crossover(Span<const double> point, PathResult& result);
  void set_initial_multipliers();
  void polish(const Run& run);
  Frame make_repair_frame();

  // events.cpp
  bool fill_empty_margins(Frame& frame, PathResult& result);
  Place bound_of_idle_variable(const Frame& frame, std::size_t i) const;
  bool has_multiplier_interval(const Frame& frame, std::size_t g, const std::vector<Place>& to) const;
  bool drop_idle_margin(const Frame& frame, std::size_t g);
  void center_multiplier(Frame& frame, std::size_t g, double& limit);
  Event next_event(Frame& frame);
  Event choose_event(double limit);
  void dual_candidates(const Frame& frame, double& limit);
  void pair_candidates(const Frame& frame, double& limit);
  void sample_candidates(const Frame& frame, double& limit);
  void primal_candidates(const Frame& frame, double& limit);
  void add_candidate(double& limit, double step, double relaxed, double pivot, const Event& event);
  bool handle(const Event& event, PathResult& result);
  void perturb(Frame& frame);

  PinnedRows store_;
  std::vector<const double*> rows_;  // of the margin
  std::vector<std::size_t> count_;   // margin variables per group
  bool one_group_ = false;           // all variables are in one group
  std::vector<double> diagonal_;
  double kappa_ = 1, k_scale_ = 1;
  Parallel parallel_;

  std::vector<std::vector<double>> border_;  // K̃⁻¹ 1_g
  std::vector<double> border_matrix_;        // 1_gᵀ K̃⁻¹ 1_h
  bool border_fresh_ = false, direction_fresh_ = false;
  std::int64_t border_age_ = 0;

  // While tracking, f is updated for these samples only; for the others the changes since tracking_start_ are added at
  // the end (tracking.cpp).
  bool tracking_ = false;
  std::vector<std::int32_t> tracked_;
  std::vector<char> is_tracked_;
  std::vector<std::vector<double>> tracked_rows_;  // of the margin
  std::vector<const double*> tracked_pointers_;
  std::vector<double> buffer_;
  struct TrackingStart {
    const Frame* frame;
    double t;
    std::int64_t since_refresh;
    std::vector<double> f, values, h;
    std::vector<Place> place;
  } tracking_start_{};

  std::vector<double> dbeta_, dmu_, df_;
  double dbeta_scale_ = 0, rate_error_ = 0;
  bool polishing_ = false;  // smaller violations are repaired, because Kβ is more accurate than its error bound
  double residual_error_ = 0, fine_residual_error_ = 0, value_error_ = 0, total_error_ = 0, scale_ = 1,
      largest_bound_ = 1;
  double last_bound_violation_ = 0;  // of pairs at their bounds

  struct Candidate {
    double step, relaxed, pivot;
    Event event;
  };
  std::vector<Candidate> candidates_;
  std::vector<double> rates_;  // of residuals
  std::int64_t idle_events_ = 0;
  std::vector<Frame*> frames_;
  Frame outer_;  // of the path that is followed; memory is reused
  std::vector<std::pair<std::int32_t, Place>> changes_;  // since the last recorded segment
  std::vector<double> column_, z_;                       // results of try_enter
  double schur_ = 0;
  const double* entering_row_ = nullptr;
  std::int64_t refactorings_ = 0;
  std::vector<double> unperturbed_;  // linear terms of the path before a perturbation
  Status repair_status_ = Status::solved;  // of the last repair
};

}  // namespace hinge
