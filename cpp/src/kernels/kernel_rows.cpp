// kernel_rows.cpp: see kernel_rows.hpp.  A task is a block of columns, against rows that every thread has packed; when
// gathering, a task is a row.
#include "kernels/kernel_rows.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "kernels/block_kernel.hpp"
#include "kernels/value_error.hpp"
#include "parallel/tasks.hpp"
#include "smo/loops.hpp"

namespace hinge {
namespace {

constexpr std::size_t kMinParallelValues = 100'000;  // fewer kernel values are computed on one thread
constexpr std::size_t kGatheredRows = 16;            // rows whose values are stored before they are added
constexpr std::size_t kMaxStripColumns = 256;        // with fewer columns, no lists of nonzeros in double are created

Parallel threads_for(const Parallel& parallel, std::size_t values) {
  return {values < kMinParallelValues ? 1 : parallel.threads, parallel.poll};
}

}  // namespace

template <class T>
std::unique_ptr<const PackedRows<T>> PackedColumns::pack(const Samples& samples, Needs needs,
                                                         const std::vector<double>& center) const {
  if (PackedRows<T>::bytes(size(), features(samples), needs) > bytes_) return nullptr;
  auto packed = std::make_unique<PackedRows<T>>(samples, rows(), needs, center, kStripZ<T>, padded(size()));
  packed->load({0, size()}, true);
  return packed;
}

template <>
const PackedRows<float>* PackedColumns::packed<float>(const Samples& samples, Needs needs,
                                                      const std::vector<double>& center) const {
  std::call_once(made_float_, [&] { float_ = pack<float>(samples, needs, center); });
  return float_.get();
}

template <>
const PackedRows<double>* PackedColumns::packed<double>(const Samples& samples, Needs needs,
                                                        const std::vector<double>& center) const {
  std::call_once(made_double_, [&] { double_ = pack<double>(samples, needs, center); });
  return double_.get();
}

KernelRows::KernelRows(const Samples& samples, const KernelFunction& function)
    : samples_(samples),
      function_(function),
      shift_(sparsifying_shift(samples, function.needs(), &density_)),
      gather_(shift_.empty() && gather_is_cheaper(samples, samples)),
      norms_(samples, gather_ ? function.needs() : Needs{}),
      feature_lists_(gather_ ? useful_feature_lists(samples, samples, RowList(rows(samples))) : nullptr) {
  float_panels_ = !shift_.empty() && !function.has_kink() && float_suffices(function.sharpness() * spread(samples,
      shift_));
  float_suffices_ = float_panels_;
  if (float_panels_ || gather_) return;
  if (function.needs().squared) center_ = column_means(samples_);
  const double gamma_times_spread = center_.empty() ? 0.0 : function.sharpness() * spread(samples, center_);
  if (!float_suffices(gamma_times_spread)) distances_ = Distances::from_differences;
  float_suffices_ = float_suffices(gamma_times_spread, distances_) && !function.has_kink();
}

double KernelRows::value_error() const {
  std::call_once(bounded_, [this] {
    double radius = 0;
    if (function_.needs().squared) {  // the centers of products, and zero for sparse rows
      for (const std::vector<double>* const center : {&center_, &shift_})
        if (!center->empty()) radius = std::max(radius, spread(samples_, *center));
      if (is_sparse(samples_) || (center_.empty() && shift_.empty()))
        radius = std::max(radius, spread(samples_, std::vector<double>(features(samples_), 0.0)));
    }
    value_error_ = kernel_value_error(function_, samples_, radius, !center_.empty() || !shift_.empty());
  });
  return value_error_;
}

template <>
const SparseRows<float>& KernelRows::sparse<float>() const {
  std::call_once(made_float_, [this] {
    sparse_float_ = std::make_unique<const SparseRows<float>>(samples_, shift_);
  });
  return *sparse_float_;
}

template <>
const SparseRows<double>& KernelRows::sparse<double>() const {
  std::call_once(made_double_, [this] {
    sparse_double_ = std::make_unique<const SparseRows<double>>(samples_, shift_);
  });
  return *sparse_double_;
}

template <class T>
bool KernelRows::uses_panels(std::size_t columns) const {
  return !shift_.empty() && (sizeof(T) == sizeof(float) ? float_panels_ : columns > kMaxStripColumns);
}

std::unique_ptr<const SparseRows<double>> KernelRows::sparse_rows_for(Span<const std::int32_t> which,
                                                                      const PackedColumns& columns) const {
  const std::size_t n = rows(samples_);
  if (!uses_panels<double>(columns.size()) || 2 * (which.size() + columns.size()) > n) return nullptr;
  std::vector<char> marked(n, 0);
  for (std::int32_t i : which) marked[static_cast<std::size_t>(i)] = 1;
  for (std::size_t k = 0; k < columns.size(); ++k) marked[columns.rows()[k]] = 1;
  return std::make_unique<const SparseRows<double>>(samples_, shift_, marked);
}

template <class T, class Take>
void KernelRows::multiply_tiles(Span<const std::int32_t> which, const PackedColumns& columns, const Parallel& parallel,
                                const SparseRows<T>* lists, Take take, Part part) const {
  const std::size_t n = columns.size();
  if (which.empty() || n == 0) return;
  const RowList columns_z = columns.rows();
  const bool panels = uses_panels<T>(n);
  const std::vector<double>& center = panels || center_.empty() ? shift_ : center_;
  const SparseRows<T>* const sparse_z = !panels ? nullptr : lists ? lists : &sparse<T>();
  const PackedRows<T>* const packed_z = panels ? nullptr : columns.packed<T>(samples_, function_.needs(), center);
  const Blocking blocking(8 * which.size(), features(samples_), sizeof(T));
  for (std::size_t start = 0; start < which.size(); start += blocking.task) {
    const auto some = which.subspan(start, std::min(blocking.task, which.size() - start));
    const std::vector<std::size_t> list(some.begin(), some.end());
    if (start > 0 && parallel.poll) parallel.poll();  // short calls of run_tasks do not poll
    const std::size_t blocks = (n + blocking.columns - 1) / blocking.columns;
    run_tasks(blocks, threads_for(parallel, list.size() * n), [&] {
      BlockKernel<T> kernel(samples_, RowList(list), samples_, columns_z, function_, center, blocking, sparse_z,
                            packed_z, sizeof(T) == sizeof(float) && !panels ? distances_ : Distances::from_norms);
      kernel.load_x({0, list.size()});
      return [&, kernel = std::move(kernel)](std::size_t task, Poller& poller) mutable {
        const std::size_t first = (blocks - 1 - task) * blocking.columns;  // in the upper part, the tallest block first
        const std::size_t count = std::min(blocking.columns, n - first);
        const std::size_t last = part == Part::all ? which.size() : std::max(first + count, start);
        const std::size_t rows = std::min(list.size(), last - start);
        if (rows > 0) kernel.load_z({first, first + count});
        for (std::size_t i = 0; i < rows; i += Blocking::kTile) {
          poller.poll();
          const std::size_t height = std::min(Blocking::kTile, list.size() - i);
          take(start + i, first, count, kernel.evaluate(i, height), height, kernel.stride());
        }
      };
    });
  }
}

template <class Out>
void KernelRows::gather_rows(Span<const std::int32_t> which, RowList columns, Span<Out* const> out,
                             const Parallel& parallel, Part part) const {
  constexpr std::size_t width = GatherKernel::kColumns;
  const std::size_t n = columns.size();
  run_tasks(which.size(), parallel, [&] {
    GatherKernel kernel(samples_, samples_, columns, function_, norms_, feature_lists_.get());
    return [&, kernel = std::move(kernel)](std::size_t k, Poller& poller) mutable {
      const std::size_t begin = part == Part::all ? 0 : std::min(k, n);
      kernel.open(static_cast<std::size_t>(which[k]), n - begin);
      for (std::size_t j = begin; j < n; j += width) {
        poller.poll();
        const std::size_t count = std::min(width, n - j);
        const double* const values = kernel.evaluate(j, count);
        std::copy(values, values + count, out[k] + j);
      }
      kernel.close();
    };
  });
}

template <class Out>
void KernelRows::compute(Span<const std::int32_t> which, const PackedColumns& columns, Span<Out* const> out,
                         const Parallel& parallel, Part part) const {
  const auto store = [&](std::size_t k, std::size_t first, std::size_t count, const auto* values, std::size_t height,
                         std::size_t stride) {
    for (std::size_t r = 0; r < height; ++r, values += stride) std::copy(values, values + count, out[k + r] + first);
  };
  if (gather_) {
    gather_rows(which, columns.rows(), out, parallel, part);
  } else if (std::is_same_v<Out, float> && float_suffices_) {
    multiply_tiles<float>(which, columns, parallel, nullptr, store, part);
  } else {
    multiply_tiles<double>(which, columns, parallel, nullptr, store, part);
  }
}

namespace {

void add_tile(double* out, const float* const* rows, const double* coef, std::size_t height, std::size_t count) {
  smo_loops().add_f32(out, rows, coef, height, 0, count);
}
void add_tile(double* out, const double* const* rows, const double* coef, std::size_t height, std::size_t count) {
  smo_loops().add_f64(out, rows, coef, height, 0, count);
}

}  // namespace

template <class T>
void KernelRows::add(Span<const std::int32_t> which, Span<const double> coef, const PackedColumns& columns,
                     Span<double> out, const Parallel& parallel) const {
  if (gather_) {
    const std::size_t height = std::min(which.size(), kGatheredRows);
    std::vector<double> values(height * columns.size());
    std::vector<double*> rows(height);
    for (std::size_t k = 0; k < height; ++k) rows[k] = values.data() + k * columns.size();
    for (std::size_t first = 0; first < which.size(); first += height) {
      const std::size_t count = std::min(height, which.size() - first);
      gather_rows(which.subspan(first, count), columns.rows(), Span<double* const>(rows.data(), count), parallel);
      for (std::size_t k = 0; k < count; ++k) add_tile(out.data(), &rows[k], &coef[first + k], 1, columns.size());
    }
    return;
  }
  const auto multiply = [&](std::size_t k, std::size_t first, std::size_t count, const auto* values,
                            std::size_t height, std::size_t stride) {
    std::array<decltype(values), Blocking::kTile> rows;
    for (std::size_t r = 0; r < height; ++r) rows[r] = values + r * stride;
    add_tile(out.data() + first, rows.data(), &coef[k], height, count);
  };
  if (std::is_same_v<T, float> && float_suffices_) {
    multiply_tiles<float>(which, columns, parallel, nullptr, multiply);
  } else {
    const auto lists = sparse_rows_for(which, columns);
    multiply_tiles<double>(which, columns, parallel, lists.get(), multiply);
  }
}

// A tile above the diagonal contributes to its columns and, through dot products with the coefficients of the columns,
// to its rows.  The sums of rows are stored separately for each block of columns and added in order at the end, so that
// the result does not depend on the threads.
void KernelRows::add_square(Span<const std::int32_t> which, Span<const double> coef, Span<double> out,
                            std::size_t bytes, const Parallel& parallel) const {
  const std::size_t n = which.size(), width = Blocking(8 * n, features(samples_), sizeof(double)).columns;
  const std::size_t blocks = (n + width - 1) / width;
  if (n == 0) return;
  const PackedColumns columns(rows(samples_), which, bytes / 2);
  if (gather_ || sizeof(double) * blocks * n > bytes) return add<double>(which, coef, columns, out, parallel);
  std::vector<double> weight(coef.begin(), coef.end()), sums(blocks * n, 0.0);
  weight.resize(padded(n), 0.0);
  const auto take = [&](std::size_t k, std::size_t first, std::size_t count, const double* values, std::size_t height,
                        std::size_t stride) {
    double* const sum = sums.data() + first / width * n + k;
    if (k + height <= first) {
      std::array<const double*, Blocking::kTile> tile;
      for (std::size_t r = 0; r < height; ++r) tile[r] = values + r * stride;
      add_tile(out.data() + first, tile.data(), &weight[k], height, count);
      vector_ops().rows<double, double>().dot(&weight[first], values, stride, padded(count), nullptr, height, sum);
      return;
    }
    for (std::size_t r = 0; r < height; ++r, values += stride)
      for (std::size_t c = std::max(first, k + r); c < first + count; ++c) {
        if (c > k + r) out[c] += weight[k + r] * values[c - first];
        sum[r] += weight[c] * values[c - first];
      }
  };
  const auto lists = sparse_rows_for(which, columns);
  multiply_tiles<double>(which, columns, parallel, lists.get(), take, Part::upper);
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t k = 0; k < std::min(n, (b + 1) * width); ++k) out[k] += sums[b * n + k];
}

template void KernelRows::compute(Span<const std::int32_t>, const PackedColumns&, Span<float* const>,
                                  const Parallel&, Part) const;
template void KernelRows::compute(Span<const std::int32_t>, const PackedColumns&, Span<double* const>,
                                  const Parallel&, Part) const;
template void KernelRows::add<float>(Span<const std::int32_t>, Span<const double>, const PackedColumns&, Span<double>,
                                     const Parallel&) const;
template void KernelRows::add<double>(Span<const std::int32_t>, Span<const double>, const PackedColumns&,
                                      Span<double>, const Parallel&) const;

}  // namespace hinge
