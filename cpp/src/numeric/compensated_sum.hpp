// compensated_sum.hpp: a sum with its rounding errors [Knuth], as accurate as in twice the precision.
#pragma once

namespace hinge {

class CompensatedSum {
 public:
  void add(double value) {
    const double next = sum_ + value, part = next - sum_;
    error_ += (sum_ - (next - part)) + (value - part);
    sum_ = next;
  }
  double value() const { return sum_ + error_; }

 private:
  double sum_ = 0, error_ = 0;
};

}  // namespace hinge
