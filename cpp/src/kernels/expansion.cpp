// expansion.cpp: choice of a method for K(X, Z), and consumers that multiply or store its values.
#include "hinge/kernels/expansion.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "kernels/block_kernel.hpp"
#include "kernels/loops/vector_ops.hpp"
#include "kernels/sparse/gather_kernel.hpp"
#include "kernels/sparse/rows.hpp"
#include "parallel/tasks.hpp"
#include "products/skinny_loops.hpp"

namespace hinge {
namespace {

constexpr std::size_t kMinPanelRows = 16;  // fewer rows of X are not multiplied in panels, which they would not fill

// The samples of Z with a nonzero coefficient.
std::vector<std::size_t> used_rows(Span<const double> coef, std::size_t m, std::size_t outputs) {
  std::vector<std::size_t> used;
  for (std::size_t j = 0; j < m; ++j) {
    const double* const row = coef.data() + j * outputs;
    if (std::any_of(row, row + outputs, [](double value) { return value != 0; })) used.push_back(j);
  }
  return used;
}

// Receives rows of kernel values and adds K coef to out.  For every group of columns only the outputs with a nonzero
// coefficient in the group are computed (for a one-vs-one classifier: the pairs with that class).  Their coefficients
// are stored output by output, padded with zeros.
class MultiplyConsumer {
 public:
  MultiplyConsumer(Span<const double> coef, RowList list, std::size_t outputs, Span<double> out) : outputs_(outputs),
      out_(out) {
    for (std::size_t first = 0; first < list.size(); first += kGroup) {
      const std::size_t count = std::min(kGroup, list.size() - first);
      Group group{{}, padded(count), {}};
      for (std::size_t c = 0; c < outputs; ++c) {
        const std::size_t start = group.coef.size();
        group.coef.resize(start + group.stride, 0.0);
        bool used = false;
        for (std::size_t j = 0; j < count; ++j) {
          const double value = coef[list[first + j] * outputs + c];
          group.coef[start + j] = value;
          used = used || value != 0;
        }
        if (used) {
          group.outputs.push_back(c);
        } else {
          group.coef.resize(start);
        }
      }
      groups_.push_back(std::move(group));
    }
    std::fill(out.begin(), out.end(), 0.0);
  }

  // values: K[i, first .. first + count), followed by zeros up to a multiple of kPad.  The columns lie in one group.
  void take(std::size_t i, std::size_t first, std::size_t count, const float* values) const {
    alignas(kAlignment) double wide[Blocking::kMaxColumns];
    std::copy(values, values + padded(count), wide);
    take(i, first, count, wide);
  }
  void take(std::size_t i, std::size_t first, std::size_t count, const double* values) const {
    double sums[kOutputsPerProduct];
    const Group& group = groups_[first / kGroup];
    for (std::size_t c = 0; c < group.outputs.size(); c += kOutputsPerProduct) {
      const std::size_t outputs = std::min(kOutputsPerProduct, group.outputs.size() - c);
      const double* const coef = group.coef.data() + c * group.stride + first % kGroup;
      vector_ops().rows_dd.dot(values, coef, group.stride, padded(count), nullptr, outputs, sums);
      for (std::size_t k = 0; k < outputs; ++k) out_[i * outputs_ + group.outputs[c + k]] += sums[k];
    }
  }

 private:
  static constexpr std::size_t kOutputsPerProduct = 16;
  static constexpr std::size_t kGroup = Blocking::kMaxColumns;  // columns; a multiple of all block widths
  struct Group {
    std::vector<std::size_t> outputs;
    std::size_t stride;
    std::vector<double> coef;
  };

  const std::size_t outputs_;
  std::vector<Group> groups_;
  const Span<double> out_;
};

// The same for few rows of X, without a copy of the coefficients.
class MultiplyFewRowsConsumer {
 public:
  MultiplyFewRowsConsumer(Span<const double> coef, RowList list, std::size_t outputs, Span<double> out)
      : coef_(coef), list_(list), outputs_(outputs), out_(out) {
    std::fill(out.begin(), out.end(), 0.0);
  }

