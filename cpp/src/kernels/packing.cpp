// packing.cpp: copies of samples in strips, panels or rows, optionally centered, for all storages.
#include <algorithm>
#include <array>

#include "kernels/block_kernel.hpp"
#include "kernels/sparse/rows.hpp"

namespace hinge {
namespace {

// Memory of the packed rows of X or Z; exceeded only if the minimum number of rows needs more.
constexpr std::size_t kPackedBytes = std::size_t(4) << 20;

// Calls use(f, value) for the features of row i; sparse rows skip their zeros.
template <class In, class Use>
void for_each(const Dense<In>& dense, std::size_t i, Use use) {
  const In* const row = dense.row(i);
  for (std::size_t f = 0; f < dense.features; ++f) use(f, static_cast<double>(row[f]));
}
template <class In, class I, class Use>
void for_each(const Csr<In, I>& csr, std::size_t i, Use use) {
  for (I k = csr.start[i]; k < csr.start[i + 1]; ++k) {
    use(static_cast<std::size_t>(csr.index[k]), static_cast<double>(csr.values[k]));
  }
}

// Packs a strip of Width rows; rows from `count` on are arbitrary.
template <std::size_t Width, class In, class T>
void pack_strip(const Dense<In>& dense, RowList list, std::size_t first, std::size_t count,
                const double* center, T* out) {
  std::array<const In*, Width> row;
  for (std::size_t r = 0; r < Width; ++r) row[r] = dense.row(list[first + std::min(r, count - 1)]);
  for (std::size_t f = 0; f < dense.features; ++f, out += Width) {
    if (center) {
      for (std::size_t r = 0; r < Width; ++r)
        out[r] = static_cast<T>(static_cast<double>(row[r][f]) - center[f]);
    } else {
      for (std::size_t r = 0; r < Width; ++r) out[r] = static_cast<T>(row[r][f]);
    }
  }
}
template <std::size_t Width, class In, class I, class T>
void pack_strip(const Csr<In, I>& csr, RowList list, std::size_t first, std::size_t count,
                const double* center, T* out) {
  for (std::size_t f = 0; f < csr.features; ++f) {
    std::fill(out + f * Width, out + (f + 1) * Width, static_cast<T>(center ? -center[f] : 0.0));
  }
  for (std::size_t r = 0; r < count; ++r) {
    for_each(csr, list[first + r], [&](std::size_t f, double value) {
      out[f * Width + r] = static_cast<T>(center ? value - center[f] : value);
    });
  }
}

template <class T, class Storage>
void pack_strips(const Storage& s, RowList list, Range rows, std::size_t width, const double* center,
                 T* out) {
  for (std::size_t i = rows.first; i < rows.last; i += width, out += width * s.features) {
    const std::size_t count = std::min(width, rows.last - i);
    if (width == kStripX) {
      pack_strip<kStripX>(s, list, i, count, center, out);
    } else if (width == kPanelWidth<T>) {
      pack_strip<kPanelWidth<T>>(s, list, i, count, center, out);
    } else {
      pack_strip<kStripZ<T>>(s, list, i, count, center, out);
    }
  }
}

}  // namespace

std::vector<double> column_means(const Samples& samples) {
  std::vector<double> mean(features(samples), 0.0);
  const auto n = static_cast<double>(std::max<std::size_t>(1, rows(samples)));
  std::visit(
      [&](const auto& s) {
        for (std::size_t i = 0; i < s.rows; ++i) {
          for_each(s, i, [&](std::size_t f, double value) { mean[f] += value; });
        }
      },
      samples);
  for (double& value : mean) value /= n;
  return mean;
}

double spread(const Samples& samples, const std::vector<double>& center) {
  double at_zero = 0, largest = 0;
  for (double value : center) at_zero += value * value;
  std::visit(
      [&](const auto& s) {
        constexpr bool skips_zeros = IsCsr<std::decay_t<decltype(s)>>::value;
        for (std::size_t i = 0; i < s.rows; ++i) {
          double square = skips_zeros ? at_zero : 0;
          for_each(s, i, [&](std::size_t f, double value) {
            const double distance = value - center[f];
            square += distance * distance - (skips_zeros ? center[f] * center[f] : 0);
          });
          largest = std::max(largest, square);
        }
      },
      samples);
  return largest;
}

Blocking::Blocking(std::size_t rows_x, std::size_t features, std::size_t value_size) {
  const std::size_t fit = kPackedBytes / (value_size * std::max<std::size_t>(1, features));
  task = std::clamp(std::min(rows_x / 8, fit), std::size_t(24), 4 * kTile);  // at least about eight tasks
  for (columns = kMaxColumns; columns > std::max(kPad, fit);) columns /= 2;
}

template <class T>
PackedRows<T>::PackedRows(const Samples& samples, RowList list, Needs needs,
                          const std::vector<double>& center, std::size_t strip, std::size_t capacity)
    : samples_(samples),
      list_(list),
      needs_(needs),
      center_(center),
      strip_(strip),
      capacity_((capacity + strip - 1) / strip * strip),
      features_(features(samples)),
      row_width_(std::max(features_, kLanes<float>)) {}

template <class T>
std::size_t PackedRows<T>::bytes(std::size_t rows, std::size_t features, Needs needs) {
  return sizeof(T) * (rows + kStripZ<T>) * features * (needs.dot + needs.squared + needs.l1);
}

template <class T>
void PackedRows<T>::load(Range rows, bool in_strips) {
  if (in_strips) load_strips(rows);
  if (!in_strips || needs_.l1) load_rows(rows);
}

template <class T>
void PackedRows<T>::load(const SparseRows<T>& sparse, Range rows) {
  AlignedArray<T>& panels = needs_.squared ? centered_ : plain_;
  if (!panels.data()) panels = AlignedArray<T>(capacity_ * features_);
  if (needs_.squared && !norms_.data()) norms_ = AlignedArray<T>(padded(capacity_));
  const std::size_t used = (rows.size() + strip_ - 1) / strip_ * strip_;
  std::fill(panels.data(), panels.data() + used * features_, T(0));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::size_t i = list_[rows.first + k];
    T* const out = panels.data() + k / strip_ * strip_stride() + k % strip_;
    for (std::size_t e = sparse.start()[i]; e < sparse.start()[i + 1]; ++e)
      out[static_cast<std::size_t>(sparse.index()[e]) * strip_] = sparse.values()[e];
    if (needs_.squared) norms_.data()[k] = sparse.norms()[i];
  }
}

