// engine.hpp: the state of a parametric active set method and what may be done with it.  See hinge/path.hpp.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "cache/pinned_rows.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/path.hpp"
#include "path/margin_factor.hpp"

namespace hinge {

constexpr double kRepair = 1e-11;  // relative violations above this are repaired, at least

double largest(const std::vector<double>& x);  // in size, of the finite ones
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
  Snapshot here() const;
  void restore(const Snapshot& snapshot);
  void grow(const Gram& bigger, Span<const std::int8_t> groups, PathData data);

  // ---- state ----
  const Gram* gram;
  std::vector<std::int32_t> first, second;  // where variables stand on pairs of samples; empty otherwise
  std::size_t n, N, G;
  std::vector<std::int8_t> group;
  std::vector<Place> place;
  std::vector<std::int32_t> margin;  // in the order of the factor
  std::vector<double> beta;          // true for the margin; the others stand on their bounds
  std::vector<double> mu, f;
  PathData now;
  MarginFactor factor;

  std::int64_t since_refresh = 0;
  std::mt19937 random{20110323};  // for ties that do not resolve themselves

  bool on_pairs() const { return !first.empty(); }
  std::size_t sample(std::size_t v) const { return v < n ? v : v % n; }
  std::size_t key(std::size_t v) const { return on_pairs() ? v : sample(v); }  // of its row in the store
  // What values per sample say about a variable.
  double at(const double* x, std::size_t v) const {
    return on_pairs() ? x[static_cast<std::size_t>(first[v])] - x[static_cast<std::size_t>(second[v])] : x[sample(v)];
  }
  double at(const std::vector<double>& x, std::size_t v) const { return at(x.data(), v); }
  double bound(std::size_t v) const { return place[v] == Place::lower ? now.lower[v] : now.upper[v]; }
  double value(std::size_t v) const { return place[v] == Place::margin ? beta[v] : bound(v); }

 private:
  // A line along which the data move.  Frames nest: a repair runs inside the path it repairs.
  struct Frame {
    PathData base, rate;
    double span = 0, t = 0;
    bool moves_linear = false, moves_lower = false, moves_upper = false;
    bool moves_bounds() const { return moves_lower || moves_upper; }
    std::vector<double> h;      // K times the rates of the variables on bounds,
    std::vector<double> h_low;  // and what its additions lost
    std::vector<double> moved;  // sums of these rates, per group
    std::vector<std::int32_t> movers;  // variables whose bounds move, where these are few
    bool few = false;
    double linear_top = 0, h_top = 0;  // largest rates
    int h_age = 0;
    bool h_exact = false;  // computed, and not only updated
  };
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
    Stopwatch* watch = nullptr;
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
  void aim(const Frame& frame, const std::vector<double>& from, std::vector<double>& x) const;
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
  void scales();
  std::vector<double> missing() const;
  double off_totals() const;
  double violation() const;
  double residual_violation() const;
  double seen_violation() const;  // where variables stand on pairs: as of the last look at all of them
  double tolerable() const;       // violations of residuals above this are repaired
  bool broken() const;
  bool correct(bool sums = true);

  // margin.cpp
  bool try_enter(std::size_t v);
  void to_margin(std::size_t v, const double* row, const std::vector<double>& w, double schur);
  void to_bound(std::size_t j, Place to);
  void off_bound(std::size_t v, const double* row);
  void on_bound(std::size_t v, Place to, const double* row);
  void grow_border(std::size_t v, double schur);
  void turn_in(const Frame& frame, std::size_t v);
  void turn_out(std::size_t j, Place to);
  bool enter(std::size_t v, PathResult& result);
  struct NullVector {
    std::vector<double> x, move, eta;
  };
  void null_vector(std::size_t v, const double* row, NullVector& z);
  std::pair<std::size_t, double> first_at_bound(const NullVector& z, double sign, double own) const;
  bool exchange(std::size_t v, bool upwards, PathResult& result);
  void meet_newcomers(const std::vector<double>& coefficients, std::size_t old_n);
  void refactor();

