// operations.hpp: operations of one CSR row and a dense vector.
// Terms are added in the order of the features.  A term is exactly 0 where the vector is 0, so the result is the sum
// over the common nonzeros of two rows, and bit-identical if the roles of the rows are exchanged.  Cost: the nonzeros
// of the row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "hinge/kernels/samples.hpp"

namespace hinge {

template <class T, class I>
void scatter(const Csr<T, I>& csr, std::size_t i, double* dense) {
  for (I k = csr.start[i]; k < csr.start[i + 1]; ++k) dense[csr.index[k]] = csr.values[k];
}

template <class T, class I>
void unscatter(const Csr<T, I>& csr, std::size_t i, double* dense) {
  for (I k = csr.start[i]; k < csr.start[i + 1]; ++k) dense[csr.index[k]] = 0;
}

template <class T, class I, class D>
double sparse_dot(const Csr<T, I>& csr, std::size_t j, const D* dense) {
  double sum = 0;
  for (I k = csr.start[j]; k < csr.start[j + 1]; ++k) {
    sum += static_cast<double>(csr.values[k]) * static_cast<double>(dense[csr.index[k]]);
  }
  return sum;
}

// overlap(a, b) with |a - b| = |a| + |b| - 2 overlap(a, b): min(|a|, |b|) if the signs agree, else 0.
inline double overlap(double a, double b) { return std::max(0.0, std::min(a, b)) - std::min(0.0, std::max(a, b)); }

// Σ overlap(a, b) over the features.
template <class T, class I, class D>
double sparse_overlap(const Csr<T, I>& csr, std::size_t j, const D* dense) {
  double sum = 0;
  for (I k = csr.start[j]; k < csr.start[j + 1]; ++k) {
    sum += overlap(csr.values[k], dense[csr.index[k]]);
  }
  return sum;
}

template <class T, class I>
double sparse_norm(const Csr<T, I>& csr, std::size_t i) {
  double sum = 0;
  for (I k = csr.start[i]; k < csr.start[i + 1]; ++k) {
    sum += static_cast<double>(csr.values[k]) * static_cast<double>(csr.values[k]);
  }
  return sum;
}

template <class T, class I>
double sparse_l1_norm(const Csr<T, I>& csr, std::size_t i) {
  double sum = 0;
  for (I k = csr.start[i]; k < csr.start[i + 1]; ++k) sum += std::fabs(static_cast<double>(csr.values[k]));
  return sum;
}

template <class T, class I>
std::vector<double> sparse_norms(const Csr<T, I>& csr) {
  std::vector<double> norms(csr.rows);
  for (std::size_t i = 0; i < csr.rows; ++i) norms[i] = sparse_norm(csr, i);
  return norms;
}

template <class T, class I>
std::vector<double> sparse_l1_norms(const Csr<T, I>& csr) {
  std::vector<double> norms(csr.rows);
  for (std::size_t i = 0; i < csr.rows; ++i) norms[i] = sparse_l1_norm(csr, i);
  return norms;
}

}  // namespace hinge
