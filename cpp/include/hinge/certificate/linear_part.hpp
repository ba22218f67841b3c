// linear_part.hpp: sums over a part of the samples of a linear problem, from which its bounds are computed.
//
// Parts of disjoint sets of samples are merged in any order; the bounds of the merged part hold for all samples,
// docs/math (654).  Parts can be sent between processes as vectors of numbers.
#pragma once

#include <cstddef>
#include <vector>

#include "hinge/certificate/bounded_sum.hpp"
#include "hinge/span.hpp"

namespace hinge {

// Plain sums over the samples of a chunk.  All but `dual` and `total` are sums of non-negative numbers.
struct LinearSums {
  double losses = 0, inflation = 0;    // Σ largest loss within the errors; bound on its part that is due to the errors
  double loss_sizes = 0;               // Σ (loss + ridge h²), the sizes of the terms of the losses
  double dual = 0, total = 0;          // Σ ((target − f_share f) β − tube |β| − ½ ridge β²), Σ β, for β in its box
  double squares = 0, linear = 0;      // Σ ½ ridge β² and Σ (|target β| + f_share |f β| + tube |β|)
  double boxes = 0;                    // Σ width of the box · (|target| + tube); target² / ridge if it is not finite
  double magnitude = 0;                // Σ |β|
  double weighted = 0, moved = 0;      // Σ ‖x_i‖ |β_i| and Σ ‖x_i‖ |step of β_i into its box|
  double violation = 0, outside = 0;   // largest KKT violation, and distance from the box
};

// A sample that can correct the sum of β: the distance of β_i from its bound, and what the correction costs.
struct SlackCandidate {
  double slack;
  double slope;  // |target| + tube + ridge |β|
  double norm;   // upper bound on ‖x_i‖
  double ridge;
};

struct LinearPart {
  BoundedSum losses, dual, beta;  // the sums of LinearSums with bounds on their errors; `beta` is the sum of β
  LinearSums sums;                // the others
  double plain = 0;               // relative error of plain sums
  double rounded_additions = 0;   // additions without compensation in a component of Σ β_i x_i, and other roundings
  double count = 0;               // number of samples
  std::vector<double> combined, compensation;        // Σ β_i x_i is the sum of both
  std::vector<SlackCandidate> increasing, decreasing;  // samples that can increase, or decrease, the sum of β

  void add(const LinearSums& part);
  void merge(const LinearPart& other);

  // All numbers of the part as a vector, and the part with these numbers.
  std::vector<double> state() const;
  static LinearPart from_state(Span<const double> state);
};

}  // namespace hinge
