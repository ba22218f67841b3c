// sample_pass.hpp: products of samples with weights and dual variables for the certificate of a linear problem.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <variant>
#include <vector>

#include "certificate/loops.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/span.hpp"

namespace hinge {

constexpr std::size_t kSummedRows = 128;  // rows whose sum is computed without compensation
constexpr std::size_t kChunk = 512;       // samples whose terms are summed without compensation, in four partial sums

// sum += value, with the rounding error added to `error`.
inline void compensated_add(double& sum, double& error, double value) {
  const double next = sum + value, part = next - sum;
  error += (sum - (next - part)) + (value - part);
  sum = next;
}

template <class T, class Take>
void for_each_value(const Dense<T>& s, std::size_t i, Take take) {
  for (std::size_t j = 0; j < s.features; ++j) take(j, static_cast<double>(s.row(i)[j]));
}
template <class T, class I, class Take>
void for_each_value(const Csr<T, I>& s, std::size_t i, Take take) {
  for (I k = s.start[i]; k < s.start[i + 1]; ++k)
    take(static_cast<std::size_t>(s.index[k]), static_cast<double>(s.values[k]));
}

inline double norm_of(const Samples& samples, std::size_t i) {
  double square = 0;
  std::visit([&](const auto& s) { for_each_value(s, i, [&](std::size_t, double value) { square += value * value; }); },
             samples);
  return std::sqrt(square);
}

// ⟨w, x_i⟩ with its rounding error, and ‖x_i‖, of the samples of a chunk.
struct ChunkProducts {
  double f[kChunk], rest[kChunk], norm[kChunk];
};

inline double largest_value(const float* x, std::size_t n) { return certificate_loops().largest_float(x, n); }
inline double largest_value(const double* x, std::size_t n) { return certificate_loops().largest_double(x, n); }

// Bound on the norms of all samples, from the largest value and the longest row.
template <class T>
double norm_bound(const Dense<T>& s, double& longest) {
  longest = static_cast<double>(s.features);
  return std::sqrt(longest) * largest_value(s.values, s.rows * s.features);
}
template <class T, class I>
double norm_bound(const Csr<T, I>& s, double& longest) {
  I most = 0;
  for (std::size_t i = 0; i < s.rows; ++i) most = std::max<I>(most, s.start[i + 1] - s.start[i]);
  longest = static_cast<double>(most);
  return std::sqrt(longest) * largest_value(s.values, static_cast<std::size_t>(s.start[s.rows]));
}

// One pass over the samples, in chunks: the products of the chunk, and Σ β_i x_i over all chunks so far.
class SamplePass {
 public:
  SamplePass(const Samples& samples, Span<const double> w, Span<const double> beta)
      : samples_(samples), w_(w), beta_(beta), sum_(w.size(), 0.0), error_(w.size(), 0.0), part_(w.size()) {}

  // In twice the precision if `accurate`.
  void visit(std::size_t first, std::size_t last, bool accurate, ChunkProducts& products) {
    std::visit([&](const auto& s) { accurate ? run_accurately(s, first, last, products) : run(s, first, last, products); },
               samples_);
  }

  double combined(std::size_t j) const { return sum_[j] + error_[j]; }  // component of Σ β_i x_i
  // Number of additions without compensation in a component, and of other roundings.
  double rounded_additions() const {
    const std::size_t longest = is_sparse(samples_) ? rows(samples_) : kSummedRows;
    return static_cast<double>(longest + 4);
  }

 private:
  template <class Storage>
  void run_accurately(const Storage& s, std::size_t first, std::size_t last, ChunkProducts& products) {
    for (std::size_t i = first; i < last; ++i) {
      double f = 0, rest = 0, norm = 0;
      for_each_value(s, i, [&](std::size_t j, double value) {
        const double product = value * w_[j];
        compensated_add(f, rest, product);
        rest += std::fma(value, w_[j], -product);
        norm += value * value;
        if (beta_[i] == 0) return;
        const double part = beta_[i] * value;
        compensated_add(sum_[j], error_[j], part);
        error_[j] += std::fma(beta_[i], value, -part);
      });
      products.f[i - first] = f, products.rest[i - first] = rest, products.norm[i - first] = std::sqrt(norm);
    }
  }

  template <class T>
  void run(const Dense<T>& s, std::size_t first, std::size_t last, ChunkProducts& products) {
    const CertificateLoops& loops = certificate_loops();
    for (std::size_t start = first; start < last; start += kSummedRows) {
      const std::size_t count = std::min(kSummedRows, last - start), k = start - first;
      std::fill(part_.begin(), part_.end(), 0.0);
      const auto pass = [&](auto loop) {
        loop(s.row(start), count, s.features, w_.data(), beta_.data() + start, products.f + k, products.norm + k,
             part_.data());
      };
      if constexpr (std::is_same_v<T, double>) pass(loops.rows_double);
      else pass(loops.rows_float);
      for (std::size_t j = 0; j < s.features; ++j) compensated_add(sum_[j], error_[j], part_[j]);
    }
  }

  template <class T, class I>
  void run(const Csr<T, I>& s, std::size_t first, std::size_t last, ChunkProducts& products) {
    for (std::size_t i = first; i < last; ++i) {
      double dot = 0, square = 0;
      for (I k = s.start[i]; k < s.start[i + 1]; ++k) {
        const double value = static_cast<double>(s.values[k]);
        dot += value * w_[static_cast<std::size_t>(s.index[k])], square += value * value;
      }
      products.f[i - first] = dot, products.norm[i - first] = std::sqrt(square);
      if (beta_[i] == 0) continue;
      for (I k = s.start[i]; k < s.start[i + 1]; ++k)
        sum_[static_cast<std::size_t>(s.index[k])] += beta_[i] * static_cast<double>(s.values[k]);
    }
  }

  const Samples& samples_;
  Span<const double> w_, beta_;
  std::vector<double> sum_, error_;  // Σ β_i x_i and its compensation
  std::vector<double> part_;         // Σ β_i x_i of a few dense rows
};

}  // namespace hinge
