// feature_lists.cpp: see feature_lists.hpp.
#include "kernels/sparse/feature_lists.hpp"

#include <algorithm>
#include <variant>

#include "kernels/sparse/operations.hpp"

namespace hinge {
namespace {

// Calls use(feature, value) for the nonzeros of row i, in the order of the features.
template <class T, class Use>
void for_nonzeros(const Dense<T>& dense, std::size_t i, Use use) {
  const T* const row = dense.row(i);
  for (std::size_t f = 0; f < dense.features; ++f)
    if (row[f] != 0) use(f, static_cast<double>(row[f]));
}
template <class T, class I, class Use>
void for_nonzeros(const Csr<T, I>& csr, std::size_t i, Use use) {
  for (I k = csr.start[i]; k < csr.start[i + 1]; ++k)
    use(static_cast<std::size_t>(csr.index[k]), static_cast<double>(csr.values[k]));
}

}  // namespace

FeatureLists::FeatureLists(const Samples& z, RowList list) : samples_(rows(z)), start_(features(z) + 1, 0) {
  std::visit(
      [&](const auto& s) {
        for (std::size_t c = 0; c < list.size(); ++c)
          for_nonzeros(s, list[c], [&](std::size_t f, double) { ++start_[f + 1]; });
        for (std::size_t f = 1; f < start_.size(); ++f) start_[f] += start_[f - 1];
        entries_.resize(start_.back());
        std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
        for (std::size_t c = 0; c < list.size(); ++c)
          for_nonzeros(s, list[c], [&](std::size_t f, double value) { entries_[next[f]++] = {value, list[c]}; });
      },
      z);
}

std::size_t FeatureLists::terms(const Samples& x, std::size_t i) const {
  std::size_t sum = 0;
  std::visit(
      [&](const auto& s) { for_nonzeros(s, i, [&](std::size_t f, double) { sum += start_[f + 1] - start_[f]; }); }, x);
  return sum;
}

void FeatureLists::multiply(const Samples& x, std::size_t i, Span<double> dots, Span<double> overlaps) const {
  std::fill(dots.begin(), dots.end(), 0.0);
  std::fill(overlaps.begin(), overlaps.end(), 0.0);
  std::visit(
      [&](const auto& s) {
        for_nonzeros(s, i, [&](std::size_t f, double value) {
          const Entry* const end = entries_.data() + start_[f + 1];
          const Entry* const begin = entries_.data() + start_[f];
          if (!dots.empty())
            for (const Entry* e = begin; e != end; ++e) dots[e->sample] += e->value * value;
          if (!overlaps.empty())
            for (const Entry* e = begin; e != end; ++e) overlaps[e->sample] += overlap(e->value, value);
        });
      },
      x);
}

// Measured: a term costs as much as two gathered nonzeros, because it reads and writes a sum; setting a sum to zero and
// reading it costs half a gathered nonzero.
bool lists_are_cheaper(const FeatureLists& lists, std::size_t terms, std::size_t pairs) {
  const auto samples = static_cast<double>(lists.samples());
  const double gathered = static_cast<double>(lists.nonzeros()) / samples * static_cast<double>(pairs);
  return 2 * static_cast<double>(terms) + 0.5 * samples < gathered;
}

}  // namespace hinge
