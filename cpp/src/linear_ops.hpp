// linear_ops.hpp: dense rows of float or double against vectors of double; AVX2 by run-time dispatch.
#pragma once

#include <cstddef>

namespace hinge {

struct LinearOps {
  double (*dot_float)(const float* x, const double* w, std::size_t d);
  double (*dot_double)(const double* x, const double* w, std::size_t d);
  void (*add_float)(const float* x, double factor, double* w, std::size_t d);
  void (*add_double)(const double* x, double factor, double* w, std::size_t d);
  // upper triangle of H += Σ_r scale[r] x_r x_rᵀ for eight rows of `stride` (a multiple of 4) doubles
  void (*rank8)(const double* rows, const double* scale, std::size_t stride, double* h);
};

const LinearOps& linear_ops();

inline double dot(const LinearOps& ops, const float* x, const double* w, std::size_t d) {
  return ops.dot_float(x, w, d);
}
inline double dot(const LinearOps& ops, const double* x, const double* w, std::size_t d) {
  return ops.dot_double(x, w, d);
}
inline void add(const LinearOps& ops, const float* x, double factor, double* w, std::size_t d) {
  ops.add_float(x, factor, w, d);
}
inline void add(const LinearOps& ops, const double* x, double factor, double* w, std::size_t d) {
  ops.add_double(x, factor, w, d);
}

}  // namespace hinge
