// subset.hpp: the kernel matrix of some of the samples of another source.
// Views both the source and the list; owns the diagonal.  As safe for several threads as the source's blocks are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/parallel.hpp"

namespace hinge {

class Restricted final : public KernelSource {
 public:
  Restricted(const KernelSource& source, Span<const std::int32_t> samples, Span<const double> all_diagonal)
      : source_(source), samples_(samples) {
    for (std::int32_t i : samples) diagonal_.push_back(all_diagonal[static_cast<std::size_t>(i)]);
  }

  std::size_t size() const override { return samples_.size(); }
  bool concurrent() const override { return source_.concurrent(); }
  double cost() const override { return source_.cost(); }
  void diagonal(Span<double> out) const override { std::copy(diagonal_.begin(), diagonal_.end(), out.begin()); }

  void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const override {
    source_.row(sample(i), named(columns), out);
  }
  void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const override {
    source_.row(sample(i), named(columns), out);
  }

  std::unique_ptr<const Columns> columns(Span<const std::int32_t> list, std::size_t bytes) const override {
    return std::make_unique<Part>(size(), list, source_.columns(named(list), bytes));
  }

  void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<double* const> out,
                  const Parallel& parallel, Part part) const override {
    source_.block_rows(rows(which), whole(columns), out, parallel, part);
  }
  void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<float* const> out,
                  const Parallel& parallel, Part part) const override {
    source_.block_rows(rows(which), whole(columns), out, parallel, part);
  }
  void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, float precision,
                Span<double> out, const Parallel& parallel) const override {
    source_.add_rows(rows(which), coef, whole(columns), precision, out, parallel);
  }
  void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, double precision,
                Span<double> out, const Parallel& parallel) const override {
    source_.add_rows(rows(which), coef, whole(columns), precision, out, parallel);
  }

  void add_square(Span<const std::int32_t> which, Span<const double> coef, Span<double> out, std::size_t bytes,
                  const Parallel& parallel) const override {
    source_.add_square(rows(which), coef, out, bytes, parallel);
  }

 private:
  struct Part final : Columns {
    Part(std::size_t all, Span<const std::int32_t> list, std::unique_ptr<const Columns> of_source)
        : Columns(all, list), whole(std::move(of_source)) {}
    std::unique_ptr<const Columns> whole;
  };

  static const Columns& whole(const Columns& columns) { return *static_cast<const Part&>(columns).whole; }
  std::size_t sample(std::size_t i) const { return static_cast<std::size_t>(samples_[i]); }

  std::vector<std::int32_t> rows(Span<const std::int32_t> list) const {
    std::vector<std::int32_t> out;
    for (std::int32_t i : list) out.push_back(samples_[static_cast<std::size_t>(i)]);
    return out;
  }
  std::vector<std::int32_t> named(Span<const std::int32_t> list) const {  // an empty list stands for all
    return list.empty() ? std::vector<std::int32_t>(samples_.begin(), samples_.end()) : rows(list);
  }

  const KernelSource& source_;
  Span<const std::int32_t> samples_;
  std::vector<double> diagonal_;
};

}  // namespace hinge