  template <class T>
  void take(std::size_t i, std::size_t first, std::size_t count, const T* values) const {
    double* const out = out_.data() + i * outputs_;
    for (std::size_t j = 0; j < count; ++j) {
      const double* const coef = coef_.data() + list_[first + j] * outputs_;
      const double value = static_cast<double>(values[j]);
      for (std::size_t c = 0; c < outputs_; ++c) out[c] += value * coef[c];
    }
  }

 private:
  const Span<const double> coef_;
  const RowList list_;
  const std::size_t outputs_;
  const Span<double> out_;
};

template <class Out>
class StoreConsumer {
 public:
  StoreConsumer(std::size_t m, Span<Out> out) : m_(m), out_(out) {}
  template <class T>
  void take(std::size_t i, std::size_t first, std::size_t count, const T* values) const {
    Out* const to = out_.data() + i * m_ + first;
    for (std::size_t j = 0; j < count; ++j) to[j] = static_cast<Out>(values[j]);
  }

 private:
  const std::size_t m_;
  const Span<Out> out_;
};

// Stores the values as float16.
class StoreFloat16Consumer {
 public:
  StoreFloat16Consumer(std::size_t m, Span<Half> out) : m_(m), out_(out) {}
  void take(std::size_t i, std::size_t first, std::size_t count, const float* values) const {
    skinny_loops().to_half(count, values, out_.data() + i * m_ + first);
  }
  void take(std::size_t i, std::size_t first, std::size_t count, const double* values) const {
    float rounded[Blocking::kMaxColumns];
    for (std::size_t j = 0; j < count; ++j) rounded[j] = static_cast<float>(values[j]);
    take(i, first, count, rounded);
  }

