// expansion.cpp: which way to go through K(X, Z), and what to do with its values: multiply or store.
#include "hinge/kernels/expansion.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "kernels/block_kernel.hpp"
#include "kernels/gather_kernel.hpp"
#include "kernels/loops/vector_ops.hpp"
#include "kernels/sparse_rows.hpp"
#include "parallel/tasks.hpp"
#include "products/skinny_loops.hpp"

namespace hinge {
namespace {

constexpr std::size_t kPanelRows = 16;  // fewer rows of X do not fill a panel

// The samples of Z that have a coefficient other than zero.
std::vector<std::size_t> used_rows(Span<const double> coef, std::size_t m, std::size_t outputs) {
  std::vector<std::size_t> used;
  for (std::size_t j = 0; j < m; ++j) {
    const double* const row = coef.data() + j * outputs;
    if (std::any_of(row, row + outputs, [](double value) { return value != 0; })) used.push_back(j);
  }
  return used;
}

// Takes rows of kernel values and adds K coef to out.  In every run of columns only the outputs count that have a
// coefficient there (of a one-against-one classifier: the pairs with that class); theirs are stored one output after
// the other, filled up with zeros.
class Multiply {
 public:
  Multiply(Span<const double> coef, RowList list, std::size_t outputs, Span<double> out) : outputs_(outputs), out_(out) {
    for (std::size_t first = 0; first < list.size(); first += kRun) {
      const std::size_t count = std::min(kRun, list.size() - first);
      Run run{{}, padded(count), {}};
      for (std::size_t c = 0; c < outputs; ++c) {
        const std::size_t start = run.coef.size();
        run.coef.resize(start + run.stride, 0.0);
        bool used = false;
        for (std::size_t j = 0; j < count; ++j) {
          const double value = coef[list[first + j] * outputs + c];
          run.coef[start + j] = value;
          used = used || value != 0;
        }
        if (used) {
          run.outputs.push_back(c);
        } else {
          run.coef.resize(start);
        }
      }
      runs_.push_back(std::move(run));
    }
    std::fill(out.begin(), out.end(), 0.0);
  }

  // values: K[i, first .. first + count), followed by zeros up to a multiple of kPad; no run begins within them.
  void take(std::size_t i, std::size_t first, std::size_t count, const float* values) const {
    alignas(kAlignment) double wide[Blocking::kMaxColumns];
    std::copy(values, values + padded(count), wide);
    take(i, first, count, wide);
  }
  void take(std::size_t i, std::size_t first, std::size_t count, const double* values) const {
    double part[kTogether];
    const Run& run = runs_[first / kRun];
    for (std::size_t c = 0; c < run.outputs.size(); c += kTogether) {
      const std::size_t some = std::min(kTogether, run.outputs.size() - c);
      const double* const coef = run.coef.data() + c * run.stride + first % kRun;
      vector_ops().rows_dd.dot(values, coef, run.stride, padded(count), nullptr, some, part);
      for (std::size_t k = 0; k < some; ++k) out_[i * outputs_ + run.outputs[c + k]] += part[k];
    }
  }

 private:
  static constexpr std::size_t kTogether = 16;
  static constexpr std::size_t kRun = Blocking::kMaxColumns;  // blocks of columns divide it
  struct Run {
    std::vector<std::size_t> outputs;
    std::size_t stride;
    std::vector<double> coef;
  };

  const std::size_t outputs_;
  std::vector<Run> runs_;
  const Span<double> out_;
};

// The same for a few rows, for which a copy of the coefficients does not pay.
class MultiplyFew {
 public:
  MultiplyFew(Span<const double> coef, RowList list, std::size_t outputs, Span<double> out)
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
class Store {
 public:
  Store(std::size_t m, Span<Out> out) : m_(m), out_(out) {}
  template <class T>
  void take(std::size_t i, std::size_t first, std::size_t count, const T* values) const {
    Out* const to = out_.data() + i * m_ + first;
    for (std::size_t j = 0; j < count; ++j) to[j] = static_cast<Out>(values[j]);
  }

 private:
  const std::size_t m_;
  const Span<Out> out_;
};

// The same in float16.
class StoreHalf {
 public:
  StoreHalf(std::size_t m, Span<Half> out) : m_(m), out_(out) {}
  void take(std::size_t i, std::size_t first, std::size_t count, const float* values) const {
    skinny_loops().narrow(count, values, out_.data() + i * m_ + first);
  }
  void take(std::size_t i, std::size_t first, std::size_t count, const double* values) const {
    float narrow[Blocking::kMaxColumns];
    for (std::size_t j = 0; j < count; ++j) narrow[j] = static_cast<float>(values[j]);
    take(i, first, count, narrow);
  }

