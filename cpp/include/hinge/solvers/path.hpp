// path.hpp: the solution of   min ½βᵀKβ + cᵀβ   s.t.  Σ_{v ∈ g} β_v = e_g,  lo ≤ β ≤ hi     docs/math (201)
// while c, lo, hi and e move along a line: a parametric active set method.
//
// Owns the state of the path: which variables are free (the margin), a Cholesky factor of their matrix, f = Kβ, the
// multipliers, and a store of kernel rows.  K is only asked for rows and products.  The matrix of the margin is
// nonsingular at all times: a variable whose column depends on those of the margin is exchanged, never added.
// Costs of one event: n·|M| for the direction of f and a few |M|² for the factor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "hinge/kernels/gram.hpp"
#include "hinge/run_control.hpp"
#include "hinge/span.hpp"

namespace hinge {

enum class Place : std::int8_t { lower = 0, upper = 1, margin = 2 };

// Values, or rates of change, of everything that may move.
struct PathData {
  std::vector<double> linear, lower, upper;  // per variable
  std::vector<double> total;                 // per group
};

// Every piece of the path on which the solution is linear, as columns.
struct PathRecord {
  std::vector<double> start, stop;           // per segment: values of the parameter
  std::vector<double> mu, mu_rate;           // segments × groups, at the start
  std::vector<std::int64_t> offset{0};       // segment k has the margin variables offset[k] … offset[k + 1]
  std::vector<std::int32_t> margin;          // their numbers,
  std::vector<double> value, rate;           // their values at the start, and rates
  std::vector<std::int64_t> changed_at;      // before segment changed_at the variable `changed` moved to `place`
  std::vector<std::int32_t> changed;
  std::vector<std::int8_t> place;
  std::vector<double> violation;             // per segment, at its start: KKT violation relative to the scale there
};

struct PathOptions {
  double max_seconds = 0;        // 0: no limit
  std::int64_t max_events = -1;  // −1: no limit
};

struct PathResult {
  Status status = Status::solved;
  bool infeasible = false;   // no variable of a group can move the way its total moves
  double reached = 0;        // value of the parameter
  std::int64_t events = 0, exchanges = 0, idle = 0, repairs = 0, refactorings = 0, refreshes = 0;
  double violation = 0;      // largest KKT violation at a breakpoint, relative
  double margin_sum = 0;     // Σ |M| over events
};

class ActiveSet {
 public:
  // `group` holds −1 for a variable in no group.  Variable v stands on sample v mod n.
  ActiveSet(const Gram& gram, std::size_t slots, Span<const std::int8_t> group, std::size_t cache_bytes, int threads);
  // Variable v stands on the pair of samples first[v], second[v]: its column is the difference of theirs, and f lives
  // on samples all the same.  An event then costs n·|M| and O(pairs).                                    (442)
  ActiveSet(const Gram& gram, std::vector<std::int32_t> first, std::vector<std::int32_t> second,
            Span<const std::int8_t> group, std::size_t cache_bytes, int threads);
  ~ActiveSet();

  // From a point near the optimum of `data` to the optimum: crossover to an independent margin, then a path from the
  // data for which the point is optimal to the data given.
  PathResult start(Span<const double> beta, PathData data, const PathOptions& options, RunControl& control);

  // Follow the path data + t · rate for t in [0, span]; the record's parameter is origin + t.
  PathResult follow(PathData rate, double origin, double span, PathRecord* record, const PathOptions& options,
                    RunControl& control);

  // The same samples and more after them; `data` are those of all variables, unchanged for the old ones.  The old
  // source is not needed any more.
  void grow(const Gram& bigger, Span<const std::int8_t> group, PathData data);

  std::size_t size() const;
  std::size_t groups() const;
  std::vector<double> beta() const;
  std::vector<double> mu() const;
  const std::vector<double>& f() const;
  std::vector<std::int8_t> places() const;
  PathData data() const;
  std::size_t margin_size() const;

  struct Snapshot;
  std::shared_ptr<const Snapshot> snapshot() const;
  void restore(const Snapshot& snapshot);

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace hinge
