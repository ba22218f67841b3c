// columns.cpp: see columns.hpp.
#include "linear/l1/columns.hpp"

#include <cmath>
#include <stdexcept>
#include <variant>

#include "linear/data/passes.hpp"

namespace hinge {
namespace {

// A nonzero value of a new column.
struct Entry {
  std::uint32_t row, column;
  double value;
};

// take(i, j, value) for the values of the features with position[j] ≠ kNone; `features` lists them.
template <class T, class Take>
void each_value(const Dense<T>& s, const std::vector<std::uint32_t>& features, const std::vector<std::uint32_t>&,
                Take take) {
  for (std::size_t i = 0; i < s.rows; ++i)
    for (std::size_t k = 0; k < features.size(); ++k)
      if (const T value = s.row(i)[features[k]]; value != 0)
        take(i, static_cast<std::uint32_t>(k), static_cast<double>(value));
}
template <class T, class I, class Take>
void each_value(const Csr<T, I>& s, const std::vector<std::uint32_t>&, const std::vector<std::uint32_t>& position,
                Take take) {
  for (std::size_t i = 0; i < s.rows; ++i)
    for (I k = s.start[i]; k < s.start[i + 1]; ++k)
      if (const std::uint32_t at = position[static_cast<std::size_t>(s.index[k])]; at != Columns::kNone)
        if (s.values[k] != 0) take(i, at, static_cast<double>(s.values[k]));
}

}  // namespace

Columns::Columns(const Samples& samples, Span<const double> scale)
    : samples_(samples), scale_(scale), slot_(features(samples), kNone) {}

void Columns::copy(const std::vector<std::uint32_t>& features) {
  if (features.empty()) return;
  std::vector<std::uint32_t> position(slot_.size(), kNone);
  for (std::size_t k = 0; k < features.size(); ++k) position[features[k]] = static_cast<std::uint32_t>(k);
  std::vector<Entry> entries;
  std::vector<std::size_t> next(features.size() + 1, 0);
  std::visit([&](const auto& s) {
    each_value(s, features, position, [&](std::size_t i, std::uint32_t k, double value) {
      entries.push_back({static_cast<std::uint32_t>(i), k, value * scale_[i]});
      ++next[k + 1];
    });
  }, samples_);
  const std::size_t before = value_.size(), slots = squared_norm_.size();
  next[0] = before;
  for (std::size_t k = 0; k < features.size(); ++k) {
    next[k + 1] += next[k];
    start_.push_back(next[k + 1]);
    slot_[features[k]] = static_cast<std::uint32_t>(slots + k);
  }
  index_.resize(before + entries.size()), value_.resize(before + entries.size());
  squared_norm_.resize(slots + features.size(), 0.0);
  for (const Entry& e : entries) {  // rows ascend within every column
    const std::size_t at = next[e.column]++;
    index_[at] = e.row, value_[at] = e.value;
    squared_norm_[slots + e.column] += e.value * e.value;
  }
  for (std::size_t k = slots; k < squared_norm_.size(); ++k)
    if (!std::isfinite(squared_norm_[k])) throw std::invalid_argument(kOverflow);
}

}  // namespace hinge