template <class T>
void PackedRows<T>::load_strips(Range rows) {
  const bool plain = needs_.dot && !(in_panels() && needs_.squared);
  if (plain && !plain_.data()) plain_ = AlignedArray<T>(capacity_ * features_);
  if (needs_.squared && !centered_.data()) {
    centered_ = AlignedArray<T>(capacity_ * features_);
    norms_ = AlignedArray<T>(padded(capacity_));
  }
  std::visit(
      [&](const auto& s) {
        if (plain) pack_strips(s, list_, rows, strip_, nullptr, plain_.data());
        if (needs_.squared) pack_strips(s, list_, rows, strip_, center_.data(), centered_.data());
      },
      samples_);
  if (!needs_.squared) return;
  for (std::size_t s = 0; s * strip_ < rows.size(); ++s) {
    if (in_panels()) {
      vector_ops().panels<T>().norms(features_, centered(s), norms_.data() + s * strip_);
      continue;
    }
    for (std::size_t f = 0; f < features_; f += kFeatureBlock) {
      vector_ops().strips<T>().norms(strip_, std::min(kFeatureBlock, features_ - f), centered(s) + f * strip_, f > 0,
                                     norms_.data() + s * strip_);
    }
  }
}

template <class T>
void PackedRows<T>::load_rows(Range rows) {
  const auto* const dense = std::get_if<Dense<T>>(&samples_);
  if (dense && list_.all() && dense->features == row_width_) {
    rows_ = dense->row(rows.first);
    row_stride_ = dense->features;
    return;
  }
  row_copy_.resize(rows.size() * row_width_);
  std::fill(row_copy_.begin(), row_copy_.end(), T(0));
  std::visit(
      [&](const auto& s) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          T* const out = row_copy_.data() + i * row_width_;
          for_each(s, list_[rows.first + i],
                   [&](std::size_t f, double value) { out[f] = static_cast<T>(value); });
        }
      },
      samples_);
  rows_ = row_copy_.data();
  row_stride_ = row_width_;
}

template class PackedRows<float>;
template class PackedRows<double>;

}  // namespace hinge
