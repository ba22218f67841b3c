// path.hpp: parametric active-set method for the solution of
//     min ½βᵀKβ + cᵀβ   subject to  Σ_{v ∈ g} β_v = e_g,  l ≤ β ≤ u     docs/math (201)
// while c, l, u and e move along a line.
//
// Owns the state of the path: the free variables (the margin), a Cholesky factor of their matrix, f = Kβ, the
// multipliers, and a store of kernel rows.  Uses rows of K and products with K.  The matrix of the margin is always
// nonsingular: a variable whose column depends on those of the margin is exchanged, not added.
// Cost of an event: n·|M| for the direction of f and O(|M|²) for the factor.
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

// The data of the problem, or their rates of change.
struct PathData {
  std::vector<double> linear, lower, upper;  // per variable
  std::vector<double> total;                 // per group
};

// The segments of the path on which the solution is linear, as columns.
struct PathRecord {
  std::vector<double> start, stop;           // per segment: values of the parameter
  std::vector<double> mu, mu_rate;           // segments × groups, at the start
  std::vector<std::int64_t> offset{0};       // segment k: entries offset[k] … offset[k + 1] − 1 of
  std::vector<std::int32_t> margin;          // `margin`, the variables of the margin,
  std::vector<double> value, rate;           // `value`, their values at the start, and `rate`, their rates
  std::vector<std::int64_t> changed_at;      // before segment changed_at, the variable `changed` moved to `place`
  std::vector<std::int32_t> changed;
  std::vector<std::int8_t> place;
  std::vector<double> violation;             // per segment: the largest relative KKT violation at its ends
};

struct PathOptions {
  double max_seconds = 0;        // 0: no limit
  std::int64_t max_events = -1;  // −1: no limit
};

struct PathResult {
  Status status = Status::solved;
  bool infeasible = false;   // no variable of a group can follow its total
  double reached = 0;        // value of the parameter
  std::int64_t events = 0, exchanges = 0, idle = 0, repairs = 0, refactorings = 0, refreshes = 0;  // idle: zero steps
  double violation = 0;      // the largest relative KKT violation at a breakpoint
  double margin_sum = 0;     // Σ |M| over events
};

class ActiveSet {
 public:
  // group: −1 for a variable without a group.  Variable v belongs to sample v mod n.
  ActiveSet(const Gram& gram, std::size_t slots, Span<const std::int8_t> group, std::size_t cache_bytes, int threads);
  // Variable v is the pair of samples (first[v], second[v]); its column is the difference of theirs.  f has one entry
  // per sample.  An event costs n·|M| and O(pairs).                                    (442)
  ActiveSet(const Gram& gram, std::vector<std::int32_t> first, std::vector<std::int32_t> second,
            Span<const std::int8_t> group, std::size_t cache_bytes, int threads);
  ~ActiveSet();

  // Moves from a point near the optimum of `data` to the optimum: crossover to an independent margin, then a path from
  // data for which the point is optimal to `data`.
  PathResult start(Span<const double> beta, PathData data, const PathOptions& options, RunControl& control);

  // Follows the path data + t · rate for t in [0, span]; the parameter in the record is origin + t.
  PathResult follow(PathData rate, double origin, double span, PathRecord* record, const PathOptions& options,
                    RunControl& control);

  // Appends samples.  `data` are those of all variables, unchanged for the old ones.  The old Gram is no longer used.
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