  // tracking.cpp
  void begin_tracking(Frame& frame);
  void choose_near(Frame& frame);
  void add_near(const std::vector<double>& values, std::size_t wanted);
  void end_tracking();
  void step_near(double step);
  void watch(std::size_t i, const double* row);
  void keep_margin(const std::vector<double>& linear, const std::vector<double>& offset,
                   std::vector<double>& out) const;
  template <class Look>
  void each_watched(Look look) const {  // variables of all samples that are looked at
    if (!tracking_) {
      for (std::size_t v = 0; v < N; ++v) look(v);
      return;
    }
    for (std::size_t slot = 0; slot < N; slot += n)
      for (std::int32_t i : near_) look(slot + static_cast<std::size_t>(i));
  }
  bool far(std::size_t v) const { return tracking_ && !is_near_[sample(v)]; }

  // run.cpp and start.cpp
  Status run(Frame& frame, const Run& run);
  void note(const Run& run, const Frame& frame, double step);
  bool repair(const Run& run, bool tracked = false);
  bool mend(const Run& run);
  bool witness(const Run& run);
  void rest_offsets();
  bool stop_asked(const Run& run, Status& status);
  void cross_over(Span<const double> point, PathResult& result);
  void guess_mu();
  void polish(const Run& run);
  Frame shifted_frame();

  // events.cpp
  bool settle_groups(Frame& frame, PathResult& result);
  Place resting_place(const Frame& frame, std::size_t i) const;
  bool leaves_interval(const Frame& frame, std::size_t g, const std::vector<Place>& to) const;
  bool drop_idle(const Frame& frame, std::size_t g);
  void centre(Frame& frame, std::size_t g, double& limit);
  Event next_event(Frame& frame);
  Event choose(double limit);
  void dual_candidates(const Frame& frame, double& limit);
  void pair_candidates(const Frame& frame, double& limit);
  void everybody_candidates(const Frame& frame, double& limit);
  void primal_candidates(const Frame& frame, double& limit);
  void offer(double& limit, double step, double relaxed, double pivot, const Event& event);
  bool handle(const Event& event, PathResult& result);
  void perturb(Frame& frame);

  PinnedRows store_;
  std::vector<const double*> rows_;  // of the margin
  std::vector<std::size_t> count_;   // margin variables per group
  bool one_group_ = false;           // all variables are in one
  std::vector<double> diagonal_;
  double kappa_ = 1, k_scale_ = 1;
  Parallel parallel_;

  std::vector<std::vector<double>> border_;  // K̃⁻¹ 1_g
  std::vector<double> border_matrix_;        // 1_gᵀ K̃⁻¹ 1_h
  bool border_fresh_ = false, direction_fresh_ = false;
  std::int64_t border_age_ = 0;

  // Only these samples are looked at while an update is under way; the others hear at the end what changed since it
  // began.
  bool tracking_ = false;
  std::vector<std::int32_t> near_;
  std::vector<char> is_near_;
  std::vector<std::vector<double>> near_rows_;  // of the margin
  std::vector<const double*> near_pointers_;
  std::vector<double> buffer_;
  struct Begun {
    const Frame* frame;
    double t;
    std::int64_t since_refresh;
    std::vector<double> f, values, h;
    std::vector<Place> place;
  } begun_{};

  std::vector<double> dbeta_, dmu_, df_;
  double dbeta_scale_ = 0, rate_noise_ = 0;
  bool polishing_ = false;  // the sum Kβ is better than rounding may make it
  double r_noise_ = 0, fine_noise_ = 0, b_noise_ = 0, sum_noise_ = 0, scale_ = 1, reach_ = 1;
  double seen_violation_ = 0;  // of pairs on their bounds

  struct Candidate {
    double step, relaxed, pivot;
    Event event;
  };
  std::vector<Candidate> candidates_;
  std::vector<double> rates_;  // of residuals
  std::int64_t idle_ = 0;
  std::vector<Frame*> frames_;
  Frame outer_;  // of the path that is followed
  std::vector<std::pair<std::int32_t, Place>> changes_;  // since the last recorded segment
  std::vector<double> column_, z_;                       // what try_enter found
  double schur_ = 0;
  const double* entering_row_ = nullptr;
  std::int64_t refactorings_ = 0;
  std::vector<double> unperturbed_;  // linear terms of the path, once they were moved apart
  Status stopped_ = Status::solved;  // how the last repair ended
};

}  // namespace hinge
