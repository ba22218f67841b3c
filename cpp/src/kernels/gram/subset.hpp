// subset.hpp: the kernel matrix of a subset of the samples of another source.
// Views the source and the list of samples; owns the diagonal.  Thread safety is that of the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/parallel.hpp"

namespace hinge {

class SubsetSource final : public KernelSource {
 public:
  SubsetSource(const KernelSource& source, Span<const std::int32_t> samples, Span<const double> all_diagonal)
      : source_(source), samples_(samples) {
    for (std::int32_t i : samples) diagonal_.push_back(all_diagonal[static_cast<std::size_t>(i)]);
  }

  std::size_t size() const override { return samples_.size(); }
  bool concurrent() const override { return source_.concurrent(); }
  double cost() const override { return source_.cost(); }
  double value_error() const override { return source_.value_error(); }
  void diagonal(Span<double> out) const override { std::copy(diagonal_.begin(), diagonal_.end(), out.begin()); }

  void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const override {
    source_.row(sample(i), samples_of(columns), out);
  }
  void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const override {
    source_.row(sample(i), samples_of(columns), out);
  }

  std::unique_ptr<const Columns> columns(Span<const std::int32_t> list, std::size_t bytes) const override {
    return std::make_unique<SubsetColumns>(size(), list, source_.columns(samples_of(list), bytes));
  }

  void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<double* const> out,
                  const Parallel& parallel, Part part) const override {
    source_.block_rows(rows(which), source_columns(columns), out, parallel, part);
  }
  void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<float* const> out,
                  const Parallel& parallel, Part part) const override {
    source_.block_rows(rows(which), source_columns(columns), out, parallel, part);
  }
  void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, float precision,
                Span<double> out, const Parallel& parallel) const override {
    source_.add_rows(rows(which), coef, source_columns(columns), precision, out, parallel);
  }
  void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, double precision,
                Span<double> out, const Parallel& parallel) const override {
    source_.add_rows(rows(which), coef, source_columns(columns), precision, out, parallel);
  }

  void add_square(Span<const std::int32_t> which, Span<const double> coef, Span<double> out, std::size_t bytes,
                  const Parallel& parallel) const override {
    source_.add_square(rows(which), coef, out, bytes, parallel);
  }

 private:
  struct SubsetColumns final : Columns {
    SubsetColumns(std::size_t all, Span<const std::int32_t> list, std::unique_ptr<const Columns> source_columns)
        : Columns(all, list), inner(std::move(source_columns)) {}
    std::unique_ptr<const Columns> inner;
  };

  static const Columns& source_columns(const Columns& columns) {
    return *static_cast<const SubsetColumns&>(columns).inner;
  }
  std::size_t sample(std::size_t i) const { return static_cast<std::size_t>(samples_[i]); }

  std::vector<std::int32_t> rows(Span<const std::int32_t> list) const {
    std::vector<std::int32_t> out;
    for (std::int32_t i : list) out.push_back(samples_[static_cast<std::size_t>(i)]);
    return out;
  }
  std::vector<std::int32_t> samples_of(Span<const std::int32_t> list) const {  // an empty list means all
    return list.empty() ? std::vector<std::int32_t>(samples_.begin(), samples_.end()) : rows(list);
  }

  const KernelSource& source_;
  Span<const std::int32_t> samples_;
  std::vector<double> diagonal_;
};

}  // namespace hinge
