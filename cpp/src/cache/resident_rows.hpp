// resident_rows.hpp: the kernel matrix of a subset of samples; every row is computed at its first use and kept.
// Views the source; owns memory for all rows, which is reused for the next subset.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "hinge/kernels/kernel_source.hpp"

namespace hinge {

template <class T>
class ResidentRows final : public KernelSource {
 public:
  // Switches to another subset.
  void open(const KernelSource& source, Span<const std::int32_t> samples, Span<const double> all_diagonal) {
    source_ = &source, samples_ = samples;
    const std::size_t n = samples.size();
    if (n * n > allocated_) {
      allocated_ = n * n;
      values_.reset();
      values_.reset(new T[allocated_]);  // uninitialized: pages are allocated when rows are computed
    }
    computed_.assign(n, 0);
    diagonal_.clear();
    for (std::int32_t i : samples) diagonal_.push_back(all_diagonal[static_cast<std::size_t>(i)]);
  }

  const T* row(std::size_t k) const {
    T* const values = values_.get() + k * samples_.size();
    if (!computed_[k]) {
      source_->row(static_cast<std::size_t>(samples_[k]), samples_, Span<T>(values, samples_.size()));
      computed_[k] = 1;
    }
    return values;
  }

  std::size_t size() const override { return samples_.size(); }
  Span<const double> diagonal() const { return diagonal_; }
  void diagonal(Span<double> out) const override { std::copy(diagonal_.begin(), diagonal_.end(), out.begin()); }
  void row(std::size_t k, Span<const std::int32_t> columns, Span<double> out) const override {
      select(k, columns, out); }
  void row(std::size_t k, Span<const std::int32_t> columns, Span<float> out) const override { select(k, columns, out); }

 private:
  template <class Out>
  void select(std::size_t k, Span<const std::int32_t> columns, Span<Out> out) const {
    const T* const values = row(k);
    for (std::size_t j = 0; j < out.size(); ++j)
      out[j] = static_cast<Out>(values[columns.empty() ? j : static_cast<std::size_t>(columns[j])]);
  }

  const KernelSource* source_ = nullptr;
  Span<const std::int32_t> samples_;
  std::vector<double> diagonal_;
  std::size_t allocated_ = 0;
  std::unique_ptr<T[]> values_;
  mutable std::vector<char> computed_;
};

}  // namespace hinge
