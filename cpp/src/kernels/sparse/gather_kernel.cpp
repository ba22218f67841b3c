// gather_kernel.cpp: see gather_kernel.hpp.
#include "kernels/sparse/gather_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/sparse/operations.hpp"

namespace hinge {
namespace {

// Sums are in the order of the features, as for sparse rows: equal samples have equal norms in both storages.
template <class T>
double row_norm(const Dense<T>& dense, std::size_t i) {
  double sum = 0;
  for (std::size_t f = 0; f < dense.features; ++f) {
    sum += static_cast<double>(dense.row(i)[f]) * static_cast<double>(dense.row(i)[f]);
  }
  return sum;
}
template <class T>
double row_l1_norm(const Dense<T>& dense, std::size_t i) {
  double sum = 0;
  for (std::size_t f = 0; f < dense.features; ++f) sum += std::fabs(static_cast<double>(dense.row(i)[f]));
  return sum;
}
template <class T, class I>
double row_norm(const Csr<T, I>& csr, std::size_t i) {
  return sparse_norm(csr, i);
}
template <class T, class I>
double row_l1_norm(const Csr<T, I>& csr, std::size_t i) {
  return sparse_l1_norm(csr, i);
}

template <class T>
void scatter(const Dense<T>& dense, std::size_t i, double* out) {
  std::copy(dense.row(i), dense.row(i) + dense.features, out);
}
template <class T>
void unscatter(const Dense<T>& dense, std::size_t, double* out) {
  std::fill(out, out + dense.features, 0.0);
}

constexpr std::size_t kMinListRows = 32;  // for fewer rows of X the lists are not created

// Calls use(dot, overlap) with two functions of j, for the storages of x and z.
template <class Use>
void with_products(const Samples& x, const Samples& z, std::size_t i, const double* scattered, Use use) {
  std::visit(
      [&](const auto& zs) {
        if constexpr (IsCsr<std::decay_t<decltype(zs)>>::value) {
          use([&](std::size_t j) { return sparse_dot(zs, j, scattered); },
              [&](std::size_t j) { return sparse_overlap(zs, j, scattered); });
        } else {
          std::visit(
              [&](const auto& xs) {
                if constexpr (IsCsr<std::decay_t<decltype(xs)>>::value) {
                  use([&](std::size_t j) { return sparse_dot(xs, i, zs.row(j)); },
                      [&](std::size_t j) { return sparse_overlap(xs, i, zs.row(j)); });
                }
              },
              x);
        }
      },
      z);
}

}  // namespace

// Measured cost per pair of samples: about one cycle per gathered nonzero, an eighth of a cycle per feature of a
// product.
bool gather_is_cheaper(const Samples& x, const Samples& z) {
  if (!is_sparse(x) && !is_sparse(z)) return false;
  const auto d = static_cast<double>(features(z));
  const double nonzeros = d * (is_sparse(z) ? density(z) : density(x));
  return 6 + nonzeros < d / 8;
}

SampleNorms::SampleNorms(const Samples& samples, Needs needs) {
  std::visit(
      [&](const auto& s) {
        if (needs.squared) squared.resize(s.rows);
        if (needs.l1) l1.resize(s.rows);
        for (std::size_t i = 0; i < s.rows; ++i) {
          if (needs.squared) squared[i] = row_norm(s, i);
          if (needs.l1) l1[i] = row_l1_norm(s, i);
        }
      },
      samples);
}

std::unique_ptr<const FeatureLists> useful_feature_lists(const Samples& x, const Samples& z, RowList list_z) {
  const std::size_t n = rows(x), step = std::max<std::size_t>(1, n / kMinListRows);
  if (n < kMinListRows || list_z.size() == 0 || !is_sparse(z)) return nullptr;
  auto lists = std::make_unique<const FeatureLists>(z, list_z);
  std::size_t terms = 0, counted = 0;
  for (std::size_t i = 0; i < n; i += step, ++counted) terms += lists->terms(x, i);
  return lists_are_cheaper(*lists, terms / counted, list_z.size()) ? std::move(lists) : nullptr;
}

GatherKernel::GatherKernel(const Samples& x, const Samples& z, RowList list_z, const KernelFunction& function,
                           const SampleNorms& norms_z, const FeatureLists* lists)
    : x_(x),
      z_(z),
      list_z_(list_z),
      function_(function),
      norms_z_(norms_z),
      lists_(lists),
      dot_(kColumns),
      squared_(kColumns),
      l1_(kColumns),
      stack_(kColumns * function.depth()) {
  const Needs needs = function.needs();
  if (is_sparse(z)) scattered_.assign(features(z), 0.0);
  if (lists && (needs.dot || needs.squared)) list_dots_.assign(rows(z), 0.0);
  if (lists && needs.l1) list_overlaps_.assign(rows(z), 0.0);
}

void GatherKernel::open(std::size_t i, std::size_t pairs) {
  row_ = i;
  const Needs needs = function_.needs();
  use_lists_ = lists_ && lists_are_cheaper(*lists_, lists_->terms(x_, i), pairs);
  if (use_lists_) lists_->multiply(x_, i, list_dots_, list_overlaps_);
  std::visit(
      [&](const auto& s) {
        if (!scattered_.empty() && !use_lists_) scatter(s, i, scattered_.data());
        if (needs.squared) squared_x_ = row_norm(s, i);
        if (needs.l1) l1_x_ = row_l1_norm(s, i);
      },
      x_);
}

void GatherKernel::close() {
  if (scattered_.empty() || use_lists_) return;
  std::visit([&](const auto& s) { unscatter(s, row_, scattered_.data()); }, x_);
}

const double* GatherKernel::evaluate(std::size_t first, std::size_t count) {
  const Needs needs = function_.needs();
  double *const dot = dot_.data(), *const squared = squared_.data(), *const l1 = l1_.data();
  const auto compute = [&](auto dot_with, auto overlap_with) {
    for (std::size_t c = 0; c < count; ++c) {
      const std::size_t j = list_z_[first + c];
      if (needs.dot || needs.squared) dot[c] = dot_with(j);
      if (needs.squared) squared[c] = std::max(0.0, squared_x_ + norms_z_.squared[j] - 2 * dot[c]);
      if (needs.l1) l1[c] = std::max(0.0, l1_x_ + norms_z_.l1[j] - 2 * overlap_with(j));
    }
  };
  if (use_lists_) {
    compute([&](std::size_t j) { return list_dots_[j]; }, [&](std::size_t j) { return list_overlaps_[j]; });
  } else {
    with_products(x_, z_, row_, scattered_.data(), compute);
  }
  const std::size_t m = padded(count);
  function_.evaluate(Base<double>{dot, squared, l1}, m, stack_.data());
  std::fill(stack_.data() + count, stack_.data() + m, 0.0);
  return stack_.data();
}

}  // namespace hinge
