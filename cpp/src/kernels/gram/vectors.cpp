// vectors.cpp: the kernel matrix of dense and of sparse samples.
// A row is computed in chunks of columns that stay in the L1 cache: dot products and distances, then the kernel
// function.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <type_traits>

#include "hinge/kernels/expansion.hpp"
#include "hinge/kernels/gram.hpp"
#include "hinge/parallel.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/loops/vector_ops.hpp"
#include "kernels/sparse/operations.hpp"

namespace hinge {
namespace {

constexpr std::size_t kChunk = 256;  // columns; a multiple of kPad

// The work arrays of one chunk: dot products, distances and the stack of the kernel function.
template <class T>
struct Chunk {
  alignas(kAlignment) T dot[kChunk];
  alignas(kAlignment) T squared[kChunk];
  alignas(kAlignment) T l1[kChunk];
  alignas(kAlignment) T stack[kChunk * KernelFunction::kMaxDepth];

  Base<T> base() const { return {dot, squared, l1}; }
};

// For every chunk of columns: calls fill(chunk, first, count), evaluates the kernel function and writes the values to
// out.
template <class T, class Out, class Fill>
void by_chunks(const KernelFunction& function, Span<Out> out, Fill fill) {
  Chunk<T> chunk;  // uninitialized
  const Needs needs = function.needs();
  for (std::size_t first = 0; first < out.size(); first += kChunk) {
    const std::size_t count = std::min(kChunk, out.size() - first);
    const std::size_t m = padded(count);
    fill(chunk, first, count);
    for (std::size_t j = count; j < m; ++j) {
      if (needs.dot) chunk.dot[j] = 0;
      if (needs.squared) chunk.squared[j] = 0;
      if (needs.l1) chunk.l1[j] = 0;
    }
    function.evaluate(chunk.base(), m, chunk.stack);
    std::copy(chunk.stack, chunk.stack + count, out.data() + first);
  }
}

// Common part for dense and sparse samples.  The diagonal needs dot products only; products use expand().
class VectorGram : public Gram {
 public:
  VectorGram(const Samples& samples, const KernelFunction& function)
      : samples_(samples), function_(function), size_(rows(samples)) {}

  std::size_t size() const override { return size_; }
  double cost() const override { return kernel_rows().cost(); }
  std::size_t own_bytes() const override { return kernel_rows().bytes(); }
  double value_error() const override { return kernel_rows().value_error(); }

  void diagonal(Span<double> out) const override {
    by_chunks<double>(function_, out, [this](Chunk<double>& chunk, std::size_t first, std::size_t count) {
      std::fill(chunk.squared, chunk.squared + count, 0.0);
      std::fill(chunk.l1, chunk.l1 + count, 0.0);
      if (function_.needs().dot) squared_norms(first, count, chunk.dot);
    });
  }

  std::unique_ptr<const Columns> columns(Span<const std::int32_t> list, std::size_t bytes) const override {
    return std::make_unique<PackedColumns>(size_, list, bytes);
  }

  void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<double* const> out,
                  const Parallel& parallel, Part part) const override {
    kernel_rows().compute(which, static_cast<const PackedColumns&>(columns), out, parallel, part);
  }
  void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<float* const> out,
                  const Parallel& parallel, Part part) const override {
    kernel_rows().compute(which, static_cast<const PackedColumns&>(columns), out, parallel, part);
  }

  void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, float,
                Span<double> out, const Parallel& parallel) const override {
    kernel_rows().add<float>(which, coef, static_cast<const PackedColumns&>(columns), out, parallel);
  }
  void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, double,
                Span<double> out, const Parallel& parallel) const override {
    kernel_rows().add<double>(which, coef, static_cast<const PackedColumns&>(columns), out, parallel);
  }

  void add_square(Span<const std::int32_t> which, Span<const double> coef, Span<double> out, std::size_t bytes,
                  const Parallel& parallel) const override {
    kernel_rows().add_square(which, coef, out, bytes, parallel);
  }

  void multiply(Span<const double> v, Span<double> out, const Parallel& parallel) const override {
    expand(samples_, samples_, function_, v, 1, out, Precision::full, parallel);
  }

 protected:
  virtual void squared_norms(std::size_t first, std::size_t count, double* out) const = 0;  // x_i·x_i

  const Samples samples_;
  const KernelFunction function_;
  const std::size_t size_;

 private:
  // Created at the first use, with one pass over the samples.
  const KernelRows& kernel_rows() const {
    std::call_once(prepared_,
                   [this] { kernel_rows_ = std::make_unique<const KernelRows>(samples_, function_); });
    return *kernel_rows_;
  }

  mutable std::once_flag prepared_;
  mutable std::unique_ptr<const KernelRows> kernel_rows_;
};