 private:
  const std::size_t m_;
  const Span<Half> out_;
};

template <class T, class Consumer>
void by_blocks(const Samples& x, const Samples& z, RowList list, const KernelFunction& function,
               const std::vector<double>& centre, const SparseRows<T>* sparse_z, const Consumer& consumer,
               const Parallel& parallel) {
  const std::size_t n = rows(x), m = list.size();
  const Blocking blocking(n, features(x), sizeof(T));
  run_tasks((n + blocking.task - 1) / blocking.task, parallel, [&] {
    return [&, kernel = BlockKernel<T>(x, RowList(n), z, list, function, centre, blocking, sparse_z)](
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
void by_rows(const Samples& x, const Samples& z, RowList list, const KernelFunction& function,
             const Consumer& consumer, const Parallel& parallel) {
  constexpr std::size_t height = 16, width = RowKernel::kColumns;
  const std::size_t n = rows(x), m = list.size();
  const SideNorms norms(z, function.needs());
  run_tasks((n + height - 1) / height, parallel, [&] {
    return [&, kernel = RowKernel(x, z, list, function, norms)](std::size_t task, Poller& poller) mutable {
      for (std::size_t i = task * height; i < std::min(n, (task + 1) * height); ++i) {
        kernel.open(i);
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
  if (rows(x) >= kPanelRows) {
    const std::vector<double> shift = sparsifying_shift(z, function.needs());
    if (!shift.empty() && precision == Precision::single && is_float32(x) && is_float32(z)) {
      const SparseRows<float> sparse_z(z, shift);
      if (!function.needs().squared || float_keeps(function.sharpness() * sparse_z.spread()))
        return by_blocks<float>(x, z, list, function, shift, &sparse_z, consumer, parallel);
    }
    if (!shift.empty()) {
      const SparseRows<double> sparse_z(z, shift);
      return by_blocks<double>(x, z, list, function, shift, &sparse_z, consumer, parallel);
    }
  }
  if (gather_is_cheaper(x, z)) return by_rows(x, z, list, function, consumer, parallel);

  const bool by_norms = function.needs().squared && rows(x) > kFewRows;
  const std::vector<double> centre = by_norms ? column_means(z) : std::vector<double>{};
  const bool floats = precision != Precision::full && is_float32(x) && is_float32(z) &&
                      (!by_norms || float_keeps(function.sharpness() * spread(z, centre)));
  if (floats) {
    by_blocks<float>(x, z, list, function, centre, nullptr, consumer, parallel);
  } else {
    by_blocks<double>(x, z, list, function, centre, nullptr, consumer, parallel);
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
  if (rows(x) <= kFewRows) {
    evaluate(x, z, list, function, MultiplyFew(coef, list, outputs, out), precision, parallel);
  } else {
    evaluate(x, z, list, function, Multiply(coef, list, outputs, out), precision, parallel);
  }
}

void cross(const Samples& x, const Samples& z, const KernelFunction& function, Span<double> out,
           const Parallel& parallel) {
  if (out.size() != rows(x) * rows(z)) throw std::invalid_argument("cross: out must be n × m");
  evaluate(x, z, RowList(rows(z)), function, Store<double>(rows(z), out), Precision::full, parallel);
}

void columns(const Samples& x, const Samples& z, const KernelFunction& function, Span<float> out,
             const Parallel& parallel) {
  if (out.size() != rows(x) * rows(z)) throw std::invalid_argument("columns: out must be n × m");
  evaluate(x, z, RowList(rows(z)), function, Store<float>(rows(z), out), Precision::single, parallel);
}

void columns(const Samples& x, const Samples& z, const KernelFunction& function, Span<std::uint16_t> out,
             const Parallel& parallel) {
  if (out.size() != rows(x) * rows(z)) throw std::invalid_argument("columns: out must be n × m");
  if (!skinny_loops().narrow) throw std::logic_error("columns: this processor has no float16");
  evaluate(x, z, RowList(rows(z)), function, StoreHalf(rows(z), out), Precision::single, parallel);
}

}  // namespace hinge