 private:
  const std::size_t m_;
  const Span<Half> out_;
};

template <class T, class Consumer>
void evaluate_blocks(const Samples& x, const Samples& z, RowList list, const KernelFunction& function,
                     const std::vector<double>& center, const SparseRows<T>* sparse_z, const Consumer& consumer,
                     const Parallel& parallel) {
  const std::size_t n = rows(x), m = list.size();
  const Blocking blocking(n, features(x), sizeof(T));
  run_tasks((n + blocking.task - 1) / blocking.task, parallel, [&] {
    return [&, kernel = BlockKernel<T>(x, RowList(n), z, list, function, center, blocking, sparse_z)](
               std::size_t task, Poller& poller) mutable {
      const Range block{task * blocking.task, std::min(n, (task + 1) * blocking.task)};
      kernel.load_x(block);
      for (std::size_t j = 0; j < m; j += blocking.columns) {
        const std::size_t columns = std::min(m - j, blocking.columns);
        kernel.load_z({j, j + columns});
        for (std::size_t i = 0; i < block.size(); i += Blocking::kTile) {
          poller.poll();
          const std::size_t count = std::min(block.size() - i, Blocking::kTile);
          const T* values = kernel.evaluate(i, count);
          for (std::size_t r = 0; r < count; ++r, values += kernel.stride()) {
            consumer.take(block.first + i + r, j, columns, values);
          }
        }
      }
    };
  });
}

template <class Consumer>
void evaluate_rows(const Samples& x, const Samples& z, RowList list, const KernelFunction& function,
                   const Consumer& consumer, const Parallel& parallel) {
  constexpr std::size_t height = 16, width = GatherKernel::kColumns;
  const std::size_t n = rows(x), m = list.size();
  const SampleNorms norms(z, function.needs());
  const auto lists = useful_feature_lists(x, z, list);
  run_tasks((n + height - 1) / height, parallel, [&] {
    return [&, kernel = GatherKernel(x, z, list, function, norms, lists.get())](std::size_t task, Poller& poller) mutable {
      for (std::size_t i = task * height; i < std::min(n, (task + 1) * height); ++i) {
        kernel.open(i, m);
        for (std::size_t j = 0; j < m; j += width) {
          poller.poll();
          const std::size_t count = std::min(width, m - j);
          consumer.take(i, j, count, kernel.evaluate(j, count));
        }
        kernel.close();
      }
    };
  });
}

template <class Consumer>
void evaluate(const Samples& x, const Samples& z, RowList list, const KernelFunction& function,
              const Consumer& consumer, Precision precision, const Parallel& parallel) {
  if (features(x) != features(z))
    throw std::invalid_argument("X and Z must have the same number of features");
  if (rows(x) == 0 || list.size() == 0) return;
  if (rows(x) >= kMinPanelRows) {
    const std::vector<double> shift = sparsifying_shift(z, function.needs());
    if (!shift.empty() && precision == Precision::single && is_float32(x) && is_float32(z)) {
      const SparseRows<float> sparse_z(z, shift);
      if (!function.needs().squared || float_suffices(function.sharpness() * sparse_z.spread()))
        return evaluate_blocks<float>(x, z, list, function, shift, &sparse_z, consumer, parallel);
    }
    if (!shift.empty()) {
      const SparseRows<double> sparse_z(z, shift);
      return evaluate_blocks<double>(x, z, list, function, shift, &sparse_z, consumer, parallel);
    }
  }
  if (gather_is_cheaper(x, z)) return evaluate_rows(x, z, list, function, consumer, parallel);

  const bool from_norms = function.needs().squared && rows(x) > kMaxUnpackedRows;
  const std::vector<double> center = from_norms ? column_means(z) : std::vector<double>{};
  const bool floats = precision != Precision::full && is_float32(x) && is_float32(z) &&
                      (!from_norms || float_suffices(function.sharpness() * spread(z, center)));
  if (floats) {
    evaluate_blocks<float>(x, z, list, function, center, nullptr, consumer, parallel);
  } else {
    evaluate_blocks<double>(x, z, list, function, center, nullptr, consumer, parallel);
  }
}

}  // namespace

void expand(const Samples& x, const Samples& z, const KernelFunction& function, Span<const double> coef,
            std::size_t outputs, Span<double> out, Precision precision, const Parallel& parallel) {
  if (coef.size() != rows(z) * outputs)
    throw std::invalid_argument("expand: coef must have one row per sample of Z");
  if (out.size() != rows(x) * outputs)
    throw std::invalid_argument("expand: out must have one row per sample of X");
  const std::vector<std::size_t> used = used_rows(coef, rows(z), outputs);
  const RowList list = used.size() < rows(z) ? RowList(used) : RowList(rows(z));
  if (rows(x) <= kMaxUnpackedRows) {
    evaluate(x, z, list, function, MultiplyFewRowsConsumer(coef, list, outputs, out), precision, parallel);
  } else {
    evaluate(x, z, list, function, MultiplyConsumer(coef, list, outputs, out), precision, parallel);
  }
}

void cross(const Samples& x, const Samples& z, const KernelFunction& function, Span<double> out,
           const Parallel& parallel) {
  if (out.size() != rows(x) * rows(z)) throw std::invalid_argument("cross: out must be n × m");
  evaluate(x, z, RowList(rows(z)), function, StoreConsumer<double>(rows(z), out), Precision::full, parallel);
}

void columns(const Samples& x, const Samples& z, const KernelFunction& function, Span<float> out,
             const Parallel& parallel) {
  if (out.size() != rows(x) * rows(z)) throw std::invalid_argument("columns: out must be n × m");
  evaluate(x, z, RowList(rows(z)), function, StoreConsumer<float>(rows(z), out), Precision::single, parallel);
}

void columns(const Samples& x, const Samples& z, const KernelFunction& function, Span<std::uint16_t> out,
             const Parallel& parallel) {
  if (out.size() != rows(x) * rows(z)) throw std::invalid_argument("columns: out must be n × m");
  if (!skinny_loops().to_half) throw std::logic_error("columns: this processor has no float16 conversions");
  evaluate(x, z, RowList(rows(z)), function, StoreFloat16Consumer(rows(z), out), Precision::single, parallel);
}

}  // namespace hinge
