// loops.hpp: loops over samples for the certificates of linear problems, compiled for several instruction sets
// (simd/dispatch.hpp).
#pragma once

#include <cstddef>

#include "simd/dispatch.hpp"

namespace hinge {

// Arrays with one value per sample of a linear problem, and constants; see linear_bounds.hpp.
struct LinearTerms {
  const double *target, *lower, *upper, *ridge, *beta;
  const double *f, *norm;  // ⟨w, x_i⟩ without its offset, and ‖x_i‖
  double offset, tube;
  double product_error;  // bound on the error of ⟨w, x_i⟩, relative to ‖x_i‖
  double box_share;      // 1 − relative error of lower, upper and ridge
  double f_share;        // 1 if the dual sum includes −f β, else 0
};

// Plain sums over the samples of a chunk.  All but `dual` and `total` are sums of non-negative numbers.
struct LinearSums {
  double losses = 0, inflation = 0;    // Σ largest loss within the errors; bound on its part that is due to the errors
  double loss_sizes = 0;               // Σ (loss + ridge h²), the sizes of the terms of the losses
  double dual = 0, total = 0;          // Σ ((target − f_share f) β − tube |β| − ½ ridge β²), Σ β, for β in its box
  double squares = 0, linear = 0;      // Σ ½ ridge β² and Σ (|target β| + f_share |f β| + tube |β|)
  double boxes = 0;                    // Σ width of the box · (|target| + tube), for finite boxes
  double magnitude = 0;                // Σ |β|
  double weighted = 0, moved = 0;      // Σ ‖x_i‖ |β_i| and Σ ‖x_i‖ |step of β_i into its box|
  double violation = 0, outside = 0;   // largest KKT violation, and distance from the box
};

struct CertificateLoops {
  // For `rows` contiguous rows of d features: f = ⟨w, x⟩, norm = ‖x‖, sum += Σ β x.
  void (*rows_float)(const float* x, std::size_t rows, std::size_t d, const double* w, const double* beta, double* f,
                     double* norm, double* sum);
  void (*rows_double)(const double* x, std::size_t rows, std::size_t d, const double* w, const double* beta, double* f,
                      double* norm, double* sum);
  LinearSums (*terms)(const LinearTerms& terms, std::size_t n);
  double (*squares)(const double* x, std::size_t n);  // Σ x², a plain sum in four lanes
  // Largest absolute value; the values are finite.
  double (*largest_float)(const float* x, std::size_t n);
  double (*largest_double)(const double* x, std::size_t n);
};

extern const CertificateLoops certificate_loops_base, certificate_loops_avx2;

inline const CertificateLoops& certificate_loops() {
  return for_processor(certificate_loops_base, certificate_loops_avx2);
}

}  // namespace hinge
