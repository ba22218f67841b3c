// gradient_error.hpp: bound on the error of f = Kβ, which a solver updates row by row; docs/math (610).
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/span.hpp"

namespace hinge {

class GradientError {
 public:
  GradientError() = default;
  GradientError(const KernelSource& kernel, Span<const double> diagonal) : value_error_(kernel.value_error()) {
    for (double d : diagonal) largest_ = std::fmax(largest_, std::abs(d));
  }

  // f was computed as the sum of `terms` rows, with Σ|β| = sum.
  void restart(double sum, std::size_t terms) {
    travel_ = sum_ = sum;
    rounding_ = kUnitRoundoff * static_cast<double>(terms + 2) * largest_ * sum;
  }

  // `terms` rows were added to f.  moved: the sum of their absolute coefficients; growth: the change of Σ|β|.
  void add(double moved, double growth, std::size_t terms) {
    sum_ += growth;
    travel_ += moved;
    rounding_ += kUnitRoundoff * static_cast<double>(terms + 2) * largest_ * (std::abs(sum_) + moved);
  }

  double value() const { return 1.01 * (value_error_ * travel_ + rounding_); }

 private:
  static constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;
  double value_error_ = 0, largest_ = 0;  // of a kernel value
  double sum_ = 0;                        // Σ|β|
  double travel_ = 0;                     // the sum of the absolute changes of β since f was computed
  double rounding_ = 0;                   // of the sums
};

}  // namespace hinge
