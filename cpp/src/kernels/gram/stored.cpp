// stored.cpp: kernel matrices in memory or computed by a callback, and the computation of a complete matrix.
#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "hinge/kernels/gram.hpp"
#include "parallel/tasks.hpp"

namespace hinge {
namespace {

constexpr std::size_t kRowsPerTask = 64;  // of a product

template <class From, class To>
void select(const From* from, std::size_t n, Span<const std::int32_t> columns, Span<To> out) {
  if (columns.empty()) {
    std::copy(from, from + n, out.data());
  } else {
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = static_cast<To>(from[columns[j]]);
  }
}

// Eight partial sums in a fixed order.
template <class T>
double dot(const T* a, const double* b, std::size_t n) {
  double sum[8] = {};
  std::size_t j = 0;
  for (; j + 8 <= n; j += 8) {
    for (std::size_t c = 0; c < 8; ++c) sum[c] += static_cast<double>(a[j + c]) * b[j + c];
  }
  for (; j < n; ++j) sum[j % 8] += static_cast<double>(a[j]) * b[j];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

template <class T>
class MatrixGram final : public Gram {
 public:
  MatrixGram(const T* matrix, std::size_t n, double value_error) : matrix_(matrix), n_(n), value_error_(value_error) {}

  std::size_t size() const override { return n_; }
  double value_error() const override { return value_error_; }

  void diagonal(Span<double> out) const override {
    for (std::size_t i = 0; i < n_; ++i) out[i] = matrix_[i * n_ + i];
  }
  const double* resident(std::size_t i) const override {
    if constexpr (std::is_same_v<T, double>) return matrix_ + i * n_;
    (void)i;
    return nullptr;
  }
  void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const override {
    select(matrix_ + i * n_, n_, columns, out);
  }
  void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const override {
    select(matrix_ + i * n_, n_, columns, out);
  }
  void multiply(Span<const double> v, Span<double> out, const Parallel& parallel) const override {
    run_tasks((n_ + kRowsPerTask - 1) / kRowsPerTask, parallel, [&] {
      return [&](std::size_t task, Poller& poller) {
        const std::size_t last = std::min(n_, (task + 1) * kRowsPerTask);
        for (std::size_t i = task * kRowsPerTask; i < last; ++i) {
          poller.poll();
          out[i] = dot(matrix_ + i * n_, v.data(), n_);
        }
      };
    });
  }

 private:
  const T* matrix_;
  std::size_t n_;
  double value_error_;
};

constexpr double kCallbackCost = 1e6;  // multiplications per kernel value: more than for all compiled kernels

class CallbackGram final : public Gram {
 public:
  CallbackGram(std::vector<double> diagonal, RowCallback row)
      : diagonal_(std::move(diagonal)), row_(std::move(row)) {}

  std::size_t size() const override { return diagonal_.size(); }
  bool concurrent() const override { return false; }
  double cost() const override { return kCallbackCost; }

  void diagonal(Span<double> out) const override {
    std::copy(diagonal_.begin(), diagonal_.end(), out.data());
  }

  void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const override {
    fill(i, columns, out);
  }
  void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const override {
    fill(i, columns, out);
  }

  // The callback may not be thread-safe and may be slow: one thread, and no row with a zero coefficient.
  void multiply(Span<const double> v, Span<double> out, const Parallel& parallel) const override {
    std::vector<double> values(size());
    std::fill(out.begin(), out.end(), 0.0);
    run_tasks(size(), {1, parallel.poll}, [&] {
      return [&](std::size_t i, Poller&) {
        if (v[i] == 0) return;
        row_(i, values);
        for (std::size_t j = 0; j < values.size(); ++j) out[j] += v[i] * values[j];
      };
    });
  }

 private:
  template <class Out>
  void fill(std::size_t i, Span<const std::int32_t> columns, Span<Out> out) const {
    std::vector<double> values(size());
    row_(i, values);
    select(values.data(), values.size(), columns, out);
  }

  const std::vector<double> diagonal_;
  const RowCallback row_;
};

constexpr std::size_t kBandRows = 512;                           // rows computed as one block
constexpr std::size_t kTile = 32;                                // side of a transposed tile
constexpr std::size_t kPackedBytes = std::size_t{64} << 20;      // memory for packed columns

// K[i, j] = K[j, i] for rows i from `last` on and columns j of [first, last).
template <class T>
void mirror(T* out, std::size_t n, std::size_t first, std::size_t last, const Parallel& parallel) {
  run_tasks((n - last + kTile - 1) / kTile, parallel, [&] {
    return [&](std::size_t task, Poller&) {
      const std::size_t begin = last + task * kTile, end = std::min(n, begin + kTile);
      for (std::size_t j = first; j < last; j += kTile)
        for (std::size_t i = begin; i < end; ++i)
          for (std::size_t c = j; c < std::min(last, j + kTile); ++c) out[i * n + c] = out[c * n + i];
    };
  });
}

template <class T>
void fill_by_bands(const KernelSource& source, T* out, const Parallel& parallel) {
  const std::size_t n = source.size();
  std::vector<std::int32_t> row_index(n);
  std::iota(row_index.begin(), row_index.end(), 0);
  const Span<const std::int32_t> all(row_index);
  std::vector<T*> rows;
  for (std::size_t first = 0; first < n; first += kBandRows) {
    const std::size_t last = std::min(n, first + kBandRows);
    rows.clear();
    for (std::size_t i = first; i < last; ++i) rows.push_back(out + i * n + first);
    const auto columns = source.columns(all.subspan(first, n - first), kPackedBytes);
    source.block_rows(all.subspan(first, last - first), *columns, Span<T* const>(rows.data(), rows.size()), parallel);
    mirror(out, n, first, last, parallel);
  }
}

}  // namespace

void fill(const KernelSource& source, float* out, const Parallel& parallel) { fill_by_bands(source, out, parallel); }
void fill(const KernelSource& source, double* out, const Parallel& parallel) { fill_by_bands(source, out, parallel); }

std::unique_ptr<Gram> make_gram(const float* matrix, std::size_t n, double value_error) {
  return std::make_unique<MatrixGram<float>>(matrix, n, value_error);
}

std::unique_ptr<Gram> make_gram(const double* matrix, std::size_t n, double value_error) {
  return std::make_unique<MatrixGram<double>>(matrix, n, value_error);
}

std::unique_ptr<Gram> make_gram(std::vector<double> diagonal, RowCallback row) {
  return std::make_unique<CallbackGram>(std::move(diagonal), std::move(row));
}

}  // namespace hinge
