// gram.hpp: the kernel matrix of n samples as a KernelSource: computed from vectors, stored, or asked of a
// callback. A Gram views its samples or matrix (the caller keeps them alive) and owns its kernel function and
// a few vectors of length n.  Calls from several threads are safe; those on sparse samples take turns.
//
// Costs of one row: dense n·d multiply-adds and n kernel values, sparse one pass over all nonzeros, matrix a
// copy. Dense squared distances are summed from differences: no cancellation, whatever the origin. Arithmetic
// is double, and float where both the samples and the row are float. K[i, j] and K[j, i] have the same bits;
// equal rows have distance exactly 0.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/kernel_source.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

class Gram : public KernelSource {
 public:
  // out = K v.
  virtual void multiply(Span<const double> v, Span<double> out, const Parallel& parallel) const = 0;
};

std::unique_ptr<Gram> make_gram(const Samples& samples, const KernelFunction& function);

// A stored n × n matrix, row-major.
std::unique_ptr<Gram> make_gram(const float* matrix, std::size_t n);
std::unique_ptr<Gram> make_gram(const double* matrix, std::size_t n);

// row(i, out) writes the n values of row i and may throw.
using RowCallback = std::function<void(std::size_t, Span<double>)>;
std::unique_ptr<Gram> make_gram(std::vector<double> diagonal, RowCallback row);

// K + diag(ridge); views the other matrix, which must outlive it.
std::unique_ptr<Gram> make_gram(const Gram& inner, std::vector<double> ridge);

// All of K, row-major, n × n: the upper triangle in blocks, the lower one its mirror image.
void fill(const KernelSource& source, float* out, const Parallel& parallel);
void fill(const KernelSource& source, double* out, const Parallel& parallel);

}  // namespace hinge
