// bounded_sum.hpp: a compensated sum with a bound on its rounding error; docs/math (605).
#pragma once

#include <cmath>
#include <limits>

namespace hinge {

constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;

// The sum of numbers and of exact products of two numbers.  The error is zero if no operation was rounded.
class BoundedSum {
 public:
  void add(double value) {
    const double next = sum_ + value, part = next - sum_;
    const double error = (sum_ - (next - part)) + (value - part);
    sum_ = next;
    if (error != 0) error_ += error, ++rounded_;
    magnitude_ += std::abs(value);
  }

  void add_product(double a, double b) {
    const double product = a * b;
    add(product);
    if (const double error = std::fma(a, b, -product); error != 0) {
      error_ += error, ++rounded_;
      magnitude_ += std::abs(error);
    }
    if (product != 0 && std::abs(product) < kUnderflow) ++underflows_;
  }

  // Add all terms of another sum.
  void merge(const BoundedSum& other) {
    add(other.sum_);
    error_ += other.error_, ++rounded_;
    magnitude_ += other.magnitude_, rounded_ += other.rounded_, underflows_ += other.underflows_;
  }

  // Call take(field) with a reference to every field, in a fixed order.
  template <class Take>
  void for_each_field(Take take) {
    take(sum_), take(error_), take(magnitude_), take(rounded_), take(underflows_);
  }

  double value() const { return sum_ + error_; }

  // At most k operations on `error_`, which has at most k u Σ|value|, and the last addition were rounded.
  double error() const {
    const double k = rounded_ * kUnitRoundoff;
    const double last = rounded_ > 0 ? kUnitRoundoff * std::abs(value()) : 0;
    return 1.001 * (last + k * k * magnitude_) + underflows_ * kUnderflow;
  }

 private:
  static constexpr double kUnderflow = 1e-290;  // products below this may have an inexact rounding error
  double sum_ = 0, error_ = 0, magnitude_ = 0;
  double rounded_ = 0, underflows_ = 0;  // counts, exact up to 2⁵³
};

}  // namespace hinge
