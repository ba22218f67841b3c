// gram.hpp: the kernel matrix of n samples as a KernelSource: computed from samples, stored, or computed by a callback.
// A Gram views its samples or matrix, which the caller keeps alive, and owns its kernel function and a few vectors of
// length n.  Calls from several threads are safe; single rows of sparse samples are computed one at a time.
//
// Cost of one row: n·d multiply-adds and n kernel values for dense samples, one pass over all nonzeros for sparse
// samples, a copy for a stored matrix.  Squared distances of single dense rows are sums of squared differences, without
// cancellation.  Arithmetic is in double; it is in float if the samples and the requested row are float.  K[i, j] and
// K[j, i] are bit-identical; equal rows have distance 0.
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

// A stored n × n matrix, row-major; value_error bounds the errors of its values, if they do not define the matrix.
std::unique_ptr<Gram> make_gram(const float* matrix, std::size_t n, double value_error = 0);
std::unique_ptr<Gram> make_gram(const double* matrix, std::size_t n, double value_error = 0);

// row(i, out) writes the n values of row i; it may throw.
using RowCallback = std::function<void(std::size_t, Span<double>)>;
std::unique_ptr<Gram> make_gram(std::vector<double> diagonal, RowCallback row);

// K + diag(ridge); views `inner`, which must outlive it.
std::unique_ptr<Gram> make_gram(const Gram& inner, std::vector<double> ridge);

// Writes all of K, row-major: computes the upper triangle in blocks and mirrors it.
void fill(const KernelSource& source, float* out, const Parallel& parallel);
void fill(const KernelSource& source, double* out, const Parallel& parallel);

}  // namespace hinge