template <class In>
class DenseGram final : public VectorGram {
 public:
  DenseGram(const Dense<In>& dense, const KernelFunction& function) : VectorGram(dense, function), x_(dense) {
    if (x_.features < kLanes<float>) pad_features();
  }

  void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const override {
    fill<double>(i, columns, out);
  }
  void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const override {
    fill<In>(i, columns, out);  // float arithmetic for float samples, double for double
  }

 private:
  // The row operations read whole vectors: samples with fewer features are copied and padded with zeros.
  void pad_features() {
    constexpr std::size_t width = kLanes<float>;
    padded_.assign(x_.rows * width, In(0));
    for (std::size_t i = 0; i < x_.rows; ++i) {
      std::copy(x_.row(i), x_.row(i) + x_.features, padded_.data() + i * width);
    }
    x_ = {padded_.data(), x_.rows, width};
  }

  template <class T, class Out>
  void fill(std::size_t i, Span<const std::int32_t> columns, Span<Out> out) const {
    const RowOps<In, T>& ops = vector_ops().rows<In, T>();
    const Needs needs = function_.needs();
    const std::size_t d = x_.features;
    by_chunks<T>(function_, out, [&](Chunk<T>& chunk, std::size_t first, std::size_t count) {
      const std::int32_t* const list = columns.empty() ? nullptr : columns.data() + first;
      const In* const z = columns.empty() ? x_.row(first) : x_.values;
      if (needs.dot) ops.dot(x_.row(i), z, d, d, list, count, chunk.dot);
      if (needs.squared) ops.squared(x_.row(i), z, d, d, list, count, chunk.squared);
      if (needs.l1) ops.l1(x_.row(i), z, d, d, list, count, chunk.l1);
    });
  }

  void squared_norms(std::size_t first, std::size_t count, double* out) const override {
    const RowOps<In, double>& ops = vector_ops().rows<In, double>();
    for (std::size_t j = 0; j < count; ++j) {
      ops.dot(x_.row(first + j), x_.row(first + j), x_.features, x_.features, nullptr, 1, out + j);
    }
  }

  Dense<In> x_;
  std::vector<In> padded_;
};

// Row i is scattered to a dense vector, from which entries are gathered for every other row.
template <class In, class Index>
class SparseGram final : public VectorGram {
 public:
  SparseGram(const Csr<In, Index>& csr, const KernelFunction& function)
      : VectorGram(csr, function), x_(csr), scattered_(csr.features, 0.0) {
    const Needs needs = function.needs();
    if (needs.squared) norms_ = sparse_norms(x_);
    if (needs.l1) l1_norms_ = sparse_l1_norms(x_);
  }

  void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const override {
    fill(i, columns, out);
  }
  void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const override {
    fill(i, columns, out);
  }

 private:
  template <class Out>
  void fill(std::size_t i, Span<const std::int32_t> columns, Span<Out> out) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    scatter(x_, i, scattered_.data());
    const Needs needs = function_.needs();
    const double* const x = scattered_.data();
    by_chunks<double>(function_, out, [&](Chunk<double>& chunk, std::size_t first, std::size_t count) {
      for (std::size_t c = 0; c < count; ++c) {
        const std::size_t j = columns.empty() ? first + c : static_cast<std::size_t>(columns[first + c]);
        if (needs.dot || needs.squared) chunk.dot[c] = sparse_dot(x_, j, x);
        if (needs.squared) chunk.squared[c] = std::max(0.0, norms_[i] + norms_[j] - 2 * chunk.dot[c]);
        if (needs.l1) chunk.l1[c] = std::max(0.0, l1_norms_[i] + l1_norms_[j] - 2 * sparse_overlap(x_, j, x));
      }
    });
    unscatter(x_, i, scattered_.data());
  }

  void squared_norms(std::size_t first, std::size_t count, double* out) const override {
    for (std::size_t j = 0; j < count; ++j) out[j] = sparse_norm(x_, first + j);
  }

  const Csr<In, Index> x_;
  std::vector<double> norms_, l1_norms_;
  mutable std::mutex mutex_;  // protects scattered_
  mutable std::vector<double> scattered_;  // all zero between calls
};

template <class In>
std::unique_ptr<Gram> gram_of(const Dense<In>& dense, const KernelFunction& function) {
  return std::make_unique<DenseGram<In>>(dense, function);
}

template <class In, class Index>
std::unique_ptr<Gram> gram_of(const Csr<In, Index>& csr, const KernelFunction& function) {
  return std::make_unique<SparseGram<In, Index>>(csr, function);
}

}  // namespace

std::unique_ptr<Gram> make_gram(const Samples& samples, const KernelFunction& function) {
  return std::visit([&](const auto& storage) { return gram_of(storage, function); }, samples);
}

}  // namespace hinge
