// block_kernel.cpp: packing, GEMM and evaluation of one block.
#include "block_kernel.hpp"

#include <algorithm>
#include <type_traits>

#include "hinge/blas.hpp"

namespace hinge {
namespace {

constexpr std::size_t kPanel = 512;     // features at a time
constexpr std::size_t kDirectRows = 4;  // so few rows of X do not pay for centring Z

// The row operations read whole vectors: a narrower panel is filled up with zeros.
std::size_t panel_width(std::size_t features) { return std::max(features, kLanes<float>); }

template <class In, class T>
void pack(const Dense<In>& dense, Range rows, Range features, const double* centre, std::size_t width, T* out) {
  for (std::size_t i = rows.first; i < rows.last; ++i, out += width) {
    const In* const row = dense.row(i) + features.first;
    if (centre) {
      const double* const c = centre + features.first;
      for (std::size_t f = 0; f < features.size(); ++f) out[f] = static_cast<T>(static_cast<double>(row[f]) - c[f]);
    } else {
      for (std::size_t f = 0; f < features.size(); ++f) out[f] = static_cast<T>(row[f]);
    }
    std::fill(out + features.size(), out + width, T(0));
  }
}

template <class In, class I, class T>
void pack(const Csr<In, I>& csr, Range rows, Range features, const double* centre, std::size_t width, T* out) {
  for (std::size_t i = rows.first; i < rows.last; ++i, out += width) {
    std::fill(out, out + width, T(0));
    if (centre) {
      for (std::size_t f = 0; f < features.size(); ++f) out[f] = static_cast<T>(-centre[features.first + f]);
    }
    const I* const end = csr.index + csr.start[i + 1];
    const I* k = std::lower_bound(csr.index + csr.start[i], end, static_cast<I>(features.first));
    for (; k < end && static_cast<std::size_t>(*k) < features.last; ++k) {
      const auto f = static_cast<std::size_t>(*k);
      const double value = csr.values[k - csr.index];
      out[f - features.first] = static_cast<T>(centre ? value - centre[f] : value);
    }
  }
}

template <class In>
void add_rows(const Dense<In>& dense, std::vector<double>& sum) {
  for (std::size_t i = 0; i < dense.rows; ++i) {
    for (std::size_t f = 0; f < dense.features; ++f) sum[f] += dense.row(i)[f];
  }
}

template <class In, class I>
void add_rows(const Csr<In, I>& csr, std::vector<double>& sum) {
  for (I k = 0; k < csr.start[csr.rows]; ++k) sum[static_cast<std::size_t>(csr.index[k])] += csr.values[k];
}

template <class In>
double square_at(const Dense<In>& dense, std::size_t i, const std::vector<double>& centre, double) {
  double sum = 0;
  for (std::size_t f = 0; f < dense.features; ++f) {
    const double t = static_cast<double>(dense.row(i)[f]) - centre[f];
    sum += t * t;
  }
  return sum;
}

template <class In, class I>
double square_at(const Csr<In, I>& csr, std::size_t i, const std::vector<double>& centre, double centre_square) {
  double sum = centre_square;  // where the row is zero; the rest is corrected
  for (I k = csr.start[i]; k < csr.start[i + 1]; ++k) {
    const double v = csr.values[k];
    sum += v * (v - 2 * centre[static_cast<std::size_t>(csr.index[k])]);
  }
  return sum;
}

}  // namespace

std::vector<double> column_means(const Samples& samples) {
  std::vector<double> mean(features(samples), 0.0);
  std::visit([&](const auto& s) { add_rows(s, mean); }, samples);
  const auto n = static_cast<double>(std::max<std::size_t>(1, rows(samples)));
  for (double& value : mean) value /= n;
  return mean;
}

double spread(const Samples& samples, const std::vector<double>& centre) {
  double centre_square = 0, largest = 0;
  for (double value : centre) centre_square += value * value;
  std::visit(
      [&](const auto& s) {
        for (std::size_t i = 0; i < s.rows; ++i) largest = std::max(largest, square_at(s, i, centre, centre_square));
      },
      samples);
  return largest;
}

template <class T>
BlockKernel<T>::BlockKernel(const Samples& x, const Samples& z, const KernelFunction& function,
                            const std::vector<double>& centre)
    : x_(x), z_(z), function_(function), centre_(centre), features_(features(x)) {
  const Needs needs = function.needs();
  const std::size_t width = panel_width(std::min(kPanel, features_));
  const std::size_t block = std::min(kRowsX, rows(x)) * kStride;
  panel_x_ = AlignedArray<T>(std::min(kRowsX, rows(x)) * width);
  panel_z_ = AlignedArray<T>(std::min(kRowsZ, rows(z)) * width);
  if (needs.dot) dot_ = AlignedArray<T>(block);
  if (needs.squared) squared_ = AlignedArray<T>(block);
  if (needs.l1) l1_ = AlignedArray<T>(block);
  stack_ = AlignedArray<T>(std::max<std::size_t>(2, function.depth()) * kStride);
}

template <class T>
typename BlockKernel<T>::Panel BlockKernel<T>::panel(const Samples& samples, Range rows, Range features, bool centred,
                                                     const AlignedArray<T>& buffer) const {
  const auto* const dense = std::get_if<Dense<T>>(&samples);
  if (dense && !centred && features.size() == panel_width(features.size())) {
    return {dense->row(rows.first) + features.first, dense->features};
  }
  const std::size_t width = panel_width(features.size());
  const double* const centre = centred ? centre_.data() : nullptr;
  std::visit([&](const auto& s) { pack(s, rows, features, centre, width, buffer.data()); }, samples);
  return {buffer.data(), width};
}

template <class T>
void BlockKernel<T>::dot_products(Range x, Range z, Pulse& pulse) {
  for (std::size_t f = 0; f < features_; f += kPanel) {
    pulse.beat();
    const Range slice{f, std::min(features_, f + kPanel)};
    const Panel a = panel(x_, x, slice, false, panel_x_), b = panel(z_, z, slice, false, panel_z_);
    multiply_transposed(x.size(), z.size(), panel_width(slice.size()), a.values, a.stride, b.values, b.stride,
                        f > 0, dot_.data(), kStride);
  }
}

template <class T>
void BlockKernel<T>::squared_by_norms(Range x, Range z, Pulse& pulse) {
  double norms_x[kRowsX] = {}, norms_z[kRowsZ] = {};
  const auto add_norms = [](const Panel& p, std::size_t count, std::size_t width, double* norms) {
    for (std::size_t i = 0; i < count; ++i) {
      const T* const row = p.values + i * p.stride;
      double square;
      vector_ops().rows<T, double>().dot(row, row, p.stride, width, nullptr, 1, &square);
      norms[i] += square;
    }
  };
  for (std::size_t f = 0; f < features_; f += kPanel) {
    pulse.beat();
    const Range slice{f, std::min(features_, f + kPanel)};
    const std::size_t width = panel_width(slice.size());
    const Panel a = panel(x_, x, slice, true, panel_x_), b = panel(z_, z, slice, true, panel_z_);
    add_norms(a, x.size(), width, norms_x);
    add_norms(b, z.size(), width, norms_z);
    multiply_transposed(x.size(), z.size(), width, a.values, a.stride, b.values, b.stride, f > 0, squared_.data(),
                        kStride);
  }
  alignas(kAlignment) T zz[kRowsZ];
  std::copy(norms_z, norms_z + kRowsZ, zz);
  for (std::size_t i = 0; i < x.size(); ++i) {
    T* const row = squared_.data() + i * kStride;
    vector_ops().array<T>().squared_from_dot(padded(z.size()), static_cast<T>(norms_x[i]), zz, row, row);
  }
}

template <class T>
void BlockKernel<T>::by_rows(RowOperation<T, T>* operation, T* out, Range x, Range z, Pulse& pulse) {
  T* const part = stack_.data();
  for (std::size_t f = 0; f < features_; f += kPanel) {
    const Range slice{f, std::min(features_, f + kPanel)};
    const std::size_t width = panel_width(slice.size());
    const Panel a = panel(x_, x, slice, false, panel_x_), b = panel(z_, z, slice, false, panel_z_);
    for (std::size_t i = 0; i < x.size(); ++i) {
      pulse.beat();
      T* const row = out + i * kStride;
      operation(a.values + i * a.stride, b.values, b.stride, width, nullptr, z.size(), f > 0 ? part : row);
      if (f > 0) {
        for (std::size_t j = 0; j < z.size(); ++j) row[j] += part[j];
      }
    }
  }
}

template <class T>
const T* BlockKernel<T>::evaluate(Range x, Range z, Pulse& pulse) {
  const Needs needs = function_.needs();
  const RowOps<T, T>& ops = vector_ops().rows<T, T>();
  if (needs.dot) dot_products(x, z, pulse);
  if (needs.squared && x.size() <= kDirectRows) by_rows(ops.squared, squared_.data(), x, z, pulse);
  if (needs.squared && x.size() > kDirectRows) squared_by_norms(x, z, pulse);
  if (needs.l1) by_rows(ops.l1, l1_.data(), x, z, pulse);

  T* const result = needs.dot ? dot_.data() : needs.squared ? squared_.data() : l1_.data();
  const std::size_t m = padded(z.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    T* const dot = needs.dot ? dot_.data() + i * kStride : nullptr;
    T* const squared = needs.squared ? squared_.data() + i * kStride : nullptr;
    T* const l1 = needs.l1 ? l1_.data() + i * kStride : nullptr;
    for (T* base : {dot, squared, l1}) {
      if (base) std::fill(base + z.size(), base + m, T(0));
    }
    T* const row = result + i * kStride;
    T* const values = function_.depth() == 1 ? row : stack_.data();  // one leaf works in place
    function_.evaluate(Base<T>{dot, squared, l1}, m, values);
    if (values != row) std::copy(values, values + z.size(), row);
    std::fill(row + z.size(), row + m, T(0));
  }
  return result;
}

template class BlockKernel<float>;
template class BlockKernel<double>;

}  // namespace hinge
