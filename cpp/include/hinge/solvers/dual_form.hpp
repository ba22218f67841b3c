// dual_form.hpp: problem (1) in α, its form in signed coordinates β = sign ∘ α for decomposition methods, and the
// multipliers and certificate of a solution.  docs/math (1), (2), (6)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/certificate/bounds.hpp"
#include "hinge/run_control.hpp"
#include "hinge/solvers/smo.hpp"
#include "hinge/span.hpp"

namespace hinge {

struct DualForm {
  Span<const double> sign;                  // ±1 for every variable
  Span<const double> linear, lower, upper;  // p, l, u
  Span<const double> rows, totals;          // A, row by row, and d
  std::size_t slots = 1;                    // variables per sample
  double bounds_error = 0, totals_error = 0, largest_diagonal = 0;  // as in BoundedProblem
};

// Owns the arrays of a SignedProblem.  Throws std::invalid_argument unless every row is constant on its variables in
// signed coordinates, and no two rows share a variable.
class SignedForm {
 public:
  explicit SignedForm(const DualForm& dual);
  SignedProblem problem() const { return {linear_, lower_, upper_, group_, slots_}; }
  std::array<double, 2> totals() const { return totals_; }  // the sums of β over the groups

 private:
  std::vector<double> linear_, lower_, upper_;
  std::vector<std::int8_t> group_;
  std::array<double, 2> totals_{};
  std::size_t slots_;
};

// A solution in α: the multipliers with the smallest gap, and the bounds that it proves.
struct DualPoint {
  std::vector<double> alpha, gradient, mu;
  bool certified = false;  // whether the error of f is known
  Bounds bounds{};
};

// f = Kβ with errors of at most f_error, which may be infinite.
DualPoint dual_point(const DualForm& dual, Span<const double> beta, Span<const double> f, double f_error);

// Moves the bounds of a history outwards by the rounding errors along the run, whose steps changed β by `travel` in
// total and kept f with errors of at most f_error; docs/math (613).
void include_errors(const DualForm& dual, Span<const double> beta, double travel, std::int64_t iterations,
                    double f_error, std::vector<Snapshot>& history);

// p, l and u of problem (1) from the linear term and the bounds of β, into arrays of the caller.  Returns false if a
// sign is not ±1, if p is not finite, or if there is no value within the bounds.
bool unsigned_variables(Span<const double> sign, Span<const double> linear, Span<const double> lower,
                        Span<const double> upper, Span<double> p, Span<double> low, Span<double> high);

}  // namespace hinge
