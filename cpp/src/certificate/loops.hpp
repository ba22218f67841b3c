// loops.hpp: loops over samples for the certificates of linear problems, compiled for several instruction sets
// (simd/dispatch.hpp).
#pragma once

#include <cstddef>

#include "hinge/certificate/linear_part.hpp"
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
