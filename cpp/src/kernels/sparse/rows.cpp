// rows.cpp: see rows.hpp.
#include "kernels/sparse/rows.hpp"

#include <algorithm>

#include "kernels/loops/vector_ops.hpp"

namespace hinge {
namespace {

constexpr std::size_t kInspectedRows = 64;                    // rows from which the frequent values are determined
constexpr std::size_t kMaxPanelBytes = std::size_t(4) << 20;  // a larger panel would not stay in the processor's cache
constexpr double kMaxDensity = 0.6;  // fraction of features that differ from the shift; above it strips are faster

template <class In>
std::vector<double> frequent_values(const Dense<In>& dense, bool shift_allowed, double* nonzeros) {
  std::vector<double> value(dense.features, 0.0);
  const std::size_t inspected = std::min(kInspectedRows, dense.rows);
  std::vector<In> column(inspected);
  std::size_t differing = 0;
  for (std::size_t f = 0; f < dense.features; ++f) {
    for (std::size_t k = 0; k < inspected; ++k) column[k] = dense.row(k * dense.rows / inspected)[f];
    std::sort(column.begin(), column.end());
    std::size_t largest_count = 0;
    for (std::size_t k = 0; k < inspected;) {
      const auto end = std::upper_bound(column.begin() + static_cast<std::ptrdiff_t>(k), column.end(), column[k]);
      const std::size_t next = static_cast<std::size_t>(end - column.begin());
      if ((shift_allowed || column[k] == In(0)) && next - k > largest_count) {
        largest_count = next - k;
        value[f] = static_cast<double>(column[k]);
      }
      k = next;
    }
    differing += inspected - largest_count;
  }
  *nonzeros = inspected ? static_cast<double>(differing) / static_cast<double>(inspected) : 0.0;
  return value;
}

template <class In, class I>
std::vector<double> frequent_values(const Csr<In, I>& csr, bool, double* nonzeros) {
  *nonzeros = csr.rows ? static_cast<double>(csr.start[csr.rows] - csr.start[0]) / static_cast<double>(csr.rows) : 0.0;
  return std::vector<double>(csr.features, 0.0);
}

// Calls use(f, value) for the features in which row i differs from the shift.
template <class In, class Use>
void for_each(const Dense<In>& dense, std::size_t i, const std::vector<double>& shift, Use use) {
  const In* const row = dense.row(i);
  for (std::size_t f = 0; f < dense.features; ++f) {
    const double value = static_cast<double>(row[f]) - shift[f];
    if (value != 0) use(f, value);
  }
}
template <class In, class I, class Use>
void for_each(const Csr<In, I>& csr, std::size_t i, const std::vector<double>&, Use use) {
  for (I k = csr.start[i]; k < csr.start[i + 1]; ++k)
    use(static_cast<std::size_t>(csr.index[k]), static_cast<double>(csr.values[k]));
}

}  // namespace

std::vector<double> sparsifying_shift(const Samples& samples, Needs needs, double* density) {
  const std::size_t d = features(samples);
  if (needs.l1 || d == 0 || d * kPanelWidth<float> * sizeof(float) > kMaxPanelBytes) return {};
  double nonzeros = 0;
  std::vector<double> shift =
      std::visit([&](const auto& s) { return frequent_values(s, !needs.dot, &nonzeros); }, samples);
  if (density) *density = nonzeros / static_cast<double>(d);
  if (nonzeros + 4 > kMaxDensity * static_cast<double>(d)) return {};
  return shift;
}

template <class T>
SparseRows<T>::SparseRows(const Samples& samples, const std::vector<double>& shift, const std::vector<char>& marked) {
  const std::size_t n = rows(samples);
  const auto included = [&](std::size_t k) { return marked.empty() || marked[k]; };
  start_.reserve(n + 1);
  start_.push_back(0);
  std::visit(
      [&](const auto& s) {
        std::size_t nonzeros = 0;  // counted first, because growing arrays would need twice the memory
        for (std::size_t k = 0; k < n; ++k)
          if (included(k)) for_each(s, k, shift, [&](std::size_t, double) { ++nonzeros; });
        index_.reserve(nonzeros), values_.reserve(nonzeros);
        for (std::size_t k = 0; k < n; ++k) {
          if (included(k))
            for_each(s, k, shift, [&](std::size_t f, double value) {
              index_.push_back(static_cast<std::int32_t>(f));
              values_.push_back(static_cast<T>(value));
            });
          start_.push_back(index_.size());
        }
      },
      samples);
  norms_ = AlignedArray<T>(n);
  for (std::size_t k = 0; k < n; ++k) {
    norms_.data()[k] = vector_ops().panels<T>().row_norm(values_.data() + start_[k], start_[k + 1] - start_[k]);
    spread_ = std::max(spread_, static_cast<double>(norms_.data()[k]));
  }
}

template class SparseRows<float>;
template class SparseRows<double>;

}  // namespace hinge
